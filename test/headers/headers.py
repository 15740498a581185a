#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the public headers as their users would.

Every header alone and the usage files, as C and C++ of several years, with strict warnings as errors,
enabled and with SPEX_DISABLE, by every compiler that is here. The usage files are linked and run.

    headers.py SOURCE_ROOT LIBRARY
"""

import itertools
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, LIBRARY = sys.argv[1:3]
INCLUDE = os.path.join(ROOT, 'include')
HERE = os.path.join(ROOT, 'test', 'headers')
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wundef', '-Werror']
STANDARDS = {'c': ['c11', 'c17'], 'c++': ['c++17', 'c++20']}
COMPILERS = {'c': ['gcc', 'clang'], 'c++': ['g++', 'clang++']}
PROBE_LINES = 1000


def headers():
    """All that a program of this architecture may include."""
    spex = os.path.join(INCLUDE, 'spex')
    for folder, _, names in os.walk(spex):
        for name in sorted(names):
            if name.endswith('.h') and (os.path.basename(folder) != 'arch' or
                                        name == platform.machine() + '.h'):
                yield os.path.relpath(os.path.join(folder, name), INCLUDE)


def compilations():
    """Every compiler that is installed, with every standard: (language, command)."""
    for language in STANDARDS:
        for compiler, standard in itertools.product(COMPILERS[language], STANDARDS[language]):
            if shutil.which(compiler):
                yield language, [compiler, '-std=' + standard, '-x', language, '-I', INCLUDE]


def run(command, **keywords):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **keywords)


class Headers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.object = os.path.join(folder.name, 'object.o')
        self.program = os.path.join(folder.name, 'program')

    def succeeds(self, command, **keywords):
        result = run(command, **keywords)
        self.assertEqual(result.returncode, 0, '%s\n%s' % (' '.join(command), result.stdout))
        return result.stdout

    def test_a_compiler_of_each_language_is_here(self):
        self.assertEqual({language for language, _ in compilations()}, {'c', 'c++'})

    def test_each_header_alone(self):
        for (_, command), header, disable in itertools.product(
                compilations(), headers(), [[], ['-DSPEX_DISABLE']]):
            with self.subTest(command=command, header=header, disable=disable):
                self.succeeds(command + STRICT + disable + ['-fsyntax-only', '-'],
                              input=('#include <%s>\n' % header) * 2 + 'extern int something;\n')

    def usage(self, language, command, level, disable):
        source = os.path.join(HERE, 'usage.c' if language == 'c' else 'usage.cpp')
        self.succeeds(command + STRICT + disable + [level, '-c', source, '-o', self.object])
        symbols = self.succeeds(['nm', self.object])
        sections = self.succeeds(['readelf', '-SW', self.object])
        linker = [command[0], self.object, LIBRARY, '-o', self.program, '-pthread', '-lm',
                  '-lurcu-bp', '-lurcu-common', '-lpfm']
        self.succeeds(linker)
        self.succeeds([self.program])
        return symbols, sections

    def test_usage_enabled(self):
        for (language, command), level in itertools.product(compilations(), ['-O0', '-O2']):
            with self.subTest(command=command, level=level):
                symbols, sections = self.usage(language, command, level, [])
                self.assertIn('spex_span_begin', symbols)
                self.assertIn('spex_sites', sections)
                self.assertIn('spex_names', sections)

    def test_usage_disabled_leaves_nothing(self):
        allowed = {'spex_start', 'spex_stop', 'spex_set', 'spex_status_get'}
        for (language, command), level in itertools.product(compilations(), ['-O0', '-O2']):
            with self.subTest(command=command, level=level):
                symbols, sections = self.usage(language, command, level, ['-DSPEX_DISABLE'])
                left = {line.split()[-1] for line in symbols.splitlines() if 'spex' in line}
                self.assertEqual(left - allowed, set())
                self.assertNotIn('spex_sites', sections)
                self.assertNotIn('spex_names', sections)

    def test_no_short_names(self):
        source = '#include <spex/probe.h>\n#ifdef %s\n#error there\n#endif\n'
        for _, command in compilations():
            for name in ['CNT_PROBE_BEGIN', 'LAT_PROBE_END', 'TPT_PROBE_BEGIN', 'SNAPSHOT_PROBE']:
                with self.subTest(command=command, name=name):
                    check = command + ['-fsyntax-only', '-']
                    self.succeeds(check + ['-DSPEX_NO_SHORT_NAMES'], input=source % name)
                    self.assertNotEqual(run(check, input=source % name).returncode, 0)

    def test_mistakes_do_not_compile(self):
        mistakes = {
            'CNT_PROBE_BEGIN(65536, 1); CNT_PROBE_END(65536);': 'a probe id is 0 to 65535',
            'LAT_PROBE_BEGIN(1, 0); LAT_PROBE_END(1);': 'a subsampling counter is 1 to',
            'SNAPSHOT_PROBE(1, 1, 1, 2, 3, 4, 5, 6, 7);': 'too many values for one snapshot',
            'LAT_PROBE_BEGIN(1, 1); LAT_PROBE_END(2);': 'spex_lat_2',
            'LAT_PROBE_BEGIN(1, 1); CNT_PROBE_END(1);': 'spex_cnt_1',
            'SPEX_LAT_SCOPE(65536, 1);': 'a probe id is 0 to 65535',
            'SPEX_TPT_SCOPE(1, 0);': 'a subsampling counter is 1 to',
        }
        for (_, command), (body, message) in itertools.product(compilations(), mistakes.items()):
            with self.subTest(command=command, body=body):
                source = '#include <spex/probe.h>\nvoid f(void);\nvoid f(void) { %s }\n' % body
                result = run(command + ['-fsyntax-only', '-'], input=source)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(message, result.stdout)

    def test_probe_header_is_small(self):
        for _, command in compilations():
            with self.subTest(command=command):
                output = self.succeeds(command + ['-E', '-P', '-'], input='#include <spex/probe.h>\n')
                lines = [line for line in output.splitlines() if line.strip()]
                self.assertLessEqual(len(lines), PROBE_LINES)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
