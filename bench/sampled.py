#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far the median of sampled times is from the truth: an execution that takes always as long is timed by a probe, of
which few records are made, and by the program itself; between two of them it goes through memory, which pushes out of the
caches what the probe needs.

usage: sampled.py [--json | --page FILE] [--rounds N] BUILD

BUILD is a build directory. --page prints the section of docs/performance.md from what --json has written.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

SAMPLINGS = ("1", "~100", "~1000")
KILOBYTES = (0, 64, 1024, 8192)
EXECUTIONS = {0: 1000000, 64: 400000, 1024: 60000, 8192: 20000}


def excess(build, sampling, kilobytes):
    """Nanoseconds by which the median that spex tells is above the program's own, and how many records tell it."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "told")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SPEX_")}
        result = subprocess.run([os.path.join(build, "tools/spex"), "run", "--json", "-o", out, "-e", "*@" + sampling, "--",
                                 os.path.join(build, "bench/sampled"), str(EXECUTIONS[kilobytes]), str(kilobytes)],
                                check=True, capture_output=True, env=clean)
        ticks, rate = map(float, result.stdout.split())
        with open(out, encoding="utf-8") as file:
            (process,) = json.load(file)["processes"]
    (probe,) = process["probes"]
    (values,) = probe["values"]
    # Both are without what reading the clock once takes; the program's reading has it within the probe.
    return values["p50"] * 1e9 - ticks / rate * 1e9, probe["records"]


def measure(arguments):
    found = {(sampling, kilobytes): [] for sampling in SAMPLINGS for kilobytes in KILOBYTES}
    for _ in range(arguments.rounds):
        for sampling, kilobytes in found:
            found[sampling, kilobytes].append(excess(arguments.build, sampling, kilobytes))
    for (sampling, kilobytes), rounds in found.items():
        above = [ns for ns, _ in rounds]
        yield {"sampling": sampling, "kilobytes": kilobytes, "records": statistics.median(n for _, n in rounds),
               "above_ns": statistics.median(above), "low": min(above), "high": max(above)}


def print_page(results):
    print("\n## How true sampled times are (`bench/sampled.py`)\n")
    print("An execution that takes always as long, timed by a LAT and by the program itself, which goes through memory between")
    print("two executions: by how much the median that spex tells is above the program's own, in nanoseconds; median and range")
    print(f"of {results['rounds']} runs. The probe's reading has the program's own reading of the clock within, 10 ns or so.\n")
    print("| memory between | records | above, ns | range |")
    print("| --- | --- | ---: | ---: |")
    for row in results["results"]:
        kind = "all" if row["sampling"] == "1" else f"1 in {row['sampling'][1:]}, by chance"
        print(f"| {row['kilobytes']} KiB | {kind} | {row['above_ns']:.0f} | {row['low']:.0f} to {row['high']:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("build", nargs="?")
    arguments = parser.parse_args()
    if arguments.page:
        with open(arguments.page, encoding="utf-8") as file:
            print_page(json.load(file))
        return
    if not arguments.build or arguments.rounds < 1:
        parser.error("a build directory, and 1 round or more, were expected")
    results = {"bench": "sampled", "rounds": arguments.rounds, "results": list(measure(arguments))}
    if arguments.json:
        json.dump(results, sys.stdout, indent=1)
        print()
    else:
        print_page(results)


if __name__ == "__main__":
    main()
