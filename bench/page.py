#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/performance.md of what the benches print.

usage: page.py OVERHEAD.json AGREEMENT.json
"""

import json
import os
import platform
import re
import subprocess
import sys


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    return name[1] if name else "an unnamed processor"


def compiler():
    line = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout
    return line.splitlines()[0]


def print_head():
    release = re.match(r"\d+\.\d+", platform.release())[0]
    print("# Performance\n")
    print("Made by `scripts/performance`; run it for figures of your machine. Every figure is a")
    print("ratio or a difference within one run, cases in turn, with the interval beside it.\n")
    print(f"Machine: {processor()}, {os.cpu_count()} CPUs, Linux {release}, "
          f"{compiler()}.\n")


def print_overhead(overhead):
    records = overhead["records"]
    print("## What a probe costs (`bench/overhead`)\n")
    print("Ticks of the processor's counter an execution takes beyond the empty loop's, on the")
    print("thread that executes it, while a collector empties the rings: median of")
    print(f"{overhead['rounds']} rounds and the 95 % confidence interval of the median.\n")
    print(f"| case | ticks | 95 % interval | of one {overhead['cases'][1]['name']} |")
    print("| --- | ---: | ---: | ---: |")
    for case in overhead["cases"]:
        of_counter = "" if case["name"] == "empty loop" else f"{case['of_counter']:.3f}"
        print(f"| {case['name']} | {case['median']:.2f} | "
              f"{case['low']:.2f} to {case['high']:.2f} | {of_counter} |")
    share = 100 * records["lost"] / records["produced"]
    print(f"\nThe loops do nothing but record: of {records['produced']:,} records "
          f"{records['lost']:,} ({share:.2f} %) were\nlost, counted, because rings were full.\n")


def print_agreement(agreement):
    print("## Whether exploring tells the truth (`bench/agreement.py`)\n")
    print("Queries a second of the SQLite example as `spex explore` reports them from 20 records of")
    print("each thread, and as `taxi-plain`, built without probes, counts them over 1.5 s: medians of")
    print(f"{agreement['rounds']} rounds in turn, median of the rounds' ratios, and the ratios' range.\n")
    print("| configuration | explored | plain | ratio | range |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for case in agreement["cases"]:
        config = ", ".join(f"{name} {value}" for name, value in case["config"].items())
        print(f"| {config} | {case['explored']:.0f} | {case['plain']:.0f} | {case['ratio']:.3f} | "
              f"{case['low']:.3f} to {case['high']:.3f} |")


def main():
    overhead, agreement = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
    print_head()
    print_overhead(overhead)
    print_agreement(agreement)


if __name__ == "__main__":
    main()
