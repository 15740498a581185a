#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex explore --for`: the time is used, whatever trials come to take, and an exploration goes on with what was left.

usage: explore_time.py SPEX SUBJECT [unittest arguments]
"""

import sqlite3
import sys
import unittest

from exploration import Exploration

# Figures that vary, so that there is always something to find out. The runs are counted in a file.
SCRIPT = """printf x >> COUNT
i=$(wc -c < COUNT)
FIRST
awk -v n={n} -v m={m} -v i=$i 'BEGIN { print "score:", (n + m) * (1 + 0.3 * ((i * 7919 % 101) / 101 - 0.5)) }'
"""


class Time(Exploration):
    def timed(self, time, *options, first="", policy="gaussian"):
        script = SCRIPT.replace("FIRST", first).replace("COUNT", f"{self.dir}/count")
        return self.spex("explore", "--set", "n=1..60", "--set", "m=1..60", "--minimise", "output=score: ([0-9.]+)", "--store",
                         self.store, "--policy", policy, "--for", time, *options, "--", "sh", "-c", script)

    def trials(self):
        return [trial["config"] for trial in self.report()["trials"]]

    def test_the_time_is_used_where_trials_come_to_take_less(self):
        result = self.timed("6s", first="[ $i -gt 3 ] || sleep 0.5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"3600 configurations; about \d trials fit into 6 s; ")
        self.assertGreater(len(self.trials()), 20)

    def test_the_same_command_has_what_was_left(self):
        self.timed("2s")
        before = self.trials()
        result = self.timed("2s")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.trials(), before)
        result = self.timed("3s")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.trials()[:len(before)], before)
        self.assertGreater(len(self.trials()), len(before))
        with sqlite3.connect(self.store) as store:
            passed = [row[0] for row in store.execute("SELECT passed FROM trial ORDER BY number")]
        self.assertEqual(passed, sorted(passed))

    def test_it_goes_on_where_it_was_interrupted(self):
        for policy, options in [("gaussian", []), ("climb", []), ("tpe", ["--jobs", "2", "--share-cpus"]), ("halving", []),
                                ("random", []), ("sensitivity", []), ("climb", ["--jobs", "2", "--share-cpus"])]:
            with self.subTest(policy=policy, options=options):
                self.store = f"{self.dir}/{policy}{len(options)}.db"
                self.write("", "count")
                result = self.timed("2s", *options, policy=policy,
                                    first=f"[ $i -ne 40 ] || [ -e {self.store}.done ] || "
                                          f"{{ : > {self.store}.done; kill -INT $PPID; }}")
                self.assertIn(result.returncode, (0, 130), result.stderr)  # 0: a machine too busy for 40 runs
                before = self.trials()
                again = self.timed("2s", *options, policy=policy,
                                   first=f"[ $i -ne 40 ] || [ -e {self.store}.done ] || "
                                         f"{{ : > {self.store}.done; kill -INT $PPID; }}")
                self.assertEqual(again.returncode, 0, again.stderr)
                self.assertEqual(self.trials()[:len(before)], before)
                self.assertIn(f"{len(self.trials())} trials", again.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
