#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libspex.a builds with musl, and a statically linked program with probes makes its table.

    musl.py BUILD_ROOT
"""

import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import unittest

BUILD = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'test'))
from folder import InFolder  # pylint: disable=wrong-import-position

CACHE = [path for path in [shutil.which('ccache')] if path]
JOBS = 2

PROGRAM = '''
#include <spex/probe.h>
#include <spex/spex.h>

SPEX_PROBE_NAME(1, "work");

int main(void) {
    spex_start(NULL);
    for (volatile int i = 0; i < 1000; i++) {
        LAT_PROBE_BEGIN(1, 1);
        LAT_PROBE_END(1);
    }
    return spex_stop();
}
'''


def sources():
    with open(os.path.join(BUILD, 'compile_commands.json'), encoding='utf-8') as file:
        for step in json.load(file):
            if os.path.dirname(step['output']) == 'src/libspex.a.p':
                yield os.path.normpath(os.path.join(BUILD, step['file'])), os.path.basename(step['output'])


@unittest.skipUnless(shutil.which('musl-gcc'), 'musl-gcc was expected')
class Musl(InFolder):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path('include'))
        multiarch = subprocess.run(['gcc', '-print-multiarch'], capture_output=True, text=True, check=True).stdout.strip()
        for folder in ['/usr/include/' + multiarch, '/usr/include']:
            for name in os.listdir(folder):
                if name in ('linux', 'asm', 'asm-generic', 'perfmon', 'urcu'):
                    os.symlink(os.path.join(folder, name), self.path('include/' + name))

    def compiled(self, source, name):
        # Relative paths, by which ccache knows what it has compiled in another folder.
        self.succeeds(*CACHE, 'musl-gcc', '-std=gnu11', '-Wall', '-Werror', '-D_FILE_OFFSET_BITS=64',
                      *('-I' + os.path.join(ROOT, folder) for folder in ('include', 'src', '.')),
                      '-idirafter', 'include', '-c', source, '-o', name, cwd=self.folder)
        return self.path(name)

    def test_a_program(self):
        with concurrent.futures.ThreadPoolExecutor(JOBS) as executor:
            objects = list(executor.map(lambda step: self.compiled(*step), sources()))
        self.assertGreater(len(objects), 100)
        self.succeeds('ar', 'rcs', self.path('libspex.a'), *objects)
        with open(self.path('program.c'), 'w', encoding='utf-8') as file:
            file.write(PROGRAM)
        self.succeeds('musl-gcc', '-static', self.compiled(self.path('program.c'), 'program.o'), self.path('libspex.a'),
                      '-o', self.path('program'))
        result = subprocess.run([self.path('program')], capture_output=True, text=True, check=False, timeout=120,
                                env={'SPEX_PROBES': '*', 'SPEX_OUT': '-', 'SPEX_VERBOSE': '1',
                                     'SPEX_CONTROL': self.path('control')})
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.assertRegex(result.stdout, r'(?m)^work +lat +1000 ')
        self.assertIn('rings: atomic instructions', result.stdout)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
