#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex explore` with commands that have no probes: what is measured of them and of their output.

usage: explore_commands.py SPEX SUBJECT [unittest arguments]
"""

import sys
import unittest

from exploration import Exploration

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

    def test_resources_of_the_command(self):
        # Each n takes as many parts of a tenth of a second, and of 16 MiB.
        script = """exec python3 -c '
import time
n = int("{n}")
kept = bytearray(n << 24)
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
            self.assertGreaterEqual(memory, n << 24)
            self.assertGreaterEqual(faults, n * 100)
            self.assertGreaterEqual(switches, n * 10)
        self.assertGreater(values[3][2] - values[1][2], 30 << 20)
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
