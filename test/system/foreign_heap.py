#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No thread of spex uses the C library's heap, whatever it is asked for: the program's own threads would wait for its lock,
and a child by a raw clone would for ever.

    foreign_heap.py SPEX LIVE FOREIGN_HEAP
"""

import os
import signal
import subprocess
import sys
import unittest

from running import Programs

MODULE = None


class ForeignHeap(Programs):
    def checked(self, **variables):
        return self.start(environment=self.environment(LD_PRELOAD=MODULE, **variables))

    def ends(self, process):
        self.say(process, "stop")
        self.say(process, "start")
        self.say(process, "end")
        self.assertEqual(process.wait(), 0, process.stderr.read() if process.returncode else "")

    def test_that_the_module_tells(self):
        program = [sys.executable, "-c", "import ctypes; ctypes.CDLL(None).prctl(15, b'spex-like'); bytes(10 ** 6)"]
        result = subprocess.run(program, env={**os.environ, "LD_PRELOAD": MODULE}, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, -signal.SIGABRT)
        self.assertIn(b"a thread of spex uses the heap", result.stderr)

    def test_settings(self):
        for name, variables in {
                "table": {"SPEX_OUT": self.path("table")},
                "budget": {"SPEX_OUT": self.path("table"), "SPEX_BUDGET": "2%"},
                "hybrid": {"SPEX_OUT": self.path("table"), "SPEX_BUDGET": "2%", "SPEX_RATE_POLICY": "hybrid"},
                "polled": {"SPEX_OUT": self.path("table"), "SPEX_PROBES": "*@poll"},
                "trace": {"SPEX_OUT": "ctf:" + self.path("trace")},
                "a thread's budget": {"SPEX_OUT": self.path("table"), "SPEX_THREAD_BUDGET": "5%"}}.items():
            with self.subTest(name):
                process = self.checked(**{"SPEX_PROBES": "*", **variables})
                self.run_spex("top", str(process.pid), "-b", "-n", "2", "-d", "0.2")
                self.ends(process)

    def test_commands(self):
        process = self.checked()
        pid = str(process.pid)
        for command in (["set", pid, "*"], ["list"], ["probes", pid], ["top", pid, "-b", "-n", "2", "-d", "0.2"],
                        ["set", "--for", "5", pid, "+query:lat@10"], ["set", "-b", "3%", pid], ["set", pid, "nothing:lat"],
                        ["set", pid, "*@~10, -3"], ["set", pid, "off"]):
            self.run_spex(*command)
        record = self.followed(subprocess.Popen([self.spex, "record", "--pid", pid, "-o", self.path("recorded")],
                                                env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        self.until(lambda: os.path.exists(self.path("recorded")) and os.listdir(self.path("recorded")))
        self.run_spex("top", pid, "-b", "-n", "2", "-d", "0.2")
        record.send_signal(signal.SIGINT)
        record.communicate()
        self.assertIsNone(process.poll())
        self.ends(process)


if __name__ == "__main__":
    MODULE = os.path.abspath(sys.argv[3])
    Programs.spex, Programs.live = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
