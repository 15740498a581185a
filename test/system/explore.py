#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex explore` and `spex report` with a real program that behaves and misbehaves.

usage: explore.py SPEX SUBJECT [unittest arguments]
"""

import csv
import io
import json
import os
import pty
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

SPEX = SUBJECT = None
PATIENCE = 300  # seconds after which a test has failed, whatever the machine


def space(parameters, run='records_per_thread="20" warmup="0.01"', probe="work:tpt",
          metric="throughput", goal="maximise", rest=""):
    return (f'<space name="test">\n{parameters}\n'
            f'<objective probe="{probe}" metric="{metric}" goal="{goal}"/>\n'
            f'<run {run}/>\n{rest}</space>\n')


def behaviours(*names):
    return f'<parameter name="behaviour" type="categorical" values="{" ".join(names)}"/>'


WORK = '<parameter name="work" type="integer" unit="us" values="200 800"/>'
THREADS = '<parameter name="threads" type="integer" min="1" max="2"/>'
MANY = '<parameter name="work" type="integer" min="101" max="160"/>'


def subjects(folder):
    """Processes that run the subject for an exploration whose files are in the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                explored = f"\0SPEX_CONFIG={folder}/".encode() in b"\0" + environment.read()
            if explored and os.readlink(f"/proc/{pid}/exe") == SUBJECT:
                found.append(int(pid))
        except OSError:
            pass  # ended meanwhile, or a thread of the kernel
    return found


class Exploration(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="spex-test-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.store = os.path.join(self.dir, "trials.db")
        self.environment = dict(os.environ, TMPDIR=self.dir)

    def write(self, text, name="space.xml"):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def spex(self, *arguments, **more):
        more.setdefault("env", self.environment)
        return subprocess.run([SPEX, *arguments], capture_output=True, text=True, check=False,
                              timeout=PATIENCE, **more)

    def command(self, text, program=None, policy="grid"):
        return ["explore", self.write(text), "--policy", policy, "--store", self.store, "--",
                *(program or [SUBJECT])]

    def explore(self, text, program=None, policy="grid", **more):
        return self.spex(*self.command(text, program, policy), **more)

    def report(self):
        result = self.spex("report", self.store, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def rows(self, sql):
        db = sqlite3.connect(self.store)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def assert_fails(self, result, status, *phrases):
        self.assertEqual(result.returncode, status, result.stderr)
        for phrase in phrases:
            self.assertIn(phrase, result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def assert_nothing_left(self):
        """Neither files nor processes of ours."""
        self.assertEqual([n for n in os.listdir(self.dir) if n.startswith("spex-")], [])
        self.assertEqual(subjects(self.dir), [])


class Results(Exploration):
    def test_best_and_every_trial_are_reported(self):
        result = self.explore(space(WORK + THREADS, run='trials_per_config="2" threads="threads" '
                                    'records_per_thread="20" warmup="0.01" duration="60"'))
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.report()
        self.assertEqual(len(report["trials"]), 8)
        for trial in report["trials"]:
            self.assertEqual(set(trial), {"config", "objective", "measured", "records_used",
                                          "records_lost", "seconds", "steady", "status", "usage",
                                          "load", "note"})
            self.assertEqual(trial["measured"][0]["value"], trial["objective"])
            self.assertEqual(trial["status"], "ok")
            self.assertEqual(set(trial["config"]), {"work", "threads"})
            self.assertGreaterEqual(trial["records_used"], 20 * trial["config"]["threads"])
            self.assertEqual(trial["records_lost"], 0)
            self.assertAlmostEqual(trial["objective"] * trial["seconds"], trial["records_used"],
                                   delta=0.01)
            # No execution is shorter than `work`.
            most = trial["config"]["threads"] * 1e6 / trial["config"]["work"]
            self.assertLessEqual(trial["objective"], most * 1.02)
        self.assertEqual(report["best"]["config"]["work"], 200)
        self.assertEqual(report["best"]["status"], "ok")
        self.assertEqual(report["worst"]["config"]["work"], 800)
        self.assertLessEqual(report["best"]["low"], report["best"]["objective"])
        self.assertLessEqual(report["best"]["objective"], report["best"]["high"])
        self.assertIn(report["threads_knee"], (1, None))
        self.assert_nothing_left()

    def test_metrics_of_each_trial_are_in_the_store(self):
        self.explore(space(WORK))
        rows = self.rows("SELECT probe, type, records, count, mean, min, p50, p99, max, rate "
                         "FROM trial_metric ORDER BY trial, probe")
        # Only the objective's probe is switched on.
        self.assertEqual([row[:2] for row in rows], [(1, "tpt")] * 2)
        for row, work in zip(rows, (200e-6, 800e-6)):
            _, _, records, count, mean, least, p50, p99, most, rate = row
            self.assertEqual(records, count)
            self.assertLessEqual(least, p50 * 1.01)
            self.assertLessEqual(p50, p99 * 1.01)
            self.assertLessEqual(p99, most * 1.01)
            self.assertGreaterEqual(least, work * 0.98)
            self.assertGreaterEqual(mean, least)
            self.assertLessEqual(rate, 1 / work * 1.02)

    def test_minimising_a_latency(self):
        result = self.explore(space(WORK, metric="p50", goal="minimise"))
        self.assertEqual(result.returncode, 0, result.stderr)
        best = self.report()["best"]
        self.assertEqual(best["config"]["work"], 200)
        self.assertGreaterEqual(best["objective"], 196e-6)

    def test_duration_ends_a_run_that_would_take_too_long(self):
        result = self.explore(space('<parameter name="work" type="integer" values="20000"/>',
                                    run='records_per_thread="100000" warmup="0" duration="0.5"'))
        self.assertEqual(result.returncode, 0, result.stderr)
        trial, = self.report()["trials"]
        self.assertEqual(trial["status"], "ok")
        self.assertGreater(trial["records_used"], 0)
        self.assertLessEqual(trial["objective"], 51)

    def test_a_probe_with_a_period(self):
        result = self.explore(space(WORK, probe="work:tpt@10",
                                    run='records_per_thread="30" warmup="0" duration="60"'))
        self.assertEqual(result.returncode, 0, result.stderr)
        for trial in self.report()["trials"]:
            # Ten executions a record.
            self.assertAlmostEqual(trial["objective"] * trial["seconds"],
                                   10 * trial["records_used"], delta=0.1)

    def test_records_lost_are_told(self):
        # More executions between two looks at a ring than it has room for.
        self.environment["SPEX_RING_RECORDS"] = "2"
        result = self.explore(space('<parameter name="work" type="integer" values="1"/>',
                                    run='records_per_thread="2000" warmup="0"'))
        self.assertEqual(result.returncode, 0, result.stderr)
        trial, = self.report()["trials"]
        self.assertGreater(trial["records_lost"], 0)
        text = self.spex("report", self.store).stdout
        self.assertRegex(text, r"records +\d+ used, [1-9]\d* lost")
        self.assertIn('probe="work:tpt@100"', text)

    def test_text_report(self):
        self.explore(space(WORK + THREADS, run='threads="threads" warmup="0.01"'))
        result = self.spex("report", self.store)
        self.assertEqual(result.returncode, 0, result.stderr)
        best = self.report()["best"]["config"]
        self.assertRegex(result.stdout, r"best +[0-9.e+]+/s .*work=%d us threads=%d" % (best["work"], best["threads"]))
        self.assertRegex(result.stdout, r"worst +[0-9.e+]+/s .*work=800 us")
        self.assertRegex(result.stdout, r"more threads (stop helping from threads=1"
                                        r"|still help at threads=2, the most tried)")


class Failures(Exploration):
    def test_a_program_that_misbehaves_fails_its_trial_only(self):
        result = self.explore(space(
            behaviours("exit", "crash", "end", "orphan", "early", "flood", "plain", "silent",
                       "hang", "stop", "twice",
                       "group", "daemon", "steady"),
            run='records_per_thread="5000" warmup="0.001" startup="2" duration="2"'))
        self.assertEqual(result.returncode, 0, result.stderr)
        expected = {
            "exit": r"^exited with status 3: out of work$",
            "crash": r"^killed by signal 11 \(Segmentation fault\)$",
            "end": r"^exited with status 0$",
            "orphan": r"^exited with status 6$",
            "early": r"^exited with status 4: subject: no database$",
            "flood": r"^ok$",
            "plain": r"^did not call spex_start in 2 s$",
            "silent": r"^hung: no record of work:tpt in 2 s; its last output: waiting for a licence$",
            "stop": r"^ended its records before the run was over$",
            "twice": r"^spex_start was called again, in another process or after spex_stop",
            "group": r"^ok$",
            "daemon": r"^ok$",
            "hang": r"^hung: the records of work:tpt ended [0-9.]+ s before the run did$",
            "steady": r"^ok$",
        }
        report = self.report()
        trials = {trial["config"]["behaviour"]: trial for trial in report["trials"]}
        self.assertEqual(set(trials), set(expected))
        for behaviour, pattern in expected.items():
            self.assertRegex(trials[behaviour]["status"], pattern)
            self.assertEqual(trials[behaviour]["objective"] is None, pattern != r"^ok$")
        self.assertIn(report["best"]["config"]["behaviour"],
                      ("flood", "steady", "group", "daemon"))
        for told in re.findall(r"^trial (\d+) failed: (.*)$", result.stderr, re.MULTILINE):
            self.assertEqual(report["trials"][int(told[0]) - 1]["status"], told[1])
        self.assertIn("further failures are in the report", result.stderr)
        self.assert_nothing_left()

    def test_a_program_that_does_not_start(self):
        result = self.explore(space(WORK), program=["/nonexistent/program"])
        self.assert_fails(result, 1, "did not start: /nonexistent/program: No such file",
                          "no trial has a result")
        self.assertEqual([trial["status"] for trial in self.report()["trials"]],
                         ["did not start: /nonexistent/program: No such file or directory"] * 2)
        self.assertIsNone(self.report()["best"])

    def test_failed_trials_are_run_again_when_asked(self):
        program = os.path.join(self.dir, "program")
        text = space(WORK)
        self.assertEqual(self.explore(text, program=[program]).returncode, 1)
        os.symlink(SUBJECT, program)
        result = self.explore(text, program=[program])
        self.assert_fails(result, 1, "2 of 2 trials failed", "--retry-failed runs them again")
        command = self.command(text, [program])
        result = self.spex(*command[:1], "--retry-failed", *command[1:])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([t["status"] for t in self.report()["trials"]], ["ok", "ok"])
        self.assertEqual(self.rows("SELECT number FROM trial"), [(1,), (2,)])
        self.assertEqual(self.rows("SELECT count(*) FROM trial_value"), [(2,)])

    def test_a_program_that_ignores_sigterm(self):
        result = self.explore(space(behaviours("stubborn")))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_nothing_left()

    def test_an_objective_that_the_program_has_not(self):
        result = self.explore(space(WORK, probe="query:tpt", run='startup="1"'))
        self.assert_fails(result, 1, "has no probe query:tpt; it has: work:tpt, other:cnt")

    def test_no_room_for_the_store(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        result = self.explore(space(MANY, run='trials_per_config="9" records_per_thread="1" warmup="0"'),
                              preexec_fn=limit)
        self.assert_fails(result, 1, "cannot write to the store", self.store, "trials are in")
        told = int(re.search(r"(\d+) of 540 trials are in", result.stderr)[1])
        self.assertGreater(told, 0)
        self.assertEqual(self.rows("SELECT count(*) FROM trial"), [(told,)])
        self.assertEqual(self.rows("PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(len(self.report()["trials"]), told)
        self.assert_nothing_left()

    def test_no_room_for_temporary_files(self):
        self.environment["TMPDIR"] = os.path.join(self.dir, "missing")
        self.assert_fails(self.explore(space(WORK)), 1, "cannot make a directory", "missing")
        self.environment["TMPDIR"] = self.dir + "/" + "d" * 100
        os.mkdir(self.environment["TMPDIR"])
        self.assert_fails(self.explore(space(WORK)), 1, "too long", "TMPDIR")


class BadInput(Exploration):
    def test_command_line(self):
        path = self.write(space(WORK))
        cases = [
            ([], 2, "usage: spex COMMAND"),
            (["dance"], 2, 'unknown command "dance"'),
            (["explore", path, "--", SUBJECT], 2, "--store FILE.db was expected"),
            (["explore", "--store", self.store, "--", SUBJECT], 2, "one space was expected"),
            (["explore", path, "--store", self.store], 2, '"-- PROGRAM" was expected'),
            (["explore", path, "--store", self.store, "--"], 2, '"-- PROGRAM" was expected'),
            (["explore", path, "--store", self.store, "--what", "--", SUBJECT], 2, "--what"),
            (["report"], 2, "one store was expected"),
            (["report", self.store, "--heatmap"], 2, "heatmap"),
            (["report", self.store], 1, "cannot open the store"),
            (["explore", self.dir + "/no.xml", "--store", self.store, "--", SUBJECT], 1,
             "no.xml: No such file"),
            (["explore", path, "--store", "/nonexistent/x.db", "--", SUBJECT], 1,
             "cannot open the store /nonexistent/x.db: No such file"),
            (["explore", path, "--store", self.store, "--policy", "oracle", "--", SUBJECT], 1,
             'unknown policy "oracle"; there are: gaussian'),
        ]
        for arguments, status, phrase in cases:
            with self.subTest(arguments=arguments):
                self.assert_fails(self.spex(*arguments), status, phrase)
        self.assertFalse(os.path.exists(self.store))

    def test_help_and_version(self):
        for arguments in (["--help"], ["explore", "--help"], ["report", "--help"], ["explain", "--help"], ["--version"]):
            result = self.spex(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("spex", result.stdout)

    def test_a_bad_space_names_its_line(self):
        bad = space('<parameter name="work"\n type="integer" min="9" max="1"/>')
        self.assert_fails(self.explore(bad), 1, "space.xml:3: <parameter>: min=9")
        self.assert_fails(self.explore("<space name='x'>\n<parameter"), 1, "space.xml:2: ")
        self.assertFalse(os.path.exists(self.store))

    def test_a_store_of_something_else(self):
        self.assertEqual(self.explore(space(WORK)).returncode, 0)
        before = self.rows("SELECT * FROM trial")
        self.assert_fails(self.explore(space(MANY)), 1, "belongs to another space", "work")
        self.assert_fails(self.explore(space(WORK), program=[SUBJECT, "x"]), 1,
                          "belongs to another program")
        self.assertEqual(self.rows("SELECT * FROM trial"), before)

    def test_a_store_with_a_name_that_sqlite_has_a_meaning_for(self):
        result = self.spex("explore", self.write(space(WORK)), "--store", ":memory:", "--", SUBJECT,
                           cwd=self.dir)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.store = os.path.join(self.dir, ":memory:")
        self.assertEqual(self.rows("SELECT count(*) FROM trial"), [(2,)])

    def test_a_store_that_is_none(self):
        with open(self.store, "w", encoding="utf-8") as file:
            file.write("my precious notes\n" * 100)
        self.assert_fails(self.explore(space(WORK)), 1, "is no store of spex")
        self.assert_fails(self.spex("report", self.store), 1, "is no store of spex")
        os.unlink(self.store)
        db = sqlite3.connect(self.store)
        db.execute("CREATE TABLE mine (x)")
        db.close()
        self.assert_fails(self.explore(space(WORK)), 1, "is no store of spex")
        self.assertEqual(self.rows("SELECT name FROM sqlite_master"), [("mine",)])


class Interruption(Exploration):
    TEXT = space(MANY, run='trials_per_config="3" warmup="0.01"')

    def explore_on_terminal(self):
        """Starts an exploration on a terminal of its own."""
        pid, terminal = pty.fork()
        if pid == 0:
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

    def test_control_c_keeps_what_is_finished(self):
        pid, terminal = self.explore_on_terminal()
        seen = self.wait_for(terminal, rb"\b[4-9]/180 trials")
        self.assertRegex(seen, rb"\[#*\.+\] \d+/180 trials, .*left.*best [0-9.]+: work=")
        os.write(terminal, b"\x03")
        seen = self.wait_for(terminal, rb"interrupted; (\d+) of 180 trials are in")
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 130)
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
        limit = time.monotonic() + PATIENCE
        while subjects(self.dir):
            self.assertLess(time.monotonic(), limit, "the program outlived its explorer")
        self.assert_goes_on(self.finished())

    def test_a_pause_fails_no_trial(self):
        text = space(WORK, run='records_per_thread="2000" warmup="0" duration="3" trials_per_config="2"')
        with open(os.path.join(self.dir, "log"), "w", encoding="utf-8") as log:
            explorer = subprocess.Popen([SPEX, *self.command(text)], env=self.environment,
                                        stderr=log)
        limit = time.monotonic() + PATIENCE
        while not subjects(self.dir):
            self.assertLess(time.monotonic(), limit)
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


class Reports(Exploration):
    """What `spex report` and `spex explain` say of real trials, beside the numbers."""

    def explored(self):
        result = self.explore(space(WORK + THREADS, run='threads="threads" warmup="0.001" '
                                    'trials_per_config="2" records_per_thread="5"'))
        self.assertEqual(result.returncode, 0, result.stderr)

    def run_report(self, *arguments, command="report"):
        result = self.spex(command, self.store, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_table_of_trials(self):
        self.explored()
        rows = list(csv.DictReader(io.StringIO(self.run_report("--csv", "-"), newline="")))
        self.assertEqual([int(row["trial"]) for row in rows], list(range(1, 9)))
        self.assertEqual({row["status"] for row in rows}, {"ok"})
        self.assertEqual({row["work"] for row in rows}, {"200", "800"})
        for row, trial in zip(rows, self.report()["trials"]):
            self.assertAlmostEqual(float(row["throughput of work:tpt [/s]"]) / trial["objective"], 1)
        path = os.path.join(self.dir, "trials.csv")
        self.assertIn("best ", self.run_report("--csv", path))
        with open(path, encoding="utf-8", newline="") as file:
            self.assertEqual(len(list(csv.reader(file))), 9)

    def test_explanation(self):
        self.explored()
        # How much these trials vary is the machine's affair, and so is what has changed surely.
        text = self.run_report("work=200,threads=1", "work=800,threads=1", "--all",
                               command="explain")
        self.assertRegex(text, r"work \[us\] +200 +800\n")
        self.assertRegex(text, r"work:tpt throughput \[/s\] .* x \d.* \(")
        report = json.loads(self.run_report("#1", "work=800,threads=1", "--json",
                                            command="explain"))
        self.assertEqual(report["differ"], ["work"])
        quantities = {of["name"]: of for of in report["quantities"]}
        self.assertGreaterEqual(quantities["work:tpt min"]["b"], 800e-6 * 0.98)
        self.assertIn("usage user_seconds", quantities)
        self.assert_fails(self.spex("explain", self.store, "best", "work=200"), 1,
                          "2 configurations have these values")
        self.assert_fails(self.spex("explain", self.store, "best"), 2,
                          "a store and two configurations were expected")

    def test_two_stores(self):
        self.explored()
        text = self.run_report(self.store)
        self.assertIn("space      the same", text)
        self.assertIn("machine    the same", text)
        self.assertIn("no configuration changed surely", text)
        self.assert_fails(self.spex("report", self.store, self.store, "--html", "/dev/null"), 1,
                          "as text or JSON only")

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_pictures_and_page(self):
        self.explored()
        names = ["heat.png", "effects.svg", "convergence.png", "page.html"]
        heat, effects, convergence, page = (os.path.join(self.dir, name) for name in names)
        self.run_report("--heatmap", heat, "--x", "threads", "--effects", effects, "--convergence",
                        convergence, "--html", page)
        for path in (heat, convergence):
            with open(path, "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        xml.etree.ElementTree.parse(effects)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("<svg"), 3)
        self.assertNotRegex(text, r'(src|href)="?https?:')
        self.assertEqual([name for name in os.listdir(self.dir) if name.endswith(".part")], [])

    def test_what_cannot_be_asked_for(self):
        self.explored()
        for arguments, status, phrase in (
                (["--x", "work"], 2, "--x and --y are for --heatmap or --html"),
                (["--json", "--csv", "-"], 2, "either --json or --csv -"),
                (["--csv", "/nonexistent/file"], 1, "cannot write /nonexistent/file"),
                (["--heatmap", os.path.join(self.dir, "h.svg"), "--y", "nothing"], 1,
                 'no parameter "nothing"'),
                (["--pareto", os.path.join(self.dir, "p.svg")], 1, "two objectives or more")):
            with self.subTest(arguments=arguments):
                self.assert_fails(self.spex("report", self.store, *arguments), status, phrase)


class HeatMap(Exploration):
    TEXT = space(WORK + THREADS + behaviours("steady", "early"), run='warmup="0.001"',
                 rest='<heatmap x="work" y="threads"/>')

    def setUp(self):
        super().setUp()
        self.picture = os.path.join(self.dir, "map.svg")
        if not shutil.which("gnuplot"):
            self.skipTest("gnuplot is not installed")

    def draw(self, **more):
        return self.spex("report", self.store, "--heatmap", self.picture, **more)

    def test_panels_axes_and_cells(self):
        self.explore(self.TEXT)
        result = self.draw()
        self.assertEqual(result.returncode, 0, result.stderr)
        root = xml.etree.ElementTree.parse(self.picture).getroot()
        texts = ["".join(t.itertext()).strip()
                 for t in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("behaviour steady", texts)
        self.assertIn("behaviour early", texts)
        self.assertEqual(texts.count("work [us]"), 2)
        self.assertEqual(texts.count("threads"), 2)
        self.assertIn("throughput, /s", texts)
        self.assertFalse(os.path.exists(self.picture + ".part"))

    def test_names_that_gnuplot_could_misread(self):
        odd = '<parameter name="odd" type="categorical" values="a\'b `id` $x \\n {/=9} a&quot;b"/>'
        self.explore(space(WORK + THREADS + odd, run='warmup="0.001" records_per_thread="1"',
                           rest='<heatmap x="work" y="threads"/>'))
        result = self.draw()
        self.assertEqual(result.returncode, 0, result.stderr)
        root = xml.etree.ElementTree.parse(self.picture).getroot()
        texts = ["".join(t.itertext()).strip()
                 for t in root.iter("{http://www.w3.org/2000/svg}text")]
        for value in ("a'b", "`id`", "$x", "\\n", "{/=9}", 'a"b'):
            self.assertIn("odd " + value, texts)

    def test_what_can_go_wrong(self):
        self.explore(space(behaviours("early"), run='startup="5"'))
        self.assert_fails(self.draw(), 1, "no trial has a result")
        os.unlink(self.store)
        self.explore(space(WORK))
        self.assert_fails(self.draw(), 1, "two parameters or more")
        os.unlink(self.store)
        self.explore(space(WORK + THREADS))
        self.assert_fails(self.draw(env=dict(self.environment, PATH="/nonexistent")), 1,
                          "needs gnuplot")
        self.picture = "/nonexistent/map.svg"
        self.assert_fails(self.draw(), 1, "cannot write /nonexistent/map.svg.part")


if __name__ == "__main__":
    SPEX, SUBJECT = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
