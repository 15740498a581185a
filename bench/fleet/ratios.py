#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what it costs to profile a share of a fleet, and how good the profile is: 4 instances of the web shop of
examples/fleet behind HAProxy on loopback, load from wrk, as Figure 5 and Table 2 of the paper (docs/fleet.md) have it.
The profiling ratio is the share of the instances that record the whole map; the others have no probe on.

In each round every ratio has its turn, in an order that chance decides, with instances that chance decides:

  --by agent    `spex agent --policy` at the instances that record; at ratio 0 there is none
  --by master   NATS, `spex fleet master` and an agent, which leave the choice to the master; the probe of the response
                time is then on in all instances. At ratio 0 there is none of them. A round takes a minute
  --by set      `spex set`, in turns of --seconds without a pause between, by one wrk: what the balancer has answered
                is counted. There are no response times, and the intervals are narrower

Maps: usual (pages, queries, the server), detailed (down to each word that is escaped, of several types).
The loss is that of throughput against ratio 0 of the same round; intervals are 95 %. Connections ask on end, so that the
processors are busy, unless --pause gives them milliseconds between an answer and the next request. The processors' time
that instances and balancer take a request is told, too: what other machines of the same host do is not in it. And by how
much more of it the instances that record take than the others, in the same turn: whatever else the machine does, it does
it to both.

The overlap of the profile at a ratio is that with the profile of all instances in the turn of ratio 1 of the same round, as
the paper compares them; and, of all selections of as many instances in that turn, with all of them in the same time.

usage: ratios.py [--json] [--by agent|master|set] [--map NAME] [--mode single|mixed] [--rounds N] [--seconds N]
                 [--connections N] [--pause MS] [--instances N] BUILD
"""

import argparse
import json
import random
import statistics
import sys
import time

import parts
from estimates import combined, median
from overlap import added, overlap, overlaps_of_parts

# As the paper: at ratio 0.5 the throughput is within 1 % of that without profiling, and the overlap what its Table 2 has.
HALF = 0.5
LOSS_MOST = 0.01
OVERLAP_LEAST = {"single": 0.996, "mixed": 0.976}
SHARES = (0, 0.25, 0.5, 0.75, 1)


def since(before, now):
    return {probe: count - before.get(probe, 0) for probe, count in now.items()}


class Fleet:
    def __init__(self, options):
        self.options, self.chance = options, random.Random(options.seed)
        self.parts = parts.Parts(options.build, options.instances)
        try:
            self.instances = [self.parts.instance(number, "--threads", "2").pid for number in range(options.instances)]
            self.served = [*self.instances, self.parts.balancer().pid]
            self.parts.serve()
            self.parts.until(lambda: len(self.parts.balanced()[1]) == options.instances, "all instances")
            self.parts.measure(options.mode, options.connections, 1)
        except BaseException:
            self.parts.close()
            raise

    def chosen(self, ratio):
        return self.chance.sample(self.instances, round(ratio * len(self.instances)))

    def profiles(self, processes):
        return {process: self.parts.counts(process) for process in processes}

    def each(self):
        """Of each instance the time that it has run, and the requests that it had."""
        told = self.parts.balancer_told()
        return [(parts.run_seconds([process]), int(told[f"instance{number}"]["stot"])) for number, process in enumerate(self.instances)]

    def taken(self, before, chosen):
        """What those that record take a request, as a multiple of what the others do; None: all do, or none."""
        took = {process: (now[0] - then[0]) / max(1, now[1] - then[1])
                for process, then, now in zip(self.instances, before, self.each())}
        groups = [[took[process] for process in self.instances if (process in chosen) == record] for record in (True, False)]
        return statistics.mean(groups[0]) / statistics.mean(groups[1]) if all(groups) else None

    def turn(self, ratio, chosen):
        """One measurement, with the profile of those that record."""
        before = self.profiles(chosen)
        seed = self.chance.randrange(1 << 20)
        ran, each = parts.run_seconds(self.served), self.each()
        told = self.parts.measure(self.options.mode, self.options.connections, self.options.seconds,
                                  pause=self.options.pause, seed=seed)
        ran, taken = parts.run_seconds(self.served) - ran, self.taken(each, chosen)
        after = self.profiles(chosen)
        profiles = [since(before[process][0], after[process][0]) for process in chosen]
        records = sum(after[process][1] - before[process][1] for process in chosen)
        return {"ratio": ratio, "rate": told["rate"], "cpu": ran / told["requests"], "taken": taken, "mean": told["mean"], "p99": told["p99"], "profiles": profiles,
                "records": records}


class ByAgent(Fleet):
    def measure(self, ratio):
        chosen = self.chosen(ratio)
        if not chosen:
            return self.turn(ratio, [])
        policy = self.parts.policy("shop", parts.MAPS[self.options.map], more='<overhead at_most="100%"/>')
        agent = self.parts.agent("--policy", policy, *chosen)
        parts.until_modes(agent, chosen)
        try:
            return self.turn(ratio, chosen)
        finally:
            self.parts.end(agent)


class ByMaster(Fleet):
    def __init__(self, options):
        super().__init__(options)
        self.parts.nats()

    def led(self, name):
        """Those that record, when as many do as are to."""
        status = self.parts.status(name)
        full = [one for one in status["instances"] if one["mode"] == "full"] if status else []
        self.status = status
        wanted = round(self.ratio * len(self.instances))
        return len(full) == wanted and all(one["on"] == one["map"] for one in full) and full

    def measure(self, ratio):
        if not ratio:
            return self.turn(ratio, [])
        # A fleet of its own for each ratio: nothing is left of the one before.
        name, self.ratio = f"shop-{ratio * 100:.0f}-{self.chance.randrange(1 << 30)}", ratio
        more = f'<overhead at_most="100%"/><instances instrumented="{100 * ratio:g}%"/>'
        master = self.parts.master(self.parts.policy(name, parts.MAPS[self.options.map], response="10s", more=more))
        agent = self.parts.agent(*self.parts.where(name), "--host", "a", self.parts.name)
        load = self.parts.load(self.options.mode, self.options.connections, 3600, pause=self.options.pause)
        full = self.parts.until(lambda: self.led(name), f"ratio {ratio}")
        self.parts.end(load)
        try:
            told = self.turn(ratio, [int(one["instance"].split("/")[1]) for one in full])
            return {**told, "estimated": self.parts.status(name)["overlap"]}
        finally:
            self.parts.end(agent)
            self.parts.end(master)


class BySet(Fleet):
    def __init__(self, options):
        super().__init__(options)
        self.load = self.parts.load(options.mode, options.connections, 3600, pause=options.pause)
        self.on = set()

    def switch(self, process, on):
        self.parts.run_spex("set", process, parts.SETS[self.options.map] if on else "off")

    def measure(self, ratio):
        chosen = self.chosen(ratio)
        for process in self.on.symmetric_difference(chosen):
            self.switch(process, process in chosen)
        self.on = set(chosen)
        time.sleep(0.02)  # what was begun before goes on
        ran, each = parts.run_seconds(self.served), self.each()
        begin, before = time.monotonic(), self.parts.balanced()[0]
        time.sleep(self.options.seconds)
        ran, end, after = parts.run_seconds(self.served) - ran, time.monotonic(), self.parts.balanced()[0]
        return {"ratio": ratio, "rate": (after - before) / (end - begin), "cpu": ran / max(1, after - before),
                "taken": self.taken(each, chosen)}


KINDS = {"agent": ByAgent, "master": ByMaster, "set": BySet}


def rounds_of(options):
    fleet = KINDS[options.by](options)
    rounds, shares = [], list(SHARES)
    try:
        for number in range(options.rounds):
            fleet.chance.shuffle(shares)
            rounds.append({turn["ratio"]: turn for turn in map(fleet.measure, shares)})
            if not options.json:
                print(f"\r{number + 1} of {options.rounds} rounds", end="", file=sys.stderr, flush=True)
    finally:
        fleet.parts.close()
    return rounds


def overlaps(rounds, ratio, size):
    """With the full profile of the round, and of parts of that with all of it."""
    paper, same = [], []
    for turns in rounds:
        if "profiles" not in turns[1]:
            return None
        paper.append(overlap(added(turns[ratio]["profiles"]), added(turns[1]["profiles"])))
        same.append(statistics.mean(overlaps_of_parts(turns[1]["profiles"], size)))
    told = {"with_full_turn": median(paper), "in_full_turn": median(same),
            "probes": sum(count > 0 for count in added(rounds[0][1]["profiles"]).values()),
            "executions": sum(sum(added(turns[ratio]["profiles"]).values()) for turns in rounds),
            "records": sum(turns[ratio]["records"] for turns in rounds)}
    estimates = [turns[ratio]["estimated"] for turns in rounds if turns[ratio].get("estimated")]
    if estimates:
        told["estimated"] = {name: statistics.median(one[name] for one in estimates) for name in ("share", "low", "high")}
    return told


def figures(options, rounds):
    result = {"bench": "fleet ratios", "by": options.by, "map": options.map, "mode": options.mode, "rounds": options.rounds,
              "instances": options.instances, "connections": options.connections, "pause": options.pause,
              "seconds": options.seconds, "ratios": []}
    result["taken"] = median([turn["taken"] - 1 for turns in rounds for turn in turns.values() if turn["taken"]])
    none, cpu = ([turns[0][name] for turns in rounds] for name in ("rate", "cpu"))
    for ratio in SHARES:
        column = [turns[ratio] for turns in rounds]
        one = {"ratio": ratio, "throughput": median([turn["rate"] for turn in column])}
        # Of the means over rounds in which both were measured, as the same phases of the machine are in both.
        one["lost"] = combined([none, [turn["rate"] for turn in column]], lambda plain, here: 1 - here / plain,
                               statistics.mean) if ratio else {"value": 0, "ci95": [0, 0]}
        one["cpu"] = median([turn["cpu"] for turn in column])
        one["cpu_more"] = combined([cpu, [turn["cpu"] for turn in column]], lambda plain, here: here / plain - 1,
                                   statistics.mean) if ratio else {"value": 0, "ci95": [0, 0]}
        if "mean" in column[0]:
            one["response"] = median([turn["mean"] for turn in column])
            one["p99"] = median([turn["p99"] for turn in column])
            size = round(ratio * options.instances)
            if size:
                one["overlap"] = overlaps(rounds, ratio, size)
        result["ratios"].append(one)
    return result


def verdicts(result):
    half = next(one for one in result["ratios"] if one["ratio"] == HALF)
    low, high = half["lost"]["ci95"]
    limits = [{"what": "throughput lost at ratio 0.5", "figure": half["lost"]["value"], "ci95": [low, high],
               "limit": LOSS_MOST, "kept": True if high < LOSS_MOST else False if low >= LOSS_MOST else None}]
    if half.get("overlap"):
        of, least = half["overlap"]["with_full_turn"], OVERLAP_LEAST[result["mode"]]
        low, high = of["ci95"]
        limits.append({"what": "overlap at ratio 0.5", "figure": of["median"], "ci95": [low, high], "limit": least,
                       "kept": True if low >= least else False if high < least else None})
    return limits


def spread(of, name, factor=1.0, digits=1):
    return "%.*f (%.*f to %.*f)" % (digits, of[name] * factor, digits, of["ci95"][0] * factor, digits, of["ci95"][1] * factor)


def print_table(result):
    print(f"\rmap {result['map']}, requests {result['mode']}, by {result['by']}: {result['rounds']} rounds")
    for one in result["ratios"]:
        line = f"ratio {one['ratio']:<4g} {spread(one['throughput'], 'median', 1, 0)}/s, lost {spread(one['lost'], 'value', 100, 2)} %"
        line += f", {spread(one['cpu'], 'median', 1e6)} µs of a processor each, more by {spread(one['cpu_more'], 'value', 100, 2)} %"
        if "response" in one:
            line += f", mean {spread(one['response'], 'median', 1e3, 3)} ms"
        if one.get("overlap"):
            line += f", overlap {spread(one['overlap']['with_full_turn'], 'median', 100, 2)} %"
        print(line)
    print(f"instances that record take {spread(result['taken'], 'median', 100, 2)} % more of the processors a request than the "
          "others at the same time")
    for limit in result["limits"]:
        print(f"{limit['what']}: {100 * limit['figure']:.2f} %, limit {100 * limit['limit']:g} %: "
              f"{ {True: 'kept', False: 'not kept', None: 'not known'}[limit['kept']]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--by", choices=KINDS, default="agent")
    parser.add_argument("--map", choices=parts.MAPS, default="usual")
    parser.add_argument("--mode", choices=OVERLAP_LEAST, default="mixed")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--pause", default="0")
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("build")
    options = parser.parse_args()
    parts.need("haproxy", "wrk", "nats-server")
    others = parts.Others()
    rounds = rounds_of(options)
    result = {**figures(options, rounds), "machine": others.told()}
    result["limits"] = verdicts(result)
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        print_table(result)


if __name__ == "__main__":
    main()
