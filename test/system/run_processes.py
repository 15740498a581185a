#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex run` with programs of several processes, with signals, and on a terminal.

usage: run_processes.py SPEX RUNS [unittest arguments]
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import termios
import time
import unittest

from running import NOBODY as USER, nobody_can_run
from launched import counts, EXACTLY, NOBODY as SILENCE, PATIENCE, process_status, RUNS, Runs, wait_for


class Processes(Runs):
    def test_a_fork_is_not_followed(self):
        found, _ = self.run_json("--", "runs", "forks")
        process, = found["processes"]
        self.assertEqual(counts(process), EXACTLY)

    def test_nobody_is_told_by_what_is_known(self):
        for option, told in ([], True), (["-f"], False):
            for program in ["true"], ["env", "-i", RUNS, "exits", "0"]:
                result = self.run_it(*option, "--", *program)
                self.assertEqual(result.returncode, 0)
                self.assertIn(SILENCE % program[0], result.stderr)
                self.assertEqual("--follow-forks" in result.stderr, told)
                self.assertIn("daemon", result.stderr)

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
        self.assertEqual(len(re.findall(r"^request +lat +1000\b", self.text("table"), re.M)), 2)

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

    def test_what_is_not_seen_of_a_process_that_overruns_its_rings(self):
        result = self.run_it("--json", "-o", self.path("json"), "--", "runs", "overruns", SPEX_RING_RECORDS="64")
        self.assertEqual(result.returncode, 0, result.stderr)
        process, = json.loads(self.text("json"))["processes"]
        self.assertEqual(process["state"], "ended")
        self.assertEqual(process["records"]["produced"] + process["unseen_records"], 42000)
        self.assertGreater(process["unseen_records"] + process["records"]["lost"], 0)
        result = self.run_it("--", "runs", "overruns", SPEX_RING_RECORDS="64")
        self.assertRegex(result.stderr, r"process \d+ \(runs\) ended without stopping spex: figures are those up to \d+ ms "
                                        r"before its end, without the \d+ records that it has made since\n")

    def test_a_daemon_is_not_waited_for(self):
        result = self.run_it("-o", self.path("table"), "--", "runs", "leaves", self.path("off"))
        self.skip_without_forks(result)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = self.text("table")
        found = re.search(r"^process (\d+) \(runs\):\nprocess \1 \(runs\) still runs; its probes go off now\n"
                          r"probe ", text, re.M)
        self.assertTrue(found, text)
        self.assertEqual(len(re.findall(r"^request +lat +", text, re.M)), 2)
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
                 "State:\tZ" in process_status(number))
        process.wait()
        self.assertEqual(self.run_it("--", "runs", "exits", "0").returncode, 0)  # cleans up

    def test_a_program_that_has_dropped_its_privileges(self):
        if os.geteuid() != 0 or not nobody_can_run(RUNS):
            self.skipTest("root, and a program that others can run, were expected")
        nobody = ["setpriv", "--reuid=%d" % USER, "--regid=%d" % USER, "--clear-groups"]
        found, result = self.run_json("--", *nobody, RUNS, "starts")
        self.assertEqual([counts(process) for process in found["processes"]], [EXACTLY, EXACTLY])
        self.assertEqual(result.stderr, "")

    def test_more_processes_than_are_kept(self):
        script = "i=0; while [ $i -lt 260 ]; do %s exits 0; i=$((i + 1)); done" % RUNS
        found, result = self.run_json("-e", "step", "--", "sh", "-c", script)
        self.assertEqual(len(found["processes"]), 256)
        self.assertEqual({counts(process)["step", "cnt"] for process in found["processes"]}, {1000})
        self.assertEqual(found["unwatched"], 4)
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
        self.assertIn("2 processes of sh connected, and none has sent a report", err)
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
            # Ignored above; or in what a shell runs in the background, as this test may be.
            for number in [signal.SIGTTOU, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]:
                signal.signal(number, signal.SIG_DFL)
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
            self.assertIn("State:\tT", process_status(program))
            os.killpg(job, signal.SIGCONT)
            wait_for(lambda: "State:\tT" not in process_status(program))
        os.kill(job, signal.SIGUSR2)
        text = self.done("ended 3")
        self.assertLessEqual(text.count("got %d\n" % signal.SIGCONT), 2)

    def test_continued_alone(self):
        """`kill -CONT` of spex run alone wakes the program, too."""
        job = self.start_job("--", "runs", "hears")
        program = int(self.read_until(r"ready (\d+)\n")[1])
        os.kill(job, signal.SIGTSTP)
        self.assertEqual(self.events.readline(), "stopped %d\n" % signal.SIGSTOP)
        self.assertIn("State:\tT", process_status(program))
        os.kill(job, signal.SIGCONT)
        os.kill(job, signal.SIGUSR2)
        self.done("ended 3")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
