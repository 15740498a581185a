#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The public headers in programs that are not like ours.

Whatever a program defines as a macro, warns about or has in force before it includes the headers, they compile without a
warning, with -I and not -isystem, and each probe makes its records.

    hygiene.py SOURCE_ROOT LIBRARY
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import unittest

ROOT, LIBRARY = sys.argv[1:3]
sys.path[:0] = [os.path.join(ROOT, 'test'), os.path.join(ROOT, 'test', 'headers')]
from folder import InFolder, LIBRARIES  # pylint: disable=wrong-import-position
import names  # pylint: disable=wrong-import-position
from tables import rows  # pylint: disable=wrong-import-position

INCLUDE = os.path.join(ROOT, 'include')
STANDARDS = {'gcc': ['c11', 'gnu17'], 'clang': ['c11', 'gnu17'], 'g++': ['c++11', 'c++17', 'gnu++23'], 'clang++': ['c++11', 'gnu++20', 'c++2b']}
LANGUAGES = {'gcc': 'c', 'clang': 'c', 'g++': 'c++', 'clang++': 'c++'}
INCLUDES = ''.join('#include <spex/%s.h>\n' % name for name in
                   ('spex', 'functions', 'bench', 'tune', 'watch', 'rate_policy', 'sdt', 'policy', 'explore', 'config'))
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wsign-conversion', '-Wconversion', '-Wshadow', '-Wundef', '-Wcast-qual',
            '-Wcast-align', '-Wunused-macros', '-Wredundant-decls', '-Wmissing-declarations', '-Wfloat-equal',
            '-Wwrite-strings', '-Wswitch-enum', '-Wvla', '-Wnull-dereference', '-Wdouble-promotion', '-Wformat=2']
LATE = '-Wdeclaration-after-statement'
OF_C = ['-Wc++-compat', '-Wstrict-prototypes', '-Wmissing-prototypes', '-Wold-style-definition',
        '-Wnested-externs', '-Wbad-function-cast']
OF_CXX = ['-Wold-style-cast', '-Wzero-as-null-pointer-constant', '-Wextra-semi', '-Wnon-virtual-dtor', '-Woverloaded-virtual']
OF_GCC = ['-Wlogical-op', '-Wduplicated-cond', '-Wduplicated-branches', '-Wcast-align=strict', '-Wstrict-overflow=2',
          '-Wunsafe-loop-optimizations', '-Walloca', '-Wtrampolines', '-Wdate-time', '-Wunused-const-variable=2']
MORE = {'gcc': [LATE, *OF_C, *OF_GCC, '-Wjump-misses-init'],
        'g++': [*OF_CXX, *OF_GCC, '-Wuseless-cast', '-Wsuggest-override', '-Wctor-dtor-privacy', '-Wsign-promo'],
        'clang': OF_C, 'clang++': OF_CXX}
# What spex cannot do without: C of 2011, C++ of 2011, layouts with padding, and variables that are set after they were
# declared, or not at all while a probe is off. Names with an underscore at the end are not reserved.
EVERYTHING = ['-Weverything', '-Wno-declaration-after-statement', '-Wno-c++98-compat', '-Wno-c++98-compat-pedantic', '-Wno-padded']

# Its own names begin with `my_`, those of macros are upper case: any other word may be a macro.
PROGRAM = '''
int my_other(int my_x);
int my_jumps(int my_x);
int my_other(int my_x) {
    my_x++;
    LAT_PROBE_BEGIN(1, 1);
    CNT_PROBE_BEGIN(1, 1);
    TPT_PROBE_BEGIN(1, 1);
    FLT_PROBE_BEGIN(1, 1);
    CTXSW_PROBE_BEGIN(1, 1);
    LLC_PROBE_BEGIN(1, 1);
    PERFCNTR_PROBE_BEGIN(1, 1, 0);
    KERNEL_PROBE_BEGIN(1, 1, my_x, MY_WORD);
    SPAN_PROBE_BEGIN(1, 1, MY_WORD);
    my_x++;
    SPAN_PROBE_END(1, MY_WORD);
    KERNEL_PROBE_END(1);
    PERFCNTR_PROBE_END(1);
    LLC_PROBE_END(1);
    CTXSW_PROBE_END(1);
    FLT_PROBE_END(1);
    TPT_PROBE_END(1);
    CNT_PROBE_END(1);
    LAT_PROBE_END(1);
    SNAPSHOT_PROBE(1, 1, my_x, MY_WORD);
    SPEX_LAT_BEGIN(my_word);
    SPEX_LLC_BEGIN(my_word, 10);
    SPEX_PERFCNTR_BEGIN(my_word, 0);
    SPEX_SPAN_BEGIN("my.word", MY_WORD);
    my_x++;
    SPEX_SPAN_END("my.word", MY_WORD);
    SPEX_PERFCNTR_END(my_word);
    SPEX_LLC_END(my_word);
    SPEX_LAT_END(my_word);
    SPEX_SNAPSHOT("my.word");
    SPEX_SNAPSHOT("my.word", my_x, MY_WORD);
    SPEX_LAT_SCOPE("my.word");
    SPEX_PERFCNTR_SCOPE("my.word", 0);
    SPEX_LAT_SCOPE(2, 1);
    SPEX_CNT_SCOPE("my", 1);
    SPEX_TPT_SCOPE(2, 1);
    SPEX_FLT_SCOPE(2, 1);
    SPEX_CTXSW_SCOPE(2, 1);
    SPEX_LLC_SCOPE(2, 1);
    SPEX_PERFCNTR_SCOPE(2, 1, 0);
    SPEX_KERNEL_SCOPE(2, 1, my_x);
    spex_parameter("my", my_x);
    SPEX_REGION(1, 2, {
        SNAPSHOT_PROBE(3, 1, my_x);
        SPEX_REGION(2, 1, my_x++;)
        {
            SPEX_CNT_SCOPE(3, 1);
            my_x++;
        }
    })
    return my_x;
}
/* Without braces in a switch, and past a probe. */
int my_jumps(int my_x) {
    if (my_x > 7)
        goto my_end;
    switch (my_x & 1) {
    case 0:
        LAT_PROBE_BEGIN(4, 1);
        my_x++;
        LAT_PROBE_END(4);
        break;
    default:
        PERFCNTR_PROBE_BEGIN(4, 1, 0);
        TPT_PROBE_BEGIN(4, 1);
        my_x++;
        TPT_PROBE_END(4);
        PERFCNTR_PROBE_END(4);
        break;
    }
    LLC_PROBE_BEGIN(5, 1);
    CNT_PROBE_BEGIN(5, 1);
    my_x++;
    CNT_PROBE_END(5);
    LLC_PROBE_END(5);
my_end:
    return my_x;
}
SPEX_PROBE_NAME(1, "one");
SPEX_PROVIDER("my");
'''
WORDS = '#define MY_WORD UINT64_C(7)\n'
MAIN = '''
int main(void) {
    int my_x = 0, my_i;
    spex_start(MY_NULL);
    for (my_i = 0; my_i < 10; my_i++)
        my_x += my_other(my_i) + my_jumps(my_i);
    return spex_stop() + (my_x == 0);
}
'''
EXPECTED = {('one', kind): 10 for kind in ('lat', 'cnt', 'tpt', 'flt', 'ctxsw', 'llc', 'perfcntr', 'kernel', 'span', 'snapshot')}
EXPECTED.update({('my_word', 'lat'): 10, ('my_word', 'perfcntr'): 10, ('my.word', 'lat'): 10, ('my.word', 'span'): 10})
EXPECTED.update({('4', 'lat'): 4, ('4', 'tpt'): 4, ('5', 'cnt'): 8, ('my', 'cnt'): 10, ('2', 'lat'): 10, ('3', 'snapshot'): 10})

# Words that programs are known to define.
KNOWN = {'min(a, b)': 'x', 'max(a, b)': 'x', 'likely(x)': 'x', 'unlikely(x)': 'x', '__unused': '__attribute__((unused))',
         'unused': '__attribute__((unused))', 'used': '7', 'weak': '7', 'section': '7', 'cold': '7', 'hidden': '7', 'error': '7',
         'packed': '7', 'aligned(x)': '7', 'cleanup': '7', 'visibility': '7', 'constructor': '7', 'I': '7', 'unix': '7', 'linux': '7',
         'LAT': '7', 'BEGIN': '{', 'END': '}', 'NDEBUG': '', 'offsetof_(x)': '7', 'lat': '7', 'cnt': '7', 'llc': '7',
         'tpt': '7', 'span': '7', 'file': '7', 'line': '7', 'number': '7', 'named': '7', 'cpu': '7', 'Word': '7',
         'noinline': '7', 'always_inline': '7', 'inline_': '7', 'ticks': '7', 'head': '7', 'both': '7', 'begin': '7', 'end': '7',
         'retain': '7', 'alias': '7', 'tls_model': '7', 'may_alias': '7', 'OFF': '7', 'ON': '7', 'TYPE': '7', 'RECORD': '7'}
WAYS = [[], ['-O1'], ['-O2'], ['-O3', '-fPIC'], ['-Os', '-fvisibility=hidden'], ['-O2', '-masm=intel'], ['-O0', '-masm=intel']]


def null(language):
    return '#define MY_NULL %s\n' % ('nullptr' if language == 'c++' else '((void *)0)')


def program(language, before='', includes=INCLUDES, main=''):
    return before + includes + WORDS + null(language) * bool(main) + PROGRAM + main


def run(*command, source):
    return subprocess.run(command, text=True, input=source, capture_output=True, check=False)


class Hygiene(InFolder):
    def each(self):
        for compiler in filter(shutil.which, STANDARDS):
            for standard in STANDARDS[compiler]:
                command = [compiler, '-std=' + standard, '-I', INCLUDE, '-x', LANGUAGES[compiler], '-Werror']
                if run(*command, '-fsyntax-only', '-', source='int my_x;\n').returncode == 0:
                    yield compiler, command

    def newest(self):
        """Of each compiler, one standard."""
        return {compiler: command for compiler, command in self.each()}.items()

    def compiles(self, command, source, *flags, made=None):
        with self.subTest(command=' '.join([*command, *flags])):
            self.succeeds(*command, '-Wall', '-Wextra', *flags, *(made or ['-fsyntax-only']), '-', input=source)

    def test_files_of_names_are_as_written_by_names_py(self):
        for name, text in names.files(names.used(ROOT)).items():
            with open(os.path.join(INCLUDE, 'spex', 'detail', name), encoding='utf-8') as file:
                self.assertEqual(file.read(), text, 'run test/headers/names.py %s' % ROOT)

    def test_a_compiler_reads_the_list_of_names_once_for_a_header_with_others_within(self):
        for compiler, command in self.newest():
            told = run(*command, '-H', '-fsyntax-only', '-', source='#include <spex/kernel.h>\n').stderr
            for name in 'names_push.h', 'names_pop.h':
                self.assertEqual(len(re.findall(r'^\.+ .*/%s$' % name, told, re.MULTILINE)), 1, (compiler, name))

    def test_any_word_may_be_a_macro(self):
        words = {**dict.fromkeys(names.used(ROOT), '7 garbage ]'), **KNOWN}
        before = '#undef unix\n#undef linux\n' + ''.join('#define %s %s\n' % item for item in words.items())
        kept = ''.join('#ifndef %s\n#error it was taken away\n#endif\n' % word for word in names.used(ROOT))
        for compiler, command in self.each():
            language = LANGUAGES[compiler]
            for disable in [[], ['-DSPEX_DISABLE']]:
                self.compiles(command, program(language, before) + kept, *disable)

    def test_no_warning(self):
        for compiler, command in self.each():
            self.compiles(command, program(LANGUAGES[compiler]), '-O2', '-Wpedantic', *WARNINGS, *MORE[compiler],
                          made=['-c', '-o', self.path('object.o')])
            if compiler.startswith('clang'):
                self.compiles(command, program(LANGUAGES[compiler]), *EVERYTHING)
            if compiler == 'clang':
                self.compiles(command, re.sub(r'SPEX_REGION\(1(.|\n)*?\n    }\)', '', program('c')), LATE)

    def test_whatever_is_in_force_before(self):
        poison = '#pragma GCC poison malloc calloc realloc free printf sprintf strcpy strcat gets strtok system\n'
        befores = {'pack': '#pragma pack(1)\n', 'hidden': '#pragma GCC visibility push(hidden)\n',
                   'poison': '#include <string.h>\n#include <stdlib.h>\n#include <stdio.h>\n' + poison,
                   'inline': '#define inline\n' + '#include <stdint.h>\n', 'optimise': '#pragma GCC optimize("O0")\n'}
        for (compiler, command), (name, before) in itertools.product(self.newest(), befores.items()):
            if name == 'inline' and LANGUAGES[compiler] == 'c++' or name == 'optimise' and 'clang' in compiler:
                continue
            with self.subTest(before=name):
                self.compiles(command, program(LANGUAGES[compiler], before), '-O2')

    def test_included_first_of_all(self):
        for compiler, command in self.newest():
            self.compiles(command, program(LANGUAGES[compiler], includes=''), '-include', 'spex/spex.h', '-include', 'spex/functions.h')

    def test_as_a_library_of_c(self):
        for compiler, command in self.each():
            if LANGUAGES[compiler] == 'c++':
                for flags in [[], ['-DSPEX_DISABLE'], ['-fno-exceptions', '-fno-rtti']]:
                    self.compiles(command, program('c++', includes='extern "C" {\n' + INCLUDES + '}\n'), *flags)

    def test_usdt_as_a_library_of_c(self):
        source = program('c++', includes='extern "C" {\n' + INCLUDES + '}\n')
        for compiler, command in self.newest():
            if LANGUAGES[compiler] == 'c++' and os.path.exists('/usr/include/sys/sdt.h'):
                self.compiles(command, source, '-DSPEX_SDT')

    def test_jumps_into_a_scope_do_not_compile(self):
        probes = ['SPEX_LAT_SCOPE(1, 1);', 'SPEX_LLC_SCOPE(1, 1);', 'SPEX_KERNEL_SCOPE(1, 1);', 'KERNEL_PROBE_BEGIN(1, 1); x++; KERNEL_PROBE_END(1);']
        bodies = ['switch (x) { case 0: %s break; default: x++; } return x;', 'if (x) goto end; %s end: return x;']
        for (compiler, command), probe, body in itertools.product(self.newest(), probes, bodies):
            with self.subTest(compiler=compiler, probe=probe, body=body):
                source = '#include <spex/kernel.h>\nint f(int x);\nint f(int x) { %s }\n' % (body % probe)
                result = run(*command, '-fsyntax-only', '-', source=source)
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stdout + result.stderr, 'needs_braces|cleanup')

    def test_each_probe_makes_its_records(self):
        befores = ['', '#pragma pack(1)\n', '#pragma GCC visibility push(hidden)\n']
        for (compiler, command), (flags, before) in itertools.product(self.newest(), [
                *itertools.product([['-O2']], befores), *itertools.product(WAYS[4:] if os.uname().machine == 'x86_64' else [], ['']),
                *itertools.product([['-O2', '-flto']], [''])]):
            with self.subTest(compiler=compiler, flags=flags, before=before):
                source = program(LANGUAGES[compiler], before, main=MAIN)
                self.succeeds(*command, *flags, '-c', '-o', self.path('main.o'), '-', input=source)
                self.succeeds(compiler, *flags, self.path('main.o'), LIBRARY, *LIBRARIES, '-o', self.path('main'))
                self.check_records()

    def check_records(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith('SPEX_')}
        environment.update(SPEX_PROBES='*', SPEX_OUT='-', SPEX_CALIBRATE='0')
        table = self.succeeds(self.path('main'), env=environment).stdout
        counts = {probe: int(row['count']) for probe, row in rows(table).items()}
        self.assertEqual({probe: counts.get(probe) for probe in EXPECTED}, EXPECTED, table)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
