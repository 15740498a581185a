#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The finals of `spex explore`: who races, what is said of the winner, and that it can be interrupted.

usage: explore_finals.py SPEX SUBJECT [unittest arguments]
"""

import os
import sys
import unittest

from exploration import Exploration

# A figure of n that varies by what the number of the run makes of it; the runs are counted in a file.
SCRIPT = """printf x >> COUNT
i=$(($(wc -c < COUNT) + SHIFT))
awk -v n={n} -v i=$i 'BEGIN { print "score:", TRUTH * (1 + NOISE * ((i * 7919 % 101) / 101 - 0.5)) }'
"""


class Finals(Exploration):
    def program(self, truth, noise, shift=0):
        script = SCRIPT.replace("COUNT", self.write("", "count")).replace("SHIFT", str(shift))
        return ["sh", "-c", script.replace("TRUTH", truth).replace("NOISE", str(noise))]

    def search(self, text, program):
        return self.explore(text, program, policy="gaussian")

    def explore_set(self, program, *options, **more):
        return self.spex("explore", "--set", "n=1..12", "--minimise", "output=score: ([0-9.]+)", "--store", self.store,
                         *options, "--", *program, **more)

    def bounded(self, trials, rest=""):
        return ('<space name="finals"><parameter name="n" type="integer" min="1" max="12"/>'
                '<objective output="score: ([0-9.]+)" goal="minimise"/>'
                f'<run trials="{trials}" {rest}/></space>')

    def test_a_clear_winner(self):
        result = self.search(self.bounded(60, 'finals="40%"'), self.program("(10 + n)", 0.02))
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.report()
        finals = report["finals"]
        self.assertTrue(finals["known"])
        self.assertGreaterEqual(finals["sure"], 0.95)
        self.assertEqual(finals["leader"], {"n": 1})
        self.assertEqual(report["best"]["config"], {"n": 1})
        self.assertEqual((finals["zone"], finals["asked"], finals["more_trials"]), (0.02, 0.95, 0))
        out = [one for one in finals["finalists"] if one["worse_after"]]
        self.assertTrue(out)
        sentence = (f"of {len(finals['finalists'])} finalists none is better than the best by more than 2 %, with a "
                    "probability of 95 %")
        self.assertEqual(finals["text"], sentence)
        self.assertIn(f"; {sentence}; ", result.stderr)
        text = self.spex("report", self.store).stdout
        self.assertIn(f"finals     {sentence}\n", text)
        self.assertRegex(text, r"worse, after [5-9]")
        page = self.write("", "page.html")
        self.spex("report", self.store, "--html", page)
        with open(page, encoding="utf-8") as file:
            self.assertIn(f"blocks of trials: {sentence}.", file.read())

    def test_what_cannot_be_told(self):
        result = self.search(self.bounded(60, 'finals="40%"'), self.program("(10 + n / 1000)", 0.3))
        self.assertEqual(result.returncode, 0, result.stderr)
        finals = self.report()["finals"]
        self.assertFalse(finals["known"])
        self.assertLess(finals["sure"], 0.95)
        self.assertRegex(finals["text"], "^cannot tell (yet )?which of [2-8] finalists is the best: ")
        self.assertGreater(finals["more_trials"], 0)
        self.assertRegex(finals["text"], r"with about [0-9]+ more trials \(.* m?s\), it would be known$")

    def test_unstable_ones_are_named(self):
        result = self.search(self.bounded(60, 'finals="40%"'), self.program("10", 0.8))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(any(one["unstable"] for one in self.report()["finals"]["finalists"]))
        self.assertIn(" unstable  n=", self.spex("report", self.store).stdout)

    def test_none(self):
        for trials, rest in [(60, 'finals="none"'), (30, "")]:  # a quarter of 30 trials is too few
            with self.subTest(rest=rest):
                self.search(self.bounded(trials, rest), self.program("(10 + n)", 0.02))
                self.assertIsNone(self.report()["finals"])
                self.assertNotIn("\nfinals ", self.spex("report", self.store).stdout)
                os.remove(self.store)

    def test_what_is_exact_has_none(self):
        self.search(self.bounded(60, 'finals="40%"'), self.program("(10 + n)", 0))
        report = self.report()
        self.assertTrue(report["noise"]["exact"])
        self.assertIsNone(report["finals"])

    def test_it_goes_on_where_it_was_interrupted(self):
        text = self.bounded(60, 'finals="40%"')
        program = self.program("(10 + n / 4)", 0.05)
        self.search(text, program)
        whole = [(trial["config"], trial["objective"]) for trial in self.report()["trials"]]
        os.remove(self.store)
        program = self.program("(10 + n / 4)", 0.05)
        program[2] += f"[ $i -ne 25 ] || [ -e {self.store}.done ] || {{ : > {self.store}.done; kill -INT $PPID; }}\n"
        interrupted = self.search(text, program)
        self.assertEqual(interrupted.returncode, 130, interrupted.stderr)
        before = self.report()
        self.assertIsNotNone(before["finals"])
        self.assertLess(len(before["trials"]), len(whole))
        again = self.search(text, program)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual([trial["config"] for trial in self.report()["trials"]][:len(before["trials"])],
                         [config for config, _ in whole][:len(before["trials"])])
        self.assertTrue(self.report()["finals"]["known"])  # with other figures, as the runs are others

    def test_what_is_the_same_is_tied(self):
        """Also where repeats without finals end as soon as one looks best, and where nothing was repeated."""
        text = ('<space name="same"><parameter name="n" type="integer" values="1 2"/>'
                '<objective output="score: ([0-9.]+)" goal="minimise"/><run trials="16" seed="{}" finals="none"/></space>')
        for seed in range(1, 9):
            with self.subTest(seed=seed):
                result = self.search(text.format(seed), self.program("10", 0.1, 97 * seed))
                self.assertIn("; of the 2 tried 1 other may be as good; ", result.stderr)
                os.remove(self.store)
        self.assertIn("; of the 2 tried 1 other may be as good; ",
                      self.explore(text.format(1), self.program("100 * n", 0), policy="grid").stderr)
        self.assertEqual(len(self.report()["ties"]), 2)

    def test_options_are_in_the_space(self):
        result = self.explore_set(self.program("(10 + n)", 0.02), "--finals", "30%", "--zone", "1%", "--sure", "99%",
                                  "--for", "1s")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.store.replace(".db", ".xml"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r'<run .* finals="30%" zone="1%" sure="99%"/>')

    def test_bad_options(self):
        for options, expected in [
                (["--finals", "most"], 'finals="most": more than 0% and at most 100% were expected, as "2%"'),
                (["--finals", "100%"], "less than 100% was expected"),
                (["--zone", "0%"], 'zone="0%": more than 0%'),
                (["--sure", "95"], 'sure="95": more than 0%')]:
            with self.subTest(options=options):
                result = self.explore_set(self.program("n", 0), *options)
                self.assertEqual(result.returncode, 2)
                self.assertIn(expected, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)
        result = self.spex("explore", self.write(self.bounded(9), "space.xml"), "--store", self.store, "--zone", "3%",
                           "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--finals, --zone and --sure were expected with --set or --pool alone", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
