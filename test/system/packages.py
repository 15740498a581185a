#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is installed and what can be left out is said once: README.md, the scripts and meson's options agree with packages.txt.

    packages.py SOURCE_ROOT
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv[1])


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def sets(text):
    return dict(re.findall(r"^([a-z0-9-]+): *(.+)$", text, re.M))


def features():
    return re.findall(r"^option\('([a-z0-9]+)', type: 'feature'", text_of("meson_options.txt"), re.M)


class Packages(unittest.TestCase):
    def setUp(self):
        self.sets = sets(text_of("packages.txt"))
        self.users = sets(text_of("packages.txt").split("# ----")[0])

    def test_readme_installs_the_sets_of_users(self):
        line = re.search(r"^    apt-get install (.*)$", text_of("README.md"), re.M)[1]
        self.assertEqual(line.split(), " ".join(self.users.values()).split())

    def test_readme_says_what_each_option_leaves_out(self):
        rows = re.findall(r"^\| .+ \| `([a-z0-9]+)` \| (.+) \|$", text_of("README.md"), re.M)
        self.assertEqual({option: re.findall("`(.*?)`", packages) for option, packages in rows},
                         {option: self.sets[option].split() for option in features()})

    def test_each_option_is_built_without(self):
        script = text_of("scripts/lacking")
        parts = re.search(r"^parts='(.*)'$", script, re.M)[1].split()
        self.assertEqual({"command", "compiler", "zstd", "zydis", *parts}, set(features()))

    def test_scripts_install_sets_that_there_are(self):
        used = 0
        for name in os.listdir(os.path.join(ROOT, "scripts")):
            if name == "packages" or not os.path.isfile(os.path.join(ROOT, "scripts", name)):
                continue
            for line in re.findall(r"scripts/packages ((?:--list )?[a-z0-9 -]+)", text_of("scripts/" + name)):
                used += 1
                wanted = line.replace("--list", "").split()
                self.assertLessEqual(set(wanted), set(self.sets), name)
        self.assertGreaterEqual(used, 5)

    def test_list_prints_the_packages_of_sets(self):
        command = [os.path.join(ROOT, "scripts/packages"), "--list"]
        listed = subprocess.run([*command, "build", "nats"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(listed.split(), (self.sets["build"] + " " + self.sets["nats"]).split())
        unknown = subprocess.run([*command, "build", "other"], capture_output=True, text=True, check=False)
        self.assertEqual((unknown.returncode, unknown.stdout, unknown.stderr),
                         (2, "", "packages.txt has no set other\n"))


class FirstError(unittest.TestCase):
    """Each log as the program writes it."""

    def told(self, log):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(log)
            file.flush()
            return subprocess.run([os.path.join(ROOT, "scripts/first-error"), file.name], capture_output=True,
                                  text=True, check=True).stdout

    def test_of_a_compiler(self):
        log = ("[1/9] Compiling C object a.o\nsome.c:1:1: warning: odd [-Wodd]\n[2/9] Compiling C object error.o\n"
               "FAILED: src/b.o\ncc -Werror=odd -o 'error: b.o' b.c\n"
               "In file included from b.c:2:\nb.h:1:10: fatal error: nats/nats.h: No such file or directory\n"
               "    1 | #include <nats/nats.h>\ncompilation terminated.\n[3/9] Compiling C object c.o\n"
               "ninja: build stopped: subcommand failed.\n")
        self.assertEqual(self.told(log), "FAILED: src/b.o\n"
                         "b.h:1:10: fatal error: nats/nats.h: No such file or directory\n"
                         "    1 | #include <nats/nats.h>\ncompilation terminated.\n")

    def test_of_a_linker(self):
        line = "cc  -o tools/spex " + "tools/spex.p/x.c.o " * 400
        log = (f"FAILED: tools/spex \n{line}\n/usr/bin/ld: a.o: in function `main':\n"
               "agent.c:(.text+0xd54): undefined reference to `spex_link_is_name'\n"
               "collect2: error: ld returned 1 exit status\nninja: build stopped: subcommand failed.\n")
        self.assertEqual(self.told(log), "FAILED: tools/spex \n"
                         "agent.c:(.text+0xd54): undefined reference to `spex_link_is_name'\n"
                         "collect2: error: ld returned 1 exit status\n")

    def test_of_meson_and_apt(self):
        log = "Run-time dependency sqlite3 found: NO\n\nmeson.build:36:9: ERROR: Dependency \"sqlite3\" not found\n"
        self.assertEqual(self.told(log), log.splitlines()[-1] + "\n")
        log = "Reading package lists...\nE: Unable to locate package libnone-dev\n"
        self.assertEqual(self.told(log), "E: Unable to locate package libnone-dev\n")

    def test_without_one_it_is_the_end(self):
        lines = [f"line {number}" for number in range(100)]
        self.assertEqual(self.told("\n".join(lines) + "\n").splitlines(), lines[-20:])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
