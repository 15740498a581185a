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
