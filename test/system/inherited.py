#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Commands that start others do what they were told to, whatever signals their parent has ignored or blocked.

usage: inherited.py SPEX SUBJECT RUNS KERNELS [unittest arguments]
"""

import json
import os
import re
import signal
import subprocess
import sys
import unittest
import urllib.request

from running import PLAN, Programs

SPEX, SUBJECT, RUNS, KERNELS = map(os.path.abspath, sys.argv[1:5])

SPACE = """<space name="test">
<parameter name="work" type="integer" unit="us" values="200 800"/>
<objective probe="work:tpt" metric="throughput" goal="maximise"/>
<run records_per_thread="20" warmup="0" least="0"/>
</space>
"""
# What writes two figures as a program of benchmarks.
BENCHMARKS = """#!/bin/sh
for a; do case $a in --benchmark_out=*) out=${a#*=};; esac; done
echo '{"context": {}, "benchmarks": [{"name": "a", "run_name": "a", "run_type": "iteration", "time_unit": "ns",
  "real_time": 1, "cpu_time": 1}]}' >$out
"""
CATCHABLE = set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}


def ignore(signals):
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in signals] and None


INHERITED = {
    "SIGCHLD ignored": ignore({signal.SIGCHLD}),
    "all ignored": ignore(CATCHABLE),
    "all blocked": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, CATCHABLE),
}
# These start nothing, or are tried elsewhere: masters, agents and their explorations in the tests of fleets, watching in
# that of what `spex serve` shows.
OTHERS = {"agent", "attach", "dump", "explain", "export", "fit", "fleet", "list", "models", "plan", "set", "stats", "top", "watch"}


class Inherited(Programs):
    spex = SPEX

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o700)
        return self.path(name)

    def invocations(self, name):
        """A command line for each command that waits for others; `name`: of its files."""
        benchmarks = self.write("benchmarks", BENCHMARKS)
        return {
            "bench": ["--rounds", "2", benchmarks, benchmarks],
            "explore": [self.write("space.xml", SPACE), "--policy", "grid", "--store", self.path(name + ".db"), "--", SUBJECT],
            "probes": [SUBJECT],
            "record": ["-o", self.path(name + ".trace"), "--", RUNS, "exits", "3"],
            "report": [self.path(name + ".db"), "--html", self.path(name + ".html")],
            "run": ["--", RUNS, "exits", "3"],
            "sample": [self.path(name + ".models"), "--", KERNELS, "200", "2000"],
            "serve": ["--store", self.path(name + ".db"), "--listen", "127.0.0.1:0"],
            "train": [self.path(name + ".models"), "--runs", self.write("plan.xml", PLAN), "--", KERNELS, "{rows}", "2000"],
        }

    def served(self, command, **options):
        """What the server shows, which another command tells it."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as server:
            with urllib.request.urlopen(server.stdout.readline().strip() + "api/exploration") as answer:
                shown = json.load(answer)
            server.kill()
        return shown["trials_finished"]

    def outcome(self, command, **options):
        options = {"env": self.environment(), **options}
        if command[1] == "serve":
            return self.served(command, **options)
        return subprocess.run(command, check=False, capture_output=True, timeout=300, **options).returncode

    def test_commands_end_as_they_would_otherwise(self):
        order = sorted(self.invocations(""), key=lambda name: (name in ("report", "serve", "sample"), name))
        expected = {name: self.outcome([SPEX, name, *self.invocations("usual")[name]]) for name in order}
        self.assertEqual({name: expected[name] for name in ("run", "record", "serve")},
                         {"run": 3, "record": 3, "serve": 2})
        self.assertEqual({expected[name] for name in order if name not in ("run", "record", "serve")}, {0})
        for n, (inherited, inherit) in enumerate(INHERITED.items()):
            for name in order:
                with self.subTest(inherited=inherited, command=name):
                    command = [SPEX, name, *self.invocations("other%d" % n)[name]]
                    self.assertEqual(self.outcome(command, preexec_fn=inherit), expected[name])

    def test_each_command_is_known(self):
        named = re.findall(r"^  (\w+) ", self.run_spex("--help").stdout, re.MULTILINE)
        self.assertEqual(set(named), set(self.invocations("")) | OTHERS)


if __name__ == "__main__":
    del sys.argv[1:5]
    unittest.main()
