#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex explore A B`: which of two commands is better.

usage: explore_versus.py SPEX SUBJECT [unittest arguments]
"""

import json
import os
import signal
import subprocess
import sys
import unittest

from exploration import Exploration, SPEX


def core_of(cpu):
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="ascii") as file:
            return file.read()
    except OSError:
        return cpu


TWO_CORES = len({core_of(cpu) for cpu in os.sched_getaffinity(0)}) >= 2


class Versus(Exploration):
    def compare(self, a, b, *options):
        result = self.spex("explore", a, b, *options, cwd=self.dir)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_nothing_left()
        return result

    def json(self, a, b, *options):
        return json.loads(self.compare(a, b, "--json", *options).stdout)

    def test_the_faster_one_is_told(self):
        # However busy the machine is, a run of A takes longer.
        result = self.compare("sleep 0.5", "true", "--for", "60s")
        self.assertRegex(result.stderr, r"spex: B is [\d.k ]+ times as fast as A \(95 %: .+ to .+\), after \d+ runs each\n")
        self.assertRegex(result.stdout, r"^ +wall time +95 % +runs +command\nA +.+ m?s +.+ to .+ m?s +\d+  sleep 0\.5\nB +.+ true\n$")

    def test_figures_without_noise_are_known_at_once(self):
        of = self.json("echo ops: 10", "echo ops: 25", "--maximise", "output=ops: ([0-9]+)")
        self.assertEqual(of["better"], "b")
        self.assertEqual((of["a"]["runs"], of["b"]["runs"], of["ratio"]["pairs"]), (10, 10, 10))
        for end in "value", "low", "high":
            self.assertAlmostEqual(of["ratio"][end], 2.5)
        self.assertEqual(of["a"]["median"], {"value": 10, "low": 10, "high": 10})
        self.assertEqual(of["verdict"], "B is better: its output ops: ([0-9]+) is 2.5 times that of A "
                                        "(95 %: 2.5 to 2.5), after 10 runs each")
        of = self.json("echo ops: 10", "echo ops: 25", "--minimise", "output=ops: ([0-9]+)")
        self.assertEqual(of["better"], "a")
        of = self.json("echo 3", "echo 3", "--minimise", "output=([0-9]+)")
        self.assertEqual((of["better"], of["duet"]), ("same", False))
        self.assertIn("the same within 1 %: B to A is 1 to 1 (95 %), after 10 runs each", of["verdict"])

    def test_noise_that_hides_it_is_told(self):
        noisy = 'echo $(od -An -N2 -tu2 /dev/urandom | tr -d " ")5'
        of = self.json(noisy, noisy, "--minimise", "output=([0-9]+)", "--for", "2s")
        self.assertLess(of["ratio"]["low"], of["ratio"]["high"])
        if of["better"] == "unknown":
            self.assertRegex(of["verdict"], "^cannot tell: ")

    def test_too_little_time_is_told(self):
        result = self.compare("sleep 0.2", "sleep 0.2", "--for", "100ms")
        self.assertEqual(result.stderr, "spex: cannot tell: 1 run each, of 9 that are needed; --for gives more time\n")

    def test_commands_are_lines_of_the_shell(self):
        os.mkdir(self.dir + "/a folder")
        of = self.json("cd 'a folder' && echo {x} ${HOME:+1} | tr -d '{}x '", "echo 2 >&2; echo 2",
                       "--minimise", "output=([0-9]+)")
        self.assertEqual([of[side]["median"]["value"] for side in "ab"], [1, 2])

    def test_memory_below_that_of_spex_is_not_told(self):
        result = self.compare("true", "head -c1 /dev/zero", "--minimise", "memory")
        self.assertEqual(result.stderr, "spex: cannot tell: both need less memory than spex itself has\n")
        large = "exec python3 -c 'b = bytearray(100 << 20)'"
        of = self.json("true", large, "--minimise", "memory", "--for", "10s")
        self.assertGreater(of["b"]["median"]["value"], 100 << 20)

    def test_an_interruption_tells_what_there_is(self):
        counted = self.dir + "/counted"
        process = subprocess.Popen([SPEX, "explore", f"echo >> {counted}; sleep 0.01", "sleep 0.01", "--for", "1h"],
                                   env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.until(lambda: os.path.exists(counted) and os.path.getsize(counted) > 5 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        if process.returncode:  # it may have been decided before
            self.assertEqual(process.returncode, 130)
        self.assertRegex(out, "wall time")
        self.assertRegex(err, "spex: ")
        self.assert_nothing_left()

    @unittest.skipUnless(TWO_CORES, "one core")
    def test_duet_runs_both_at_a_time_on_other_cpus(self):
        line = ("begin=$(date +%s%N); sleep 0.3; "
                "echo {} $begin $(date +%s%N) $(sed -n s/Cpus_allowed_list:.//p /proc/self/status) >> log; echo 4")
        of = self.json(line.format("a"), line.format("b"), "--duet", "--minimise", "output=([0-9]+)", "--for", "60s")
        self.assertEqual((of["better"], of["duet"], of["disturbed"]), ("same", True, False))
        self.assertEqual((of["a"]["runs"], of["ratio"]["pairs"]), (20, 10))
        self.assertEqual(of["beside"]["value"], 1)
        with open(self.dir + "/log", encoding="ascii") as log:
            runs = [line.split(maxsplit=3) for line in log]
        cpus = {side: {where for who, _, _, where in runs if who == side} for side in "ab"}
        self.assertEqual(cpus["a"], cpus["b"])
        self.assertEqual(len(cpus["a"]), 2)
        together = [(one, other) for one in runs for other in runs
                    if one[0] == "a" and other[0] == "b" and one[1] < other[2] and other[1] < one[2]]
        self.assertGreater(len(together), 0)
        for one, other in together:
            self.assertNotEqual(one[3], other[3])

    def test_what_is_wrong_is_told_in_one_line(self):
        cases = (
            (["exit 3", "true"], 1, "A cannot be measured: exited with status 3"),
            (["true", "./none"], 1, "B cannot be measured: exited with status 127: "),
            (["echo 0", "echo 1", "--minimise", "output=([0-9]+)"], 1,
             "a figure above 0 was expected of A, not 0: there is no ratio otherwise"),
            (["true", "true", "--minimise", "wall", "--minimise", "cpu"], 2,
             "one --minimise or --maximise was expected"),
            (["true", "true", "--minimise", "x"], 2, "--minimise x: wall, cpu, memory, faults, switches, "),
            (["true", "true", "--store", "x.db"], 2,
             "--minimise, --maximise, --for, --duet and --json alone were expected with two commands"),
            (["true", "true", "--", "true"], 2, 'one space was expected before "-- PROGRAM"'),
            (["space.xml", "./program"], 2,
             'a program goes after "--": SPACE.xml --store FILE.db -- PROGRAM was expected'),
            (["--duet", "--set", "n=1..2", "--", "true", "{n}"], 2,
             "--duet and --json were expected with two commands alone"),
        )
        for arguments, status, expected in cases:
            with self.subTest(expected):
                result = self.spex("explore", *arguments, cwd=self.dir)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn("spex: explore: " + expected, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
