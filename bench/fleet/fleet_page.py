#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/performance_fleet.md, and its picture, of what the benches of this folder have measured with --json.

usage: fleet_page.py FOLDER PAGE
                               FOLDER has agent-MAP-MODE.json, paced-, set- and master-usual-mixed.json of ratios.py,
                               step-add.json, step-cost.json, killed.json, crowd.json, simulated.json
"""

import json
import os
import subprocess
import sys

import bounds
from parts import ITEMS
from page import compiler, processor

# Table 2 of the paper, at 2 of 4 instances: the overlap with the full profile, in percent.
PAPER = {"single": {"samples": "6.07 · 10^7", "probes": 6338, "overlap": 99.65},
         "mixed": {"samples": "2.74 · 10^7", "probes": 7094, "overlap": 97.62}}
# From this part of the processors on that others take, the page says so at its beginning.
BUSY = 0.1
VERDICTS = {True: "kept", False: "**not kept**", None: "not known: the interval holds the limit, or the machine was busy"}


def read(folder, name):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def spread(of, name, factor=1.0, digits=1):
    low, high = of["ci95"]
    return f"{of[name] * factor:,.{digits}f} ({low * factor:,.{digits}f} to {high * factor:,.{digits}f})"


def others(*results):
    """What else took the processors while these were measured."""
    taken = [max(result["machine"][name] for result in results) for name in ("others", "stolen")]
    print(f"\nOther programs took up to {100 * taken[0]:.0f} % of the processors meanwhile, and other machines of the same host {100 * taken[1]:.0f} %.\n")


def ratio_table(result):
    lines = ["| ratio | requests/s | throughput lost, % | µs of processors a request | more, % | mean response, ms | p99, ms |",
             "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for one in result["ratios"]:
        lost, more = (spread(one[name], "value", 100, 2) if one["ratio"] else "—" for name in ("lost", "cpu_more"))
        lines.append(f"| {one['ratio']:g} | {spread(one['throughput'], 'median', 1, 0)} | {lost} |"
                     f" {spread(one['cpu'], 'median', 1e6)} | {more} |"
                     f" {spread(one['response'], 'median', 1e3, 2)} | {spread(one['p99'], 'median', 1e3, 2)} |")
    return lines


def losses(result):
    return ", ".join(f"{spread(one['lost'], 'value', 100, 2)} % at {one['ratio']:g}" for one in result["ratios"] if one["ratio"])


def limit_lines(results):
    lines = []
    for where, result in results:
        for limit in result["limits"]:
            than = "below" if limit["what"].startswith("throughput") else "at least"
            lines.append(f"- {limit['what']}, {where}: {spread(limit, 'figure', 100, 2)} %, {than} {100 * limit['limit']:g} %: "
                         f"{VERDICTS[limit['kept']]}")
    return lines


def more_cpu(result):
    return ", ".join(f"{spread(one['cpu_more'], 'value', 100, 2)} % at {one['ratio']:g}" for one in result["ratios"] if one["ratio"])


def print_ratios(agents, paced, by_set, master):
    usual, detailed = agents["usual-mixed"], agents["detailed-mixed"]
    print("## Throughput and response time over the profiling ratio (`bench/fleet/ratios.py`)\n")
    print(f"{usual['instances']} instances, `balance leastconn`, {ITEMS:,} items, mixed requests; all of it, wrk too, on the processors of one machine.")
    print("The probes are those of all pages, queries and steps of the server (*usual*), or all down to each text that is appended, of")
    print("types lat and ctxsw (*detailed*). `spex agent --policy` holds them. Medians over rounds; in brackets the 95 % interval.\n")
    print(f"**As in the paper**, clients that pause: {paced['connections']} connections, {paced['pause']} ms between an answer and the next request. Usual map, {paced['rounds']} rounds:\n")
    print("\n".join(ratio_table(paced)))
    print(f"\n**Processors that are busy**: {usual['connections']} connections that ask on end, where all that probes take is missing elsewhere. Usual map, {usual['rounds']} rounds:\n")
    print("\n".join(ratio_table(usual)))
    print(f"\nDetailed map, {detailed['rounds']} rounds:\n")
    print("\n".join(ratio_table(detailed)))
    print("\n![Throughput and mean response time over the profiling ratio, of connections that ask on end](performance-fleet.svg)\n")
    print(f"Switched by `spex set` in turns of {by_set['seconds']:g} s, {by_set['rounds']} rounds, which has narrower intervals, the usual map takes")
    print(f"{more_cpu(by_set)} more of the processors a request, and {losses(by_set)} of the throughput.")
    print("\nInstances that record take more of the processors a request than the others do in the same turn, whatever else the machine")
    print(f"does: {spread(by_set['taken'], 'median', 100, 2)} % with the usual map by `spex set`, {spread(usual['taken'], 'median', 100, 2)} % by the agent,")
    print(f"{spread(detailed['taken'], 'median', 100, 2)} % with the detailed one. At ratio 0.5 a fleet on busy processors loses less than half of that.")
    if master:
        print(f"\nWith a master, NATS and an agent beside, all on the same processors, {master['rounds']} rounds, the fleet loses {losses(master)}")
        print("of the throughput, against none of them.")
    others(paced, usual, detailed, by_set, *([master] if master else []))


def overlap_row(mode, result):
    half = next(one["overlap"] for one in result["ratios"] if one["ratio"] == 0.5)
    paper = PAPER[mode]
    return (f"| {mode} | {paper['samples']} | {paper['probes']:,} | {paper['overlap']:.2f} | {half['records']:,} | {half['probes']} |"
            f" {spread(half['with_full_turn'], 'median', 100, 2)} | {spread(half['in_full_turn'], 'median', 100, 2)} |")


def print_overlap(agents, master):
    print("## Overlap with full profiling (`bench/fleet/ratios.py`)\n")
    print("Table 2 of the paper (2 of 4 instances record) beside the same of the shop with the usual map. *with the full turn*: the")
    print("profile at ratio 0.5 against that of all instances a few seconds before or after, as the paper compares them; *in it*: each two")
    print("of four instances against all four in the same time.\n")
    print("| requests | samples | methods | overlap, % | records | probes | overlap with the full turn, % | in it, % |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for mode in PAPER:
        print(overlap_row(mode, agents[f"usual-{mode}"]))
    print("\nThe columns from *samples* on are the paper's, those from *records* on ours. Other ratios, with the full turn:", end=" ")
    rest = [f"{spread(one['overlap']['with_full_turn'], 'median', 100, 2)} % at {one['ratio']:g} ({mode})"
            for mode in PAPER for one in agents[f"usual-{mode}"]["ratios"] if 0 < one["ratio"] < 1 and one["ratio"] != 0.5]
    print(", ".join(rest) + ".")
    if master:
        half = next(one["overlap"] for one in master["ratios"] if one["ratio"] == 0.5)
        estimate = half.get("estimated")
        print(f"\nUnder a master the overlap at ratio 0.5 is {spread(half['with_full_turn'], 'median', 100, 2)} %", end="")
        print(f"; `spex fleet status` estimates {100 * estimate['share']:.2f} % ({100 * estimate['low']:.2f} to "
              f"{100 * estimate['high']:.2f} %), without knowing the other half." if estimate else ".")
    print()


def print_steps(step):
    print("## A step in load (`bench/fleet/step.py`)\n")
    print("Seconds from the step; the answer counts from when HAProxy's mean response time is above the target.\n")
    print("| | load before → after, requests/s | target, ms | worst, ms | decided | in effect | answered | kept again | what was done |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for kind, name in (("cost", "cost binds"), ("add", "it does not")):
        for one in step[kind]["tries"]:
            cells = ["never" if one.get(what) is None else f"{one[what]:.1f}" for what in ("decided", "effect", "answered", "again")]
            done = one["actions"][0].split(": ", 1)[1].split(";")[0] if one["actions"] else "nothing"
            print(f"| {name} | {0.3 * one['capacity']:,.0f} → {one['step']:,.0f} | {1e3 * one['target']:g} | {1e3 * one['worst']:.0f} |"
                  f" {' | '.join(cells)} | {done} |")
    for kind, name in (("cost", "by dropping instrumentation"), ("add", "by adding instances")):
        print(f"\n{step[kind]['kept']} of {len(step[kind]['tries'])} were answered within {step[kind]['limit']:g} s {name}.")
    others(*step["results"])


def print_killed(killed):
    print("## `kill -9` of the agent (`bench/fleet/killed.py`)\n")
    print("| lease, s | kills | off after at most, median, s | longest, s |")
    print("| ---: | ---: | ---: | ---: |")
    for lease, one in killed["leases"].items():
        print(f"| {lease} | {sum(kill['lease'] == int(lease) for kill in killed['kills'])} | {one['median']:.2f} | {one['most']:.3f} |")
    print(f"\n{killed['kept']} of {killed['asked']} were off within one lease; of {killed['proven']} the measurement proves it, of the others it is not fine enough.")
    others(killed)


def print_crowd(crowd):
    print("## Many agents (`bench/fleet/crowd.py`)\n")
    print("| agents × instances | probes | master, % of a core | MB | NATS, % of a core | MB | reports/s | messages/s | kB/s | `spex fleet status`, ms | of processors, ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for one in crowd["crowds"].values():
        print(f"| {one['agents']} × {one['instances']} | {one['probes']} | {100 * one['master_cpu']:.1f} | {one['master_memory'] / 1e6:.0f} |"
              f" {100 * one['server_cpu']:.1f} | {one['server_memory'] / 1e6:.0f} | {one['reports']:.0f} | {one['messages_in']:.0f} | {one['bytes_in'] / 1e3:,.0f} |"
              f" {spread(one['status_seconds'], 'median', 1e3)} | {1e3 * one['status_cpu']:.1f} |")
    print()
    for limit in crowd["limits"]:
        print(f"- {limit['what']}, 100 agents: {limit['figure']:.3g}, below {limit['limit']:g}: {VERDICTS[limit['kept']]}")
    others(crowd)


def print_simulated(simulated):
    runs = simulated["runs"]
    print("## 10,000 instances in virtual time (`bench/fleet/simulated.py`)\n")
    print(f"`spex fleet simulate` with {simulated['instances']:,} instances and {simulated['probes']} probes for {simulated['seconds']} s, load {simulated['load']} of what they can serve,")
    print(f"each instance exchanged {simulated['churn']:g} and lost {simulated['failures']:g} times an hour by chance:\n")
    print("| seed | converged after, s | answers to a broken target, s | probes covered at the end | real time, s |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for run in runs:
        converged = "never" if run["converged"] is None else f"{run['converged']:g}"
        print(f"| {run['seed']} | {converged} | {', '.join(f'{one:g}' for one in run['answered']) or '—'}"
              f"{', not answered: %d' % run['unanswered'] if run['unanswered'] else ''} | {run['covered']} of {run['map']} |"
              f" {run['real_seconds']:.1f} |")
    print(f"\nA decision over {simulated['instances']:,} instances takes {1e3 * max(run['real_seconds'] for run in runs) / simulated['seconds']:.1f} ms of a core, with the simulation of the fleet, "
          f"and {simulated['memory'] / 1e6:.0f} MB.\n")


def draw(agents, path):
    lines = [f"set output '{path}'", "set terminal svg noenhanced size 760,340 background rgb 'white' font 'sans,11' name 'fleet'",
             "set multiplot layout 1,2", "set grid y", "set xlabel 'profiling ratio'", "set xrange [-0.05:1.05]",
             "set yrange [0:*]", "set key bottom left"]
    for name, result in agents.items():
        lines += [f"${name} << END"]
        for one in result["ratios"]:
            lines.append(" ".join(str(value) for value in (
                one["ratio"], one["throughput"]["median"], *one["throughput"]["ci95"],
                1e3 * one["response"]["median"], *(1e3 * value for value in one["response"]["ci95"]))))
        lines += ["END"]
    for title, columns in (("requests/s", "1:2:3:4"), ("mean response time, ms", "1:5:6:7")):
        lines.append(f"set ylabel '{title}'")
        lines.append("plot " + ", ".join(f"${name} using {columns} with yerrorlines linecolor {index} pointtype {index} title '{name}'"
                                         for index, name in enumerate(agents, 1)))
    subprocess.run(["gnuplot", "-"], input="\n".join(lines) + "\n", text=True, check=True)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    folder, page = sys.argv[1:]
    agents = {name: read(folder, "agent-" + name) for name in ("usual-mixed", "usual-single", "detailed-mixed")}
    paced, by_set, crowd = (read(folder, name) for name in ("paced-usual-mixed", "set-usual-mixed", "crowd"))
    master = read(folder, "master-usual-mixed") if os.path.exists(os.path.join(folder, "master-usual-mixed.json")) else None
    draw({name.split("-")[0]: agents[name] for name in ("usual-mixed", "detailed-mixed")},
         os.path.join(os.path.dirname(page), "performance-fleet.svg"))
    with open(page, "w", encoding="utf-8") as sys.stdout:
        print("# What it costs to profile a fleet, and how good the profile is\n")
        print("`scripts/performance fleet` measures all of this, and writes this page: four instances of the web shop of")
        print("[examples/fleet](../examples/fleet) behind HAProxy on loopback, load from wrk, with the parts that a fleet has")
        print("([fleet.md](fleet.md)). *The paper* is that of Kaviani, Wohlstadter and Lea, *Profiling-as-a-Service*.\n")
        print(f"Machine: {processor()}, {os.cpu_count()} CPUs, {compiler()}.\n")
        if max(result["machine"]["others"] for result in (paced, by_set, crowd, *agents.values())) > BUSY:
            print("**The machine was busy with other programs** when this was measured, which each section tells: intervals are wide, times")
            print("are long, and some limits are not known. Run it again where nothing else runs.\n")
        print("## Limits\n")
        print("\n".join(limit_lines([
            ("clients that pause", paced), ("processors that are busy, by `spex set`", by_set),
            *((f"processors that are busy, {mode} requests", agents[f"usual-{mode}"]) for mode in PAPER)])))
        print()
        print_ratios(agents, paced, by_set, master)
        print_overlap(agents, master)
        steps = [read(folder, "step-add"), read(folder, "step-cost")]
        print_steps({**steps[0], **steps[1], "results": steps})
        print_killed(read(folder, "killed"))
        print_crowd(crowd)
        bounds.print_bounds(crowd)
        print_simulated(read(folder, "simulated"))


if __name__ == "__main__":
    main()
