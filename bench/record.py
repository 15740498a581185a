#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording to a trace costs, by `spex record` and within the program, and by LTTng-UST for the same events.

usage: record.py [--json] [--rounds N] [--events N] BUILD [FOLDER]

BUILD is a build directory; traces go to FOLDER, /dev/shm when absent. In each round all ways record the same number of
events, in turn, in bursts that fit into their memory, so that nothing is lost. Figures are medians over the rounds, of
CPU time an event: of the program's thread, and of what carries the events to the trace. What `spex record` takes of a program
that makes one event, for the start and the end of both, is taken off and told by itself: LTTng's daemons and session are
started before they are measured. Then spex records a steady rate for some seconds, with rings as large as they are by default. LTTng's daemon is started and ended here; it needs root, or its
own user's daemon not to run.
"""

import argparse
import functools
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

from lttng import Lttng, lttng_missing

BURST = 50000
RING_RECORDS = 131072
SESSION = "spex-bench"

# Steady events a second from one thread, and for how many seconds.
STEADY = {"spex record": 5e6, "within the program": 10e6}
STEADY_SECONDS = 3
STEADY_BURST = 1000


def size_of(folder):
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)


def lost_of(result):
    return int(re.search(r"(\d+) lost", result.stderr)[1])


def figures(told, carried_ns, folder, events, lost):
    return {"thread_ns": told["bursts_ns"] / events, "carried_ns": carried_ns / events,
            "bytes": size_of(folder) / max(events - lost, 1), "lost": lost}


def clean_environment():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPEX_")}
    return {**environment, "SPEX_CONTROL": "off"}


def run_by_command(build, folder, *arguments, **environment):
    return subprocess.run([os.path.join(build, "tools/spex"), "record", "-o", folder, "--",
                           os.path.join(build, "bench/record_events"), *map(str, arguments)],
                          check=True, capture_output=True, text=True, env={**clean_environment(), **environment})


def run_within(build, folder, *arguments, **environment):
    return subprocess.run([os.path.join(build, "bench/record_events"), *map(str, arguments)], check=True, capture_output=True,
                          text=True, env={**clean_environment(), "SPEX_PROBES": "*", "SPEX_OUT": "ctf:" + folder, **environment})


def children_ns():
    """CPU time of children that have ended, to the microsecond; os.times() tells hundredths of a second."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1e9


def timed_by_command(build, folder, events):
    """What the program says, what was lost, and the CPU time of the command and of the program's start and end."""
    before = children_ns()
    result = run_by_command(build, folder, events, BURST, SPEX_RING_RECORDS=str(RING_RECORDS))
    all_ns = children_ns() - before
    told = json.loads(result.stdout)
    return told, lost_of(result), max(all_ns - told["bursts_ns"] - told["others_ns"], 0)


def by_command(build, folder, events):
    start_ns = in_folder(os.path.dirname(folder), timed_by_command, build, 1)[2]
    told, lost, command_ns = timed_by_command(build, folder, events)
    carried_ns = told["others_ns"] + max(command_ns - start_ns, 0)
    return {**figures(told, carried_ns, folder, events, lost), "collector_ns": told["others_ns"] / events, "start_ns": start_ns}


def within(build, folder, events):
    result = run_within(build, folder, events, BURST, SPEX_RING_RECORDS=str(RING_RECORDS))
    told = json.loads(result.stdout)
    return figures(told, told["others_ns"], folder, events, lost_of(result))


def steady(build, folder, way):
    """What share of the events is lost, and how many a second were made."""
    events = int(STEADY[way] * STEADY_SECONDS)
    result = (run_by_command if way == "spex record" else run_within)(build, folder, events, STEADY_BURST, STEADY[way])
    return {"lost": lost_of(result) / events, "made": events / json.loads(result.stdout)["elapsed_ns"] * 1e9}


def by_lttng(lttng, build, folder, events):
    lttng.session(SESSION, folder, ["spex_bench:span"], ["vtid"])
    before = lttng.consumer_ns()
    result = subprocess.run([os.path.join(build, "bench/record_events_lttng"), str(events), str(BURST)], check=True,
                            capture_output=True, text=True, env=lttng.environment)
    lost = lttng.stop(SESSION)
    return figures(json.loads(result.stdout), lttng.consumer_ns() - before, folder, events, lost)


def in_folder(where, record, build, *last):
    folder = tempfile.mkdtemp(prefix="spex-record-", dir=where)
    try:
        return record(build, folder, *last)
    finally:
        shutil.rmtree(folder)


def measure_steady(arguments):
    rows = {}
    for way, rate in STEADY.items():
        rounds = [in_folder(arguments.folder, steady, arguments.build, way) for _ in range(arguments.rounds)]
        lost = [one["lost"] for one in rounds]
        rows[way] = {"rate": rate, "made": statistics.median(one["made"] for one in rounds),
                     "lost": statistics.median(lost), "lost_least": min(lost), "lost_most": max(lost)}
    return rows


def measure(arguments, lttng):
    ways = {"spex record": by_command, "within the program": within}
    if lttng:
        ways["LTTng-UST"] = functools.partial(by_lttng, lttng)
    found = {way: [] for way in ways}
    for _ in range(arguments.rounds):
        for way, record in ways.items():
            found[way].append(in_folder(arguments.folder, record, arguments.build, arguments.events))
    return {way: {name: statistics.median(one[name] for one in rows) for name in rows[0]} for way, rows in found.items()}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=2000000)
    parser.add_argument("build")
    parser.add_argument("folder", nargs="?", default="/dev/shm")
    arguments = parser.parse_args()
    missing, lttng = lttng_missing(os.path.join(arguments.build, "bench/record_events_lttng")), None
    try:
        lttng = None if missing else Lttng()
        rows = measure(arguments, lttng)
        steadily = measure_steady(arguments)
    finally:
        if lttng:
            lttng.end()
    for row in rows.values():
        row["a_second"] = 1e9 / row["carried_ns"]
        row["total_ns"] = row["thread_ns"] + row["carried_ns"]
    if arguments.json:
        json.dump({"events": arguments.events, "rounds": arguments.rounds, "lttng_missing": missing, "ways": rows,
                   "steady_seconds": STEADY_SECONDS, "steady": steadily}, sys.stdout)
        print()
        return
    for way, row in rows.items():
        print(f"{way:19} program {row['thread_ns']:6.1f} ns an event, carried in {row['carried_ns']:6.1f} ns: "
              f"{row['a_second'] / 1e6:5.1f} million a second on one core; {row['bytes']:5.1f} B, {row['lost']:.0f} lost")
    print(f"spex record         {rows['spex record']['start_ns'] / 1e6:.0f} ms for its own and the program's start and end")
    for way, row in steadily.items():
        print(f"{way:19} {row['rate'] / 1e6:.0f} million a second for {STEADY_SECONDS} s: {100 * row['lost']:.2f} % lost "
              f"({100 * row['lost_least']:.2f} to {100 * row['lost_most']:.2f} %), made {row['made'] / 1e6:.1f} million a second")
    if missing:
        print("LTTng-UST           not measured:", missing)
    else:
        peer = rows["LTTng-UST"]
        for way in list(rows)[:2]:
            print(f"{way}: rate of the program {peer['thread_ns'] / rows[way]['thread_ns']:.2f} times LTTng's, "
                  f"of all CPU time {peer['total_ns'] / rows[way]['total_ns']:.2f} times, bytes {rows[way]['bytes'] / peer['bytes']:.2f}")


if __name__ == "__main__":
    main()
