#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex explore` with a real program that behaves and misbehaves, and with bad input.

usage: explore.py SPEX SUBJECT [unittest arguments]
"""

import os
import re
import resource
import sqlite3
import sys
import unittest

from exploration import behaviours, Exploration, MANY, space, SUBJECT, THREADS, WORK
from running import AS_NOBODY, can_become_nobody


class Results(Exploration):
    def test_best_and_every_trial_are_reported(self):
        # The best is told by the median, of which a busy machine takes nothing.
        throughput = '<objective probe="work:tpt" metric="throughput" goal="maximise"/>\n<run'
        text = space(WORK + THREADS, 'trials_per_config="2" threads="threads" records_per_thread="20" warmup="0.01" duration="60"',
                     metric="p50", goal="minimise")
        result = self.explore(text.replace("<run", throughput))
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
            rate = trial["measured"][1]["value"]
            self.assertAlmostEqual(rate * trial["seconds"], trial["records_used"], delta=0.01)
            # No execution is shorter than `work`.
            most = trial["config"]["threads"] * 1e6 / trial["config"]["work"]
            self.assertLessEqual(rate, most * 1.02)
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

    def test_a_pause_at_the_end_of_a_run_is_no_hang(self):
        """30 executions of 20 ms, a pause of 0.7 s in which the run's second ends, and more of them."""
        result = self.explore(space('<parameter name="work" type="integer" values="20000"/>'
                                    '<parameter name="behaviour" type="categorical" values="pause"/>',
                                    run='records_per_thread="100000" warmup="0" duration="1"'))
        self.assertEqual(result.returncode, 0, result.stderr)
        trial, = self.report()["trials"]
        self.assertEqual(trial["status"], "ok")
        self.assertGreater(trial["records_used"], 0)

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

    def seconds_of_a_fast_program(self, run):
        text = space('<parameter name="work" type="integer" values="20"/>',
                     run='records_per_thread="5" warmup="0" least=""' + run)
        self.explore(text.replace(' least=""', ""))
        trial, = self.report()["trials"]
        self.assertEqual(trial["status"], "ok")
        self.assertGreater(trial["records_used"], 5)
        os.unlink(self.store)
        return trial["seconds"]

    def test_a_fast_program_is_measured_for_a_while(self):
        """100 ms however fast it makes its records; no longer than the run may take."""
        for run, least in (("", 0.1), (' least="0.15"', 0.15)):
            self.assertGreaterEqual(self.seconds_of_a_fast_program(run), least)
        # A busy machine may let a run last longer than it may take, but not each of them.
        for _ in range(100):
            if self.seconds_of_a_fast_program(' duration="0.05"') < 0.1:
                break
        else:
            self.fail("each run lasted twice as long as it may take")
        # It may end before, if it has made enough records.
        self.explore(space(behaviours("end"), run='records_per_thread="5" warmup="0" least="9"'))
        trial, = self.report()["trials"]
        self.assertEqual(trial["status"], "ok")
        self.assertGreaterEqual(trial["records_used"], 5)

    def test_text_report(self):
        explored = self.explore(space(WORK + THREADS, run='threads="threads" warmup="0.01"'))
        result = self.spex("report", self.store)
        self.assertEqual(result.returncode, 0, result.stderr)
        best, worst = (self.report()[which]["config"] for which in ("best", "worst"))
        # The same figure for the same configuration.
        said, = re.findall(r"(?m)^best +(.*) \(95 %: (.*)\)  .* in \d+ trials?  (.*)$", result.stdout)
        tied = len(self.report()["ties"])
        self.assertRegex(explored.stderr, r"\nspex: best %s; %s; 4 trials in [\d.:]+( m?s)?\n\Z" % (
            re.escape("%s (95 %%: %s), %s" % said),
            "of the 4 tried " + ("no other is as good" if tied == 1 else "%d others? may be as good" % (tied - 1))))
        self.assertRegex(result.stdout, r"(?m)^ *4 +\S+ m?s +" + re.escape(said[0]) + "$")
        self.assertRegex(result.stdout, r"best +[0-9.]+( k)?/s .*work=%d us threads=%d" % (best["work"], best["threads"]))
        self.assertRegex(result.stdout, r"worst +[0-9.]+( k)?/s .*work=%d us threads=%d" % (worst["work"], worst["threads"]))
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
            "end": r"^exited with status 0, before it had 5000 records a thread of work:tpt after the first, which begins the time$",
            "orphan": r"^exited with status 6$",
            "early": r"^exited with status 4: subject: no database$",
            "flood": r"^ok$",
            "plain": r"^did not connect in 2 s: no spex_start with the SPEX_OUT given$",
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

    @unittest.skipUnless(can_become_nobody(SUBJECT), "root, and a program that others can run, were expected")
    def test_a_program_that_has_dropped_its_privileges(self):
        mask = os.umask(0o077)
        self.addCleanup(os.umask, mask)
        result = self.explore(space(WORK), program=["sh", "-c", '"$@"; exit', "sh", *AS_NOBODY, SUBJECT])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([trial["status"] for trial in self.report()["trials"]], ["ok", "ok"])

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
        result = self.explore(space(MANY, run='trials_per_config="9" records_per_thread="1" warmup="0" finals="none"'),
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
            (["explore", "--store", self.store, "--", SUBJECT], 2, "a space, --set NAME=VALUES or --pool FILE.csv was expected"),
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
        result = self.spex("explore", self.write(space(WORK)), "--store", ":memory:", "--policy", "grid", "--",
                           SUBJECT, cwd=self.dir)
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
