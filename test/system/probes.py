#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex probes` lists what is in programs, libraries and processes, however they were made.

usage: probes.py SOURCE_ROOT SPEX SUBJECT TAXI
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = SPEX = SUBJECT = TAXI = None

NOBODY = 65534

PROGRAM = """
#include <spex/probe.h>
SPEX_PROBE_NAME(1, "outer");
int main(void) {
    LAT_PROBE_BEGIN(1, 5);
    SNAPSHOT_PROBE(2, 1, 3, 4);
    PERFCNTR_PROBE_BEGIN(3, 1, 6);
    PERFCNTR_PROBE_END(3);
    LAT_PROBE_END(1);
    return 0;
}
"""
PROGRAM_SITES = [("outer", 1, "lat", 5, 1), (None, 2, "snapshot", 1, 1), (None, 3, "perfcntr", 1, 1)]

LIBRARY = """
#include <spex/probe.h>
SPEX_PROBE_NAME(9, "library");
__attribute__((visibility("default"))) void library(void);
void library(void) {
    CNT_PROBE_BEGIN(9, 1);
    CNT_PROBE_END(9);
}
"""
LIBRARY_SITES = [("library", 9, "cnt", 1, 1)]

NAMED = """
#include <spex/probe.h>
#include <spex/kernel.h>
#define STATE "st" "ate"
enum { SORT = 4 };
SPEX_PROBE_NAME(SORT, "sort");
int main(int argc, char **argv) {
    SPEX_LAT_SCOPE("net.recv", 5);
    SPEX_LAT_BEGIN(parse, 1);
    SPEX_KERNEL_BEGIN(sort, 1, argc);
    SPEX_KERNEL_END(sort);
    SPEX_LAT_END(parse);
    SPEX_SNAPSHOT_PROBE(STATE, 1, argv != 0);
    SPEX_LAT_SCOPE(0, 1);
    return 0;
}
"""
NAMED_SITES = [("net.recv", None, "lat", 5, 1), ("parse", None, "lat", 1, 1), ("sort", 4, "kernel", 1, 1),
               ("state", None, "snapshot", 1, 1), (None, 0, "lat", 1, 1)]

SHORT = """
#include <spex/probe.h>
#define STATE "st" "ate"
#define word other
int main(int argc, char **argv) {
    SPEX_CNT_BEGIN(word);
    SPEX_FLT_BEGIN(word, 100);
    SPEX_FLT_END(word);
    SPEX_CNT_END(word);
    SPEX_TPT_SCOPE("a, b");
    SPEX_PERFCNTR_SCOPE(STATE, 6);
    SPEX_SNAPSHOT(STATE, argc, 2.5);
    SPEX_SPAN_BEGIN("request", 7, argv);
    return 0;
}
"""
SHORT_SITES = [("a, b", None, "tpt", 1, 1), ("request", None, "span", 7, 1), ("state", None, "snapshot", 1, 1),
               ("state", None, "perfcntr", 1, 1), ("word", None, "cnt", 1, 1), ("word", None, "flt", 100, 1)]

INLINED = """
#include <spex/probe.h>
template <typename T> __attribute__((always_inline)) inline T twice(T value) {
    SPEX_LAT_SCOPE(4, 1);
    return value + value;
}
template <typename T> __attribute__((noinline)) T thrice(T value) {
    TPT_PROBE_BEGIN(5, 1);
    value += twice(value);
    TPT_PROBE_END(5);
    return value;
}
int main(int argc, char **) { return static_cast<int>(thrice(argc) + thrice(1.0 * argc)); }
"""


def run(*arguments, **options):
    return subprocess.run([SPEX, "probes", *arguments], capture_output=True, text=True, check=False,
                          **options)


def sites_of(result):
    return [(site["name"], site["id"], site["type"], site["sc"], site["copies"])
            for site in json.loads(result.stdout)["sites"]]


LOADER = """
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char byte;
    if (argc < 2 || !dlopen(argv[1], RTLD_NOW) || write(1, "\\n", 1) != 1)
        return 1;
    return (int)read(0, &byte, 1);
}
"""


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="spex-test-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def compile(self, name, text, *arguments, compiler="gcc", source="source.c"):
        if not shutil.which(compiler):
            self.skipTest("no " + compiler)
        self.write(source, text)
        subprocess.run([compiler, "-O2", "-I" + os.path.join(ROOT, "include"), source, "-o", name,
                        *arguments], cwd=self.dir, check=True)
        return self.path(name)

    def assert_sites(self, sites, *arguments, stderr="", **options):
        result = run("--json", *arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, stderr + r"\Z")
        self.assertEqual(sites_of(result), sites)

    def assert_fails(self, pattern, *arguments, status=1, **options):
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, status)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, pattern)


class Probes(Scratch):
    def test_however_linked(self):
        ways = {"plain": ["-no-pie"], "pie": ["-pie"], "debug": ["-g"], "static": ["-static"],
                "static-pie": ["-static-pie"],
                "stripped": ["-s"], "one segment": ["-Wl,-z,noseparate-code"], "lto": ["-flto"],
                "sections": ["-fdata-sections", "-ffunction-sections", "-Wl,--gc-sections"]}
        for linker, program in (("lld", "ld.lld"), ("gold", "ld.gold")):
            if shutil.which(program):
                ways[linker] = ["-fuse-ld=" + linker]
        for name, arguments in ways.items():
            with self.subTest(name):
                told = (r"spex: the libraries of .* were not looked at: it is linked statically\n"
                        if name == "static" else "")
                self.assert_sites(PROGRAM_SITES, self.compile(name, PROGRAM, *arguments), stderr=told)

    def test_clang(self):
        program = self.compile("program", PROGRAM, "-flto=full" if shutil.which("ld.lld") else "-O1",
                               *(["-fuse-ld=lld"] if shutil.which("ld.lld") else []), compiler="clang")
        self.assert_sites(PROGRAM_SITES, program)

    def test_stripped_afterwards(self):
        program = self.compile("program", PROGRAM, "-g")
        for how in "--strip-debug", "--strip-unneeded", "--strip-all":
            subprocess.run(["strip", how, program], check=True)
            self.assert_sites(PROGRAM_SITES, program)

    def test_debug_information_of_its_own(self):
        program = self.compile("program", PROGRAM, "-g")
        subprocess.run(["objcopy", "--only-keep-debug", program, program + ".debug"], check=True)
        self.assert_fails("file of debug information", program + ".debug")

    def test_another_architecture(self):
        compiler = "aarch64-linux-gnu-gcc"
        if platform.machine() == "aarch64":
            compiler = "x86_64-linux-gnu-gcc"
        program = self.compile("program", PROGRAM, compiler=compiler)
        self.assert_sites(PROGRAM_SITES, program,
                          stderr=r"spex: the libraries of .* were not looked at: it is for another "
                                 r"processor\n")

    def test_inlined_copies_are_one(self):
        program = self.compile("program", INLINED, compiler="g++", source="source.cpp")
        result = run("--json", program)
        copies = {site["id"]: site["copies"] for site in json.loads(result.stdout)["sites"]}
        self.assertEqual(set(copies), {4, 5})
        self.assertGreaterEqual(min(copies.values()), 2)  # compilers may make more
        result = run(program)
        self.assertRegex(result.stdout, r"\Aprobe +id +type +sc +where +copies\n")
        self.assertRegex(result.stdout, r"\n4 +4 +lat +1 +source\.cpp:4 +×[2-9]\n")

    def test_linked_libraries(self):
        library = self.compile("liblibrary.so", LIBRARY, "-shared", "-fPIC")
        program = self.compile("program", PROGRAM, "-Wl,--no-as-needed", library,
                               "-Wl,-rpath,$ORIGIN")
        self.assert_sites(PROGRAM_SITES + LIBRARY_SITES, program)
        self.assert_sites(PROGRAM_SITES + LIBRARY_SITES, "./program", cwd=self.dir)
        table = run("--verbose", program).stdout.splitlines()
        self.assertRegex(table[0], r"where +object$")
        self.assertEqual([line.split()[-1] for line in table[1:]], [program] * 3 + [library])
        os.rename(library, self.path("elsewhere.so"))
        self.assert_sites(PROGRAM_SITES, program, stderr=r"spex: a library was not found: .*liblibrary.so\n")
        os.mkdir(self.path("other"))
        os.rename(self.path("elsewhere.so"), self.path("other/liblibrary.so"))
        self.compile("program", PROGRAM, "-Wl,--no-as-needed", "-Lother", "-llibrary")
        self.assert_sites(PROGRAM_SITES + LIBRARY_SITES, program,
                          env={**os.environ, "LD_LIBRARY_PATH": self.path("other")})

    def test_a_library_itself(self):
        self.compile("liblibrary.so", LIBRARY, "-shared", "-fPIC")
        self.assert_sites(LIBRARY_SITES, "liblibrary.so", cwd=self.dir)

    def test_programs_of_this_project(self):
        self.assert_sites([("other", 2, "cnt", 1, 1), ("work", 1, "tpt", 1, 1)], SUBJECT)
        self.assertIn(("query", None, "tpt", 1, 1), sites_of(run("--json", TAXI)))

    def test_json(self):
        program = self.compile("program", PROGRAM)
        listed = json.loads(run("--json", program).stdout)
        self.assertEqual(set(listed), {"program", "objects", "sites", "functions"})
        self.assertEqual((listed["program"], listed["objects"][0]), (program, program))
        self.assertEqual(listed["sites"][0], {
            "id": 1, "name": "outer", "provider": "program", "type": "lat", "file": "source.c", "line": 5, "sc": 5,
            "copies": 1, "object": program})
        self.assertEqual([site.get("values") for site in listed["sites"]], [None, 2, None])
        self.assertEqual([site.get("counter") for site in listed["sites"]], [None, None, 6])

    def test_names_in_the_place_of_ids(self):
        for compiler, source in ("gcc", "source.c"), ("g++", "source.cpp"):
            program = self.compile("program", NAMED, compiler=compiler, source=source)
            self.assert_sites(NAMED_SITES, program)
            self.assert_sites(SHORT_SITES, self.compile("short", SHORT, compiler=compiler, source=source))
        self.assertEqual(run(program).stdout.splitlines()[1:4], [
            "net.recv   -  lat                 5  source.cpp:8",
            "parse      -  lat                 1  source.cpp:9",
            "sort       4  kernel of argc      1  source.cpp:10"])

    def test_table(self):
        program = self.compile("program", PROGRAM)
        self.assertEqual(run(program).stdout.splitlines(), [
            "probe  id  type                 sc  where",
            "outer   1  lat                   5  source.c:5",
            "2       2  snapshot, 2 values    1  source.c:6",
            "3       3  perfcntr, counter 6   1  source.c:7"])

    def test_nothing_of_a_file_reaches_the_terminal_raw(self):
        program = self.compile(
            "program", '#line 1 "so\\033[31murce.c"\n' + PROGRAM.replace("outer", "a\\033]0;b\\n\\377"))
        result = run(program)
        self.assertIn("a?]0;b??", result.stdout)
        self.assertNotIn("\033", result.stdout)
        self.assertEqual(sites_of(run("--json", program))[0][0], "a?]0;b??")

    def test_programs_are_looked_for_in_path(self):
        self.compile("a-program", PROGRAM)
        path = {**os.environ, "PATH": "/nonexistent:" + self.dir}
        self.assert_sites(PROGRAM_SITES, "a-program", env=path)
        self.assert_sites(PROGRAM_SITES, "a-program", cwd=self.dir)
        self.assert_fails("a-program was found neither in PATH nor", "a-program")

    def test_without_probes(self):
        program = self.compile("program", "int main(void) { return 0; }")
        self.assert_fails(rf"\Aspex: {re.escape(program)} has no probes\n\Z", program)
        result = run("--json", program)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(json.loads(result.stdout)["sites"], [])

    def test_other_files(self):
        self.write("script", "#!/bin/sh\nexit\n", 0o755)
        self.assert_fails("script is not an ELF program: it looks like a script that /bin/sh runs",
                          self.path("script"))
        self.assert_fails("is a directory", self.dir)
        self.assert_fails("No such file", self.path("missing"))
        os.mkfifo(self.path("pipe"))
        self.assert_fails("is not a regular file", self.path("pipe"))
        with open(self.compile("program", PROGRAM), "rb+") as file:
            file.truncate(os.path.getsize(file.name) - 1)
        self.assert_fails("is truncated", self.path("program"))

    def test_a_full_disk_is_noticed(self):
        for arguments in [SUBJECT], ["--json", SUBJECT]:
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([SPEX, "probes", *arguments], stdout=full, check=False,
                                        stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot be written: No space left on device", result.stderr)

    def test_usage(self):
        self.assert_fails("one program or process was expected", status=2)
        self.assert_fails("one program or process was expected", "a", "b", status=2)
        self.assert_fails("there is no option --nonsense; see spex probes --help", "--nonsense", status=2)
        self.assertIn("usage: spex probes", run("--help").stdout)


class Processes(Scratch):
    """A process that has loaded a library, which no list of what it links has."""

    def launch(self, command, **options):
        """Starts a process and waits until it has loaded what it loads."""
        process = subprocess.Popen(command, cwd=self.dir, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, **options)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), b"\n")
        return str(process.pid)

    def start(self, **options):
        self.loader = self.compile("loader", LOADER, "-ldl")
        self.compile("loaded.so", LIBRARY, "-shared", "-fPIC")
        os.chmod(self.dir, 0o755)
        return self.launch([self.loader, "./loaded.so"], **options)

    def replace(self):
        self.compile("new.so", LIBRARY.replace("9", "10"), "-shared", "-fPIC")
        os.rename(self.path("new.so"), self.path("loaded.so"))

    def test_loaded_library(self):
        process = self.start()
        self.assert_fails("has no probes", self.loader)
        self.assert_sites(LIBRARY_SITES, process)
        listed = json.loads(run("--json", process).stdout)
        self.assertEqual(listed["program"], os.path.realpath(self.loader))
        self.assertEqual(listed["sites"][0]["object"], os.path.realpath(self.path("loaded.so")))

    def test_replaced_library(self):
        process = self.start()
        self.replace()
        result = run("--json", process)
        if "was replaced since it was loaded" in result.stderr:
            self.assertEqual((result.returncode, sites_of(result)), (1, []))
        else:  # with the privilege to open what is mapped
            self.assertRegex(result.stderr, r"\Aspex: .*; what follows is from its files\n\Z")
            self.assertEqual(sites_of(result), LIBRARY_SITES)

    def test_replaced_library_without_privileges(self):
        if os.getuid() != 0:
            self.skipTest("needs root to become somebody else")
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        if subprocess.run(["test", "-x", SPEX], check=False, **user).returncode != 0:
            self.skipTest("spex is where only root can run it")
        process = self.start(**user)
        self.assert_sites(LIBRARY_SITES, process, **user)
        self.replace()
        result = run(process, **user)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, "loaded.so was replaced since it was loaded")
        self.assert_fails("belongs to someone else", str(os.getpid()), **user)

    def test_another_mount_namespace(self):
        unshare = ["unshare", "--mount", "--propagation", "private"]
        if not shutil.which("unshare") or subprocess.run(unshare + ["true"], check=False,
                                                         capture_output=True).returncode != 0:
            self.skipTest("no mount namespaces")
        self.compile("loader", LOADER, "-ldl")
        self.compile("original.so", LIBRARY, "-shared", "-fPIC")
        os.mkdir(self.path("mounted"))
        script = ("mount -t tmpfs none mounted && cp original.so mounted/loaded.so && "
                  "exec ./loader mounted/loaded.so")
        self.assert_sites(LIBRARY_SITES, self.launch(unshare + ["sh", "-c", script]))

    def test_program_that_was_deleted(self):
        self.compile("liblibrary.so", LIBRARY, "-shared", "-fPIC")
        program = self.compile("program", LIBRARY + LOADER, "-ldl")
        process = self.launch([program, "./liblibrary.so"])
        os.unlink(program)
        self.assert_sites(LIBRARY_SITES + LIBRARY_SITES, process)

    def test_no_such_process(self):
        self.assert_fails("there is no process 99999999", "99999999")
        self.assert_fails("there is no process 9{30}", "9" * 30)


if __name__ == "__main__":
    ROOT, SPEX, SUBJECT, TAXI = map(os.path.abspath, sys.argv[1:5])
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
