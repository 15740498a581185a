#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words that shells complete, commands and options that are not there, and `spex help`.

    completion.py SPEX LIVE FOLDER
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from running import Programs

FOLDER = None

NOT_INSTALLED = {"bash": "SKIP: completion in bash: it is not installed",
                 "zsh": "SKIP: completion in zsh: it is not installed",
                 "fish": "SKIP: completion in fish: it is not installed"}


class Completion(Programs):
    def completed(self, *words):
        result = self.run_spex("complete", *words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()

    def test_commands(self):
        self.assertEqual(self.completed("re"), ["record", "report"])
        everything = self.completed("")
        self.assertEqual(everything, self.completed())
        for name in everything:
            self.assertIn("\n  %s " % name, self.run_spex("--help").stdout)

    def test_options_are_those_of_the_help(self):
        usages = [("fleet", self.run_spex("fleet", "--help").stdout)]
        for name in self.completed(""):
            usage = self.run_spex(name, "--help").stdout
            usages.append((name, usage))
            if name == "fleet" or not usage:
                continue
            with self.subTest(command=name):
                offered = set(self.completed(name, "-")) - {"-h", "--help"}
                self.assertEqual({option for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", usage)
                                  if option in offered}, offered)
        for name in self.completed("fleet", "")[:-2]:
            with self.subTest(command="fleet " + name):
                for option in set(self.completed("fleet", name, "-")) - {"-h", "--help"}:
                    self.assertIn(" " + option, usages[0][1])

    def test_programs_and_their_probes(self):
        process = self.start()
        self.assertIn(str(process.pid), self.completed("set", ""))
        self.assertIn("live", self.completed("top", "-b", "l"))
        self.assertEqual(self.completed("set", str(process.pid), "query.p"), ["query.parse"])
        self.assertEqual(self.completed("set", "99999999", ""), [])
        self.assertEqual(self.completed("set", "nobody", ""), [])

    def test_what_is_a_file_is_left_to_the_shell(self):
        self.assertEqual(self.completed("run", "./a"), [])
        self.assertEqual(self.completed("run", "--", "program", "-"), [])
        self.assertEqual(self.completed("nonsense", "-"), [])

    def shell(self, name, script):
        if not shutil.which(name):
            print(NOT_INSTALLED[name])
            self.skipTest(NOT_INSTALLED[name])
        os.symlink(os.path.abspath(self.spex), self.path("spex"))
        environment = self.environment(PATH=self.dir + ":" + os.environ["PATH"])
        return subprocess.run([name, "-c", script], env=environment, capture_output=True, text=True, check=True,
                              timeout=60).stdout.splitlines()

    def test_bash(self):
        file = shlex.quote(os.path.join(FOLDER, "spex.bash"))
        script = "source %s; COMP_WORDS=(%s); COMP_CWORD=%d; _spex; printf '%%s\\n' \"${COMPREPLY[@]}\""
        self.assertEqual(self.shell("bash", script % (file, "spex re", 1)), ["record", "report"])
        os.unlink(self.path("spex"))
        self.assertEqual(self.shell("bash", script % (file, "spex set --fo", 2)), ["--follow", "--for"])

    def test_bash_runs_nothing_that_a_probe_is_called(self):
        with open(self.path("hostile"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho 'a$(touch done) b'\n")
        os.chmod(self.path("hostile"), 0o755)
        script = ("source %s; spex() { ./hostile; }; COMP_WORDS=(spex set 1 ''); COMP_CWORD=3; _spex; "
                  "eval echo \"${COMPREPLY[0]}\"") % shlex.quote(os.path.join(FOLDER, "spex.bash"))
        result = subprocess.run(["bash", "-c", script], cwd=self.dir, capture_output=True, text=True, check=True)
        self.assertEqual(result.stdout, "a$(touch done) b\n")
        self.assertFalse(os.path.exists(self.path("done")))

    def test_fish(self):
        script = "source %s; complete -C 'spex set --fo'" % shlex.quote(os.path.join(FOLDER, "spex.fish"))
        self.assertLessEqual({"--follow", "--for"}, set(self.shell("fish", script)))

    def test_zsh(self):
        script = ("compadd() { shift; print -l -- $@ }; _files() { print files }; words=(spex %s); CURRENT=%d; source "
                  + shlex.quote(os.path.join(FOLDER, "_spex")))
        self.assertEqual(self.shell("zsh", script % ("re", 2)), ["record", "report"])
        os.unlink(self.path("spex"))
        self.assertEqual(self.shell("zsh", script % ("run ./a", 3)), ["files"])

    def test_help(self):
        self.assertEqual(self.run_spex("help").stdout, self.run_spex("--help").stdout)
        for name in ["run", "set", "fleet"]:
            self.assertEqual(self.run_spex("help", name).stdout, self.run_spex(name, "--help").stdout)

    def test_helps_fit_eighty_columns(self):
        texts = {"": self.run_spex("--help").stdout}
        texts.update((name, self.run_spex("help", name).stdout) for name in self.completed(""))
        self.assertEqual([(name, line) for name, text in texts.items() for line in text.splitlines() if len(line) > 80], [])
        self.assertFalse([name for name, text in texts.items() if not text.startswith("usage: spex")])

    def test_what_was_meant(self):
        said = {("sett",): 'unknown command "sett"; did you mean set?',
                ("recrod", "x"): 'unknown command "recrod"; did you mean record?',
                ("help", "tpo"): 'unknown command "tpo"; did you mean top?',
                ("xyzzy",): 'unknown command "xyzzy"; see spex --help',
                ("set", "--folow"): "set: there is no option --folow; did you mean --follow?",
                ("set", "--folow=3"): "set: there is no option --folow; did you mean --follow?",
                ("set", "--xyzzy"): "set: there is no option --xyzzy; see spex set --help",
                ("set", "-fq", "1"): "set: there is no option -q; see spex set --help",
                ("run", "--budget"): "run: an argument of --budget was expected",
                ("run", "-b"): "run: an argument of -b was expected",
                ("run", "--json=3"): "run: --json takes no argument",
                ("run", "--help=3"): "run: --help takes no argument"}
        for words, line in said.items():
            with self.subTest(words=words):
                result = self.run_spex(*words)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", "spex: %s\n" % line))


if __name__ == "__main__":
    Programs.spex, Programs.live, FOLDER = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
