#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex plan` finds what the paper found, and says where a table is wrong.

usage: plan.py SOURCE_ROOT SPEX
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = SPEX = None

TABLE_1 = [("file", .30, 359), ("window", .23, 189), ("kernel", .09, 153), ("font", .11, 334),
           ("others", .27, 630)]

# Weights, MaxF; information, what is traced.
SCENARIOS = [
    ((1, 1, 1, 1, 1), 925, 925.00, []),
    ((2, 1, 1, 1, 1), 925, 1256.48, ["file", "window", "font"]),
    ((2, 2, 2, 2, 1), 925, 1783.35, ["file", "window", "font"]),
    ((2, 2, 3, 2, 1), 925, 1902.67, ["file", "kernel", "font"]),
    ((2, 1, 1, 1, 1), 641, 950.71, ["file", "window"]),
]

HEADER = "name,share,frequency,weight\n"


def plan(table, *arguments):
    return subprocess.run([SPEX, "plan", "-", *arguments], input=table, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def table_1(weights):
    return HEADER + "".join(f"{name},{share},{frequency},{weight}\n" for (name, share, frequency), weight
                            in zip(TABLE_1, weights))


class Plans(unittest.TestCase):
    def best(self, table, *arguments):
        result = plan(table, "--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_scenarios_of_the_paper(self):
        for weights, max_f, information, traced in SCENARIOS:
            with self.subTest(weights=weights, max_f=max_f):
                best = self.best(table_1(weights), "--max-f", str(max_f))
                self.assertEqual(len(best), 5)
                self.assertAlmostEqual(best[0]["information"], information, 2)
                self.assertEqual(best[0]["traced"], traced)
                self.assertAlmostEqual(best[0]["overhead"], 0.05)
                rest = sum(frequency for name, _, frequency in TABLE_1 if name in traced)
                self.assertAlmostEqual(best[0]["probing_frequency"], max_f - rest)

    def test_all_combinations_by_the_formula(self):
        weights = (2, 1, 3, 1, 1)
        best = self.best(table_1(weights), "--max-f", "925", "--top", "100")
        expected = []
        for chosen in range(1 << len(TABLE_1)):
            probing = 925 - sum(row[2] for c, row in enumerate(TABLE_1) if chosen >> c & 1)
            if probing >= 0:
                expected.append(sum(weights[c] * (row[2] if chosen >> c & 1 else probing * row[1])
                                    for c, row in enumerate(TABLE_1)))
        self.assertEqual(len(best), len(expected))
        for found, information in zip(best, sorted(expected, reverse=True)):
            self.assertAlmostEqual(found["information"], information, 6)
        self.assertEqual(len({tuple(found["traced"]) for found in best}), len(best))

    def test_table_as_text(self):
        path = os.path.join(ROOT, "examples/plan/table1.csv")
        result = subprocess.run([SPEX, "plan", path, "--max-f", "925", "--top", "2"], text=True,
                                capture_output=True, check=True)
        lines = [line.split(None, 6) for line in result.stdout.splitlines()]
        self.assertEqual(lines, [["information", "overhead", "polling", "traced"],
                                 ["1", "1256.48", "5.00%", "43.00", "Hz", "file,", "window, font"],
                                 ["2", "1244.50", "5.00%", "79.00", "Hz", "file,", "kernel, font"]])

    def test_as_the_page_shows(self):
        with open(os.path.join(ROOT, "docs/rate_policies.md"), encoding="utf-8") as file:
            page = file.read()
        command = re.search(r"^    spex (plan examples.*)$", page, re.M)[1].split()
        result = subprocess.run([SPEX, *command], cwd=ROOT, text=True, capture_output=True, check=True)
        self.assertIn("```text\n" + result.stdout + "```\n", page)

    def test_budget_by_costs(self):
        # 100 Hz of 1 ms are 10 %; detecting is paid where it is traced; a sample costs 2 ms.
        table = ("weight,report_cost,name,share,detect_cost,frequency\n"
                 "1,1e-3,a,0.1,1e-4,100\n10,1e-3,b,0.1,,100\n")
        best = self.best(table, "--budget", "12%", "--sample-cost", "2e-3")
        self.assertEqual(best[0]["traced"], ["b"])
        self.assertAlmostEqual(best[0]["probing_frequency"], 10)
        self.assertAlmostEqual(best[0]["information"], 1001)
        self.assertAlmostEqual(best[0]["overhead"], 0.12)
        self.assertEqual(self.best(table, "--budget", "0.12", "--sample-cost", "2e-3"), best)
        a = [found for found in best if found["traced"] == ["a"]][0]
        self.assertAlmostEqual(a["probing_frequency"], 5)

    def test_a_sample_costs_as_much_as_the_dearest_record(self):
        table = "name,share,frequency,weight,report_cost\na,.1,100,1,1e-3\nb,.1,100,1,2e-3\n"
        samples = [found for found in self.best(table) if not found["traced"]][0]
        self.assertAlmostEqual(samples["probing_frequency"], 25)  # of 5 %

    def test_pinned_and_minimal(self):
        table = "name,share,frequency,weight,pinned,min_frequency\na,.1,100,0,yes,\nb,.1,100,1,no,30\n"
        best = self.best(table, "--max-f", "140")
        self.assertEqual([found["traced"] for found in best], [["a"]])
        self.assertAlmostEqual(best[0]["probing_frequency"], 40)
        result = plan(table, "--max-f", "120")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("no combination is within the budget: ", result.stderr)
        self.assertIn("minimal frequencies", result.stderr)

    def test_everything_fits(self):
        result = plan(table_1((1,) * 5), "--max-f", "3330")
        self.assertIn("the budget pays for tracing everything: information 1665.00, overhead 2.50%\n",
                      result.stdout)

    def test_many_classes(self):
        source = random.Random(1)
        rows = "".join(f"c{c},{source.random() / 50:.6f},{source.randrange(1, 1000)},{source.randrange(9)}\n"
                       for c in range(1000))
        best = self.best(HEADER + rows, "--max-f", "100000", "--top", "7")
        self.assertEqual(len(best), 7)
        informations = [found["information"] for found in best]
        self.assertEqual(informations, sorted(informations, reverse=True))
        self.assertIn("there may be better ones", plan(HEADER + rows, "--max-f", "100000").stdout)

    def test_what_spreadsheets_write(self):
        table = '\ufeffname,share,frequency,weight\r\n"a, ""b""", .5 ,1e2,1\r\n\r\n  c  ,0,5,1'
        best = self.best(table, "--max-f", "100", "--top", "1")
        self.assertEqual(best[0]["traced"], ['a, "b"'])


class Refusals(unittest.TestCase):
    def assert_refused(self, status, message, table, *arguments):
        result = plan(table, *arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""))
        self.assertIn(message, result.stderr.splitlines()[-1])
        return result.stderr

    def test_malformed_tables(self):
        good = HEADER + "a,.1,100,1\n"
        for table, place, expected in [
                ("", "1:1", "a header was expected"),
                ("\n\n", "1:1", "a header was expected"),
                (HEADER, "2:1", "a line for each class was expected"),
                ("name,share,frequency\na,1,1\n", "1:1", 'a column "weight" was expected'),
                ("name,share,frequenzy,weight\n", "1:12", 'not "frequenzy"'),
                ("name,share,name\n", "1:12", 'one column "name" was expected, not two'),
                (good + "b,.1,-5,1\n", "3:6", 'a frequency in Hz, 0 or more, was expected, not "-5"'),
                (good + "b,.1,nan,1\n", "3:6", 'not "nan"'),
                (good + "b,.1,0x10,1\n", "3:6", 'not "0x10"'),
                (good + "b,.1,1e999,1\n", "3:6", 'not "1e999"'),
                (good + "b,.1,,1\n", "3:6", 'not ""'),
                (good + "b,30,5,1\n", "3:3", 'a share of the time from 0 to 1 was expected, not "30"'),
                (good + "b,.1,5,heavy\n", "3:8", "a weight of 0 or more"),
                (good + "\u00e9\u00e9,.1,5,x\n", "3:9", "a weight"),
                (good + '"b\u00e9",.1,5,x\n', "3:11", "a weight"),
                (good + "b,.1,5\n", "3:6", "4 cells were expected, as in the header, not 3"),
                (good + "b,.1,5,1,9\n", "3:10", "the end of the line was expected after 4 cells"),
                (good + ",.1,5,1\n", "3:1", 'a name was expected, not ""'),
                (good + "a,.1,5,1\n", "3:1", 'a name of its own was expected, not "a" again'),
                (good + '"b,.1,5,1\n', "3:1", "this quoted cell was expected to end in its line"),
                (good + 'b"c,.1,5,1\n', "3:2", "a quote was expected at the beginning of a cell only"),
                (good + '"b"c,.1,5,1\n', "3:4", "a comma or the end of the line was expected"),
                (good + "b,.1\r,5,1\n", "3:5", "a comma or the end of the line was expected"),
                ("name,share,frequency,weight,pinned\na,.1,5,1,maybe\n", "2:10", '"yes" or "no"')]:
            with self.subTest(table=table):
                message = self.assert_refused(1, f"spex: standard input:{place}: ", table, "--max-f", "10")
                self.assertIn(expected, message)
                self.assertEqual(message.count("\n"), 1)

    def test_what_is_no_text(self):
        for data in (b"name\0", HEADER.encode() + b"\xff,.1,5,1\n", HEADER.encode() + b"\x1b[2J,.1,5,1\n"):
            result = subprocess.run([SPEX, "plan", "-", "--max-f", "10"], input=data, capture_output=True,
                                    check=False)
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assertRegex(result.stderr, rb"\Aspex: standard input:[ -~]*\n\Z")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for path, expected in ((os.path.join(folder, "none.csv"), "No such file"),
                                   (folder, "Is a directory"),
                                   ("/dev/zero", "at most 128 MiB")):
                result = subprocess.run([SPEX, "plan", path, "--max-f", "1"], capture_output=True, text=True,
                                        check=False)
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"cannot read {path}: {expected}", result.stderr)

    def test_options(self):
        table = table_1((1,) * 5)
        costs = "name,share,frequency,weight,report_cost\na,.1,5,1,{}\n"
        for expected, text, arguments in [
                ("--max-f was expected, or a column report_cost", table, []),
                ("--max-f was expected, or a column report_cost", table, ["--budget", "5%"]),
                ("--max-f 0: a number above 0 was expected", table, ["--max-f", "0"]),
                ("--max-f 925Hz: a number above 0 was expected", table, ["--max-f", "925Hz"]),
                ("--budget 5: a part of the time", table, ["--budget", "5"]),
                ("--budget -1%: a part of the time", table, ["--budget", "-1%"]),
                ("--sample-cost x: a number above 0", table, ["--sample-cost", "x"]),
                ("--sample-cost was expected", costs.format(0), []),
                ("--top 0: 1 to 10000 was expected", table, ["--max-f", "1", "--top", "0"]),
                ("one table was expected, not 2", table, ["again", "--max-f", "1"])]:
            with self.subTest(arguments=arguments):
                self.assert_refused(2, expected, text, *arguments)

    def test_costs_that_are_not_used_are_told(self):
        result = plan("name,share,frequency,weight,report_cost\na,.1,5,1,1e-6\n", "--max-f", "3")
        self.assertEqual(result.returncode, 0)
        self.assertIn("not used", result.stderr)

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([SPEX, "plan", "-", "--max-f", "9"], input=table_1((1,) * 5), text=True,
                                    stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot be written", result.stderr)


if __name__ == "__main__":
    ROOT, SPEX = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
