#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the harness (spex/bench.h) with others that measure the same functions (harnesses.cc): Google Benchmark, and
Catch2's BENCHMARK, where Debian's libbenchmark-dev and catch2 are installed. A round measures each function by each of
them, each time in a new process, one right after the other in random order.

What is compared is what both mean by a figure:

- The mean of all iterations, as CPU time. What interrupts and cold caches cost is in it. Google Benchmark tells it; spex tells
  it as mean_cpu_time. Intervals are those of Student's t for the repetitions.
- The estimate of spex, which disturbed batches are not in. Google Benchmark has none: it is made here, from many
  repetitions by its loop and clocks that are as short as a batch of spex, in the way in which spex makes it, what its clocks
  take of an empty repetition taken off.
- The mean of all iterations, as real time, which Catch2 tells as well. It is compared only where others leave the machine alone:
  the time in which other programs have the processor is not the function's, and it depends on the calls of the system where a
  harness gets less of it (a system gives the processor to another program when a call ends rather than elsewhere).

An interval is right if it holds what the harness measures in the middle of all rounds, in other processes.

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

OTHERS_MOST = 0.1  # as in tools/bench/
CLOSE = 0.005  # what differs by less is taken for equal: loops differ by as much
REPETITIONS, BATCHES, NEAR = 10, 128, 25  # BATCHES and NEAR: as in src/harness/
# A short loop takes twice as long where it crosses a boundary of the processor's, whichever harness has made it.
ALIGNED = ("-falign-functions=64", "-falign-loops=64")
STUDENT = 2.262  # 95 %, two-sided, of as many repetitions
CENTRE_OUTSIDE = 8  # of the means of pairs of as many, an interval of 95 % leaves so many out on each side

NAMES = {"spex": "spex/bench.h, estimate", "google_short": "Google Benchmark, the same estimate",
         "spex_cpu": "spex/bench.h, mean CPU time", "google_cpu": "Google Benchmark, mean CPU time",
         "spex_real": "spex/bench.h, mean real time", "google": "Google Benchmark, mean real time", "catch": "Catch2, mean real time"}
# What means the same as which figure of spex, and so shall agree; and that of which the estimate differs.
LIKE = {"google_short": "spex", "google_cpu": "spex_cpu", "google": "spex_real", "catch": "spex_real"}
UNLIKE = {"spex_cpu": "spex"}


def compile_program(build, folder):
    """The program's path, and the harnesses that it has."""
    here = os.path.dirname(os.path.abspath(__file__))
    source, include = os.path.join(here, "harnesses.cc"), os.path.join(here, "..", "include")
    program = os.path.join(folder, "harnesses")
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    libraries = [os.path.join(build, "src", name) for name in ("libspex-bench.a", "libspex.a")]
    found = subprocess.run(["pkg-config", "--libs", "benchmark"], capture_output=True, text=True, check=False)
    subprocess.run([*compiler, "-std=c++17", "-O2", *ALIGNED, "-I", include, "-I", os.path.join(build, "include"), "-c",
                    "-o", program + ".o", source], check=True)
    subprocess.run([*compiler, "-o", program, program + ".o", *libraries, *found.stdout.split(), "-pthread", "-lm"], check=True)
    names = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    return os.path.abspath(program), names


def run_json(program, harness, function, seconds, repetitions, *options, **environment):
    """The rows that spex and Google Benchmark write."""
    command = [program, harness, f"--benchmark_filter=^{harness}_{function}(/|$)", f"--benchmark_min_time={seconds / repetitions}",
               f"--benchmark_repetitions={repetitions}", "--benchmark_format=json", *options]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         env={**os.environ, **environment}).stdout
    return json.loads(out)["benchmarks"]


def functions_of(program):
    out = subprocess.run([program, "spex", "--benchmark_list_tests"], check=True, capture_output=True, text=True).stdout
    return [name.split("_", 1)[1] for name in out.split()]


def times(rows, member):
    return [row[member] for row in rows if row["run_type"] == "iteration"]


def student(values):
    """The mean of repetitions, with its interval."""
    mean, half = statistics.mean(values), STUDENT * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def undisturbed(values):
    """As spex_bench_undisturbed (src/harness/figures.h)."""
    ordered = sorted(values)
    first = min(range(len(ordered) - NEAR + 1), key=lambda i: ordered[i + NEAR - 1] - ordered[i])
    return statistics.mean(ordered[first:first + NEAR])


def centre(values):
    """As spex_centre (src/harness/ranks.h), of REPETITIONS values."""
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[:i + 1])
    return statistics.median(means), means[CENTRE_OUTSIDE], means[-1 - CENTRE_OUTSIDE]


class Runs:
    """What measures a function in a process of its own."""

    def __init__(self, program, harnesses, seconds):
        self.program, self.seconds = program, seconds
        self.kinds = [kind for kind in ("spex", "google", "google_short", "catch") if kind.split("_", maxsplit=1)[0] in harnesses]
        self.iterations, self.samples = {}, {}

    def spex(self, function):
        rows = run_json(self.program, "spex", function, self.seconds, REPETITIONS, "--benchmark_percentiles=false")
        (row,) = (row for row in rows if row.get("aggregate_name") == "estimate")
        return {"spex": (row["real_time"], row["real_time_low"], row["real_time_high"]),
                "spex_cpu": student(times(rows, "mean_cpu_time")), "spex_real": student(times(rows, "mean_real_time"))}

    def google(self, function):
        rows = run_json(self.program, "google", function, self.seconds, REPETITIONS)
        return {"google_cpu": student(times(rows, "cpu_time")), "google": student(times(rows, "real_time"))}

    def google_short(self, function):
        """Google Benchmark finds the iterations of a repetition by one that may be cold or interrupted: they are given."""
        count = REPETITIONS * BATCHES
        if function not in self.iterations:
            ns = min(times(run_json(self.program, "google", function, self.seconds, REPETITIONS), "cpu_time"))
            self.iterations[function] = max(1, round(self.seconds / count * 1e9 / ns))
        rows = run_json(self.program, "google", f"({function}|empty)", self.seconds, count,
                        **{f"google_{function}": str(self.iterations[function]), "google_empty": "1"})
        empty, values = ([row["real_time"] for row in rows if row["run_type"] == "iteration" and
                          row["run_name"].startswith(f"google_{name}/")] for name in ("empty", function))
        clock = undisturbed(empty[:BATCHES]) / self.iterations[function]
        return {"google_short": centre([undisturbed(values[i:i + BATCHES]) - clock for i in range(0, count, BATCHES)])}

    def catch(self, function):
        """A sample takes a thousand steps of its clock, whatever it is asked for: their number makes the time. The duration that
        it estimates may be 0."""
        def run(samples):
            command = [self.program, "catch", f"catch_{function}", "-r", "xml", "--benchmark-samples", str(samples),
                       "--benchmark-resamples", "1000", "--benchmark-warmup-time", "10"]
            out = subprocess.run(command, check=True, capture_output=True).stdout
            (result,) = xml.etree.ElementTree.fromstring(out).iter("BenchmarkResults")
            return result
        if function not in self.samples:
            short = run(10)
            sample = float(short.find("mean").get("value")) * int(short.get("iterations"))
            self.samples[function] = max(100, round(self.seconds * 1e9 / sample))
        mean = run(self.samples[function]).find("mean")
        return {"catch": tuple(float(mean.get(key)) for key in ("value", "lowerBound", "upperBound"))}


def seconds_of_machine():
    """Of all processors since the start: all, and those in which other programs worked."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    ours = sum(resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    busy, rate = user + nice + system + irq + softirq + steal, os.sysconf("SC_CLK_TCK")
    return (busy + idle + iowait) / rate, busy / rate - ours


def resolved(measure_function, function):
    """Measures until no time is 0, which a harness says of what its clock did not resolve in so few seconds."""
    for _ in range(10):
        figures = measure_function(function)
        if all(value > 0 for value, _, _ in figures.values()):
            return figures
    raise SystemExit(f"harnesses: {function} took no time in 10 runs: more --seconds were expected")


def measure(runs, functions, rounds):
    """[figure][function]: values and intervals, by round; [kind]: the seconds of its process."""
    figures, taken = {}, {kind: [] for kind in runs.kinds}
    for _ in range(rounds):
        for function in random.sample(functions, len(functions)):
            for kind in random.sample(runs.kinds, len(runs.kinds)):
                begin = time.monotonic()
                for name, figure in resolved(getattr(runs, kind), function).items():
                    figures.setdefault(name, {}).setdefault(function, []).append(figure)
                taken[kind].append(time.monotonic() - begin)
    return figures, {kind: statistics.median(values) for kind, values in taken.items()}


def spread(values):
    """Half of what holds the middle 95 % of a normal distribution with the quartiles of the values, as a share."""
    low, middle, high = statistics.quantiles(values, n=4)
    return 1.96 * (high - low) / 1.349 / middle


def row_of(figures, name, function):
    rounds = figures[name][function]
    values = [figure[0] for figure in rounds]
    middle = statistics.median(values)
    row = {"function": function, "figure": name, "ns": middle, "spread": spread(values),
           "width": statistics.median((high - low) / 2 / value for value, low, high in rounds),
           "right": sum(low <= middle <= high for _, low, high in rounds) / len(rounds)}
    than = {**LIKE, **UNLIKE}.get(name)
    if than:
        others = figures[than][function]
        ratios = [figure[0] / other[0] for figure, other in zip(rounds, others)]
        row |= {"than": than, "ratio": statistics.median(ratios), "ci95": interval(sorted(ratios)),
                "overlap": sum(low <= other[2] and other[1] <= high for (_, low, high), other in zip(rounds, others)) / len(rounds)}
        row["agrees"] = row["ci95"][0] <= 1 + CLOSE and row["ci95"][1] >= 1 - CLOSE
    return row


def result_of(options):
    program, harnesses = compile_program(options.build, options.folder)
    runs = Runs(program, harnesses, options.seconds)
    before = seconds_of_machine()
    functions = functions_of(program)
    figures, taken = measure(runs, functions, options.rounds)
    after = seconds_of_machine()
    functions.sort(key=lambda function: figures["spex"][function][0][0])
    return {"bench": "harnesses", "rounds": options.rounds, "seconds": options.seconds, "processes": taken,
            "others": max(0, after[1] - before[1]) / (after[0] - before[0]),
            "missing": [name for name in ("google", "catch") if name not in harnesses],
            "results": [row_of(figures, name, function) for function in functions for name in NAMES if name in figures]}


def is_compared(name, result):
    return name not in ("google", "catch") or result["others"] <= OTHERS_MOST


def agreement(result):
    """Lines: of each figure that means the same as one of spex, how often it agrees, and whose interval is narrower."""
    for name, than in LIKE.items():
        if not is_compared(name, result):
            continue
        rows = [row for row in result["results"] if row["figure"] == name]
        if not rows:
            continue
        ours = {row["function"]: row for row in result["results"] if row["figure"] == than}
        ratios = sorted(row["ratio"] for row in rows)
        widths = statistics.median(ours[row["function"]]["width"] / row["width"] for row in rows)
        yield (f"| {NAMES[name]} / {NAMES[than]} | {sum(row['agrees'] for row in rows)} of {len(rows)} | {statistics.median(ratios):.3f} "
               f"({ratios[0]:.3f} to {ratios[-1]:.3f}) | {100 * statistics.mean(row['overlap'] for row in rows):.0f} % | {widths:.2f} |")


def print_page(result):
    print("\n## Whether harnesses agree (`bench/harnesses.py`)\n")
    print(f"The same functions measured by spex/bench.h and by others, {result['seconds']:g} s each in a process of its own, "
          f"{result['rounds']} rounds, one")
    print("right after the other in random order. Compared is what means the same: means of all iterations with means of all")
    print("iterations, as CPU time; and the estimate of spex, which disturbed batches are not in, with the same estimate of as short")
    print("repetitions of Google Benchmark. Ratio: median of the rounds and its 95 % interval. They agree if that holds 1 or")
    print(f"comes as near as {100 * CLOSE:g} %: of equal figures 19 of 20 do. Width: half of the interval that the harness tells. Spread:")
    print("half of what would hold 95 % of its figures, over the rounds. Right: intervals that hold the median of all rounds.")
    print("Overlap: rounds in which both intervals have values in common. `add` is one addition, without a call. Other programs")
    print(f"took {100 * result['others']:.0f} % of the machine meanwhile.")
    if not is_compared("google", result):
        print("So real time is not compared: that in which they had the processor is not the functions'.")
    print()
    for name in result["missing"]:
        print(f"Not installed: {NAMES[name].split(',', maxsplit=1)[0]}.\n")
    lines = list(agreement(result))
    if lines:
        print("| ratio | functions that agree | ratio, median (least to greatest) | overlap | our width / theirs |")
        print("| --- | ---: | ---: | ---: | ---: |")
        print("\n".join(lines) + "\n")
    print("| function | figure | ns | ratio | 95 % interval | width | spread | right | overlap |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in result["results"]:
        if not is_compared(row["figure"], result):
            row = {key: value for key, value in row.items() if key not in ("ratio", "overlap")}
        low, high = row.get("ci95", (0, 0))
        ratio = [f"{row['ratio']:.3f}", f"{low:.3f} to {high:.3f}"] if "ratio" in row else ["", ""]
        print(f"| {row['function']} | {NAMES[row['figure']]} | {row['ns']:.4g} | {' | '.join(ratio)} | {100 * row['width']:.2f} % | "
              f"{100 * row['spread']:.2f} % | {100 * row['right']:.0f} % | {'%.0f %%' % (100 * row['overlap']) if 'overlap' in row else ''} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=0.25)
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
