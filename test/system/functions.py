#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that are compiled with -finstrument-functions, in the ways that people compile: their functions are chosen by
name, and counted as often as they were called.

usage: functions.py SOURCE_ROOT LIBRARY SPEX
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import unittest

ROOT, LIBRARY, SPEX = sys.argv[1:4]
sys.path.insert(0, os.path.join(ROOT, "test"))
from folder import InFolder, LIBRARIES  # pylint: disable=wrong-import-position
import tables  # pylint: disable=wrong-import-position

ROUNDS = 5

# name: flags of compiler and linker, of the linker alone
WAYS = {
    "-O0": (["-O0"], []), "-O2": (["-O2"], []), "-Os": (["-Os"], []), "lto": (["-O2", "-flto"], ["-Wl,-u,__cyg_profile_func_enter"]),
    "no pic": (["-O2", "-fno-pic"], ["-no-pie"]), "no plt": (["-O2", "-fPIE", "-fno-plt"], ["-pie", "-Wl,-z,now"]),
    "static": (["-O2"], ["-static", "-Wl,-u,__cxa_demangle"]), "sections": (["-O2", "-ffunction-sections"], ["-Wl,--gc-sections"]),
}
COMPILERS = {"c": ["gcc", "clang"], "c++": ["g++", "clang++"]}
PATHS = {"c": {"one_round", "one_round/add_up"},
         "c++": {"one_round", "one_round/work.rows.operator()", "one_round/work.rows.operator()/work.rows.scan",
                 "one_round/work.rows.operator()/work.rows.scan/add_up"}}


class Functions(InFolder):
    def compile(self, language, compiler, flags, linker, shared=False, instrument=True):
        here = os.path.join(ROOT, "test", "system")
        command = [compiler, *flags, "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "include")]
        command += ["-finstrument-functions"] * instrument
        other = self.path("other.o")
        self.succeeds(*command, *["-fPIC"] * shared, "-x", "c", "-c", os.path.join(here, "functions_other.c"), "-o", other)
        if shared:
            other = self.path("libother.so")
            self.succeeds(compiler, "-shared", self.path("other.o"), "-o", other)
        self.succeeds(*command, "-x", language, "-c", os.path.join(here, "functions.c"), "-o", self.path("work.o"))
        self.succeeds(compiler, *flags, *linker, self.path("work.o"), other, LIBRARY, *LIBRARIES,
                      "-Wl,-rpath," + self.folder, "-o", self.path("work"))
        return self.path("work")

    def run_program(self, program, functions, probes=None, size="100"):
        """{name: count} of the table, and what was said."""
        environment = dict(os.environ, SPEX_FUNCTIONS=functions, SPEX_PROBES=probes or functions, SPEX_CALIBRATE="0")
        result = self.succeeds(program, str(ROUNDS), size, env=environment)
        found = tables.rows(result.stderr)
        return {name: int(row["count"]) for (name, kind), row in found.items() if kind == "kernel"}, result.stderr

    def check(self, language, program):
        names = {path.split("/")[-1] for path in PATHS[language]}
        counts, said = self.run_program(program, "*")
        self.assertLessEqual(names | {"main", "other_object", "other_part"}, set(counts), said)
        self.assertEqual({counts[name] for name in names | {"other_object", "other_part"}}, {ROUNDS}, counts)
        self.assertEqual([name for name in counts if name.startswith("spex") or name == "printf"], [], counts)
        counts, said = self.run_program(program, "*o*,other*@off")
        self.assertEqual(counts["one_round"], ROUNDS, said)
        self.assertNotIn("other_object", counts)

    def test_ways_of_compiling(self):
        for language in COMPILERS:
            for compiler, way in itertools.product(filter(shutil.which, COMPILERS[language]), WAYS):
                if compiler.startswith("clang") and way == "lto":
                    continue  # the linker of the system needs a plugin that it may not have
                flags, linker = WAYS[way]
                with self.subTest(compiler=compiler, way=way):
                    if language == "c":
                        linker = [flag for flag in linker if "demangle" not in flag]
                    self.check(language, self.compile(language, compiler, flags, linker))

    def test_contexts_and_parameters_are_trained(self):
        plan = self.path("plan.xml")
        with open(plan, "w", encoding="utf-8") as file:
            file.write('<space name="test"><parameter name="rows" type="integer" values="1000 2000 4000 8000 16000"/>'
                       '<run trials_per_config="2"/></space>')
        for language, compiler in (("c", "gcc"), ("c++", "g++")):
            if not shutil.which(compiler):
                continue
            with self.subTest(language=language):
                program = self.compile(language, compiler, ["-O2"], [])
                models = self.path("models")
                result = self.succeeds(SPEX, "train", models, "--runs", plan, "--functions", "*,main@off,other*@off", "--",
                                       program, str(ROUNDS), "{rows}", env=dict(os.environ, COLUMNS="1000"))
                rows = {line.split()[0]: line.split()[1] for line in result.stdout.splitlines()[1:]
                        if not line.startswith("next: ")}
                self.assertEqual(rows, {path: str(2 * 5 * ROUNDS) for path in PATHS[language]})
                with open(models, encoding="utf-8") as file:
                    self.assertIn("parameter 1000 16000 size\n", file.read())

    def test_a_library_of_instrumented_functions(self):
        program = self.compile("c", "gcc", ["-O2"], [], shared=True)
        self.check("c", program)
        counts, _ = self.run_program(program, "*", "file=*libother.so")
        self.assertEqual({name: count for name, count in counts.items() if count}, {"other_object": ROUNDS,
                                                                                    "other_part": ROUNDS})

    def test_spex_run(self):
        program = self.compile("c", "gcc", ["-O2"], [])
        result = self.succeeds(SPEX, "run", "--functions", "add_*", "-e", "add_up", "--", program, "3", "10")
        self.assertRegex(result.stderr, r"(?m)^add_up +kernel .* 3 ")
        bad = subprocess.run([SPEX, "run", "--functions", "a,,b", "--", program, "3", "10"], text=True,
                             stderr=subprocess.PIPE, check=False)
        self.assertEqual(bad.returncode, 2)
        self.assertIn("--functions: item 2: a glob over the names of functions was expected", bad.stderr)

    def test_a_program_with_functions_alone_says_how_they_are_chosen(self):
        program = self.compile("c", "gcc", ["-O2"], [])
        result = subprocess.run([SPEX, "probes", "--json", program], text=True, capture_output=True, check=False)
        self.assertEqual((result.returncode, json.loads(result.stdout)["functions"]), (1, True))
        self.succeeds("strip", program)
        stripped = subprocess.run([SPEX, "probes", "--json", program], text=True, capture_output=True, check=False)
        self.assertEqual((stripped.returncode, stripped.stdout, stripped.stderr), (1, result.stdout, result.stderr))
        self.assertEqual(result.stderr, "spex: %s has functions that can be made kernels when it starts: spex run "
                         "--functions 'GLOB,…' -- PROGRAM (nm -C PROGRAM lists their names)\n"
                         "spex: %s has no other probes\n" % (program, program))

    def test_a_running_program_lists_its_functions(self):
        program = self.compile("c", "gcc", ["-O2"], [])
        control = self.path("control")
        os.mkdir(control, 0o700)
        environment = dict(os.environ, SPEX_FUNCTIONS="add_*", SPEX_CONTROL=control, COLUMNS="1000")
        with subprocess.Popen([program, "1", "10", "wait"], env=environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"done\n")
            listed = self.succeeds(SPEX, "probes", str(process.pid), env=environment).stdout
            sites = json.loads(self.succeeds(SPEX, "probes", "--json", str(process.pid), env=environment).stdout)["sites"]
            process.stdin.close()
        self.assertRegex(listed, r"(?m)^add_up +65535 +kernel of size +1 .*/work( |$)")
        self.assertEqual([(site["name"], site["parameters"], site["line"]) for site in sites], [("add_up", "size", 0)])

    def test_what_cannot_be_chosen_is_said(self):
        program = self.compile("c", "gcc", ["-O2"], [])
        _, said = self.run_program(program, "nothing_like_this")
        self.assertIn("spex: SPEX_FUNCTIONS: no instrumented function matches\n", said)
        self.succeeds("strip", program)
        counts, said = self.run_program(program, "*")
        self.assertEqual(counts, {})
        self.assertIn("spex: SPEX_FUNCTIONS: no symbol table has the names of the instrumented functions", said)
        _, said = self.run_program(self.compile("c", "gcc", ["-O2"], [], instrument=False), "*")
        self.assertIn("spex: SPEX_FUNCTIONS: this program was not compiled with -finstrument-functions, or linked", said)
        environment = dict(os.environ, SPEX_FUNCTIONS="a,@off")
        result = subprocess.run([self.compile("c", "gcc", ["-O2"], []), "1", "1"], env=environment, text=True,
                                stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("spex: SPEX_FUNCTIONS=a,@off: item 2: a glob", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
