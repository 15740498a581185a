#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Manual pages say what commands say: one page a command, with the options that its --help has.

    manuals.py SPEX PAGE…
"""

import glob
import os
import re
import subprocess
import sys
import unittest

SPEX = os.path.abspath(sys.argv[1])
PAGES = {os.path.basename(path): path for path in sys.argv[2:]}
FOLDER = os.path.dirname(sys.argv[2])
EVERYWHERE = {'-h', '--help'}  # said once, in spex.1


def help_of(*command):
    return subprocess.run([SPEX, *command, '--help'], text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def commands():
    return set(re.findall(r'^  ([a-z]+)  +\S', help_of(), flags=re.MULTILINE))


def options_of_help(text):
    return set(re.findall(r'(?<![\w-])(-[A-Za-z]|--[a-z][a-z-]*)\b', text)) - EVERYWHERE


def read(name):
    with open(PAGES[name], encoding='utf-8') as page:
        return page.read()


def options_of_page(page):
    macros = [line for line in page.splitlines() if line.startswith('.')]
    found = re.findall(r'\bFl (-?[A-Za-z][\w-]*)', '\n'.join(macros))
    return {'-' + name for name in found} - EVERYWHERE


class Manuals(unittest.TestCase):
    def test_all_pages_are_installed(self):
        there = {os.path.basename(path) for path in glob.glob(os.path.join(FOLDER, '*.[1-8]'))}
        self.assertEqual(there, set(PAGES))

    def test_every_command_has_a_page(self):
        self.assertTrue(commands())
        for command in commands():
            with self.subTest(command=command):
                self.assertIn('spex-%s.1' % command, PAGES)
                self.assertTrue('Xr spex-%s 1\n' % command in read('spex.1'), 'spex.1 does not name it')

    def test_pages_have_the_options_of_their_commands(self):
        for command in sorted(commands()):
            with self.subTest(command=command):
                self.assertEqual(options_of_page(read('spex-%s.1' % command)), options_of_help(help_of(command)))

    def test_help_that_cannot_be_written_is_a_failure(self):
        for arguments in [['--help'], ['--version']] + [[command, '--help'] for command in sorted(commands())]:
            with self.subTest(arguments=arguments), open('/dev/full', 'w', encoding='utf-8') as full:
                result = subprocess.run([SPEX, *arguments], text=True, check=False, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual((result.returncode, result.stderr),
                                 (1, 'spex: the help cannot be written: No space left on device\n'))

    def test_spex_itself(self):
        self.assertEqual(options_of_page(read('spex.1')), options_of_help(help_of()))

    def test_every_page_is_of_a_command(self):
        for name in sorted(PAGES):
            found = re.fullmatch(r'spex-([a-z]+)\.1', name)
            with self.subTest(page=name):
                if found and found[1] not in commands():
                    print('SKIP: %s: there is no command %s in this build' % (name, found[1]))
                    self.skipTest('no command ' + found[1])

    def test_pages_of_the_command_name_it(self):
        for name in PAGES:
            with self.subTest(page=name):
                title, section = name.rsplit('.', 1)
                self.assertIn('.Dt %s %s\n' % (title.upper(), section), read(name))
                self.assertIn('.Nm %s\n' % title, read(name))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
