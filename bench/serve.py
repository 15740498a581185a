#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures `spex serve`: how long a scrape of many programs takes, and how much CPU time it takes of a processor to
tell a client of a program's probes once a second.

usage: serve.py [--json] [--programs N] [--scrapes N] [--seconds N] BUILD
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROBES, THREADS = 200, 8
SCRAPE_LIMIT, CPU_LIMIT = 0.1, 0.02


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.spex = os.path.join(os.path.abspath(options.build), "tools", "spex")
        self.many = os.path.join(os.path.abspath(options.build), "bench", "many")
        self.environment = {**os.environ, "SPEX_CONTROL": folder, "SPEX_OUT": os.devnull}
        self.running = []

    def start(self, command, probes=None, **options):
        environment = {**self.environment, **({"SPEX_PROBES": probes} if probes else {})}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, **options)
        self.running.append(process)
        return process, process.stdout.readline().strip()

    def serve(self, processes):
        """Process, and connection, when all of these answer."""
        process, url = self.start([self.spex, "serve", "--listen", "127.0.0.1:0", *(str(one.pid) for one in processes)])
        connection = http.client.HTTPConnection("127.0.0.1", int(url.rsplit(":", 1)[1].strip("/")))
        while self.scrape(connection)[1].count("spex_program_processes{") < len(processes):
            continue
        return process, connection

    def scrape(self, connection):
        begin = time.monotonic()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        return time.monotonic() - begin, text

    def end(self):
        for process in reversed(self.running):
            process.terminate()
            process.communicate()
        self.running = []

    def scrapes(self):
        """Each program has 20 probes on, and a name of its own."""
        programs = [self.start(["many-%d" % number, "1", "100"], ",".join(map(str, range(10, 30))), executable=self.many)[0]
                    for number in range(self.options.programs)]
        server, connection = self.serve(programs)
        found, cpu = [], self.cpu(server)
        for _ in range(self.options.scrapes):
            time.sleep(0.2)  # what is younger would be told again
            found.append(self.scrape(connection))
        times = [seconds for seconds, _ in found]
        cpu = self.cpu(server) - cpu
        self.end()
        return {"programs": self.options.programs, "scrapes": len(times), "median_seconds": statistics.median(times),
                "worst_seconds": max(times), "cpu_seconds": cpu / len(times), "bytes": len(found[-1][1]), "limit_seconds": SCRAPE_LIMIT}

    def cpu(self, process):
        with open("/proc/%d/stat" % process.pid, encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def events(self):
        program, _ = self.start([self.many, str(THREADS), "10"], "*")
        server, connection = self.serve([program])
        connection.request("GET", "/api/events?process=%d" % program.pid)
        stream = connection.getresponse()

        def intervals(count):
            taken = 0
            while count:
                line = stream.readline()
                taken += len(line)
                count -= line == b"event: interval\n"
            return taken
        intervals(2)
        begin, cpu = time.monotonic(), self.cpu(server)
        size = intervals(self.options.seconds)
        seconds, cpu = time.monotonic() - begin, self.cpu(server) - cpu
        self.end()
        return {"probes": PROBES, "threads": THREADS, "seconds": seconds, "events": self.options.seconds,
                "bytes_per_event": size / self.options.seconds, "cpu_share": cpu / seconds, "limit_share": CPU_LIMIT}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--programs", type=int, default=50)
    parser.add_argument("--scrapes", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        try:
            result = {"scrape": bench.scrapes(), "events": bench.events()}
        finally:
            bench.end()
    if options.json:
        json.dump(result, sys.stdout, indent=2)
        print()
        return
    scrape, events = result["scrape"], result["events"]
    print("a scrape of %d programs: %.1f ms (worst %.1f ms), asked below %.0f ms; %.1f ms of CPU time" % (
        scrape["programs"], scrape["median_seconds"] * 1e3, scrape["worst_seconds"] * 1e3, SCRAPE_LIMIT * 1e3,
        scrape["cpu_seconds"] * 1e3))
    print("%d probes, %d threads, an event a second: %.2f %% of a CPU, asked below %.0f %%" % (
        PROBES, THREADS, events["cpu_share"] * 100, CPU_LIMIT * 100))


if __name__ == "__main__":
    main()
