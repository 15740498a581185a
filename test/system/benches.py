#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benches run, count what they did and print what docs are made from.

usage: benches.py OVERHEAD DRAIN RATES
"""

import json
import subprocess
import sys
import unittest

OVERHEAD = None
DRAIN = None
RATES = None

TYPES = ("CNT", "LAT", "TPT", "LLC", "FLT", "CTXSW", "PERFCNTR", "SNAPSHOT")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Benches(unittest.TestCase):
    def refuse(self, *command):
        self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, 2)

    def test_overhead(self):
        result = json.loads(output(OVERHEAD, "--json", "--rounds", "3"))
        self.assertGreater(result["rdtsc_cycles"], 0)
        self.assertGreater(result["empty_loop_cycles"], 0)
        keys = set()
        for case in result["results"]:
            low, high = case["ci95"]
            self.assertLessEqual(low, case["cycles_per_pair"])
            self.assertLessEqual(case["cycles_per_pair"], high)
            keys.add((case["type"], case["state"], case["threads"], case["clock"], case["commit"], case["control"]))
        self.assertEqual(len(keys), len(result["results"]))
        best = {commit for _, _, threads, _, commit, _ in keys if threads == 8}.pop()
        counted = [name for name in TYPES if name != "LLC" or "not available" not in result["llc"]]
        for name in counted:
            for state, commit in (("off", best), ("skipped", best), ("on", best), ("on", "atomic")):
                self.assertIn((name, state, 1, "wall", commit, "open"), keys)
                if state != "on":
                    self.assertIn((name, state, 1, "wall", commit, "off"), keys)
            if name != "SNAPSHOT":
                self.assertIn((name, "scoped", 1, "wall", best, "open"), keys)
        for limit in result["limits"]:
            bound = limit.get("at_most", limit.get("at_least"))
            below = limit["figure"] <= bound if "at_most" in limit else limit["figure"] >= bound
            self.assertEqual(limit["kept"], below, limit)

    def test_overhead_as_a_table(self):
        self.assertRegex(output(OVERHEAD, "--rounds", "3"), r"LAT +off +-?[0-9.]+ ")
        for bad in (["--rounds", "2"], ["--rounds", "x"], ["--what"]):
            self.refuse(OVERHEAD, *bad)

    def test_drain(self):
        result = json.loads(output(DRAIN, "--json", "--seconds", "0.2", "--ring-records", "1024"))
        for case in result["scenarios"]:
            self.assertGreater(case["produced"], 0)
            self.assertEqual(case["produced"], case["consumed"] + case["lost"])
        self.assertIn("produced", output(DRAIN, "--seconds", "0.1"))
        for bad in (["--seconds", "0"], ["--what"]):
            self.refuse(DRAIN, *bad)

    def test_rates(self):
        result = json.loads(output(RATES, "--json", "--rounds", "3"))
        keys = set()
        for case in result["results"]:
            low, high = case["ci95"]
            self.assertLessEqual(low, case["microseconds"])
            self.assertLessEqual(case["microseconds"], high)
            keys.add((case["policy"], case["classes"]))
        self.assertEqual(len(keys), len(result["results"]))
        for policy in ("fixed", "budget", "hybrid"):
            self.assertIn((policy, 1000), keys)
        self.assertIn("1000 classes", output(RATES, "--rounds", "1"))
        for bad in (["--rounds", "0"], ["--what"]):
            self.refuse(RATES, *bad)


if __name__ == "__main__":
    OVERHEAD, DRAIN, RATES = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
