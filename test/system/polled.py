#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Polling, and tracing or polling within a budget, of a program that is executed as its users do.

    polled.py SPEX POLLED SANITIZER

SANITIZER: that of the program, or none.
"""

import json
import os
import re
import sys
import time
import unittest

from watching import PATIENCE, Watched

SANITIZER = None
BUDGET = "2"


class Polled(Watched):
    def finish(self, process):
        """Which share of the time it was in the long probe, as it says last, and its standard error."""
        output, errors = super().finish(process)
        return float(output.split()[-1]), errors

    @staticmethod
    def reports(text):
        """Of `spex run --json`."""
        decoder, found = json.JSONDecoder(), []
        while text.strip():
            report, end = decoder.raw_decode(text.lstrip())
            found.append(report)
            text = text.lstrip()[end:]
        return found

    @staticmethod
    def probes(report):
        return {probe["name"]: probe for process in report["processes"] for probe in process["probes"]}

    def test_the_share_of_time_is_told(self):
        process = self.start(self.spex, "run", "--json", "-i", "1", "-e", "long@poll,short@100", "--", SPEX_PROBING="200")
        time.sleep(3)  # a program that works for a while, not a synchronisation
        truth, output = self.finish(process)
        *intervals, last = self.reports(output)
        probe = self.probes(last)["long"]
        self.assertGreater(probe["looks"], 20)
        self.assertEqual((probe["records"], probe["count"], probe["count_margin"], probe["rate"]),
                         (0, None, None, None))
        self.assertAlmostEqual(probe["active_share"], truth, delta=0.2)
        self.assertAlmostEqual(probe["active_threads"], probe["active_share"])
        self.assertLess(probe["active_margin"], 0.2)
        self.assertGreater(probe["probed_seconds"], 0.5)
        looks = [self.probes(interval)["long"].get("looks", 0) for interval in intervals if self.probes(interval)]
        self.assertLessEqual(sum(looks), probe["looks"])
        short = self.probes(last)["short"]
        self.assertNotIn("looks", short)
        self.assertGreater(short["records"], 0)

    def test_the_table_says_so(self):
        process = self.start(SPEX_PROBES="*@poll")
        sites = self.wait_for(process, lambda found: found["long"].get("probed"))
        self.assertFalse(sites["state"]["on"])
        self.assertIn("polled", self.run_spex("probes", process.pid).stdout)
        self.assertIn("polled", self.run_spex("top", "-b", "-n", "2", "-d", "0.2", process.pid).stdout)
        _, table = self.finish(process)
        self.assertIn("snapshots and spans cannot be polled, so they stay off: state\n", table)
        rows = {line.split()[0]: line.split() for line in table.splitlines() if line.startswith(("long", "short"))}
        self.assertEqual(rows["long"][1:4], ["lat", "polled", "active"])
        self.assertEqual(rows["short"][1:4], ["lat", "polled", "active"])
        self.assertRegex(table, r"a polled one [0-9.e+]+ ns")

    def test_it_is_switched_while_the_program_runs(self):
        process = self.start(SPEX_PROBES="long")
        self.wait_for(process, lambda found: found["long"]["on"])
        result = self.run_spex("set", process.pid, "+long@poll")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.wait_for(process, lambda found: found["long"].get("probed"))
        self.assertIn("long@poll", self.run_spex("list", "--verbose").stdout)
        self.run_spex("set", process.pid, "+long@off,state@poll")
        self.wait_for(process, lambda found: not found["long"]["on"])
        self.finish(process)

    def test_within_a_budget_what_records_cannot_tell_is_polled(self):
        if SANITIZER != "none":
            self.skipTest("with sanitizers it costs nearly as much to be polled as to be recorded")
        process = self.start(SPEX_PROBES="long,short", SPEX_BUDGET=BUDGET + "%", SPEX_RATE_POLICY="hybrid")
        polled = set()

        def note_polled(found):
            """What is executed most is. The other one may be, or its records cost next to nothing beside."""
            for name in ("long", "short"):
                if found[name].get("probed"):
                    self.assertRegex(found[name]["why"], "^polled: ")
                    polled.add(name)
            return "short" in polled
        self.wait_for(process, note_polled)
        # While it is polled, a second or longer, its rate stays the same. Then it is recorded for a few milliseconds, which
        # need not be seen, and has another rate.
        # A process that has no time to answer tells none.
        rates = [0]
        self.wait_for(process, lambda found: rates.append(found["short"]["rate"] or 0) or
                      abs(rates[-1] - rates[-2]) < 1e-6 * rates[-1])
        self.wait_for(process, lambda found: abs((found["short"]["rate"] or 0) - rates[-1]) > 1e-6 * rates[-1] and
                      found["short"].get("probed"))
        truth, table = self.finish(process)
        self.assertIn(f"budget: {BUDGET} % of the program's CPU time; as believed, ", table)
        self.assertRegex(table, "(?m)^long +lat ")
        if "long" not in polled:
            return
        # Its row is followed by that of its activity. After a few looks nothing is known of the margin.
        share, margin = re.search(r"(?ms)^long +lat .*?active .*?([0-9.]+) % ±(\S+)", table).groups()
        if margin != "?":
            self.assertAlmostEqual(float(share) / 100, truth, delta=max(0.3, 2 * float(margin) / 100), msg=table)

    def test_within_a_large_budget_all_is_traced(self):
        process = self.start(SPEX_PROBES="*", SPEX_BUDGET="100%", SPEX_RATE_POLICY="hybrid")
        sites = self.wait_for(process, lambda found: found["long"].get("why", "").startswith("traced: the budget"))
        self.assertNotIn("probed", sites["long"])
        self.finish(process)

    def test_mistakes(self):
        for variables, message in [
                ({"SPEX_PROBING": "0"}, "SPEX_PROBING=0: a number of 1 to 1000 was expected"),
                ({"SPEX_PROBING": "1001"}, "SPEX_PROBING=1001: a number of 1 to 1000 was expected"),
                ({"SPEX_PROBES": "long@polled"}, 'probe selection: "long@polled": after "@" a period'),
                ({"SPEX_RATE_POLICY": "best"}, "SPEX_RATE_POLICY=best: fair, ")]:
            process = self.start(**{"SPEX_PROBES": "*", **variables})
            _, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 1)
            self.assertIn("spex: " + message, errors)


if __name__ == "__main__":
    Watched.spex, program = map(os.path.abspath, sys.argv[1:3])
    Watched.program = [program, BUDGET]
    SANITIZER = sys.argv[3]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
