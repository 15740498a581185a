#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/performance_exploration.md from the output of the benches.

usage: exploration_page.py TRIALS.json REPORT.json POLICIES.json EXPLORED.json...
"""

import json
import sys

from page import estimates, interval, percent, print_head

STOPPED = "grid, stopped"


def print_trials(trials):
    print("## What exploring adds to a run (`bench/trials`)\n")
    print("Milliseconds, median of " f"{trials['rounds']} rounds and the 95 % interval of the median.\n")
    print("| what | ms | 95 % interval |\n| --- | ---: | ---: |")
    for name, what in (("bare", "a run of a short program by itself"), ("explored", "one more trial of it"),
                       ("added", "the difference"), ("once", "what an exploration takes besides its trials")):
        print(f"| {what} | {trials[name]['milliseconds']:.2f} | {interval(trials[name])} |")
    print()


def print_report(report):
    print("## How long a report takes (`bench/report`)\n")
    seconds = {name: row["cpu_time"] / 1e9 for name, row in estimates(report).items()}
    trials = next(row["trials"] for row in report["benchmarks"] if "trials" in row)
    print(f"CPU time, of {trials:,.0f} trials: {seconds['text']:.2f} s as text, {seconds['json']:.2f} s as JSON; "
          f"reading the rows with\nSQLite alone {seconds['rows']:.2f} s.\n")


def print_explored(explored):
    print(f"### {explored['space']}\n")
    print(f"{explored['configurations']:,} configurations, whose trials vary by {percent(explored['noise'], 1)} (median coefficient of "
          f"variation). Brute force takes\n{explored['brute_seconds']:.0f} s of measuring. The {explored['contenders']} "
          f"that look best or were recommended differ by {percent(explored['truth_spread'], 1)} (one\nstandard deviation), "
          f"and each is known to {percent(explored['truth_error'], 1)}.\n")
    print("| policy | within 5 % of the best | behind | worst seed | measuring time | trials | told again |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for line in explored["results"]:
        name = "grid, stopped by `precision`" if line["policy"] == STOPPED else line["policy"]
        print(f"| {name} | {percent(line['within_5_percent'], 0)} | {percent(line['mean_behind'], 1)} | "
              f"{percent(max(line['behind']), 1)} | {percent(line['time'], 1)} | {line['trials']:.0f} | "
              f"{line['told_again']:.0f} |")
    print()


def print_all_explored(all_explored):
    print("## What policies find in real programs (`bench/explored.py`)\n")
    print("Every configuration is run several times, in an order of chance; policies are told these trials, with 20 seeds\n"
          "(told again: trials of which there were not enough). What they recommend, as a report would, is run again, for\n"
          "longer and in turns with what looked best. How far behind the best it is, and whether within 5 %, is said with\n"
          "what chance has in that taken into account: means, and probabilities. Brute force is `grid` with two trials of\n"
          "each configuration; the measuring time is a share of its.\n")
    for explored in all_explored:
        print_explored(explored)


def print_policies(policies):
    print("## What policies find in made-up programs (`bench/policies`)\n")
    print("Programs whose true figures are known, with noise and drift as measured of real ones: "
          f"{policies['seeds']} seeds. Found: what is\nrecommended, as a share of the best. Interval: how often that of "
          "what is recommended holds the truth. The policies\nwere tuned on these. With a precision runs end when their "
          "figure is known so well.\n")
    print("| program | policy | precision | within 5 % | found | measuring time | trials | interval | ms a trial |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for line in policies["results"]:
        precision = percent(line["precision"], 0) if line["precision"] else ""
        print(f"| {line['landscape']} | {line['policy']} | {precision} | {percent(line['good'], 0)} | "
              f"{percent(line['share'], 1)} | {percent(line['time'], 1)} | {line['trials']:.0f} | "
              f"{percent(line['covered'], 0)} | {line['milliseconds']:.2f} |")


def main():
    trials, report, policies, *explored = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
    print_head()
    print_trials(trials)
    print_report(report)
    print_all_explored(explored)
    print_policies(policies)


if __name__ == "__main__":
    main()
