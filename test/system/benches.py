#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benches run, count what they did and print what docs are made from.

usage: benches.py OVERHEAD DRAIN RATES BUDGET REACTION REGIONS FUNCTIONS STARTUP CALIBRATION
                  FOOTPRINT WAITING RESTING OBJECT BRIEF MODELS COLD
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from page import estimates, print_models  # pylint: disable=wrong-import-position

OVERHEAD = None
DRAIN = None
RATES = None
BUDGET = None
REACTION = None
REGIONS = None
FUNCTIONS = None
STARTUP = None
CALIBRATION = None
FOOTPRINT = None
WAITING = None
RESTING = None
OBJECT = None
BRIEF = None
MODELS = None
COLD = None

TYPES = ("CNT", "LAT", "TPT", "LLC", "FLT", "CTXSW", "PERFCNTR", "SNAPSHOT", "KERNEL", "SPAN")


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
            self.assertEqual({threads for type_, _, threads, clock, _, _ in keys if type_ == name and clock == "cpu"},
                             {1, 2, 4, 8})
            if name not in ("SNAPSHOT", "SPAN"):
                self.assertIn((name, "scoped", 1, "wall", best, "open"), keys)
                self.assertIn((name, "polled", 1, "wall", best, "open"), keys)
        for limit in result["limits"]:
            bound = limit.get("at_most", limit.get("at_least"))
            below = limit["figure"] <= bound if "at_most" in limit else limit["figure"] >= bound
            if limit["figure"] != bound:  # both are rounded
                self.check_verdict(limit, below)

    def check_verdict(self, limit, below):
        """What is not kept on a busy machine is not known."""
        self.assertIn(limit["kept"], (True,) if below else (False, None), limit)

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

    def test_startup(self):
        result = json.loads(output(STARTUP, "--json", "--rounds", "3"))
        programs = ["without spex", "linked", "started, off", "started, on"]
        self.assertIn([case["program"] for case in result["results"]],
                      [programs, programs + ["static, " + program for program in programs]])
        self.assertEqual([limit["kept"] for limit in result["limits"]],
                         [limit["figure"] <= limit["at_most"] for limit in result["limits"]])
        self.assertRegex(output(STARTUP, "--rounds", "1"), r"started, on +[0-9.]+ +-?[0-9.]+  at most 3: ")
        self.refuse(STARTUP, "--rounds", "0")

    def test_calibration(self):
        result = json.loads(output(CALIBRATION, "--json", "--rounds", "2"))
        found = {(case["type"], case["state"]): case for case in result["results"]}
        self.assertEqual(len(found), 41)
        for case in found.values():
            self.assertLessEqual(case["p10"], case["p90"])
        self.assertGreater(found["LAT", "on"]["p10"], 0)
        self.assertGreater(found["all", "polled"]["p10"], 0)
        self.assertRegex(output(CALIBRATION, "--rounds", "1"), r"LAT +on +[0-9.]+ ")
        self.refuse(CALIBRATION, "--rounds", "0")

    def test_footprint(self):
        result = json.loads(output(FOOTPRINT, "--json", "--rounds", "1"))
        self.assertGreater(result["results"][0]["kilobytes"], 100)
        self.assertEqual([limit["kept"] for limit in result["limits"]],
                         [limit["figure"] <= limit["at_most"] for limit in result["limits"]])
        self.refuse(FOOTPRINT, "--rounds", "0")

    def test_waiting(self):
        result = json.loads(output(WAITING, "--json", "--rounds", "1"))
        self.assertEqual({(case["waits"], case["loop"]) for case in result["results"]},
                         {(way, loop) for way in ("dormant", "polled", "thread") for loop in ("malloc", "putc", "no libc")})
        self.refuse(WAITING, "--rounds", "0")

    def test_cold(self):
        result = json.loads(output(COLD, "--json", "--rounds", "1"))
        records = {"request": 1, "handle": 1, "open": 1, "connections": 1, "all": 4}
        self.assertEqual([(case["bytes"] >> 10, case["probes"], case["records"]) for case in result["results"]],
                         [(amount, probes, count) for amount in (256, 8192) for probes, count in records.items()])
        for case in result["results"]:
            self.assertGreater(case["plain_ns"], 0)
        self.assertRegex(output(COLD, "--rounds", "1"), r" 8192 KiB, all +4 records: +-?[0-9.]+ ns ")
        self.refuse(COLD, "--rounds", "0")

    def test_resting(self):
        result = json.loads(output(RESTING, "--json", "--rounds", "1"))
        self.assertEqual(len(result["results"]), 4)
        for case in result["results"]:
            # One that rests may make no pass in the second that is measured.
            for name, interval in ("passes", "passes_ci95"), ("cpu_per_cent", "cpu_ci95"):
                self.assertTrue(0 <= case[interval][0] <= case[name] <= case[interval][1], case)
        self.refuse(RESTING, "--rounds", "0")

    def test_brief(self):
        result = json.loads(output(BRIEF, "--json", "--rounds", "4"))
        self.assertEqual([(case["workload"], case["seconds"], case["what"]) for case in result["results"]],
                         [(name, *case) for name in ("json", "hash")
                          for case in ((0.005, "off"), (0.005, "2%"), (0.5, "2%"))])
        for case in result["results"]:
            # In 5 ms the collector may not have got a processor.
            if case["what"] == "off" or case["seconds"] > 0.1:
                self.assertEqual(case["believed"] > 0, case["what"] == "2%")
            self.assertGreater(case["ci95"], 0)
        self.refuse(BRIEF, "--rounds", "1")

    def test_rates(self):
        result = json.loads(output(RATES, "--benchmark_format=json", "--benchmark_repetitions=1", "--benchmark_min_time=0.001",
                                   "--benchmark_percentiles=false"))
        rows = estimates(result)
        self.assertEqual(set(rows), {f"{policy}/classes:{classes}" for policy in ("fixed", "fair", "budget", "hybrid")
                                     for classes in (10, 16, 24, 100, 1000, 10000)})
        for row in rows.values():
            self.assertGreater(row["real_time"], 0)

    def test_models(self):
        result = json.loads(output(MODELS, "--benchmark_format=json", "--benchmark_repetitions=1", "--benchmark_min_time=0.001",
                                   "--benchmark_percentiles=false"))
        self.assertEqual(set(estimates(result)), {"fit_cases", "fit_large", "predict", "rdtsc"})
        with contextlib.redirect_stdout(io.StringIO()) as page:
            print_models(result)
        self.assertRegex(page.getvalue(), r"Fits of \d+ made-up kernels(.|\n)*\n\| a prediction, ticks \| \d+\.\d \| ")

    def budget(self, *options, seconds="0.1"):
        return json.loads(output(BUDGET, "--json", "--seconds", seconds, "--budget", "10%", *options))

    def test_budget(self):
        names = ("sqlite", "sites", "threads")
        result = self.budget(*(option for name in names for option in ("--workload", name)))
        self.assertEqual([(case["workload"], case["budget"]) for case in result["results"]], [(name, 0.1) for name in names])
        self.assertEqual({(case["workload"], case["what"]) for case in result["control"]},
                         {(name, what) for name in names for what in ("off", "thread")})
        # Until costs are known, a probe may be off for as long as one of these is measured.
        for figure in ("records", "executions"):
            self.assertGreater(sum(case[figure] for case in result["results"]), 0)
        for case in result["results"]:
            if case["believed"] is None:
                self.assertFalse(case["belief_true"])
            else:
                self.assertGreater(case["believed"], 0)
            self.assertGreater(case["ci95"], 0)
            bound = 1.25 * 0.1 + 0.003
            self.assertEqual(case["kept"], True if case["slowdown"] + case["ci95"] <= bound else
                             False if case["slowdown"] - case["ci95"] > bound else None)
            self.assertIn(case["belief_true"], (True, False))

    def test_budget_of_a_program_without_threads(self):
        result = self.budget("--alone", "--workload", "json")
        self.assertTrue(result["alone"])
        for bad in (["--seconds", "0"], ["--workload", "x"], ["--budget", "0%"], ["--budget", "2"], ["x"], ["--what"]):
            self.refuse(BUDGET, *bad)

    def test_budget_of_an_object(self):
        result = self.budget("--object", OBJECT, "--workload", "object", seconds="1")
        self.assertEqual([case["workload"] for case in result["results"]], ["object"])
        self.assertGreater(result["results"][0]["executions"], 0)
        for bad in ("/nowhere.so", sys.argv[0]):
            self.refuse(BUDGET, "--object", bad)

    @staticmethod
    def budget_begun():
        """A bench, and its two processes' numbers."""
        bench = subprocess.Popen([BUDGET, "--workload", "json"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        found = []
        while bench.poll() is None and len(found) < 2:
            with open(f"/proc/{bench.pid}/task/{bench.pid}/children", encoding="utf-8") as file:
                found = file.read().split()
        return bench, found

    def test_budget_ends_all_that_it_started(self):
        bench, found = self.budget_begun()
        bench.kill()
        bench.stderr.close()
        bench.wait()
        self.assertEqual(len(found), 2)
        while any(self.runs(child) for child in found):
            time.sleep(0.005)

    @staticmethod
    def runs(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_budget_tells_of_a_process_that_has_ended(self):
        bench, found = self.budget_begun()
        os.kill(int(found[0]), signal.SIGKILL)
        self.assertRegex(bench.communicate()[1], r"^budget: json: the process has ended, by signal 9\n$")
        self.assertEqual(bench.returncode, 1)

    def test_reaction(self):
        result = json.loads(output(REACTION, "--json", "--rounds", "2", "--seconds", "0.2"))
        self.assertEqual(result["share"], 0.02)
        self.assertEqual(len({case["what"] for case in result["results"]}), 6)
        for case in result["results"]:
            self.assertLessEqual(0, case["median"])
            self.assertLessEqual(case["median"], case["worst"])
        self.assertIn("at worst", output(REACTION, "--rounds", "1", "--seconds", "0.1"))
        for bad in (["--rounds", "0"], ["--seconds", "0"], ["--what"]):
            self.refuse(REACTION, *bad)

    def test_regions(self):
        result = json.loads(output(REGIONS, "--json", "--rounds", "3"))
        self.assertGreater(result["chain_ticks"], 0)
        self.assertGreater(result["wide_ticks"], 0)
        keys = set()
        for case in result["results"]:
            low, high = case["ci95"]
            self.assertLessEqual(low, case["ratio"])
            self.assertLessEqual(case["ratio"], high)
            keys.add((case["work"], case["how"], case["rate"]))
            if "at_most" in case:
                self.check_verdict(case, case["ratio"] <= case["at_most"])
        self.assertEqual(len(keys), len(result["results"]))
        for rate in ("off", "1/100", "1/1000", "1/10000"):
            for work in ("chain", "wide"):
                self.assertLessEqual({(work, "probes", rate), (work, "region", rate)}, keys)
        self.assertRegex(output(REGIONS, "--rounds", "3"), r"wide +region +1/1000 ")
        for bad in (["--rounds", "2"], ["--what"]):
            self.refuse(REGIONS, *bad)

    def test_functions(self):
        result = json.loads(output(FUNCTIONS, "--json", "--rounds", "3"))
        self.assertEqual([case["what"] for case in result["results"]],
                         ["no kernel", "off", "skipped", "recorded", "kernel, recorded"])
        for case in result["results"]:
            low, high = case["ci95"]
            self.assertLessEqual(low, case["ticks"])
            self.assertLessEqual(case["ticks"], high)
        self.assertRegex(output(FUNCTIONS, "--rounds", "3"), r"recorded +-?[0-9.]+ ")
        for bad in (["--rounds", "2"], ["--what"]):
            self.refuse(FUNCTIONS, *bad)


if __name__ == "__main__":
    (OVERHEAD, DRAIN, RATES, BUDGET, REACTION, REGIONS, FUNCTIONS, STARTUP, CALIBRATION, FOOTPRINT,
     WAITING, RESTING, OBJECT, BRIEF, MODELS, COLD) = sys.argv[1:17]
    unittest.main(argv=sys.argv[:1] + sys.argv[17:], verbosity=2)
