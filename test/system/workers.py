#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex set` and `spex top` of all processes of a program: by its name, or by their parent.

    workers.py SPEX LIVE
"""

import os
import re
import signal
import subprocess
import sys
import unittest

from running import PARENT, Programs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tables  # pylint: disable=wrong-import-position


class Workers(Programs):
    def setUp(self):
        super().setUp()
        # The kernel keeps 15 bytes of a name.
        self.name = "live-%d" % os.getpid()
        os.symlink(self.live, self.path(self.name))

    def worker(self):
        return self.start(program=self.path(self.name))

    def top(self, *arguments, status=0):
        result = self.run_spex("top", "-b", *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def count(self, whom):
        """Executions of the probe `state` so far."""
        table = tables.rows(self.top("-t", "-n", 1, "-d", "0.05", whom).stdout)
        return int(table["state", "snapshot"]["count"])

    def test_names_of_which_the_kernel_keeps_the_beginning(self):
        name = self.name + "x" * 20
        os.symlink(self.live, self.path(name))
        worker = self.start(program=self.path(name))
        for whole in name, name[:15]:
            self.assertEqual(self.set(whole, "query").stdout, "process %d: 1 of 4 probe sites are on\n" % worker.pid)
        for other in name + "y", name[:-1]:
            result = self.run_spex("set", other, "query")
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, "^spex: no program called %s is running" % other)

    def test_counts_are_added(self):
        workers = [self.worker() for _ in range(3)]
        self.set(self.name, "state")
        self.until(lambda: all(self.count(worker.pid) > 100 for worker in workers))
        self.set(self.name, "off")
        # Until all that was recorded is in the figures.
        self.until(lambda: abs(self.count(self.name) / sum(self.count(worker.pid) for worker in workers) - 1) <= 1e-3)

    def test_workers_come_and_go(self):
        workers = [self.worker(), self.worker()]
        self.set("-f", self.name, "query")
        top = subprocess.Popen([self.spex, "top", "-b", "-d", "0.1", self.name], stdout=subprocess.PIPE, text=True,
                               env=self.environment())
        self.addCleanup(top.communicate)
        self.addCleanup(top.kill)

        def wait_for(pattern):
            while not re.search(pattern, line := top.stdout.readline()):
                self.assertNotEqual(line, "")

        wait_for(r" live-\d+ 2 processes, ")
        wait_for(r"^query ")
        workers.append(self.worker())
        wait_for(" 3 processes, ")
        workers[0].kill()
        workers[0].wait()
        wait_for(" 2 processes, ")
        for worker in workers[1:]:
            worker.kill()
            worker.wait()
        rest = top.stdout.read()
        self.assertEqual(top.wait(), 0)
        self.assertIn(" 0 processes, ", rest)

    def test_those_that_do_not_answer(self):
        workers = [self.worker() for _ in range(2)]
        self.set(self.name, "query")
        workers[1].send_signal(signal.SIGSTOP)
        self.addCleanup(workers[1].send_signal, signal.SIGCONT)
        result = self.top("-t", "-n", 1, self.name)
        self.assertRegex(result.stdout, r"\A\S+ \S+  live-\d+ 1 process; 1 does not answer, ")
        self.assertEqual(result.stderr, "spex: process %d does not answer\n" % workers[1].pid)

    def test_processes_of_a_parent(self):
        parent = self.start(sys.executable, "-c", PARENT, program=self.path(self.name))
        result = self.set(parent.pid, "query")
        self.assertEqual(len(re.findall(r"^process \d+: 1 of 4 probe sites are on$", result.stdout, re.MULTILINE)), 2)
        self.assertRegex(self.top("-n", 1, "-d", "0.2", parent.pid).stdout, r"\A\S+ \S+  live-\d+ 2 processes, ")
        # A lease is one of each.
        result = self.set("--for", 600, parent.pid, "off")
        self.assertEqual(len(re.findall(r": 0 of 4 probe sites are on; leased for 600 s$", result.stdout, re.MULTILINE)), 2)

    def test_what_there_is_not(self):
        for whom, reason in ("nobody-%d" % os.getpid(), "no program called"), (99999999, "there is no process"), \
                (self.stranger(), "was not built with spex"):
            self.assertRegex(self.top(whom, status=1).stderr, r"\Aspex: .*" + reason)
        self.worker(), self.worker()
        result = self.run_spex("top", self.name)
        self.assertEqual((result.returncode, result.stderr),
                         (2, "spex: top: 2 processes are summed with -b alone; one of them was expected without it\n"))


if __name__ == "__main__":
    Programs.spex, Programs.live = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
