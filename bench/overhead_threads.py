#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a record costs as more threads execute its probe: a table for docs/performance.md, and a picture, as Figure 2 of
the paper that spex is built from has it.

usage: overhead_threads.py OVERHEAD.json PICTURE.svg    writes the picture
"""

import json
import subprocess
import sys


def cases_of(overhead):
    """The cases that were timed by threads: [type][number of threads]."""
    cases = {}
    for case in overhead["results"]:
        if case["clock"] == "cpu":
            cases.setdefault(case["type"], {})[case["threads"]] = case
    return cases


def print_threads(overhead):
    cases = cases_of(overhead)
    threads = sorted({count for row in cases.values() for count in row})
    print("Recorded by several threads at once, ticks of CPU time beyond the empty loop's:\n")
    print("![Ticks a pair of BEGIN and END over the number of threads, a line for each type of probe]"
          "(performance-threads.svg)\n")
    print("| probe | " + " | ".join(f"{count} thread{'s' * (count > 1)}" for count in threads) + " |")
    print("| --- |" + " ---: |" * len(threads))
    for name, row in cases.items():
        cells = [f"{row[count]['cycles_per_pair']:.1f} ({row[count]['ci95'][0]:.1f} to {row[count]['ci95'][1]:.1f})"
                 f"{', on a busy machine' if row[count]['busy'] else ''}" for count in threads]
        print(f"| {name} | {' | '.join(cells)} |")
    print()


def script_of(overhead, path):
    cases = cases_of(overhead)
    lines = [f"set output '{path}'",
             "set terminal svg noenhanced size 640,420 background rgb 'white' font 'sans,11' name 'threads'",
             "set logscale x 2", "set logscale y", "set grid y", "set key outside right", "set xlabel 'threads'",
             "set ylabel 'ticks a pair'", "set xrange [0.9:8.9]", "set yrange [10:*]", "set xtics (1, 2, 4, 8)"]
    curves = []
    for index, (name, row) in enumerate(cases.items(), 1):
        lines += [f"$case{index} << END"]
        lines += [f"{count} {case['cycles_per_pair']} {case['ci95'][0]} {case['ci95'][1]}" for count, case in sorted(row.items())]
        lines += ["END"]
        curves += [f"$case{index} using 1:2:3:4 with yerrorlines linecolor {index} pointtype {index} title '{name}'"]
    return "\n".join(lines) + "\nplot " + ", ".join(curves) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], encoding="utf-8") as file:
        overhead = json.load(file)
    subprocess.run(["gnuplot", "-"], input=script_of(overhead, sys.argv[2]), text=True, check=True)


if __name__ == "__main__":
    main()
