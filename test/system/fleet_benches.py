#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benches of fleets run, and print what docs are made from; what they calculate is right.

    fleet_benches.py SOURCE_ROOT BUILD
"""

import json
import math
import os
import subprocess
import sys
import unittest

ROOT = BUILD = None


class Fleet(unittest.TestCase):
    def bench(self, name, *options):
        result = subprocess.run([sys.executable, os.path.join(ROOT, "bench/fleet", name + ".py"), "--json", *options, BUILD],
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_overlap(self):
        a, b = {"x": 3, "y": 1}, {"x": 1, "y": 1, "z": 2}
        self.assertAlmostEqual(overlap.overlap(a, b), 0.5)
        self.assertAlmostEqual(overlap.overlap(a, {"x": 300, "y": 100}), 1)
        self.assertTrue(math.isnan(overlap.overlap(a, {})))
        self.assertEqual(overlap.added([a, b]), {"x": 4, "y": 2, "z": 2})
        self.assertEqual(overlap.overlaps_of_parts([a, a, a], 2), [1, 1, 1])

    def test_bounds(self):
        line = (0.5, 0.002, 0.003)
        crowds = [{"agents": agents, "instances": each, "reports": reports, "cpu": bounds.at(line, reports, reports * each),
                   "status_bytes": bounds.at(line, agents, agents * each)}
                  for agents, each, reports in ((100, 1, 99.5), (400, 1, 250), (100, 8, 97))]
        for figure in ("cpu", "status_bytes"):
            for wanted, got in zip(line, bounds.solved(crowds, figure)):
                self.assertAlmostEqual(wanted, got)
        self.assertAlmostEqual(bounds.at(line, bounds.most(line, 8, 7) / 8, bounds.most(line, 8, 7)), 7)

    @unittest.skipUnless(os.path.exists("/usr/sbin/nats-server"), "there is no nats-server")
    def test_crowd(self):
        told = self.bench("crowd", "--crowds", "3x2", "--probes", "5", "--seconds", "1")["crowds"]["3x2"]
        self.assertEqual((told["covered"], told["map"], told["refused"], told["dropped"]), (5, 5, 0, 0))
        self.assertGreater(told["messages_in"], 0)
        self.assertEqual((told["profiles"]["instances"], told["profiles"]["refused"], told["profiles"]["no_room"]), (6, 0, 0))

    def test_killed(self):
        told = self.bench("killed", "--kills", "3", "--beside", "3")
        self.assertEqual(len(told["kills"]), 3)
        for kill in told["kills"]:
            self.assertLessEqual(kill["at_least"], kill["at_most"])

    def test_simulated(self):
        told = self.bench("simulated", "--instances", "40", "--probes", "5", "--seeds", "1")
        self.assertEqual((told["runs"][0]["covered"], told["runs"][0]["unanswered"]), (5, 0))

    @unittest.skipUnless(all(map(os.path.exists, ("/usr/sbin/haproxy", "/usr/bin/wrk"))), "there is no haproxy or wrk")
    def test_ratios(self):
        told = self.bench("ratios", "--rounds", "1", "--seconds", "1", "--connections", "2")
        self.assertEqual([one["ratio"] for one in told["ratios"]], [0, 0.25, 0.5, 0.75, 1])
        self.assertTrue(all(one["throughput"]["median"] > 0 for one in told["ratios"]))
        self.assertGreater(told["ratios"][2]["overlap"]["with_full_turn"]["median"], 0.5)


if __name__ == "__main__":
    ROOT, BUILD = map(os.path.abspath, sys.argv[1:3])
    sys.path.insert(0, os.path.join(ROOT, "bench/fleet"))
    import bounds
    import overlap
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
