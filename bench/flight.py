#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how often a dump of the flight recorder holds the cause of a slow execution, and what the recorder costs.

flight_causes.c serves requests under `spex record --flight`, and makes one in 100,000 slow by a cause that is planted:
a slow disk, a thief of the CPU, a lock, the allocator, page faults, a slow peer, a burst. `spex watch --dump`, with
models that were trained before, is to find it and to ask for a dump. A try is such an execution. It is

  found   when watch has told an anomaly that began with it,
  inside  when a dump has the record of the execution and that of the step that the cause made slow, both as long as
          they took, and records of the 0.1 s before,
  marked  when besides the mark of that dump names this anomaly.

There are 100 tries of each cause, unless so many have missed before that the limit cannot be kept. Each try that missed
is told on standard error, with what was there instead. With --tries-in FILE tries are added to a file after each run of
some of them, and those that it has are counted: a long measurement can be made in parts, with the same options.

The cost is that of executions of which none is slow, each with both probes recorded, in turn with nothing, `spex
record`, `spex record --flight` and that with `spex watch --dump`: the CPU time of the program's thread, of the whole
program with its collectors, and of the commands.

Other programs that take the CPU for as long as the causes do, and as often, are found like these: the machine must be
idle, or --slow longer than what they take. The alarms are three times as frequent as the slow executions, because what
is as frequent as alarms may be is usual.

usage: flight.py [--json] [--quick] [--tries N] [--every N] [--slow MS] [--flight SECONDS] [--alarms RATE]
                 [--causes NAMES] [--only causes|cost] [--tries-in FILE] BUILD FOLDER
       flight.py --page JSON…   the section of docs/performance.md, of what --json has written, in one run or several
"""

import argparse
import json
import math
import os
import re
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

from anomalies import Watch

CAUSES = {"disk": "slow disk", "thief": "CPU thief", "lock": "lock convoy", "allocator": "allocator",
          "faults": "page faults", "peer": "slow peer", "burst": "burst"}
PLAN = """<space name="causes">
  <parameter name="units" type="integer" values="2"/>
  <run trials_per_config="3"/>
</space>
"""
INSIDE_LEAST = 0.95
COST_MOST = 0.01
LEARN_SECONDS = 10
BEFORE_NS = 100_000_000
NEAR_NS = 1_000_000  # between the program's clock and the records'
RUN_TRIES = 20
AS_LONG = 0.9  # of the time that the program has seen
DUMP = re.compile(r"^spex: dump \(.*\): .* in (\S+?)(;.*)?$")
WAYS = ("nothing", "record", "flight", "watched")


class Bench:
    def __init__(self, options):
        self.options, self.build, self.folder = options, options.build, os.path.abspath(options.folder)
        self.spex = os.path.join(self.build, "tools", "spex")
        self.program = os.path.join(self.build, "bench", "flight_causes")
        with open(self.path("slow_disk"), "w", encoding="utf-8") as file:
            file.write("0")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SPEX_")}
        self.environment.update(LD_PRELOAD=os.path.join(self.build, "bench", "libslow_disk.so"),
                                SLOW_DISK=self.path("slow_disk"), SPEX_CONTROL=self.path("control"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def train(self, cause):
        plan, models = self.path("plan.xml"), self.path(cause + ".models")
        with open(plan, "w", encoding="utf-8") as file:
            file.write(PLAN)
        if os.path.exists(models):
            os.unlink(models)
        subprocess.run([self.spex, "train", models, "--runs", plan, "--probes", "request:kernel", "--", self.program, cause,
                        "20000", "{units}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=self.environment)
        return models

    def start(self, way, *arguments):
        command = [self.program, *map(str, arguments)]
        if way != "nothing":
            flight = ["--flight", f"{self.options.flight:g}s", "--dumps", "1000000", "--memory", "256M"]
            command = [self.spex, "record", "-o", self.path("dumps"), *(flight if way != "record" else []), "--", *command]
        shutil.rmtree(self.path("dumps"), ignore_errors=True)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.environment)
        word, number = process.stdout.readline().split()
        assert word == "ready"
        return process, number

    def watch(self, number, models):
        os.environ["SPEX_CONTROL"] = self.environment["SPEX_CONTROL"]
        return Watch([self.spex, "watch", models, "--pid", number, "--alarms", str(self.options.alarms), "--probes",
                      "request:kernel", "--dump", "--json"])


class Said:
    """The lines of a stream, as they come."""

    def __init__(self, stream):
        self.lines = []
        self.thread = threading.Thread(target=lambda: self.lines.extend(stream), daemon=True)
        self.thread.start()


def tries_of(bench, models, cause, tries):
    """Lets the program run until it has been slow so often: its slow requests, what watch has told, and the dumps by
    reason and folder."""
    options = bench.options
    process, number = bench.start("watched", cause, 0, options.every, options.slow)
    watch, said = bench.watch(number, models), Said(process.stderr)
    time.sleep(LEARN_SECONDS)
    process.stdin.write("go\n")
    process.stdin.flush()
    planted = []
    while len(planted) < tries:
        planted.append(tuple(map(int, process.stdout.readline().split())))
    # The last dump may wait for half of the window, and a second for the collectors.
    time.sleep(options.flight / 2 + 2)
    told = [event for _, event in watch.end()]
    process.stdin.close()
    done = json.loads(process.stdout.readlines()[-1])
    process.wait()
    said.thread.join()
    dumps = [match.group(1) for match in map(DUMP.match, said.lines) if match]
    return planted, told, dumps, done


def records_of(bench, folder):
    """Of a dump: its begin and end, and its slow records by probe and their ends, in nanoseconds since 1970."""
    database = bench.path("dump.db")
    subprocess.run([bench.spex, "export", folder, "--format", "sqlite", "-o", database], check=True,
                   stdout=subprocess.DEVNULL, env=bench.environment)
    with sqlite3.connect(database) as db:
        begin = int(db.execute("SELECT value FROM trace WHERE key = 'begin_unix_ns'").fetchone()[0])
        least = bench.options.slow * 1e6 / 10
        slow = [(name, begin + time_ns, duration) for name, time_ns, duration in db.execute(
            "SELECT probe.name, time_ns, duration_ns FROM record JOIN probe ON probe.id = record.probe"
            " WHERE duration_ns > ?", (least,))]
        first, last = db.execute("SELECT min(time_ns), max(time_ns) FROM record").fetchone()
        records = db.execute("SELECT count(*) FROM record").fetchone()[0]
        marks = [text for text, in db.execute("SELECT text FROM mark")]
    db.close()
    return {"begin": begin + first, "end": begin + last, "slow": slow, "marks": marks} if records else None


def holds(dump, begin, end):
    as_long = AS_LONG * (end - begin)
    names = {name for name, at, duration in dump["slow"]
             if begin - NEAR_NS < at < end + NEAR_NS and duration >= as_long}
    return {"request", "step"} <= names and dump["begin"] < begin - BEFORE_NS


def missed(begin, end, found, dumps):
    """Why a try is not inside, in words."""
    covering = [dump for dump in dumps if dump["begin"] < begin and dump["end"] >= end]
    if not found and not covering:
        return "watch has told no anomaly that began with it, and no dump is of that time"
    if not covering:
        nearest = min(dumps, key=lambda dump: max(dump["begin"] - begin, end - dump["end"]), default=None)
        where = "there is no dump" if not nearest else "the nearest dump is from %+.3f s to %+.3f s of its begin" % (
            (nearest["begin"] - begin) / 1e9, (nearest["end"] - begin) / 1e9)
        return "watch has told it, and " + where
    dump = covering[-1]
    if dump["begin"] >= begin - BEFORE_NS:
        return f"the dump begins {(begin - dump['begin']) / 1e6:.1f} ms before it"
    near = ["%s %.2f ms" % (name, duration / 1e6) for name, at, duration in dump["slow"]
            if begin - NEAR_NS < at < end + NEAR_NS]
    return "the dump has of its time " + (", ".join(near) or "no slow record")


def judge(bench, planted, told, dumps):
    begins = [event for event in told if event["event"] == "begins"]
    read = [dump for dump in (records_of(bench, folder) for folder in dumps) if dump]
    result = []
    for begin, end in planted:
        found = [event for event in begins if abs(event["time"] * 1e9 - begin) < max(NEAR_NS, (end - begin) / 10)]
        inside = [dump for dump in read if holds(dump, begin, end)]
        names = [f"dump: anomaly {event['number']}:" for event in found]
        marked = [mark for dump in inside for mark in dump["marks"] for name in names if mark.startswith(name)]
        result.append({"found": bool(found), "inside": bool(inside), "marked": bool(marked),
                       "seconds": (end - begin) / 1e9})
        if not inside:
            result[-1]["missed"] = missed(begin, end, found, read)
    return result, begins


def wilson(hits, tries):
    """The 95 % interval of a share."""
    z, share = 1.96, hits / tries
    middle = share + z * z / (2 * tries)
    half = z * math.sqrt(share * (1 - share) / tries + z * z / (4 * tries * tries))
    return [(middle - half) / (1 + z * z / tries), (middle + half) / (1 + z * z / tries)]


class Tries:
    """Tries of a cause and sums over their runs, kept in a file where one is named."""

    def __init__(self, path, cause):
        self.path, self.cause, self.list = path, cause, []
        self.sums = dict.fromkeys(("dumps", "anomalies", "requests", "seconds", "thread_seconds", "lost"), 0)
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for run in map(json.loads, file):
                    if run["cause"] == cause:
                        self.take(run)

    def take(self, run):
        self.list += run["tries"]
        for name in self.sums:
            self.sums[name] += run[name]

    def add(self, run):
        self.take(run)
        for number, one in enumerate(self.list[-len(run["tries"]):], len(self.list) - len(run["tries"]) + 1):
            if not one["inside"]:
                print(f"{CAUSES[self.cause]}: try {number}, of {1e3 * one['seconds']:.1f} ms: {one['missed']}",
                      file=sys.stderr, flush=True)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"cause": self.cause, **run}) + "\n")


def cause_measure(bench, cause):
    """In runs of some tries each, until there are enough, or the limit cannot be kept any more."""
    models, most = bench.train(cause), bench.options.tries
    kept = Tries(bench.options.tries_in, cause)
    tries, sums = kept.list, kept.sums
    while len(tries) < most and sum(not one["inside"] for one in tries) <= (1 - INSIDE_LEAST) * most:
        planted, told, dumps, done = tries_of(bench, models, cause, min(RUN_TRIES, most - len(tries)))
        judged, begins = judge(bench, planted, told, dumps)
        run = {"tries": judged, "dumps": len(dumps), "anomalies": len(begins), "lost": told[-1]["lost"], **done}
        kept.add({name: run[name] for name in ("tries", *sums)})
    result = {name: sum(one[name] for one in tries) for name in ("found", "inside", "marked")}
    return {**result, **sums, "tries": len(tries), "ci95": wilson(result["inside"], len(tries)),
            "slow_seconds": statistics.median(one["seconds"] for one in tries),
            "kept": result["inside"] >= INSIDE_LEAST * len(tries)}


def cost_once(bench, way, models):
    """Seconds of CPU a request: of the thread, of the program, of the commands."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process, number = bench.start(way, "disk", 0, bench.options.every, bench.options.slow)
    watch = bench.watch(number, models) if way == "watched" else None
    time.sleep(bench.options.cost_seconds)
    if watch:
        watch.end()
    output, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = json.loads(output.splitlines()[-1])
    everything = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"thread": done["thread_seconds"] / done["requests"], "program": done["process_seconds"] / done["requests"],
            "commands": (everything - done["process_seconds"]) / done["requests"]}


def interval(ordered):
    """Of a median, by ranks; all of the values where they are few."""
    outside = max(0, math.floor(len(ordered) / 2 - 0.98 * math.sqrt(len(ordered))))
    return [ordered[outside], ordered[-1 - outside]]


def cost_measure(bench, rounds):
    """Medians over rounds of the difference from nothing in the same round."""
    models = bench.train("disk")
    measured = [{way: cost_once(bench, way, models) for way in WAYS} for _ in range(rounds)]
    base = statistics.median(one["nothing"]["thread"] for one in measured)
    result = {"rounds": rounds, "request_ns": base * 1e9}
    for way in WAYS[1:]:
        of = {}
        for what in ("thread", "program", "commands"):
            ns = sorted((one[way][what] - (one["nothing"][what] if what != "commands" else 0)) * 1e9 for one in measured)
            of[what + "_ns"] = statistics.median(ns)
            of[what + "_ns_ci95"] = interval(ns)
        low, high = (ns / result["request_ns"] for ns in of["thread_ns_ci95"])
        of["share"], of["program_share"] = of["thread_ns"] / result["request_ns"], of["program_ns"] / result["request_ns"]
        of["kept"] = "kept" if high <= COST_MOST else "not kept" if low > COST_MOST else "not known"
        result[way] = of
    return result


def print_causes(result):
    print("\n## How surely a dump holds the cause (`bench/flight.py`)\n")
    print(f"One request in {result['every']:,} is slow, by a cause that is planted, under `spex record --flight {result['flight']:g}s` and")
    print(f"`spex watch --dump --alarms {result['alarms']:g}`. Inside: tries whose dump has the records of that request and of the step")
    print("that the cause made slow, both as long as they took, and those of the 0.1 s before. Found: watch has told an anomaly that")
    print("began with it. Marked: the mark of that dump names this anomaly. In brackets the 95 % interval (Wilson). Lost: records, in all")
    print("of the time.\n")
    print("| cause | took, ms | tries | inside | | found | marked | lost | limit |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for cause, one in result["causes"].items():
        low, high = one["ci95"]
        print(f"| {CAUSES[cause]} | {1e3 * one['slow_seconds']:.1f} | {one['tries']} | {one['inside']} |"
              f" {100 * low:.0f} to {100 * high:.0f} % | {one['found']} | {one['marked']} | {one['lost']:,} |"
              f" inside at least {100 * INSIDE_LEAST:g} %: {'kept' if one['kept'] else '**not kept**'} |")


def print_cost(cost):
    print("\n## What the flight recorder costs (`bench/flight.py`)\n")
    print(f"CPU time a request of {cost['request_ns'] / 1e3:.1f} µs, with a record of `kernel` and two of `lat` each, over that")
    print(f"where nothing records: median of {cost['rounds']} rounds, in brackets the 95 % interval. The program is")
    print("the thread with the collectors; the commands take other processors where there are some.\n")
    print("| | the thread, ns | % | the program, ns | % | the commands, ns | limit |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    names = {"record": "`spex record`", "flight": "`spex record --flight`", "watched": "… and `spex watch --dump`"}
    for way in WAYS[1:]:
        of = cost[way]
        cells = [f"{of[what + '_ns']:.0f} ({of[what + '_ns_ci95'][0]:.0f} to {of[what + '_ns_ci95'][1]:.0f})"
                 for what in ("thread", "program", "commands")]
        print(f"| {names[way]} | {cells[0]} | {100 * of['share']:.2f} | {cells[1]} | {100 * of['program_share']:.2f} |"
              f" {cells[2]} | the thread, at most {100 * COST_MOST:g} %: {of['kept']} |")


def print_page(paths):
    result = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            result.update(json.load(file))
    if "causes" in result:
        print_causes(result)
    if "cost" in result:
        print_cost(result["cost"])


def main():
    if sys.argv[1:2] == ["--page"]:
        print_page(sys.argv[2:])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--every", type=int, default=100_000)
    parser.add_argument("--slow", type=float, default=20)
    parser.add_argument("--flight", type=float, default=2)
    parser.add_argument("--alarms", type=float, default=None)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--cost-seconds", type=float, default=4)
    parser.add_argument("--causes", default=",".join(CAUSES))
    parser.add_argument("--only", choices=("causes", "cost"))
    parser.add_argument("--tries-in")
    parser.add_argument("build")
    parser.add_argument("folder")
    options = parser.parse_args()
    if options.quick:
        options.tries, options.every, options.rounds = min(options.tries, 5), min(options.every, 20_000), 3
    options.alarms = options.alarms or 3 / options.every
    bench = Bench(options)
    result = {"bench": "flight", "every": options.every, "flight": options.flight, "alarms": options.alarms}
    if options.only != "cost":
        result["causes"] = {}
        for cause in options.causes.split(","):
            one = result["causes"][cause] = cause_measure(bench, cause)
            if not options.json:
                low, high = one["ci95"]
                print(f"{CAUSES[cause]:12} {one['inside']:3} of {one['tries']} inside ({100 * low:.0f} to {100 * high:.0f} %),"
                      f" {one['found']} found, {one['marked']} marked; {one['dumps']} dumps, {one['anomalies']} anomalies,"
                      f" {one['requests']:,} requests in {one['seconds']:.0f} s, slow {1e3 * one['slow_seconds']:.1f} ms,"
                      f" {one['lost']} lost", flush=True)
    if options.only != "causes":
        cost = result["cost"] = cost_measure(bench, options.rounds)
        for way in WAYS[1:] if not options.json else ():
            of = cost[way]
            print(f"{way:8} thread {of['thread_ns']:+6.0f} ns a request ({100 * of['share']:+.2f} % of {cost['request_ns']:.0f}),"
                  f" program {of['program_ns']:+6.0f}, commands {of['commands_ns']:6.0f}")
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
