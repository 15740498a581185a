#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex attach` counts calls through slots of a program that notices whatever disturbs it, and leaves all as it was.

usage: slots.py SPEX SLOTS
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import attaching
from attaching import Attached

SPEX = SLOTS = None

CALLING = """
unsigned long slotted(unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, double);
void calls(void);
__attribute__((visibility("default"))) void calls(void) { slotted(1, 2, 3, 4, 5, 6, 7, 8.0); }
"""


class Program(attaching.Program):
    """Answers with the calls so far and the signals it took."""

    def __init__(self, *before, filtered=False, after=()):
        super().__init__(*before, SLOTS, *after)
        if filtered:
            self.do("seccomp 0")

    def memory(self):
        """{address: bytes} of what is of a file and is not written by the program: its code, and its slots."""
        found = {}
        with open("/proc/%s/maps" % self.pid, encoding="utf-8") as maps, open("/proc/%s/mem" % self.pid, "rb") as memory:
            for line in maps:
                of_file = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-(?:-|x)p \S+ \S+ [1-9]\d* +/", line)
                if of_file:
                    start, end = (int(of_file.group(g), 16) for g in (1, 2))
                    memory.seek(start)
                    found[start] = memory.read(end - start)
        return found


def blocked_by(pid):
    """The signals that each thread of a process blocks."""
    found = {}
    for thread in os.listdir("/proc/%s/task" % pid):
        with open("/proc/%s/task/%s/status" % (pid, thread), encoding="utf-8") as file:
            found[thread] = re.search(r"\nSigBlk:\t(\w+)", file.read()).group(1)
    return found


def children_of(pid):
    """Processes that a command has started."""
    found = []
    try:
        with open("/proc/%s/task/%s/children" % (pid, pid), encoding="utf-8") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        pass  # a kernel without that file, or the command has ended
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/status" % name, encoding="utf-8") as file:
                if "\nPPid:\t%s\n" % pid in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


def kill_new(pid, seen, choice):
    """Kills a new child of a command that has its name, as the one that stops a thread has, within 2 ms."""
    for child in set(children_of(pid)) - seen:
        seen.add(child)
        try:
            with open("/proc/%s/comm" % child, encoding="utf-8") as file:
                name = file.read().strip()
        except OSError:
            continue
        end = time.monotonic() + choice.uniform(0, 0.002)
        while name == "spex" and time.monotonic() < end:
            pass
        if name == "spex":
            kill(child)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class SlotsTest(unittest.TestCase):
    FUNCTION, SITE, WITHOUT = "func:slotted:slots", "slot", "not through slots"
    # The program's arguments.
    PROGRAM = ()
    # Threads that do not notice when who stops them is killed.
    WAITS = ("all",)

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.program = self.start()

    def start(self, *before, **how):
        program = Program(*before, after=self.PROGRAM, **how)
        self.addCleanup(program.kill)
        return program

    def expect_way(self, attached):
        self.assertIn("slotted: calls through slots of 1 object", attached.said)

    def expect_exact(self, program):
        """A command counts through slots, and all calls."""
        attached = Attached(program, self.FUNCTION)
        self.expect_way(attached)
        before, after = program.do("call 0")[0], program.do("call 1000")[0]
        self.assertEqual(after - before, 1000)
        self.assertEqual(attached.count(), 1000)

    def expect_restored(self, memory):
        """Soon: what is left of a command that was killed puts it back."""
        end = time.monotonic() + 60
        while self.program.memory() != memory:
            self.assertLess(time.monotonic(), end, "the program is not as it was")
            os.sched_yield()

    def test_counts_are_exact(self):
        attached = Attached(self.program, self.FUNCTION)
        self.expect_way(attached)
        self.program.do("call 1000")
        self.program.do("threads 80000")
        called = self.program.do("fork 500")[0]
        found = attached.stop()
        self.assertEqual((found["probes"][0]["count"], called), (81500, 81500))
        self.assertEqual(found["functions"][0]["site"], self.SITE)
        self.assertGreater(found["functions"][0]["cost_ns"], 0)
        self.assertEqual(self.program.do("call 10")[0], 81510)

    def test_memory_is_as_it_was(self):
        memory = self.program.memory()
        for end in (signal.SIGINT, signal.SIGKILL):
            attached = Attached(self.program, self.FUNCTION)
            self.expect_way(attached)
            changed = self.program.memory()
            self.assertEqual(sum(changed[start] != memory[start] for start in memory), 1, "the page of one slot")
            attached.process.send_signal(end)
            attached.process.communicate()
            self.expect_restored(memory)

    def test_nothing_notices(self):
        """Threads that wait in each way, run or call, and signals all the time."""
        self.program.do("wait 0 all")
        for signals in (False, True):
            if signals:
                self.program.do("signals 0")
            for turn in range(16):
                attached = Attached(self.program, self.FUNCTION)
                self.expect_way(attached)
                attached.process.send_signal(signal.SIGKILL if turn % 2 else signal.SIGINT)
                attached.process.communicate()
                self.program.do("call 100")

    def test_threads_that_wait_for_events_alone(self):
        for kind in ("epoll", "read", "receive", "sleep"):
            program = self.start()
            program.do("wait 0 " + kind)
            self.expect_exact(program)

    def test_killed_at_any_moment(self):
        self.program.do("wait 0 all")
        memory, blocked = self.program.memory(), blocked_by(self.program.pid)
        choice = random.Random(1)
        for turn in range(40):
            process = subprocess.Popen([SPEX, "attach", self.program.pid, "-e", self.FUNCTION, "-b", "100%"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(choice.uniform(0, 0.6))
            if turn % 2:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            process.wait()
            self.program.do("call 10")
        self.expect_restored(memory)
        self.assertEqual(blocked_by(self.program.pid), blocked)

    def test_the_process_that_stops_a_thread_killed(self):
        """At any moment: the thread goes on with its registers and signals, and the command with breakpoints."""
        for waits in self.WAITS:
            self.program.do("wait 0 " + waits)
        self.program.do("signals 0")
        blocked, choice, killed = blocked_by(self.program.pid), random.Random(2), 0
        for _ in range(12):
            process = subprocess.Popen([SPEX, "attach", self.program.pid, "-e", self.FUNCTION, "--for", "0.01", "-b", "100%"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            seen = set()
            while process.poll() is None:
                kill_new(process.pid, seen, choice)
            said = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, 0, said)
            killed += " was killed" in said
            self.program.do("call 10")
        self.assertEqual(blocked_by(self.program.pid), blocked)
        if not killed:
            self.skipTest("none was killed in time")

    def test_all_of_a_command_killed(self):
        """Then its slots stay, and count for nobody; the next command puts them back."""
        memory = self.program.memory()
        for function in (self.FUNCTION, "func:slotted_direct"):
            attached = Attached(self.program, self.FUNCTION)
            for pid in (*children_of(attached.process.pid), attached.process.pid):
                kill(pid)
            attached.process.communicate()
            self.assertNotEqual(self.program.memory(), memory)
            self.program.do("call 100")
            after = Attached(self.program, function)
            self.assertIn("put back 1 slot or patch", after.said)
            before, called = self.program.do("call 0")[0], self.program.do("call 50")[0]
            self.assertEqual(called - before, 50)
            self.assertEqual(after.count(), 50 if function == self.FUNCTION else 0)
            self.expect_restored(memory)

    def test_calls_that_are_missed_are_named(self):
        attached = Attached(self.program, "func:slotted_direct:slots")
        self.assertIn("slotted_direct: calls through slots of 1 object; without those of 1 place in its own object", attached.said)
        self.program.do("within 70")
        self.program.do("direct 30")
        found = attached.stop()
        self.assertEqual(found["probes"][0]["count"], 30)
        self.assertIn("1 place in its own object", found["functions"][0]["counted"])

    def test_libraries_that_are_unloaded(self):
        library, source = (os.path.join(self.dir, name) for name in ("libcalling.so", "calling.c"))
        with open(source, "w", encoding="utf-8") as out:
            out.write(CALLING)
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-z,now", source, "-o", library], check=True)
        self.program.do("wait 0 calls")
        self.program.tell("load 20000 " + library)
        for _ in range(10):
            attached = Attached(self.program, self.FUNCTION)
            self.expect_way(attached)
            attached.stop()
        self.assertTrue(self.program.process.stdout.readline())

    def refused(self, program, why, before=()):
        """Breakpoints count then."""
        attached = Attached(program, self.FUNCTION, before=before)
        self.assertIn("by a breakpoint, %s: %s" % (self.WITHOUT, why), attached.said)
        return attached

    def test_a_program_that_filters_its_calls(self):
        program = self.start(filtered=True)
        attached = self.refused(program, "it filters its system calls (seccomp)")
        program.do("call 100")
        self.assertEqual(attached.count(), 100)

    def test_a_program_that_is_stopped(self):
        os.kill(int(self.program.pid), signal.SIGSTOP)
        os.waitid(os.P_PID, int(self.program.pid), os.WSTOPPED)
        attached = self.refused(self.program, "it is stopped")
        os.kill(int(self.program.pid), signal.SIGCONT)
        self.program.do("call 100")
        self.assertEqual(attached.count(), 100)

    def test_two_commands(self):
        first = Attached(self.program, self.FUNCTION)
        second = self.refused(self.program, "another command counts its calls")
        self.program.do("call 100")
        self.assertEqual((first.count(), second.count()), (100, 100))

    def test_functions_that_nobody_imports(self):
        attached = Attached(self.program, "func:main:slots,func:handle:slots")
        self.assertIn("main: by a breakpoint, not through slots: no object calls it", attached.said)
        self.assertEqual({one["site"] for one in attached.stop()["functions"]}, {"uprobe"})

    def test_ends_with_the_program(self):
        for command, state in (("end 0", "ended"), ("exec 0", "replaced")):
            program = self.start()
            attached = Attached(program, self.FUNCTION)
            program.do("call 7")
            program.tell(command)
            found = attached.wait()
            self.assertEqual((found["probes"][0]["count"], found["state"]), (7, state))

    def test_children_can_be_looked_at(self):
        """They have the pages of their parent, and slots as they were when they were made."""
        attached = Attached(self.program, self.FUNCTION)
        self.program.tell("child 0")
        child = int(self.program.process.stdout.readline())
        self.assertEqual(self.program.do("call 3")[0], 3)
        class Child:
            pid = str(child)
        second = Attached(Child, self.FUNCTION)
        self.assertIn("another command counts its calls", second.said)
        second.stop()
        self.assertEqual(attached.count(), 3)
        second = Attached(Child, self.FUNCTION)
        self.assertIn("put back 1 slot or patch", second.said)
        self.expect_way(second)
        os.kill(child, signal.SIGUSR1)
        self.assertEqual(int(self.program.process.stdout.readline()), 1000)
        self.assertEqual(second.count(), 1000)

    def test_needs_no_privileges(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("this user cannot be another one")
        for path in (SLOTS, SPEX):
            if os.stat(path).st_mode & 5 != 5 or subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "test", "-x", path],
                                                                check=False).returncode:
                self.skipTest("another user cannot execute %s" % path)
        other = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all")
        program = self.start(*other)
        attached = Attached(program, self.FUNCTION, before=other)
        self.expect_way(attached)
        program.do("call 100")
        self.assertEqual(attached.count(), 100)
        self.expect_exact(program)

    def test_listed(self):
        result = subprocess.run([SPEX, "probes", self.program.pid, "--functions", self.FUNCTION, "--json"], capture_output=True, text=True,
                                check=True)
        table = subprocess.run([SPEX, "probes", self.program.pid, "--functions", self.FUNCTION], capture_output=True, text=True, check=True)
        self.assertRegex(table.stdout, r"slotted +libslotted\.so +slot +slot +[\d.]+ ns *\nslotted: calls through slots of 1 object\n")
        one, = json.loads(result.stdout)
        self.assertEqual((one["site"], one["instruction"], one["counted"]), ("slot", "slot", "calls through slots of 1 object"))

    def test_a_program_that_the_command_starts(self):
        """It is traced until its libraries are there."""
        result = subprocess.run([SPEX, "run", "-e", self.FUNCTION, "-b", "100%", "--", SLOTS, *self.PROGRAM], input="call 500\nend 0\n", capture_output=True,
                                text=True, check=True, timeout=60)
        self.assertIn("by a breakpoint, %s: another process traces it" % self.WITHOUT, result.stderr)
        self.assertRegex(result.stdout + result.stderr, r"slotted\w* +cnt +500 ")

    def test_slots_have_no_times(self):
        result = subprocess.run([SPEX, "train", os.path.join(self.dir, "models"), "--pid", self.program.pid, "-e", self.FUNCTION],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("calls through slots have no time", result.stderr)

    def test_malformed(self):
        for functions, why in (("func:slotted(n):slots", "without arguments"), ("usdt:a:b:slots", "those of a function"),
                               ("func:slots+0x10:slots", "an address has no slots")):
            result = subprocess.run([SPEX, "attach", self.program.pid, "-e", functions], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(why, result.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    SLOTS = sys.argv.pop(2)
    Attached.spex = SPEX = sys.argv.pop(1)
    if os.uname().machine != "x86_64":
        print("SKIP: stubs are for x86-64")
        sys.exit(77)
    unittest.main()
