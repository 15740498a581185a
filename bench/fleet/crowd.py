#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what a master takes with many agents: a real master and NATS server on loopback, and agents.c, whose agents
have the connections, the messages and the code of real ones, but no programs.

For each number of agents and instances: the CPU time of master and server as a share of one core; their memory; messages
and bytes a second, as the server counts them; how long `spex fleet status` takes; and when what the master has desired was
on everywhere. With 100 agents of 200 probes each the master is to take less than 10 % of a core, and status 100 ms.

usage: crowd.py [--json] [--crowds AGENTSxINSTANCES…] [--probes N] [--kernels N] [--seconds N] BUILD
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import parts
from estimates import median

CPU_MOST, STATUS_MOST = 0.1, 0.1
LIMITED = "100x1"  # the crowd that these are of
ASKED = 21
SETTLED_SECONDS = 120


class Crowd:
    def __init__(self, build, agents, instances, probes, kernels):
        self.agents, self.instances, self.probes, self.kernels = agents, instances, probes, kernels
        self.parts = parts.Parts(build)
        try:
            self.start()
        except BaseException:
            self.parts.close()
            raise

    def start(self):
        self.monitor = parts.free_ports(1)[0]
        server = self.parts.nats(f"http: 127.0.0.1:{self.monitor}")
        policy = self.parts.policy("crowd", '    <unit type="glob" name="*" modes="lat"/>', more='<overhead at_most="2%"/>')
        self.master = self.parts.master(policy)
        told = parts.Told(self.master)
        self.parts.until(lambda: any(event["event"] == "leads" for _, event in told.all()), "a master that leads")
        self.crowd = subprocess.Popen(
            [os.path.join(self.parts.build, "bench/fleet/fleet_agents"), server.url, "crowd", str(self.agents),
             str(self.instances), str(self.probes), str(self.kernels)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.crowd.stdout.readline() != "led\n":
            raise RuntimeError("the agents have ended")

    def close(self):
        self.crowd.stdin.close()
        self.crowd.wait()
        self.parts.close()

    def settled(self):
        """Every probe of the map is on somewhere, what is desired is on, or there is no room for it, and all have told a profile."""
        status, count = self.parts.status("crowd"), self.agents * self.instances
        return status and status["count"] == count and status["recorded"] == status["covered"] > 0 and \
            status["profile"]["told"]["instances"] == count and status

    def models(self):
        """What the master was told of kernels."""
        return json.loads(self.parts.run_spex("fleet", "models", *self.parts.where("crowd"), "--json").stdout)

    def counted(self):
        told = json.loads(self.parts.get(self.monitor, "/varz"))
        return {name: told[name] for name in ("in_msgs", "in_bytes", "out_msgs", "out_bytes", "mem")}

    def now(self):
        return {"time": time.monotonic(), "master": parts.cpu_seconds(self.master.pid),
                "server": parts.cpu_seconds(self.parts.server.process.pid), **self.counted(),
                "reports": self.parts.status("crowd")["reports"], "rows": self.models()["rows"]}

    def ask(self):
        """Seconds that have passed, and those of a processor that the command has taken; the bytes that it prints."""
        used, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        status = self.parts.run_spex("fleet", "status", *self.parts.where("crowd"), "--json")
        passed, now = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        return passed, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, len(status.stdout)

    def ask_often(self, master_cpu):
        """How long an answer takes, and what it takes of processors, the master's part included."""
        ran, begin = parts.cpu_seconds(self.master.pid), time.monotonic()
        asked = [self.ask() for _ in range(ASKED)]
        ran = parts.cpu_seconds(self.master.pid) - ran - master_cpu * (time.monotonic() - begin)
        return {"status_seconds": median([one[0] for one in asked]), "status_bytes": asked[0][2],
                "status_cpu": statistics.mean(one[1] for one in asked) + max(0.0, ran) / ASKED}

    def measure(self, seconds):
        begin = time.monotonic()
        while not self.settled():
            if time.monotonic() - begin > SETTLED_SECONDS:
                raise RuntimeError("the fleet has not settled")
            time.sleep(0.5)
        settled = time.monotonic() - begin
        before = self.now()
        time.sleep(seconds)
        after = self.now()
        status = self.parts.status("crowd")
        passed = after["time"] - before["time"]
        share = {name: (after[name] - before[name]) / passed for name in after if name != "time"}
        return {"agents": self.agents, "instances": self.instances, "probes": self.probes, "settled_seconds": settled,
                "seconds": passed, "master_cpu": share["master"], "server_cpu": share["server"], "reports": share["reports"],
                "kernels": self.models(), "kernel_rows": share["rows"],
                "messages_in": share["in_msgs"], "bytes_in": share["in_bytes"], "messages_out": share["out_msgs"],
                "bytes_out": share["out_bytes"], "master_memory": parts.memory(self.master.pid),
                "server_memory": parts.memory(self.parts.server.process.pid),
                **self.ask_often(share["master"]), "instrumented": status["count"] - status["modes"]["none"], "covered": status["covered"],
                "map": status["map"], "refused": status["refused"], "dropped": status["dropped"],
                "profiles": status["profile"]["told"]}


def measured(options, crowd):
    agents, instances = map(int, crowd.split("x"))
    one = Crowd(options.build, agents, instances, options.probes, options.kernels)
    try:
        return one.measure(options.seconds)
    finally:
        one.close()


def limits_of(results):
    of = results.get(LIMITED)
    if not of:
        return []
    # What waits for a processor on a busy machine tells nothing of spex.
    kept = True if of["status_seconds"]["ci95"][1] < STATUS_MOST else False if of["status_cpu"] > STATUS_MOST else None
    return [{"what": "master, of a core", "figure": of["master_cpu"], "limit": CPU_MOST, "kept": of["master_cpu"] < CPU_MOST},
            {"what": "spex fleet status, seconds", "figure": of["status_seconds"]["median"], "limit": STATUS_MOST, "kept": kept}]


def print_one(one):
    print(f"{one['agents']} agents, {one['instances']} instances each, {one['probes']} probes: master "
          f"{100 * one['master_cpu']:.1f} % of a core, {one['master_memory'] / 1e6:.1f} MB; NATS {100 * one['server_cpu']:.1f} %, "
          f"{one['server_memory'] / 1e6:.1f} MB; {one['reports']:.0f} reports, {one['messages_in']:.0f} messages and {one['bytes_in'] / 1e3:.0f} kB/s; status "
          f"{1e3 * one['status_seconds']['median']:.1f} ms ({1e3 * one['status_seconds']['ci95'][0]:.1f} to "
          f"{1e3 * one['status_seconds']['ci95'][1]:.1f}), {1e3 * one['status_cpu']:.1f} ms of processors; {one['instrumented']} record {one['covered']} of {one['map']} probes "
          f"after {one['settled_seconds']:.0f} s; {one['refused']} refused, {one['dropped']} dropped; {one['kernel_rows']:.0f} rows of kernels a second", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--crowds", nargs="+", default=[LIMITED, "400x1", "100x8"])
    parser.add_argument("--probes", type=int, default=200)
    parser.add_argument("--kernels", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("build")
    options = parser.parse_args()
    parts.need("nats-server")
    results, others = {}, parts.Others()
    for crowd in options.crowds:
        results[crowd] = measured(options, crowd)
        if not options.json:
            print_one(results[crowd])
    result = {"bench": "fleet crowd", "crowds": results, "limits": limits_of(results), "machine": others.told()}
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
    for limit in result["limits"] if not options.json else ():
        print(f"{limit['what']}: {limit['figure']:.3g}, limit {limit['limit']:g}: { {True: 'kept', False: 'not kept', None: 'not known'}[limit['kept']]}")


if __name__ == "__main__":
    main()
