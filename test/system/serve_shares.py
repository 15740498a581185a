#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex serve` beside processes of another user that tell of new probes without end: what it keeps has a limit, and others
have what they need.

usage: serve_shares.py SPEX LIVE REPORTS [unittest arguments]
"""

import http.client
import os
import re
import shutil
import sys
import unittest

from running import Programs, can_become_nobody, nobody
from serving import NAME, Server

REPORTS = None
HOSTILE = "told-%d" % os.getpid()
# Each report would be a fifth of a gigabyte.
PROBES, PROCESSES = 4000, 6
MIB = 1 << 20
# One user has no more than is free of 512 MiB.
SHARE = 256 * MIB
# Texts of answers, and what malloc keeps beside what is counted.
OTHER = 64 * MIB


class Shares(Server):
    def setUp(self):
        super().setUp()
        self.hostile_program = shutil.copy(REPORTS, self.path(HOSTILE))
        os.chmod(self.dir, 0o755)
        self.as_nobody = nobody() if can_become_nobody(self.hostile_program) else {}

    def hostile(self, count=PROCESSES, probes=PROBES):
        folder = self.path("theirs")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if self.as_nobody:
            shutil.chown(folder, self.as_nobody["user"], self.as_nobody["group"])
        processes = []
        for _ in range(count):
            process = Programs.start(self, self.hostile_program, program=str(probes),
                                     environment={**os.environ, "SPEX_CONTROL": folder}, **self.as_nobody)
            self.addCleanup(process.kill)
            processes.append(process)
        return processes

    def memory(self, what):
        with open("/proc/%d/status" % self.server.pid, encoding="utf-8") as status:
            return int(re.search(what + r":\s+(\d+) kB", status.read()).group(1)) * 1024

    def probes_of(self, program, text=None):
        """Names of its probes that have series."""
        return {dict(labels)["probe"] for labels in self.values("spex_probe_records_total", text) if dict(labels)["program"] == program}

    def serve_both(self, *arguments):
        self.serve(HOSTILE, *arguments)
        return self.memory("VmRSS")

    def test_reports_of_which_only_sums_are_kept(self):
        before = self.serve_both()
        processes = self.hostile()
        self.until(lambda: len(self.probes_of(HOSTILE)) == 1000)
        for _ in range(5):
            self.metrics()
        self.assertLess(self.memory("VmHWM"), before + SHARE + OTHER)
        for process in processes:
            process.kill()
        self.until(lambda: self.values("spex_program_processes") == {(("program", HOSTILE),): 0})
        self.until(lambda: self.memory("VmRSS") < before + OTHER)

    def test_reports_that_somebody_watches(self):
        """They are kept whole, as far as there is room."""
        before = self.serve_both()
        streams = []
        for process in self.hostile():
            self.until(lambda process=process: self.ask("/api/probes?process=%d" % process.pid)[0].status != 404)
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            connection.request("GET", "/api/events?process=%d" % process.pid)
            streams.append(connection)
            self.addCleanup(connection.close)
        self.until(lambda: self.values("spex_serve_refused_reports_total")[()] > 1)
        self.assertLess(self.memory("VmHWM"), before + SHARE + OTHER)
        # Who is small beside them is heard.
        honest = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.until(lambda: self.ask("/api/probes?process=%d" % honest.pid)[0].status == 200)
        self.server.terminate()
        said = self.server.communicate()[1].splitlines()
        self.assertRegex(said[0], r"^spex: serve: process \d+ \(%s\) of user \d+: what it tells takes more memory" % HOSTILE)

    def test_series_are_divided_among_users(self):
        if not self.as_nobody:
            self.skipTest("there is one user alone")
        self.serve_both("--max-probes", "20")
        self.hostile(count=1)
        self.until(lambda: len(self.probes_of(HOSTILE)) == 20)
        self.start(environment=self.environment(SPEX_PROBES="*"))
        sites = self.until(lambda: len(self.probes_of(NAME)) and self.values("spex_program_probe_sites")[(("program", NAME),)])
        self.until(lambda: len(self.probes_of(NAME)) == min(10, sites))
        text = self.metrics()
        self.assertGreaterEqual(len(self.probes_of(HOSTILE, text)), 10)


if __name__ == "__main__":
    Server.spex, Server.live, REPORTS = map(os.path.abspath, sys.argv[1:4])
    del sys.argv[1:4]
    unittest.main()
