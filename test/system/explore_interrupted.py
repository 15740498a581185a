#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Explorations that are interrupted, killed, paused, and begun twice.

usage: explore_interrupted.py SPEX SUBJECT [unittest arguments]
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from exploration import Exploration, MANY, PATIENCE, space, SPEX, subjects, WORK

COLUMNS = 60


class Interruption(Exploration):
    TEXT = space(MANY, run='trials_per_config="3" warmup="0.01" finals="none"')

    def explore_on_terminal(self):
        """Starts an exploration on a terminal of its own, which is narrow."""
        pid, terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
            os.execve(SPEX, [SPEX, *self.command(self.TEXT)], self.environment)
        self.addCleanup(os.close, terminal)
        return pid, terminal

    def wait_for(self, terminal, pattern):
        """Reads the terminal until the pattern has appeared."""
        seen = b""
        while not re.search(pattern, seen):
            try:
                more = os.read(terminal, 4096)
            except OSError:
                more = b""
            self.assertTrue(more, f"ended before {pattern}: {seen[-300:]}")
            seen += more
        return seen

    def finished(self):
        return self.rows("SELECT number, status, value FROM trial LEFT JOIN trial_measured ON trial = number "
                         "ORDER BY number")

    def assert_goes_on(self, finished):
        result = self.explore(self.TEXT)
        self.assertEqual(result.returncode, 0, result.stderr)
        after = self.finished()
        self.assertEqual(len(after), 180)
        self.assertEqual(after[:len(finished)], finished)
        configurations = self.rows("SELECT value, count(*) FROM trial_value GROUP BY value")
        self.assertEqual({count for _, count in configurations}, {3})
        self.assert_nothing_left()

    def test_a_space_that_nobody_writes(self):
        pipe, store = os.path.join(self.dir, "pipe"), os.path.join(self.dir, "unused.db")
        os.mkfifo(pipe)
        command = subprocess.Popen([SPEX, "explore", pipe, "--store", store, "--", "true"], stderr=subprocess.PIPE, text=True)
        blocked = 0
        while not blocked & 1 << signal.SIGTERM - 1:
            with open(f"/proc/{command.pid}/status", encoding="utf-8") as status:
                blocked = int(re.search(r"SigBlk:\t(\w+)", status.read())[1], 16)
        command.terminate()
        self.assertEqual(command.communicate()[1], "spex: interrupted; no trial has begun\n")
        self.assertEqual((command.returncode, os.path.exists(store)), (130, False))

    def test_control_c_keeps_what_is_finished(self):
        pid, terminal = self.explore_on_terminal()
        seen = self.wait_for(terminal, rb"\b[4-9]/180 trials")
        self.assertRegex(seen, rb"\[#*\.+\] \d+/180 trials, .*left.*best [0-9.]+( k)?/s: work=")
        os.write(terminal, b"\x03")
        seen += self.wait_for(terminal, rb"(?s)interrupted; (\d+) of 180 trials are in.*\nnext: spex report ")
        # The bar is gone, and what comes next is told.
        self.assertRegex(seen, rb"\r\x1b\[Kspex: interrupted; .*\nspex: best [^\n]*\n( [^\n]*\n)*next: ")
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 130)
        lines = [line for line in re.findall(r"[^\r\n]+", re.sub(r"\x1b\[K|\^C", "", seen.decode())) if "interrupted" not in line]
        self.assertLessEqual(max(map(len, lines)), COLUMNS)
        finished = self.finished()
        told = int(re.search(rb"interrupted; (\d+) of", seen)[1])
        self.assertEqual(len(finished), told)
        self.assertLess(told, 180)
        self.assert_nothing_left()
        self.assert_goes_on(finished)

    def test_a_killed_exploration_goes_on_where_it_was(self):
        pid, terminal = self.explore_on_terminal()
        self.wait_for(terminal, rb"\b[3-9]/180 trials")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        # The program is killed by the kernel, which may take a moment.
        self.until(lambda: not subjects(self.dir), "the program outlived its explorer")
        self.assert_goes_on(self.finished())

    def test_a_pause_fails_no_trial(self):
        text = space(WORK, run='records_per_thread="2000" warmup="0" duration="3" trials_per_config="2"')
        with open(os.path.join(self.dir, "log"), "w", encoding="utf-8") as log:
            explorer = subprocess.Popen([SPEX, *self.command(text)], env=self.environment,
                                        stderr=log)
        self.until(lambda: subjects(self.dir))
        os.kill(explorer.pid, signal.SIGSTOP)
        # Longer than the duration, and than the program tries to send: the pause is the test.
        time.sleep(5)
        os.kill(explorer.pid, signal.SIGCONT)
        self.assertEqual(explorer.wait(PATIENCE), 0)
        self.assertEqual([t["status"] for t in self.report()["trials"]], ["ok"] * 4)
        self.assert_nothing_left()

    def test_two_explorations_of_one_store(self):
        pid, terminal = self.explore_on_terminal()
        self.wait_for(terminal, rb"\b[1-9]/180 trials")
        self.assert_fails(self.explore(self.TEXT), 1, "in use by another exploration")
        # A report does not disturb the one that runs, nor it the report.
        self.assertGreaterEqual(len(self.report()["trials"]), 1)
        os.write(terminal, b"\x03")
        self.wait_for(terminal, rb"interrupted")
        os.waitpid(pid, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
