#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex run` with programs that do all that programs do, and with a terminal.

usage: run.py SPEX RUNS [unittest arguments]
"""

import errno
import fcntl
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import termios
import time
import unittest

SPEX = RUNS = None
SKIP = 77
PATIENCE = 300  # seconds after which a test has failed, whatever the machine


def wait_for(condition):
    """Until it holds; its value."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError("waited in vain")


def counts(process):
    return {(probe["name"], probe["type"]): probe["count"] for probe in process["probes"]}


EXACTLY = {("request", "lat"): 1000, ("step", "cnt"): 1000}
NOBODY = "no process of %s started spex: it was not built with spex"


class Runs(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="spex-test-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("SPEX_")}
        self.environment["XDG_RUNTIME_DIR"] = self.dir
        self.environment["SPEX_CONTROL"] = "off"

    def tearDown(self):
        """Whatever has happened, the socket is gone."""
        places = os.path.join(self.dir, "spex")
        self.assertEqual(os.listdir(places) if os.path.exists(places) else [], [])

    def path(self, name):
        return os.path.join(self.dir, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def command(self, arguments):
        separator = arguments.index("--")
        program = list(arguments[separator + 1:])
        if program and program[0] == "runs":
            program[0] = RUNS
        return [SPEX, "run", *arguments[:separator], "--", *program]

    def run_it(self, *arguments, stdin="", **variables):
        return subprocess.run(self.command(arguments), input=stdin, capture_output=True, text=True,
                              check=False, timeout=PATIENCE,
                              env={**self.environment, **variables})

    def start(self, *arguments, **options):
        process = subprocess.Popen(self.command(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment, **options)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def ready(self, process):
        """The number of the program, once it is ready."""
        return int(re.fullmatch(r"ready (\d+)\n", process.stdout.readline())[1])

    def finish(self, process, status):
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, status, err)
        return out, err

    def skip_without_forks(self, result):
        if result.returncode == SKIP:
            print("SKIP: gcc's sanitizers have no threads in the child of a fork")
            self.skipTest("no threads after a fork")

    def run_json(self, *arguments, status=0, **options):
        result = self.run_it("--json", "-o", self.path("json"), *arguments, **options)
        self.skip_without_forks(result)
        self.assertEqual(result.returncode, status, result.stderr)
        found = json.loads(self.text("json"))
        self.assertEqual(found["final"], True)
        return found, result


class Streams(Runs):
    def test_input_and_output_are_the_programs(self):
        result = self.run_it("-o", self.path("table"), "--", "runs", "copies", stdin="one\ntwo\n")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "one\ntwo\n", "words\n"))
        self.assertIn("records: 2000 produced, 2000 consumed, 0 lost", self.text("table"))

    def test_tables_go_to_standard_error(self):
        result = self.run_it("--", "runs", "copies", stdin="one\n")
        self.assertEqual(result.stdout, "one\n")
        self.assertRegex(result.stderr, r"\Awords\nprobe +type +1 in +count(.|\n)*\nrequest +lat +1 +1000 ")
        self.assertNotIn("process ", result.stderr)

    def test_tables_go_to_standard_output(self):
        result = self.run_it("-o", "-", "--", "runs", "copies", stdin="one\n")
        self.assertRegex(result.stdout, r"\Aone\nprobe +type ")
        self.assertEqual(result.stderr, "words\n")

    def test_a_file_is_emptied(self):
        with open(self.path("table"), "w", encoding="utf-8") as file:
            file.write("old\n" * 1000)
        self.assertEqual(self.run_it("-o", self.path("table"), "--", "runs", "exits", "0").returncode, 0)
        self.assertNotIn("old", self.text("table"))

    def test_a_file_that_cannot_be_written_is_told_before_the_start(self):
        result = self.run_it("-o", self.path("no/table"), "--", "runs", "copies")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "spex: run: cannot open %s: No such file or directory\n" %
                         self.path("no/table"))

    def test_a_full_disk_is_told(self):
        for more in [], ["--json"], ["-i", "0.05"], ["-i", "0.05", "--json"]:
            result = self.run_it("-o", "/dev/full", *more, "--", "runs", "exits", "0")
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr, "spex: run: cannot write to /dev/full: %s\n" %
                             os.strerror(errno.ENOSPC))

    def test_the_programs_own_failure_is_stronger_than_a_full_disk(self):
        self.assertEqual(self.run_it("-o", "/dev/full", "--", "runs", "exits", "5").returncode, 5)

    def test_closed_streams_stay_closed(self):
        program = "sh -c 'ls /proc/$$/fd >&2; true'"
        with_spex, without = (
            subprocess.run(["sh", "-c", "exec 0<&- 1>&-; exec %s %s" % (before, program)], check=False,
                           capture_output=True, text=True, env=self.environment, timeout=PATIENCE)
            for before in ["%s run -o %s --" % (SPEX, self.path("table")), ""])
        self.assertEqual(with_spex.stderr.split("spex:")[0], without.stderr)


class Ends(Runs):
    def test_exit_statuses(self):
        for status in [0, 1, 3, 126, 255]:
            self.assertEqual(self.run_it("--", "runs", "exits", str(status)).returncode, status)

    def test_death_by_signal(self):
        for number in [signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGINT]:
            result = self.run_it("--", "runs", "dies", str(int(number)))
            self.assertEqual(result.returncode, -number)
            self.assertRegex(result.stderr, r"process \d+ \(runs\) ended without stopping spex")

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
                                (["-z"], r"(.|\n)*usage: spex run (.|\n)*")]:
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
        self.assertEqual((time_of["name"], time_of["unit"], time_of["mean_margin"]), ("time", "s", 0))
        order = [time_of[name] for name in ["min", "p50", "p90", "p99", "p999", "max"]]
        self.assertEqual(order, sorted(order))
        self.assertEqual(time_of["p50_low"], time_of["p50"])
        self.assertAlmostEqual(time_of["total"], time_of["mean"] * 1000)
        self.assertLess(time_of["max"], 10)
        costs = {kind["type"]: kind["cost_ns"] for kind in process["types"]}
        self.assertEqual(set(costs), {"lat", "cnt"})
        self.assertGreater(costs["lat"]["recorded"], 0)

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
        found, _ = self.run_json("--", "runs", "exits", "0", b"\xff\n")
        self.assertEqual(found["program"], [RUNS, "exits", "0", "??"])

    def test_intervals(self):
        process = self.start("-i", "0.05", "--json", "-o", self.path("lines"), "--", "runs", "lasts")
        self.ready(process)

        def lines():
            return [json.loads(line) for line in self.text("lines").splitlines()]
        wait_for(lambda: "\n" in self.text("lines") and len(lines()) >= 2)
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
        self.assertEqual(len(re.findall(r"^request +lat +1 +1000 ", text, re.M)), 2)  # when it was, and at the end
        self.assertEqual(len(re.findall(r"^request +lat +[-1] +0 ", text, re.M)), len(head.findall(text)) - 1)

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


class Processes(Runs):
    def test_a_fork_is_not_followed(self):
        found, _ = self.run_json("--", "runs", "forks")
        process, = found["processes"]
        self.assertEqual(counts(process), EXACTLY)

    def test_a_fork_is_followed(self):
        for option in "-f", "--follow-forks":
            found, _ = self.run_json(option, "--", "runs", "forks")
            self.assertEqual([counts(process) for process in found["processes"]], [EXACTLY, EXACTLY])
            self.assertNotEqual(found["processes"][0]["pid"], found["processes"][1]["pid"])

    def test_a_child_that_starts_spex(self):
        result = self.run_it("-o", self.path("table"), "--", "runs", "starts")
        self.skip_without_forks(result)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(re.findall(r"^process \d+ \(runs\):\nprobe ", self.text("table"), re.M)), 2)
        self.assertEqual(len(re.findall(r"^request +lat +1 +1000 ", self.text("table"), re.M)), 2)

    def test_a_shell_in_between(self):
        found, _ = self.run_json("--", "sh", "-c", "%s exits 0; %s exits 6" % (RUNS, RUNS), status=6)
        self.assertEqual([counts(process) for process in found["processes"]], [EXACTLY, EXACTLY])

    def test_exec(self):
        found, _ = self.run_json("--", "runs", "becomes", RUNS, "exits", "5", status=5)
        first, second = found["processes"]
        self.assertEqual(first["pid"], second["pid"])
        self.assertEqual((first["state"], second["state"]), ("replaced", "stopped"))
        self.assertEqual(counts(second), EXACTLY)

    def test_a_program_that_closes_what_it_does_not_know(self):
        for more in [], ["-i", "0.05"]:
            process = self.start(*more, "--json", "-o", self.path("lines"), "--", "runs", "closes")
            self.ready(process)
            process.stdin.write("xyz")
            self.finish(process, 0)
            found = json.loads(self.text("lines").splitlines()[-1] if more else self.text("lines"))
            self.assertEqual([(process["state"], counts(process)) for process in found["processes"]],
                             [("stopped", {kind: 4000 for kind in EXACTLY})])

    def test_a_daemon_is_not_waited_for(self):
        result = self.run_it("-o", self.path("table"), "--", "runs", "leaves", self.path("off"))
        self.skip_without_forks(result)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = self.text("table")
        found = re.search(r"^process (\d+) \(runs\):\nprocess \1 \(runs\) still runs; its probes go off now\n"
                          r"probe ", text, re.M)
        self.assertTrue(found, text)
        self.assertEqual(len(re.findall(r"^request +lat +1 ", text, re.M)), 2)
        wait_for(lambda: os.path.exists(self.path("off")))

    def test_probes_go_off_when_spex_run_is_killed(self):
        process = self.start("-o", self.path("table"), "--", "runs", "watched", self.path("off"))
        number = self.ready(process)
        places = os.path.join(self.dir, "spex")
        name, = os.listdir(places)
        self.assertEqual(stat.S_IMODE(os.stat(places).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(places, name)).st_mode), 0o600)
        self.assertFalse(os.path.exists(self.path("off")))
        process.kill()
        wait_for(lambda: os.path.exists(self.path("off")))
        wait_for(lambda: not os.path.exists("/proc/%d" % number) or
                 "State:\tZ" in self.status(number))
        process.wait()
        self.assertEqual(self.run_it("--", "runs", "exits", "0").returncode, 0)  # cleans up

    @staticmethod
    def status(number):
        try:
            with open("/proc/%d/status" % number, encoding="utf-8") as file:
                return file.read()
        except OSError:
            return "State:\tZ"

    def test_more_processes_than_are_kept(self):
        script = "i=0; while [ $i -lt 260 ]; do %s exits 0; i=$((i + 1)); done" % RUNS
        found, result = self.run_json("-e", "step", "--", "sh", "-c", script)
        self.assertEqual(len(found["processes"]), 256)
        self.assertEqual({counts(process)["step", "cnt"] for process in found["processes"]}, {1000})
        self.assertEqual(result.stderr.count("more than 256 processes have started spex"), 1)

    def callers(self, number):
        """spex run, and so many connections to its socket."""
        process = self.start("--json", "-o", self.path("json"), "--", "sh", "-c", "echo $SPEX_OUT; read end")
        out = process.stdout.readline().strip()
        self.assertTrue(out.startswith("metrics:" + self.dir))
        connections = []
        for _ in range(number):
            caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(caller.close)
            caller.connect(out[len("metrics:"):])
            connections.append(caller)
        return process, connections

    def test_what_is_no_report_is_told(self):
        process, (caller, idle) = self.callers(2)
        caller.send(b"no report at all" * 10)
        self.assertEqual(caller.recv(1), b"")
        process.stdin.write("\n")
        _, err = self.finish(process, 0)
        self.assertIn("no process of sh started spex", err)
        found = json.loads(self.text("json"))
        self.assertEqual([process["state"] for process in found["processes"]][0], "broken")
        idle.close()

    def test_crowds(self):
        process, connections = self.callers(300)
        for caller in connections[256:]:
            self.assertEqual(caller.recv(1), b"")
        for caller in connections[:256]:
            caller.close()
        process.stdin.write("\n")
        _, err = self.finish(process, 0)
        self.assertEqual(err.count("more than 256 processes"), 1)

    def test_places_that_are_too_long_are_passed_over(self):
        long = self.path("d" * 100)
        os.mkdir(long)
        found, _ = self.run_json("--", "runs", "exits", "0", XDG_RUNTIME_DIR=long)
        self.assertEqual(counts(found["processes"][0]), EXACTLY)


class Signals(Runs):
    def test_signals_are_passed_on(self):
        process = self.start("-o", self.path("table"), "--", "runs", "hears")
        self.ready(process)
        for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
                       signal.SIGWINCH, signal.SIGALRM, signal.SIGRTMIN + 3, signal.SIGUSR2]:
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), "got %d\n" % number)
        out, _ = self.finish(process, 3)
        self.assertEqual(out, "")
        self.assertIn("records: 2000 produced", self.text("table"))

    def test_a_program_that_signals_its_group_hears_it_once(self):
        process = self.start("--", "runs", "hears", "group", start_new_session=True)
        self.ready(process)
        self.assertEqual(process.stdout.readline(), "got %d\n" % signal.SIGUSR1)
        # Were it passed on, it would be before these.
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.stdout.readline(), "got %d\n" % signal.SIGTERM)
        process.send_signal(signal.SIGUSR2)
        self.assertEqual(self.finish(process, 3)[0], "got %d\n" % signal.SIGUSR2)

    def test_death_by_a_signal_that_was_passed_on(self):
        process = self.start("--", "runs", "waits")
        self.ready(process)
        process.terminate()
        _, err = self.finish(process, -signal.SIGTERM)
        self.assertIn("ended without stopping spex", err)

    def test_a_reader_that_goes(self):
        """Tables into a pipe that nobody reads are no reason to die of SIGPIPE."""
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run(self.command(["--", "runs", "exits", "0"]), stderr=writer, check=False,
                                env=self.environment, timeout=PATIENCE)
        os.close(writer)
        self.assertEqual(result.returncode, 1)


class Terminal(Runs):
    """In front of a terminal, as a job of a shell."""

    def setUp(self):
        super().setUp()
        self.master, self.slave = pty.openpty()
        self.addCleanup(os.close, self.master)
        self.output = ""

    def start_job(self, *arguments):
        """This test is the shell: the leader of the session is its child, which starts the job."""
        command = self.command(arguments)
        reader, writer = os.pipe()
        leader = os.fork()
        if leader == 0:
            try:
                os.setsid()
                fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                self.lead(command, writer)
            finally:
                os._exit(1)
        os.close(writer)
        os.close(self.slave)
        self.leader = leader
        self.events = os.fdopen(reader, encoding="ascii")
        self.addCleanup(self.events.close)
        return int(self.events.readline())

    def lead(self, command, events):
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(self.slave, os.getpid())
            for stream in range(3):
                os.dup2(self.slave, stream)
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.execvpe(command[0], command, self.environment)
        os.write(events, b"%d\n" % job)
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                os.write(events, b"stopped %d\n" % os.WSTOPSIG(status))
            elif os.WIFSIGNALED(status):
                os.write(events, b"died %d\n" % os.WTERMSIG(status))
                os._exit(0)
            else:
                os.write(events, b"ended %d\n" % os.WEXITSTATUS(status))
                os._exit(0)

    def read_until(self, pattern):
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.output):
            if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError("waited in vain for %s in %r" % (pattern, self.output))
            self.output += os.read(self.master, 4096).decode().replace("\r\n", "\n")
        return re.search(pattern, self.output)

    def read_all(self):
        try:
            while True:
                self.output += os.read(self.master, 4096).decode().replace("\r\n", "\n")
        except OSError:  # nobody has it open any more
            return self.output

    def done(self, event):
        self.assertEqual(self.events.readline(), event + "\n")
        os.waitpid(self.leader, 0)
        return self.read_all()

    def test_ctrl_c_comes_once(self):
        job = self.start_job("--", "runs", "hears")
        self.read_until(r"ready \d+\n")
        os.write(self.master, b"\x03")
        self.read_until(r"got 2\n")
        os.write(self.master, b"\x1c")
        self.read_until(r"got 3\n")
        # Were they passed on, they would be before these.
        os.kill(job, signal.SIGUSR1)
        self.read_until(r"got 10\n")
        os.kill(job, signal.SIGUSR2)
        text = self.done("ended 3")
        self.assertEqual(re.findall(r"got \d+", text), ["got 2", "got 3", "got 10", "got 12"])
        self.assertIn("records: 2000 produced", text)

    def test_ctrl_c_ends_the_program_and_the_table_comes(self):
        self.start_job("--", "runs", "waits")
        self.read_until(r"ready \d+\n")
        os.write(self.master, b"\x03")
        self.assertIn("ended without stopping spex", self.done("died 2"))

    def test_ctrl_z_stops_both(self):
        job = self.start_job("--", "runs", "hears")
        program = int(self.read_until(r"ready (\d+)\n")[1])
        for _ in range(2):
            os.write(self.master, b"\x1a")
            self.assertEqual(self.events.readline(), "stopped %d\n" % signal.SIGSTOP)
            self.assertIn("State:\tT", Processes.status(program))
            os.killpg(job, signal.SIGCONT)
            wait_for(lambda: "State:\tT" not in Processes.status(program))
        os.kill(job, signal.SIGUSR2)
        text = self.done("ended 3")
        self.assertLessEqual(text.count("got %d\n" % signal.SIGCONT), 2)

    def test_continued_alone(self):
        """`kill -CONT` of spex run alone wakes the program, too."""
        job = self.start_job("--", "runs", "hears")
        program = int(self.read_until(r"ready (\d+)\n")[1])
        os.kill(job, signal.SIGTSTP)
        self.assertEqual(self.events.readline(), "stopped %d\n" % signal.SIGSTOP)
        self.assertIn("State:\tT", Processes.status(program))
        os.kill(job, signal.SIGCONT)
        os.kill(job, signal.SIGUSR2)
        self.done("ended 3")


if __name__ == "__main__":
    SPEX, RUNS = (os.path.abspath(path) for path in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
