#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`spex record`: what babeltrace2 reads is what the program has recorded, however either of them ends. Debian's Python has
the module of babeltrace2, so that one runs this.

usage: record.py SPEX RECORDED [unittest arguments]
"""

import glob
import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

from launched import NOBODY, PATIENCE, RUNS, SKIP, SPEX, wait_for
from recorders import BRIEF, EMULATED, Recorder, main, traces

KILLS = 10 if BRIEF else 50
KILLED = {"seconds": None, "why": "its writer was killed, or still writes"}
TOLD = re.compile(r"^spex: (\d+) records, (\d+) lost, .* in (\S+?)(; older ones, .* removed)?$", re.MULTILINE)


class Recorded(Recorder):
    def wait_for_removal(self, program):
        """Until so much has been recorded of an endless program that the oldest file of a CPU was removed."""
        self.assertEqual(program.stdout.readline(), "ready\n")
        first = wait_for(lambda: glob.glob(self.path("t/*/cpu_*_0")))
        wait_for(lambda: not all(map(os.path.exists, first)))

    def told(self, text):
        """How many records the command says that there are, and how many that were lost."""
        found = TOLD.search(text)
        self.assertTrue(found, text)
        return int(found[1]), int(found[2])

    def table(self):
        return json.loads(subprocess.run([SPEX, "stats", "--json", self.path("t")], check=True, capture_output=True,
                                         timeout=PATIENCE).stdout)

    def expect(self, result, made):
        """All agree on how many records were made."""
        self.assertEqual((result.returncode, result.stdout), (0, "made %d\n" % made), result.stderr)
        records, lost = self.told(result.stderr)
        self.assertEqual(records + lost, made)
        self.assertEqual(traces.count(self.path("t")), (records, lost))
        events, discarded = traces.read(self.path("t"))
        self.assertEqual((len(events), discarded), (records, lost))
        return events


class Contents(Recorded):
    def test_every_record_is_there_or_lost(self):
        events = self.expect(self.run_it("--", "recorded", "exact", "2000"), 4000)
        self.assertEqual({event.name for event in events}, {"recorded:request"})
        self.assertEqual(len({event.thread for event in events}), 2)
        times = [event.nanoseconds for event in events]
        self.assertEqual(times, sorted(times))

    def test_what_is_lost_is_counted(self):
        self.expect(self.run_it("--", "recorded", "fast", "300000", SPEX_RING_RECORDS="128"), 300000)

    def test_nothing_to_record(self):
        result = self.run_it("--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.splitlines(), [
            "spex: nothing was recorded: no process has switched a probe on",
            "spex: " + NOBODY % "true" + " the SPEX_OUT that it was started with, or works in the child of a fork "
            "(--follow-forks), or goes on as a daemon, which spex set reaches; --preload brings spex to a program without it "
            "whose libraries have probes, such as Python with extension modules"])
        self.assertFalse(os.path.exists(self.path("t")))

    def test_several_collectors(self):
        self.expect(self.run_it("--", "recorded", "exact", "2000", SPEX_COLLECTORS="3"), 4000)

    def test_times_are_those_of_the_clock(self):
        self.expect(self.run_it("--", "recorded", "clocked", "2000"), 4000)
        events, _ = traces.read(self.path("t"))
        before = {event.fields["v0"]: event for event in events if event.name == "recorded:8"}
        after = {event.fields["v0"]: event for event in events if event.name == "recorded:9"}
        off = []
        for number in before.keys() & after.keys():
            event = before[number]
            low, high = event.fields["v1"], after[number].fields["v1"]
            self.assertLess(low, high)
            off.append(max(low - event.nanoseconds, event.nanoseconds - high, 0))
        self.assertGreater(len(off), 0)
        # An emulator's counter of ticks is not the clock.
        if not EMULATED:
            self.assertLess(max(off), 2000)

    def test_kernels_have_parameters_and_contexts(self):
        events = self.expect(self.run_it("--", "recorded", "kernels"), 21)
        inner = [event.fields for event in events if event.name == "recorded:inner"]
        outer = [event.fields for event in events if event.name == "recorded:outer"]
        self.assertEqual([fields["n"] for fields in outer], list(range(10)))
        self.assertEqual([(fields["n"], fields["n___m"]) for fields in inner],
                         [(n, n + 1) for n in [*range(10), 1 << 40]])
        self.assertEqual(len({fields["context"] for fields in outer}), 1)
        self.assertEqual(len({fields["context"] for fields in inner}), 2)
        told = {}
        for kind, size, data in traces.journal(self.folders()[0]):
            for at in range(0, len(data), size) if kind == 2 else []:
                number, parent, _ = struct.unpack_from("=III", data, at)
                told[number] = parent
        self.assertEqual(told[inner[0]["context"]], outer[0]["context"])
        self.assertEqual(told[inner[-1]["context"]], 1)

    def test_each_process_has_a_trace(self):
        result = self.run_it("--", "recorded", "workers", "3")
        if result.returncode == SKIP:
            self.skipTest("a sanitizer allows no forks")
        events = self.expect(result, 4000)
        self.assertEqual(len(self.folders()), 4)
        self.assertEqual(len({event.thread for event in events}), 4)

    def test_the_journal_has_profiles_to_the_end(self):
        self.expect(self.run_it("--", "recorded", "exact", "1000"), 2000)
        kinds = [kind for kind, _, _ in traces.journal(self.folders()[0])]
        self.assertEqual(set(kinds) - {7}, {1, 3, 4, 5, 6})
        profiles = [data for kind, _, data in traces.journal(self.folders()[0]) if kind == 5]
        # Behind the time: struct spex_control_frame, and of struct spex_profile_process `produced` and so on.
        self.assertEqual(struct.unpack_from("=H", profiles[-1], 8 + 6), (16,))
        produced, consumed, lost = struct.unpack_from("=QQQ", profiles[-1], 8 + 32 + 56)
        self.assertEqual((produced, consumed + lost), (2000, 2000))

    def test_a_selection(self):
        result = self.run_it("-e", "8", "--", "recorded", "clocked", "100")
        self.assertEqual(self.told(result.stderr), (100, 0))
        self.assertEqual(traces.count(self.path("t")), (100, 0))

    def test_a_budget_holds_in_the_program(self):
        result = self.run_it("-b", "1%", "--", "recorded", "fast", "3000000")
        records, lost = self.told(result.stderr)
        self.assertLess(records + lost, 3000000)
        self.assertEqual(traces.count(self.path("t")), (records, lost))


class Files(Recorded):
    def test_rotation_by_size(self):
        self.expect(self.run_it("--rotate", "64k", "--", "recorded", "exact", "60000"), 120000)
        sizes = [os.path.getsize(os.path.join(self.folders()[0], name))
                 for name in os.listdir(self.folders()[0]) if name.startswith("cpu_")]
        self.assertGreater(len(sizes), 4)
        self.assertLessEqual(max(sizes), 65536)

    def stats(self, *part):
        return subprocess.run([SPEX, "stats", self.path("t"), *part], capture_output=True, text=True, check=False)

    def executions(self, *part):
        (process,) = json.loads(self.stats(*part, "--json").stdout)["processes"]
        return sum(probe["count"] for probe in process["probes"])

    def between_records(self, low, high):
        """A time before and after which there are some: a program that gets no processor makes none for a while."""
        while True:
            cut = (low + high) / 2
            before = self.executions("--from", "%f" % low, "--to", "%f" % cut)
            if before and self.executions("--from", "%f" % cut):
                return cut
            low, high = (low, cut) if before else (cut, high)

    def test_the_newest_are_kept(self):
        process = self.start("--keep", "1M", "--", "recorded", "endless")
        self.wait_for_removal(process)
        output, said = process.communicate()
        made = int(re.fullmatch("made ([0-9]+)\n", output)[1])
        records, lost = self.told(said)
        self.assertEqual(records + lost, made)
        self.assertLessEqual(traces.size(self.path("t")), 1 << 20)
        self.assertGreater(traces.size(self.path("t")), 1 << 18)
        self.assertIn("older ones, ", said)
        kept, _ = traces.count(self.path("t"))
        self.assertGreater(kept, 0)
        self.assertLess(kept, records)
        # Whoever reads the trace is told since when it is complete.
        whole = self.stats()
        for text, told in (whole.stdout, False), (self.stats("--verbose").stdout, True):
            self.assertEqual("\ntimes are without what the clock itself takes: " in text, told)
        since = re.fullmatch(r"spex: stats: records before ([\d.]+) s are missing: older files of the trace were removed\n",
                             whole.stderr)[1]
        self.assertGreater(float(since), 0)
        # Executions are those of the whole time.
        self.assertEqual(self.executions(), made)
        after = "%f" % self.between_records(float(since), json.loads(self.stats("--json").stdout)["to"])
        self.assertEqual(self.stats("--from", after).stderr, "")
        # A comparison is of the time in which the records are: as if nothing had been before.
        compared = lambda *part: [line.split() for line in self.stats(*part).stdout.splitlines()]
        whole, rest = compared("--against", after + ".."), compared("--from", since, "--against", after + "..")
        self.assertEqual([line[0] for line in whole], [line[0] for line in rest])
        self.assertIn("stats: that part is compared from then on\n", self.stats("--against", after + "..").stderr)
        removed = self.stats("--to", "%f" % (float(since) / 2), "--against", after + "..")
        self.assertEqual((removed.returncode, removed.stdout), (1, ""))
        self.assertIn("stats: that part has no records to compare\n", removed.stderr)

    def test_a_file_may_not_grow(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        result = subprocess.run(self.command(["--", "recorded", "exact", "50000"]), capture_output=True, text=True,
                                check=False, timeout=PATIENCE, env=self.environment, preexec_fn=limit)
        self.assertEqual((result.returncode, result.stdout), (1, "made 100000\n"))
        self.assertEqual(result.stderr.count("recording has ended, and the program goes on: "), 1)
        records, lost = self.told(result.stderr)
        self.assertGreater(records, 0)
        self.assertEqual(traces.count(self.path("t"))[0], records)

    def small_disk(self):
        os.mkdir(self.path("t"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", self.path("t")], check=False,
                          capture_output=True).returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", self.path("t")], check=True)

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a file system")
    def test_a_disk_that_is_full_before(self):
        self.small_disk()
        with open(self.path("t/full"), "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while True:
                    file.write(bytes(4096))
            os.unlink(file.name)  # the folder is empty, and the disk full
            result = self.run_it("--", "recorded", "exact", "1000")
        self.assertEqual((result.returncode, result.stdout), (1, "made 2000\n"))
        # The program has not asked yet, is waiting for the answer or has it when the command gives up.
        self.assertRegex(result.stderr, r"\Aspex: recording has ended, and the program goes on: no trace can be written in "
                                        r".*: No space left on device\n(spex: SPEX_OUT: cannot send to .*; the probes "
                                        r"stay off\n)?\Z")

    @unittest.skipUnless(os.geteuid() == 0, "only root can mount a file system")
    def test_a_full_disk(self):
        self.small_disk()
        result = self.run_it("--", "recorded", "exact", "100000")
        self.assertEqual((result.returncode, result.stdout), (1, "made 200000\n"))
        ended = re.findall("recording has ended, and the program goes on: (.*): No space left", result.stderr)
        self.assertEqual(ended, self.folders())
        records, _ = self.told(result.stderr)
        self.assertGreater(records, 1000)
        self.assertEqual(traces.count(self.path("t"))[0], records)
        (process,) = self.table()["processes"]
        self.assertEqual(process["records"], {"produced": 200000, "consumed": records, "lost": 200000 - records,
                                              "undelivered": 0, "unrecorded": 0})
        self.assertEqual(process["ended"]["why"], "No space left on device")

    def test_a_folder_that_cannot_be_made(self):
        result = self.run_it("-o", self.path("no/t"), "--", "recorded", "kernels")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("cannot make the folder", result.stderr)

    def test_a_folder_that_has_a_trace_is_left_as_it_is(self):
        for status, message in (0, " records, "), (1, "record: %s: a new folder was expected" % self.path("twice")):
            result = self.run_it("-o", self.path("twice"), "--", "recorded", "kernels")
            self.assertEqual(result.returncode, status)
            self.assertIn(message, result.stderr)
            self.assertEqual(len(os.listdir(self.path("twice"))), 1)

    def test_wrong_options(self):
        for wrong in (["--keep", "1"], ["--rotate", "soon"], ["--keep", "-1G"], ["--pid", "1"], ["-b", "lots"]):
            result = self.run_it(*wrong, "--", "recorded", "kernels")
            self.assertEqual((result.returncode, result.stdout), (2, ""), wrong)
            self.assertRegex(result.stderr, r"\Aspex: record: .*expected.*\n")
        self.assertFalse(os.path.exists(self.path("t")))


class Ends(Recorded):
    def endless(self):
        process = self.start("--", "recorded", "endless")
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def program_of(self, process):
        with open("/proc/%d/task/%d/children" % (process.pid, process.pid), encoding="utf-8") as file:
            return int(file.read())

    def fast(self, begun="metadata"):
        """A program that makes records as fast as it can, some time after such a file of its trace has begun."""
        process = self.start("--", "recorded", "fast", "30000000")
        wait_for(lambda: any(map(os.path.getsize, glob.glob(self.path("t/*/") + begun))))
        time.sleep(random.uniform(0, 0.03))
        return process

    def test_kill_the_program(self):
        for _ in range(KILLS):
            process = self.fast()
            os.kill(self.program_of(process), signal.SIGKILL)
            _, said = process.communicate()
            self.assertEqual(process.returncode, -signal.SIGKILL)
            self.assertEqual(traces.count(self.path("t")), self.told(said))
            self.assertIsNone(self.table()["processes"][0]["ended"])
            shutil.rmtree(self.path("t"))

    def test_what_the_program_leaves_is_not_waited_for(self):
        os.mkfifo(self.path("ready"))
        os.mkfifo(self.path("input"))
        result = self.run_it("--", "sh", "-c", f"cd {self.dir}; {os.path.abspath(RUNS)} endless <>input >ready 2>/dev/null & "
                                               f"read line <{self.path('ready')}")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = re.search(r"^spex: process (\d+) \(recorded\) still runs: it is recorded no longer, and its probes go off now$",
                          result.stderr, re.MULTILINE)
        self.assertTrue(found, result.stderr)
        os.kill(int(found[1]), signal.SIGKILL)
        self.assertGreater(self.told(result.stderr)[0], 0)

    def test_kill_the_recorder(self):
        events = 0
        for kill in range(KILLS):
            process = self.fast("cpu_*" if kill % 2 == 0 else "metadata")
            process.kill()
            self.assertEqual(process.stdout.read(), "made 30000000\n")
            process.communicate()
            if any(name.startswith("cpu_") for name in os.listdir(self.folders()[0])):
                events += traces.count(self.path("t"))[0]
            self.assertEqual(traces.journal(self.folders()[0])[0][0], 4)
            self.assertEqual(self.table()["processes"][0]["ended"], KILLED)
            for command in ["export", self.path("t"), "--format", "csv"], ["stats", self.path("t"), self.path("t")]:
                told = subprocess.run([SPEX, *command], check=False, capture_output=True, text=True, timeout=PATIENCE).stderr
                self.assertIn(": recording has no end: " + KILLED["why"] + "\n", told)
            shutil.rmtree(self.path("t"))
        self.assertGreater(events, 0)
        shutil.rmtree(self.path("spex"), ignore_errors=True)

    def test_a_recorder_that_is_stopped(self):
        """The program gives up waiting for it, and goes on."""
        process = self.start("--", "recorded", "held", "100000")
        wait_for(lambda: any(map(os.path.getsize, glob.glob(self.path("t/*/metadata")))))
        process.send_signal(signal.SIGSTOP)
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "made 200000\n")
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate()
        # The last report tells that, unless so many earlier ones are unread that it cannot be sent either.
        self.assertRegex(said, r"\A(spex: process \d+ has not sent its records to the end: [^\n]*\n)?spex: \d+ records, ")
        records, lost = self.told(said)
        self.assertEqual(records + lost, 200000)
        self.assertEqual(traces.count(self.path("t")), (records, lost))

    def test_processes_that_are_gone_have_their_names(self):
        """They have come and ended while the recorder was stopped."""
        process = self.start("--", "recorded", "heirs", "2")
        wait_for(lambda: process.poll() is not None or os.path.exists(self.path("t")) and self.folders())
        if process.poll() == SKIP:
            self.skipTest("a sanitizer allows no forks")
        process.send_signal(signal.SIGSTOP)
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "made 3000\n")
        process.send_signal(signal.SIGCONT)
        process.communicate()
        self.assertEqual([re.sub(r"-\d+$", "", os.path.basename(folder)) for folder in self.folders()], 3 * ["recorded"])

    def test_progress_on_a_terminal(self):
        """Of a program that writes elsewhere."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = subprocess.Popen(self.command(["--", "recorded", "endless"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=slave, text=True, env=self.environment)
        os.close(slave)
        said = b""
        while not re.search(rb"\r\x1b\[K\d+ records, [\d.]+[ kM]*/s, \d+ lost, [\d.]+ [kMiB]+", said):
            said += os.read(master, 4096)
        process.communicate("")
        while not TOLD.search(said.decode().replace("\r", "").replace("\x1b[K", "\n")):
            said += os.read(master, 4096)
        # The line is removed, and what comes next is told.
        while b"next: spex stats " not in said:
            said += os.read(master, 4096)
        self.assertRegex(said.decode(), r"s\r\x1b\[Kspex: \d+ records, \d+ lost, [\d.]+ m?s,\s.*\sin\s+\S+/t\r\nnext: ")

    def test_control_c(self):
        process = self.endless()
        os.kill(self.program_of(process), signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(traces.count(self.path("t")), self.told(said))


class Within(Recorded):
    """The program writes the trace itself."""

    def alone(self, *arguments, preexec_fn=None, **environment):
        return subprocess.run([RUNS, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE, cwd=self.dir,
                              env={**self.environment, "SPEX_PROBES": "*", "SPEX_OUT": "ctf:t", "SPEX_RING_RECORDS": "128",
                                   **environment}, preexec_fn=preexec_fn)

    def expect_alone(self, result, made, processes=1):
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (0, "made %d" % made), result.stderr)
        told = re.findall(r"^spex: (\d+) records, (\d+) lost, in (\S+)$", result.stderr, re.MULTILINE)
        self.assertEqual({path for _, _, path in told}, set(self.folders()))
        self.assertEqual(len(told), processes)
        records, lost = sum(int(one) for one, _, _ in told), sum(int(one) for _, one, _ in told)
        self.assertEqual(records + lost, made)
        self.assertEqual(traces.count(self.path("t")), (records, lost))

    def test_every_record_is_there_or_lost(self):
        for mode, made, processes in (("exact 1000", 2000, 1), ("fast 300000", 300000, 1), ("kernels", 21, 1), ("workers 3", 4000, 4)):
            result = self.alone(*mode.split())
            if result.returncode != SKIP:
                self.expect_alone(result, made, processes)
                shutil.rmtree(self.path("t"))

    def test_the_journal_has_what_a_recorders_has(self):
        self.alone("kernels")
        self.assertEqual({kind for kind, _, _ in traces.journal(self.folders()[0])}, {1, 2, 3, 4, 5, 6})

    def test_a_file_may_not_grow(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        # The rings have room for all: where the collector gets no processor, too few would be left for the file.
        result = self.alone("exact", "50000", preexec_fn=limit, SPEX_RING_RECORDS="131072")
        self.assertEqual((result.returncode, result.stdout), (0, "made 100000\n"))
        self.assertEqual(result.stderr.count("has ended, and the program goes on: "), 1)
        self.assertIn(str(traces.count(self.path("t"))[0]) + " records, ", result.stderr)

    def test_limits(self):
        """As options behind the folder; what is kept are the newest."""
        program = subprocess.Popen([RUNS, "endless"], cwd=self.dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env={**self.environment, "SPEX_PROBES": "*", "SPEX_OUT": "ctf:t,keep=1M,rotate=64k"})
        self.wait_for_removal(program)
        output, said = program.communicate()
        self.assertEqual((program.returncode, output[:5]), (0, "made "), said)
        sizes = [os.path.getsize(os.path.join(self.folders()[0], name))
                 for name in os.listdir(self.folders()[0]) if name.startswith("cpu_")]
        self.assertLessEqual(max(sizes), 65536)
        self.assertGreater(len(sizes), 4)
        self.assertLessEqual(traces.size(self.path("t")), 1 << 20)
        kept, _ = traces.count(self.path("t"))
        self.assertTrue(0 < kept < int(re.search(r"(\d+) records", said)[1]))

    def test_wrong_limits(self):
        for wrong, told in (("keep=1k", "keep: a size of 1M or more was expected"), ("rotate=soon", "rotate: a size was expected"),
                            ("kep=1G", "keep= or rotate= was expected"), ("", "keep= or rotate= was expected"),
                            ("rotate=9999999999G", "rotate: a size was expected"), ("keep=2Mx", "keep: a size")):
            result = self.alone("kernels", **{"SPEX_OUT": "ctf:t," + wrong})
            self.assertEqual((result.returncode, result.stdout), (0, "made 21\n"), wrong)
            self.assertRegex(result.stderr, r"\Aspex: SPEX_OUT: " + told + r".*; the probes stay off\n\Z")
        self.assertFalse(os.path.exists(self.path("t")))

    def test_a_folder_that_cannot_be_made(self):
        with open(self.path("t"), "w", encoding="utf-8"):
            pass
        result = self.alone("kernels")
        self.assertEqual((result.returncode, result.stdout), (0, "made 21\n"))
        self.assertRegex(result.stderr, r"\Aspex: SPEX_OUT: no trace can be written in .*; the probes stay off\n\Z")

    def test_kill_the_program(self):
        events = kills = 0
        # A slow program may be killed each time before its first packet is written.
        while kills < KILLS // 5 or (not events and kills < KILLS):
            kills += 1
            program = subprocess.Popen([RUNS, "fast", "300000000"], cwd=self.dir, stderr=subprocess.DEVNULL,
                                       env={**self.environment, "SPEX_PROBES": "*", "SPEX_OUT": "ctf:t"})
            wait_for(lambda: os.path.exists(self.path("t")) and self.folders() and
                     any(name.startswith("cpu_") for name in os.listdir(self.folders()[0])))
            program.kill()
            program.wait()
            events += traces.count(self.path("t"))[0]
            self.assertEqual(self.table()["processes"][0]["ended"], KILLED)
            shutil.rmtree(self.path("t"))
        self.assertGreater(events, 0)
        self.assertEqual(self.alone("kernels").returncode, 0)
        self.assertIsNone(self.table()["processes"][0]["ended"])


class Running(Recorded):
    def attach(self, mode, *options):
        """A program that waits for a line of its input, or works, and its recorder, which has switched its probes on."""
        self.environment.update(SPEX_CONTROL=self.path("control"), SPEX_WAITS="1")
        program = subprocess.Popen([RUNS, *mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env=self.environment)
        self.addCleanup(program.communicate)
        wait_for(lambda: program.poll() is not None or self.listed(program))
        if program.poll() == SKIP:
            self.skipTest("no forks with this sanitizer")
        recorder = subprocess.Popen(self.command([*options, "--pid", str(program.pid)]), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(self.end, recorder)
        wait_for(lambda: recorder.poll() is not None or self.listed(program)["sites_on"])
        return program, recorder

    def listed(self, program):
        # Exit status 1 where no program runs yet.
        found = subprocess.run([SPEX, "list", "--json"], capture_output=True, text=True, check=False, env=self.environment)
        return next((row for row in json.loads(found.stdout) if row["pid"] == program.pid), None)

    def budget(self, program):
        told = subprocess.run([SPEX, "top", "-b", "-d", "0.05", "-n", "1", str(program.pid)], capture_output=True, text=True,
                              check=True, env=self.environment)
        return re.findall("^budget: (.*) of the program's CPU time", told.stdout, re.MULTILINE)

    def test_children_of_a_process_that_runs(self):
        program, recorder = self.attach(["family", "5"], "-f")
        program.communicate("\n")
        _, said = recorder.communicate()
        self.assertEqual(recorder.returncode, 0, said)
        self.assertEqual(self.told(said), (6000, 0))
        self.assertEqual(traces.count(self.path("t")), (6000, 0))
        self.assertEqual([traces.count(folder) for folder in self.folders()], 6 * [(1000, 0)])

    def test_children_are_left_alone_without_the_option(self):
        program, recorder = self.attach(["family", "2"])
        program.communicate("\n")
        _, said = recorder.communicate()
        self.assertEqual(self.told(said), (1000, 0))

    def test_a_budget_of_a_process_that_runs(self):
        program, recorder = self.attach(["endless"], "-b", "0.5%")
        wait_for(lambda: self.budget(program))
        self.assertEqual(self.budget(program), ["0.5 %"])
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate()
        self.assertEqual(recorder.returncode, 0, said)
        self.told(said)
        wait_for(lambda: not self.budget(program))

    def has_records(self):
        return os.path.exists(self.path("t")) and self.folders() and any(
            name.startswith("cpu_") for name in os.listdir(self.folders()[0]))

    def test_a_process_that_runs(self):
        control = {**self.environment, "SPEX_CONTROL": self.path("control")}
        program = subprocess.Popen([RUNS, "endless"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=control)
        self.addCleanup(program.communicate)
        self.assertEqual(program.stdout.readline(), "ready\n")
        recorder = subprocess.Popen(self.command(["--pid", str(program.pid)]), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=control)
        self.addCleanup(self.end, recorder)
        wait_for(self.has_records)
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate()
        self.assertEqual(recorder.returncode, 0, said)
        records, lost = self.told(said)
        self.assertGreater(records, 0)
        self.assertEqual(traces.count(self.path("t")), (records, lost))
        self.assertIn(5, [kind for kind, _, _ in traces.journal(self.folders()[0])])
        listed = subprocess.run([SPEX, "list", "--json"], capture_output=True, text=True, check=True, env=control)
        self.assertIn('"sites_on": 0', listed.stdout)

    def test_a_process_that_ends(self):
        control = {**self.environment, "SPEX_CONTROL": self.path("control")}
        program = subprocess.Popen([RUNS, "endless"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=control)
        self.assertEqual(program.stdout.readline(), "ready\n")
        recorder = subprocess.Popen(self.command(["-e", "request", "--pid", str(program.pid)]), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=control)
        wait_for(self.has_records)
        program.communicate("\n")
        _, said = recorder.communicate()
        self.assertEqual(recorder.returncode, 0, said)
        self.assertEqual(traces.count(self.path("t")), self.told(said))

    def test_no_such_process(self):
        result = self.run_it("--pid", str(os.getpid()))
        self.assertEqual(result.returncode, 1)
        self.assertIn("has SPEX_CONTROL=off", result.stderr)


if __name__ == "__main__":
    main()
