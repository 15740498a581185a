#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`spex record --flight`: what asks for a dump gets one that babeltrace2 reads and that has what came before; memory is
bounded; nothing is left behind. Debian's Python has the module of babeltrace2, so that one runs this.

usage: flight.py SPEX RECORDED [unittest arguments]
"""

import json
import os
import random
import re
import shutil
import signal
import statistics
import struct
import subprocess
import time

from launched import RUNS, SPEX, wait_for
from recorders import BRIEF, Recorder, main, traces

DUMP = re.compile(r"^spex: dump \((.*)\): (\d+) records of ([\d.]+) s, (\d+) lost, .* in (\S+?)(;.*)?$", re.MULTILINE)
MARK = 7
SLOW_SECONDS, BEFORE, CLOCKS_NS = 0.5, 10, 1_000_000
MODEL = """spex-models 3
kernel outer
executions 600
least 2e-4
parameters 1
parameter 1 1 n
class linear
adjusted-r2 1
spread 0 0.1 500
constant 0 0
changes 0 0
terms 1
term 0 3e-4 0 12:0
covariance 0 0
covariance 0 0
points 0
end 1
"""
KILLS = 10 if BRIEF else 30  # 100 by hand: what is rare is found by many


class Flight(Recorder):
    def setUp(self):
        super().setUp()
        self.environment["SPEX_CONTROL"] = self.path("control")

    def program_of(self, process):
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="utf-8") as file:
            return int(file.read().split()[0])

    def wait_for_dump(self, number=1):
        """The records of a dump are in its files when the clocks have been read at its end, behind the mark."""
        wait_for(lambda: len(self.folders()) >= number and all(
            MARK in [kind for kind, _, _ in self.journal(folder)][:-1] for folder in self.folders()))

    def told_of_dump(self, process):
        """What it says until it has told of a dump: all files of that are complete."""
        told = ""
        while not DUMP.search(told):
            line = process.stderr.readline()
            self.assertNotEqual(line, "", told)
            told += line
        return told

    def journal(self, folder):
        path = os.path.join(folder, ".spex", "journal")
        return traces.journal(folder) if os.path.exists(path) else []

    def marks(self, folder):
        return [data[8:].decode() for kind, _, data in self.journal(folder) if kind == MARK]

    def marked(self, mark):
        """The folders of dumps with this mark."""
        return [folder for folder in self.folders() if mark in self.marks(folder)]

    def dumps(self, said):
        """Reason, records, lost ones, folder; each agrees with what babeltrace2 reads."""
        found = [(why, int(records), int(lost), folder) for why, records, _, lost, folder, _ in DUMP.findall(said)]
        found.sort(key=lambda dump: dump[3])
        self.assertEqual(len(found), len(self.folders()), said)
        for why, records, lost, folder in found:
            self.assertEqual(traces.count(folder), (records, lost))
            self.assertTrue(self.marks(folder)[0].startswith("dump: " + why))
            stats = subprocess.run([SPEX, "stats", "--json", folder], stdout=subprocess.PIPE, check=True, env=self.environment)
            totals = json.loads(stats.stdout)["processes"][0]["records"]
            self.assertGreaterEqual(totals["consumed"], records)
            self.assertGreaterEqual(totals["produced"], totals["consumed"])
        return found

    def ask(self, *arguments):
        return subprocess.run([SPEX, "dump", *arguments], capture_output=True, text=True, check=False,
                              env=self.environment)

    def say(self, process, text):
        process.stdin.write(text + "\n")
        process.stdin.flush()
        return process.stdout.readline()


class Triggers(Flight):
    def test_nothing_is_written_without_a_dump(self):
        process = self.start("--flight", "5s", "--", "recorded", "exact", "2000")
        output, said = process.communicate()
        self.assertEqual((process.returncode, output), (0, "made 4000\n"), said)
        self.assertIn("keeps the last 5 s, in at most 64", said)
        self.assertIn("4000 records, 0 lost, 0 dumps\n", said)
        self.assertFalse(os.path.exists(self.path("t")))

    def test_the_program_asks(self):
        process = self.start("--flight", "60s", "--", "recorded", "asks", "1000")
        self.assertEqual(self.say(process, "first reason"), "0\n")
        self.wait_for_dump()
        output, said = process.communicate("second reason\n")
        self.assertEqual((process.returncode, output), (0, "0\nmade 2002\n"), said)
        dumps = self.dumps(said)
        self.assertEqual([dump[:3] for dump in dumps], [("first reason", 1001, 0), ("second reason", 2002, 0)])
        for number, dump in enumerate(dumps):
            events, _ = traces.read(dump[3])
            self.assertEqual([event.fields["v0"] for event in events if event.name == "recorded:8"],
                             list(range(number + 1)))

    def test_a_signal(self):
        process = self.start("--flight", "5s", "--", "recorded", "endless")
        process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        self.wait_for_dump()
        _, said = process.communicate("\n")
        self.assertEqual(process.returncode, 0, said)
        [(why, records, _, _)] = self.dumps(said)
        self.assertEqual(why, "SIGUSR1")
        self.assertGreater(records, 0)

    def test_a_command(self):
        process = self.start("--flight", "5s", "--", "recorded", "endless")
        process.stdout.readline()
        program = self.program_of(process)
        result = self.ask(str(program), "slow\x1b since noon")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.wait_for_dump()
        _, said = process.communicate("\n")
        [(why, records, _, _)] = self.dumps(said)
        self.assertEqual(why, "slow? since noon")
        self.assertGreater(records, 0)

    def test_rings_cannot_be_cut_off(self):
        """Memory behind the end of a file is a signal to who uses it."""
        process = self.start("--flight", "5s", "--", "recorded", "endless")
        process.stdout.readline()
        folder = "/proc/%d/fd" % self.program_of(process)
        files = [os.path.join(folder, name) for name in os.listdir(folder)]
        rings = [path for path in files if os.readlink(path).startswith("/memfd:spex-rings")]
        self.assertEqual(len(rings), 1)
        self.assertRaises(PermissionError, os.truncate, rings[0], 0)
        process.communicate("\n")
        self.assertEqual(process.returncode, 0)

    def test_nobody_records(self):
        with subprocess.Popen([RUNS, "endless"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=self.environment) as program:
            program.stdout.readline()
            result = self.ask(str(program.pid))
            program.communicate("\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nobody records this program", result.stderr)

    def test_a_trace_on_disk_gets_a_mark(self):
        process = self.start("--", "recorded", "asks", "10")
        process.communicate("look here\n")
        self.assertEqual(self.marks(self.folders()[0]), ["look here"])

    def test_the_program_is_killed(self):
        process = self.start("--flight", "5s", "--", "recorded", "endless")
        process.stdout.readline()
        os.kill(self.program_of(process), signal.SIGKILL)
        _, said = process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL)
        [(why, records, _, _)] = self.dumps(said)
        self.assertIn("without stopping spex", why)
        self.assertGreater(records, 0)

    def test_the_program_aborts(self):
        process = self.start("--flight", "60s", "--", "recorded", "aborts", "1000")
        _, said = process.communicate()
        self.assertEqual(process.returncode, -signal.SIGABRT)
        [(_, records, _, _)] = self.dumps(said)
        self.assertEqual(records, 1000)

    def test_records_up_to_the_last_instant(self):
        """Of each thread all are there that it has counted when it died, and at most one more."""
        signals = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)
        for kill in range(KILLS):
            shutil.rmtree(self.path("t"), ignore_errors=True)
            self.die_of(signals[kill % len(signals)], ["--flight", "60s"] if kill % 2 else [])

    def die_of(self, number, arguments):
        # A report of ThreadSanitizer takes seconds, in which the other thread goes on.
        self.environment["TSAN_OPTIONS"] = "handle_segv=0:handle_abort=0:" + os.environ.get("TSAN_OPTIONS", "")
        process = self.start(*arguments, "--", "recorded", "counted", self.path("counters"))
        self.assertEqual(process.stdout.readline(), "ready\n")
        least = random.randrange(2000)
        wait_for(lambda: min(self.counters()) > least)
        os.kill(self.program_of(process), number)
        _, said = process.communicate()
        counted = self.counters()
        os.unlink(self.path("counters"))
        self.assertIn(" records, 0 lost, ", said)
        self.assertEqual("without stopping spex" in said, bool(arguments))
        events, discarded = traces.read(self.path("t"))
        self.assertEqual(discarded, 0, said)
        for thread, made in enumerate(reversed(counted)):
            found = [event.fields["v1"] for event in events if event.fields["v0"] == thread]
            self.assertIn(len(found), (made, made + 1), said)
            self.assertEqual(found, list(range(len(found))))

    def counters(self):
        with open(self.path("counters"), "rb") as file:
            return struct.unpack("2L", file.read(16))

    def test_a_process_that_runs(self):
        with subprocess.Popen([RUNS, "asks", "1000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=self.environment) as program:
            self.say(program, "unheard")  # it has started spex
            recorder = subprocess.Popen([SPEX, "record", "-o", self.path("t"), "--flight", "5s", "--pid", str(program.pid)],
                                        stderr=subprocess.PIPE, text=True, env=self.environment)
            self.addCleanup(recorder.stderr.close)
            # The recorder has asked for probes and for records, in either order, when some are on and a dump
            # is not refused.
            # One that waits for input executes no probe, and may answer when it does.
            wait_for(lambda: self.say(program, "before") and re.search('"sites_on": [1-9]', subprocess.run(
                [SPEX, "list", "--json"], capture_output=True, text=True, check=False, env=self.environment).stdout))
            wait_for(lambda: self.say(program, "early") == "0\n")
            wait_for(lambda: self.say(program, "attached") == "0\n")
            wait_for(lambda: self.marked("dump: attached"))
            recorder.send_signal(signal.SIGINT)
            self.assertEqual(recorder.wait(), 0)
            program.communicate("\n")
        [folder] = self.marked("dump: attached")
        self.assertGreater(traces.count(folder)[0], 0)


class Armed(Flight):
    def watch_found(self):
        """What watch has told of an execution that took as long as a slow one."""
        with open(self.path("told"), encoding="utf-8") as file:
            told = [json.loads(line) for line in file if line.endswith("\n")]
        return [event for event in told if event["event"] == "begins" and event["seconds"] >= SLOW_SECONDS]

    def slow_once(self, process):
        """When it began and ended, by the program."""
        return tuple(map(int, self.say(process, "").split()))

    def test_an_anomaly_asks(self):
        with open(self.path("models"), "w", encoding="utf-8") as file:
            file.write(MODEL)
        process = self.start("--flight", "3600s", "--", "recorded", "slow")
        self.assertEqual(process.stdout.readline(), "ready\n")
        with open(self.path("said"), "w", encoding="utf-8") as said:
            watch = subprocess.Popen([SPEX, "watch", self.path("models"), "--pid", str(self.program_of(process)), "--alarms",
                                      "1e-3", "--dump", "--json", "-o", self.path("told")], stderr=said,
                                     env=self.environment)
        self.addCleanup(self.end, watch)
        wait_for(lambda: os.path.exists(self.path("told")))
        # It may not be attached yet, and a busy machine may have made others slow.
        slow = []
        wait_for(lambda: slow.append(self.slow_once(process)) or self.watch_found())
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(), 3, self.text("said"))
        _, said = process.communicate()
        self.assertEqual(process.returncode, 0, said)
        found = {"dump: anomaly %d: outer took " % event["number"] for event in self.watch_found()}
        dumps = [folder for _, _, _, folder in self.dumps(said)
                 if any(mark.startswith(one) for mark in self.marks(folder) for one in found)]
        self.assertTrue(dumps, said)
        self.assertTrue(any(self.holds(folder, begin, end) for folder in dumps for begin, end in slow), said)

    def holds(self, folder, begin, end):
        """The dump has the slow execution, and some of before."""
        events, _ = traces.read(folder)
        usual = statistics.median(event.fields["ticks"] for event in events)
        slow = [event for event in events
                if begin < event.nanoseconds < end + CLOCKS_NS and event.fields["ticks"] > 100 * usual]
        return len(slow) == 1 and sum(event.nanoseconds <= begin for event in events) >= BEFORE


class Limits(Flight):
    def test_only_the_last_seconds(self):
        process = self.start("--flight", "1s", "--", "recorded", "asks", "100")
        self.assertEqual(self.say(process, "one"), "0\n")
        self.wait_for_dump()
        time.sleep(1.2)
        _, said = process.communicate("two\n")
        self.assertEqual([dump[:2] for dump in self.dumps(said)], [("one", 101), ("two", 101)])

    def test_memory_is_bounded(self):
        process = self.start("--flight", "3600s", "--memory", "4M", "--", "recorded", "aborts", "300000")
        _, said = process.communicate()
        [(_, records, _, _)] = self.dumps(said)
        # A latency takes 40 bytes.
        self.assertLess(records, (4 << 20) / 40)
        self.assertGreater(records, 0)
        self.assertIn("more did not fit into --memory", said)

    def test_many_requests(self):
        process = self.start("--flight", "3600s", "--dumps", "1", "--", "recorded", "asks", "10")
        self.assertEqual(self.say(process, "one"), "0\n")
        self.wait_for_dump()
        _, said = process.communicate("two\n")
        self.assertEqual([dump[:2] for dump in self.dumps(said)], [("one", 11)])
        self.assertIn("1 more dumps were asked for: --dumps 1 was the limit", said)

    def test_two_programs(self):
        process = self.start("--flight", "60s", "--", "sh", "-c",
                             "%s exact 100 & %s aborts 200 & wait" % (RUNS, RUNS))
        _, said = process.communicate()
        [(why, records, _, _)] = self.dumps(said)
        self.assertIn("without stopping spex", why)
        self.assertEqual(records, 200)
        self.assertIn("400 records, 0 lost, 1 dumps", said)

    def test_kill_the_recorder(self):
        process = self.start("--flight", "5s", "--", "recorded", "asks", "1000")
        self.say(process, "one")
        self.told_of_dump(process)
        before = traces.count(self.path("t"))
        process.kill()
        output, _ = process.communicate()
        self.assertEqual(output, "made 1001\n")
        self.assertEqual(traces.count(self.path("t")), before)
        # Memory is the only place where it keeps records.
        self.assertEqual(len(self.folders()), 1)

    def test_no_room_for_a_dump(self):
        process = self.start("--flight", "5s", "--", "recorded", "asks", "10")
        self.say(process, "one")
        told = self.told_of_dump(process)
        os.rename(self.path("t"), self.path("gone"))
        output, said = process.communicate("two\n")
        self.assertEqual((process.returncode, output), (1, "0\nmade 22\n"))
        self.assertIn("dump: no trace can be written in", said)
        self.assertIn("22 records, 0 lost, 1 dumps in ", said)

    def test_wrong_options(self):
        for wrong in (["--flight", "5"], ["--flight", "0s"], ["--memory", "64M"], ["--dumps", "3"],
                      ["--flight", "5s", "--keep", "1G"], ["--flight", "5s", "--memory", "1k"],
                      ["--flight", "5s", "--dumps", "0"]):
            result = self.run_it(*wrong, "--", "recorded", "kernels")
            self.assertEqual((result.returncode, result.stdout), (2, ""), wrong)
            self.assertRegex(result.stderr, r"\Aspex: record: .*expected.*\n")


if __name__ == "__main__":
    main()
