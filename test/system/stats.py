#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex stats`: its figures are those of the records, and parts of a trace are told apart when they differ.

    stats.py SPEX MADE RECORDED
"""

import collections
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from made_traces import Traces

RECORDED = None


class Stats(Traces):
    def setUp(self):
        super().setUp()
        self.trace, self.count = self.make(count=20000)

    def stats(self, *arguments):
        result = self.run_spex("stats", *arguments, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return json.loads(result.stdout)

    def probes(self, *arguments):
        (process,) = self.stats(*arguments)["processes"]
        return {probe["name"] or str(probe["id"]): probe for probe in process["probes"]}

    def test_figures_are_those_of_the_records(self):
        executions, times, longest = collections.Counter(), collections.Counter(), collections.Counter()
        for row in self.records(self.trace):
            executions[row["probe"]] += int(row["weight"])
            if row["duration_ns"]:
                times[row["probe"]] += int(row["weight"]) * int(row["duration_ns"])
                longest[row["probe"]] = max(longest[row["probe"]], int(row["duration_ns"]))
        probes = self.probes(self.trace)
        self.assertEqual({name: probe["count"] for name, probe in probes.items()}, executions)
        for name, time in times.items():
            (values,) = probes[name]["values"]
            self.assertAlmostEqual(values["mean"] * 1e9, time / executions[name], delta=1)
            self.assertAlmostEqual(values["max"] * 1e9, longest[name], delta=1)

    def test_parts_add_up(self):
        whole = self.probes(self.trace)
        seconds = self.stats(self.trace)["to"]
        cut = "%.6f" % (seconds / 3)
        first, rest = self.probes(self.trace, "--to", cut), self.probes(self.trace, "--from", cut)
        for name, probe in whole.items():
            self.assertEqual(first[name]["count"] + rest[name]["count"], probe["count"])
            self.assertGreater(first[name]["count"], 0)

    def test_a_selection(self):
        self.assertEqual(set(self.probes(self.trace, "-e", "query,5")), {"query", "5"})

    def test_table(self):
        result = self.run_spex("stats", self.trace)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        table = result.stdout.decode().splitlines()
        self.assertRegex(table[0], "^probe +type +1 in +count ")
        self.assertIn(" %d produced, %d consumed, 17 lost" % (self.count + 17, self.count), result.stdout.decode())

    def compared(self, *arguments):
        found = self.stats(*arguments)["comparison"]
        return {(probe["probe"], figure["figure"]): figure for probe in found for figure in probe["figures"]}

    def test_parts_are_compared(self):
        cut = "%.6f" % (self.stats(self.trace)["to"] / 2)
        figures = self.compared(self.trace, "--to", cut, "--against", cut + "..")
        # The queue grows all the time, and queries are as they were.
        self.assertGreater(figures["queue", "mean"]["ratio_low"], 1.5)
        self.assertLess(figures["queue", "mean"]["chance"], 0.001)
        query = figures["query", "median"]
        self.assertTrue(query["ratio_low"] <= 1 <= query["ratio_high"])
        self.assertGreater(query["chance"], 0.01)

    def test_traces_are_compared(self):
        figures = self.compared(self.trace, self.make(count=10000)[0])
        self.assertLess(figures["queue", "mean"]["ratio_high"], 0.8)
        self.assertAlmostEqual(figures["inner", "mean"]["ratio"], 1, 3)
        # Of always the same length, in ticks whose length was measured for each trace.
        for name in ("inner", "mean"), ("inner", "median"), ("outer", "mean"), ("pace", "median"):
            self.assertGreater(figures[name]["chance"], 0.01, name)
        result = self.run_spex("stats", self.trace, self.trace)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertIn("by chance", result.stdout.decode())
        self.assertIn("\ntwo runs also differ by what the machine did meanwhile", result.stdout.decode())
        result = self.run_spex("stats", self.trace, "--to", "0.01", "--against", "0.01..")
        self.assertNotIn("two runs", result.stdout.decode())

    def samples(self, count, kind):
        """By figure, the comparisons of 100 probes of two traces; a seed each, so that chance is the same each time."""
        found = collections.defaultdict(list)
        first, second = self.make("sampled", count)[0], self.make(kind, count + 1)[0]
        for (_, name), figure in self.compared(first, second).items():
            found[name].append(figure)
        return found

    def test_intervals_of_samples_hold_the_truth(self):
        """Records stand for 4, 16 or 64 executions. Intervals of 95 % hold it for 95 of 100 probes, give or take 2."""
        for kind, truths in ("sampled", {"rate": 1, "mean": 1, "median": 1}), (
                "slower", {"rate": 0.8, "mean": 1.5, "median": 1.5}):
            found = self.samples(200000, kind)
            for name, truth in truths.items():
                with self.subTest(kind=kind, figure=name):
                    holds = sum(figure["ratio_low"] <= truth <= figure["ratio_high"] for figure in found[name])
                    self.assertEqual(len(found[name]), 100)
                    self.assertGreaterEqual(holds, 88)
                    if truth == 1:
                        self.assertLessEqual(sum(figure["chance"] < 0.05 for figure in found[name]), 12)

    def test_a_few_records_have_no_interval(self):
        """Of a tenth of the executions, whose few records would make them too short."""
        for name, figures in self.samples(16000, "sampled").items():
            self.assertLess(sum(figure["ratio_low"] is not None for figure in figures), 25, name)

    def test_what_cannot_be_done(self):
        self.refused("one or two traces were expected", "stats")
        self.refused("--against: FROM..TO", "stats", self.trace, "--against", "5")
        self.refused("--against is for one trace", "stats", self.trace, self.trace, "--against", "1..2")
        self.refused("nothing between", "stats", self.trace, "--from", "1000", status=1)


class Recorded(Traces):
    """Traces of programs that run."""

    def record(self, *arguments, **variables):
        """The folder of the trace, and what the program has said."""
        folder = self.path("trace")
        result = self.succeeds(self.spex, "record", "-o", folder, "--", RECORDED, *arguments,
                               env={**os.environ, **variables})
        return folder, int(result.stdout.split()[1])

    def process(self, *arguments):
        result = self.run_spex("stats", *arguments, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return json.loads(result.stdout)["processes"]

    def test_executions_are_exact(self):
        """Also where most records are lost."""
        for mode, number in (("exact", "5000"), ("fast", "300000")):
            with self.subTest(mode=mode):
                folder, made = self.record(mode, number)
                (process,) = self.process(folder)
                request = next(probe for probe in process["probes"] if probe["name"] == "request")
                self.assertEqual(request["count"], made)
                self.assertEqual(request["records"] + request["lost"], made)
                self.assertEqual(len(self.records(folder)), request["records"])
                shutil.rmtree(folder)

    def test_compared_rates_are_exact(self):
        """Also where most records are lost: rates are those of the table, and not of the records that are left."""
        folder = self.record("fast", "300000", SPEX_RING_RECORDS="128")[0]
        whole = json.loads(self.run_spex("stats", folder, "--json").stdout)
        found = json.loads(self.run_spex("stats", folder, folder, "--json").stdout)["comparison"][0]["figures"][0]
        seconds = whole["to"] - whole["from"]
        self.assertAlmostEqual(found["first"] * seconds / 300000, 1, 6)
        self.assertEqual((found["figure"], found["ratio"]), ("rate", 1))

    def test_an_interval_that_says_nothing_is_not_told(self):
        """All records within one slice of the trace: the rate has an interval of more than a factor of 10."""
        folder = self.record("fast", "30")[0]
        found = json.loads(self.run_spex("stats", folder, folder, "--json").stdout)["comparison"][0]["figures"][0]
        self.assertGreater(found["ratio_high"], 10)
        text = self.run_spex("stats", folder, folder).stdout.decode()
        self.assertRegex(text, r"\nrequest +lat +rate .* x 1\.000 \(\?\) ")
        self.assertIn("?: the slices differ too much for one\n", text)

    def test_a_rate_is_compared_where_it_is_known(self):
        """Held off by a budget, the probe was executed so many times or more."""
        folder = self.path("trace")
        self.succeeds(self.spex, "record", "-b", "0.01%", "-o", folder, "--", RECORDED, "fast", "30000000")
        (process,) = self.process(folder)
        probe = next(probe for probe in process["probes"] if probe["name"] == "request")
        whole = json.loads(self.run_spex("stats", folder, "--json").stdout)
        found = json.loads(self.run_spex("stats", folder, folder, "--json").stdout)["comparison"][0]["figures"][0]
        self.assertGreaterEqual(30000000, probe["counted"])
        if probe["count_margin"] < probe["count"]:
            self.assertAlmostEqual(found["first"] * (whole["to"] - whole["from"]) / probe["count"], 1, 6)
        else:
            self.assertEqual((found["figure"], found["first"], found["ratio"]), ("rate", None, None))

    def test_parts_of_a_second_add_up(self):
        folder, made = self.record("exact", "20000")
        whole = self.run_spex("stats", folder, "--json")
        low, high = 0, json.loads(whole.stdout)["to"]
        counts = [0, 0]
        # A program that gets no processor makes its records in any part.
        while not all(counts):
            cut = (low + high) / 2
            probes = [self.process(folder, side, "%.6f" % cut)[0]["probes"][0] for side in ("--to", "--from")]
            counts = [probe["count"] for probe in probes]
            # What was lost between two packets is shared out between the parts, unless a part may have had far more of it.
            if any(probe["count_at_least"] for probe in probes):
                self.assertLessEqual(sum(counts), made + 1e-3)
            else:
                self.assertAlmostEqual(sum(counts), made, places=3)
            self.assertGreater(high - low, 1e-6)
            low, high = (low, cut) if counts[0] else (cut, high)

    def test_times_are_those_of_the_records(self):
        folder, _ = self.record("kernels")
        (process,) = self.process(folder)
        rows = self.records(folder)
        for name in ("outer", "inner"):
            probe = next(probe for probe in process["probes"] if probe["name"] == name)
            times = [int(row["duration_ns"]) for row in rows if row["probe"] == name]
            (values,) = probe["values"]
            self.assertEqual(probe["count"], len(times))
            taken_off = values["taken_off"] + values["taken_off_nested"]
            # Of shorter times than the clock itself takes, no more is taken off than there is.
            self.assertAlmostEqual((values["mean"] + taken_off) * 1e9, sum(times) / len(times),
                                   delta=2 + taken_off * 1e9)
        self.assertTrue(all(row["path"].startswith("outer") or row["path"] == "inner" for row in rows))

    def test_processes(self):
        folder, made = self.record("workers", "2")
        processes = self.process(folder)
        self.assertEqual(sum(process["probes"][0]["count"] for process in processes), made)
        self.assertEqual(len(self.records(folder)), made)


if __name__ == "__main__":
    Traces.spex, Traces.made, RECORDED = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
