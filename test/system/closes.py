#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that close all descriptors: spex touches none of their files, and nothing is lost that is not told.

    closes.py SPEX PROGRAM
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

SPEX, PROGRAM = map(os.path.abspath, sys.argv[1:3])
MANNERS = ('often', 'all')


class Closes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith('SPEX_')}
        self.environment['SPEX_CONTROL'] = self.path('control')
        os.mkdir(self.path('control'), 0o700)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_closing(self, manner, *command, **variables):
        """Runs the program, by the command; returns how it ended, and how often it has executed."""
        environment = {**self.environment, **{'SPEX_' + name: value for name, value in variables.items()}}
        done = subprocess.run([*command, PROGRAM, manner, self.path('report')], env=environment, text=True, check=False,
                              cwd=self.folder, timeout=240, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        with open(self.path('report'), encoding='utf-8') as file:
            executions, wrong, *complaint = file.read().split(maxsplit=2)
        self.assertEqual(int(wrong), 0, complaint)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, int(executions)

    def spex(self, *arguments):
        done = subprocess.run([SPEX, *arguments], env=self.environment, text=True, check=False, cwd=self.folder,
                              timeout=240, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def check_trace(self, folder, executions, told):
        """What the trace has, and what it tells that it has not, is what was executed."""
        stats = json.loads(self.spex('stats', '--json', folder))
        probes = {probe['name']: probe for process in stats['processes'] for probe in process['probes']}
        self.assertEqual(probes['second']['count'], executions)
        records, lost = map(int, re.search(r'(\d+) records (\d+) lost', told.replace(',', '')).groups())
        self.assertEqual(records + lost, executions + 100 * ('first' in probes))
        return lost

    def test_once_in_a_trace(self):
        for command in (['record', '-e', '*', '-o', 'recorded', '--'], ['record', '--flight', '3600s', '-e', '*', '-o', 'flown', '--']):
            done, _ = self.run_closing('once', SPEX, *command)
            self.assertIn('5,100 records, 0 lost', done.stderr.replace('5100', '5,100'))
        self.assertEqual(self.check_trace('recorded', 5000, '5100 records, 0 lost'), 0)
        done, _ = self.run_closing('once', PROBES='*', OUT='ctf:own')
        self.assertEqual(self.check_trace('own', 5000, done.stderr), 0)

    def test_before_the_first_profile(self):
        """The recorder knows of the process by its records alone when the connections close."""
        done, _ = self.run_closing('early', SPEX, 'record', '-e', '*', '-o', 'recorded', '--')
        self.assertIn('5,100 records, 0 lost', done.stderr.replace('5100', '5,100'))
        self.assertEqual(self.check_trace('recorded', 5000, '5100 records, 0 lost'), 0)

    def test_once_in_a_table(self):
        for done, _ in (self.run_closing('once', PROBES='*'), self.run_closing('once', SPEX, 'run', '--')):
            self.assertRegex(done.stderr, r'(?m)^second +lat .* 5000 ')

    def test_files_stay(self):
        """Whatever spex does, whenever all are closed."""
        for manner in MANNERS:
            self.run_closing(manner)
            self.run_closing(manner, PROBES='*', OUT=self.path('table'))
            with open(self.path('table'), encoding='utf-8') as file:
                self.assertIn('second', file.read())
            self.run_closing(manner, PROBES='*', OUT='-')
            self.run_closing(manner, PROBES='*', BUDGET='10%')
            self.run_closing(manner, SPEX, 'run', '--')
            self.run_closing(manner, PROBES='*', OUT='ctf:own-' + manner)
            self.run_closing(manner, SPEX, 'record', '-e', '*', '-o', 'recorded-' + manner, '--')

    def test_commands(self):
        for manner in MANNERS:
            with subprocess.Popen([PROGRAM, manner, self.path('report')], env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
                while program.poll() is None:
                    for command in (['set', str(program.pid), '*'], ['list'], ['set', str(program.pid), 'off']):
                        subprocess.run([SPEX, *command], env=self.environment, check=False, timeout=240,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.assertEqual(program.returncode, 0)
            with open(self.path('report'), encoding='utf-8') as file:
                self.assertEqual(int(file.read().split()[1]), 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
