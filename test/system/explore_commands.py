#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex explore` with commands that have no probes: what is measured of them and of their output.

usage: explore_commands.py SPEX SUBJECT [unittest arguments]
"""

import os
import sys
import unittest

from exploration import Exploration, SUBJECT

SIZES = '<parameter name="n" type="integer" values="1 2 3"/>'


def commands(*criteria, parameters=SIZES, rest=""):
    return f'<space name="commands">\n{parameters}\n' + "\n".join(criteria) + f"\n{rest}\n</space>\n"


def objective(attributes, goal="minimise"):
    return f'<objective {attributes} goal="{goal}"/>'


def shell(script):
    return ["sh", "-c", script]


class Commands(Exploration):
    def values(self, text, program):
        """What was measured in the trials, by n; each must have succeeded."""
        result = self.explore(text, program)
        self.assertEqual(result.returncode, 0, result.stderr)
        trials = self.report()["trials"]
        self.assertEqual({trial["status"] for trial in trials}, {"ok"})
        self.assert_nothing_left()
        return {trial["config"]["n"]: [one["value"] for one in trial["measured"]] for trial in trials}

    def failure(self, text, program):
        """Why all trials failed."""
        result = self.explore(text, program)
        self.assertNotEqual(result.returncode, 0)
        reasons = {trial["status"] for trial in self.report()["trials"]}
        self.assertEqual(len(reasons), 1, reasons)
        self.assert_nothing_left()
        return reasons.pop()

    def test_it_says_why_it_ended(self):
        script = ["sh", "-c", "echo score: {n}"]
        text = '<space name="s"><parameter name="n" type="{}" values="{}"/><objective output="score: ([0-9]+)" ' \
               'goal="minimise"/><run trials="30"/></space>'
        result = self.explore(text.format("integer", "1 2 3 4 5"), script, policy="gaussian")
        self.assertRegex(result.stderr, r"; [5-9] trials of 30 in \S+( m?s)?: nothing is left to find out\n")
        os.remove(self.store)
        result = self.explore(text.format("categorical", "1,2"), script, policy="gaussian")
        self.assertIn("the only configuration: blanks separate values in a space, bars those of --set; ", result.stderr)
        os.remove(self.store)
        result = self.explore(text.format("integer", "1 2 3 4 5"), ["false"], policy="gaussian")
        self.assert_fails(result, 1, "no trial has a result, and all were tried")

    def test_resources_of_the_command(self):
        # Each n takes as many parts of a tenth of a second, and of 64 MiB: more than spex itself, which is the least that is told.
        script = """exec python3 -c '
import time
n = int("{n}")
kept = bytearray(n << 26)
begin = time.process_time()
while time.process_time() - begin < n * 0.1:
    pass
for i in range(n * 10):
    time.sleep(0.001)
'"""
        text = commands(objective('command="wall"'), objective('command="cpu"'), objective('command="memory"'),
                        objective('command="faults"'), objective('command="switches"'))
        values = self.values(text, shell(script))
        for n, (wall, cpu, memory, faults, switches) in values.items():
            self.assertGreaterEqual(wall, n * 0.11)
            self.assertGreaterEqual(cpu, n * 0.1)
            self.assertGreaterEqual(memory, n << 26)
            self.assertGreaterEqual(faults, n * 100)
            self.assertGreaterEqual(switches, n * 10)
        # The interpreter itself takes some MiB, not always as many.
        self.assertGreater(values[3][2] - values[1][2], 120 << 20)
        self.assertEqual([(of["probe"], of["metric"], of["unit"]) for of in self.report()["criteria"]],
                         [("command", "wall", "s"), ("command", "cpu", "s"), ("command", "memory", "B"),
                          ("command", "faults", ""), ("command", "switches", "")])
        text = self.spex("report", self.store).stdout
        self.assertIn("objective  minimise wall time\nobjective  minimise CPU time\n", text)
        self.assertIn("peak memory", text)
        self.assertNotIn("\nrecords ", text)

    def test_the_last_match_in_the_output_counts(self):
        text = commands(objective('output="ops/sec: *([0-9.]+)"', "maximise"))
        values = self.values(text, shell("echo ops/sec: 0.5; echo ops/sec: {n}0.5; echo end"))
        self.assertEqual(values, {1: [10.5], 2: [20.5], 3: [30.5]})
        self.assertEqual(self.report()["best"]["config"]["n"], 3)

    def test_json_is_the_standard_output_alone(self):
        text = commands(objective('json="/results/1/ops"', "maximise"))
        script = """echo '[' >&2; echo '{"results": [0, {"ops": '{n}'}]}'; echo noise >&2"""
        self.assertEqual(self.values(text, shell(script)), {1: [1], 2: [2], 3: [3]})

    def test_a_command_after_the_trial_measures(self):
        path = self.write("", "made")
        text = commands(objective(f'measure="echo 7; wc -c &lt; {path}; echo 1e9 &gt;&amp;2"'))
        self.assertEqual(self.values(text, shell(f"head -c {{n}} /dev/zero > {path}")),
                         {1: [1], 2: [2], 3: [3]})

    def test_a_measure_runs_before_the_teardown_and_knows_the_configuration(self):
        path = self.dir + "/made"
        text = commands(objective(f'measure="cat {path}; echo ${{SPEX_PARAMETER_N}}{{n}}"'),
                        rest=f'<setup command="echo &gt; {path}"/><teardown command="rm {path}"/>')
        self.assertEqual(self.values(text, ["true"]), {1: [11], 2: [22], 3: [33]})

    def test_several_objectives_have_a_front(self):
        text = commands(objective('output="a ([0-9]+)"'), objective('output="b ([0-9]+)"'),
                        '<limit output="a ([0-9]+)" at_most="2"/>')
        self.values(text, shell("echo a {n}; echo b $((9 - {n}))"))
        report = self.report()
        self.assertEqual(report["best"]["config"]["n"], 1)
        # The limit leaves two of the three.
        self.assertIn("Pareto front: 2 configurations", self.spex("report", self.store).stdout)

    def test_much_output_is_taken(self):
        # More than a pipe holds, with the match before it and at its end.
        text = commands(objective('output="^n=([0-9]+)"'))
        self.assertEqual(self.values(text, shell("echo n=9; seq 200000; printf n={n}")),
                         {1: [1], 2: [2], 3: [3]})

    def test_what_a_failed_trial_says(self):
        wall = commands(objective('command="wall"'))
        line = commands(objective('output="x=([^ ]*)"'))
        json = commands(objective('json="/a/0"'))
        cases = (
            (wall, shell("echo no room >&2; exit 3"), "exited with status 3: no room"),
            (wall, shell("kill -9 $$"), "killed by signal 9 (Killed)"),
            (wall, ["./is-not-there"], "did not start: ./is-not-there: No such file or directory"),
            (line, ["true"], 'a line that matches output="x=([^ ]*)" was expected in its output'),
            (line, ["echo", "x=much"], 'output="x=([^ ]*)" found "much", where a number was expected'),
            (line, shell("echo x=1 >&2"), 'a line that matches output="x=([^ ]*)" was expected in its output'),
            (json, ["echo", "a 0"], "JSON was expected as its output; line 1: '[' or '{' expected near 'a'"),
            (json, ["echo", '{"a": []}'], "a number at /a/0 of its JSON was expected; there is none"),
            (json, ["echo", '{"a": ["1"]}'], "a number at /a/0 of its JSON was expected, not a text"),
            (commands(objective('measure="echo none"')), ["true"],
             "measure: a number was expected as the output of echo none"),
            (commands(objective('measure="exit 2"')), ["true"], "measure: exited with status 2"),
            (commands(objective('command="wall"'), rest='<run duration="0.2"/>'), ["sleep", "60"],
             "did not end in 0.2 s (<run duration>)"),
        )
        for number, (text, program, reason) in enumerate(cases):
            with self.subTest(reason):
                self.store = f"{self.dir}/{number}.db"
                self.assertEqual(self.failure(text, program), reason)

    def test_it_resumes(self):
        text = commands(objective('output="([0-9]+)"'))
        first = self.values(text, ["echo", "{n}"])
        again = self.explore(text, ["echo", "{n}"])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("0 of them now", again.stderr)
        self.assertEqual(len(self.report()["trials"]), len(first))


class WithoutXml(Exploration):
    def setUp(self):
        super().setUp()
        self.store = self.dir + "/explore-sh.db"

    def set_space(self, *arguments):
        return self.spex("explore", *arguments, cwd=self.dir)

    def test_it_makes_a_space_keeps_it_and_goes_on(self):
        command = ["--set", "n=1..4", "--set", "x=8|2", "--set", "y=1..64*4", "--set", "z=0.5..1.5:0.5",
                   "--minimise", "output=n=([0-9]+)", "--maximise", 'output=x="<([0-9]+)', "--policy", "grid",
                   "--", "sh", "-c", """echo n={n}; echo 'x="<{x}' {y} {z}"""]
        result = self.set_space(*command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^spex: a run takes [\d.]+ [mµ]?s; two of the first configuration differ by 0 % "
                                        r"in output n=\(\[0-9\]\+\)\nspex: 96 configurations; the space is in "
                                        r"explore-sh\.xml, trials go to explore-sh\.db\n")
        report = self.report()
        self.assertEqual(len(report["trials"]), 96)
        self.assertEqual(report["best"]["config"]["n"], 1)
        self.assertEqual({trial["measured"][1]["value"] for trial in report["trials"]}, {2, 8})
        self.assertEqual({trial["config"]["y"] for trial in report["trials"]}, {1, 4, 16, 64})
        self.assertEqual({trial["config"]["z"] for trial in report["trials"]}, {0.5, 1, 1.5})
        again = self.set_space(*command)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("96 trials, 0 of them now", again.stderr)
        self.assertNotIn("a run takes", again.stderr)
        # The space is one as any other.
        again = self.set_space("explore-sh.xml", "--store", "explore-sh.db", "--policy", "grid",
                               *command[command.index("--"):])
        self.assertIn("96 trials, 0 of them now", again.stderr)
        self.assert_nothing_left()

    def test_wall_time_is_what_counts_without_a_goal(self):
        result = self.set_space("--set", "n=0.01|0.1", "--store", "naps.db", "--", "sleep", "{n}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.store = self.dir + "/naps.db"
        report = self.report()
        self.assertEqual(report["best"]["config"]["n"], 0.01)
        self.assertEqual(report["criteria"][0]["metric"], "wall")
        with open(self.dir + "/naps.xml", encoding="utf-8") as kept:
            self.assertEqual(kept.readline(), '<space name="sleep">\n')

    def test_threads_are_known_by_their_name(self):
        command = ["--set", "threads=1..4", "--minimise", "output=([0-9]+)", "--policy", "grid", "--", "sh", "-c",
                   "echo $((100 / {threads}))"]
        for _ in range(2):
            result = self.set_space(*command)
            self.assertEqual(result.returncode, 0, result.stderr)
        text = self.spex("report", self.store).stdout
        self.assertIn("\nbest measured output ([0-9]+) by threads\n", text)
        self.assertRegex(text, r"(?m)^more threads still help at threads=4, the most tried$")

    def test_memory_below_that_of_spex_is_told(self):
        result = self.set_space("--set", "n=1|2", "--minimise", "memory", "--", "sh", "-c", ": {n}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"differ by \S+ % in peak memory, but less memory than the \S+ MiB of spex "
                                        r"itself cannot be told\n")

    def test_a_time_bounds_it(self):
        result = self.set_space("--set", "n=1..1000", "--for", "1s", "--policy", "grid", "--", "sh", "-c",
                                "sleep 0.05; : {n}")
        self.assertEqual(result.returncode, 0, result.stderr)
        trials = len(self.report()["trials"])
        self.assertGreater(trials, 0)
        self.assertLessEqual(trials, 20)
        self.assertRegex(result.stderr, r"1000 configurations; about \d+ trials fit into 1 s; ")

    def test_probes_as_before(self):
        result = self.set_space("--set", "work=200|800", "--minimise", "p50 of work:tpt", "--store", "probes.db",
                                "--policy", "grid", "--", SUBJECT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.store = self.dir + "/probes.db"
        self.assertEqual(self.report()["best"]["config"]["work"], 200)

    def test_another_exploration_is_not_mixed_with_it(self):
        self.assertEqual(self.set_space("--set", "n=1|2", "--", "sh", "-c", ": {n}").returncode, 0)
        other = self.set_space("--set", "n=1|2|3", "--", "sh", "-c", ": {n}")
        self.assertNotEqual(other.returncode, 0)
        self.assertEqual(other.stderr, "spex: explore: explore-sh.xml is of another exploration than these options "
                                       "are; --store with the name of a new file was expected\n")

    def test_what_is_wrong_is_told_in_one_line(self):
        command = ["--", "sh", "-c", "exit 3; : {n}"]
        n = ["--set", "n=1..2"]
        cases = (
            (["--set", "n", *command], "--set n: NAME=VALUES was expected, as threads=1..8 or mode=a|b"),
            (["--set", "n=8..1", *command], "--set n=8..1: the range is empty: 1..8 was expected"),
            (["--set", "n=1..x", *command],
             "--set n=1..x: a range of numbers was expected, as 1..8, 1..9:2 or 1..64*2"),
            (["--set", "n=1..8:3", *command], "--set n=1..8:3: "),
            (["--set", "n=a||b", *command], '--set n=a||b: values without blanks were expected, not ""'),
            (["--set", "n=a b|c", *command], '--set n=a b|c: values without blanks were expected, not "a b"'),
            (["--set", "n=a|a", *command], '--set n=a|a: values: "a" is there twice'),
            (["--set", "n=1", "--set", "n=2", *command], '--set n=2: parameter "n" is there twice'),
            (["--set", "9=1", *command], '--set 9=1: name="9": a letter, then letters'),
            ([*n, "--set", "m=1..2", *command], "--set m: {m} was expected in an argument of the program"),
            ([*n, *command[:-1], ": {n} {m}"], '": {n} {m}": {m}: the space has no such parameter; it has n'),
            ([*n, "--minimise", "time", *command], "--minimise time: wall, cpu, memory, faults, switches, output="),
            ([*n, "--minimise", "output=x", *command], '--minimise output=x: output="x": one group in brackets'),
            ([*n, "--maximise", "json=x", *command], '--maximise json=x: json="x": a pointer was expected'),
            ([*n, "--minimise", "wall", "--maximise", "wall", *command],
             "--maximise wall: wall time is an objective already"),
            ([*n, "--minimise", "wall", "--minimise", "mean of q:lat", *command],
             "--minimise mean of q:lat: figures of probes alone, or none of probes, were expected"),
            ([*n, "--for", "soon", *command], "--for soon: a time was expected, as 90s, 10min or 2h"),
            ([*n], '"-- PROGRAM" was expected'),
            ([*n, "space.xml", *command], "either a space, --set or --pool was expected"),
            (["--minimise", "wall", "space.xml", *command], "--minimise and --maximise were expected with --set or --pool alone"),
            ([*command], "a space, --set NAME=VALUES or --pool FILE.csv was expected"),
            (["space.xml", *command], "--store FILE.db was expected"),
            ([*n, *command], "it cannot be measured with n=1: exited with status 3"),
            ([*n, "--", "./none", "{n}"], "it cannot be measured with n=1: did not start: ./none: No such file"),
        )
        for arguments, expected in cases:
            with self.subTest(expected):
                result = self.set_space(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("spex: explore: " + expected, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
