#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records nginx (bench/foreign/build makes it) under load, with rotation and a bound on the disk, and looks at the trace:
whether babeltrace2 reads it without warnings but those of discarded events, whether all agree on how many records there
are, whether each request was counted, and what spex stats, export to Perfetto and pprof make of it.

Needs babeltrace2, wrk, and go for pprof. FOLDER is where the trace goes and stays; of wrk's connections each waits
about 100 ms between two requests.

usage: server.py [--seconds N] [--connections N] [--rotate TIME] [--keep SIZE] BUILD NGINX FOLDER
"""

import argparse
import collections
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

CONFIG = """
daemon off;
user {user};
worker_processes 2;
pid nginx.pid;
error_log error.log;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    keepalive_requests 1000000;
    gzip on;
    gzip_types *;
    server {{
        listen 127.0.0.1:{port} backlog=2048;
        location / {{ root {folder}/files; }}
        location /slow {{ root {folder}/files; gzip off; limit_rate 30k; }}
        location /proxy/ {{ proxy_pass http://unix:{folder}/backend:/; }}
        location /status {{ stub_status; }}
    }}
    server {{
        listen unix:{folder}/backend backlog=2048;
        location / {{ root {folder}/files; }}
    }}
}}
"""

# Of a hundred requests 5 take two seconds, 25 go to another server, and 70 are of a file.
LOAD = """
function delay() return math.random(50, 150) end
function request()
    local chance = math.random(100)
    local path = chance <= 5 and "/slow" or chance <= 30 and "/proxy/page" or "/page"
    return wrk.format("GET", path, {["Accept-Encoding"] = "gzip"})
end
"""

MISSING = re.compile(r"spex: \w+: records before [\d.]+ s are missing: older files of the trace were removed\n")
DISCARDED = re.compile(r"WARNING: Tracer discarded (\d+) events? between ")


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--connections", type=int, default=300)
    parser.add_argument("--rotate", default="30s")
    parser.add_argument("--keep", default="64M")
    parser.add_argument("build")
    parser.add_argument("nginx")
    parser.add_argument("folder")
    options = parser.parse_args()
    for tool in ("babeltrace2", "wrk"):
        if not shutil.which(tool):
            print("server.py: there is no %s" % tool, file=sys.stderr)
            sys.exit(77)
    return options


class Server:
    def __init__(self, options):
        self.options = options
        self.folder = os.path.abspath(options.folder)
        self.trace = os.path.join(self.folder, "trace")
        self.spex = os.path.join(options.build, "tools", "spex")
        self.wrong = []

    def prepare(self):
        os.makedirs(os.path.join(self.folder, "files"))
        os.makedirs(os.path.join(self.folder, "logs"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = "http://127.0.0.1:%d" % free.getsockname()[1]
        user = "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
        files = {"nginx.conf": CONFIG.format(port=self.address.rsplit(":", 1)[1], folder=self.folder, user=user),
                 "load.lua": LOAD, "files/page": "".join("line %d of a page\n" % line for line in range(500)),
                 "files/slow": "slow " * 12000}
        for name, text in files.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def status(self):
        """How many connections nginx has and requests it has had, this one included; None: it does not run yet."""
        try:
            with urllib.request.urlopen(self.address + "/status") as page:
                words = page.read().split()
                return int(words[2]), int(words[9])
        except OSError:
            return None

    def record(self):
        """What spex record says, how many requests nginx has counted, and what wrk says."""
        record = subprocess.Popen(
            [self.spex, "record", "-f", "--rotate", self.options.rotate, "--keep", self.options.keep, "-o", self.trace,
             "--", os.path.abspath(self.options.nginx), "-p", self.folder, "-c", "nginx.conf"],
            stderr=subprocess.PIPE, text=True)
        while self.status() is None and record.poll() is None:
            time.sleep(0.1)
        load = subprocess.run(["wrk", "-t1", "-c%d" % self.options.connections, "-d%ds" % self.options.seconds, "--latency",
                               "-s", os.path.join(self.folder, "load.lua"), self.address],
                              stdout=subprocess.PIPE, text=True, check=True)
        # Requests may still wait that wrk has sent.
        while (status := self.status())[0] > 1:
            time.sleep(0.1)
        with open(os.path.join(self.folder, "nginx.pid"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGQUIT)
        said = record.communicate()[1]
        self.expect(record.returncode, 0, "exit status of spex record")
        return said, status[1], load.stdout

    def expect(self, found, expected, what):
        print("%-60s %s%s" % (what, found, "" if found == expected else ", and not %s" % expected))
        if found != expected:
            self.wrong.append(what)

    def babeltrace2(self):
        """The number of events, of discarded ones, and of other warnings."""
        events, discarded, others = 0, 0, 0
        errors = os.path.join(self.folder, "babeltrace2")
        with open(errors, "w+", encoding="utf-8") as stderr, \
                subprocess.Popen(["babeltrace2", self.trace], stdout=subprocess.PIPE, stderr=stderr) as process:
            while block := process.stdout.read(1 << 20):
                events += block.count(b"\n")
        with open(errors, encoding="utf-8") as file:
            for line in file:
                found = DISCARDED.match(line)
                discarded += int(found[1]) if found else 0
                others += not found
        return events, discarded, others + (process.returncode != 0)

    def command(self, *arguments):
        begin = time.monotonic()
        result = subprocess.run([self.spex, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.expect((result.returncode, MISSING.sub("", result.stderr.decode())), (0, ""),
                    "spex " + " ".join((arguments[0], *arguments[2:4])))
        return result.stdout, time.monotonic() - begin

    def export(self, form, records):
        path = os.path.join(self.folder, "nginx." + form)
        seconds = self.command("export", self.trace, "--format", form, "-o", path)[1]
        print("%-60s %.2f million records a second, %.0f B each" % (
            form, records / seconds / 1e6, os.path.getsize(path) / records))
        return path

    def look(self, said, requests):
        found = re.search(r"spex: (\d+) records, (\d+) lost, (.*)", said)
        if not found:
            sys.exit("spex record said: " + said)
        print(said, end="")
        records, lost = int(found[1]), int(found[2])
        events, discarded, others = self.babeltrace2()
        self.expect(others, 0, "warnings of babeltrace2 but those of discarded events")
        if "removed" not in found[3]:
            self.expect((events, discarded), (records, lost), "events and discarded events for babeltrace2")
        lines = self.export("csv", events)
        with open(lines, "rb") as file:
            self.expect(sum(1 for _ in file) - 1, events, "records in the export, as many as babeltrace2's events")
        counts = collections.Counter()
        for process in json.loads(self.command("stats", self.trace, "--json")[0])["processes"]:
            for probe in process["probes"]:
                counts[probe["name"]] += int(probe["count"])
        self.expect(counts["request"], requests, "requests of spex stats, as many as nginx has counted")
        self.export("perfetto", events)
        self.export("sqlite", events)
        profile = self.export("pprof", events)
        if shutil.which("go"):
            subprocess.run(["go", "tool", "pprof", "-top", profile], check=True)
        sys.stdout.flush()
        subprocess.run([self.spex, "stats", self.trace], check=False)


def main():
    server = Server(parsed())
    server.prepare()
    said, requests, load = server.record()
    print(load)
    server.look(said, requests)
    sys.exit("not as expected: " + ", ".join(server.wrong) if server.wrong else 0)


if __name__ == "__main__":
    main()
