#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the README, docs/programs.md, docs/spaces.md and docs/how.md show works as they show it, from an installation.

usage: readme.py SOURCE_ROOT BUILD_ROOT SPEX
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

ROOT = BUILD = SPEX = None


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def block(text, language, number=0):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)[number]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="spex-test-")
        # What has been built is installed as a package's files are: as if the directory were the root of a system.
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.dir], check=True,
                       stdout=subprocess.DEVNULL)
        prefix = cls.option("prefix")
        cls.environment = {name: value for name, value in os.environ.items()
                           if not name.startswith("SPEX_")}
        cls.environment["PATH"] = os.path.join(cls.dir + prefix, cls.option("bindir")) + ":" + os.environ["PATH"]
        cls.environment["PKG_CONFIG_PATH"] = os.path.join(cls.dir + prefix, cls.option("libdir"), "pkgconfig")
        cls.environment["PKG_CONFIG_SYSROOT_DIR"] = cls.dir
        cls.environment["SPEX_CONTROL"] = os.path.join(cls.dir, "control")

    @staticmethod
    def option(name):
        """Of the build."""
        options = subprocess.run(["meson", "introspect", "--buildoptions", BUILD], check=True, capture_output=True).stdout
        return next(option["value"] for option in json.loads(options) if option["name"] == name)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
            file.write(text)


class How(Installed):
    """Each command of docs/how.md, in the order in which they stand there."""

    # A command that takes longer hangs.
    SECONDS = 300

    def begin(self, command):
        process = subprocess.Popen(["sh", "-c", "exec " + command], cwd=self.dir, env=self.environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def has_records(self, trace):
        return any(name.startswith("cpu_") for _, _, names in os.walk(os.path.join(self.dir, trace)) for name in names)

    def interrupted(self, command):
        """Ends the command when the trace that its option -o names has records."""
        process = self.begin(command)
        name = re.search(r" -o (\S+)", command)[1]
        until = time.monotonic() + self.SECONDS
        while not self.has_records(name) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        return process.communicate(timeout=self.SECONDS)[0], process.returncode

    def ended(self, command):
        result = subprocess.run(["sh", "-c", command], cwd=self.dir, env=self.environment, text=True, check=False,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                timeout=self.SECONDS)
        return result.stdout, result.returncode

    def test_each_command_works(self):
        page = text_of("docs/how.md")
        self.write("app.c", block(text_of("README.md"), "c"))
        self.write("server.c", block(page, "c"))
        self.write("threads.xml", block(page, "xml"))
        commands = re.findall(r"^    (\S.*)$", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S), re.M)
        self.assertGreater(len(commands), 30)
        server = None
        for command in commands:
            command = command.replace("127.0.0.1:9797", "127.0.0.1:0")
            if server:
                command = re.sub(r"\b4711\b", str(server.pid), command)
            with self.subTest(command=command):
                if command.endswith(" &"):
                    process = self.begin(command.removesuffix(" &"))
                    server = server or process
                    continue
                told, status = (self.interrupted if command.endswith("# Ctrl-C") else self.ended)(command)
                self.assertEqual(status, 0, told)


class Smallest(Installed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(cls.dir, "app.c"), "w", encoding="utf-8") as file:
            file.write(block(text_of("README.md"), "c"))

    def run_line(self, pattern, page="README.md"):
        """Runs the line of the page that matches."""
        line = re.search(rf"^    ({pattern})$", text_of(page), re.M)[1]
        return subprocess.run(["sh", "-c", line], cwd=self.dir, env=self.environment,
                              capture_output=True, text=True, check=False)

    def test_compiles_and_runs_as_shown(self):
        result = self.run_line(r"cc app\.c .*")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        result = self.run_line(r"\./app")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        result = self.run_line(r"SPEX_PROBES=.* \./app")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assert_table(result.stdout, block(text_of("README.md"), "text"))

    def assert_table(self, real, shown):
        """The same but for its figures."""
        without_figures = re.compile(r"-?\d+\.?\d*(e[-+]\d+)?( [kM]\b| [nµm]?s\b)?")
        self.assertEqual(without_figures.sub("#", real).split(), without_figures.sub("#", shown).split())
        self.assertIn("records: 1000 produced, 1000 consumed, 0 lost", real)

    def test_runs_with_probes_as_shown(self):
        self.run_line(r"cc app\.c .*")
        result = self.run_line(r"spex run .* \./app")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assert_table(result.stderr, block(text_of("README.md"), "text", 2))

    def test_usdt_probes_are_there_as_shown(self):
        has_header = subprocess.run(["cc", "-fsyntax-only", "-x", "c", "-"], input="#include <sys/sdt.h>\n",
                                    text=True, stderr=subprocess.DEVNULL, check=False).returncode == 0
        if not has_header:
            print("SKIP: USDT probes of docs/programs.md: there is no <sys/sdt.h>")
            self.skipTest("there is no <sys/sdt.h>")
        result = self.run_line(r"cc -DSPEX_SDT app\.c .*", "docs/programs.md")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        result = self.run_line(r"readelf -n .*", "docs/programs.md")
        self.assertEqual(set(re.findall(r"Name: (\S+)", result.stdout)), {"lat_0_begin", "lat_scope_end"})

    def test_probes_are_listed_as_shown(self):
        self.run_line(r"cc app\.c .*")
        result = self.run_line(r"spex probes \./app")
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, block(text_of("README.md"), "text", 1), ""))

    def compile(self, source, name, line):
        """Writes the source, and compiles it by the line of docs/programs.md."""
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
            file.write(source)
        result = self.run_line(line, "docs/programs.md")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def probes_of(self, *program, options=()):
        """The probes with executions that `spex run` tells, of all processes and their copies of spex."""
        result = subprocess.run(["spex", "run", *options, "--json", "-o", "-", "--", *program], cwd=self.dir,
                                env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [{f"{probe['provider']}/{probe['name']}": probe["count"] for probe in process["probes"]}
                for process in json.loads(result.stdout)["processes"]]

    LOADS = """#include <dlfcn.h>
        int main(int count, char **names) {
            START
            for (int n = 1; n < count; n++) {
                void *library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
                void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : 0;
                if (!work)
                    return 1;
                work();
            }
            return 0;
        }
        """

    def test_plugins_are_seen_as_docs_say(self):
        self.compile("""#include <spex/probe.h>
            SPEX_PROVIDER("plugin");
            void work(void) { SPEX_CNT_SCOPE("step", 1); }
            """, "plugin.c", r"cc .* plugin\.c .*")
        self.compile("#include <spex/spex.h>\n" + self.LOADS.replace("START", "spex_start(NULL);"), "host.c",
                     r"cc host\.c .*")
        self.assertEqual(self.probes_of("./host", "./plugin.so", "./plugin.so"), [{"plugin/step": 2}])

    def test_a_program_without_spex_gets_one(self):
        if self.option("b_sanitize") != "none":
            self.skipTest("a program without it has not its library")
        self.compile("""#include <spex/probe.h>
            SPEX_PROVIDER("plugin");
            void work(void) { SPEX_CNT_SCOPE("step", 1); }
            """, "plugin.c", r"cc .* plugin\.c .*")
        with open(os.path.join(self.dir, "main.py"), "w", encoding="utf-8") as file:
            file.write("import ctypes\nctypes.CDLL('./plugin.so').work()\n")
        self.assertEqual(self.probes_of("python3", "main.py", options=["--preload"]), [{"plugin/step": 1}])
        result = self.run_line(r"spex run --preload .*", "docs/programs.md")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertRegex(result.stderr, r"(?m)^step +cnt +1 ")

    def test_modules_share_a_spex_as_docs_say(self):
        if self.option("b_sanitize") != "none":
            self.skipTest("an archive with sanitizers needs their libraries")
        module = """#include <spex/spex.h>
            SPEX_PROVIDER("NAME");
            void work(void) { spex_start(NULL); SPEX_CNT_SCOPE("step", 1); }
            """
        result = self.run_line(r"cc -shared -Wl,--whole-archive .*", "docs/programs.md")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        for name in ["other", "module"]:
            self.compile(module.replace("NAME", name), "module.c", r"cc .* module\.c .*")
            os.rename(os.path.join(self.dir, "module.so"), os.path.join(self.dir, name + ".so"))
        self.compile(self.LOADS.replace("START", ""), "host.c", r"cc host\.c .*")
        self.assertEqual(self.probes_of("./host", "./module.so", "./other.so"),
                         [{"module/step": 1, "other/step": 1}])

    def test_modules_with_copies_of_spex_are_told_apart(self):
        if self.option("b_sanitize") != "none":
            self.skipTest("an archive with sanitizers needs their libraries")
        for name in ["one", "two"]:
            source = f"""#include <spex/spex.h>
                SPEX_PROVIDER("{name}");
                void work(void) {{ spex_start(NULL); SPEX_CNT_SCOPE("step", 1); }}
                """
            command = f"cc -shared -fPIC -x c - -x none $(pkg-config --cflags --libs --static spex) -o {name}.so"
            subprocess.run(["sh", "-c", command], input=source, cwd=self.dir, env=self.environment, text=True, check=True)
        self.compile("#include <unistd.h>\n" + self.LOADS.replace("START", "").replace(
            "return 0;", "if (access(\"stops\", F_OK) != 0) _exit(0);"), "host.c", r"cc host\.c .*")
        run = ["spex", "run", "--", "./host", "./one.so", "./two.so"]
        abrupt = subprocess.run(run, cwd=self.dir, env=self.environment, capture_output=True, text=True, check=False)
        # On a busy machine the second copy calls when the process has ended, and is taken for another program in its place.
        self.assertEqual(abrupt.stderr.count(" without stopping spex"), 2, abrupt.stderr)
        with open(os.path.join(self.dir, "stops"), "x", encoding="utf-8"):
            pass
        stopped = subprocess.run(run, cwd=self.dir, env=self.environment, capture_output=True, text=True, check=False)
        for name in ["one", "two"]:
            self.assertRegex(stopped.stderr, rf"process \d+ \(host\), probes of {name}:\nprobe ")

    def test_is_the_example_in_the_repository(self):
        example = text_of("examples/smallest/app.c").split("\n", 1)[1]
        self.assertEqual(block(text_of("README.md"), "c"), example)

    def test_the_library_needs_no_more_than_it_says(self):
        result = subprocess.run(["pkg-config", "--libs", "--static", "spex"], env=self.environment,
                                capture_output=True, text=True, check=True)
        libraries = {flag for flag in result.stdout.split() if flag.startswith("-l")}
        self.assertLessEqual({"-lspex"}, libraries)
        self.assertLessEqual(libraries, {"-lspex", "-lm"})


class Spaces(unittest.TestCase):
    def assert_space_is_good(self, text):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "space.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            result = subprocess.run([SPEX, "explore", path, "--store", scratch + "/trials.db", "--",
                                     "/nonexistent/program"],
                                    capture_output=True, text=True, check=False)
        self.assertIn("no trial has a result", result.stderr)

    def test_readme(self):
        self.assert_space_is_good(block(text_of("README.md"), "xml"))

    def test_docs(self):
        text = text_of("docs/spaces.md")
        shown = re.search(r"^    <space.*?^    </space>", text, re.M | re.S)[0]
        self.assert_space_is_good(textwrap.dedent(shown))


if __name__ == "__main__":
    ROOT, BUILD, SPEX = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
