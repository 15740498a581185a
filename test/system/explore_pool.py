#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex explore` of a list of configurations: a recorded table is explored as a user would, with a command that looks the
figure up.

usage: explore_pool.py SPEX SUBJECT [unittest arguments]
"""

import os
import subprocess
import sys
import unittest

from exploration import PATIENCE, SPEX, Exploration

# Of 5 * 4 * 3 combinations these exist.
ROWS = [(threads, level, mode) for threads in (1, 2, 4, 8, 16) for level in (1, 3, 9, 19) for mode in ("fast", "safe", "x")
        if (threads * level) % 3 == (0 if mode == "safe" else 1)]


def figure(threads, level, mode):
    return round(5 + (threads - 4) ** 2 / 7 + (level - 9) ** 2 / 11 + (3 if mode == "x" else 0), 3)


def table(rows, figures=False):
    names = "threads,level,mode" + (",figure" if figures else "")
    return "\n".join([names] + [",".join(map(str, (*row, figure(*row)) if figures else row)) for row in rows]) + "\n"


LOOK_UP = ["sh", "-c", "grep '^{threads},{level},{mode},' recorded.csv | cut -d, -f4"]


class Pool(Exploration):
    def spex_here(self, *arguments):
        return subprocess.run([SPEX, *arguments], cwd=self.dir, env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def pool(self, *arguments):
        return self.spex_here("explore", *arguments)

    def best(self):
        return min(figure(*row) for row in ROWS)

    def test_a_recorded_table_is_explored(self):
        self.write(table(ROWS), "pool.csv")
        self.write(table(ROWS, True), "recorded.csv")
        result = self.pool("--pool", "pool.csv", "--minimise", "output=(.*)", "--", *LOOK_UP)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"spex: {len(ROWS)} configurations; ", result.stderr)
        self.store = os.path.join(self.dir, "explore-sh.db")
        report = self.report()
        tried = {(t["config"]["threads"], t["config"]["level"], t["config"]["mode"]) for t in report["trials"]}
        self.assertEqual(tried, set(ROWS))
        self.assertTrue(all(t["status"] == "ok" for t in report["trials"]))
        self.assertEqual(report["best"]["measured"][0]["value"], self.best())
        # It is exact: the figure is the estimate, without an interval, and two trials found out.
        self.assertEqual(report["noise"], {"exact": True, "repeats": 2.0})
        self.assertEqual(len(report["trials"]), len(ROWS) + 2)
        self.assertEqual(report["best"]["interval"], [self.best()] * 2)
        self.assertEqual(report["measured_best"], report["best"])
        self.assertIn("(exact), ", result.stderr)
        self.assertIn(f"of the {len(ROWS)} tried no other is as good", result.stderr)
        self.assertIn("noise      exact: 2 repeated trials gave the same figure as those before them\n",
                      self.spex("report", self.store).stdout)
        # It goes on as any other, and is reported after the file has gone.
        again = self.pool("--pool", "pool.csv", "--minimise", "output=(.*)", "--", *LOOK_UP)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.report()["trials"], report["trials"])
        os.remove(os.path.join(self.dir, "pool.csv"))
        self.assertEqual(self.report()["trials"], report["trials"])

    def test_a_space_with_a_file_beside_it(self):
        os.mkdir(os.path.join(self.dir, "spaces"))
        self.write("mode,threads\nfast,1\nsafe,4\n", "spaces/pool.csv")
        self.write('<space name="s">\n<parameter name="threads" type="integer" min="1" max="4"/>\n'
                   '<parameter name="mode" type="categorical" values="fast safe"/>\n'
                   '<objective output="(.*)" goal="minimise"/>\n<configurations file="pool.csv"/>\n</space>\n',
                   "spaces/space.xml")
        result = self.spex_here("explore", "spaces/space.xml", "--store", self.store, "--policy", "grid", "--",
                                "echo", "{threads}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(t["config"]["threads"] for t in self.report()["trials"]), [1, 4])
        self.write("mode,threads\nfast,1\nsafe,3\n", "spaces/pool.csv")
        other = self.spex_here("explore", "spaces/space.xml", "--store", self.store, "--policy", "grid", "--",
                               "echo", "{threads}")
        self.assertNotEqual(other.returncode, 0)
        self.assertIn("configuration 4 safe", other.stderr)

    def test_what_is_unstable_is_named_and_not_recommended(self):
        # The third trial of each is the same number of parts of a hundred above its mean as the first is below; of
        # n = 5 that is 40, and its mean is the least by little.
        self.write("n\n" + "".join(f"{n}\n" for n in range(12)), "pool.csv")
        self.write('<space name="s"><parameter name="n" type="integer" min="0" max="11"/>'
                   '<objective output="([0-9]+)" goal="minimise"/><configurations file="pool.csv"/>'
                   '<run trials_per_config="3"/></space>')
        script = """echo >> runs-{n}
trial=$(wc -l < runs-{n})
case {n} in 5) mean=9900 wide=40;; *) mean=$((10000 + {n} * 20)) wide=1;; esac
echo $((mean + (trial - 2) * wide * mean / 100))"""
        result = self.spex_here("explore", "space.xml", "--store", self.store, "--policy", "grid", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = self.spex("report", self.store).stdout
        self.assertIn("unstable   1 of the 12 tried: their trials differ by more than 30 % of the mean\n", text)
        self.assertRegex(text, r"(?m)^best .* n=0$")
        self.assertRegex(text, r"(?m)^measured .* measured 9900 in 3 trials  n=5\n"
                               r" +is the best as measured, and not recommended, because 3 trials that differ")
        report = self.report()
        self.assertEqual(report["measured_best"]["config"]["n"], 5)
        self.assertEqual(report["noise"]["exact"], False)

    def test_what_is_not_tried_is_told(self):
        self.write("n,m\n" + "".join(f"{n},{m}\n" for n in range(12) for m in range(12)), "pool.csv")
        result = self.pool("--pool", "pool.csv", "--minimise", "output=(.*)", "--policy", "tpe", "--store", self.store,
                           "--", "sh", "-c", "echo $((100 + ({n} - 4) * ({n} - 4) + ({m} - 7) * ({m} - 7)))")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.report()
        rest = 144 - report["tried"]
        self.assertEqual(report["configurations"], 144)
        self.assertIn(f"; {rest} of 144 were not tried; ", result.stderr)
        text = self.spex("report", self.store).stdout
        self.assertIn(f"untried    {rest} of 144 configurations, ", text)
        self.assertIn("a model of those tried expects most of ", text)
        tried = [trial["config"] for trial in report["trials"]]
        self.assertNotIn(report["untried"]["config"], tried)
        low, high = report["untried"]["interval"]
        self.assertTrue(low <= report["untried"]["expected"] <= high and 0 < report["untried"]["chance"] < 1)

    def test_it_goes_on_while_all_fail(self):
        self.write("n\n" + "".join(f"{n}\n" for n in range(60)), "pool.csv")
        self.write('<space name="s"><parameter name="n" type="integer" min="0" max="59"/>'
                   '<objective output="([0-9]+)" goal="minimise"/><configurations file="pool.csv"/>'
                   '<run trials="40"/></space>')
        for policy in ("gaussian", "climb", "tpe", "halving", "random"):
            store = f"{policy}.db"
            result = self.spex_here("explore", "space.xml", "--store", store, "--policy", policy, "--", "false", "{n}")
            self.assertIn("40 of 40 trials failed", result.stderr, policy)

    def test_what_is_wrong_is_told_in_one_line(self):
        command = ["--", "echo", "{n}"]
        cases = (
            ("n\n1\n1\n", "pool.csv:3: another configuration than that of line 2 was expected"),
            ("n\n", "pool.csv:2: a line of names and one of values at least were expected"),
            ("n,n\n1,2\n", 'parameter "n" is there twice'),
            ("$n\n1\n2\n", 'name="$n": a letter, then letters'),
            ("n\n1\n2,3\n", "pool.csv:3: 1 value was expected, as there are names, not 2"),
            ("n\na b\n", "pool.csv:2: column 1 (n): a value without blanks was expected"),
            ("n,m\n1,2\n2,2\n1,3\n", "--pool: column m: {m} was expected in an argument of the program"),
        )
        for text, expected in cases:
            self.write(text, "pool.csv")
            result = self.pool("--pool", "pool.csv", *command)
            self.assertEqual(result.returncode, 2, (text, result.stderr))
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn(expected, result.stderr)
        self.assertIn("No such file", self.pool("--pool", "none.csv", *command).stderr)
        self.assertIn("either a space, --set or --pool was expected",
                      self.pool("--pool", "pool.csv", "--set", "n=1", *command).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
