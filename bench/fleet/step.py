#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how soon a fleet answers a step in load that breaks its response time: instances of the web shop of
examples/fleet behind HAProxy on loopback, load from wrk, a real master, agent and NATS server.

  cost    4 instances, and <cost> allows no more. All of them record a detailed map, which takes much of a worker's time. The
          step is half-way between what the fleet can serve so and without probes: instrumentation must be dropped
  add     <cost> allows 8 instances. The usual map is on in half of 4. The step is more than they can serve: instances must
          be added, by the hook

Each instance has one worker, which also waits for another machine with each page (0.3 and 2 ms), so that the processors
of this machine are not what bounds the fleet.

Told are seconds from the step: until HAProxy's mean of the last 1,024 response times is above the target, until the master
has decided, until that has taken effect (probes are off; an instance that was added has answered), and until HAProxy's
mean is below the target for good. The answer is the effect, from when the target is broken: at most 5 s.

usage: step.py [--json] [--only cost|add] [--tries N] BUILD
"""

import argparse
import json
import os
import stat
import statistics
import sys
import time

import parts

ANSWER_MOST = 5.0
INSTANCES, INSTANCES_MOST = 4, 8
WATCH_SECONDS, READY_SECONDS = 15, 60
PAUSE_MS = 200
# The load before the step, as a part of what the fleet can serve.
BEFORE = 0.3
HOOK = """#!/bin/sh
# add N | remove HOST/PROCESS...
cd '{folder}' || exit 1
if [ "$1" = remove ]; then
    shift
    for name; do kill "${{name#*/}}"; done
    exit 0
fi
left=$2
for port in {ports}; do
    [ "$left" -gt 0 ] || break
    [ -e "port-$port" ] && continue
    setsid '{shop}' --database '{database}' --port "$port" {options} </dev/null >/dev/null 2>&1 &
    echo $! >"port-$port"
    left=$((left - 1))
done
"""


class Early(Exception):
    """On a machine that is busy a fleet may add instances before the step. That is no answer to it."""


class Step:
    """One try: a fleet of its own."""

    units, most, response, options = None, None, None, ()

    def __init__(self, build):
        self.parts = parts.Parts(build, INSTANCES_MOST)

    def close(self):
        for port in self.parts.ports:
            try:
                with open(self.parts.path(f"port-{port}"), encoding="ascii") as file:
                    os.kill(int(file.read()), 15)
            except (FileNotFoundError, ProcessLookupError):
                continue
        self.parts.close()

    def hook(self):
        path = self.parts.path("hook")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HOOK.format(folder=self.parts.folder, ports=" ".join(map(str, self.parts.ports[INSTANCES:])),
                                   shop=self.parts.shop, database=self.parts.database, options=" ".join(self.options)))
        os.chmod(path, stat.S_IRWXU)
        return path

    def begin(self):
        """A fleet that is led, under the load before the step."""
        self.instances = [self.parts.instance(number, *self.options) for number in range(INSTANCES)]
        self.parts.balancer()
        self.parts.serve()
        self.parts.until(lambda: len(self.parts.balanced()[1]) == INSTANCES, "all instances")
        self.calibrate()
        self.parts.nats()
        more = (f'<cost an_instance_hour="1" at_most="{self.most + 0.5:g}"/><overhead at_most="100%"/>'
                f'<instances instrumented="{self.share:g}%" least="{INSTANCES}"/>')
        policy = self.parts.policy("shop", self.units, response=f"{1e3 * self.response:g}ms", more=more)
        self.loads = [self.connect(BEFORE * self.capacity, 600)]
        self.master = self.parts.master(policy, "--hook", self.hook())
        self.told = parts.Told(self.master)
        self.agent = self.parts.agent(*self.parts.where("shop"), "--host", "a", self.parts.name, lease=3)
        try:
            self.parts.until(self.is_ready, "a fleet that records", READY_SECONDS)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {self.parts.run_spex('fleet', 'status', *self.parts.where('shop')).stdout}") from error

    def connect(self, rate, seconds):
        """Load of about that rate, by connections that pause."""
        return self.parts.load("mixed", max(1, round(rate * PAUSE_MS / 1e3)), seconds, pause=f"~{PAUSE_MS}")

    def is_ready(self):
        status = self.parts.status("shop")
        on = [one for one in status["instances"] if one["mode"] != "none" and one["on"] == one["desired"]] if status else []
        if status and status["count"] > INSTANCES:
            raise Early(f"the fleet has {status['count']} instances before the step")
        return len(on) >= self.share / 100 * INSTANCES and status["recorded"] == status["map"] and not self.told.all()

    def response_now(self):
        """HAProxy's mean of the last responses, in seconds."""
        return int(self.parts.balancer_told()["BACKEND"]["rtime"]) / 1e3

    def run(self):
        """Steps, and watches what comes of it."""
        self.begin()
        before = self.response_now()
        began = time.monotonic()
        self.loads.append(self.connect((self.step - BEFORE) * self.capacity, 600))
        told = {"before": before, "broken": None, "decided": None, "effect": None, "again": None, "worst": 0, "actions": []}
        while time.monotonic() - began < WATCH_SECONDS:
            now, response = time.monotonic() - began, self.response_now()
            told["worst"] = max(told["worst"], response)
            if response > self.response:
                told["broken"], told["again"] = told["broken"] or now, None
            elif told["broken"] and told["again"] is None:
                told["again"] = now
            for at, event in self.told.all():
                if event["event"] == "decision":
                    told["decided"] = told["decided"] or at - began
                    told["actions"].append(event["text"])
            if told["decided"] and told["effect"] is None and self.has_effect():
                told["effect"] = time.monotonic() - began
            time.sleep(0.02)
        if told["broken"] and told["effect"]:
            told["answered"] = max(0.0, told["effect"] - told["broken"])
        told.update(self.end())
        return told

    def end(self):
        status = self.parts.status("shop")
        return {"instances": status["count"], "instrumented": status["count"] - status["modes"]["none"],
                "target": self.response, "capacity": self.capacity, "step": self.step * self.capacity}


class Cost(Step):
    """What it can serve with probes and without is measured before."""

    units, most, share, response, options = parts.DETAILED, INSTANCES, 100, 0.015, ("--wait-us", "300")

    def calibrate(self):
        plain = self.parts.measure("mixed", 64, 2)["rate"]
        for process in self.instances:
            self.parts.run_spex("set", process.pid, parts.SETS["detailed"])
        full = self.parts.measure("mixed", 64, 2)["rate"]
        for process in self.instances:
            self.parts.run_spex("set", process.pid, "off")
        self.capacity, self.step = full, (1 + (plain / full - 1) / 2)
        self.plain = plain

    def has_effect(self):
        """No instance has more on than the probe of the response time, or one less than before."""
        on = self.parts.sites_on()
        return min(on.values()) <= 2

    def end(self):
        return {**super().end(), "plain": self.plain}


class Add(Step):
    """Each worker has a page for the time that it waits, and a little more."""

    WAIT = 0.002
    units, most, share, response, options = parts.USUAL, INSTANCES_MOST, 50, 0.02, ("--wait-us", str(int(WAIT * 1e6)))
    step = 1.2

    def calibrate(self):
        self.capacity = self.parts.measure("mixed", 64, 2)["rate"]

    def has_effect(self):
        return any(count for name, count in self.parts.balanced()[1].items() if int(name[len("instance"):]) >= INSTANCES)


KINDS = {"cost": Cost, "add": Add}


def tries_of(kind, options):
    tries, early = [], 0
    while len(tries) < options.tries:
        step = KINDS[kind](options.build)
        try:
            tries.append(step.run())
        except Early as error:
            early += 1
            if early > options.tries:
                raise RuntimeError(f"{error}, {early} times") from error
            continue
        finally:
            step.close()
        if not options.json:
            print_try(kind, tries[-1])
    answers = [one.get("answered") for one in tries]
    good = [one for one in answers if one is not None]
    return {"tries": tries, "early": early, "answered": {"median": statistics.median(good), "most": max(good)} if good else None,
            "kept": sum(one <= ANSWER_MOST for one in good), "limit": ANSWER_MOST}


def seconds(value):
    return "never" if value is None else f"{value:.2f} s"


def print_try(kind, one):
    print(f"{kind}: {one['step']:.0f}/s after the step; broken after {seconds(one['broken'])}, decided after "
          f"{seconds(one['decided'])}, effect after {seconds(one['effect'])}, kept again after {seconds(one['again'])}; "
          f"worst {1e3 * one['worst']:.0f} ms; {one['instances']} instances, {one['instrumented']} record", flush=True)
    for action in one["actions"]:
        print("    " + action)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("build")
    options = parser.parse_args()
    parts.need("haproxy", "wrk", "nats-server")
    kinds = [options.only] if options.only else list(KINDS)
    others = parts.Others()
    result = {"bench": "fleet step", **{kind: tries_of(kind, options) for kind in kinds}, "machine": others.told()}
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
