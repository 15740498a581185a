#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names in the public headers that a program may define as macros.

A program that defines such a name before it includes a header of spex keeps its macro, and the header is as it would be
without: spex/detail/names_begin.h takes these macros away, and names_end.h gives them back. This writes these files, and
the lists that they include:

    names.py SOURCE_ROOT
"""

import os
import re
import subprocess
import sys

# What begins so belongs to spex or to the implementation. The rest is of the languages and of standard headers.
OWN = re.compile(r'spex_|SPEX_|_')
STANDARD = re.compile(r'u?int\d+_t$|uintptr_t$|size_t$|FILE$|fabs$')
KEYWORDS = set('''auto break bool case char class const constexpr const_cast continue decltype default delete do double else enum
    explicit extern false float for if inline int long namespace noexcept nullptr operator private public
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this throw true try
    typedef typename union unsigned using virtual void volatile while'''.split())
WAYS = [('gcc', 'c', 'gnu11'), ('g++', 'c++', 'c++17'), ('clang', 'c', 'gnu11'), ('clang++', 'c++', 'c++17')]
LITERAL = re.compile(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'|\b\d\w*')

HEAD = '''/* SPDX-License-Identifier: MIT */
/* %s
 * Written by test/headers/names.py. Indirect header. */
%s'''
BEGIN = '''The macros of the program whose names stand in the headers of spex, from here to names_end.h: none.
 * A header that is included by another one finds them gone already: the compiler reads the list once.
 *'''
END = 'Gives back what names_begin.h has taken away.\n *'


def headers(root):
    """Headers that declare something. Those for another architecture cannot be compiled."""
    for folder, _, names in os.walk(os.path.join(root, 'include', 'spex')):
        for name in filter(re.compile(r'.*\.h$').match, names):
            path = os.path.join(folder, name)
            with open(path, encoding='utf-8') as file:
                if 'names_end.h' in file.read() and not name.startswith('names_') and \
                        (os.path.basename(folder) != 'arch' or name == os.uname().machine + '.h'):
                    yield os.path.relpath(path, os.path.join(root, 'include'))


def used(root):
    """The names that are in declarations and inline functions: not in macros, which have no such names."""
    names = set()
    for compiler, language, standard in WAYS:
        for disable in ([], ['-DSPEX_DISABLE']):
            source = ''.join('#include <%s>\n' % header for header in sorted(headers(root))
                             if ('disabled' in header) <= bool(disable))
            text = subprocess.run([compiler, '-x', language, '-std=' + standard, '-I', os.path.join(root, 'include'), '-E', '-',
                                   *disable], input=source, text=True, stdout=subprocess.PIPE, check=True).stdout
            own = False
            for line in text.splitlines():
                place = re.match(r'# \d+ "(.*?)"', line)
                if place:
                    own = '/spex/' in place[1]
                elif own and not line.startswith('#'):
                    names.update(re.findall(r'[A-Za-z_]\w*', LITERAL.sub(' ', line)))
    return sorted(name for name in names - KEYWORDS if not OWN.match(name) and not STANDARD.match(name))


def files(names):
    take = ''.join('#pragma push_macro("%s")\n#undef %s\n' % (name, name) for name in names)
    give = ''.join('#pragma pop_macro("%s")\n' % name for name in names)
    return {'names_begin.h': HEAD % (BEGIN, '''#pragma push_macro("SPEX_NAMES_")
#ifdef SPEX_NAMES_
#undef SPEX_NAMES_
#define SPEX_NAMES_ 2
#else
#define SPEX_NAMES_ 1
#include <spex/detail/names_push.h>
#endif
'''), 'names_end.h': HEAD % (END, '''#ifdef SPEX_NAMES_
#if SPEX_NAMES_ == 1
#include <spex/detail/names_pop.h>
#endif
#pragma pop_macro("SPEX_NAMES_")
#endif
'''), 'names_push.h': HEAD % ('What names_begin.h takes away.\n *', take),
            'names_pop.h': HEAD % ('What names_end.h gives back.\n *', '#ifdef SPEX_NAMES_\n%s#endif\n' % give)}


def main(root):
    for name, text in files(used(root)).items():
        with open(os.path.join(root, 'include', 'spex', 'detail', name), 'w', encoding='utf-8') as file:
            file.write(text)


if __name__ == '__main__':
    main(sys.argv[1])
