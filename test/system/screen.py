# SPDX-License-Identifier: MIT
"""As much of a terminal (xterm) as is needed to see what a program shows on it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

TOKEN = re.compile(r"\x1b\[([?>=]?)([\d;]*)([@-~])|\x1b[()][A-Za-z0-9]|\x1b[=>78M]|[\x00-\x1f\x7f]|[^\x00-\x1f\x7f]+")
UNFINISHED = re.compile(r"\x1b(\[[?>=]?[\d;]*|[()])?\Z")


class Screen:
    """Lines of text, without colours."""

    def __init__(self, lines, columns):
        self.lines, self.columns = lines, columns
        self.alternate = False
        self.attributes = set()  # that were asked for
        self.pending = ""
        self.clear()

    def clear(self):
        self.cells = [[" "] * self.columns for _ in range(self.lines)]
        self.line = self.column = 0
        self.top, self.bottom = 0, self.lines - 1

    def text(self):
        return [("".join(cells)).rstrip() for cells in self.cells]

    def feed(self, text):
        text = self.pending + text
        unfinished = UNFINISHED.search(text)
        self.pending = text[unfinished.start():] if unfinished else ""
        text = text[:unfinished.start()] if unfinished else text
        for match in TOKEN.finditer(text):
            token = match[0]
            if match[3]:
                self.control(match[1], [int(n) if n else 0 for n in match[2].split(";")], match[3])
            elif token == "\x1bM":
                self.up()
            elif token[0] >= " ":
                self.write(token)
            else:
                self.plain(token)

    def plain(self, token):
        if token == "\n":
            self.down()
        elif token == "\r":
            self.column = 0
        elif token == "\b":
            self.column = max(0, self.column - 1)
        elif token == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)

    def write(self, letters):
        for letter in letters:
            if self.column == self.columns:
                self.column = 0
                self.down()
            self.cells[self.line][self.column] = letter
            self.column += 1

    def scroll(self, first, count):
        """Lines from `first` to the bottom go up; or down, when `count` is negative."""
        for _ in range(abs(count)):
            empty = [" "] * self.columns
            if count > 0:
                del self.cells[first]
                self.cells.insert(self.bottom, empty)
            else:
                del self.cells[self.bottom]
                self.cells.insert(first, empty)

    def down(self):
        if self.line == self.bottom:
            self.scroll(self.top, 1)
        else:
            self.line = min(self.lines - 1, self.line + 1)

    def up(self):
        if self.line == self.top:
            self.scroll(self.top, -1)
        else:
            self.line = max(0, self.line - 1)

    def control(self, private, numbers, final):
        n = numbers[0]
        count = max(1, n)
        cells = self.cells[self.line]
        if private:
            if final in "hl" and 1049 in numbers:
                self.alternate = final == "h"
        elif final in "Hf":
            self.line = min(self.lines, count) - 1
            self.column = min(self.columns, max(1, numbers[1] if len(numbers) > 1 else 1)) - 1
        elif final == "d":
            self.line = min(self.lines, count) - 1
        elif final == "G":
            self.column = min(self.columns, count) - 1
        elif final == "A":
            self.line = max(0, self.line - count)
        elif final == "B":
            self.line = min(self.lines - 1, self.line + count)
        elif final == "C":
            self.column = min(self.columns - 1, self.column + count)
        elif final == "D":
            self.column = max(0, self.column - count)
        elif final == "J":
            self.erase_screen(n)
        elif final == "K":
            first, last = ((self.column, self.columns), (0, self.column + 1), (0, self.columns))[n]
            cells[first:last] = " " * (last - first)
        elif final == "X":
            cells[self.column:self.column + count] = " " * min(count, self.columns - self.column)
        elif final == "b":
            self.write(cells[self.column - 1] * count)
        elif final == "@":
            cells[self.column:] = (" " * count + "".join(cells[self.column:]))[:self.columns - self.column]
        elif final == "P":
            cells[self.column:] = ("".join(cells[self.column + count:]) + " " * self.columns)[
                :self.columns - self.column]
        elif final in "LM":
            self.scroll(self.line, count if final == "M" else -count)
        elif final in "ST":
            self.scroll(self.top, count if final == "S" else -count)
        elif final == "r":
            self.top = count - 1
            self.bottom = (numbers[1] if len(numbers) > 1 and numbers[1] else self.lines) - 1
            self.line = self.column = 0
        elif final == "m":
            self.attributes.update(numbers)

    def erase_screen(self, which):
        for line in range(self.lines):
            if which == 2 or (which == 0 and line > self.line) or (which == 1 and line < self.line):
                self.cells[line] = [" "] * self.columns
        if which == 0:
            self.cells[self.line][self.column:] = " " * (self.columns - self.column)
        elif which == 1:
            self.cells[self.line][:self.column + 1] = " " * (self.column + 1)


class Terminal:
    """A program on a terminal of its own."""

    SECONDS = 60  # for what does not come

    def __init__(self, command, env, lines=24, columns=120):
        self.screen = Screen(lines, columns)
        self.master, self.slave = pty.openpty()
        self.set_size(lines, columns)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            env=env, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for descriptor in self.master, self.slave:
            if descriptor >= 0:
                os.close(descriptor)
        self.master = self.slave = -1

    def set_size(self, lines, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, lines, columns):
        """The kernel tells the program."""
        alternate = self.screen.alternate
        self.screen = Screen(lines, columns)
        self.screen.alternate = alternate
        self.set_size(lines, columns)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.screen.feed(os.read(self.master, 65536).decode(errors="replace"))
            return True
        return False

    def text(self):
        return "\n".join(self.screen.text())

    def wait_for(self, condition):
        """Until the screen's text is such: a pattern, or a function of it. What it has found."""
        until = time.monotonic() + self.SECONDS
        while True:
            text = self.text()
            found = condition(text) if callable(condition) else re.search(condition, text, re.MULTILINE)
            if found:
                return found
            if time.monotonic() > until or (not self.read(1) and self.process.poll() is not None):
                raise AssertionError("%s did not come; the screen is\n%s" % (condition, text))

    def wait_for_end(self):
        """The exit status, negative for a signal."""
        until = time.monotonic() + self.SECONDS
        while self.process.poll() is None and time.monotonic() < until:
            self.read(0.05)
        while self.read(0):
            continue
        return self.process.wait(timeout=1)
