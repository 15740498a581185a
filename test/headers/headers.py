#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the public headers as their users would.

Every header alone and the usage files, as C and C++ of several years, with strict warnings as errors,
enabled and with SPEX_DISABLE, by every compiler that is here. The usage files are also built in all the
ways that change where code and data go, and run: there must be a record of every execution. In some of
them SPEX_SDT is on, and every site must have its USDT probes.

What depends on compilers, headers and the library alone is not done again while these are what they were: the folder
`headers` in TEST_CACHE has a file for each such check.

    headers.py SOURCE_ROOT LIBRARY
"""

import collections
import concurrent.futures
import functools
import itertools
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, LIBRARY = sys.argv[1:3]
sys.path[:0] = [os.path.join(ROOT, 'test'), os.path.join(ROOT, 'scripts')]
import folder as tests_folder  # pylint: disable=wrong-import-position
import tables  # pylint: disable=wrong-import-position
from stamps import Stamps, digest  # pylint: disable=wrong-import-position
import usdt  # pylint: disable=wrong-import-position

INCLUDE = os.path.join(ROOT, 'include')
HERE = os.path.join(ROOT, 'test', 'headers')
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wundef', '-Werror']
STRICTER = {'c': [], 'c++': ['-Wold-style-cast']}
STANDARDS = {'c': ['c11', 'gnu11', 'c17'], 'c++': ['c++17', 'c++20']}
COMPILERS = {'c': ['gcc', 'clang'], 'c++': ['g++', 'clang++']}
LIBRARIES = [LIBRARY, *tests_folder.LIBRARIES]
PROBE_LINES = 1000
JOBS = 2
# Keeps objects from run to run, and those that two ways of linking share.
CACHE = [path for path in [shutil.which('ccache')] if path]
TYPES = usdt.TYPES

# name: flags of compiler and linker, of the linker alone
WAYS = {
    '-O0': (['-O0'], []), '-O1': (['-O1'], []), '-O2': (['-O2'], []), '-O3': (['-O3'], []),
    '-Os': (['-Os'], []),
    'lto': (['-O2', '-flto'], []),
    'shared library': (['-O2', '-fPIC'], ['-rdynamic']),
    'no plt': (['-O2', '-fPIE', '-fno-plt'], ['-pie', '-Wl,-z,now']),
    'no pic': (['-O2', '-fno-pic'], ['-no-pie']),
    'static': (['-O2'], ['-static', '-Wl,--fatal-warnings']),
    'instrumented': (['-O2', '-finstrument-functions'], []),
    'sanitizer': (['-O1', '-fsanitize=undefined', '-fno-sanitize-recover=all'], []),
    'sections': (['-O2', '-ffunction-sections', '-fdata-sections'], ['-Wl,--gc-sections']),
    'sections lld': (['-O2', '-ffunction-sections', '-fdata-sections'],
                     ['-Wl,--gc-sections', '-fuse-ld=lld']),
    'lto lld': (['-O2', '-flto'], ['-fuse-ld=lld']),
}
LEVELS = [way for way in WAYS if way.startswith('-O')]
# What any machine with a compiler can link.
EVERYWHERE = [*LEVELS, 'shared library', 'no plt', 'no pic', 'instrumented', 'sections']
USDT_WAYS = {'c': ['-O0', '-Os', 'static', 'sections'],
             'c++': ['-O0', 'lto', 'shared library', 'sections lld']}


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


def newest_compilations():
    """Every compiler that is installed, with its newest standard: for what standards do not change."""
    return {command[0]: (language, command) for language, command in compilations()}.values()


MAINS = {'c': 'usage.c', 'c++': 'usage.cpp'}

# Names that the table must have.
NAMES = ['usage.plain', 'usage.macro', 'usage_word', 'usage_sampled', 'usage.scope', 'usage.values', 'usage.span']

SHORT_NAMES = ['%s_PROBE_%s' % (kind.upper(), end) for kind in TYPES if kind != 'snapshot'
               for end in ('BEGIN', 'END')]
SHORT_NAMES += ['SNAPSHOT_PROBE', 'SET_PERFCNTR', 'SET_PERFCNTR_NAME']


def everything():
    """What all checks depend on: files of this checkout, compilers, and what they take from the machine."""
    files = [os.path.join(folder, name) for top in (INCLUDE, HERE) for folder, _, names in os.walk(top) for name in names
             if name.endswith(('.h', '.c', '.cpp', '.py'))]
    files += [usdt.__file__, tests_folder.__file__, *filter(os.path.exists, ['/usr/include/sys/sdt.h'])]
    tools = [run([tool, '--version']).stdout for tool in (*itertools.chain(*COMPILERS.values()), 'ld', 'ld.lld')
             if shutil.which(tool)]
    return '\0'.join([*(os.path.relpath(file, ROOT) + digest(file) for file in sorted(files)), *tools,
                      os.confstr('CS_GNU_LIBC_VERSION'), platform.machine()])


def once(check, *parts):
    """Calls it, unless it is known that it finds nothing wrong."""
    if STAMPS and STAMPS.text(*parts) is not None:
        return
    check()
    if STAMPS:
        STAMPS.note('', *parts)


def run(command, **keywords):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **keywords)


class Headers(unittest.TestCase):
    def each(self, check, *dimensions):
        """Calls it with each combination, JOBS at a time."""
        with concurrent.futures.ThreadPoolExecutor(JOBS) as executor:
            calls = [(case, executor.submit(once, functools.partial(check, *case), self.id(), repr(case).replace(ROOT, '.')))
                     for case in itertools.product(*dimensions)]
            for case, call in calls:
                with self.subTest(case=case):
                    call.result()

    def succeeds(self, command, **keywords):
        result = run(command, **keywords)
        self.assertEqual(result.returncode, 0, '%s\n%s' % (' '.join(command), result.stdout))
        return result.stdout

    def test_a_compiler_of_each_language_is_here(self):
        self.assertEqual({language for language, _ in compilations()}, {'c', 'c++'})

    def test_each_header_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            public, detail = [], []
            for header in headers():
                files = public if os.path.dirname(header) == 'spex' else detail
                files.append(os.path.join(folder, header.replace('/', '_') + '.c'))
                with open(files[-1], 'w', encoding='utf-8') as file:
                    file.write(('#include <%s>\n' % header) * 2 + 'extern int something;\n')
            # What is in the details is compiled with every standard through the headers that programs include.
            oldest = {}
            for language, command in compilations():
                oldest.setdefault((language, command[0]), command)
            self.each(lambda compilation, disable: self.succeeds(
                compilation[1] + STRICT + disable + ['-fsyntax-only', *public,
                                                     *(detail if compilation[1] in oldest.values() else [])]),
                compilations(), [[], ['-DSPEX_DISABLE']])

    def test_usage_disabled_leaves_nothing(self):
        allowed = {'spex_start', 'spex_stop', 'spex_set', 'spex_status_get'}

        def check(compilation, level):
            language, command = compilation
            source = os.path.join(HERE, MAINS[language])
            with tempfile.TemporaryDirectory() as folder:
                made = os.path.join(folder, 'object.o')
                self.succeeds(CACHE + command + STRICT + STRICTER[language] +
                              ['-DSPEX_DISABLE', level, '-c', source, '-o', made])
                symbols = self.succeeds(['nm', made])
                sections = self.succeeds(['readelf', '-SW', made])
            left = {line.split()[-1] for line in symbols.splitlines()
                    if ' spex' in line or ' _spex' in line}
            self.assertEqual(left - allowed, set())
            self.assertNotIn('spex_sites', sections)
            self.assertNotIn('spex_names', sections)

        self.each(check, newest_compilations(), ['-O0', '-O2'])

    def test_no_short_names(self):
        def source(wrong):
            return '#include <spex/kernel.h>\n' + ''.join(
                '#%s %s\n#error %s\n#endif\n' % (wrong, name, name) for name in SHORT_NAMES)

        for _, command in compilations():
            with self.subTest(command=command):
                check = command + ['-fsyntax-only', '-']
                self.succeeds(check + ['-DSPEX_NO_SHORT_NAMES'], input=source('ifdef'))
                self.succeeds(check, input=source('ifndef'))

    def test_mistakes_do_not_compile(self):
        mistakes = {
            'CNT_PROBE_BEGIN(65536, 1); CNT_PROBE_END(65536);': 'a probe id is 0 to 65535',
            'LAT_PROBE_BEGIN(1, 0); LAT_PROBE_END(1);': 'a subsampling counter is 1 to',
            'SNAPSHOT_PROBE(1, 1, 1, 2, 3, 4, 5, 6, 7);': 'too many values for one snapshot: at most 6',
            'LAT_PROBE_BEGIN(1, 1); LAT_PROBE_END(2);': 'spex_lat_2',
            'LAT_PROBE_BEGIN(1, 1); CNT_PROBE_END(1);': 'spex_cnt_1',
            'SPEX_LAT_SCOPE(65536, 1);': 'a probe id is 0 to 65535',
            'SPEX_TPT_SCOPE(1, 0);': 'a subsampling counter is 1 to',
            'SPEX_LLC_SCOPE(1, 0);': 'a subsampling counter is 1 to',
            'PERFCNTR_PROBE_BEGIN(1, 1, 8); PERFCNTR_PROBE_END(1);': 'a performance counter is 0 to 7',
            'SPEX_PERFCNTR_SCOPE(1, 1, 8);': 'a performance counter is 0 to 7',
            'KERNEL_PROBE_BEGIN(65536, 1); KERNEL_PROBE_END(65536);': 'a probe id is 0 to 65535',
            'KERNEL_PROBE_BEGIN(1, 0); KERNEL_PROBE_END(1);': 'a subsampling counter is 1 to',
            'KERNEL_PROBE_BEGIN(1, 1); KERNEL_PROBE_END(2);': 'spex_kernel_2',
            'KERNEL_PROBE_BEGIN(1, 1, 1, 2, 3, 4, 5); KERNEL_PROBE_END(1);': 'too many parameters for one kernel',
            'SPEX_KERNEL_SCOPE(1, 1, 1, 2, 3, 4, 5);': 'too many parameters for one kernel',
            'SPEX_REGION(1, 1, KERNEL_PROBE_BEGIN(1, 1); f(); KERNEL_PROBE_END(1);)':
                'a kernel cannot stand in a SPEX_REGION',
            'SPAN_PROBE_BEGIN(65536, 1, 1); SPAN_PROBE_END(65536, 1);': 'a probe id is 0 to 65535',
            'SPAN_PROBE_BEGIN(1, 0, 1); SPAN_PROBE_END(1, 1);': 'a subsampling counter is 1 to',
            'SPEX_REGION(1, 1, SPEX_SPAN_BEGIN(1, 1); f();)': 'a span cannot stand in a SPEX_REGION',
            'SPEX_REGION(1, 1, SPEX_SPAN_END(1, 1); f();)': 'a span cannot stand in a SPEX_REGION',
            'FLT_PROBE_BEGIN(1, 1); CTXSW_PROBE_END(1);': 'spex_ctxsw_1',
            'SPEX_LAT_SCOPE(65536);': 'spex: a probe id is 0 to 65535',
            'SPEX_LAT_SCOPE("");': 'spex: a probe name has 1 to 61 bytes',
            'SPEX_LAT_SCOPE("a", 0);': 'spex: a subsampling counter is 1 to',
            'SPEX_LAT_SCOPE("a", 1, 2);': 'arguments',
            'SPEX_LAT_BEGIN(a, 0); SPEX_LAT_END(a);': 'spex: a subsampling counter is 1 to',
            'SPEX_LAT_BEGIN(a, 1, 2); SPEX_LAT_END(a);': 'arguments',
            'SPEX_LAT_BEGIN(a); SPEX_LAT_END(b);': 'spex_lat_b',
            'SPEX_CNT_BEGIN(%s); SPEX_CNT_END(%s);' % (62 * 'a', 62 * 'a'): 'spex: a probe name has 1 to 61 bytes',
            'SPEX_LLC_BEGIN(%s, 5); SPEX_LLC_END(%s);' % (62 * 'a', 62 * 'a'): 'spex: a probe name has 1 to 61 bytes',
            'SPEX_PERFCNTR_SCOPE("a", 8);': 'spex: a performance counter is 0 to 7',
            'SPEX_PERFCNTR_SCOPE("a", 0, 1);': 'spex: a subsampling counter is 1 to',
            'SPEX_PERFCNTR_SCOPE("a");': 'arguments',
            'SPEX_PERFCNTR_BEGIN(a, 8); SPEX_PERFCNTR_END(a);': 'spex: a performance counter is 0 to 7',
            'SPEX_SPAN_BEGIN("a", 0, 1);': 'spex: a subsampling counter is 1 to',
            'SPEX_SPAN_BEGIN("a");': 'arguments',
            'SPEX_SNAPSHOT(65536, 1);': 'spex: a probe id is 0 to 65535',
            'SPEX_SNAPSHOT("a", 1, 2, 3, 4, 5, 6, 7);': 'spex: too many values for one snapshot: at most 6',
            'SPEX_REGION(0, 1, ;)': 'the id of a region is 1 to 65535',
            'SPEX_REGION(1, 0, ;)': 'the weight of a region is 1 to 16777214',
            'SPEX_REGION(1, 1, again: f(); goto again;)': 'label',
            'SPEX_REGION(1, 1, goto in; f();) SPEX_REGION(1, 1, in: f();)': 'label',
            'switch (sizeof(int)) SPEX_REGION(1, 1, case 1: f();)': ' case ',
        }

        def check(compilation, mistake):
            body, message = mistake
            source = '#include <spex/kernel.h>\nvoid f(void);\nvoid f(void) { %s }\n' % body
            result = run(compilation[1] + ['-fsyntax-only', '-'], input=source)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(message, result.stdout)

        self.each(check, newest_compilations(), mistakes.items())

    def test_a_name_has_61_bytes_and_a_subsampling_counter(self):
        name = 61 * 'a'
        body = 'SPEX_LAT_BEGIN(%s, 16777214); SPEX_LAT_END(%s); SPEX_LLC_BEGIN(%s); SPEX_LLC_END(%s);' % (4 * (name,))
        source = '#include <spex/probe.h>\nvoid f(void);\nvoid f(void) { %s SPEX_CNT_SCOPE("%s", 5); }\n' % (body, name)
        for _, command in newest_compilations():
            with self.subTest(command=command):
                self.succeeds(command + STRICT + ['-fsyntax-only', '-'], input=source)

    def test_a_static_variable_in_a_region_does_not_compile(self):
        source = '#include <spex/probe.h>\nvoid f(void), g(int);\nvoid f(void) { SPEX_REGION(1, 1, %s g(x);) }\n'

        def check(compilation, level):
            language, command = compilation
            if language == 'c' and command[0] == 'clang' and level == '-O0':
                return
            with tempfile.TemporaryDirectory() as folder:
                made = os.path.join(folder, 'object.o')
                command = command + STRICT + [level, '-c', '-o', made, '-']
                self.succeeds(command, input=source % 'int x = 1;')
                self.succeeds(command, input=source % ('int x = 1;' + 'x++;' * 3000))
                result = run(command, input=source % 'static int x = 1;')
            self.assertNotEqual(result.returncode, 0)
            self.assertIn('a static variable in a SPEX_REGION would be there twice', result.stdout)

        self.each(check, newest_compilations(), ['-O0', '-O2'])

    def test_without_its_header_usdt_says_what_is_missing(self):
        for compiler in filter(shutil.which, COMPILERS['c']):
            with self.subTest(compiler=compiler):
                own = self.succeeds([compiler, '-print-file-name=include']).strip()
                command = [compiler, '-ffreestanding', '-nostdinc', '-isystem', own, '-I', INCLUDE,
                           '-fsyntax-only', '-x', 'c', '-']
                source = '#include <spex/probe.h>\n'
                self.succeeds(command, input=source)
                self.succeeds(command + ['-DSPEX_SDT', '-DSPEX_DISABLE'], input=source)
                result = run(command + ['-DSPEX_SDT'], input=source)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("Debian's package systemtap-sdt-dev", result.stdout)

    def test_probe_header_is_small(self):
        for _, command in compilations():
            with self.subTest(command=command):
                output = self.succeeds(command + ['-E', '-P', '-'], input='#include <spex/probe.h>\n')
                lines = [line for line in output.splitlines() if line.strip()]
                self.assertLessEqual(len(lines), PROBE_LINES)


def scopes():
    """Probes that the usage files have scopes of, as '%s_%d'."""
    text = ''
    for name in sorted(name for name in os.listdir(HERE) if name.endswith(('.c', '.cpp', '.h'))):
        with open(os.path.join(HERE, name), encoding='utf-8') as file:
            text += file.read()
    enumerators = re.search(r'enum usage_probe \{(.*?)\}', text, re.S)[1]
    numbers = {name: i for i, name in enumerate(re.findall(r'USAGE_\w+', enumerators), 1)}
    numbers['USAGE_MACRO_ID'] = int(re.search(r'#define USAGE_MACRO_ID +(\d+)', text)[1])
    return {'%s_%d' % (kind.lower(), numbers[name])
            for kind, name in re.findall(r'SPEX_(\w+)_SCOPE\((USAGE_\w+)', text)}


class Build:
    """The usage files, built in one way and run."""

    def __init__(self, folder, language, compiler, standard, way, disable=False, sdt=False):
        self.name = ' '.join([compiler, standard, way] + ['disabled'] * disable + ['usdt'] * sdt)
        self.folder = os.path.join(folder, self.name.replace(' ', '_'))
        self.language = language
        self.disable = disable
        self.sdt = sdt
        self.way = way
        self.shared = way == 'shared library'
        flags, self.linker_flags = WAYS[way]
        self.compiler = [compiler] + flags
        self.compile = (STRICT + STRICTER[language] + ['-std=' + standard, '-I', INCLUDE] +
                        ['-DSPEX_DISABLE'] * disable + ['-DSPEX_SDT'] * sdt)
        self.log = ''

    def succeeds(self, command, **keywords):
        result = run(command, **keywords)
        if result.returncode != 0:
            raise AssertionError('%s: %s\n%s' % (self.name, shlex.join(command), result.stdout))
        return result.stdout

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self):
        os.mkdir(self.folder)
        for source, name in ((MAINS[self.language], 'usage'), ('other.c', 'other')):
            self.succeeds(CACHE + self.compiler + self.compile + [
                '-x', self.language, '-c', os.path.join(HERE, source), '-o', self.path(name + '.o')])
        other = self.path('other.o')
        if self.shared:
            self.succeeds(self.compiler + ['-shared', other, '-o', self.path('libother.so')])
            other = self.path('libother.so')
        self.succeeds(self.compiler + self.linker_flags +
                      [self.path('usage.o'), other] + LIBRARIES +
                      ['-Wl,-rpath,' + self.folder, '-o', self.path('usage')])

    def run(self, commit):
        """Records that there must be, and those in the table, by type."""
        table = self.path('table.' + commit)
        environment = {k: v for k, v in os.environ.items() if not k.startswith('SPEX_')}
        environment.update(SPEX_COMMIT=commit, SPEX_OUT=table, SPEX_CALIBRATE='0')
        output = self.succeeds([self.path('usage')], env=environment)
        expected = collections.Counter()
        for line in output.splitlines():
            if not line.startswith('spex: '):
                kind, count = line.split()
                expected[TYPES[int(kind).bit_length() - 1]] += int(count)
        found = collections.Counter()
        with open(table, encoding='utf-8') as file:
            text = file.read()
        for (_, kind), row in tables.rows(text).items():
            found[kind] += int(row['count'])
        return expected, found, text

    def check_usdt(self, path):
        """The compiler may copy a probe without its site: with -O0 alone they are equal in number, save in
        regions, which have two copies of their probes and one site."""
        notes = usdt.notes(path)
        expected = collections.Counter(
            (site.type + '_%d' % site.id + '_begin' * (site.type != 'snapshot'),
             1 + (site.values if site.type == 'snapshot' else site.type == 'span'))
            for site in usdt.sites(path) if not (site.type == 'span' and site.values)  # its END
            for _ in range(2 if site.region else 1))
        found = collections.Counter((note.name, len(note.arguments.split())) for note in notes
                                    if not note.name.endswith('_end'))
        if self.way != '-O0':
            expected, found = set(expected), set(found)
        wrong = ['sites %s, notes %s' % (expected - found, found - expected)] * (expected != found)
        names = {note.name for note in notes}
        scoped = scopes()
        for note in notes:
            kind, number, *end = note.name.split('_')
            probe = kind + '_' + number
            arguments = r'8@\$?%s\b.*' % number if number != 'scope' else r'-?[24]@\S+|2@\[.*\]'
            if not note.address or not re.fullmatch(arguments, note.arguments):
                wrong.append(str(note))
            ending = kind + '_scope_end' if probe in scoped else probe + '_end'
            if end == ['begin'] and ending not in names:
                wrong.append('%s: no %s' % (note.name, ending))
            if end == ['end'] and number != 'scope' and probe + '_begin' not in names:
                wrong.append('%s: no begin' % note.name)
        if wrong:
            raise AssertionError('%s: %s:\n%s' % (self.name, path, '\n'.join(wrong)))

    def check(self):
        self.build()
        if self.sdt:
            self.check_usdt(self.path('usage'))
            if self.shared:
                self.check_usdt(self.path('libother.so'))
        for commit in ('rseq', 'atomic') if rseq_is_here() else ('atomic',):
            expected, found, text = self.run(commit)
            produced = sum(expected.values())
            if found != expected or '%d produced, %d consumed, 0 lost' % (produced, produced) not in text:
                raise AssertionError('%s %s: %s executed, in the table:\n%s' % (
                    self.name, commit, dict(expected), text))
            if self.disable:
                if produced:
                    raise AssertionError('%s: records of disabled probes' % self.name)
            elif set(expected) != set(TYPES) or not all(expected.values()):
                raise AssertionError('%s: not every type: %s' % (self.name, expected))
            elif not all(re.search('(^|/)%s ' % re.escape(name), text, re.M) for name in NAMES):
                raise AssertionError('%s: names are missing:\n%s' % (self.name, text))
        shutil.rmtree(self.folder)


def rseq_is_here():
    """Linux 4.18 and glibc 2.35 have restartable sequences."""
    version = os.confstr('CS_GNU_LIBC_VERSION').split()[-1].split('.')
    return [int(part) for part in version[:2]] >= [2, 35]


def usdt_is_here(compiler):
    return run([compiler, '-x', 'c', '-fsyntax-only', '-'],
               input='#include <sys/sdt.h>\n').returncode == 0


def links(compiler, flags):
    """Whether a program can be linked so here at all; what is missing is the machine's."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'program')
        source = 'int main(void) { return 0; }'
        libraries = LIBRARIES[1:]
        return run([compiler] + flags + ['-x', 'c', '-', '-x', 'none'] + libraries + ['-o', program],
                   input=source).returncode == 0 and run([program]).returncode == 0


def builds(folder):
    for language, compilers in COMPILERS.items():
        for compiler in compilers:
            if not shutil.which(compiler):
                print('left out: %s is not here' % compiler)
                continue
            usable = []
            for way, (flags, linker_flags) in WAYS.items():
                if way in EVERYWHERE or links(compiler, flags + linker_flags):
                    usable.append(way)
                else:
                    print('left out: %s, %s: nothing can be linked so here' % (compiler, way))
            *older, newest = STANDARDS[language]
            # Standards and ways change different things: every one of each, not every pair.
            standards = dict(zip(LEVELS[1::2], older))
            for way in usable:
                yield Build(folder, language, compiler, standards.get(way, newest), way)
            yield Build(folder, language, compiler, newest, '-O2', disable=True)
            if not usdt_is_here(compiler):
                print('SKIP: USDT probes of %s: there is no <sys/sdt.h>' % compiler)
                continue
            for way in USDT_WAYS[language]:
                if way in usable:
                    yield Build(folder, language, compiler, newest, way, sdt=True)
            if language == 'c':
                yield Build(folder, language, compiler, newest, '-O2', disable=True, sdt=True)


class Usage(unittest.TestCase):
    def test_every_execution_makes_a_record_however_built(self):
        with tempfile.TemporaryDirectory() as folder, \
                concurrent.futures.ThreadPoolExecutor(JOBS) as executor:
            checks = [(build, executor.submit(once, build.check, build.name, digest(LIBRARY))) for build in builds(folder)]
            for build, check in checks:
                with self.subTest(build=build.name):
                    check.result()
            print('%d builds' % len(checks))


STAMPS = None
if __name__ == '__main__':
    if os.environ.get('TEST_CACHE'):
        STAMPS = Stamps(os.path.join(os.environ['TEST_CACHE'], 'headers'), everything())
        STAMPS.expire()
    unittest.main(argv=sys.argv[:1])
