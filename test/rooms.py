#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The check of rooms finds each kind of violation, in small trees made for it, and nothing in the project itself.

    rooms.py SOURCE_ROOT BUILD COMPILER…
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = BUILD = COMPILER = None

ROOMS = """# a comment
low:          | low.h
high: low     | *
"""

FILES = {
    'src/low/low.h': 'int low(void);\nint low_other(void);\n',
    'src/low/low.c': '#include "low/low.h"\nint low(void) { return 1; }\n',
    'src/low/other.c': '#include "low/low.h"\nint low_other(void) { return low(); }\n',
    'src/high/high.h': 'int high(void);\n',
    'src/high/high.c': '#include <stddef.h>\n#include "high/high.h"\n#include "low/low.h"\nint high(void) { return low(); }\n',
}


class Rooms(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.write('rooms.txt', ROOMS)
        for path, text in FILES.items():
            self.write(path, text)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def build(self):
        """Compiles each source as a build does, and lists the commands where the check reads them."""
        commands = []
        for source in sorted(self.root.rglob('*.c')):
            output = str(source.relative_to(self.root)).replace('/', '_') + '.o'
            subprocess.run([*COMPILER, '-w', '-I', self.root / 'src', '-c', source, '-o', self.root / output], check=True)
            commands.append({'directory': str(self.root), 'file': str(source), 'output': output})
        self.write('compile_commands.json', json.dumps(commands))

    def check(self, *arguments):
        result = subprocess.run([os.path.join(ROOT, 'scripts', 'rooms'), *arguments], stdout=subprocess.PIPE, text=True,
                                check=False, env={**os.environ, 'SPEX_ROOT': str(self.root)})
        return result.returncode, result.stdout

    def finds(self, *lines, symbols=False):
        """Exactly these violations; each line that is printed begins as one of them."""
        arguments = []
        if symbols:
            self.build()
            arguments = [str(self.root)]
        status, printed = self.check(*arguments)
        self.assertEqual(status, 1 if lines else 0, printed)
        self.assertEqual(len(printed.splitlines()), len(lines), printed)
        for line, found in zip(lines, printed.splitlines()):
            self.assertTrue(found.startswith(line), printed)

    def test_a_tree_that_keeps_to_its_rooms_passes(self):
        self.finds(symbols=True)

    def test_an_include_of_a_room_above(self):
        self.write('src/low/low.c', '\n#include "high/high.h"\n')
        self.finds('src/low/low.c:2: includes "high/high.h": room low may use no other room: move')

    def test_an_include_of_a_private_header(self):
        self.write('src/low/private.h', '')
        self.write('src/high/high.h', '#include "low/private.h"\n')
        self.finds('src/high/high.h:1: includes "low/private.h", which is private to room low: use one of low.h')

    def test_an_include_that_names_no_room(self):
        self.write('src/high/high.h', '#include "../low/low.h"\n#include "low.h"\n')
        self.finds('src/high/high.h:1: includes "../low/low.h": write "ROOM/FILE.h"',
                   'src/high/high.h:2: includes "low.h": write "ROOM/FILE.h"')

    def test_a_room_that_is_not_listed(self):
        self.write('src/cellar/cellar.c', 'int cellar;\n')
        self.finds('rooms.txt: room cellar is not listed')

    def test_an_include_of_a_room_that_is_not_listed(self):
        self.write('cellar/cellar.h', '')
        self.write('src/high/high.h', '#include "cellar/cellar.h"\n')
        self.finds('src/high/high.h:1: includes "cellar/cellar.h" of room cellar, which is not listed')

    def test_a_circle_of_rooms(self):
        self.write('rooms.txt', ROOMS.replace('low:     ', 'low: high'))
        self.finds('rooms.txt: a circle of rooms: high low')

    def test_a_room_that_uses_one_that_is_not_listed(self):
        self.write('rooms.txt', ROOMS.replace('low:       ', 'low: cellar'))
        self.finds('rooms.txt: room low uses cellar, which is not listed')

    def test_a_public_header_that_is_not_there(self):
        self.write('rooms.txt', ROOMS.replace('low.h', 'low.h gone.h'))
        self.finds('rooms.txt: room low has no header gone.h')

    def test_a_room_of_too_many_files(self):
        for number in range(38):
            self.write('src/low/more%d.h' % number, '')
        self.finds('rooms.txt: room low has 41 files')

    def test_a_symbol_of_a_room_above(self):
        self.write('src/low/low.c', 'int high(void);\nint low(void) { return 0; }\nint lower(void) { return high(); }\n')
        self.finds('src/low/low.c: uses high of src/high/high.c: room low may use no other room: move',
                   'src/high/high.c: a circle of files: src/high/high.c uses low of src/low/low.c, '
                   'src/low/low.c uses high of src/high/high.c: move', symbols=True)

    def test_a_weak_reference_is_one_too(self):
        self.write('src/low/other.c', 'int high(void) __attribute__((weak));\nint low_other(void) { return high != 0; }\n')
        self.finds('src/low/other.c: uses high of src/high/high.c: room low may use no other room', symbols=True)

    def test_a_circle_of_files_within_a_room(self):
        self.write('src/low/low.c', 'int low_other(void);\nint low(void) { return low_other(); }\n')
        self.finds('src/low/low.c: a circle of files: src/low/low.c uses low_other of src/low/other.c, '
                   'src/low/other.c uses low of src/low/low.c', symbols=True)

    def test_a_source_that_was_not_built(self):
        self.build()
        self.write('src/low/late.c', 'int late;\n')
        result = subprocess.run([os.path.join(ROOT, 'scripts', 'rooms'), str(self.root)], stderr=subprocess.PIPE, text=True,
                                check=False, env={**os.environ, 'SPEX_ROOT': str(self.root)})
        self.assertEqual(result.returncode, 1)
        self.assertIn('no object of src/low/late.c: build it first', result.stderr)

    def test_the_project_keeps_to_its_rooms(self):
        result = subprocess.run([os.path.join(ROOT, 'scripts', 'rooms'), BUILD], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == '__main__':
    ROOT, BUILD, *COMPILER = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
