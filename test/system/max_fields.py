#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A library built for 12 values a record, and programs compiled against it as pkg-config says, and
against another.

    max_fields.py SOURCE_ROOT COMPILER…
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT, *COMPILER = sys.argv[1:]
FIELDS = 12

PROGRAM = '''
#include <spex/probe.h>
#include <spex/spex.h>

int main(void) {
    if (spex_start(NULL) != 0)
        return 1;
    for (int i = 0; i < 10; i++)
        SNAPSHOT_PROBE(3, 1, %s);
    return spex_stop();
}
'''


def run(*command, **keywords):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **keywords)


class MaxFields(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.build = os.path.join(folder.name, 'build')
        # A compiler's cache, where there is one, finds what was compiled in a directory of another name.
        environment = dict(os.environ, CC=' '.join(COMPILER), CCACHE_NOHASHDIR='1')
        # What is shown does not depend on optimisation, which takes the most of the time.
        cls.succeeds('meson', 'setup', '-Dtests=false', '-Dbuildtype=plain', '-Dmax_fields=%d' % FIELDS, cls.build, ROOT,
                     env=environment)
        cls.succeeds('ninja', '-C', cls.build, '-j1', 'src/libspex.a',
                     env=environment)

    @staticmethod
    def succeeds(*command, **keywords):
        result = run(*command, **keywords)
        if result.returncode != 0:
            raise AssertionError('%s\n%s' % (' '.join(command), result.stdout))
        return result.stdout

    def pkg_config(self, what):
        path = os.path.join(self.build, 'meson-private')
        return shlex.split(self.succeeds('pkg-config', what, '--static', 'spex',
                                         env=dict(os.environ, PKG_CONFIG_PATH=path)))

    def compile(self, flags, values):
        """The library is not installed: it and its headers are where they have been made."""
        source = os.path.join(self.folder, 'program.c')
        program = os.path.join(self.folder, 'program')
        with open(source, 'w', encoding='utf-8') as file:
            file.write(PROGRAM % ', '.join(str(100 + v) for v in range(values)))
        libraries = self.pkg_config('--libs')
        self.assertIn('-lspex', libraries)
        result = run(*COMPILER, source, *flags, '-I' + os.path.join(ROOT, 'include'),
                     '-L' + os.path.join(self.build, 'src'), *libraries, '-o', program)
        self.assertEqual(result.returncode, 0, result.stdout)
        return program

    def table(self, program):
        environment = {k: v for k, v in os.environ.items() if not k.startswith('SPEX_')}
        result = run(program, env=dict(environment, SPEX_PROBES='*', SPEX_OUT='-'))
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def test_so_many_values_come_out(self):
        flags = self.pkg_config('--cflags')
        self.assertIn('-DSPEX_MAX_FIELDS=%d' % FIELDS, flags)
        lines = self.table(self.compile(flags, FIELDS)).splitlines()
        first = next(n for n, line in enumerate(lines) if 'snapshot' in line)
        means = [re.search(r' %d +\S+( k)? +(\S+)' % (100 + v), line)[2] for v, line in enumerate(lines[first:first + FIELDS])]
        self.assertEqual(means, [str(100 + v) for v in range(FIELDS)])
        self.assertIn('records: 10 produced, 10 consumed, 0 lost', lines[first + FIELDS])

    def test_a_program_of_the_usual_number_fits(self):
        self.assertIn('10 produced, 10 consumed', self.table(self.compile([], 6)))

    def test_a_program_of_more_values_is_refused_the_probe(self):
        program = self.compile(['-DSPEX_MAX_FIELDS=15'], 15)
        table = self.table(program)
        self.assertIn('probe 3 stays off: it has 15 values, and this library was built for 12',
                      table)
        self.assertIn('0 produced', table)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
