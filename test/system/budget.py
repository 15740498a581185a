#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A budget for a program that is executed as its users do. Not how well it is kept, which is a measurement.

    budget.py SPEX BUSY HOT_REGION SHARE PASSES

SHARE is a budget that the busy probe's executions alone keep to, and their records do not. PASSES through the region
take about a second.
"""

import json
import os
import re
import sys
import unittest

from watching import PATIENCE, Watched

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tables  # pylint: disable=wrong-import-position

SHARE = HOT_REGION = PASSES = None

IN_SLICES = "in slices of the time: "


class Budget(Watched):
    @staticmethod
    def limited(site):
        """How much so depends on what executions cost here."""
        return site.get("why", "").startswith(("its share of the budget", IN_SLICES))

    def test_the_busy_probe_pays(self):
        process = self.start(SPEX_PROBES="*", SPEX_BUDGET=SHARE)
        # While it is tried again its period is 1. What the start has cost is paid back first, by all.
        self.wait_for(process, lambda found: self.limited(found["busy"]) and found["busy"]["period"] != 1 and
                      found["rare"]["period"] == 1)
        self.wait_for(process, lambda found: found["rare"].get("why") == "as selected")
        counts, table = self.finish(process)
        busy, rare = map(int, counts.split())
        self.assertIn(f"budget: {SHARE[:-1]} % of the program's CPU time; as believed, ", table)
        rows = tables.rows(table)
        self.assertGreaterEqual(float(rows["busy", "lat"]["1 in"]), 1)
        for row, truth in (rows["busy", "lat"], busy), (rows["rare", "tpt"], rare):
            if not row.get("off"):  # else it was held off for a while, and the count is an estimate
                self.assertLessEqual(int(row["count"]), truth)

    def in_slices(self, **variables):
        """A slice takes milliseconds; what is counted grows only then."""
        process = self.start(SPEX_BUDGET="0.02%", **variables)
        self.wait_for(process, lambda found: found["busy"].get("why", "").startswith(IN_SLICES))
        counted = [0]
        self.wait_for(process, lambda found: counted.append(found["busy"]["counted"]) or counted[-1] == counted[-2])
        self.wait_for(process, lambda found: found["busy"]["counted"] > counted[-1])
        self.wait_for(process, lambda found: found["busy"].get("why", "").startswith(IN_SLICES))
        self.finish(process)

    def test_what_costs_too_much_by_itself_is_on_in_slices(self):
        self.in_slices(SPEX_PROBES="*")

    def test_the_only_probe_is_so_too(self):
        for collectors in "1", "3":
            self.in_slices(SPEX_PROBES="busy", SPEX_COLLECTORS=collectors)

    def test_a_region_whose_passes_cost_too_much_is_on_in_slices(self):
        """Though hardly a pass executes a probe. Twice the margins of 95 % hold what was executed meanwhile."""
        told = os.path.join(self.folder, "told")
        process = self.start(self.spex, "run", "--budget", "1%", "--json", "-o", told, "--", program=[HOT_REGION, PASSES])
        counts, _ = self.finish(process)
        with open(told, encoding="utf-8") as file:
            told = json.load(file)["processes"][0]
        rows = {probe["name"]: probe for probe in told["probes"]}
        # Passes cost their share of the time in which the program had a processor.
        had = told["program_seconds"] / told["seconds"]
        for name, truth in zip(("seldom", "rare"), map(int, counts.split())):
            self.assertLess((1 - rows[name]["off"]) * had, 0.7, rows)
            self.assertLessEqual(abs(rows[name]["count"] - truth), 2 * rows[name]["count_margin"], rows)

    def test_periods_that_were_chosen_are_not_made_shorter(self):
        process = self.start(SPEX_PROBES="*@1000000", SPEX_BUDGET="100%")
        sites = self.wait_for(process, lambda found: found["busy"].get("why") == "as selected")
        self.assertEqual(sites["busy"]["period"], 1000000)
        self.finish(process)

    def test_a_probe_that_is_chosen_later_is_kept_within_it(self):
        """A budget that it exceeds even where the program has a processor for a tenth of the time."""
        process = self.start(SPEX_PROBES="rare", SPEX_BUDGET="0.02%")
        self.wait_for(process, lambda found: not found["busy"]["on"])
        self.run_spex("set", process.pid, "*", check=True)
        self.wait_for(process, lambda found: self.limited(found["busy"]))
        self.run_spex("set", process.pid, "rare", check=True)
        self.wait_for(process, lambda found: not found["busy"]["on"])
        self.finish(process)

    def test_by_spex_run(self):
        process = self.start(self.spex, "run", "--budget", "2%", "--")
        process.stdin.close()
        process.stdin = None
        _, table = self.finish(process)
        self.assertIn("budget: 2 % of the program's CPU time", table)

    def test_what_a_short_program_spends_is_accounted_for(self):
        process = self.start(SPEX_PROBES="*", SPEX_BUDGET="100%")
        process.stdin.close()
        process.stdin = None
        _, table = self.finish(process)
        used = re.search(r"as believed, (\S+) % was used", table)
        self.assertGreater(float(used[1]), 0, table)

    def test_without_one_all_is_as_chosen(self):
        process = self.start(SPEX_PROBES="*")
        sites = self.wait_for(process, lambda found: found["busy"]["on"])
        self.assertNotIn("why", sites["busy"])
        _, table = self.finish(process)
        self.assertNotIn("budget:", table)

    def test_mistakes(self):
        for variables, message in [
                ({"SPEX_BUDGET": "2"}, "SPEX_BUDGET=2: a percentage of the program's CPU time, above 0% and up to 100%, "
                                       "was expected, such as 2%"),
                ({"SPEX_BUDGET": "0%"}, "SPEX_BUDGET=0%: a percentage"),
                ({"SPEX_BUDGET": "2%", "SPEX_CALIBRATE": "0"}, "SPEX_BUDGET: a budget cannot be kept with SPEX_CALIBRATE=0")]:
            process = self.start(SPEX_PROBES="*", **variables)
            _, errors = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 1)
            self.assertRegex(errors, r"\Aspex: " + message)
        result = self.run_spex("run", "--budget", "much", "--", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--budget much: a percentage", result.stderr)


if __name__ == "__main__":
    Watched.spex, busy_program, HOT_REGION = map(os.path.abspath, sys.argv[1:4])
    Watched.program = [busy_program]
    SHARE, PASSES = sys.argv[4:6]
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
