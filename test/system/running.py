# SPDX-License-Identifier: MIT
"""Running programs with probes, and `spex` commands that reach them."""

import concurrent.futures
import faulthandler
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tables  # pylint: disable=wrong-import-position

NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]

# The beginning of a script that listens as a program with probes would; the rest defines answer(connection). Commands of
# other tests look at all processes, and may ask, and go away, at any time: so each connection has a thread.
LISTENING = """
import os, socket, struct, sys, threading

def frame(kind, entry_bytes, count, status=0):
    return struct.pack("=IHHIIIiII", 0x43505853, 3, kind, 0, entry_bytes, count, status, 0, 0)

def serve(connection):
    try:
        answer(connection)
    except OSError:
        pass

def serve_all():
    os.makedirs(os.environ["SPEX_CONTROL"], 0o700, exist_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind("%s/%d-%s" % (os.environ["SPEX_CONTROL"], os.getpid(), os.readlink("/proc/self/ns/pid")[5:-1]))
    listening.listen(64)
    print("ready", flush=True)
    while True:
        threading.Thread(target=serve, args=[listening.accept()[0]], daemon=True).start()
"""

PLAN = """<space name="test">
  <parameter name="rows" type="integer" values="200 500 1000 2000 4000"/>
  <run trials_per_config="2"/>
</space>
"""


# A program without spex that starts two with it, and ends them when its input ends.
PARENT = """
import subprocess, sys
children = [subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
for child in children:
    child.stdout.readline()
print("ready", flush=True)
sys.stdin.read()
for child in children:
    child.communicate()
"""


def nobody():
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def nobody_can_run(program):
    return subprocess.run(["test", "-x", program], check=False, **nobody()).returncode == 0


def can_become_nobody(program):
    """Whether the program can be run by AS_NOBODY."""
    return os.geteuid() == 0 and nobody_can_run(program)


class Beside(unittest.TestSuite):
    """Tests that run some at a time, since they wait more than they compute. Each has processes and a folder of its own."""

    AT_A_TIME = 4

    def run(self, result, debug=False):
        with concurrent.futures.ThreadPoolExecutor(self.AT_A_TIME) as threads:
            for run in [threads.submit(test.run, result) for test in self]:
                run.result()
        return result


def beside(_loader, tests, _pattern):
    """For a module's load_tests. Where tests take long, it is said now and then what they wait for."""
    faulthandler.dump_traceback_later(280, repeat=True)
    return Beside(test for of_class in tests for test in of_class)


# Where no other processes are.
ALONE = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--propagation", "private"]


class Programs(unittest.TestCase):
    """Programs of this test alone: their sockets are in a directory of its own."""

    spex = live = None
    commands = ()

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.control = os.path.join(self.dir, "control")

    def path(self, name):
        return os.path.join(self.dir, name)

    def copied(self, program, name):
        """By another process: what a thread starts meanwhile would have the copy open for writing, so that it could not run."""
        subprocess.run(["cp", program, self.path(name)], check=True)
        return self.path(name)

    def train(self, program, count):
        """Models of its kernels, by their file and as they are shown."""
        with open(self.path("plan.xml"), "w", encoding="utf-8") as file:
            file.write(PLAN)
        result = self.run_spex("train", self.path("models"), "--runs", self.path("plan.xml"), "--", program, "{rows}", count)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path("models"), result.stdout

    def environment(self, **variables):
        return {**os.environ, "SPEX_CONTROL": self.control, **variables}

    def start(self, *before, program=None, ready="ready\n", environment=None, **options):
        process = subprocess.Popen([*before, program or self.live], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   bufsize=1, env=environment or self.environment(), **options)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), ready)
        return process

    def stranger(self):
        """The number of a process without spex."""
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=self.environment())
        self.addCleanup(process.communicate)
        return process.pid

    def say(self, process, line):
        process.stdin.write(line + "\n")
        return process.stdout.readline()

    def run_spex(self, *arguments, **options):
        return subprocess.run([self.spex, *map(str, arguments)], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60,
                              env=self.environment(), **options)

    def set(self, *arguments, status=0, **options):
        result = self.run_spex("set", *arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def refused(self, pattern, *arguments, status=1, **options):
        result = self.set(*arguments, status=status, **options)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.splitlines()
        self.assertRegex(lines[-1], "^spex: .*" + pattern)
        return result

    def listening(self, answer):
        """A process that runs LISTENING and what `answer` defines."""
        process = self.start(sys.executable, "-c", program=LISTENING + answer + "\nserve_all()")
        self.addCleanup(process.kill)
        return process

    def programs(self, **options):
        """All that are listed, those of other tests among them, by number."""
        listed = json.loads(self.run_spex("list", "--json", **options).stdout)
        return {program["pid"]: program for program in listed}

    def listed(self, process):
        """The process, once it answers, as it does when it gets a processor for that."""
        return self.until(lambda: (listed := self.programs()[process.pid])["answers"] and listed)

    def sites_on(self, process):
        """-1 where the process has not answered, as where it has no processor to do so."""
        return self.programs()[process.pid].get("sites_on", -1)

    def followed(self, command):
        """A command that ends with the test."""
        self.addCleanup(command.communicate)
        self.addCleanup(command.kill)
        self.commands = (*self.commands, command)
        return command

    def check_commands(self):
        """Fails where one has ended that nobody has killed."""
        for command in self.commands:
            if command.returncode is None and command.poll() not in (None, -signal.SIGKILL, -signal.SIGTERM):
                self.fail("%s: %d: %s" % (" ".join(command.args[1:3]), command.returncode, command.stderr.read()))

    def until(self, condition):
        """Its value, when it holds. Each look is a command, which takes what the program could use: half of the time at most."""
        while True:
            begin = time.monotonic()
            self.check_commands()
            value = condition()
            if value:
                return value
            time.sleep(max(0.02, time.monotonic() - begin))

    def until_on(self, process, sites):
        self.until(lambda: self.sites_on(process) == sites)

    def selected(self, process):
        return self.listed(process)["selection"]

    def leased(self, process):
        return self.listed(process).get("leased", "")

    def records(self, process, probe):
        """What a probe has recorded since the beginning, as the program itself tells."""
        text = self.run_spex("top", "-b", "-d", "0.05", "-n", "1", process.pid).stdout
        found = [row["count"] for table in tables.tables(text) for (name, _), row in table.items() if name == probe]
        return int(found[0]) if found else 0
