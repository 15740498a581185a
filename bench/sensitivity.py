#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the harness and `spex bench` find: the time of an addition; how often a program seems to differ from
itself; and how often one is found to be worse whose functions take 2 % longer: one that the processor alone bounds, and one
that caches bound.

usage: sensitivity.py [--json] [--runs N] [--rounds N] [--seconds S] BUILD
       sensitivity.py --page SENSITIVITY.json
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from flight import wilson
from page import page_of, tell

ADD_AT_MOST, SAME_AT_MOST, WORSE_AT_LEAST, SECONDS_AT_MOST = 0.3, 0.05, 0.95, 60
RUNS = 200
FUNCTIONS = ("steps", "chase")


def addition(program):
    """Nanoseconds of an iteration with one addition, and the interval."""
    out = subprocess.run([program, "--benchmark_filter=^add$", "--benchmark_format=json", "--benchmark_percentiles=false",
                          "--benchmark_repetitions=6", "--benchmark_min_time=0.01"], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    row = next(row for row in json.loads(out)["benchmarks"] if row.get("aggregate_name") == "estimate")
    return {key: row[name] for key, name in (("ns", "real_time"), ("low", "real_time_low"), ("high", "real_time_high"))}


def additions_summary(additions):
    """Of many processes the fastest, with its interval: a processor whose core another one uses takes twice as long."""
    fastest = min(additions, key=lambda one: one["ns"])
    return {**fastest, "median": statistics.median(one["ns"] for one in additions), "processes": len(additions)}


def compared(options, *programs):
    """What `spex bench` says of the functions of two programs, and its seconds."""
    begin = time.monotonic()
    out = subprocess.run([os.path.join(options.build, "tools", "spex"), "bench", *programs, "--json", "--rounds",
                          str(options.rounds), "--min-time", str(options.seconds), "--",
                          f"--benchmark_filter=^({'|'.join(FUNCTIONS)})$",
                          "--benchmark_percentiles=false"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if out.returncode not in (0, 3):
        sys.exit(f"sensitivity.py: spex bench has failed with {out.returncode}")
    result = json.loads(out.stdout)
    rows = {row["name"]: {key: row[key] for key in ("differs", "worse", "ratio")} for row in result["benchmarks"]}
    return {"functions": rows, "seconds": time.monotonic() - begin, "others": result["others"]}


def summary(runs, found, function):
    """`found`: of a run, whether it has found something."""
    hits = sum(map(found, runs))
    ratios = [run["functions"][function]["ratio"] for run in runs]
    return {"function": function, "runs": len(runs), "found": hits / len(runs), "ci95": wilson(hits, len(runs)),
            "ratio": statistics.median(ratio["value"] for ratio in ratios),
            "width": statistics.median((ratio["high"] - ratio["low"]) / 2 for ratio in ratios),
            "holds_1": sum(ratio["low"] <= 1 <= ratio["high"] for ratio in ratios) / len(ratios),
            "seconds": max(run["seconds"] for run in runs), "others": statistics.mean(run["others"] for run in runs)}


def result_of(options):
    program, slower = (os.path.join(options.build, "bench", name) for name in ("sensitivity", "sensitivity_slower"))
    same, worse, additions = [], [], []
    for _ in range(options.runs):
        same.append(compared(options, program, program))
        worse.append(compared(options, program, slower))
        additions.append(addition(program))
    return {"bench": "sensitivity", "rounds": options.rounds, "seconds": options.seconds, "add": additions_summary(additions),
            "same": [summary(same, lambda run: any(row["differs"] for row in run["functions"].values()), function)
                     for function in FUNCTIONS],
            "worse": [summary(worse, lambda run, name=function: run["functions"][name]["worse"], function)
                      for function in FUNCTIONS]}


def verdict(kept):
    return "not known: too few runs" if kept is None else "kept" if kept else "**not kept**"


def is_kept(row, kept, limit):
    """None: the limit is for RUNS runs, and fewer do not tell."""
    low, high = row["ci95"]
    return None if row["runs"] < RUNS and low <= limit <= high else kept


def same_kept(row):
    return is_kept(row, row["found"] < SAME_AT_MOST, SAME_AT_MOST)


def worse_kept(row):
    return is_kept(row, row["found"] > WORSE_AT_LEAST and row["seconds"] <= SECONDS_AT_MOST, WORSE_AT_LEAST)


def print_page(result):
    add, same, worse = result["add"], result["same"], result["worse"]
    print("\n## What benchmarks find (`bench/sensitivity.py`)\n")
    print(f"`spex bench A B` with {result['rounds']} rounds of {result['seconds']:g} s, again and again: A and B are the same "
          "program; or B's functions take 2 % longer.")
    print("Found of the same program: runs that take any of its functions for different. Holds 1: the ratio's interval of 95 %")
    print(f"does. Meanwhile other programs took {100 * same[0]['others']:.0f} % of the machine. An iteration with one addition takes "
          f"{add['ns']:.3f} ns")
    print(f"({add['low']:.3f} to {add['high']:.3f}) in the fastest of {add['processes']} processes, where nobody uses the other half of "
          f"the core (median {add['median']:.3f}; at most {ADD_AT_MOST}: {verdict(add['ns'] <= ADD_AT_MOST)}).\n")
    print("| B | function | runs | found | 95 % interval | limit | | ratio, median | half of its interval | holds 1 | a run takes, at most |")
    print("| --- | --- | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: |")
    for name, rows, limit in (("the same", same, f"differs in fewer than {100 * SAME_AT_MOST:g} %"),
                              ("2 % slower", worse, f"worse in more than {100 * WORSE_AT_LEAST:g} %")):
        for row in rows:
            low, high = row["ci95"]
            print(f"| {name} | {row['function']} | {row['runs']} | {100 * row['found']:.1f} % | {100 * low:.1f} to {100 * high:.1f} % | "
                  f"{limit} | {verdict(same_kept(row) if rows is same else worse_kept(row))} | {row['ratio']:.4f} | "
                  f"{100 * row['width']:.3f} % | {100 * row['holds_1']:.0f} % | {row['seconds']:.0f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--page", metavar="JSON")
    parser.add_argument("build", nargs="?")
    options = parser.parse_args()
    if options.page:
        page_of(options.page, print_page)
        return
    if not options.build or options.runs < 1:
        parser.error("BUILD and one run or more were expected")
    tell(result_of(options), options.json, print_page)


if __name__ == "__main__":
    main()
