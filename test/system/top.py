#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex top` on a terminal, and without one.

    top.py SPEX LIVE HOSTILE
"""

import json
import os
import re
import signal
import subprocess
import sys
import termios
import unittest

from running import ALONE, Programs
from screen import Terminal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tables  # pylint: disable=wrong-import-position

UP, DOWN, HOME, END = "\x1bOA", "\x1bOB", "\x1bOH", "\x1bOF"
ESCAPE = "\x1b"

HOSTILE = None
QUERY = r"^ *(\S+) query +1 lat"


class Live(Programs):
    def setUp(self):
        super().setUp()
        self.program = self.start()

    def open(self, *options, lines=24, columns=120, **variables):
        terminal = Terminal([self.spex, "top", "-d", "0.1", *options, str(self.program.pid)],
                            self.environment(**{"TERM": "xterm", "LC_ALL": "C.UTF-8", **variables}),
                            lines, columns)
        self.addCleanup(terminal.close)
        return terminal

    def assert_left_as_it_was(self, terminal):
        self.assertFalse(terminal.screen.alternate, "the alternate screen was not left")
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)

    def quit(self, terminal, status=0):
        terminal.type("q")
        self.assertEqual(terminal.wait_for_end(), status)
        self.assert_left_as_it_was(terminal)

    def rows(self, text):
        """Names of probes, from the first row to the last."""
        return re.findall(r"^ *(?:off|\d+) (\S+) +\d+ (?:cnt|lat|tpt|snapshot)\b", text, re.MULTILINE)

    def wait_for_selection(self, terminal, sites_on):
        """Another process sees what was switched."""
        terminal.wait_for(lambda _: self.sites_on(self.program) == sites_on)

    def test_rows_of_all_probes(self):
        terminal = self.open()
        terminal.wait_for(rf"^live {self.program.pid} +nothing collected yet +0 of 4 probe sites on$")
        terminal.wait_for(lambda text: sorted(self.rows(text)) == ["3", "query", "query.parse", "state"])
        terminal.wait_for(r"^ +off query +1 lat")
        self.assertTrue(terminal.screen.alternate)
        self.quit(terminal)

    def test_figures_and_switching(self):
        terminal = self.open()
        terminal.wait_for(r"^ +off query +1 lat")
        terminal.type("/query:lat\r")
        terminal.wait_for(lambda text: self.rows(text) == ["query"])
        terminal.type(" ")
        terminal.wait_for(r"1 probe site is on")
        self.wait_for_selection(terminal, 1)
        terminal.wait_for(r"^ +1 query +1 lat +[\d.]+( k)? time( +[\d.]+ [mµn]?s){4} +[\d.]+ % +~?0$")
        terminal.wait_for(r"collecting for [\d.]+ s +1 of 4 probe sites on$")
        terminal.wait_for(r"^[\d.]+( [kM])? records/s +0 lost +overhead [<\d.]+ % \+ collector [<\d.]+ %, as believed$")
        terminal.type(" ")
        terminal.wait_for(r"0 probe sites are on")
        self.wait_for_selection(terminal, 0)
        terminal.wait_for(r"^ +off query +1 lat")
        self.quit(terminal)

    def test_what_was_switched_stays_so(self):
        terminal = self.open()
        terminal.wait_for(QUERY)
        terminal.type(HOME + " ")
        terminal.wait_for("1 probe site is on")
        self.quit(terminal)
        self.assertEqual(self.listed(self.program)["sites_on"], 1)

    def test_periods(self):
        self.set(self.program.pid, "query@8")
        terminal = self.open()
        terminal.wait_for(r"^ +8 query +1 lat")
        terminal.type("/query:lat\r+")
        terminal.wait_for(r"^ +16 query +1 lat")
        terminal.wait_for("1 probe site is on")
        terminal.wait_for(lambda _: self.selected(self.program).endswith("1:lat@16"))
        terminal.type("--")
        terminal.wait_for(lambda _: self.selected(self.program).endswith("1:lat@4"))
        terminal.wait_for(r"^ +4 query +1 lat")
        terminal.type("/" + "\b" * 20 + "state\r-")
        terminal.wait_for("state is off")
        self.quit(terminal)

    def test_filter(self):
        terminal = self.open()
        terminal.wait_for(QUERY)
        terminal.type("/QUERY")
        terminal.wait_for(lambda text: self.rows(text) == ["query", "query.parse"])
        terminal.type("x")
        terminal.wait_for("no probe contains that")
        terminal.type("\b.")
        terminal.wait_for(lambda text: self.rows(text) == ["query.parse"])
        terminal.type("\r")
        terminal.wait_for(r"filter: QUERY\. ")
        terminal.type(ESCAPE)
        terminal.wait_for(lambda text: len(self.rows(text)) == 4)
        terminal.type("/:cnt")
        terminal.wait_for(lambda text: self.rows(text) == ["3"])
        terminal.type(ESCAPE)
        terminal.wait_for(lambda text: len(self.rows(text)) == 4)
        self.quit(terminal)

    def test_sorting(self):
        terminal = self.open()
        # What takes most of the time is first, then what is off.
        self.set(self.program.pid, "query.parse,query")
        terminal.wait_for("sorted by share")
        terminal.wait_for(lambda text: self.rows(text) == ["query", "query.parse", "3", "state"])
        self.set(self.program.pid, "off")
        terminal.wait_for(lambda text: self.rows(text) == ["3", "query", "query.parse", "state"])
        terminal.type("<" * 9)
        terminal.wait_for("sorted by probe")
        terminal.wait_for(lambda text: self.rows(text) == ["3", "query", "query.parse", "state"])
        terminal.type("r")
        terminal.wait_for(lambda text: self.rows(text) == ["state", "query.parse", "query", "3"])
        terminal.type("sr")
        terminal.wait_for(r"sorted by id\b")
        terminal.wait_for(lambda text: self.rows(text) == ["query", "query.parse", "3", "state"])
        terminal.type("<<")
        terminal.wait_for("sorted by 1 in")
        terminal.type("<")
        terminal.wait_for("sorted by lost")
        terminal.type(">>>>>")
        terminal.wait_for("sorted by rate")
        self.quit(terminal)

    def test_span_pause_delay_and_help(self):
        terminal = self.open()
        terminal.wait_for("last interval .*every 0.1 s")
        terminal.type("t")
        terminal.wait_for("since the start")
        terminal.type("tp")
        terminal.wait_for("last interval .*paused")
        terminal.type("pd0.25\r")
        terminal.wait_for("every 0.25 s")
        terminal.type("d0.01\r")
        terminal.wait_for("0.05 to 3600 seconds was expected")
        terminal.type("h")
        terminal.wait_for("switch it on or off")
        terminal.type("x")
        terminal.wait_for(QUERY)
        self.quit(terminal)

    def test_eighty_columns_are_enough(self):
        terminal = self.open(columns=80)
        terminal.wait_for(QUERY)
        terminal.wait_for(r"h help +q quit$")
        self.set(self.program.pid, "query:lat")
        terminal.wait_for(r"^[\d.]+( [kM])? records/s +\d+ lost +overhead [<\d.]+ % \+ collector [<\d.]+ %, as believed$")
        terminal.type("h")
        terminal.wait_for(r"any key goes back")
        for line in r"the rest is a$\n +sample$", r"its share by records$", r"100 %: one thread, always$":
            terminal.wait_for(line)
        terminal.type(" ")
        # The column by which the table is sorted is always shown.
        terminal.wait_for(r"^ +1 in probe +id type +rate/s +mean +p99 +share +lost$")
        terminal.type("<" * 5)
        terminal.wait_for("sorted by value")
        terminal.wait_for(r"^ +1 in probe .* value +mean ")
        self.quit(terminal)

    def test_long_names_have_room(self):
        program = Programs.start(self, program=HOSTILE, environment=self.environment(SPEX_PROBES="*"))
        self.addCleanup(program.kill)
        self.program = program
        terminal = self.open(columns=80)
        terminal.wait_for(r'^ +\d+ "><script>docume\S+ +lat')
        terminal.wait_for(r"^ +1 in probe +type +rate/s +mean +p99 +share +lost$")
        self.quit(terminal)
        # Nothing is held off without a budget: there is no column for it.
        terminal = self.open(columns=120)
        terminal.wait_for(r"^ +1 in probe .* p50 +p99 +max +share +lost$")
        self.quit(terminal)

    def test_the_terminal_changes_its_size(self):
        terminal = self.open()
        terminal.wait_for(QUERY)
        terminal.resize(30, 200)
        terminal.wait_for(lambda text: "q quit" in text.split("\n")[29])
        terminal.resize(5, 25)
        terminal.wait_for(lambda text: "probe" in text.split("\n")[3])
        terminal.resize(1, 1)
        terminal.resize(24, 80)
        terminal.wait_for(r"^ +1 in probe +id type +rate/s +mean +p99 +share +lost$")
        terminal.wait_for(lambda text: len(self.rows(text)) == 4)
        self.quit(terminal)

    def test_colours(self):
        self.set(self.program.pid, "*")
        for variables, expected in ({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "vt100"}, False):
            with self.subTest(variables=variables):
                terminal = self.open(**variables)
                terminal.wait_for("every 0.1 s")
                # A first picture may be of a moment before the probes went on.
                terminal.wait_for(r"^ *\d+ query +1 lat")
                self.assertEqual(any(30 <= n <= 37 for n in terminal.screen.attributes), expected)
                terminal.type("q")
                self.assertEqual(terminal.wait_for_end(), 0)

    def test_signals(self):
        for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT:
            with self.subTest(signal=number):
                terminal = self.open()
                terminal.wait_for(QUERY)
                terminal.process.send_signal(number)
                self.assertEqual(terminal.wait_for_end(), 128 + number)
                self.assert_left_as_it_was(terminal)

    def test_interrupted_from_the_keyboard(self):
        terminal = self.open()
        terminal.wait_for(QUERY)
        terminal.type("\x03")
        self.assertEqual(terminal.wait_for_end(), 130)
        self.assert_left_as_it_was(terminal)

    def test_the_terminal_goes_away(self):
        terminal = self.open()
        terminal.wait_for(QUERY)
        os.close(terminal.slave)
        os.close(terminal.master)
        terminal.master = terminal.slave = -1
        self.assertEqual(terminal.process.wait(timeout=60), 128 + signal.SIGHUP)

    def test_the_program_ends(self):
        for way in "end", "crash":
            with self.subTest(way=way):
                terminal = self.open()
                terminal.wait_for(QUERY)
                self.say(self.program, way)
                terminal.wait_for("the program has ended")
                terminal.wait_for(QUERY)
                terminal.type(HOME + " ")
                terminal.wait_for("^the program has ended$")
                self.quit(terminal)
                self.program = self.start()

    def test_the_program_is_stopped(self):
        terminal = self.open()
        terminal.wait_for(QUERY)
        self.program.send_signal(signal.SIGSTOP)
        self.addCleanup(self.program.send_signal, signal.SIGCONT)
        terminal.wait_for("the program does not answer")
        self.program.send_signal(signal.SIGCONT)
        terminal.wait_for("the program answers again")
        self.quit(terminal)

    def test_the_program_becomes_another(self):
        terminal = self.open()
        terminal.wait_for(QUERY)
        self.set(self.program.pid, "*")
        terminal.wait_for("4 of 4 probe sites on")
        self.say(self.program, "exec")
        terminal.wait_for("found again")
        terminal.wait_for("0 of 4 probe sites on")
        self.quit(terminal)

    def test_the_program_stops_spex(self):
        terminal = self.open()
        terminal.wait_for(QUERY)
        self.say(self.program, "stop")
        terminal.wait_for(r"process \d+ has stopped spex")
        self.quit(terminal)

    def test_a_count_of_refreshes(self):
        terminal = self.open("-n", "2")
        self.assertEqual(terminal.wait_for_end(), 0)
        self.assert_left_as_it_was(terminal)

    def test_an_unknown_terminal(self):
        terminal = self.open(TERM="no-such-terminal")
        self.assertEqual(terminal.wait_for_end(), 1)
        self.assertRegex(terminal.text(), 'the terminal "no-such-terminal" is not known')


class Batch(Programs):
    def top(self, *arguments):
        return self.run_spex("top", *arguments)

    def test_two_tables(self):
        program = self.start()
        self.set(program.pid, "*")
        result = self.top("-b", "-d", "0.1", "-n", "2", program.pid)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        heads = re.findall(rf"^\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d  live {program.pid}, (\d+\.\d+) s$",
                           result.stdout, re.MULTILINE)
        self.assertEqual(len(heads), 2)
        self.assertEqual([("query", "lat") in table for table in tables.tables(result.stdout)], [True, True])
        self.assertEqual(result.stdout.count(" produced, "), 2)

    def test_all_notes(self):
        program = self.start()
        self.set(program.pid, "*")
        for arguments in [], ["--verbose"]:
            result = self.top("-b", "-n", "1", "-d", "0.05", *arguments, program.pid)
            self.assertEqual("\nrings: " in result.stdout, bool(arguments))

    def counted(self, program):
        """How often `query` was executed, as `spex probes` tells."""
        listed = json.loads(self.run_spex("probes", "--json", program.pid).stdout)["sites"]
        return [site["count"] for site in listed if site["name"] == "query"][0]

    def test_totals(self):
        program = self.start()
        self.set(program.pid, "query")
        # On a busy machine it may be executed later than the tables are printed.
        while not self.counted(program):
            pass
        result = self.top("-b", "-t", "-d", "0.05", "-n", "3", program.pid)
        self.assertEqual(result.returncode, 0, result.stderr)
        counts = [int(table["query", "lat"]["count"]) for table in tables.tables(result.stdout)]
        self.assertEqual(len(counts), 3, result.stdout)
        self.assertEqual(counts, sorted(counts))
        self.assertGreaterEqual(self.counted(program), counts[-1])

    def test_until_the_program_ends(self):
        program = self.start(environment=self.environment(SPEX_PROBES="query", SPEX_OUT="/dev/null"))
        top = subprocess.Popen([self.spex, "top", "-b", "-d", "0.1", str(program.pid)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn("live", top.stdout.readline())
        self.say(program, "end")
        out, complaints = top.communicate()
        self.assertEqual((top.returncode, complaints), (0, ""))
        self.assertIn(" produced, ", out)

    def test_stopped_spex(self):
        program = self.start()
        top = subprocess.Popen([self.spex, "top", "-b", "-d", "0.1", str(program.pid)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn("live", top.stdout.readline())
        self.say(program, "stop")
        complaints = top.communicate()[1]
        self.assertEqual(top.returncode, 0)
        self.assertRegex(complaints, r"\Aspex: process \d+ has stopped spex\n\Z")

    def test_without_a_terminal(self):
        result = self.top(self.start().pid)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, "no terminal; -b prints tables")

    def test_a_full_disk_is_noticed(self):
        program = self.start()
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([self.spex, "top", "-b", "-d", "0.05", str(program.pid)],
                                    stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot be written: No space left on device", result.stderr)

    def test_without_a_program(self):
        if subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no PID and mount namespaces, and others may run programs with spex")
        script = """
            start() { mkfifo $1.in; : >$1; $LIVE <$1.in >$1 & exec 3>$1.in; until grep -q ready $1; do sleep 0.02; done; }
            $SPEX top -b -n 1; echo none: $?
            start one
            $SPEX top -b -d 0.05 -n 1 >table; echo one: $?
            start two
            $SPEX top -b -n 1; echo two: $?"""
        result = subprocess.run([*ALONE, "sh", "-c", script], cwd=self.dir, check=True, text=True, timeout=100,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=self.environment(SPEX=self.spex, LIVE=self.live))
        self.assertRegex(result.stdout, r"""(?x)\A
            spex:\ no\ program\ is\ running\ that\ .*\ can\ control\nnone:\ 1\n
            one:\ 0\n
            (\ *\d+\ +live\n){2}spex:\ top:\ 2\ programs\ are\ running;\ one\ of\ them\ was\ expected\ntwo:\ 2\n\Z""")
        with open(self.path("table"), encoding="utf-8") as table:
            self.assertRegex(table.read(), r"\A\S+ \S+  live \d+, ")

    def test_usage(self):
        for arguments in (["-d", "0.01", 1], ["-d", "3601", 1], ["-d", "x", 1], ["-d", "nan", 1],
                          ["-n", "0", 1], ["-n", "-1", 1], ["-n", "2x", 1], [1, 2], ["-x", 1]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.top("-b", *arguments).returncode, 2)
        self.assertIn("usage: spex top", self.top("--help").stdout)
        result = self.top("-b", 99999999)
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no process", result.stderr)
        result = self.top("-b", self.stranger())
        self.assertEqual(result.returncode, 1)
        self.assertIn("was not built with spex", result.stderr)


if __name__ == "__main__":
    Programs.spex, Programs.live, HOSTILE = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
