#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex fit` finds what a time was made of, foretells it, and says where a table is wrong.

usage: fit.py SPEX
"""

import json
import math
import random
import subprocess
import sys
import unittest

SPEX = None


def fit(table, *arguments):
    return subprocess.run([SPEX, "fit", "-", *arguments], input=table, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def table_of(function, names, rows, noise=0.0, repeats=1):
    chance = random.Random(1)
    lines = [",".join([*names, "rep", "time"])]
    for row in rows:
        for repeat in range(repeats):
            time = function(*row) * (1 + noise * chance.gauss(0, 1))
            lines.append(",".join([*(str(value) for value in row), str(repeat), repr(time)]))
    return "\n".join(lines) + "\n"


class Fits(unittest.TestCase):
    def model(self, table, *arguments):
        result = fit(table, "--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def refused(self, status, message, table, *arguments):
        result = fit(table, *arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""))
        self.assertEqual(result.stderr.count("\n"), 1)
        self.assertIn(message, result.stderr)

    def test_one_parameter(self):
        table = table_of(lambda n: 1e-3 + 2e-8 * n * math.log2(n), ["n"], [[2 ** i] for i in range(6, 14)])
        model = self.model(table, "--predict", "n=65536")
        self.assertEqual([term["factors"] for term in model["terms"]], [{"n": [1, 1]}])
        self.assertAlmostEqual(model["terms"][0]["coef"] / 2e-8, 1, 6)
        self.assertAlmostEqual(model["const"], 1e-3, 9)
        self.assertEqual((model["class"], model["points"], model["measurements"]), ("polynomial", 8, 8))
        self.assertGreater(model["adjusted_r2"], 0.9999)
        self.assertLess(model["fit_ms"], 10000)
        self.assertAlmostEqual(model["prediction"]["value"], 1e-3 + 2e-8 * 65536 * 16, 8)

    def test_products_and_noise(self):
        rows = [[a, b] for a in (10, 20, 40, 80, 160) for b in (4, 8, 16, 32, 64)]
        model = self.model(table_of(lambda a, b: 1e-5 + 3e-7 * a * b, ["a", "b"], rows, 0.05, 5),
                           "--predict", "a=300,b=100")
        self.assertEqual([term["factors"] for term in model["terms"]], [{"a": [1, 0], "b": [1, 0]}])
        low, high = model["terms"][0]["interval"]
        self.assertTrue(low < 3e-7 < high, model)
        prediction = model["prediction"]
        self.assertTrue(prediction["low"] < 3e-7 * 300 * 100 < prediction["high"], model)

    def test_work_that_is_divided(self):
        threads = [1, 2, 4, 8, 16]
        table = table_of(lambda p: 2.0 + 8.0 / p, ["p"], [[p] for p in threads], 0.02, 5)
        model = self.model(table, "--predict", "p=64")
        self.assertEqual([term["factors"] for term in model["terms"]], [{"p": [-1, 0]}])
        self.assertEqual(model["class"], "decreasing")
        self.assertTrue(model["prediction"]["low"] < 2.125 < model["prediction"]["high"], model)
        # Below the least value the time grows, and what is uncertain with it.
        near, far = (self.model(table, "--predict", f"p={p}")["prediction"] for p in (1, 0.25))
        self.assertTrue(far["low"] < 34 < far["high"], far)
        self.assertGreater((far["high"] - far["low"]) / far["value"], (near["high"] - near["low"]) / near["value"])
        text = fit(table).stdout
        self.assertRegex(text, r"^time = (1\.9|2\.0)\d* \+ (7\.9|8\.0)\d*/p s\nclass        decreasing, ")
        self.refused(1, 'the model divides by "p": more than 0 was expected', table, "--predict", "p=0")

    def test_threads_and_sizes(self):
        rows = [[n, p] for n in (1000, 2000, 4000, 8000, 16000) for p in (1, 2, 4, 8, 16)]
        table = table_of(lambda n, p: 3e-8 * n * math.log2(n) / p + 2e-5 * p, ["n", "p"], rows, 0.02, 3)
        model = self.model(table, "--predict", "n=64000,p=32")
        self.assertEqual(sorted((term["factors"] for term in model["terms"]), key=len),
                         [{"p": [1, 0]}, {"n": [1, 1], "p": [-1, 0]}])
        truth = 3e-8 * 64000 * math.log2(64000) / 32 + 2e-5 * 32
        self.assertTrue(model["prediction"]["low"] < truth < model["prediction"]["high"], model)

    def test_a_change(self):
        sizes = [[1000 * 2 ** i] for i in range(14)]
        table = table_of(lambda n: 1e-9 * (n if n < 100000 else 3 * n - 200000), ["n"], sizes, 0.01, 4)
        model = self.model(table, "--predict", "n=65536000")
        (change,) = model["changes"]
        self.assertEqual((change["parameter"], change["interval"]), ("n", [64000, 128000]))
        self.assertTrue(64000 < change["at"] < 128000, change)
        self.assertEqual([(term["segment"], term["factors"]) for term in model["terms"]],
                         [(0, {"n": [1, 0]}), (1, {}), (1, {"n": [1, 0]})])
        self.assertEqual((model["const"], model["class"]), (0, "linear"))
        truth = 1e-9 * (3 * 65536000 - 200000)
        self.assertTrue(model["prediction"]["low"] < truth < model["prediction"]["high"], model)
        # Within the interval both formulas may hold.
        wide, narrow = (self.model(table, "--predict", f"n={n}")["prediction"] for n in (120000, 128000))
        self.assertLess(wide["low"], 1.25e-4)
        self.assertGreater(wide["high"], 1.55e-4)
        self.assertLess(narrow["high"] / narrow["low"], 1.1)
        text = fit(table).stdout
        self.assertRegex(text, r"^time in seconds = [0-9.e-]+·n \(n < \d+(\.\d+)?\); -[0-9.e-]+ \+ [0-9.e-]+·n \(n ≥ \d+(\.\d+)?\)\n"
                         r"class .*\nchange 1     n = \d+(\.\d+)?, between 64000 and 128000\nterm 1 ")
        # One formula has none.
        self.assertEqual(self.model(table_of(lambda n: 1e-9 * n, ["n"], sizes, 0.01, 4))["changes"], [])

    def test_what_to_measure_next(self):
        table = table_of(lambda n: 1e-9 * n * (1 if n < 70000 else 2), ["n"], [[1000 * 2 ** i] for i in range(14)], 0.02, 4)
        model = self.model(table, "--next", "n=1000..8192000")
        self.assertTrue(64000 < model["next"]["parameters"]["n"] < 128000, model["next"])
        self.assertGreater(model["next"]["share"], 0.2)
        far = self.model(table, "--next", "n=8192000..1e9")["next"]
        self.assertEqual(far["parameters"], {"n": 1e9})
        self.assertRegex(fit(table, "--next", "n=8192000..1e9").stdout,
                         r"\nnext         n=1000000000, there the prediction is ± \d[\d.]* %\n$")
        # Other parameters have the ranges of the table.
        rows = [[a, b] for a in (10, 20, 40, 80) for b in (4, 8, 16, 32)]
        both = self.model(table_of(lambda a, b: 1e-7 * a * b, ["a", "b"], rows, 0.05, 3), "--next", "a=10..1000")["next"]
        self.assertEqual(both["parameters"]["a"], 1000)
        self.assertTrue(4 <= both["parameters"]["b"] <= 32)
        # Where there is no model there is no proposal.
        none = "n,time\n" + "".join(f"{10 * 2 ** i},{1 + 4 * (i % 2)}\n" for i in range(6))
        self.assertNotIn("next", self.model(none, "--next", "n=1..5"))
        self.assertNotIn("next", fit(none, "--next", "n=1..5").stdout)
        for message, text in (("NAME=LOW..HIGH was expected", "n=5"), ("NAME=LOW..HIGH was expected", "n=5..1"),
                              ("NAME=LOW..HIGH was expected", "n=-1..5"), ("NAME=LOW..HIGH was expected", ""),
                              ("NAME=LOW..HIGH was expected", "=1..5"), ('one range of "n" was expected', "n=1..2,n=1..3"),
                              ('a parameter of the table and numbers up to 1e+25 were expected for "x"', "x=1..2"),
                              ('numbers up to 1e+25 were expected for "n"', "n=1..1e30")):
            with self.subTest(text=text):
                self.refused(2, message, table, "--next", text)

    def test_text(self):
        result = fit("n,time\n1,3\n2,5\n3,7\n4,9\n5,11\n", "--predict", "n=1e308")
        self.assertEqual((result.returncode, result.stderr),
                         (2, 'spex: fit: --predict: one number of 0 to 1e+25 was expected for "n"\n'))
        result = fit("n,time\n1,3\n2,5\n3,7\n4,9\n5,11\n", "--predict", "n=10")
        self.assertEqual(result.returncode, 0)
        self.assertIn("time = 1 + 2·n s\n", result.stdout)
        self.assertIn("linear, adjusted R² 1.0000 over 5 points of 5 measurements", result.stdout)
        self.assertIn("prediction   21.0000 s, single measurements 21.0000 to 21.0000 s", result.stdout)

    def test_no_model(self):
        table = "n,time\n" + "".join(f"{10 * 2 ** i},{1 + 4 * (i % 2)}\n" for i in range(6))
        for table, why in ((table, r"no model: no formula of the parameters follows the times \(adjusted R² -\d\.\d+, 0\.95 is needed\)\n"),
                           ("n,time\n10,1\n20,5\n",
                            "no model: at least three values of a parameter are needed\n")):
            result = fit(table, "--predict", "n=100")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, "^" + why + "class        unknown, .*\n"
                             "prediction   none: there is no model\n$")
            model = self.model(table, "--predict", "n=100")
            self.assertEqual(model["class"], "unknown")
            self.assertTrue(model["model"])

    def test_nothing_to_go_by(self):
        model = self.model("n,time\n5,1.5\n", "--predict", "n=7")
        self.assertIsNone(model["adjusted_r2"])
        self.assertRegex(fit("n,time\n5,1.5\n").stdout,
                         r"\nclass +constant, as each parameter has one value alone; over 1 point of 1 measurement\n")
        self.assertEqual(model["terms"], [])
        self.assertIsNone(model["prediction"]["high"])
        self.assertEqual(model["const_interval"], [None, None])
        self.assertEqual(self.model("time\n2\n2\n2\n")["class"], "constant")

    def test_tables_that_are_none(self):
        for message, table in (
                ("standard input:1:1: a header was expected", ""),
                ('standard input:1:3: "time" was expected as the last column, not "t"', "n,t\n1,2\n"),
                ("standard input:2:1: a measurement was expected", "n,time\n"),
                ('standard input:2:3: a number of 0 or more was expected, not ""', "n,time\n1,\n"),
                ('standard input:3:1: a number of 0 or more was expected, not "-1"', "n,time\n1,2\n-1,2\n"),
                ('standard input:2:3: a number of 0 or more was expected, not "nan"', "n,time\n1,nan\n"),
                ('standard input:1:3: one column "n" was expected, not two', "n,n,time\n1,1,1\n"),
                ("standard input:2:3: a number of 0, or of 1e-25 to 1e+25 was expected, not 1e+308",
                 "n,time\n1,1e308\n"),
                ("standard input:2:1: a number of 0 to 1e+25 was expected, not 1e+30", "n,time\n1e30,1\n"),
                ("standard input:2:1: 2 cells were expected, as in the header, not 1", "n,time\n1\n"),
                ("standard input:2:5: the end of the line was expected after 2 cells", "n,time\n1,2,3\n"),
                ("8 parameters at most were expected", "a,b,c,d,e,f,g,h,i,time\n1,1,1,1,1,1,1,1,1,1\n")):
            with self.subTest(table=table):
                self.refused(1, message, table)

    def test_predictions_that_are_none(self):
        table = "n,m,time\n1,2,3\n2,2,4\n3,2,5\n4,2,6\n"
        for message, text in (('has no parameter "x"', "x=1,n=1,m=1"), ('a value of "m" was expected', "n=1"),
                              ('one number of 0 to 1e+25 was expected for "n"', "n=-1,m=1"),
                              ('one number of 0 to 1e+25 was expected for "n"', "n=1,m=1,n=2"),
                              ('one number of 0 to 1e+25 was expected for "n"', "n,m=1")):
            with self.subTest(text=text):
                self.refused(2, message, table, "--predict", text)
        logarithm = table_of(lambda n: 1 + 5 * math.log2(n), ["n"], [[2 ** i] for i in range(1, 9)])
        self.refused(1, 'the model has a logarithm of "n": 1 or more was expected, not 0.5', logarithm,
                     "--predict", "n=0.5")

    def test_a_million_rows(self):
        chance = random.Random(2)
        rows = "".join(f"{n},{n * 1e-6 * chance.uniform(0.9, 1.1):.9f}\n"
                       for n in (chance.randrange(1, 100000) for _ in range(1000000)))
        model = self.model("n,time\n" + rows)
        self.assertEqual((model["class"], model["measurements"]), ("linear", 1000000))


if __name__ == "__main__":
    SPEX = sys.argv.pop(1)
    unittest.main()
