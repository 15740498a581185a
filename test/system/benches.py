#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benches run, count what they did and print what docs are made from.

usage: benches.py OVERHEAD
"""

import json
import subprocess
import sys
import unittest

OVERHEAD = None


class Overhead(unittest.TestCase):
    ROUNDS = 3
    ON = 100000  # executions a round of a case that is on

    def test_json(self):
        out = subprocess.run([OVERHEAD, "--json", "--rounds", str(self.ROUNDS)], check=True,
                             capture_output=True, text=True).stdout
        result = json.loads(out)
        cases = {case["name"]: case for case in result["cases"]}
        self.assertEqual(len(cases), len(result["cases"]))
        self.assertIn(result["cases"][1]["name"], ("RDTSC", "CNTVCT"))
        self.assertEqual(result["cases"][1]["of_counter"], 1)
        for case in cases.values():
            self.assertLessEqual(case["low"], case["median"])
            self.assertLessEqual(case["median"], case["high"])
        # Four types and a scope on in every round, warm-up included, and the types for one
        # execution in 100.
        records = result["records"]
        self.assertEqual(records["produced"], (self.ROUNDS + 1) * self.ON * (5 * 100 + 4) // 100)
        self.assertEqual(records["produced"], records["consumed"] + records["lost"])

    def test_table_and_bad_arguments(self):
        out = subprocess.run([OVERHEAD, "--rounds", "3"], check=True, capture_output=True,
                             text=True).stdout
        self.assertRegex(out, r"LAT off +-?[0-9.]+ ")
        for bad in (["--rounds", "2"], ["--rounds", "x"], ["--what"]):
            result = subprocess.run([OVERHEAD, *bad], capture_output=True, check=False)
            self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    OVERHEAD = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
