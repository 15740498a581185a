#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the master of a fleet under agents that speak the real protocol, with a real nats-server: what it takes of a
processor, and how long `spex fleet status` waits for what all instances have measured.

usage: fleet.py [--json] [--hosts N] [--probes N] [--seconds N] [--asks N] BUILD
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "system"))
import nats  # noqa: E402

CPU_LIMIT, STATUS_LIMIT = 0.1, 0.1
POLICY = """<profiling-spec name="bench">
  <instrumentation-map><unit type="glob" name="*" modes="lat"/></instrumentation-map>
  <qos-requirements>
    <response-time probe="1:lat" metric="mean" at_most="10s"/>
    <overhead at_most="100%"/><instances instrumented="100%"/>
  </qos-requirements>
</profiling-spec>
"""


def cpu_seconds(process):
    with open("/proc/%d/stat" % process.pid, encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, options, folder):
        self.options, self.running = options, []
        self.spex = os.path.join(options.build, "tools", "spex")
        self.server = nats.Server(os.path.join(folder, "nats")).start()
        self.policy = os.path.join(folder, "policy.xml")
        with open(self.policy, "w", encoding="utf-8") as file:
            file.write(POLICY)

    def start(self, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.running.append(process)
        return process

    def end(self):
        for process in reversed(self.running):
            process.terminate()
            process.communicate()
        self.server.kill()

    def status(self):
        """Seconds, and the status; None: there is none yet."""
        begin = time.monotonic()
        result = subprocess.run([self.spex, "fleet", "status", "--json", "--nats", self.server.url, "--fleet", "bench"],
                                check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        seconds = time.monotonic() - begin
        return seconds, json.loads(result.stdout) if result.returncode == 0 else None

    def until_told(self):
        while True:
            status = self.status()[1]
            if status and status["profile"]["told"]["instances"] == self.options.hosts:
                return

    def measure(self):
        master = self.start(self.spex, "fleet", "master", self.policy, "--nats", self.server.url)
        agents = self.start(os.path.join(self.options.build, "bench", "fleet_agents"), self.server.url, "bench",
                            str(self.options.hosts), str(self.options.probes))
        size = int(agents.stdout.readline())
        self.until_told()
        begin, before = time.monotonic(), cpu_seconds(master)
        time.sleep(self.options.seconds)
        share = (cpu_seconds(master) - before) / (time.monotonic() - begin)
        asks = sorted(self.status()[0] for _ in range(self.options.asks))
        told = self.status()[1]["profile"]["told"]
        return {"hosts": self.options.hosts, "probes": self.options.probes, "profile_bytes": size, "cpu_share": share,
                "cpu_limit": CPU_LIMIT, "status_seconds": statistics.median(asks), "status_seconds_most": asks[-1],
                "status_limit": STATUS_LIMIT, "told": told,
                "good": share < CPU_LIMIT and statistics.median(asks) < STATUS_LIMIT and told["dropped"] == 0}


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--probes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--asks", type=int, default=20)
    parser.add_argument("build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        try:
            result = bench.measure()
        finally:
            bench.end()
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print("%d agents with %d probes each, %.1f MB of profiles each 10 s: the master takes %.1f %% of a processor; "
              "status in %.0f ms (at most %.0f ms)" % (
                  result["hosts"], result["probes"], result["hosts"] * result["profile_bytes"] / 1e6,
                  100 * result["cpu_share"], 1e3 * result["status_seconds"], 1e3 * result["status_seconds_most"]))
    sys.exit(0 if result["good"] else 1)


if __name__ == "__main__":
    main()
