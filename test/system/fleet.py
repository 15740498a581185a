#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex fleet` tells what a policy means and covers, where it is wrong, and what a master would decide.

usage: fleet.py SOURCE_ROOT SPEX SUBJECT
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = SPEX = SUBJECT = None
POLICY = """<profiling-spec name="p">
<instrumentation-map>
<unit type="glob" name="{name}" modes="cnt lat tpt snapshot"/>
</instrumentation-map>
<qos-requirements><response-time probe="{response}" metric="mean" at_most="50ms"/>{more}</qos-requirements>
</profiling-spec>
"""


def fleet(*arguments):
    return subprocess.run([SPEX, "fleet", *arguments], capture_output=True, text=True, timeout=300)


class Fleet(unittest.TestCase):
    def policy(self, name="*", response="request:lat", more=""):
        file = tempfile.NamedTemporaryFile("w", suffix=".xml")
        self.addCleanup(file.close)
        file.write(POLICY.format(name=name, response=response, more=more))
        file.flush()
        return file.name

    def test_the_example_is_a_policy(self):
        result = fleet("check", os.path.join(ROOT, "examples/fleet/shop.xml"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("at most 7 instances", result.stdout)

    def test_errors_name_the_line(self):
        path = self.policy(name="a,b")
        result = fleet("check", path)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn(path + ":3: <unit>: name=\"a,b\":", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_check_lists_the_probes_of_a_program(self):
        listed = json.loads(subprocess.run([SPEX, "probes", SUBJECT, "--json"], capture_output=True, text=True,
                                           check=True, timeout=60).stdout)
        self.assertTrue(listed)
        path = self.policy(response="nothing:lat")
        result = fleet("check", path, SUBJECT, "--json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing:lat", result.stderr)
        checked = json.loads(result.stdout)
        self.assertEqual(len(checked["units"][0]["probes"]), checked["covered"])
        self.assertTrue(0 < checked["covered"] <= checked["probes"])

    def test_a_unit_without_probes_is_told_with_its_line(self):
        path = self.policy(name="no-such-probe*")
        result = fleet("check", path, SUBJECT)
        self.assertEqual(result.returncode, 1)
        self.assertIn(path + ":3: <unit>:", result.stderr)

    def test_simulations_are_repeated_by_their_seed(self):
        arguments = ("simulate", self.policy(), "--instances", "20", "--probes", "12", "--load", "0:0.6,60:1.2",
                     "--json", "--why", "1", "--seed", "7")
        first, second = fleet(*arguments), fleet(*arguments)
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        self.assertEqual(first.stdout, second.stdout)
        told = json.loads(first.stdout)
        self.assertEqual(told["map"], told["end"]["covered"])
        self.assertLessEqual(told["answers"][1]["answered"] - told["answers"][1]["broken"], 5)
        self.assertEqual(told["answers"][1]["action"], "add")
        self.assertEqual(told["why"]["cause"], "room")

    def test_wrong_command_lines_are_refused(self):
        path = self.policy()
        for arguments in ([], ["chek"], ["check"], ["simulate", path], ["simulate", path, "--instances", "0"],
                          ["simulate", path, "--instances", "5", "--load", "1:0.5"],
                          ["simulate", path, "--instances", "5", "--load", "0:0.5,0:1"],
                          ["simulate", path, SUBJECT, "--instances", "5", "--probes", "3"]):
            with self.subTest(arguments):
                self.assertEqual(fleet(*arguments).returncode, 2)

    def test_a_response_time_that_no_fleet_can_keep_is_refused(self):
        result = fleet("simulate", self.policy(), "--instances", "5", "--service", "0.06")
        self.assertEqual(result.returncode, 1)
        self.assertIn("less time than the response time", result.stderr)


if __name__ == "__main__":
    ROOT, SPEX, SUBJECT = (os.path.abspath(path) for path in sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
