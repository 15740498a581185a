#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which headers a program needs, and what they cost it.

A program with spex.h alone, and with spex.h and probe.h in both orders, compiles as C11 and C++11 and later, and
each of its probes makes its records. A library with probe.h alone links without libspex. However many
translation units include a header, an object has one constructor. A semicolon that is
missing behind SPEX_PROBE_NAME is no error, or one in its line. All headers compile as C++11.

    together.py SOURCE_ROOT LIBRARY
"""

import itertools
import os
import platform
import shutil
import subprocess
import sys
import unittest

ROOT, LIBRARY = sys.argv[1:3]
sys.path.insert(0, os.path.join(ROOT, 'test'))
from folder import InFolder, LIBRARIES  # pylint: disable=wrong-import-position
from tables import rows  # pylint: disable=wrong-import-position

INCLUDE = os.path.join(ROOT, 'include')
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wundef', '-Werror', '-I', INCLUDE]
COMPILERS = {'gcc': ('c', 'c11'), 'clang': ('c', 'c11'), 'g++': ('c++', 'c++11'), 'clang++': ('c++', 'c++11')}
ORDERS = [['spex'], ['spex', 'probe'], ['probe', 'spex']]

PROGRAM = '''
SPEX_PROBE_NAME(1, "together");
int other(int x);
#ifdef __cplusplus
template <typename Number> static Number twice(Number x) {
    LAT_PROBE_BEGIN(1, 1);
    x = static_cast<Number>(x * 2);
    LAT_PROBE_END(1);
    return x;
}
#else
static int twice(int x) {
    LAT_PROBE_BEGIN(1, 1);
    x *= 2;
    LAT_PROBE_END(1);
    return x;
}
#endif
int main(void) {
    int sum = 0;
    spex_start(NULL);
    for (int i = 0; i < 10; i++) {
        SPEX_TPT_SCOPE("whole", 1);
        SPEX_CNT_BEGIN(add, 1);
        SPEX_REGION(1, 10, { sum += twice(i); })
        SPEX_CNT_END(add);
        SPEX_LAT_BEGIN(word);
        SPEX_CNT_SCOPE("word");
        SPEX_SNAPSHOT("word", i);
        SPEX_LAT_END(word);
        SPEX_SNAPSHOT_PROBE("add", 1, i);
        KERNEL_PROBE_BEGIN(2, 1, i);
        sum += other(i);
        KERNEL_PROBE_END(2);
    }
    spex_stop();
    return sum != 135;
}
'''

OTHER = '''
#include <spex/%s.h>
int other(int x);
int other(int x) {
%s
    return x;
}
'''


class Together(InFolder):
    def compiled(self, compiler, name, source, *flags):
        language, standard = COMPILERS[compiler]
        self.succeeds(compiler, '-std=' + standard, '-O2', '-fPIC', '-x', language, *STRICT, *flags, '-c', '-',
                      '-o', self.path(name), input=source)
        return self.path(name)

    def constructors(self, path):
        return self.succeeds('nm', path).stdout.count(' spex_module_enter_\n')

    def test_spex_alone_and_with_probe_in_both_orders(self):
        for compiler in filter(shutil.which, COMPILERS):
            for flags in [[], ['-flto']]:
                other = self.compiled(compiler, 'other.o', OTHER % ('spex', ''), *flags)
                for order in ORDERS:
                    with self.subTest(compiler=compiler, order=order, flags=flags):
                        includes = ''.join('#include <spex/%s.h>\n' % name for name in order)
                        main = self.compiled(compiler, 'main.o', includes + PROGRAM, *flags)
                        self.succeeds(compiler, '-O2', *flags, main, other, LIBRARY, *LIBRARIES,
                                      '-o', self.path('main'))
                        self.check_records()

    def check_records(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith('SPEX_')}
        environment.update(SPEX_PROBES='*', SPEX_OUT='-', SPEX_CALIBRATE='0')
        table = self.succeeds(self.path('main'), env=environment).stdout
        counts = {probe: row['count'] for probe, row in rows(table).items()}
        probes = [('together', 'lat'), ('2', 'kernel'), ('whole', 'tpt'), ('add', 'cnt'), ('add', 'snapshot'),
                  *(('word', kind) for kind in ('lat', 'cnt', 'snapshot'))]
        self.assertEqual(counts, {probe: '10' for probe in probes})
        self.assertEqual(self.constructors(self.path('main')), 1)

    def test_a_library_with_probes_alone_needs_no_libspex(self):
        probe = '    LAT_PROBE_BEGIN(1, 1);\n    x++;\n    LAT_PROBE_END(1);'
        main = 'int other(int x);\nint main(void) { return other(1) != 2; }\n'
        for compiler in filter(shutil.which, COMPILERS):
            with self.subTest(compiler=compiler):
                other = self.compiled(compiler, 'other.o', OTHER % ('probe', probe))
                library = self.path('libother.so')
                self.succeeds(compiler, '-shared', '-Wl,--no-undefined', other, '-o', library)
                self.assertEqual(self.constructors(library), 1)
                for objects in [[library, '-Wl,-rpath,' + self.folder], [other], [other, '-static']]:
                    self.succeeds(compiler, self.compiled(compiler, 'main.o', main), *objects,
                                  '-o', self.path('main'))
                    self.succeeds(self.path('main'))

    def test_bounds_of_sections_belong_to_one_object(self):
        """A program that has the header and neither probes nor names, behind a library that has both."""
        probe = '    LAT_PROBE_BEGIN(1, 1);\n    x++;\n    LAT_PROBE_END(1);'
        main = '#include <spex/probe.h>\nint other(int x);\nint main(void) { return other(1) != 2; }\n'
        other = self.compiled('gcc', 'other.o', OTHER % ('probe', probe) + 'SPEX_PROBE_NAME(1, "x");\n')
        library = self.path('libother.so')
        self.succeeds('gcc', '-shared', other, '-o', library)
        for flags in [[], ['-flto'], ['-Wl,--gc-sections']]:
            with self.subTest(flags=flags):
                self.succeeds('gcc', '-O2', '-Wl,--no-as-needed,--fatal-warnings', library, *flags,
                              self.compiled('gcc', 'main.o', main, *flags), '-Wl,-rpath,' + self.folder,
                              '-o', self.path('main'))
                self.succeeds(self.path('main'))

    def test_libraries_have_ids_of_their_own(self):
        """Two libraries with the same id: two probes, shown and chosen by their providers."""
        probe = '    LAT_PROBE_BEGIN(1, 1);\n    x++;\n    LAT_PROBE_END(1);'
        libraries = []
        for name, declared in [('liba', ''), ('libb', 'SPEX_PROVIDER("other");\n')]:
            source = (OTHER % ('probe', probe)).replace('other(', name + '(')
            source += 'SPEX_PROBE_NAME(1, "send");\n' + declared
            libraries.append(self.path(name + '.so'))
            self.succeeds('gcc', '-shared', self.compiled('gcc', name + '.o', source), '-o', libraries[-1])
        main = ('#include <spex/spex.h>\nint liba(int x), libb(int x);\n'
                'int main(void) { spex_start(NULL); int x = liba(1) + libb(1) + libb(2); '
                'return spex_stop() + (x == 0); }\n')
        self.succeeds('gcc', self.compiled('gcc', 'main.o', main), *libraries, LIBRARY, *LIBRARIES,
                      '-Wl,-rpath,' + self.folder, '-o', self.path('main'))
        both = [['liba/send', '1'], ['other/send', '2']]
        for selection, expected in [('*', both), ('1', both), ('send:lat', both), ('*/send', both),
                                    ('liba/*', [['send', '1']]), ('other/1', [['send', '2']])]:
            self.assertEqual(self.rows(selection), expected, selection)

    def rows(self, selection):
        """The names and counts of the probes in the program's table."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith('SPEX_')}
        environment.update(SPEX_PROBES=selection, SPEX_OUT='-', SPEX_CALIBRATE='0')
        table = self.succeeds(self.path('main'), env=environment).stdout
        return sorted([name, row['count']] for (name, kind), row in rows(table).items() if kind == 'lat')

    def test_gcc_takes_names_without_semicolon_and_clang_names_their_line(self):
        declarations = ['SPEX_PROVIDER("a")', 'SPEX_PROBE_NAME(1, "x")', 'SPEX_PROBE_NAME(2, "y")']
        source = '#include <spex/probe.h>\n%s\n#include <math.h>\nint other(int x);\n'
        for compiler, disable in itertools.product(filter(shutil.which, COMPILERS), ([], ['-DSPEX_DISABLE'])):
            with self.subTest(compiler=compiler, disable=disable):
                language, standard = COMPILERS[compiler]
                command = [compiler, '-std=' + standard, '-x', language, *STRICT, *disable, '-fsyntax-only', '-']
                command[1:1] = ['-Wextra-semi'] if language == 'c++' else []
                result = subprocess.run(command, text=True, input=source % '\n'.join(declarations),
                                        capture_output=True, check=False)
                if 'clang' in compiler:
                    self.assertRegex(result.stderr, r"<stdin>:2:[0-9]+: error: expected ';'")
                else:
                    self.assertEqual(result.returncode, 0, result.stderr)
                self.succeeds(*command, input=source % ';\n'.join(declarations + ['']))

    def test_all_headers_as_cxx11(self):
        spex = os.path.join(INCLUDE, 'spex')
        headers = [os.path.relpath(os.path.join(folder, name), INCLUDE) for folder, _, names in os.walk(spex)
                   for name in names if name.endswith('.h') and name != 'disabled.h' and
                   (os.path.basename(folder) != 'arch' or name == platform.machine() + '.h')]
        source = ''.join('#include <%s>\n' % header for header in sorted(headers))
        for compiler in filter(shutil.which, ['g++', 'clang++']):
            with self.subTest(compiler=compiler):
                self.compiled(compiler, 'headers.o', source)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
