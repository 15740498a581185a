# SPDX-License-Identifier: MIT
"""Small faults that can be put into C sources, for scripts/mutate: where, and how they are switched on."""

import bisect
import collections
import re

TOKEN = re.compile(r'''
    (?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)[a-zA-Z]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<operator><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^<>=!~?:;,.(){}\[\]])
''', re.X | re.S | re.M)
SWAPS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&',
         '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '&': '|', '|': '&', '<<': '>>', '>>': '<<',
         '+=': '-=', '-=': '+=', '++': '--', '--': '++'}
BINARY = set('+-*/%&|') | {'<', '>', '<<', '>>', '&&'}
DECLARED = re.compile(r'^\s*(?:static |const |struct |unsigned |_Thread_local )*\w+ [^=(]*\[')
# Fences are orders of atomics, which test/mutants.py weakens.
CALL = re.compile(r'^( +)(?!return\b|else\b|if\b|case\b|\w+_fence\b)(?:[a-z_]\w*(?:->|\.))*[a-z_]\w*\([^;{}]*\);', re.M)
JUMP = re.compile(r'^( +)(?:break|continue|goto \w+);', re.M)
# What is 0 already is left as it is.
RETURN = re.compile(r'^( +)return (?!(?:0|false|NULL);)([^;{}]+);', re.M)
ASSIGNMENT = re.compile(r'^ +[^\n=;{}()]*[\w\])] = (?![{0]|NULL|false;|.\\0.;)([^;{}]+);', re.M)
DEFINED = re.compile(r'^#define \w+ +(\d+\.?\d*(?:[eE]-?\d+)?)$', re.M)
# The smaller or greater of two: whichever is taken of equals, it is the same. So it is with a difference that is never below 0.
EXTREME = re.compile(r'(?:return|[=(,?:])\s+([^\s;=?][^;=?]*?)\s+(<=?|>=?)\s+([^;?]+?)\s+\?\s+(?:\1\s+:\s+\3|\3\s+:\s+\1)[;,)]'
                     r'|if \(([^;()]+?) (<=?|>=?) ([^;]+?)\)\s+(?:\4 = \6|\6 = \4);')
DIFFERENCE = re.compile(r'(?:return|[=(,?:])\s+([^\s;=?][^;=?]*?)\s+(>=?)\s+([^;?]+?)\s+\?\s+\1\s+-\s+\3\s+:\s+0[;,)]')
# Of two that are known to differ, which one is greater.
ORDER = re.compile(r'(?:if \()?([\w.>-]+) != ([\w.>-]+)(?:\)\s+return| \?) \(?\1 ([<>]) \2')
CONDITION = re.compile(r'\b(?:if|while) \(')

Mutant = collections.namedtuple('Mutant', 'file kind begin end text')


def closing(text, begin):
    """Where the bracket closes that opens at begin."""
    depth = 0
    for token in TOKEN.finditer(text, begin):
        depth += {'(': 1, ')': -1}.get(token.group(), 0)
        if not depth:
            return token.start()
    return begin


def of_number(word):
    """Other numbers."""
    match = re.fullmatch(r'(\d+)([uUlL]*)', word)
    if match and match.group(1) != '0':
        yield '%u%s' % (int(match.group(1)) - 1, match.group(2))
    if match:
        yield '%u%s' % (int(match.group(1)) + 1, match.group(2))
    elif re.search(r'\.|\de', word) and not word.startswith('0x'):
        yield '(2 * %s)' % word


def of_token(text, token, previous):
    """Pairs of a kind and what stands in the token's place."""
    word = token.group()
    after_value = previous and (previous.lastgroup in ('number', 'word') and previous.group() != 'return'
                                or previous.group() in (')', ']'))
    if token.lastgroup == 'number':
        line = text[text.rfind('\n', 0, token.start()) + 1:token.end()]
        if previous and previous.group() == '[' and DECLARED.match(line):
            return
        # More memory than is used shows nowhere.
        if line.endswith('calloc(1'):
            return
        for other in of_number(word):
            yield 'constant', other
    elif word == '!' or word == '-' and not after_value:
        yield 'negation', ''
    # clang-format puts spaces around what has two operands.
    elif word in SWAPS and (after_value and text[token.end()].isspace() or word not in BINARY):
        yield 'operator', SWAPS[word]


def places(file, text):
    """Lists of mutants, one list for each place that can be changed. No change adds or takes a line."""
    previous = None
    code = []
    extremes = {match.start(group) for match in EXTREME.finditer(text) for group in (2, 5) if match.group(group)}
    extremes |= {match.start(2) for match in DIFFERENCE.finditer(text)}
    extremes |= {match.start(3) for match in ORDER.finditer(text)}
    for token in TOKEN.finditer(text):
        if token.lastgroup == 'skip':
            continue
        code.append(token.start())
        found = [Mutant(file, kind, token.start(), token.end(), new) for kind, new in of_token(text, token, previous)]
        previous = token
        if found and token.start() not in extremes:
            yield found
    code = set(code)

    def blank(match):
        return match.group(1) + ';' + '\n' * match.group().count('\n')

    for match in DEFINED.finditer(text):
        yield [Mutant(file, 'constant', match.start(1), match.end(1), other) for other in of_number(match.group(1))]
    for match in CONDITION.finditer(text):
        end = closing(text, match.end() - 1)
        if match.start() in code and end > match.end():
            yield [Mutant(file, 'condition', match.end(), end, '!(%s)' % text[match.end():end])]
    for kind, statements in ('call', CALL), ('jump', JUMP):
        for match in statements.finditer(text):
            if match.end() - 1 in code:
                yield [Mutant(file, kind, match.start(), match.end(), blank(match))]
    for match in RETURN.finditer(text):
        found = [Mutant(file, 'value', match.start(2), match.end(2), '0')]
        if len(match.group(1)) > 4:
            found.append(Mutant(file, 'return', match.start(), match.end(), blank(match)))
        if match.end() - 1 in code:
            yield found
    for match in ASSIGNMENT.finditer(text):
        if match.end() - 1 in code:
            yield [Mutant(file, 'value', match.start(1), match.end(1), '0')]


def apply(mutant, text):
    lines = text[mutant.begin:mutant.end].count('\n') - mutant.text.count('\n')
    return text[:mutant.begin] + mutant.text + '\n' * lines + text[mutant.end:]


def changed_lines(text, mutated):
    """The first line that differs, its number, and what it becomes."""
    pairs = zip(text.split('\n'), mutated.split('\n'))
    return next(((number, old, new) for number, (old, new) in enumerate(pairs, 1) if old != new), (0, '', ''))


# Put before a source file. A file that all processes of a test map has the number of the mutant that is switched on,
# then a byte for each number that has been reached: of mutants, and of source files whose objects are linked.
# A test may include several sources, so that what they share stands once.
SWITCH = r"""#ifndef SPEX_MUTANTS
#define SPEX_MUTANTS
#include <asm/unistd.h>
extern long syscall(long, ...);
__attribute__((weak, visibility("hidden"))) unsigned char *spex_mutants;
static inline void spex_mutant_reach(unsigned n)
{
    if (!__atomic_load_n(&spex_mutants[n], __ATOMIC_RELAXED))
        __atomic_store_n(&spex_mutants[n], 1, __ATOMIC_RELAXED);
}
__attribute__((unused)) static inline int spex_mutant(unsigned n)
{
    if (!spex_mutants)
        return 0;
    spex_mutant_reach(n);
    return __atomic_load_n((unsigned *)spex_mutants, __ATOMIC_RELAXED) == n;
}
static inline void spex_mutants_map(unsigned source)
{
    if (!spex_mutants) {
        long fd = syscall(__NR_openat, -100, "@MAP@", 02000002, 0);
        long at = fd < 0 ? -1 : syscall(__NR_mmap, 0L, @SIZE@L, 3L, 1L, fd, 0L);
        if (fd >= 0)
            syscall(__NR_close, fd);
        if (at != -1)
            spex_mutants = (unsigned char *)at;
    }
    if (spex_mutants)
        spex_mutant_reach(source);
}
#endif
__attribute__((constructor(101))) static void spex_mutants_map_@NUMBER@(void)
{
    spex_mutants_map(@NUMBER@);
}
"""
FIRST = 4  # bytes of the number before those of what is reached
SIZE = 1 << 14
ASSIGNMENTS = {'=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='}
ENDS = ASSIGNMENTS | {';', ',', '{', '}', '?', ':', 'return', 'else', 'do', 'case'}


def expression(text, mutant):
    """Where the expression begins and ends in which a token is."""
    tokens = [token for token in TOKEN.finditer(text) if token.lastgroup != 'skip']
    words = [token.group() for token in tokens]
    partner, opened = {}, []
    for n, word in enumerate(words):
        if word in ('(', '['):
            opened.append(n)
        elif word in (')', ']') and opened:
            partner[n] = opened.pop()
            partner[partner[n]] = n
    first = last = bisect.bisect_left([token.start() for token in tokens], mutant.begin)
    while words[first - 1] not in ENDS | {'(', '['}:
        begin = partner.get(first - 1, first - 1)
        if words[begin - 1] in ('if', 'while', 'for', 'switch'):
            break
        first = begin
    while words[last + 1] not in ENDS | {')', ']'}:
        last = partner.get(last + 1, last + 1)
    return tokens[first].start(), tokens[last].end()


def switched(mutant, text, number):
    """What is replaced, and by what: the mutant, where it is switched on, beside what it changes."""
    begin, end = mutant.begin, mutant.end
    on = 'spex_mutant(%u)' % number
    old = text[begin:end]
    if mutant.kind == 'call':
        return begin, end, '(%s ? (void)0 : (void)(%s));' % (on, old.rstrip(';'))
    if not mutant.text.strip(' ;\n') and mutant.kind in ('jump', 'return'):
        return begin, end, 'if (%s) ; else %s' % (on, old)
    if mutant.kind == 'condition':
        return begin, end, '%s ? !(%s) : !!(%s)' % (on, old, old)
    if mutant.kind == 'value':
        return begin, end, '%s ? 0 : (%s)' % (on, old)
    if text.rfind('#define', text.rfind('\n', 0, begin) + 1, begin) < 0:
        begin, end = expression(text, mutant)
    changed = text[begin:mutant.begin] + mutant.text + text[mutant.end:end]
    return begin, end, '(%s ? (%s) : (%s))' % (on, changed, text[begin:end])


def together(text, changes):
    """A text with changes that do not overlap."""
    for begin, end, new in sorted(changes, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def head(path, number):
    """What stands before a source file with switches; the file that all map, and the source file's number."""
    return SWITCH.replace('@MAP@', str(path)).replace('@SIZE@', str(SIZE)).replace('@NUMBER@', str(number))
