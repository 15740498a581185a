#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/performance.md from the output of the benches.

usage: page.py OVERHEAD.json FUNCTIONS.json REGIONS.json DRAIN.json BUDGET.json REACTION.json AGREEMENT.json MODELS.json STARTUP.json
                FOOTPRINT.json WAITING.json RESTING.json RECORD.json EXPORT.json COLD.json
"""

import json
import os
import platform
import re
import subprocess
import sys

from overhead_threads import print_threads


def tell(result, as_json, print_page):
    """Prints what a bench has measured."""
    if as_json:
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        print_page(result)


def page_of(path, print_page):
    """Prints the section of the page of what --json has written."""
    with open(path, encoding="utf-8") as file:
        print_page(json.load(file))


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


def interval(result, digits=2):
    low, high = result["ci95"]
    return f"{low:.{digits}f} to {high:.{digits}f}"


def busy(result):
    return ", on a busy machine" if result["busy"] else ""


def believed(case):
    return percent(case["believed"]) if case["believed"] is not None else "more than all"


def verdict(limit):
    if limit["kept"] is None:
        return "not known: the machine was busy"
    return "kept" if limit["kept"] else "**not kept**"


def limit_cells(limits, what):
    """The last two cells of a row that may have a limit."""
    limit = next((limit for limit in limits if limit["what"] == what), None)
    return f"at most {limit['at_most']} | {verdict(limit)} |" if limit else "| |"


def print_overhead(overhead):
    print("## What a probe costs (`bench/overhead`)\n")
    print("Ticks of the processor's counter that a pair of BEGIN and END takes beyond the empty loop's,")
    print("on the thread that executes it, while a collector empties the rings: median of the calm ones of")
    print(f"{overhead['rounds']} rounds and the 95 % confidence interval of the median. In a calm round a loop of")
    print("loads and stores takes as long before and after as it does at best; it takes up to twice as long while")
    print("another processor of the same core works. Other programs took "
          f"{percent(overhead['others'], 0)} of the machine. An empty loop takes")
    print(f"{overhead['empty_loop_cycles']:.2f}, reading the time stamp counter {overhead['rdtsc_cycles']:.1f}, "
          f"a bare read() of a perf event\n{overhead['counter_read_cycles']:.0f}. A probe is skipped when its "
          "turn has not come (period 1000); the one\nexecution in 1000 that is recorded is taken out.\n")
    print("The control socket is open, and nobody calls, except where it is said to be off.\n")
    print("| probe | state | commit | control socket | ticks | 95 % interval |")
    print("| --- | --- | --- | --- | ---: | ---: |")
    for result in overhead["results"]:
        if result["clock"] == "wall":
            print(f"| {result['type']} | {result['state']} | {result['commit']} | {result['control']} | "
                  f"{result['cycles_per_pair']:.2f} | {interval(result)}{busy(result)} |")
    print(f"\nLLC: {overhead['llc']}.\n")
    print_threads(overhead)
    print("What spex has set itself as limits, in the same run:\n")
    print("| what | figure | 95 % interval | limit | |\n| --- | ---: | ---: | ---: | --- |")
    for limit in overhead["limits"]:
        bound = f"at most {limit['at_most']}" if "at_most" in limit else f"at least {limit['at_least']}"
        print(f"| {limit['type']}: {limit['what']} | {limit['figure']:.3f} | {interval(limit, 3)} | "
              f"{bound} | {verdict(limit)} |")
    print()


def print_functions(functions):
    print("## What instrumented functions cost (`bench/functions`)\n")
    print("A function compiled with `-finstrument-functions`, beyond the same without it: ticks an execution, median of the calm "
          f"ones of\n{functions['rounds']} rounds. No kernel: none was chosen with `SPEX_FUNCTIONS`; then as a kernel that is off, "
          "skipped and recorded; at last a\nkernel in the source, in the same function.\n")
    print("| | ticks | 95 % interval |\n| --- | ---: | ---: |")
    for case in functions["results"]:
        print(f"| {case['what']} | {case['ticks']:.2f} | {interval(case)}{busy(case)} |")
    print()


def estimates(output):
    """The rows of estimates that a program of benchmarks (spex/bench.h) has written, by name."""
    return {row["run_name"]: row for row in output["benchmarks"] if row.get("aggregate_name") == "estimate"}


def estimate_cells(row, factor, digits):
    """An estimate and its interval, in ns times the factor."""
    ends = [f"{factor * row[key]:.{digits}f}" if key in row else "?" for key in ("real_time_low", "real_time_high")]
    return f"{factor * row['real_time']:.{digits}f} | {' to '.join(ends)}"


def print_models(models):
    rows, ticks = estimates(models), models["context"]["ticks_per_second"] / 1e9
    fits = next(row["fits"] for row in models["benchmarks"] if "fits" in row)
    print("\n## What models cost (`bench/models`)\n")
    print(f"Fits of {fits:g} made-up kernels, one fit of 1,000 points of three parameters, and a prediction by five "
          "terms;\nreading the time stamp counter takes "
          f"{ticks * rows['rdtsc']['real_time']:.1f} ticks.\n")
    print("| | estimate | 95 % interval |\n| --- | ---: | ---: |")
    for what, name, factor, digits in (("a fit, ms, mean of all kernels", "fit_cases", 1e-6 / fits, 3),
                                       ("the large fit, ms", "fit_large", 1e-6, 2), ("a prediction, ticks", "predict", ticks, 1)):
        print(f"| {what} | {estimate_cells(rows[name], factor, digits)} |")


def print_cold(cold):
    print("## What probes cost between a program's own misses (`bench/cold`)\n")
    print("A request is received, a file opened, an answer written, and memory read in between: nanoseconds of CPU time that it")
    print(f"takes more with these probes on than with all off, in the same thread in turn: medians of {cold['rounds']} rounds. What a")
    print("record takes in a loop of nothing else is above.\n")
    print("| memory read | probes on | records | more, ns | 95 % interval | all off, ns |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for result in cold["results"]:
        print(f"| {result['bytes'] >> 10} KiB | {result['probes']} | {result['records']} | {result['more_ns']:.0f} | "
              f"{interval(result, 0)} | {result['plain_ns']:.0f} |")
    print()


def print_drain(drain):
    print("## Whether the collector keeps up (`bench/drain`)\n")
    print("Threads that do nothing but LAT pairs, pinned to CPUs, one collector, metrics computed; rings of")
    print(f"{drain['ring_records']:,} records.\n")
    print("| scenario | s | produced | consumed | lost | consumed a second |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for case in drain["scenarios"]:
        print(f"| {case['scenario']} ({case['producers']}) | {case['seconds']:.1f} | {case['produced']:,} | "
              f"{case['consumed']:,} | {case['lost']:,} | {case['records_per_second']:,.0f} |")
    print("\nProduced is what the threads have executed, and consumed and lost add up to it: the bench "
          "checks it.\n")


def percent(figure, digits=2):
    return f"{100 * figure:.{digits}f} %"


def print_budget(budget):
    print("## Whether a budget is kept (`bench/budget`)\n")
    print("A workload with all probes on and a budget, and without spex, in two processes of which one runs at a")
    longer = {r["workload"]: r["slice_ms"] for r in budget["results"] if r["slice_ms"] > budget["slice_ms"]}
    others = "".join(f" (`{name}` for {ms:g} ms)" for name, ms in longer.items())
    print(f"time, for {budget['slice_ms']:g} ms in turn{others}, on the same CPU. Slowdown: how much more CPU time an")
    print("operation takes, that of spex's threads included; believed: the same as the library has it; used: of the budget, as it believes. Every 5 s")
    print("the other process has spex, as one may be faster than the other for as long as they live, by the pages that they")
    print("have. Midmeans and their 95 % intervals. Kept: the interval's upper end is at most 1.25 times the budget")
    print("and 0.3 points. Believed wrongly: neither within a quarter of the slowdown nor within 0.3 points of its interval.")
    print("`bursts` to `crowded` were made to be hard (bench/budget_hard.c). zstd and LevelDB have probes that a patch puts in")
    print("(bench/foreign); they are left out where Debian's sources cannot be had.\n")
    print("| workload | budget | slowdown | ± | believed | used | executions a second | records a second | lost | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for case in budget["results"]:
        print(f"| {case['workload']} | {percent(case['budget'], 1)} | {percent(case['slowdown'])} | "
              f"{percent(case['ci95'])} | {believed(case)} | {percent(case['used'], 0)} | "
              f"{case['executions'] / case['seconds']:,.0f} | {case['records'] / case['seconds']:,.0f} | "
              f"{case['lost']:,} | {verdict(case)}{'' if case['belief_true'] else ', **believed wrongly**'} |")
    print("\nFor comparison, with no probe on: spex started (the bench's own error), and, without spex, a second thread")
    print("that sleeps, in a program that had none: libc then takes locks that it else saves itself, and spex's")
    print("collector is such a thread. No budget knows of that.\n")
    print("| workload | what | slowdown | ± |\n| --- | --- | ---: | ---: |")
    names = {"off": "spex started, no probe on", "thread": "a second thread"}
    for case in budget["control"]:
        print(f"| {case['workload']} | {names[case['what']]} | {percent(case['slowdown'])} | "
              f"{percent(case['ci95'])} |")
    print()


def print_reaction(reaction):
    print("## How a budget is kept when a rate changes a hundredfold (`bench/reaction`)\n")
    print("A loop with 30 µs of work between executions of a probe, then 0.3 µs, then 30 µs again, for "
          f"{reaction['seconds']:g} s\neach, with a budget of {reaction['share'] * 100:g} %: "
          f"{reaction['rounds']} rounds. What is spent is what the controller believes.\n"
          "A period has settled when it stays within a quarter, or one, of where it is at last; it is reversed\n"
          "when it turns round by more than that. It follows what else the machine does to the loop.\n")
    print("| what | median | worst |\n| --- | ---: | ---: |")
    for case in reaction["results"]:
        print(f"| {case['what']} | {case['median']:.3f} | {case['worst']:.3f} |")
    print()


def print_regions(regions):
    print("## What probes cost that stand close to each other (`bench/regions`)\n")
    print(f"{regions['sites']} CNT probes with about 30 cycles of work between them, in a region and without one: time over "
          "that of the\nsame loop without probes, timed before and after. The work of a chain waits for itself and "
          "leaves room for\nprobes; wide work takes all that the processor can do at a time. Median of the "
          f"calm ones of {regions['rounds']} rounds.\n")
    print("| work | | rate | ratio | 95 % interval | limit | |\n| --- | --- | ---: | ---: | ---: | ---: | --- |")
    for case in regions["results"]:
        limited = "at_most" in case
        print(f"| {case['work']} | {case['how']} | {case['rate']} | {case['ratio']:.3f} | {interval(case, 3)}{busy(case)} | "
              f"{'at most %g' % case['at_most'] if limited else ''} | "
              f"{verdict(case) if limited else ''} |")
    print()


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


def print_startup(startup):
    print("\n## What spex costs at the start (`bench/startup`)\n")
    print("Milliseconds from the start of a short program's process to its end, the shortest of")
    print(f"{startup['rounds']} runs of each program in turn, and the difference from the program without spex.\n")
    print("| program | ms | more | limit | |")
    print("| --- | ---: | ---: | --- | --- |")
    for result in startup["results"]:
        print(f"| {result['program']} | {result['milliseconds']:.2f} | {result['more']:.2f} | "
              + limit_cells(startup["limits"], result["program"]))


def print_footprint(footprint):
    print("\n## What spex adds to a program (`bench/footprint`)\n")
    print("Kilobytes of a stripped program with one probe, and of memory: linked, beyond the program without spex;")
    print("started, beyond the program that only links it.\n")
    print("| what | kB | limit | |")
    print("| --- | ---: | --- | --- |")
    for result in footprint["results"]:
        print(f"| {result['what']} | {result['kilobytes']} | "
              + limit_cells(footprint["limits"], result["what"]))


def print_waiting(waiting):
    print("\n## What waiting for commands costs (`bench/waiting`)\n")
    print("Per cent that loops of a program of one thread take longer than where spex is not started, with every probe")
    print(f"off: median of {waiting['rounds']} rounds. Dormant: as most programs are; polled: the program calls `spex_poll`;")
    print("thread: `SPEX_WAITS=1`.\n")
    print("| waits | loop | per cent | 95 % interval |")
    print("| --- | --- | ---: | ---: |")
    for result in waiting["results"]:
        print(f"| {result['waits']} | {result['loop']} | {result['per_cent']:.2f} | {interval(result)} |")


def print_resting(resting):
    print("\n## What a collector takes whose rings are nearly empty (`bench/resting`)\n")
    print(f"Wake-ups of the collector's thread, and its CPU time: median of {resting['rounds']} rounds of a second.\n")
    print("| program | passes a second | % of a CPU | 95 % interval |")
    print("| --- | ---: | ---: | ---: |")
    for result in resting["results"]:
        low, high = result["cpu_ci95"]
        print(f"| {result['what']} | {result['passes']:.0f} | {result['cpu_per_cent']:.3f} | {low:.3f} to {high:.3f} |")


def ratios(record):
    """How spex compares with LTTng-UST, in the same run."""
    peer = record["ways"].get("LTTng-UST")
    for way, row in record["ways"].items() if peer else ():
        if row is not peer:
            yield (way, peer["thread_ns"] / row["thread_ns"], peer["total_ns"] / row["total_ns"], row["bytes"] / peer["bytes"])


def print_record(record):
    print("\n## What a trace costs (`bench/record.py`)\n")
    print(f"{record['events']:,} LAT records, in bursts that rings and buffers have room for, to a file system in memory: medians")
    print(f"of {record['rounds']} rounds. Nanoseconds of CPU time an event: of the program's thread, and of all that carries it to the")
    print("trace, the program's start included. LTTng-UST: an event with the same contents" +
          (f", not measured: {record['lttng_missing']}" if record["lttng_missing"] else "") + ".\n")
    print("| way | program's thread, ns | carrying, ns | bytes | lost |\n| --- | ---: | ---: | ---: | ---: |")
    for way, row in record["ways"].items():
        print(f"| {way} | {row['thread_ns']:.1f} | {row['carried_ns']:.1f} | {row['bytes']:.1f} | {row['lost']:,.0f} |")
    compared = list(ratios(record))
    if compared:
        print("\n| beside LTTng-UST | rate of the program's thread | rate by all CPU time | bytes |\n| --- | ---: | ---: | ---: |")
        for way, *figures in compared:
            print(f"| {way} | {figures[0]:.2f} | {figures[1]:.2f} | {figures[2]:.2f} |")
    print(f"\nA steady rate from one thread for {record['steady_seconds']} s, with rings as they are by default: what of it is lost "
          "depends on\nwhether collector and command get a processor in time.\n")
    print("| way | asked, million a second | made | lost, median | least to most |\n| --- | ---: | ---: | ---: | ---: |")
    for way, row in record["steady"].items():
        print(f"| {way} | {row['rate'] / 1e6:.0f} | {row['made'] / 1e6:.1f} | {percent(row['lost'])} | "
              f"{percent(row['lost_least'])} to {percent(row['lost_most'])} |")


def print_export(export):
    traces = {"spans": "executions of one probe", "all": "records of all types"}
    print("\n## How fast traces are read (`bench/export.py`)\n")
    print(f"`spex export` to each format, and `spex stats`: medians of {export['rounds']} rounds; the most memory.\n")
    print("| trace | to | records | million a second | by CPU time | MB | bytes a record |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for row in export["rows"]:
        print(f"| {traces[row['trace']]} | {row['what']} | {row['records']:,} | {row['per_second'] / 1e6:.1f} | "
              f"{row['per_cpu_second'] / 1e6:.1f} | {row['memory_mb']:.0f} | "
              f"{'%.0f' % row['bytes'] if row['bytes'] else ''} |")


def main():
    overhead, functions, regions, drain, budget, reaction, agreement, models, startup, footprint, waiting, resting, \
        record, export, cold = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:16])
    print_head()
    print_overhead(overhead)
    print_functions(functions)
    print_regions(regions)
    print_cold(cold)
    print_drain(drain)
    print_budget(budget)
    print_reaction(reaction)
    print_agreement(agreement)
    print_models(models)
    print_startup(startup)
    print_footprint(footprint)
    print_waiting(waiting)
    print_resting(resting)
    print_record(record)
    print_export(export)


if __name__ == "__main__":
    main()
