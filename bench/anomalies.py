#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how reliably and how soon `spex watch` finds that a disk has become slow, in a program that reads from
an SQLite database (served.c). A preloaded library (slow_disk.c) injects delays for a second each.

The same injections are made twice: with a budget, with which spex records rare kernels in full, and with one fixed
period for all kernels that makes as many records a second.

usage: anomalies.py [--json] [--injections N] [--alarms RATE] [--budget SHARE] BUILD FOLDER
"""

import argparse
import json
import os
import queue
import random
import statistics
import subprocess
import sys
import threading
import time

PLAN = """<space name="served">
  <parameter name="rows" type="integer" values="100 200 400 800 1600"/>
  <run trials_per_config="3"/>
</space>
"""

LEARN_SECONDS = 15
SLOW_SECONDS = 1.0
BETWEEN_SECONDS = (2.0, 3.0)
KERNELS = ("request", "request/query")  # that read


class Bench:
    def __init__(self, options):
        self.build, self.folder, self.alarms = options.build, options.folder, options.alarms
        self.spex = os.path.join(self.build, "tools", "spex")
        self.served = os.path.join(self.build, "bench", "served")
        self.preloaded = os.path.join(self.build, "bench", "libslow_disk.so")
        self.switch, self.database = self.path("slow_disk"), self.path("served.db")
        self.models = self.path("served.models")
        self.disk(False)

    def path(self, name):
        return os.path.abspath(os.path.join(self.folder, name))

    def disk(self, slow):
        with open(self.switch, "r+b" if os.path.exists(self.switch) else "wb") as file:
            file.write(b"1" if slow else b"0")

    def train(self):
        plan = self.path("served.xml")
        with open(plan, "w", encoding="utf-8") as file:
            file.write(PLAN)
        subprocess.run([self.served, self.database, "1"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([self.spex, "train", self.models, "--runs", plan, "--probes", "*:kernel@100x16", "--",
                        self.served, self.database, "1000", "{rows}"], check=True, stdout=subprocess.DEVNULL)

    def serve(self, **variables):
        environment = dict(os.environ, LD_PRELOAD=self.preloaded, SLOW_DISK=self.switch, **variables)
        process = subprocess.Popen([self.served, self.database, "0"], env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    def watch(self, process, *arguments):
        return Watch([self.spex, "watch", str(process.pid), "--model", self.models, "--alarms", str(self.alarms),
                      "--json", *arguments])


class Watch:
    """The lines that it prints, with the time of each."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.told = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.told.put((time.monotonic(), json.loads(line)))
        self.told.put((time.monotonic(), None))

    def all_so_far(self):
        found = []
        while not self.told.empty():
            found.append(self.told.get())
        return found

    def end(self):
        """The remaining lines, of which the last is the account."""
        self.process.terminate()
        rest = []
        while not rest or rest[-1][1] is not None:
            rest.append(self.told.get())
        self.process.wait()
        return rest[:-1]


def inject(bench, watch, injections, seed):
    """[(begin, end)] of the injections, and all lines printed meanwhile."""
    draw, windows, told = random.Random(seed), [], []
    for _ in range(injections):
        time.sleep(draw.uniform(*BETWEEN_SECONDS))
        begin = time.monotonic()
        bench.disk(True)
        time.sleep(SLOW_SECONDS)
        bench.disk(False)
        windows.append((begin, time.monotonic()))
        told += watch.all_so_far()
    return windows, told


def judge(windows, told):
    """Seconds to each detection (None: not found), and the alarms that belong to no injection."""
    begins = [(when, event) for when, event in told if event["event"] == "begins"]
    delays, belonging = [], 0
    for begin, end in windows:
        # An alarm that is late by an execution and the transport still belongs to the injection.
        inside = [when - begin for when, event in begins if begin <= when <= end + 1]
        belonging += len(inside)
        seen = [when - begin for when, event in begins if begin <= when <= end and event["kernel"] in KERNELS]
        delays.append(min(seen) if seen else None)
    return delays, len(begins) - belonging


def run(bench, options, variables, arguments):
    process = bench.serve(**variables)
    watch = bench.watch(process, *arguments)
    time.sleep(LEARN_SECONDS)
    learning = watch.all_so_far()
    begin = time.monotonic()
    windows, told = inject(bench, watch, options.injections, options.seed)
    seconds = time.monotonic() - begin
    account = watch.end()[-1][1]
    output, _ = process.communicate()
    done = json.loads(output)
    delays, false_alarms = judge(windows, told)
    found = [delay for delay in delays if delay is not None]
    return {
        "injections": len(delays), "found": len(found),
        "seconds_to_detection": {"median": statistics.median(found) if found else None,
                                 "mean": statistics.fmean(found) if found else None,
                                 "worst": max(found) if found else None},
        "false_alarms": false_alarms, "alarms_while_learning": len(learning), "judged": account["judged"],
        "false_alarms_per_10000": 1e4 * false_alarms / max(account["judged"], 1),
        "stand_for": account["stand_for"], "records_per_second": account["judged"] / account["seconds"],
        "executions_per_second": (2 * done["requests"] + done["rows"]) / done["seconds"],
        "lost": account["lost"], "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--injections", type=int, default=100)
    parser.add_argument("--alarms", type=float, default=1e-5)
    parser.add_argument("--budget", default="2%")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("build")
    parser.add_argument("folder")
    options = parser.parse_args()
    bench = Bench(options)
    bench.train()
    adaptive = run(bench, options, {"SPEX_BUDGET": options.budget}, [])
    period = max(1, round(adaptive["executions_per_second"] / adaptive["records_per_second"]))
    static = run(bench, options, {}, ["--probes", f"*:kernel@{period}"])
    sooner = None
    if adaptive["found"] and static["found"]:
        sooner = 1 - adaptive["seconds_to_detection"]["mean"] / static["seconds_to_detection"]["mean"]
    result = {"bench": "anomalies", "alarms": options.alarms, "budget": options.budget, "period": period,
              "adaptive": adaptive, "static": static, "sooner": sooner}
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    for name in "adaptive", "static":
        case = result[name]
        delay = case["seconds_to_detection"]
        after = f", after {delay['mean']:.3f} s on average (at most {delay['worst']:.3f})" if case["found"] else ""
        print(f"{name:8}  {case['found']} of {case['injections']} found{after}; {case['false_alarms']} false alarms in "
              f"{case['judged']:,} executions; {case['records_per_second']:,.0f} records a second")
    told = f", with a budget of {options.budget} {100 * sooner:.0f} % sooner" if sooner is not None else ""
    print(f"static: 1 in {period}{told}")


if __name__ == "__main__":
    main()
