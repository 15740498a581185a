#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills the agent of a program with probes 100 times, by SIGKILL, and measures how long the probes stay on: the program
itself must switch them off within one lease.

`spex agent --policy` holds the map of a web shop of examples/fleet by leases of 1, 2 and 3 s in turn. When all of it is on,
it is killed after a time that chance decides, so that the kill is anywhere between two renewals. Then `spex serve` is
asked every 5 ms: the probes have gone off between the beginning of the last answer that knows them on and the end of the
first one that does not. A kill counts as kept unless probes were on provably longer than the lease.

usage: killed.py [--json] [--kills N] [--beside N] BUILD     --beside: programs that this is done with at the same time
"""

import argparse
import json
import random
import signal
import sys
import threading
import time

import parts
from estimates import median

LEASES = (1, 2, 3)


def kill_once(fleet, program, policy, lease, chance):
    agent = fleet.agent("--policy", policy, program.pid, lease=lease)
    parts.until_modes(agent, [program.pid])
    time.sleep(chance.random() * lease)
    fleet.until(lambda: fleet.sites_on().get(program.pid), "probes that are on")
    begin = time.monotonic()
    fleet.end(agent, signal.SIGKILL)
    killed = time.monotonic()
    at_least = 0.0
    while True:
        asked = time.monotonic()
        on = fleet.sites_on().get(program.pid)
        if on == 0:
            return {"lease": lease, "at_least": at_least, "at_most": time.monotonic() - begin, "kept": at_least <= lease}
        if on:
            at_least = max(0.0, asked - killed)
        time.sleep(0.005)


def kill_often(fleet, program, policy, kills, told, seed):
    chance = random.Random(seed)
    for number in range(kills):
        told.append(kill_once(fleet, program, policy, LEASES[number % len(LEASES)], chance))


def measured(options):
    fleet = parts.Parts(options.build, options.beside)
    # Nobody sends the instances requests: one that had no thread would wait for its next probe.
    fleet.environment["SPEX_WAITS"] = "1"
    kills, threads = [], []
    try:
        policy = fleet.policy("shop", parts.USUAL, more='<overhead at_most="100%"/>')
        fleet.make_database()
        fleet.serve()
        for number in range(options.beside):
            count = options.kills // options.beside + (number < options.kills % options.beside)
            program = fleet.instance(number)
            threads.append(threading.Thread(target=kill_often, args=[fleet, program, policy, count, kills, number]))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        fleet.close()
    return kills


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--beside", type=int, default=5)
    parser.add_argument("build")
    options = parser.parse_args()
    others = parts.Others()
    kills = measured(options)
    result = {"bench": "fleet killed", "asked": options.kills, "kills": kills, "kept": sum(one["kept"] for one in kills),
              "machine": others.told(),
              "proven": sum(one["at_most"] <= one["lease"] for one in kills),
              "leases": {str(lease): median([one["at_most"] for one in kills if one["lease"] == lease]) |
                                     {"most": max(one["at_most"] for one in kills if one["lease"] == lease)}
                         for lease in LEASES if any(one["lease"] == lease for one in kills)}}
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    for one in kills:
        print(f"lease {one['lease']} s: off after {one['at_least']:.3f} to {one['at_most']:.3f} s"
              f"{'' if one['kept'] else ', too late'}")
    print(f"{result['kept']} of {options.kills} within one lease, {result['proven']} of them proven to be")


if __name__ == "__main__":
    main()
