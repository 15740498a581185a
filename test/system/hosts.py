#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What programs do to their process, in each mode of spex: each ends in time, with its own status, its data untouched.

usage: hosts.py SPEX HOSTS PLUGIN CONSTRUCTED CLOCKS POLICY [--whole] [--seed N] [--only TEXT]

All behaviours of `hosts --list` times all modes below are too many for each run, so some are drawn; --whole runs all, and
more often within each. --only: those whose "BEHAVIOUR MODE" contains the text. CLOCKS is loaded before programs to
which it pretends another time; POLICY is the object of a rate policy.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile

# Cells of the matrix in a run that draws.
DRAWN = 110
# A behaviour takes a second at the most; commands and sanitizers take more on a busy machine.
LIMIT_S = 100
AT_A_TIME = 4

Mode = collections.namedtuple("Mode", "variables before beside", defaults=({}, (), ()))

MODELS = """spex-models 3
kernel host.kernel
executions 100
least 1e-8
parameters 1
parameter 0 1000 executions
class constant
adjusted-r2 0
spread 1e-7 0.1 50
constant 1e-7 1e-9
changes 0 0
terms 0
covariance 1e-18
points 0
end 1
"""

# Variables, the command before the program, commands that run beside it. {} is the test's folder.
MODES = {
    "off": Mode(),
    "without a socket": Mode({"SPEX_CONTROL": "off"}),
    "on": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table"}),
    "on without a socket": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_CONTROL": "off"}),
    "on atomic": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_COMMIT": "atomic"}),
    "budget": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_BUDGET": "2%"}),
    "large budget": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_BUDGET": "90%"}),
    "hybrid": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_BUDGET": "2%", "SPEX_RATE_POLICY": "hybrid"}),
    "fixed": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_BUDGET": "2%", "SPEX_RATE_POLICY": "fixed"}),
    "policy of an object": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_BUDGET": "2%", "SPEX_RATE_POLICY": "POLICY"}),
    "of a thread": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_THREAD_BUDGET": "5%"}),
    "polled": Mode({"SPEX_PROBES": "*@poll", "SPEX_OUT": "{}/table"}),
    "follow": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_FORKS": "follow"}),
    "follow with a budget": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_FORKS": "follow", "SPEX_BUDGET": "2%"}),
    "table on a full disk": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "/dev/full"}),
    "ctf": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "ctf:{}/trace"}),
    "ctf on a full disk": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "ctf:{}/little/trace"}),
    "run": Mode({}, ["run", "-o", "{}/table", "--"]),
    "run with a budget": Mode({}, ["run", "-o", "{}/table", "-b", "2%", "-f", "--"]),
    "record": Mode({}, ["record", "-o", "{}/trace", "--"]),
    "record with a budget": Mode({}, ["record", "-o", "{}/trace", "-b", "2%", "-f", "--"]),
    "flight": Mode({}, ["record", "-o", "{}/trace", "--flight", "2s", "--"]),
    "leases": Mode({}, (), [["set", "--for", "0.2", "hosts", "*"]]),
    "leases with a budget": Mode({}, (), [["record", "-o", "{}/other", "-b", "2%", "--pid", "hosts"]]),
    "models": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_MODELS": "{}/models"}),
    "watches itself": Mode({"SPEX_PROBES": ":kernel", "SPEX_OUT": "{}/table", "HOST_MODELS": "{}/models"}),
    "is watched": Mode({}, (), [["watch", "{}/models", "--pid", "hosts"]]),
    "tunes itself": Mode({"HOST_TUNES": "1"}),
    "top": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table"}, (), [["top", "-b", "-n", "1", "-d", "0.2", "hosts"]]),
    "serve": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table"}, (), [["serve", "--all", "--listen", "127.0.0.1:0"]]),
    "a clock that stands still": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "LD_PRELOAD": "CLOCKS", "CLOCKS": "stands"}),
    "no clock at all": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "LD_PRELOAD": "CLOCKS", "CLOCKS": "kernel"}),
    "a clock that is set back": Mode({"SPEX_PROBES": "*", "SPEX_OUT": "{}/table", "SPEX_BUDGET": "2%", "LD_PRELOAD": "CLOCKS",
                                      "CLOCKS": "back"}),
    "off and no /proc": Mode({"HOST_PROC": "none"}),
    "on and no /proc": Mode({"HOST_PROC": "none", "SPEX_PROBES": "*", "SPEX_OUT": "{}/table"}),
}


def impossible(behaviour, mode):
    """A process without /proc that only /proc tells of the end of its threads."""
    return behaviour.startswith("pthread_exit") and "no /proc" in mode


Cell = collections.namedtuple("Cell", "behaviour status mode")


def cells_of(hosts, only):
    listed = subprocess.run([hosts, "--list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    behaviours = [line.split() for line in listed.splitlines()]
    cells = [Cell(name, int(status), mode) for (name, status), mode in itertools.product(behaviours, MODES)
             if not impossible(name, mode)]
    return [cell for cell in cells if only in "%s %s" % (cell.behaviour, cell.mode)]


def drawn(cells, seed, whole):
    """At least one of each behaviour and each mode, as far as there is room."""
    if whole or len(cells) <= DRAWN:
        return cells
    random.Random(seed).shuffle(cells)
    first, rest, seen = [], [], set()
    for cell in cells:
        fresh = {cell.behaviour, cell.mode} - seen
        (first if fresh else rest).append(cell)
        seen |= fresh
    return (first + rest)[:DRAWN]


class Run:
    """One cell: a folder of its own, in which the program works and its sockets are."""

    def __init__(self, arguments, cell):
        self.arguments, self.cell, self.mode = arguments, cell, MODES[cell.mode]
        self.folder = tempfile.mkdtemp()

    def filled(self, text):
        return text.replace("{}", self.folder).replace("CLOCKS", self.arguments.clocks).replace("POLICY", self.arguments.policy)

    def environment(self):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SPEX_")}
        return {**clean, "SPEX_CONTROL": self.folder + "/control", "HOST_TIMES": "1000" if self.arguments.whole else "100",
                **{name: self.filled(value) for name, value in self.mode.variables.items()}}

    def command(self):
        words = [self.filled(word) for word in self.mode.before]
        words = [self.arguments.spex, *words] if words else []
        words += [self.arguments.hosts, self.cell.behaviour, self.arguments.plugin, self.arguments.constructed]
        shell = 'exec "$@"'
        if "full disk" in self.cell.mode and "{}/little" in str(self.mode.variables):
            shell = "mount -t tmpfs -o size=64k none %s/little && %s" % (self.folder, shell)
        if "no /proc" in self.cell.mode:
            shell = "mount -t tmpfs none /proc && " + shell
        return ["unshare", "-m", "sh", "-c", shell, "sh", *words] if "mount" in shell else words

    @contextlib.contextmanager
    def commands_beside(self):
        """Each again and again, as long as the program runs."""
        running = []
        for command in self.mode.beside:
            words = " ".join("'%s'" % word for word in [self.arguments.spex, *map(self.filled, command)])
            running.append(subprocess.Popen(["sh", "-c", "while :; do timeout 1 %s; sleep 0.01; done" % words],
                                            env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL, start_new_session=True))
        try:
            yield
        finally:
            for process in running:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def outcome(self):
        """None, or what is wrong."""
        os.mkdir(self.folder + "/little")
        os.chmod(self.folder, 0o755)
        with open(self.folder + "/models", "w", encoding="utf-8") as models:
            models.write(MODELS)
        with self.commands_beside(), open(self.folder + "/said", "w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen(self.command(), env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=said, start_new_session=True)
            try:
                status = process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                status = "it did not end"
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            said.seek(0)
            text = said.read()
        # Commands end as their program did, by a signal as a shell tells it.
        right = {self.cell.status} | ({128 - self.cell.status} if self.cell.status < 0 else set())
        return None if status in right else "status %s, not %d\n%s" % (status, self.cell.status, text[-2000:])

    def run(self):
        try:
            return self.outcome()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def can_mount():
    return subprocess.run(["unshare", "-m", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0


def main():
    parser = argparse.ArgumentParser()
    for name in "spex", "hosts", "plugin", "constructed", "clocks", "policy":
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    cells = cells_of(arguments.hosts, arguments.only)
    if not can_mount():
        print("SKIP: what needs a mount of its own: not root")
        cells = [cell for cell in cells if "no /proc" not in cell.mode and cell.mode != "ctf on a full disk"]
    chosen = drawn(cells, arguments.seed, arguments.whole)
    print("%d of %d, --seed %d" % (len(chosen), len(cells), arguments.seed), flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as threads:
        for cell, wrong in zip(chosen, threads.map(lambda cell: Run(arguments, cell).run(), chosen)):
            if wrong:
                failed += 1
                print("FAIL: %s, %s (--only '%s %s'): %s" % (cell.behaviour, cell.mode, cell.behaviour, cell.mode, wrong),
                      flush=True)
    sys.exit(failed != 0)


main()
