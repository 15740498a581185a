#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Searches the models of the rings: the right ones to the end, which must find nothing wrong, and
their mutants, which must all be found wrong.

    check.py FOLDER [MODEL]…

A search is exhaustive and always the same. So it is not done again while the model, its sizes, this file, spin and the
compiler are what they were when it ended well. The folder `searched` in FOLDER, or in that of TEST_CACHE, has one file for each
such search, named by the hash of all that; it holds what was found.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / 'scripts'))
from stamps import Stamps  # pylint: disable=wrong-import-position

COMPILE = ['-w', '-DSAFETY', '-DCOLLAPSE', '-DMEMLIM=1000']  # megabytes
# Long searches are worth an optimised program. In mutants what is wrong is found among the first states.
LEVELS = {True: '-O2', False: '-O0'}
DEPTH = 100000

# model: sizes for the right one, of which the first reaches every statement; size for its mutants;
# mutants
MODELS = {
    'rseq': (
        ['PUSHES=5 PREEMPTIONS=1', 'PUSHES=3 PREEMPTIONS=2', 'N=4 PUSHES=6 PREEMPTIONS=0'],
        'PUSHES=4 PREEMPTIONS=1',
        ['NO_X1', 'NO_X2', 'NO_Y1', 'NO_Y2', 'NO_LAP_CHECK', 'NO_RESTART']),
    'atomic': (
        ['WRITERS=2 PUSHES=2', 'WRITERS=3 PUSHES=1'],
        'WRITERS=2 PUSHES=2',
        ['READER_DOES_NOT_HOLD', 'WRITER_OVERWRITES_HELD', 'LEAVES_WITH_OWN_INDEX',
         'COMMITS_REVOKED', 'CLAIMS_GIVEN_UP', 'NOT_ABANDONED']),
}


def variants(names):
    """(model, its definitions, whether it is right)"""
    for name in names:
        sizes, size, mutants = MODELS[name]
        for right in sizes:
            yield name, right, True
        for mutant in mutants:
            yield name, size + ' ' + mutant, False


def run(command, folder):
    result = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    return result.returncode, result.stdout


def compiler():
    return os.environ.get('CC', 'cc').split()


def tools():
    """Which spin and which compiler."""
    return ''.join(run(command + [option], HERE)[1] for command, option in [(['spin'], '-V'), (compiler(), '--version')])


def search(name, definitions, right):
    """What spin's verifier says."""
    options = ['-D' + definition for definition in definitions.split()]
    with tempfile.TemporaryDirectory() as folder:
        for command in [['spin', '-a'] + options + [str(HERE / (name + '.pml'))],
                        compiler() + COMPILE + [LEVELS[right], '-o', 'pan', 'pan.c']]:
            status, output = run(command, folder)
            if status:
                return output
        return run(['./pan', '-m%u' % DEPTH], folder)[1]


def judge(output, right):
    """What is wrong, or None."""
    errors = re.search(r'errors: (\d+)', output)
    if not errors:
        return 'no result:\n' + output
    if not right:
        violated = re.search(r'assertion violated', output)
        return None if violated else 'this mutant is not found wrong'
    if int(errors.group(1)):
        return output
    if re.search(r'too small|out of memory|Search not completed', output, re.IGNORECASE):
        return 'the search is not complete:\n' + output
    return None


def unreached(output):
    """Statements that no run comes to, so that nothing is shown of them."""
    return re.findall(r'^\t(.*, state \d+, "(?!-end-).*)$', output, re.MULTILINE)


def check(variant, stamps):
    """Whether it is as it should be, and a line of text."""
    name, definitions, right = variant
    parts = [(HERE / (name + '.pml')).read_text(encoding='utf-8'), definitions]
    before = stamps.text(*parts)
    if before is not None:
        return True, before + ', as before'
    output = search(name, definitions, right)
    wrong = judge(output, right)
    if wrong is None and definitions == MODELS[name][0][0] and unreached(output):
        wrong = 'not reached:\n' + '\n'.join(unreached(output))
    states = re.search(r'(\d+) states, stored', output)
    line = '%-6s %-43s %8s states: %s' % (
        name, definitions, states.group(1) if states else 'no',
        wrong or ('right' if right else 'found wrong, as it should be'))
    if wrong is None:
        stamps.note(line, *parts)
    return wrong is None, line


def main():
    if not shutil.which('spin'):
        print('SKIP: spin is not installed')
        return 77
    failed = 0
    stamps = Stamps(os.path.join(os.environ.get('TEST_CACHE') or sys.argv[1], 'searched'),
                    pathlib.Path(__file__).read_text(encoding='utf-8') + tools())
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        searches = [pool.submit(check, variant, stamps) for variant in variants(sys.argv[2:] or MODELS)]
        for done in searches:
            good, line = done.result()
            print(line, flush=True)
            failed += not good
    stamps.expire()
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
