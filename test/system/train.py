#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex train` runs a program over a plan and writes the models of its kernels, `spex models` shows them; what goes wrong
is said.

usage: train.py SOURCE_ROOT SPEX KERNELS
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from running import AS_NOBODY, can_become_nobody

ROOT = SPEX = KERNELS = None

PLAN = """<space name="test">
  <parameter name="rows" type="integer" values="%s"/>
  <parameter name="mode" type="categorical" values="fast"/>
  <run trials_per_config="%d"/>
</space>
"""


class Trains(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.models = self.path("models")

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan(self, rows="500 1000 2000 4000 8000", each=2):
        with open(self.path("plan.xml"), "w", encoding="utf-8") as file:
            file.write(PLAN % (rows, each))
        return self.path("plan.xml")

    def train(self, *arguments, **keywords):
        return subprocess.run([SPEX, "train", *arguments], text=True, stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "200"},
                              stderr=subprocess.PIPE, check=False, **keywords)

    def refused(self, status, message, *arguments):
        result = self.train(*arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""), result)
        self.assertIn(message, result.stderr)
        self.assertFalse(os.path.exists(self.models))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("models")], [])

    def test_a_plan(self):
        result = self.train(self.models, "--runs", self.plan(), "--", KERNELS, "{rows}", "5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"spex: 10 runs, 0 failed; 250 records of kernels, 0 lost\n")
        rows = {fields[0]: fields[1:] for fields in (line.split() for line in result.stdout.splitlines())}
        names = ["report", "report/find", "report/load", "report/pairs", "report/sort"]
        # On a busy machine none may have a model.
        known = any(rows[name][1] != "unknown" for name in names)
        self.assertEqual(list(rows), ["kernel", *names, *(["next:"] if known else [])])
        self.assertEqual({rows[name][0] for name in names}, {"50"})
        self.assertEqual(known, re.search(r"\nnext: (rows|keys|best)=\d+, there the prediction of report(/\w+)? is ± [\d.]+ %\n$",
                                          result.stdout) is not None)
        with open(self.models, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("spex-models 3\nkernel report\nexecutions 50\n"), text)
        self.assertTrue(text.endswith("\nend 5\n"), text)
        points = re.findall(r"^points (\d+)\n((?:point .*\n)*)", text, re.MULTILINE)
        self.assertEqual(len(points), 5)
        for count, lines in points:
            self.assertEqual(lines.count("\n"), int(count))
            self.assertEqual(sum(float(line.split()[2]) for line in lines.splitlines()), 50)
        self.assertIn("parameter 500 8000 rows\n", text)
        self.assertIn("parameter 125 2000 keys\n", text)
        self.assertEqual(sorted(os.listdir(self.folder)), ["models", "plan.xml"])

    def test_the_next_run(self):
        plan, program = self.plan(each=4), ["--", KERNELS, "{rows}", "5"]
        result = self.train(self.models, "--runs", plan, "--next", "keys=125..1000000,width=1..2", "--json", *program)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count('spex: --next: no kernel has a parameter "width"\n'), 1)
        told = json.loads(result.stdout)
        classes = {model["path"]: model["class"] for model in told["models"]}
        self.assertEqual(list(classes), ["report", "report/find", "report/load", "report/pairs", "report/sort"])
        self.assertEqual((told["runs"], told["failed"], told["records"], told["lost"]), (20, 0, 500, 0))
        # Of all kernels one has keys. On a busy machine it may have no model.
        self.assertEqual(told["next"] is None, classes["report/find"] == "unknown")
        if told["next"]:
            self.assertEqual(told["next"]["kernel"], "report/find")
            self.assertTrue(125 <= told["next"]["parameters"]["keys"] <= 1000000)
            self.assertGreater(told["next"]["share"], 0)
        # One value of a parameter leaves nothing to choose.
        self.assertIsNone(json.loads(self.train(self.models, "--json", "--", KERNELS, "1000", "5").stdout)["next"])
        os.remove(self.models)
        for text in ("rows", "rows=1", "rows=2..1", "rows=1..2,rows=1..2"):
            self.refused(2, "spex: train: --next: ", self.models, "--next", text, "--", KERNELS, "1000", "5")

    def test_a_program_that_has_dropped_its_privileges(self):
        if not can_become_nobody(KERNELS):
            self.skipTest("root, and a program that others can run, were expected")
        result = self.train(self.models, "--", *AS_NOBODY, KERNELS, "1000", "5")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 run, 0 failed", result.stderr)

    def test_the_example_as_the_readme_has_it(self):
        plan = os.path.join(ROOT, "examples", "kernels", "plan.xml")
        result = self.train(self.models, "--runs", plan, "--", KERNELS, "{rows}", "2")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_parameters_are_listed(self):
        result = subprocess.run([SPEX, "probes", KERNELS], text=True, stdout=subprocess.PIPE, check=True)
        self.assertRegex(result.stdout, r"(?m)^find +- +kernel of keys +1 ")
        listed = json.loads(subprocess.run([SPEX, "probes", "--json", KERNELS], text=True, stdout=subprocess.PIPE,
                                           check=True).stdout)
        self.assertEqual({site["name"]: site["parameters"] for site in listed["sites"]},
                         {"report": "rows", "load": "rows", "sort": "rows", "find": "keys", "pairs": "best"})

    def test_one_run(self):
        result = self.train(self.models, "--", KERNELS, "1000", "7")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("spex: 1 run, 0 failed; 35 records of kernels, 0 lost\n", result.stderr)

    def test_some_kernels(self):
        result = self.train(self.models, "--probes", "sort:kernel,find:kernel", "--", KERNELS, "1000", "3")
        self.assertEqual(re.findall(r"^\w+", result.stdout, flags=re.MULTILINE), ["kernel", "find", "sort"])

    def test_a_file_that_is_there_is_replaced(self):
        for _ in range(2):
            self.assertEqual(self.train(self.models, "--", KERNELS, "100", "3").returncode, 0)
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(os.stat(self.models).st_mode & 0o777, 0o666 & ~umask)

    def test_failed_runs_are_told(self):
        script = '[ "$1" = 2000 ] && exit 3; exec "$0" "$1" 2'
        result = self.train(self.models, "--runs", self.plan("1000 2000 4000", 1), "--", "sh", "-c", script, KERNELS,
                            "{rows}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"spex: run \d of 3 failed: rows=2000,? mode=fast: exited with status 3")
        self.assertIn("3 runs, 1 failed; 20 records", result.stderr)

    def test_short_kernels_can_be_left_out(self):
        result = self.train(self.models, "--least", "1e3", "--", KERNELS, "1000", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("spex: 5 kernels left out: they take less than 1000 s on average, or", result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 1)

    def test_what_is_wrong_is_said(self):
        self.refused(2, "--least -1: seconds were expected", self.models, "--least", "-1", "--", KERNELS)
        self.refused(2, "one file for the models was expected, not 0", "--", KERNELS)
        self.refused(2, "the program goes after \"--\"", self.models, KERNELS)
        self.refused(2, "\"-- PROGRAM\" was expected", self.models, "--")
        self.refused(2, "--probes", self.models, "--probes", "a@b", "--", KERNELS)
        self.refused(1, "nothing.xml", self.models, "--runs", self.path("nothing.xml"), "--", KERNELS)
        self.refused(1, "{colour}", self.models, "--runs", self.plan(), "--", KERNELS, "{colour}")
        self.refused(1, "no run has come to a good end", self.models, "--", "false")
        self.refused(1, "did not connect: no spex_start", self.models, "--", "true")
        self.refused(1, "did not start", self.models, "--", self.path("nothing"))
        self.refused(1, "no kernel has made a record", self.models, "--probes", "nothing:kernel", "--", KERNELS)

    def test_a_folder_that_is_not_there(self):
        self.refused(1, "there: No such file", self.path("models-not/there"), "--", KERNELS, "100")

    def show(self, *arguments):
        return subprocess.run([SPEX, "models", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)

    def test_models_are_shown(self):
        self.assertEqual(self.train(self.models, "--runs", self.plan(), "--", KERNELS, "{rows}", "3").returncode, 0)
        result = self.show(self.models, "-n", "0.01")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^kernels  constant  logarithmic  linear  polynomial  decreasing  unknown\n +5 .*\n[0-9]+ switching points\n")
        self.assertRegex(result.stdout, r"(?m)^ +- +report +")
        shown = json.loads(self.show(self.models, "--json", "-n", "0.01").stdout)
        self.assertEqual((shown["kernels"], sum(shown["classes"].values())), (5, 5))
        self.assertEqual([model["path"] for model in shown["models"]],
                         ["report", "report/find", "report/load", "report/pairs", "report/sort"])
        groups = [model["group"] for model in shown["models"]]
        self.assertEqual((groups[0], len(set(groups[1:]) - {None})), (None, shown["switching_points"]))
        # Nothing takes as long as so many samples.
        shown = json.loads(self.show(self.models, "--json", "-n", "1000000").stdout)
        self.assertEqual((shown["switching_points"], {model["group"] for model in shown["models"]}), (0, {None}))
        sort = json.loads(self.show(self.models, "--json", "--curves").stdout)["models"][-1]
        self.assertEqual(sort["parameters"], [{"name": "rows", "low": 500, "high": 8000}])
        self.assertEqual({point["values"][0] for point in sort["points"]}, {500, 1000, 2000, 4000, 8000})
        (curve,) = sort["curves"]
        self.assertTrue(curve["logarithmic"])
        self.assertEqual((curve["places"][0][0], curve["places"][-1][0]), (500, 8000))
        for _, seconds, low, high in curve["places"]:
            self.assertTrue(0 <= low <= seconds and (high is None or high >= seconds), (low, seconds, high))
        # A file of another user's.
        with open(self.models, "rb") as file:
            text = file.read().replace(b"report/find", b"report/f\xc2\x9b\xff")
        with open(self.models, "wb") as file:
            file.write(text)
        shown = json.loads(self.show(self.models, "--json").stdout)
        self.assertEqual(shown["models"][1]["path"], "report/f???")
        self.assertIn("  report/f???", self.show(self.models).stdout)

    def test_models_that_change(self):
        path = self.path("changes.models")
        with open(path, "w", encoding="utf-8") as file:
            file.write("spex-models 3\nkernel main\nexecutions 10\nleast 1e-06\nparameters 1\nparameter 10 1000 n\n"
                       "class decreasing\nadjusted-r2 0.99\nspread 0 0.01 30\nconstant 0 0\n"
                       "changes 1 0\nchange 100 80 120\nterms 2\nterm 0 1e-06 1e-08 12:0\nterm 1 0.02 0.0001 -12:0\n"
                       "covariance 0 0 0\ncovariance 0 1e-16 0\ncovariance 0 0 1e-08\npoints 0\nend 1\n")
        result = self.show(path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("1e-06·n (n < 100); 0.02/n (n ≥ 100)", result.stdout)
        (model,) = json.loads(self.show(path, "--json", "--curves").stdout)["models"]
        self.assertEqual(model["changes"], [{"parameter": "n", "at": 100, "interval": [80, 120]}])
        places = model["curves"][0]["places"]
        self.assertEqual([place[0] for place in places], sorted(place[0] for place in places))
        (before, at), = [pair for pair in zip(places, places[1:]) if abs(pair[0][0] - 100) + abs(pair[1][0] - 100) < 1e-9]
        self.assertAlmostEqual(before[1] * 2, at[1], 9)
        # The interval has both.
        self.assertLess(before[2], 1.01e-4)
        self.assertGreater(before[3], 1.99e-4)

    def test_models_are_drawn(self):
        self.assertEqual(self.train(self.models, "--", KERNELS, "1000", "3").returncode, 0)
        svg = self.path("graph.svg")
        result = self.show(self.models, "--graph", svg, "-n", "0.01")
        if not shutil.which("dot"):
            print("SKIP: pictures of graphs: there is no dot")
            self.assertIn("needs dot, which is not installed (Debian: graphviz)", result.stderr)
            return
        self.assertEqual(result.returncode, 0, result.stderr)
        text = "".join(xml.etree.ElementTree.parse(svg).getroot().itertext())
        for word in "report", "find", "load", "pairs", "sort", "switch 1":
            self.assertIn(word, text)
        self.assertEqual(self.show(self.models, "--graph", self.path("graph.png")).returncode, 0)
        with open(self.path("graph.png"), "rb") as file:
            self.assertEqual(file.read(4), b"\x89PNG")

    def test_what_are_no_models_is_said(self):
        for arguments, status, message in (
                ([], 2, "one file of models was expected"),
                ([self.plan(), "-n", "none"], 2, "models: -n none: a number of 0.01 to 1000000 was expected"),
                ([self.path("nothing"), "--curves"], 2, "--curves is for --json"),
                ([self.path("nothing")], 1, "No such file"),
                ([KERNELS], 1, "line 1: text was expected"),
                ([self.plan()], 1, "line 1: \"spex-models …\" was expected")):
            result = self.show(*arguments)
            said = result.stderr.removeprefix(self.show("--help").stdout)
            self.assertEqual((result.returncode, result.stdout, said.count("\n")), (status, "", 1))
            self.assertIn(message, said)

    def test_an_interruption_ends_it(self):
        script = 'kill -INT $PPID; sleep 1000'
        result = self.train(self.models, "--", "sh", "-c", script)
        self.assertEqual((result.returncode, result.stdout), (130, ""))
        self.assertIn("interrupted; nothing is written", result.stderr)
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    ROOT, SPEX, KERNELS = sys.argv[1:4]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main(argv=sys.argv[:1])
