#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex run` with programs that end in every way: streams, exit statuses and figures.

usage: run.py SPEX RUNS [unittest arguments]
"""

import ctypes
import errno
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import unittest

from launched import counts, EXACTLY, NOBODY, PATIENCE, RUNS, Runs, SPEX, wait_for


class Streams(Runs):
    def test_input_and_output_are_the_programs(self):
        result = self.run_it("-o", self.path("table"), "--", "runs", "copies", stdin="one\ntwo\n")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "one\ntwo\n", "words\n"))
        self.assertIn("records: 2000 produced, 2000 consumed, 0 lost", self.text("table"))

    def test_tables_go_to_standard_error(self):
        result = self.run_it("--", "runs", "copies", stdin="one\n")
        self.assertEqual(result.stdout, "one\n")
        self.assertRegex(result.stderr, r"\Awords\nprobe +type +count(.|\n)*\nrequest +lat +1000 ")
        self.assertNotIn("process ", result.stderr)

    def test_notes_are_told_with_verbose(self):
        brief = self.run_it("--", "runs", "copies", stdin="").stderr
        verbose = self.run_it("--verbose", "--", "runs", "copies", stdin="").stderr
        self.assertEqual(["\nrings: " in text for text in (brief, verbose)], [False, True])

    def test_tables_go_to_standard_output(self):
        result = self.run_it("-o", "-", "--", "runs", "copies", stdin="one\n")
        self.assertRegex(result.stdout, r"\Aone\nprobe +type ")
        self.assertEqual(result.stderr, "words\n")

    def test_a_file_is_replaced_or_lines_come_into_it(self):
        for more in [], ["-i", "0.05"]:
            with open(self.path("table"), "w", encoding="utf-8") as file:
                file.write("old\n" * 1000)
            os.link(self.path("table"), self.path("link"))
            result = self.run_it("-o", self.path("table"), *more, "--", "runs", "exits", "0")
            self.assertEqual(result.returncode, 0)
            self.assertNotIn("old", self.text("table"))
            self.assertEqual("old" in self.text("link"), not more)
            os.unlink(self.path("link"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["spex", "table"])

    def test_a_file_that_cannot_be_written_is_told_before_the_start(self):
        result = self.run_it("-o", self.path("no/table"), "--", "runs", "copies")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "spex: run: cannot open %s: No such file or directory\n" %
                         self.path("no/table"))

    def test_a_control_directory_that_cannot_be_used_is_told(self):
        os.mkdir(self.path("wide"))
        os.chmod(self.path("wide"), 0o755)
        for name, why in ("wide", "it does not belong to this user alone; .*"), ("no/where", "No such file or directory"):
            result = self.run_it("--", "runs", "exits", "0", SPEX_CONTROL=self.path(name))
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, r"\Aspex: run: no socket in %s: %s; it is in %s\n" % (
                re.escape(self.path(name)), why, re.escape(self.path("spex"))))
        for variables in {"SPEX_CONTROL": "off"}, {"SPEX_CONTROL": self.path("own")}, {"XDG_RUNTIME_DIR": self.path("none")}:
            result = self.run_it("--", "runs", "exits", "0", **variables)
            self.assertNotIn("no socket", result.stderr)

    def test_a_full_disk_is_told(self):
        for more in [], ["--json"], ["-i", "0.05"], ["-i", "0.05", "--json"]:
            result = self.run_it("-o", "/dev/full", *more, "--", "runs", "exits", "0")
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr, "spex: run: cannot write to /dev/full: %s\n" %
                             os.strerror(errno.ENOSPC))

    def test_the_programs_own_failure_is_stronger_than_a_full_disk(self):
        self.assertEqual(self.run_it("-o", "/dev/full", "--", "runs", "exits", "5").returncode, 5)

    def test_closed_streams_stay_closed(self):
        program = "sh -c 'ls /proc/$$/fd >&2; echo but ${SPEX_OUT_SOCKET%%:*} >&2'"
        with_spex, without = (
            subprocess.run(["sh", "-c", "exec 0<&- 1>&-; exec %s %s" % (before, program)], check=False,
                           capture_output=True, text=True, env=self.environment, timeout=PATIENCE)
            for before in ["%s run -o %s --" % (SPEX, self.path("table")), ""])
        # Programs inherit one descriptor for their connections.
        numbers, inherited = re.match(r"((?:\d+\n)+)but (\d+)\n", with_spex.stderr).groups()
        self.assertEqual(numbers.replace(inherited + "\n", "") + "but\n", without.stderr)

    def test_a_closed_stream_cannot_be_written(self):
        result = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", SPEX, "run", "-o", "-", "--", RUNS, "exits", "0"], check=False,
                                stderr=subprocess.PIPE, text=True, env=self.environment, timeout=PATIENCE)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "spex: run: cannot write to standard output: %s\n" % os.strerror(errno.EBADF)))


class TablesAtTheEnd(Runs):
    """Of the program itself, without `spex run`: they neither end nor block it."""

    def alone(self, stderr=subprocess.PIPE, preexec_fn=None, **variables):
        return subprocess.run([RUNS, "exits", "0"], check=False, text=True, stdout=subprocess.PIPE, stderr=stderr,
                              preexec_fn=preexec_fn, timeout=PATIENCE,
                              env={**self.environment, "SPEX_PROBES": "*", **variables})

    def test_nobody_reads_standard_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        result = self.alone(stderr=writer)
        os.close(writer)
        self.assertEqual(result.returncode, 0)

    def test_files_have_a_limit(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        if self.alone(SPEX_PROBES="", preexec_fn=limit).returncode == -signal.SIGXFSZ:
            self.skipTest("the thread sanitizer makes a file of its own")
        result = self.alone(SPEX_OUT=self.path("table"), preexec_fn=limit)
        self.assertEqual((result.returncode, result.stderr),
                         (0, "spex: SPEX_OUT: cannot write the table to %s: %s\n" %
                          (os.path.realpath(self.path("table")), os.strerror(errno.EFBIG))))

    def test_a_pipe_is_not_waited_for(self):
        path = os.path.realpath(self.path("pipe"))
        os.mkfifo(path)
        result = self.alone(SPEX_OUT=path)
        self.assertEqual((result.returncode, result.stderr),
                         (0, "spex: SPEX_OUT: cannot write the table to %s: nobody reads it\n" % path))
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as reader:
            self.assertEqual(self.alone(SPEX_OUT=path).stderr, "")
            self.assertRegex(reader.read(), r"\Aprobe +type ")


def deny(number):
    """Makes a system call fail with EPERM, in this process and its children."""
    # loads the number; goes on if it is this one; EPERM; allowed
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | errno.EPERM), (0x06, 0, 0, 0x7fff0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if libc.prctl(22, 2, program, 0, 0) != 0:  # PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "seccomp")


class Ends(Runs):
    @unittest.skipUnless(os.uname().machine == "x86_64", "the number of a system call is of another machine")
    def test_an_end_that_the_system_does_not_tell(self):
        waitid = 247
        result = subprocess.run([SPEX, "run", "-o", self.path("table"), "--", RUNS, "exits", "0"], check=False, text=True,
                                stderr=subprocess.PIPE, env=self.environment, timeout=PATIENCE,
                                preexec_fn=lambda: deny(waitid))
        self.assertEqual((result.returncode, result.stderr),
                         (1, "spex: run: the end of the program cannot be told: %s\n" % os.strerror(errno.EPERM)))

    def test_exit_statuses(self):
        for status in [0, 1, 3, 126, 255]:
            self.assertEqual(self.run_it("--", "runs", "exits", str(status)).returncode, status)

    def test_death_by_signal(self):
        for number in [signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGINT]:
            result = self.run_it("--", "runs", "dies", str(int(number)))
            self.assertEqual(result.returncode, -number)
            # It may have been too early to tell its name.
            self.assertRegex(result.stderr, r"process \d+ \((runs|\?)\) ended without stopping spex")

    def test_a_shell_sees_the_signal(self):
        result = subprocess.run(["bash", "-c", "ulimit -c 0; %s run -- %s dies 15; echo $?" % (SPEX, RUNS)],
                                capture_output=True, text=True, check=False, env=self.environment,
                                timeout=PATIENCE)
        self.assertEqual(result.stdout, "143\n")

    def test_there_is_no_core_of_ours(self):
        def with_cores():
            resource.setrlimit(resource.RLIMIT_CORE, [resource.getrlimit(resource.RLIMIT_CORE)[1]] * 2)
        process = self.start("--", "runs", "dies", str(int(signal.SIGABRT)), cwd=self.dir,
                             preexec_fn=with_cores)
        self.finish(process, -signal.SIGABRT)
        self.assertEqual([name for name in os.listdir(self.dir) if "core" in name], [])

    def test_what_cannot_be_run(self):
        with open(self.path("data"), "w", encoding="utf-8"):
            pass
        for name, status, text in [("no-such-program", 127, "No such file or directory"),
                                   (self.path("none"), 127, "No such file or directory"),
                                   (self.path("data"), 126, "Permission denied"),
                                   (self.dir, 126, "Permission denied")]:
            result = self.run_it("--", name)
            self.assertEqual((result.returncode, result.stdout, result.stderr),
                             (status, "", "spex: run: %s: %s\n" % (name, text)))

    def test_mistakes_are_told_before_the_start(self):
        for arguments, text in [(["-e", "x@@"], r"spex: run: -e: .*period.*\n"),
                                (["-e", ":nothing"], r"spex: run: -e: .*\n"),
                                (["-i", "x"], r"spex: run: --interval x: 0.05 to 86400 seconds were expected\n"),
                                (["-i", "0.01"], r"spex: run: --interval .*\n"),
                                (["-i", "nan"], r"spex: run: --interval .*\n"),
                                (["-z"], r"spex: run: there is no option -z; see spex run --help\n")]:
            result = self.run_it(*arguments, "--", "runs", "copies")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertRegex(result.stderr, r"\A%s\Z" % text)
        result = self.run_it("--", "runs", "copies", SPEX_PROBES="x@@")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"\Aspex: run: SPEX_PROBES: .*\n\Z")
        self.assertEqual(self.run_it("--").returncode, 2)

    def test_a_program_without_spex(self):
        result = self.run_it("--", "sh", "-c", "echo hello; exit 4")
        self.assertEqual((result.returncode, result.stdout), (4, "hello\n"))
        self.assertIn(NOBODY % "sh", result.stderr)
        found, result = self.run_json("--", "true")
        self.assertEqual((found["status"], found["processes"]), (0, []))
        self.assertIn(NOBODY % "true", result.stderr)

    def test_options_of_the_program_are_its_own(self):
        result = subprocess.run([SPEX, "run", "printf", "%s,", "-e", "--json", "--"], capture_output=True,
                                text=True, check=False, env=self.environment, timeout=PATIENCE)
        self.assertEqual((result.returncode, result.stdout), (0, "-e,--json,--,"))


class Figures(Runs):
    def test_json_is_exact(self):
        found, _ = self.run_json("--", "runs", "exits", "7", status=7)
        self.assertEqual(found["program"], [RUNS, "exits", "7"])
        self.assertEqual((found["status"], found["signal"]), (7, None))
        process, = found["processes"]
        self.assertEqual((process["command"], process["state"]), ("runs", "stopped"))
        self.assertEqual(counts(process), EXACTLY)
        self.assertEqual(process["records"], {"produced": 2000, "consumed": 2000, "lost": 0,
                                              "undelivered": 0, "unrecorded": 0})
        self.assertGreater(process["seconds"], 0)
        self.assertGreater(process["program_seconds"], 0)
        self.assertGreater(process["overhead_seconds"], 0)
        for probe in process["probes"]:
            self.assertEqual((probe["one_in"], probe["records"], probe["count_margin"]), (1, 1000, 0))
            self.assertGreater(probe["rate"], 0)
        time_of, = process["probes"][0]["values"]
        self.assertEqual((time_of["name"], time_of["unit"]), ("time", "s"))
        order = [time_of[name] for name in ["min", "p50", "p90", "p99", "p999", "max"]]
        self.assertEqual(order, sorted(order))
        self.assertLess(time_of["max"], 10)
        costs = {kind["type"]: kind["cost_ns"] for kind in process["types"]}
        self.assertEqual(set(costs), {"lat", "cnt"})
        self.assertGreater(costs["lat"]["recorded"], 0)
        self.assertGreaterEqual(costs["lat"]["drawn"], costs["lat"]["recorded"])
        # All were recorded: the figures are as exact as the histogram is, and as what the clock itself takes is known.
        self.assertIsNone(costs["cnt"]["empty"])
        self.assertAlmostEqual(time_of["taken_off"], costs["lat"]["empty"] / 1e9)
        error = costs["lat"]["empty_error"] / 1e9
        # What the steps within take was taken off, where enough of them were looked at; its error is as large.
        nested = 3 * (time_of["taken_off_nested"] or 0)
        self.assertLessEqual(time_of["mean_margin"], 2 * error + nested)
        buckets = (time_of["p50"] + time_of["taken_off"]) / 32  # of 1/64 each, the value's and a neighbour
        self.assertLessEqual(time_of["p50"] - time_of["p50_low"], 2.001 * error + buckets + nested)
        self.assertAlmostEqual(time_of["total"], time_of["mean"] * 1000)

    def test_samples_have_margins(self):
        found, _ = self.run_json("-e", "*@10", "--", "runs", "exits", "0")
        request = found["processes"][0]["probes"][0]
        self.assertEqual((request["records"], request["count"], request["one_in"]), (100, 1000, 10))
        self.assertEqual(request["count_margin"], 0)
        value, = request["values"]
        self.assertGreater(value["mean_margin"], 0)
        self.assertLessEqual(value["p50_low"], value["p50"])
        self.assertLessEqual(value["p50"], value["p50_high"])
        self.assertIsNone(value["p999_high"])

    def test_signals_have_their_names(self):
        found, _ = self.run_json("--", "runs", "dies", str(int(signal.SIGTERM)), status=-signal.SIGTERM)
        self.assertEqual((found["status"], found["signal"]), (None, "SIGTERM"))
        self.assertEqual(found["processes"][0]["state"], "ended")

    def test_who_says_which_probes(self):
        for arguments, variables, names in [(["-e", "step"], {"SPEX_PROBES": "request"}, ["step"]),
                                            ([], {"SPEX_PROBES": "request"}, ["request"]),
                                            ([], {"SPEX_PROBES": ""}, ["request", "step"]),
                                            (["-e", "*,step@off"], {}, ["request"]),
                                            (["-e", "+step"], {}, ["step"])]:
            found, _ = self.run_json(*arguments, "--", "runs", "exits", "0", **variables)
            self.assertEqual([probe["name"] for probe in found["processes"][0]["probes"]], names)

    def test_what_matches_nothing_is_told(self):
        result = self.run_it("-e", "qurey", "--", "runs", "exits", "0")
        self.assertEqual(result.returncode, 0)
        self.assertIn('spex: no probe matches "qurey" (yet)', result.stderr)
        self.assertTrue(result.stderr.endswith("no probe was on\n"), result.stderr)

    def test_arguments_of_any_bytes(self):
        found, _ = self.run_json("--", "runs", "exits", "0", b"\xff\n", "\u00e4\n")
        self.assertEqual(found["program"], [RUNS, "exits", "0", {"bytes": "ff0a"}, "\u00e4\n"])

    def test_intervals(self):
        process = self.start("-i", "0.05", "--json", "-o", self.path("lines"), "--", "runs", "lasts")
        self.ready(process)

        def lines():
            # What is not ended by a newline is still being written.
            return [json.loads(line) for line in self.text("lines").split("\n")[:-1]]
        wait_for(lambda: len(lines()) >= 2)
        process.stdin.write("xy")
        process.stdin.flush()
        wait_for(lambda: sum(counts(line["processes"][0])["step", "cnt"] for line in lines()) == 3000)
        before = len(lines())
        self.finish(process, 0)
        *intervals, last = lines()
        self.assertGreaterEqual(len(intervals), before)
        self.assertEqual({line["final"] for line in intervals}, {False})
        times = [line["time"] for line in intervals]
        self.assertEqual(times, sorted(times))
        self.assertEqual(last["final"], True)
        self.assertEqual(counts(last["processes"][0]), {kind: 3000 for kind in EXACTLY})
        self.assertEqual(last["processes"][0]["state"], "stopped")

    def test_intervals_as_tables(self):
        process = self.start("-i", "0.05", "-o", self.path("tables"), "--", "runs", "lasts")
        number = self.ready(process)
        head = re.compile(r"^\d+\.\d\d\d s: process %d \(runs\)\nprobe " % number, re.M)
        wait_for(lambda: len(head.findall(self.text("tables"))) >= 3)
        self.finish(process, 0)
        text = self.text("tables")
        self.assertEqual(len(re.findall(r"^request +lat +1000\b", text, re.M)), 2)  # when it was, and at the end
        self.assertEqual(len(re.findall(r"^request +lat +0\b", text, re.M)), len(head.findall(text)) - 1)

    def test_figures_of_a_process_that_was_killed(self):
        process = self.start("-i", "0.05", "--json", "-o", self.path("lines"), "--", "runs", "waits")
        number = self.ready(process)
        wait_for(lambda: '"count":1000.0' in self.text("lines"))
        os.kill(number, signal.SIGKILL)
        self.finish(process, -signal.SIGKILL)
        last = json.loads(self.text("lines").splitlines()[-1])
        self.assertEqual((last["signal"], last["processes"][0]["state"]), ("SIGKILL", "ended"))
        self.assertEqual(counts(last["processes"][0]), EXACTLY)
        self.assertGreaterEqual(last["processes"][0]["unseen_seconds"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
