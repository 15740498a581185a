#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Values of each type that C and C++ have, at the ends of their ranges: what the table's JSON, a trace and its
exports tell of them is what the program gave.

    values.py SOURCE_ROOT BUILD_ROOT SPEX
"""

import csv
import io
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD, SPEX = (os.path.abspath(path) for path in sys.argv[1:4])
LIBRARIES = ["-lpfm", "-lpthread", "-ldl", "-lm"]

# Expression, and its value; None: no number.
COMMON = [
    ("(signed char)-128", -128), ("(unsigned char)255", 255), ("(short)-32768", -32768),
    ("(unsigned short)65535", 65535), ("-5", -5), ("zero - 2147483647 - 1", -2 ** 31), ("4294967295u", 2 ** 32 - 1),
    ("INT64_MIN", -2 ** 63), ("INT64_MAX", 2 ** 63 - 1), ("UINT64_MAX", 2 ** 64 - 1), ("-1LL", -1),
    ("0.75", 0.75), ("-40.5f", -40.5), ("0.1", 0.1), ("(float)0.1", 0.10000000149011612), ("-2.5L", -2.5),
    ("DBL_MAX", sys.float_info.max), ("-DBL_MAX", -sys.float_info.max), ("DBL_MIN", sys.float_info.min),
    ("5e-324", 5e-324), ("-0.0", -0.0), ("(double)INFINITY", math.inf), ("-(double)INFINITY", -math.inf),
    ("(double)NAN", None), ("1e19", 1e19), ("-1e-30", -1e-30), ("negative", -7), ("positive", 7), ("zero == 0", 1),
    ("bits.s", -3), ("bits.u", 5), ("bits.wide", -2 ** 39), ("sizeof(int)", 4), ("moving", -9),
    ("(int)(pointer == &zero) - 2", -1), ("zero ? 1 : 0.5", 0.5), ("next() + 0", -11),
]
C = [("pointer ? 1 : 0", 1), ("(_Bool)1", 1)]
CXX = [("scoped::low", -4), ("scoped::high", 2 ** 31 - 1), ("atom", -12), ("half", 0.25), ("true", 1),
       ("std::count_if(text, text + 3, [](char c) { return c == 'a'; })", 2)]

HEAD = """
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <spex/kernel.h>
#include <spex/spex.h>
#ifdef __cplusplus
#include <algorithm>
#include <atomic>
enum class scoped { low = -4, high = 2147483647 };
static std::atomic<int> atom{-12};
static std::atomic<double> half{0.25};
static const char text[] = "aba";
#endif
enum signs { negative = -7, positive_too = 1 };
enum naturals { none, positive = 7 };
static int zero, calls, *pointer = &zero;
static volatile int moving = -9;
static struct { int s : 3; unsigned u : 3; int64_t wide : 40; } bits;
static int next(void) { calls++; return -11; }
int main(void) {
    bits.s = -3; bits.u = 5; bits.wide = -(INT64_C(1) << 39);
    if (spex_start(NULL) != 0)
        return 1;
"""


def program(values):
    """The source, and what each probe gives: id, type and the values."""
    body, probes = "", []
    for number, (text, value) in enumerate(values, 1):
        other, other_value = values[number % len(values)]
        body += "    SNAPSHOT_PROBE(%d, 1, %s, 7u, %s);\n" % (number, text, other)
        probes.append((number, "snapshot", [value, 7, other_value]))
        body += "    { KERNEL_PROBE_BEGIN(%d, 1, %s, 7u, %s); KERNEL_PROBE_END(%d); }\n" % (
            1000 + number, text, other, 1000 + number)
        probes.append((1000 + number, "kernel", [value, 7, other_value]))
        body += "    SPEX_REGION(1, 4, { SNAPSHOT_PROBE(%d, 1, %s); })\n" % (2000 + number, text)
        probes.append((2000 + number, "snapshot", [value]))
    for number, key in enumerate(("-5", "UINT64_MAX", "(short)-1"), 3000):
        body += "    SPEX_SPAN_BEGIN(%d, %s); SPEX_SPAN_END(%d, %s);\n" % (number, key, number, key)
        probes.append((number, "span", [{"-5": -5, "UINT64_MAX": 2 ** 64 - 1}.get(key, -1)]))
    return HEAD + body + "    return spex_stop();\n}\n", probes


def same(told, given):
    return math.isnan(told) if given is None else told == given


class Values(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def execute(self, *command, **keywords):
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False,
                                cwd=self.folder, **keywords)
        self.assertEqual(result.returncode, 0, result.stderr.decode()[-2000:])
        return result.stdout.decode()

    def compile(self, compiler, values, *options):
        source, probes = program(values)
        name = os.path.join(self.folder, "program.cc" if "++" in compiler else "program.c")
        with open(name, "w", encoding="utf-8") as file:
            file.write(source)
        made = os.path.join(self.folder, "program")
        self.execute(compiler, "-Wall", "-Wextra", "-Werror", "-I" + os.path.join(ROOT, "include"), name, "-o", made,
                     *options, os.path.join(BUILD, "src", "libspex.a"), *LIBRARIES)
        return made, probes

    def check_csv(self, trace, probes):
        rows = list(csv.DictReader(io.StringIO(self.execute(SPEX, "export", trace, "--format", "csv"))))
        for number, kind, values in probes:
            row = next(r for r in rows if r["probe"].split("/")[-1] == str(number) and r["type"] == kind)
            for v, value in enumerate(values):
                text = row["v%d" % v]
                told = int(text) if isinstance(value, int) else float(text)
                self.assertTrue(same(told, value), (number, kind, v, text, value))

    def check_chrome(self, trace, probes):
        def refuse(text):
            raise AssertionError(text)
        text = self.execute(SPEX, "export", trace, "--format", "chrome")
        events = json.loads(text, parse_constant=refuse)["traceEvents"]
        for number, kind, values in probes:
            arguments = next(list(e["args"].values()) for e in events
                             if e.get("cat") == kind and e["name"].split("/")[-1] == str(number) and e.get("args"))
            told = arguments[-len(values):]
            for value, other in zip(values, told):
                finite = value is not None and math.isfinite(value)
                self.assertTrue(other == value if finite else other is None, (number, kind, told, values))

    def check_sqlite(self, trace, probes):
        made = os.path.join(self.folder, "trace.db")
        self.execute(SPEX, "export", trace, "--format", "sqlite", "-o", made)
        database = sqlite3.connect(made)
        for number, kind, values in probes:
            told = database.execute("SELECT v0, v1, v2 FROM record JOIN probe ON probe.id = record.probe WHERE "
                                    "number = ? AND type = ?", (number, kind)).fetchone()
            for other, value in zip(told, values):
                if isinstance(value, int) and value >= 2 ** 63:
                    value = float(value)
                self.assertTrue(other is None if value is None else other == value, (number, kind, told, values))
        database.close()

    def check_babeltrace(self, trace, probes):
        found = {}
        for line in self.execute("babeltrace2", trace).splitlines():
            name = re.search(r" ([^ ]+): \{ cpu", line).group(1).split(":")[-1]
            fields = re.findall(r"(\w+) = ([^ ,]+)", line.rsplit("{", 1)[1])
            found.setdefault(name, []).append([text for _, text in fields])
        for number, kind, values in probes:
            told = [text[-len(values):] for text in found[str(number)]][0]
            for text, value in zip(told, values):
                # It writes six digits of a floating-point number.
                near = math.isnan(float(text)) if value is None else (
                    int(text) == value if isinstance(value, int)
                    else float(text) == value or math.isclose(float(text), value, rel_tol=1e-5))
                self.assertTrue(near, (number, kind, told, values))

    def check_json(self, made, probes):
        path = os.path.join(self.folder, "table.json")
        self.execute(SPEX, "run", "--json", "-o", path, made)
        with open(path, encoding="utf-8") as file:
            told = {(p["id"], p["type"]): p for p in json.load(file)["processes"][0]["probes"]}
        for number, kind, values in probes:
            if kind != "snapshot":
                continue
            for figures, value in zip(told[number, kind]["values"], values):
                finite = value is not None and math.isfinite(value)
                self.assertEqual(figures["left_out"], 0 if finite else 1, (number, value))
                for figure in ("mean", "min", "max", "p50"):
                    wanted = float(value) if finite else None
                    near = figures[figure] == wanted if wanted is None or figures[figure] is None else \
                        math.isclose(figures[figure], wanted, rel_tol=1e-10)
                    self.assertTrue(near, (number, figure, value, figures[figure]))

    def check(self, compiler, values, *options):
        if not shutil.which(compiler):
            self.skipTest(compiler + " is not installed")
        made, probes = self.compile(compiler, values, *options)
        self.check_json(made, probes)
        self.execute(SPEX, "record", "-o", os.path.join(self.folder, "trace"), made)
        trace = os.path.join(self.folder, "trace")
        self.check_csv(trace, probes)
        self.check_chrome(trace, probes)
        self.check_sqlite(trace, probes)
        if shutil.which("babeltrace2"):
            self.check_babeltrace(trace, probes)

    def test_gcc(self):
        self.check("gcc", COMMON + C)

    def test_clang(self):
        """Nothing is converted without a defined result."""
        self.check("clang", COMMON + C, "-fsanitize=float-cast-overflow", "-fno-sanitize-recover=all")

    def test_gxx(self):
        self.check("g++", COMMON + CXX, "-std=c++11", "-O2")

    def test_clangxx(self):
        self.check("clang++", COMMON + CXX, "-std=c++17")

    def test_what_is_no_value_does_not_compile(self):
        for compiler in ("gcc", "clang", "g++", "clang++"):
            if not shutil.which(compiler):
                continue
            for value in ("(__int128)1", "1.0i"):
                if value == "1.0i" and "++" in compiler:
                    continue
                source = "#include <spex/spex.h>\nvoid f(void); void f(void) { SNAPSHOT_PROBE(1, 1, %s); }\n" % value
                result = subprocess.run([compiler, "-x", "c++" if "++" in compiler else "c", "-c", "-", "-o", os.devnull,
                                         "-I" + os.path.join(ROOT, "include")], input=source.encode(),
                                        stderr=subprocess.PIPE, check=False)
                self.assertNotEqual(result.returncode, 0, (compiler, value))
                self.assertIn(b"spex: a value is an integer", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
