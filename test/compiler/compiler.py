#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose functions and loops the compiler makes probes of: they do what they do without, their probes are listed
and counted as those of macros, and the parameters of kernels are what their time depends on.

usage: compiler.py SOURCE_ROOT COMPILERS SPEX

COMPILERS is the folder of spex-cc and spex-c++; "-" where they were not built.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

ROOT, COMPILERS, SPEX = sys.argv[1:4]
HERE = os.path.join(ROOT, "test", "compiler")
sys.path.insert(0, os.path.join(ROOT, "test"))
from folder import InFolder  # pylint: disable=wrong-import-position
import tables  # pylint: disable=wrong-import-position

EVERYTHING = "function * least=0\nloop * least=0\n"


def clang_of(wrapper):
    """What the wrapper executes."""
    with open(os.path.join(COMPILERS, wrapper), encoding="utf-8") as file:
        return re.search(r"^clang='(.*?)'", file.read(), re.M)[1].split()


def linker():
    """That of the compiler's version, where it is there: an older one does not read its bitcode."""
    version = re.search(r"-(\d+)$", "-" if COMPILERS == "-" else clang_of("spex-cc")[0])
    own = "lld" + version[0] if version else "lld"
    return own if shutil.which("ld." + own) else "lld"


LINKER = "-fuse-ld=" + linker()

# Of known.c: the parameters of each function.
KNOWN = {
    "sum_array": ["n"], "dot": ["count"], "copy_bytes": ["bytes"], "fill": ["t->rows"], "bubble": ["n"], "pairs": ["t->rows"],
    "multiply": ["n"], "find_all": ["n"], "sort_rows": ["n"], "heap_sort": ["n"], "bits": ["count"],
    "matrix_vector": ["columns", "rows"], "reverse": ["length"], "prefix_sums": ["n"], "histogram": ["n"], "triangle": ["n"],
    "range_sum": ["trips.164"], "cells": ["t->rows", "t->shape.columns"], "first_negative": ["max(n)"], "upper": ["length"],
    "in_main_table": ["d->main->rows"], "through_a_call": ["t->rows"], "gcd": ["a", "b"], "merge": ["n"], "lower_bound": ["n"], "sift": ["end", "root"],
    "by_variable": ["variable_rows"], "nothing": [], "compare": [], "list_sum": ["trips.241"], "in_list": ["trips.247"],
    "lists": ["trips.258", "trips.260"], "word": ["trips.270"], "eight": ["trips.278"],
}
MAY_BE_INLINED = {"lower_bound", "sift", "compare"}
# What known_main calls them with, for a size.
VALUES = {
    "sum_array": lambda n: [n], "dot": lambda n: [(n // 32) ** 2], "copy_bytes": lambda n: [n], "fill": lambda n: [0, n],
    "bubble": lambda n: [n // 16], "pairs": lambda n: [n // 8], "multiply": lambda n: [n // 32], "find_all": lambda n: [n],
    "heap_sort": lambda n: [n], "bits": lambda n: [n // 2], "reverse": lambda n: [n], "prefix_sums": lambda n: [n],
    "histogram": lambda n: [n], "triangle": lambda n: [n // 8], "range_sum": lambda n: [n], "first_negative": lambda n: [n],
    "upper": lambda n: [n], "in_main_table": lambda n: [n], "through_a_call": lambda n: [n], "by_variable": lambda n: [n],
    # Counted: blocks of a loop that tests at its begin are executed once more.
    "list_sum": lambda n: [n], "in_list": lambda n: [n - n // 2], "word": lambda n: [n + 1], "eight": lambda n: [8 * n],
}

# Functions whose time depends on none of their arguments; `%(c)d` is another number in each.
NOTHING = [
    "int f(int a, int b) { return a * %(c)d + b; }",
    "int f(const int *a, int n) { int s = 0; for (int i = 0; i < %(c)d; i++) s += a[i] * n; return s; }",
    "int f(const int *a, int n) { int s = n; for (int i = 0; i < %(c)d; i++) for (int j = 0; j < 9; j++) s ^= a[i] << j; return s; }",
    "int f(int n) { return n > %(c)d ? n - %(c)d : -n; }",
    "int f(int n) { switch (n) { case 1: return %(c)d; case 5: return 3; case 9: return n << 3; default: return n / 3; } }",
    "struct s { int rows, cells[256]; }; int f(const struct s *p) { int s = p->rows; for (int i = 0; i < %(c)d; i++) s += p->cells[i] * p->rows; return s; }",
    "void *memcpy(void *, const void *, unsigned long); void f(char *to, const char *from, int n) { memcpy(to, from, %(c)d); to[0] = (char)n; }",
    "double f(const double *a, double x) { double s = 0; for (int i = %(c)d; i > 0; i--) s = s * x + a[i]; return s; }",
    "static int g(int n) { int s = n; for (int i = 0; i < %(c)d; i++) s = s * 31 + i; return s; } int f(int n, int m) { return g(n) + g(m); }",
    "unsigned f(unsigned n, int unused) { int i = 0; do n = n >> 1 ^ (n & 1 ? 0xedb88320u : 0); while (++i < %(c)d); return n + (unsigned)unused; }",
]


class Compiled(InFolder):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def wrapper(self, source):
        return os.path.join(COMPILERS, "spex-c++" if source.endswith(".cc") else "spex-cc")

    def clang(self, source):
        return clang_of(self.wrapper(source))

    def build(self, sources, flags=(), rules=EVERYTHING, wrapper=True):
        """The program, and what the compiler said."""
        rules = self.write("list", rules)
        compiler = [self.wrapper(sources[0]), "--spex-list=" + rules] if wrapper else self.clang(sources[0])
        program = self.path("program" if wrapper else "plain")
        flags = [flag for flag in flags if wrapper or not flag.startswith("--spex")]
        result = self.succeeds(*compiler, *flags, *sources, "-pthread", "-o", program)
        return program, result.stderr

    def counts(self, program, *arguments, selection="*"):
        """The counts of its probes in a run with all of them on, and what it printed."""
        result = self.succeeds(SPEX, "run", "--json", "-o", self.path("figures"), "-e", selection, "--", program, *arguments,
                               env=dict(os.environ, SPEX_RING_RECORDS="65536"))
        with open(self.path("figures"), encoding="utf-8") as file:
            probes = json.load(file)["processes"][0]["probes"]
        return {probe["name"]: probe["count"] for probe in probes}, result.stdout

    def probes(self, program):
        """Those that `spex probes` lists."""
        return json.loads(self.succeeds(SPEX, "probes", "--json", program).stdout)["sites"]

    def parameters(self, program):
        return {probe["name"]: re.findall("[^, ]+", probe.get("parameters", "")) for probe in self.probes(program)}


class Lists(Compiled):
    def refused(self, rules, *said):
        source = self.write("source.c", "int main(void) { return 0; }\n")
        path = self.write("list", rules)
        result = subprocess.run([self.wrapper(source), "--spex-list=" + path, "-c", source, "-o", self.path("o")], text=True,
                                capture_output=True, check=False)
        self.assertNotEqual(result.returncode, 0, rules)
        lines = [line for line in result.stderr.splitlines() if "spex" in line]
        self.assertEqual(len(lines), 1, result.stderr)
        for text in said:
            self.assertIn(text, lines[0])

    def test_wrong_lines(self):
        self.refused("functions *\n", "list:1: \"functions\"", "\"function\" or \"loop\" was expected")
        self.refused("# comment\n\nfunction\n", "list:3:", "a glob over the names of functions")
        self.refused("function * lot\n", "list:1: \"lot\"", "kernel, lat, cnt, off, file=GLOB or least=NUMBER")
        self.refused("function * least=\n", "list:1: \"least=\"")
        self.refused("function * least=-1\n", "list:1: \"least=-1\"")
        self.refused("function * least=99999999999\n", "list:1:")
        self.refused("function * file=\n", "list:1: \"file=\"")
        self.refused("function a b\n", "list:1: \"b\"", "one glob a line")
        self.refused("loop \x1b[2J \x1b[31m\n", "list:1: \"?[31m\"")

    def test_no_list(self):
        source = self.write("source.c", "int main(void) { return 0; }\n")
        for arguments, said in (([], "--spex-list=FILE, or SPEXCC_LIST, was expected"),
                                (["--spex-list=" + self.path("none")], "none: no such file")):
            result = subprocess.run([self.wrapper(source), *arguments, source, "-o", self.path("o")], text=True,
                                    capture_output=True, check=False, env=dict(os.environ, SPEXCC_LIST=""))
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, r"^spex-cc: .*%s.*\n$" % re.escape(said))

    def test_the_last_line_decides(self):
        names = {probe["name"]: probe["type"] for probe in self.probes(self.build(
            [os.path.join(HERE, "known.c"), os.path.join(HERE, "known_main.c")], ["-O2"],
            "function * least=0\nfunction *_* off   # a comment\nfunction merge lat\nfunction f* cnt least=0 file=known.c\n"
            "function all least=0\nfunction main off file=test/compiler/*\n")[0])}
        self.assertEqual(names["merge"], "lat")
        self.assertEqual((names["fill"], names["find_all"], names["first_negative"]), ("cnt", "cnt", "cnt"))
        self.assertEqual((names["dot"], names["all"]), ("kernel", "kernel"))
        self.assertFalse({"sum_array", "main", "of_text"} & set(names), names)

    def test_least_size(self):
        source = self.write("source.c", "int small(int a) { return a + 1; }\n"
                            "int large(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] % 7; return s; }\n"
                            "int main(int c, char **v) { return v[0][0] == 0 && small(c) + large(&c, 1) > 3; }\n")
        flags = ["-O2", "-fno-inline"]
        self.assertEqual(set(self.parameters(self.build([source], flags, "function *\n")[0])), {"large"})
        self.assertEqual(set(self.parameters(self.build([source], flags, "function * least=1\n")[0])), {"small", "large", "main"})
        # What is named is meant, and stays a function.
        self.assertEqual(set(self.parameters(self.build([source], ["-O2"], "function small\n")[0])), {"small"})


class Programs(Compiled):
    WAYS = {"-O0": ["-O0"], "-O1": ["-O1"], "-O2": ["-O2"], "-O3": ["-O3"], "-Os": ["-Os"], "-g": ["-O2", "-g"],
            "asan": ["-O1", "-fsanitize=address,undefined"], "exceptions": ["-O2", "-fexceptions"],
            "sections": ["-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"],
            "lto": ["-O2", "-flto", LINKER], "thin lto": ["-O2", "-flto=thin", LINKER, "-DNO_IFUNC"],
            "no pic": ["-O2", "-fno-pic", "-no-pie"], "static": ["-O2", "-static"], "intel": ["-O2", "-masm=intel"]}

    def in_ways(self, check, *ways):
        for way in ways:
            flags = self.WAYS[way]
            if LINKER not in flags or shutil.which("ld." + linker()):
                with self.subTest(way=way):
                    check(flags)

    def same(self, sources, flags, *arguments):
        """Builds with and without; the program's output is the same, off and on. Returns the counts."""
        plain, _ = self.build(sources, flags, wrapper=False)
        program, _ = self.build(sources, flags)
        wanted = self.succeeds(plain, *arguments).stdout
        self.assertEqual(self.succeeds(program, *arguments).stdout, wanted)
        counts, printed = self.counts(program, *arguments)
        self.assertEqual(printed, wanted)
        return counts

    def test_c(self):
        def check(flags):
            counts = self.same([os.path.join(HERE, "leaves.c")], [*flags, "-Wall", "-Wextra", "-Werror"], "30")
            # Of each round; those that longjmp has left have no END, those that call setjmp no probe.
            self.assertEqual({counts[name] for name in ("interpret", "varied", "with_assembly", "by_value", "switches")}, {30})
            self.assertEqual((counts["odd"], counts["even"]), (2205, 2175))
            self.assertEqual(counts["jumps_far"], 0)
            self.assertNotIn("calls_setjmp", counts)
            self.assertNotIn("choose_way", counts)
        self.in_ways(check, *self.WAYS)

    def test_cxx(self):
        def check(flags):
            counts = self.same([os.path.join(HERE, "leaves.cc")], [*flags, "-std=c++17", "-Wall", "-Wextra", "-Werror"], "30")
            self.assertEqual({counts[name] for name in ("with_destructors", "catches", "throws_again", "never_throws", "jumps")},
                             {30})
            # Left by exceptions, too; called by throws_again.
            self.assertEqual((counts["left_by_exception"], counts["throws_above"]), (60, 3665))
            self.assertEqual(counts["Grid.area"], 121)
            loop, = (name for name in counts if name.startswith("left_by_exc") and "loop" in name)
            self.assertEqual(counts[loop], 60)
        self.in_ways(check, "-O0", "-O1", "-O2", "-g", "asan", "sections", "lto")

    def test_exceptions_leave_the_context(self):
        """After an exception the thread is where it was: no kernel's path goes through one that was left."""
        program, _ = self.build([os.path.join(HERE, "leaves.cc")], ["-O2", "-std=c++17"], "function * least=0\n")
        plan = self.write("plan.xml", '<space name="test"><parameter name="rounds" type="integer" values="30"/>'
                          '<run trials_per_config="1"/></space>')
        paths = [line.split()[0] for line in
                 self.succeeds(SPEX, "train", self.path("models"), "--runs", plan, "--", program, "{rounds}").stdout.splitlines()]
        self.assertIn("main/catches/throws_above", paths)
        self.assertIn("main/never_throws/throws_again/left_by_exception/throws_above", paths)
        self.assertEqual([path for path in paths if re.search("left_by_exception/.*(jumps|catches)|with_destructors/.*never", path)],
                         [])

    def test_known(self):
        sources = [os.path.join(HERE, "known.c"), os.path.join(HERE, "known_main.c")]

        def check(flags):
            counts = self.same(sources, [*flags, "-Wall", "-Wextra", "-Werror"], "1600")
            self.assertEqual({counts[name] for name in set(KNOWN) - {"fill", "sum_array", "merge"} - MAY_BE_INLINED}, {2})
            self.assertEqual(counts["fill"], 4)
        self.in_ways(check, "-O0", "-O2", "-O3", "thin lto")

    def test_texts_of_sites_stand_without_gaps(self):
        source = self.write("texts.c", "int sum_of_all(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] % 7; return s; }\n"
                            "int parity(const int *a, int rows) { int s = 0; for (int i = 0; i < rows; i++) s ^= a[i] % 5; return s; }\n")
        self.build([source], ["-O1", "-shared", "-fPIC"])
        sections = self.succeeds("readelf", "-SW", self.path("program")).stdout
        bytes_of_all = sum(len("\0".join((source, "1, " + probe["parameters"], '"%s"' % probe["name"]))) + 1
                           for probe in self.probes(self.path("program")))
        self.assertEqual(int(re.search(r" \.rodata +PROGBITS +\w+ \w+ (\w+)", sections)[1], 16), bytes_of_all)

    def test_a_library_without_spex(self):
        """A library whose program has no spex: it works, and is inert."""
        rules = self.write("list", EVERYTHING)
        library = self.path("libknown.so")
        self.succeeds(self.wrapper(".c"), "--spex-list=" + rules, "--spex-regions", "-O2", "-shared", "-fPIC", os.path.join(HERE, "known.c"), "-o", library)
        self.assertNotIn("spex_start", self.succeeds("nm", "-D", library).stdout)
        main = os.path.join(HERE, "known_main.c")
        self.succeeds(*self.clang(main), "-O2", main, library, "-Wl,-rpath," + self.folder, "-o", self.path("user"))
        plain, _ = self.build([os.path.join(HERE, "known.c"), main], ["-O2"], wrapper=False)
        self.assertEqual(self.succeeds(self.path("user"), "800").stdout, self.succeeds(plain, "800").stdout)
        counts = self.succeeds(SPEX, "run", "--preload", "-e", "bubble", "--", self.path("user"), "800").stderr
        self.assertEqual(int(tables.rows(counts)["bubble", "kernel"]["count"]), 2)

    def test_beside_macros(self):
        source = self.write("source.c", "#include <spex/probe.h>\n#include <stdio.h>\n"
                            "int work(int n) { SPEX_LAT_SCOPE(\"by hand\"); int s = 0; for (int i = 0; i < n; i++) s += i % 3;"
                            " return s; }\nint main(void) { printf(\"%d\\n\", work(9)); return 0; }\n")
        program, _ = self.build([source], ["-O2", "-fno-inline", "-I", os.path.join(ROOT, "include")])
        counts, _ = self.counts(program)
        self.assertEqual((counts["by hand"], counts["work"], counts["main"]), (1, 1, 1))


class Parameters(Compiled):
    SOURCES = [os.path.join(HERE, "known.c"), os.path.join(HERE, "known_main.c")]
    RULES = "function * least=0 file=known.c\n"

    def test_are_what_the_time_depends_on(self):
        for flags in (["-O2"], ["-O3"], ["-Os"], ["-O2", "-g"], ["-O2", "-fsanitize=address"]):
            with self.subTest(flags=flags):
                found = self.parameters(self.build(self.SOURCES, flags, self.RULES)[0])
                self.assertLessEqual(set(KNOWN) - MAY_BE_INLINED, set(found))
                self.assertEqual({name: sorted(names) for name, names in found.items()}, {name: KNOWN.get(name) for name in found})

    def test_have_names_without_debug_information(self):
        found = self.parameters(self.build(self.SOURCES, ["-O2", "-g0"], self.RULES)[0])
        self.assertEqual((found["sum_array"], found["fill"], found["nothing"]), (["n"], ["t+16"], []))

    def test_have_their_values(self):
        # Few records, of which none is lost on a busy machine.
        program, _ = self.build(self.SOURCES, ["-O2"], self.RULES + "function compare off\n")
        plan = self.write("plan.xml", '<space name="test"><parameter name="size" type="integer" values="640 1600"/>'
                          '<run trials_per_config="1"/></space>')
        said = self.succeeds(SPEX, "train", self.path("models"), "--runs", plan, "--", program, "{size}",
                             env=dict(os.environ, SPEX_RING_RECORDS="65536")).stderr
        self.assertIn(", 0 lost", said)
        with open(self.path("models"), encoding="utf-8") as file:
            kernels = re.split(r"^kernel ", file.read(), flags=re.M)[1:]
        found = {}
        for kernel in kernels:
            found[kernel.split("\n")[0]] = re.findall(r"^parameter (\S+) (\S+) (.*)$", kernel, re.M)
        for name, values in VALUES.items():
            given = [value for size in (320, 640, 800, 1600) for value in values(size)]
            self.assertEqual(found[name], [(str(min(given)), str(max(given)), KNOWN[name][0])], name)
        columns = [3 + size % 5 for size in (320, 640, 800, 1600)]
        self.assertIn((str(min(columns)), str(max(columns)), "t->shape.columns"), found["cells"])
        # Loops within loops are counted over all of their executions.
        self.assertEqual(sorted(found["lists"]), [("1920", "9600", "trips.260"), ("3", "3", "trips.258")])
        # Recursion has those of each call.
        self.assertEqual(found["merge"], [("1", "1600", "n")])

    def test_none_of_what_depends_on_nothing(self):
        text = ""
        for number in range(100):
            body = NOTHING[number % len(NOTHING)] % {"c": 20 + number}
            text += re.sub(r"\b(f|g|s)\b(?= *[({])|(?<=struct )s\b", lambda match: "%s_%d" % (match[0], number), body) + "\n"
        source = self.write("nothing.c", text)
        self.succeeds(self.wrapper(source), "--spex-list=" + self.write("list", "function f_* least=0\nloop f_* least=0\n"), "-O2",
                      "-fno-inline", "-shared", "-fPIC", source, "-o", self.path("nothing.so"))
        found = self.parameters(self.path("nothing.so"))
        self.assertEqual(len([name for name in found if "loop" not in name]), 100)
        self.assertEqual({name: names for name, names in found.items() if names}, {})


class Loops(Compiled):
    def test_are_probes(self):
        program, _ = self.build([os.path.join(HERE, "known.c"), os.path.join(HERE, "known_main.c")], ["-O2"],
                                "loop * least=0 file=known.c\n")
        found = self.parameters(program)
        with open(os.path.join(HERE, "known.c"), encoding="utf-8") as file:
            line = {text: number for number, text in enumerate(file.read().splitlines(), 1)}
        for name, text, names in (
                ("sum_array", "        sum += a[i];", ["n"]), ("fill", "        t->cells[i] = value ^ (int)i;", ["t->rows"]),
                ("multiply", "        for (int j = 0; j < n; j++) {", ["n"]), ("first_negative", "        if (a[i] < 0)", ["max(n)"]),
                ("range_sum", "        sum += (*begin ^ sum) & 0xffff;", ["trips.164"])):
            self.assertEqual(found["%s.loop%d" % (name, line[text] - 1)], names)
        counts, _ = self.counts(program, "640")
        self.assertEqual(counts["bubble.loop%d" % (line["        for (int j = 0; j + 1 < n; j++)"] - 1)], 2)

    def test_are_counted_where_nothing_is_known(self):
        program, said = self.build([os.path.join(HERE, "known.c"), os.path.join(HERE, "known_main.c")], ["-O2", "-Rpass=spex"],
                                   "loop list_sum least=0 file=known.c\nloop eight least=0 file=known.c\nloop in_list lat least=0\n")
        self.assertIn("loop list_sum.loop241: nothing is known of its count where it begins; it is counted; parameters: trips.241", said)
        found = self.parameters(program)
        self.assertEqual(found["list_sum.loop241"], ["trips.241"])
        # A probe that is no kernel counts nothing, and has no parameter.
        self.assertEqual(found["in_list.loop247"], [])
        plan = self.write("plan.xml", '<space name="test"><parameter name="size" type="integer" values="640 1600"/>'
                          '<run trials_per_config="1"/></space>')
        self.succeeds(SPEX, "train", self.path("models"), "--runs", plan, "--", program, "{size}")
        with open(self.path("models"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("parameter 320 1600 trips.241\n", text)

    def test_counts_of_what_exceptions_leave(self):
        source = self.write("thrown.cc", "#include <cstdio>\n#include <cstdlib>\nstruct node { node *next; int value; };\n"
                            "__attribute__((noinline)) int look(const node *at, int bad) {\n    if (at->value == bad) throw 1;\n"
                            "    return at->value;\n}\n"
                            "__attribute__((noinline)) long sum(const node *list, int bad) {\n    long all = 0;\n"
                            "    for (; list; list = list->next)\n        all += look(list, bad);\n    return all;\n}\n"
                            "int main() {\n    node *list = nullptr;\n    for (int i = 0; i < 70; i++) list = new node{list, i};\n"
                            "    long all = sum(list, -1) + sum(list, -1);\n"
                            "    for (int i = 0; i < 3; i++) try { all += sum(list, i + 9); } catch (int e) { all += e; }\n"
                            "    std::printf(\"%ld\\n\", all);\n    return 0;\n}\n")
        for flags in (["-O2"], ["-O0"]):
            with self.subTest(flags=flags):
                plain, _ = self.build([source], flags, wrapper=False)
                program, _ = self.build([source], flags, "function sum\nloop sum least=0\n")
                self.assertEqual(self.succeeds(program).stdout, self.succeeds(plain).stdout)
                self.succeeds(SPEX, "train", self.path("models"), "--", program)
                with open(self.path("models"), encoding="utf-8") as file:
                    text = file.read()
                most = 70 if flags == ["-O2"] else 71
                self.assertEqual(text.count(f"parameter 1 {most} trips.10\n"), 2, text)
                self.assertRegex(text, rf"(?m)^point \S+ 3 1$(\n.*)*^point \S+ [12] {most}$|^point \S+ [12] {most}$(\n.*)*^point \S+ 3 1$")

    def test_counts_of_copies_are_one(self):
        """Loops of one line that the compiler has copied are counted together; others have names of their own."""
        source = self.write("copies.c", "struct node { struct node *next; int value; };\n"
                            "long four(struct node *const *all) {\n    long sum = 0;\n    for (int i = 0; i < 4; i++)\n"
                            "        for (const struct node *list = all[i]; list; list = list->next)\n            sum += list->value;\n"
                            "    return sum;\n}\n"
                            "long two(const struct node *a, const struct node *b) {\n    long sum = 0;\n"
                            "    while (a) { sum += a->value; a = a->next; } while (b) { sum ^= b->value; b = b->next; }\n"
                            "    for (; a; a = a->next) sum++;\n    return sum;\n}\n")
        self.succeeds(self.wrapper(source), "--spex-list=" + self.write("list", "function * least=0\n"), "-O3", "-shared", "-fPIC", source,
                      "-o", self.path("copies.so"))
        found = self.parameters(self.path("copies.so"))
        self.assertEqual(found["four"], ["trips.5"])
        self.assertEqual(len(set(found["two"])), len(found["two"]))

    def vectorised(self, flags, wrapper):
        source = os.path.join(HERE, "known.c")
        compiler = [self.wrapper(source), *(wrapper or []), "--spex-list=" + self.write("list", EVERYTHING)]
        if wrapper is None:
            compiler = [*self.clang(source), "-g"]
        said = self.succeeds(*compiler, "-Rpass=loop-vectorize", "-Rpass-missed=spex", *flags, "-c", source, "-o", self.path("o")).stderr
        self.no_regions = set(re.findall(r"function (\w+) is no region", said))
        return sorted(re.findall(r"known\.c:(\d+):\d+: remark: (vectorized loop[^[]*)", said))

    def test_stay_vectorised(self):
        for flags in (["-O2"], ["-O3", "-mavx2"]):
            plain = self.vectorised(flags, None)
            self.assertGreater(len(plain), 5)
            self.assertEqual(self.vectorised(flags, []), plain)
            # In both copies, so that what is recorded is what the program does otherwise. merge and upper may be no regions: that
            # depends on what LLVM makes of their loops.
            both = self.vectorised(flags, ["--spex-regions"])
            once = [line for line, name in (("186", "upper"), ("221", "merge")) if name in self.no_regions]
            self.assertEqual(both, sorted(plain + [loop for loop in plain if loop[0] not in once]))

    def test_lines_stay(self):
        """What debug information says of lines is there with probes as without."""
        source = os.path.join(HERE, "known.c")
        lines = []
        wrapper = [self.wrapper(source), "--spex-list=" + self.write("list", EVERYTHING)]
        for compiler in (self.clang(source), wrapper, [*wrapper, "--spex-regions"]):
            self.succeeds(*compiler, "-O1", "-g", "-c", source, "-o", self.path("o"))
            text = self.succeeds("objdump", "--dwarf=decodedline", self.path("o")).stdout
            lines.append({int(number) for number in re.findall(r"known\.c +(\d+) ", text)})
        self.assertGreater(len(lines[0]), 50)
        self.assertEqual((lines[0] - lines[1], lines[0] - lines[2]), (set(), set()))
        self.succeeds(self.wrapper(source), "--spex-list=" + self.path("list"), "-O1", "-c", source, "-o", self.path("o"))
        self.assertNotIn(".debug_info", self.succeeds("readelf", "-SW", self.path("o")).stdout)


class Sampled(Compiled):
    """Of most executions nothing is recorded: the program's own code counts them, and enters a kernel's context."""

    def test_all_are_counted(self):
        for source, size, *flags in (("leaves.c", "30", "-O2", "-fexceptions"), ("leaves.cc", "30", "-O2", "-std=c++17"), ("often.c", "800", "-O0"),
                                     ("often.c", "800", "-O2", "-fno-pic", "-no-pie")):
            for kind in ("kernel", "lat", "cnt"):
                with self.subTest(source=source, kind=kind, flags=flags):
                    program, _ = self.build([os.path.join(HERE, source)], flags, EVERYTHING.replace(" *", " * " + kind))
                    exact, printed = self.counts(program, size)
                    counts, also_printed = self.counts(program, size, selection="*@7")
                    # A longjmp leaves it: where all are recorded, END counts.
                    self.assertEqual({name: counts[name] for name in counts if name != "jumps_far"},
                                     {name: exact[name] for name in exact if name != "jumps_far"})
                    self.assertEqual(also_printed, printed)

    def paths(self, program, selection, size):
        """Of its kernels, in a run."""
        plan = self.write("plan.xml", f'<space name="test"><parameter name="size" type="integer" values="{size}"/>'
                          '<run trials_per_config="1"/></space>')
        said = self.succeeds(SPEX, "train", self.path("models"), "--runs", plan, "--probes", selection, "--", program, "{size}",
                             env=dict(os.environ, SPEX_RING_RECORDS="65536")).stdout
        return {line.split()[0] for line in said.splitlines() if line.startswith("main")}

    def test_contexts_are_those_of_all(self):
        program, _ = self.build([os.path.join(HERE, "often.c")], ["-O2"])
        inner = {"main/main.loop41/calls/" + path for path in ("ways", "ways/ways.loop11", "ways/ways.loop15", "ways/ways.loop18",
                                                               "calls.loop32/one", "calls.loop32/one/one.loop25")}
        for selection in ("*@20", "*@~20"):
            found = self.paths(program, selection, 80000)
            self.assertEqual({path for path in found if path.rsplit("/", 1)[-1][:3] in ("way", "one")}, inner)

    def test_contexts_that_are_entered_before_a_call(self):
        """A kernel that makes no record enters its context only where another one may be called, and in front of a record of its
        loops: the contexts of records are those of a run in which all make records."""
        source = os.path.join(HERE, "seldom.cc")
        for flags in (["-O1"], ["-O2"], ["-O2", "--spex-regions"]):
            with self.subTest(flags=flags):
                program, _ = self.build([source], flags, EVERYTHING + "function quiet* off\n")
                exact = self.paths(program, "*", 400)
                turn = next(path for path in exact if path.endswith("/turn")) + "/"
                for path in ("sweep/sweep.loop33/gate/leaf/leaf.loop14", "sweep/sweep.loop38", "always/always.loop45/leaf", "down", "down/leaf",
                             "catches/throws/gate/leaf", "catches/leaf", "jumps/leaf", "leaf"):
                    self.assertIn(turn + path, exact)
                for selection in ("*@7", "*@~7"):
                    inner = [{path for path in paths if path.startswith(turn)} for paths in (self.paths(program, selection, 40000), exact)]
                    self.assertEqual(*inner)
        assembly = self.path("s")
        self.succeeds(self.wrapper(source), "--spex-list=" + self.path("list"), "-O2", "-S", source, "-o", assembly)
        with open(assembly, encoding="utf-8") as file:
            text = file.read()
        if os.uname().machine == "x86_64":
            begins = {name[:int(length)]: set(re.findall(r"spex_compiled_(\w+)_\b", body)) for length, name, body in
                      re.findall(r"^_ZL(\d+)(\w+):(.*?)^\.Lfunc_end", text, re.M | re.S)}
            self.assertEqual({name for name in begins if "entered" in begins[name]}, {"always", "catches", "turn"})
            self.assertEqual({name for name in begins if "context" in begins[name]}, {"gate", "sweep", "down", "throws", "jumps", "leaf"})


class Regions(Compiled):
    OFTEN = os.path.join(HERE, "often.c")
    # In eight rounds.
    TRUE = {"ways": 8, "ways.loop11": 4, "ways.loop15": 2, "ways.loop18": 6, "one": 32, "one.loop25": 32}

    def regions(self, program):
        """The region of each probe; 0: it stands in none."""
        return {probe["name"]: probe.get("region", 0) for probe in self.probes(program)}

    def test_programs_do_what_they_do(self):
        """All are recorded, so that counts are exact, as without regions."""
        cases = ((["known.c", "known_main.c"], "640", ["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-fno-pic", "-no-pie"],
                  ["-O2", "-masm=intel"], ["-O1", "-fsanitize=address"], ["-O2", "-flto", LINKER], ["-O2", "-flto=thin", LINKER]),
                 (["leaves.c"], "30", ["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-O2", "-fexceptions"]),
                 (["leaves.cc"], "30", ["-O0", "-std=c++17"], ["-O2", "-std=c++17"], ["-O3", "-std=c++17"]))
        for names, size, *ways in cases:
            sources = [os.path.join(HERE, name) for name in names]
            for flags in ways:
                with self.subTest(names=names, flags=flags):
                    if LINKER in flags and not shutil.which("ld." + linker()):
                        continue
                    plain, _ = self.build(sources, flags, wrapper=False)
                    wanted = self.succeeds(plain, size).stdout
                    exact = self.counts(self.build(sources, flags)[0], size)[0]
                    program, _ = self.build(sources, ["--spex-regions", *flags])
                    self.assertEqual(self.succeeds(program, size).stdout, wanted)
                    counts, printed = self.counts(program, size)
                    self.assertEqual(printed, wanted)
                    self.assertEqual(counts, exact)
                    self.assertGreater(len({region for region in self.regions(program).values() if region}),
                                       20 if "known.c" in names else 0)

    def test_sites_stand_in_one(self):
        regions = self.regions(self.build([self.OFTEN], ["-O2", "--spex-regions"])[0])
        self.assertEqual({name for name in regions if not regions[name]}, {"calls", "calls.loop32", "main", "main.loop41"})
        self.assertEqual(len({regions[name] for name in self.TRUE if name.startswith("ways")}), 1)
        self.assertEqual(regions["one"], regions["one.loop25"])
        self.assertNotEqual(regions["one"], regions["ways"])
        self.assertEqual(set(self.regions(self.build([self.OFTEN], ["-O2"])[0]).values()), {0})

    def test_the_environment_says_it(self):
        program = self.path("program")
        self.succeeds(self.wrapper(self.OFTEN), "--spex-list=" + self.write("list", EVERYTHING), "-O2", self.OFTEN, "-o", program,
                      env=dict(os.environ, SPEXCC_REGIONS="1"))
        self.assertNotEqual(self.regions(program)["ways"], 0)

    def test_estimates(self):
        """Of counts that are known: none is off by more than five deviations, nor are all together; most are within the margin."""
        program, _ = self.build([self.OFTEN], ["-O2", "--spex-regions"])
        within, deviations = 0, []
        for period, kind in ((period, kind) for period in (10, 100, 1000) for kind in ("", "~")):
            # 200 records and more of each.
            rounds = 800 * period
            self.succeeds(SPEX, "run", "--json", "-o", self.path("figures"), "-e", f"*@{kind}{period}", "--", program, str(rounds),
                          env=dict(os.environ, SPEX_RING_RECORDS="65536"))
            with open(self.path("figures"), encoding="utf-8") as file:
                probes = {probe["name"]: probe for probe in json.load(file)["processes"][0]["probes"]}
            for name, true in self.TRUE.items():
                probe, wanted = probes[name], true * rounds / 8
                self.assertEqual(probe["one_in"], period)
                self.assertGreater(probe["count_margin"], 0)
                deviations.append((probe["count"] - wanted) / (wanted * period) ** 0.5)
                self.assertLess(abs(deviations[-1]), 5, (name, period, probe["count"], wanted))
                within += abs(probe["count"] - wanted) <= probe["count_margin"]
        self.assertGreater(within, 0.75 * len(deviations))
        self.assertLess(abs(sum(deviations)) / len(deviations) ** 0.5, 5)

    def test_contexts_are_those_without(self):
        paths = []
        plan = self.write("plan.xml", '<space name="test"><parameter name="size" type="integer" values="800"/>'
                          '<run trials_per_config="1"/></space>')
        for flags in ([], ["--spex-regions"]):
            program, _ = self.build([self.OFTEN], ["-O2", *flags])
            said = self.succeeds(SPEX, "train", self.path("models"), "--runs", plan, "--", program, "{size}",
                                 env=dict(os.environ, SPEX_RING_RECORDS="65536")).stdout
            paths.append({line.split()[0] for line in said.splitlines()[1:]})
        self.assertIn("main/main.loop41/calls/calls.loop32/one/one.loop25", paths[0])
        self.assertEqual(paths[0], paths[1])

    def test_a_budget_gives_a_region_one_period(self):
        program, _ = self.build([self.OFTEN], ["-O2", "--spex-regions"])
        self.succeeds(SPEX, "run", "--json", "-b", "1%", "-o", self.path("figures"), "--", program, "400000")
        with open(self.path("figures"), encoding="utf-8") as file:
            probes = {probe["name"]: probe for probe in json.load(file)["processes"][0]["probes"]}
        self.assertEqual(probes["one"]["held_seconds"] > 0, probes["one.loop25"]["held_seconds"] > 0)
        for name, true in self.TRUE.items():
            self.assertGreater(probes[name]["counted"], 0, name)
            self.assertEqual(probes["ways"]["period"], probes["ways.loop18"]["period"])
            if not probes[name]["count_at_least"]:
                self.assertLess(abs(probes[name]["count"] - true * 50000), 4 * probes[name]["count_margin"] + 1, name)

    def test_functions_that_are_none(self):
        source = self.write("none.c", "#include <stdlib.h>\nvoid other(int *);\n"
                            "int calls(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) { other(a); s += a[i]; } return s; }\n"
                            "int straight(int a, int b) { return a * b; }\n"
                            "int text(int *a, int n) { for (int i = 0; i < n; i++) __asm__ volatile(\"nop\"); return a[0]; }\n"
                            "int barrier(int *a, int n) { int s = 0; for (int i = 0; i < n; i++) { s += a[i];"
                            " __asm__ volatile(\"\" ::: \"memory\"); } return s; }\n"
                            "int ends(int *a, int n) { for (int i = 0; i < n; i++) if (!a[i]) abort(); return a[0]; }\n"
                            "int turns(int *a, int n) { int s = 0; if (n & 1) goto in; for (int i = 0; i < n; i++) { s += a[i];\nin:"
                            " s ^= a[s & 7]; if (s < n) break; n--; } for (int i = 0; i < n; i++) s += a[i] % 7; return s; }\n"
                            "int computed(const int *a, int n) { static const void *const to[] = {&&x, &&y}; int s = 0;\n"
                            " for (int i = 0; i < 9; i++) s += a[i]; goto *to[n & 1];\nx: s += a[s & 7]; goto *to[a[s & 3] & 1];\n"
                            "y: for (int i = 0; i < n; i++) s ^= a[i] % 5; return s; }\n")
        said = self.succeeds(self.wrapper(source), "--spex-list=" + self.write("list", EVERYTHING), "--spex-regions", "-O1",
                             "-Rpass=spex", "-Rpass-missed=spex", "-c", source, "-o", self.path("o")).stderr
        for name, why in (("calls", "it calls functions that may have probes"), ("text", "its inline assembly may not be there twice"),
                          ("turns", "a loop in it is entered at several places"), ("computed", "it has a computed goto")):
            self.assertIn(f"function {name} is no region: {why} ", said)
        for name, most in (("straight", 1), ("barrier", 2), ("ends", 2)):
            self.assertIn(f"function {name} is a region: a pass executes at most {most} of its probes ", said)


class Wrapper(Compiled):
    def made_by(self, name):
        return "clang" if "clang" in self.succeeds("readelf", "-p", ".comment", self.path(name)).stdout else "gcc"

    def test_the_rest_is_gcc(self):
        rules = self.write("list", "function * file=known.c least=0\nloop * off file=other/*\n")
        compiler = [self.wrapper(".c"), "--spex-list=" + rules, "--spex-rest=gcc", "-O2", "-flto"]
        self.succeeds(*compiler, "-c", os.path.join(HERE, "known.c"), "-o", self.path("known.o"))
        self.succeeds(*compiler[:-1], "-c", os.path.join(HERE, "known_main.c"), "-o", self.path("main.o"))
        self.assertEqual((self.made_by("known.o"), self.made_by("main.o")), ("clang", "gcc"))
        self.succeeds(*compiler[:-1], self.path("known.o"), self.path("main.o"), "-o", self.path("program"))
        counts, printed = self.counts(self.path("program"), "640")
        plain, _ = self.build([os.path.join(HERE, "known.c"), os.path.join(HERE, "known_main.c")], ["-O2"], wrapper=False)
        self.assertEqual(printed, self.succeeds(plain, "640").stdout)
        self.assertEqual(counts["bubble"], 2)
        self.assertNotIn("main", counts)

    def test_what_compiles_nothing_needs_no_list(self):
        environment = dict(os.environ, SPEXCC_LIST="")
        self.assertIn("clang", self.succeeds(self.wrapper(".c"), "--version", env=environment).stdout)
        source = self.write("source.c", "A B\n")
        self.assertIn("A B", self.succeeds(self.wrapper(".c"), "-E", source, env=environment).stdout)

    def test_another_architecture_is_refused(self):
        source = self.write("source.c", "int f(int a) { return a; }\n")
        rules = self.write("list", EVERYTHING)
        other = "aarch64-linux-gnu" if os.uname().machine == "x86_64" else "x86_64-linux-gnu"
        result = subprocess.run([self.wrapper(".c"), "--spex-list=" + rules, "--target=" + other, "-c", source, "-o", self.path("o")],
                                text=True, capture_output=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("this plugin makes probes for", result.stderr)

    def test_programs_that_start_spex_are_linked(self):
        source = self.write("source.c", "#include <spex/spex.h>\n#include <stdio.h>\nint main(void) { int err = spex_start(NULL);"
                            " printf(\"%d\\n\", err); return spex_stop(); }\n")
        program, _ = self.build([source], ["-I", os.path.join(ROOT, "include")], "function main\n")
        self.assertEqual(self.succeeds(program).stdout, "0\n")


if __name__ == "__main__":
    if COMPILERS == "-":
        print("SKIP: spex-cc was not built: clang and llvm-dev were not there, or sanitizers are on")
        sys.exit(77)
    # Tables have whole names.
    os.environ["COLUMNS"] = "1000"
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
