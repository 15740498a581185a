#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/peers/run measures what is installed and names the rest, and its page has all of it.

usage: peers.py RUN BUILD
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

RUN = BUILD = None
# What needs nothing but libc.
ALWAYS = {"spex LAT, off", "spex LAT", "spex KERNEL, one parameter", "getrusage", "clock_gettime"}


def run(*arguments, **options):
    return subprocess.run([RUN, *arguments], capture_output=True, text=True, check=False, **options)


class Peers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = run("--json", "--quick", "--rounds", "3", BUILD)
        if done.returncode:
            raise AssertionError(done.stderr)
        cls.text = done.stdout
        cls.result = json.loads(done.stdout)

    def test_all_peers_are_measured_or_named_with_a_reason(self):
        measured = {row["name"] for row in self.result["bursts"]["rows"]}
        missing = self.result["bursts"]["missing"]
        self.assertLessEqual(ALWAYS, measured)
        self.assertEqual(len(measured) + len(missing), 17)
        self.assertFalse(measured & set(missing))
        for name, why in missing.items():
            print(f"SKIP: {name}: {why}")
            self.assertTrue(why)

    def test_figures_are_within_their_intervals(self):
        for row in self.result["bursts"]["rows"]:
            low, high = row["ci95"]
            self.assertLessEqual(low, row["median"], row)
            self.assertLessEqual(row["median"], high, row)
            if row["state"] == "on":
                self.assertGreater(row["median"], 0, row)

    def test_a_limit_is_kept_where_its_interval_is_within_it(self):
        for limit in self.result["bursts"]["limits"]:
            low, high = limit["ci95"]
            kept = True if high <= limit["at_most"] else False if low > limit["at_most"] else None
            self.assertEqual(limit["kept"], kept, limit)

    def test_page_has_each_row_and_a_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            found, page = os.path.join(folder, "found.json"), os.path.join(folder, "peers.md")
            with open(found, "w", encoding="utf-8") as file:
                file.write(self.text)
            done = run("--page", page, found)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(page, encoding="utf-8") as file:
                text = file.read()
            for row in self.result["bursts"]["rows"]:
                self.assertIn(f"| {row['name']}", text)
            for name, why in self.result["bursts"]["missing"].items():
                self.assertIn(f"- {name}: not measured here: {why}.", text)
            with open(os.path.join(folder, "peers.svg"), encoding="utf-8") as file:
                self.assertIn("</svg>", file.read())

    def test_wrong_arguments_are_refused(self):
        for bad in ((), ("/nowhere",), ("--rounds", "0", BUILD), ("--slices", "0", BUILD), ("--what", BUILD)):
            self.assertEqual(run(*bad).returncode, 2, bad)


if __name__ == "__main__":
    RUN, BUILD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
