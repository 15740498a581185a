#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex attach` counts by patches of a program that notices whatever disturbs it, and leaves all as it was.

usage: patches.py SPEX SLOTS
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import slots
from attaching import Attached


# Does the same work in three threads until it is told to end, and compares the results.
WORK = """
import hashlib, json, re, sqlite3, sys, threading, zlib

def once():
    base = sqlite3.connect(":memory:")
    base.execute("create table t(a integer primary key, b text, c real)")
    base.executemany("insert into t values(?, ?, ?)", ((i, "row%d" % (i * 5), i / 3) for i in range(300)))
    rows = base.execute("select count(*), sum(c), group_concat(b) from t where b like '%1%' group by a % 7 order by 1, 2").fetchall()
    text = re.sub("row", "x", json.dumps(json.loads(json.dumps(rows)), sort_keys=True))
    return hashlib.md5((text + str(zlib.crc32(text.encode()))).encode()).hexdigest()

wanted, over, right = once(), threading.Event(), []
def work():
    while not over.is_set():
        assert once() == wanted
        right.append(1)
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
print("ready", flush=True)
sys.stdin.readline()
over.set()
[thread.join() for thread in threads]
print("right" if all(right) and not any(thread.is_alive() for thread in threads) and len(right) > 3 else "wrong")
"""
LOADS = "import ctypes, sys; ctypes.CDLL('libzstd.so.1'); print('ready', flush=True); sys.stdin.readline()"
# Programs of Debian, and objects of them; and the share of functions that can be patched, at least.
REAL = [(["/usr/bin/python3", "-c", WORK], ("libsqlite3*", "python3*", "libc.so.6")), (["/usr/bin/python3", "-c", LOADS], ("libzstd*",)),
        (["/usr/bin/redis-server", "--port", "0", "--save", "", "--unixsocket", tempfile.mktemp()], ("redis*",))]
SHARE = 0.6


class RealProgramsTest(unittest.TestCase):
    def start(self, command):
        if not os.path.exists(command[0]):
            self.skipTest("there is no %s" % command[0])
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process, process.stdout.readline()

    def test_most_functions_can_be_patched(self):
        for command, objects in REAL:
            if not os.path.exists(command[0]):
                print("there is no %s" % command[0])
                continue
            process, _ = self.start(command)
            for name in objects:
                listed = subprocess.run([slots.SPEX, "probes", str(process.pid), "--functions", "func:%s:*:patch" % name, "--json"],
                                        capture_output=True, text=True, check=False, timeout=120)
                if listed.returncode:
                    print(listed.stderr)
                    continue
                found = json.loads(listed.stdout)
                patched = sum(one["site"] == "patch" and not one["refused"] for one in found)
                print("%s: %d of %d functions can be patched" % (name, patched, len(found)))
                self.assertGreater(patched, SHARE * len(found))

    def test_hundreds_of_functions_at_a_time(self):
        """The program has the right results, and its code is as it was."""
        if subprocess.run(["/usr/bin/python3", "-c", "import sqlite3"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("this python3 has no sqlite3")
        process, ready = self.start(REAL[0][0])
        self.assertEqual(ready, "ready\n")
        class Program:
            pid = str(process.pid)
        memory = slots.Program.memory(Program)
        for functions in ("func:libsqlite3*:*:patch", "func:python3*:P*:patch"):
            attached = Attached(Program, functions)
            changed = slots.Program.memory(Program)
            self.assertNotEqual(changed, memory)
            found = attached.stop()
            self.assertGreater(sum(one["site"] == "patch" for one in found["functions"]), 150)
            self.assertGreater(sum(one["count"] > 0 for one in found["probes"]), 50)
            self.assertEqual(slots.Program.memory(Program), memory)
        self.assertEqual(process.communicate("end\n", timeout=60)[0], "right\n")
        self.assertEqual(process.returncode, 0)


class PatchesTest(slots.SlotsTest):
    FUNCTION, SITE, WITHOUT, PROGRAM = "func:slotted_steps:patch", "patch", "not by a patch", ("steps",)
    # A call that would return -EINTR is made again by who stops its thread.
    WAITS = ("poll", "select", "sleep", "calls", "spin")

    def expect_way(self, attached):
        self.assertNotIn("by a breakpoint", attached.said)

    def count_patched(self, program, functions):
        """Functions that are counted by a patch; and what is said of others."""
        attached = Attached(program, functions)
        found = attached.stop()
        return [one["name"] for one in found["functions"] if one["site"] == self.SITE], attached.said

    def test_a_function_of_one_long_instruction(self):
        """What it has in memory is at a relative address."""
        program = slots.Program()
        self.addCleanup(program.kill)
        attached = Attached(program, "func:slotted:patch")
        self.expect_way(attached)
        program.do("call 1000")
        program.do("threads 80000")
        self.assertEqual(attached.count(), 81000)

    def test_calls_that_are_missed_are_named(self):
        """None is."""

    def test_calls_that_have_written_a_part(self):
        """They go on, and return what they would have; threads that wait in them can be stopped."""
        for waits in ("write", "semaphore"):
            self.program.do("wait 0 " + waits)
        memory = self.program.memory()
        for turn in range(4):
            attached = Attached(self.program, self.FUNCTION)
            self.expect_way(attached)
            attached.process.send_signal(signal.SIGKILL if turn % 3 == 2 else signal.SIGINT)
            attached.process.communicate()
            self.program.do("call 100")
        self.expect_restored(memory)

    def test_the_first_thread_ends(self):
        """The others go on, with the code as it was."""
        memory, attached = self.program.memory(), Attached(self.program, self.FUNCTION)
        self.expect_way(attached)
        self.program.tell("leave 0")
        self.program.do("call 100")
        process = self.program.pid
        state = ""
        while state != "Z":
            with open("/proc/%s/stat" % process, encoding="utf-8") as stat:
                state = stat.read().rpartition(")")[2].split()[0]
        self.program.pid = next(thread for thread in os.listdir("/proc/%s/task" % process) if thread != process)
        self.assertEqual(attached.count(), 100)
        now = self.program.memory()
        self.assertEqual([hex(start) for start in memory if now[start] != memory[start]], [])

    def test_functions_that_nobody_imports(self):
        """They can be patched; those that cannot be have a breakpoint."""
        patched, said = self.count_patched(self.program, "func:main:patch,func:_start:patch,func:slotted_within:patch")
        self.assertIn("main", patched)
        self.assertIn("slotted_within: by a breakpoint, not by a patch: one of its first instructions cannot be moved", said)

    def test_two_commands(self):
        """The second one sees code that is not the file's."""
        first = Attached(self.program, self.FUNCTION)
        second = subprocess.run([slots.SPEX, "attach", self.program.pid, "-e", self.FUNCTION, "--for", "0.1"], capture_output=True,
                                text=True, check=False, timeout=60)
        self.assertNotEqual(second.returncode, 0)
        self.assertIn("its code in memory is not the file's", second.stderr)
        self.program.do("call 100")
        self.assertEqual(first.count(), 100)

    def test_breakpoints_in_its_first_instructions(self):
        """An address that is named keeps it from being patched; of one that is patched none can be named."""
        library = os.path.join(os.path.dirname(slots.SLOTS), "libslotted.so")
        symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
        address, = (line.split()[0] for line in symbols.splitlines() if line.endswith(" slotted_steps"))
        inside = "func:libslotted.so+0x%x" % (int(address, 16) + 5)
        both = Attached(self.program, "%s,%s" % (self.FUNCTION, inside))
        self.assertIn("not by a patch: something else is looked at in its first instructions", both.said)
        self.program.do("call 100")
        self.assertEqual([one["count"] for one in both.stop()["probes"]], [100, 100])
        first = Attached(self.program, self.FUNCTION)
        second = subprocess.run([slots.SPEX, "attach", self.program.pid, "-e", inside, "--for", "0.1"], capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertIn("its code in memory is not the file's", second.stderr)
        self.program.do("call 100")
        self.assertEqual(first.count(), 100)

    def test_killed_while_its_instructions_are_hot(self):
        """Threads are in the first instructions, and in handlers of signals which have interrupted them."""
        self.program.do("wait 0 calls")
        self.program.do("signals 0")
        memory = self.program.memory()
        for turn in range(40):
            attached = Attached(self.program, self.FUNCTION)
            attached.process.send_signal(signal.SIGKILL if turn % 2 else signal.SIGINT)
            attached.process.communicate()
            self.program.do("call 100")
        self.expect_restored(memory)

    def test_children_can_be_looked_at(self):
        """They have the pages of their parent, and code as it was when they were made."""
        attached = Attached(self.program, self.FUNCTION)
        self.program.tell("child 0")
        child = int(self.program.process.stdout.readline())
        self.assertEqual(self.program.do("call 3")[0], 3)
        class Child:
            pid = str(child)
        self.assertEqual(attached.count(), 3)
        second = Attached(Child, self.FUNCTION)
        self.assertIn("put back 1 slot or patch", second.said)
        self.expect_way(second)
        os.kill(child, signal.SIGUSR1)
        self.assertEqual(int(self.program.process.stdout.readline()), 1000)
        self.assertEqual(second.count(), 1000)

    def test_listed(self):
        functions = "func:libslotted*:slotted*:patch"
        table = subprocess.run([slots.SPEX, "probes", self.program.pid, "--functions", functions], capture_output=True, text=True,
                               check=True, env=dict(os.environ, COLUMNS="1000"))
        self.assertRegex(table.stdout, r"slotted_steps +(libslotted.so +)?patch +patch +[\d.]+ ns")
        self.assertIn("slotted_within: by a breakpoint, not by a patch: one of its first instructions cannot be moved", table.stdout)

    def test_slots_have_no_times(self):
        result = subprocess.run([slots.SPEX, "train", os.path.join(self.dir, "models"), "--pid", self.program.pid, "-e", self.FUNCTION],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("nor do patches", result.stderr)

    def test_a_note_names_it(self):
        """Where breakpoints are too dear to tell."""
        self.program.do("wait 0 calls")
        said = subprocess.run([slots.SPEX, "attach", self.program.pid, "-e", "func:slotted_steps", "--for", "5"], capture_output=True,
                              text=True, check=True, timeout=60)
        self.assertRegex(said.stdout + said.stderr,
                         r"slotted_steps: func:slotted_steps:patch would count its executions, for [\d.]+ ns each\n")

    def test_malformed(self):
        for functions, why in (("func:slotted(n):patch", "without arguments"), ("usdt:a:b:patch", "a patch counts a function"),
                               ("func:slots+0x10:patch", "by its name")):
            result = subprocess.run([slots.SPEX, "attach", self.program.pid, "-e", functions], capture_output=True, text=True,
                                    check=False)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(why, result.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    slots.SLOTS = sys.argv.pop(2)
    Attached.spex = slots.SPEX = sys.argv.pop(1)
    if os.uname().machine != "x86_64":
        print("SKIP: trampolines are for x86-64")
        sys.exit(77)
    unittest.main()
