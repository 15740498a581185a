#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the harness (spex/bench.h) with others that measure the same functions (harnesses.cc): Google Benchmark, and
Catch2's BENCHMARK, where Debian's libbenchmark-dev and catch2 are installed. They run in turn, in random order, each
time in a new process, with the same time for a function.

Each harness has its own interval of 95 %: spex that of its row "estimate"; Google Benchmark, which writes none, that of
Student's t for its mean and standard deviation; Catch2 its bootstrap's of the mean. An interval is right if it holds
what the harness measures in the middle of all rounds, in other processes.

Why they differ is told by Google Benchmark in two other ways: its CPU time leaves out what other programs take of a
repetition; and many short repetitions by its loop and clocks make an estimate as spex makes one of its batches.

usage: harnesses.py [--json] [--rounds N] [--seconds S] BUILD FOLDER
       harnesses.py --page HARNESSES.json

BUILD is a build directory; the program is compiled into FOLDER.
"""

import argparse
import json
import math
import os
import random
import resource
import shlex
import statistics
import subprocess
import time
import xml.etree.ElementTree

from flight import interval
from page import page_of, tell

REPETITIONS = 10
STUDENT = 2.262  # 95 %, two-sided, of as many repetitions
SHORT_REPETITIONS = 640

NAMES = {"spex": "spex/bench.h", "google": "Google Benchmark", "google_cpu": "…, CPU time",
         "google_short": "…, estimate as of spex", "catch": "Catch2"}


def compile_program(build, folder):
    """The program's path, and the harnesses that it has."""
    here = os.path.dirname(os.path.abspath(__file__))
    source, include = os.path.join(here, "harnesses.cc"), os.path.join(here, "..", "include")
    program = os.path.join(folder, "harnesses")
    libraries = [os.path.join(build, "src", name) for name in ("libspex-bench.a", "libspex.a")]
    found = subprocess.run(["pkg-config", "--libs", "benchmark"], capture_output=True, text=True, check=False)
    subprocess.run([*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", "-O2", "-I", include, "-I",
                    os.path.join(build, "include"), "-o", program, source, *libraries, *found.stdout.split(), "-pthread", "-lm"],
                   check=True)
    names = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    return os.path.abspath(program), names


def function_of(name):
    return name.split("_", 1)[1]


def run_json(program, harness, seconds, repetitions, *options, **environment):
    """The rows that spex and Google Benchmark write, with their functions."""
    command = [program, harness, f"--benchmark_min_time={seconds / repetitions}",
               f"--benchmark_repetitions={repetitions}", "--benchmark_format=json", *options]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         env={**os.environ, **environment}).stdout
    return [(function_of(row["run_name"].split("/")[0]), row) for row in json.loads(out)["benchmarks"]]


def run_spex(program, seconds):
    return {"spex": {function: (row["real_time"], row["real_time_low"], row["real_time_high"])
                     for function, row in run_json(program, "spex", seconds, REPETITIONS, "--benchmark_percentiles=false")
                     if row.get("aggregate_name") == "estimate"}}


def student(rows, time):
    """Means of repetitions, with their intervals."""
    values = {(function, row["aggregate_name"]): row[time] for function, row in rows if row["run_type"] == "aggregate"}
    halves = {function: STUDENT * value / math.sqrt(REPETITIONS)
              for (function, aggregate), value in values.items() if aggregate == "stddev"}
    return {function: (values[function, "mean"], values[function, "mean"] - half, values[function, "mean"] + half)
            for function, half in halves.items()}


def undisturbed(values):
    """As spex_bench_undisturbed (src/harness/estimate/figures.h)."""
    ordered, near = sorted(values), len(values) // 5
    first = min(range(len(ordered) - near + 1), key=lambda i: ordered[i + near - 1] - ordered[i])
    return statistics.mean(ordered[first:first + near])


def run_google(program, seconds):
    rows = run_json(program, "google", seconds, REPETITIONS)
    cpu, short = student(rows, "cpu_time"), {}
    iterations = {f"google_{function}": str(max(1, round(seconds / SHORT_REPETITIONS * 1e9 / ns)))
                  for function, (ns, _, _) in cpu.items()}
    for function, row in run_json(program, "google", seconds, SHORT_REPETITIONS, **iterations):
        if row["run_type"] == "iteration":
            short.setdefault(function, []).append(row["real_time"])
    return {"google": student(rows, "real_time"), "google_cpu": cpu,
            "google_short": {function: (undisturbed(values),) for function, values in short.items()}}


def run_catch(program, seconds):
    """A sample takes a thousand steps of its clock, whatever it is asked for: their number makes the time."""
    def run(samples):
        command = [program, "catch", "-r", "xml", "--benchmark-samples", str(samples), "--benchmark-resamples", "1000"]
        out = subprocess.run(command, check=True, capture_output=True).stdout
        return xml.etree.ElementTree.fromstring(out).iter("BenchmarkResults")
    if not hasattr(run_catch, "samples"):
        ten = list(run(10))
        longest = statistics.median(float(result.get("estimatedDuration")) for result in ten) / 10
        run_catch.samples = max(100, round(seconds * 1e9 / longest))
    figures = {}
    for result in run(run_catch.samples):
        mean = result.find("mean")
        figures[function_of(result.get("name"))] = tuple(float(mean.get(key)) for key in ("value", "lowerBound", "upperBound"))
    return {"catch": figures}


RUNS = {"spex": run_spex, "google": run_google, "catch": run_catch}


def seconds_of_machine():
    """Of all processors since the start: all, and those in which other programs worked."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    ours = sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    busy, rate = user + nice + system + irq + softirq + steal, os.sysconf("SC_CLK_TCK")
    return (busy + idle + iowait) / rate, busy / rate - ours


def measure(program, harnesses, rounds, seconds):
    """[harness][function]: estimates and intervals, by round; [harness]: seconds of its processes."""
    figures, taken = {}, {harness: [] for harness in harnesses}
    for _ in range(rounds):
        for harness in random.sample(harnesses, len(harnesses)):
            begin = time.monotonic()
            for name, functions in RUNS[harness](program, seconds).items():
                for function, figure in functions.items():
                    figures.setdefault(name, {}).setdefault(function, []).append(figure)
            taken[harness].append(time.monotonic() - begin)
    return figures, {harness: statistics.median(values) for harness, values in taken.items()}


def spread(values):
    """Half of what holds the middle 95 % of a normal distribution with the quartiles of the values, as a share."""
    low, middle, high = statistics.quantiles(values, n=4)
    return 1.96 * (high - low) / 1.349 / middle


def row_of(figures, harness, function):
    rounds, ours = figures[harness][function], figures["spex"][function]
    estimates = [figure[0] for figure in rounds]
    ratios = [figure[0] / our[0] for figure, our in zip(rounds, ours)]
    centre = statistics.median(estimates)
    row = {"function": function, "harness": harness, "ns": centre, "ratio": statistics.median(ratios),
           "ci95": interval(sorted(ratios)), "spread": spread(estimates)}
    row["agrees"] = row["ci95"][0] <= 1 <= row["ci95"][1]
    if len(rounds[0]) == 3:
        row["width"] = statistics.median((high - low) / 2 / value for value, low, high in rounds)
        row["right"] = sum(low <= centre <= high for _, low, high in rounds) / len(rounds)
        row["together"] = sum(low <= our[2] and our[1] <= high for (_, low, high), our in zip(rounds, ours)) / len(rounds)
    return row


def result_of(options):
    program, harnesses = compile_program(options.build, options.folder)
    before = seconds_of_machine()
    figures, taken = measure(program, harnesses, options.rounds, options.seconds)
    after = seconds_of_machine()
    functions = sorted(figures["spex"], key=lambda function: figures["spex"][function][0][0])
    return {"bench": "harnesses", "rounds": options.rounds, "seconds": options.seconds, "processes": taken,
            "others": max(0, after[1] - before[1]) / (after[0] - before[0]),
            "missing": [name for name in RUNS if name not in harnesses],
            "results": [row_of(figures, harness, function) for function in functions for harness in NAMES
                        if harness in figures]}


def print_page(result):
    print("\n## Whether harnesses agree (`bench/harnesses.py`)\n")
    print(f"The same functions measured by spex/bench.h and by others, {result['seconds']:g} s each in a process, "
          f"{result['rounds']} rounds in random")
    print("order. Ratio: its estimate over that of spex, median of the rounds and its 95 % interval. Width: half of the")
    print("interval that the harness tells (Google Benchmark: that of Student's t for its mean). Spread: half of what would hold")
    print("95 % of its estimates, over the rounds. Right: intervals that hold the median of all rounds. Overlap: rounds in which")
    print("its interval and that of spex have values in common. As of spex: from the times of "
          f"{SHORT_REPETITIONS} short repetitions, as spex")
    print("makes its figure of batches. `add` is one addition, without a call. Other programs took "
          f"{100 * result['others']:.0f} % of the machine meanwhile.")
    print("".join(f"Not installed: {NAMES[name]}.\n" for name in result["missing"]))
    print("| function | harness | ns | ratio | 95 % interval | width | spread | right | overlap |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in result["results"]:
        own = [f"{100 * row[key]:.{digits}f} %" if key in row else ""
               for key, digits in (("width", 2), ("spread", 2), ("right", 0), ("together", 0))]
        low, high = row["ci95"]
        ratio = ["", ""] if row["harness"] == "spex" else [f"{row['ratio']:.3f}", f"{low:.3f} to {high:.3f}"]
        own[3] = "" if row["harness"] == "spex" else own[3]
        print(f"| {row['function']} | {NAMES[row['harness']]} | {row['ns']:.4g} | {' | '.join(ratio + own)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--page", metavar="JSON")
    parser.add_argument("build", nargs="?")
    parser.add_argument("folder", nargs="?")
    options = parser.parse_args()
    if options.page:
        page_of(options.page, print_page)
        return
    if not options.folder:
        parser.error("BUILD and FOLDER were expected")
    if options.rounds < 2:
        parser.error("2 rounds or more were expected")
    tell(result_of(options), options.json, print_page)


if __name__ == "__main__":
    main()
