#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the throughput that `spex explore` reports with that of the program: the same configurations of the
SQLite example are explored, and timed by the same program built without probes, in turn.

usage: agreement.py [--json] [--rounds N] [--seconds S] BUILD DB_DIR

BUILD is a build directory; DB_DIR holds the databases that `taxi --make 4096,65536` has made.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

CONFIGURATIONS = [  # page size, MB of cache, threads, cache mode
    (4096, 16, 1, "shared"), (4096, 16, 2, "shared"), (4096, 16, 4, "shared"),
    (4096, 16, 1, "private"), (4096, 16, 2, "private"), (4096, 16, 4, "private"),
    (65536, 128, 2, "private"), (65536, 128, 8, "private"),
]

SPACE = """<space name="agreement">
  <parameter name="page_size" type="integer" unit="B" values="{0}"/>
  <parameter name="cache_memory" type="integer" unit="MB" values="{1}"/>
  <parameter name="threads" type="integer" values="{2}"/>
  <parameter name="cache_mode" type="categorical" values="{3}"/>
  <objective probe="query:tpt" metric="throughput" goal="maximise"/>
  <run trials_per_config="1" records_per_thread="20" threads="threads" warmup="0.1" duration="1.5"/>
</space>
"""


def explored(build, db_dir, configuration):
    with tempfile.TemporaryDirectory() as scratch:
        space = os.path.join(scratch, "space.xml")
        store = os.path.join(scratch, "trials.db")
        with open(space, "w", encoding="utf-8") as file:
            file.write(SPACE.format(*configuration))
        spex = os.path.join(build, "tools/spex")
        subprocess.run([spex, "explore", space, "--policy", "grid", "--store", store, "--",
                        os.path.join(build, "examples/sqlite/taxi"), "--db-dir", db_dir],
                       check=True, stderr=subprocess.DEVNULL)
        report = subprocess.run([spex, "report", store, "--json"], check=True, capture_output=True)
        return json.loads(report.stdout)["best"]["objective"]


def plain(build, db_dir, configuration, seconds):
    page_size, cache_mb, threads, cache_mode = map(str, configuration)
    result = subprocess.run([os.path.join(build, "examples/sqlite/taxi-plain"), "--db-dir", db_dir,
                             "--page-size", page_size, "--cache-mb", cache_mb, "--threads", threads,
                             "--cache-mode", cache_mode, "--time", str(seconds)],
                            check=True, capture_output=True)
    return json.loads(result.stdout)["queries_per_second"]


def compare(arguments):
    """One row a configuration: the median of the rounds' ratios, and their range."""
    rates = {c: ([], []) for c in CONFIGURATIONS}
    for round_number in range(arguments.rounds):
        for configuration in CONFIGURATIONS:
            kinds = [0, 1] if round_number % 2 == 0 else [1, 0]
            for kind in kinds:
                rate = (explored(arguments.build, arguments.db_dir, configuration) if kind == 0 else
                        plain(arguments.build, arguments.db_dir, configuration, arguments.seconds))
                rates[configuration][kind].append(rate)
    for configuration, (with_spex, without) in rates.items():
        ratios = [a / b for a, b in zip(with_spex, without)]
        yield {
            "config": dict(zip(("page_size", "cache_memory", "threads", "cache_mode"),
                               configuration)),
            "explored": statistics.median(with_spex),
            "plain": statistics.median(without),
            "ratio": statistics.median(ratios),
            "low": min(ratios),
            "high": max(ratios),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("build")
    parser.add_argument("db_dir")
    arguments = parser.parse_args()
    rows = list(compare(arguments))
    if arguments.json:
        json.dump({"bench": "agreement", "rounds": arguments.rounds, "cases": rows}, sys.stdout,
                  indent=1)
        print()
        return
    print("queries per second: explored, plain, "
          f"median of {arguments.rounds} ratios and their range")
    for row in rows:
        config = " ".join(f"{k}={v}" for k, v in row["config"].items())
        print(f"{row['explored']:9.1f} {row['plain']:9.1f}  {row['ratio']:.3f} "
              f"({row['low']:.3f} to {row['high']:.3f})  {config}")


if __name__ == "__main__":
    main()
