#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex probes` of a running program, which answers itself: what its probes do, and libraries that come and go.

    listing.py SPEX LIVE PLUGIN
"""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

from running import Programs

PLUGIN = None

# Sends frames of a kind without end: 16 PROCESS, 18 SITES without entries. Says who has asked.
HOSTILE = """
def answer(connection):
    if connection.recv(65536):
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        print("asked by", struct.unpack("iii", peer)[0], flush=True)
    connection.send(frame(16, 0, 1))
    while not threading.Event().wait(0.05):
        connection.send(frame({kind}, 0, {kind} == 16))
"""

CLOSING = """
def answer(connection):
    connection.recv(65536)
    connection.close()
"""


class Listing(Programs):
    def probes(self, process, *arguments, status=0):
        result = self.run_spex("probes", process.pid, *arguments)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return result.stdout

    def sites(self, process):
        """Of all that is loaded, by name (id where there is none) and type."""
        listed = json.loads(self.probes(process, "--json"))
        self.assertEqual((listed["program"], listed["pid"]), ("live", process.pid))
        return {(site["name"] or site["id"], site["type"]): site for site in listed["sites"]}

    def wait_for(self, process, condition):
        return self.until(lambda: condition(sites := self.sites(process)) and sites)

    def test_what_is_off_has_no_figures(self):
        sites = self.sites(self.start())
        self.assertEqual(set(sites), {("query", "lat"), ("query.parse", "tpt"), (3, "cnt"), ("state", "snapshot")})
        for site in sites.values():
            self.assertEqual((site["on"], site["period"], site["rate"], site["count"], site["count_margin"], site["lost"]),
                             (False, 0, None, None, None, None))
        self.assertEqual((sites[3, "cnt"]["sc"], sites["state", "snapshot"]["values"]), (10, 2))

    def test_tables_are_as_wide_as_the_terminal(self):
        process = self.start()
        self.assertEqual(self.run_spex("set", process.pid, "query,state,3@1000").returncode, 0)
        os.environ["COLUMNS"] = "60"
        self.addCleanup(os.environ.pop, "COLUMNS")
        for command in (["probes", process.pid], ["probes", self.live], ["list"]):
            with self.subTest(command=command[0]):
                narrow = self.run_spex(*command)
                whole = self.run_spex(*command, "--verbose").stdout.splitlines()
                self.assertEqual((narrow.returncode, narrow.stderr), (0, ""))
                self.assertEqual([line for line in narrow.stdout.splitlines() if len(line) > 60], [])
                missing = re.findall(r"[\w ]+", narrow.stdout.partition("no room for ")[2].partition(":")[0])
                headings = re.split("  +", whole[0].strip())
                shown = re.split("  +", narrow.stdout.splitlines()[0].strip())
                self.assertEqual(set(headings), {name.strip() for name in missing} | set(shown))
                self.assertNotIn("…", "".join(whole))

    def test_what_is_on_tells_what_it_does(self):
        process = self.start()
        self.set(process.pid, "query@3,:cnt")
        sites = self.wait_for(process, lambda found: (found["query", "lat"]["rate"] or 0) > 0
                              and (found[3, "cnt"]["rate"] or 0) > 0)
        query = sites["query", "lat"]
        self.assertEqual((query["on"], query["period"], query["lost"]), (True, 3, 0))
        self.assertGreater(query["record_cost_ns"], 0)
        self.assertGreater(query["count"], 0)
        self.assertEqual(query["count_margin"], 0)
        self.assertEqual(sites[3, "cnt"]["period"], 10)
        self.assertFalse(sites["state", "snapshot"]["on"])
        row = next(line for line in self.probes(process).splitlines() if line.startswith("query "))
        self.assertIn("1 in 3", row)
        self.set(process.pid, "off")
        self.assertFalse(self.sites(process)["query", "lat"]["on"])

    def test_a_program_that_sets_its_title_keeps_its_name(self):
        process = self.start()
        self.say(process, "title")
        self.assertEqual(self.programs()[process.pid]["command"], "live")

    def test_a_program_that_overwrites_its_environment_is_found(self):
        """It does not show where its socket is: where those are that the command knows."""
        process = self.start()
        self.say(process, "room")
        with open("/proc/%d/environ" % process.pid, "rb") as file:
            self.assertNotIn(b"SPEX", file.read())
        self.assertIn(process.pid, self.programs())
        self.set(process.pid, "query")

    def test_libraries_that_come_later_obey_what_was_said_before(self):
        process = self.start(environment=self.environment(LIVE_PLUGIN=PLUGIN))
        self.set(process.pid, "plugin*:lat@7,nothing", status=1)
        self.assertNotIn(("plugin.work", "lat"), self.sites(process))
        self.say(process, "load")
        sites = self.wait_for(process, lambda found: (found["plugin.work", "lat"]["rate"] or 0) > 0)
        self.assertEqual((sites["plugin.work", "lat"]["on"], sites["plugin.work", "lat"]["period"]), (True, 7))
        self.assertFalse(sites["plugin.work", "snapshot"]["on"])
        self.say(process, "unload")
        self.assertNotIn(("plugin.work", "lat"), self.sites(process))
        self.say(process, "load")
        self.assertTrue(self.sites(process)["plugin.work", "lat"]["on"])


class Hostile(Programs):
    """A process that answers without end does not hold up commands, which hear signals meanwhile."""

    def hostile(self, kind):
        return self.listening(HOSTILE.format(kind=kind))

    def test_a_profile_begins_once(self):
        for arguments in ["set", "*"], ["probes"], ["top", "-b"]:
            result = self.run_spex(arguments[0], *arguments[2:], self.hostile(16).pid, *arguments[1:])
            self.assertEqual(result.returncode, 1)
            self.assertIn("the program's answer is malformed", result.stderr)

    def test_an_answer_has_one_deadline(self):
        process = self.hostile(18)
        result = self.run_spex("list")
        self.assertRegex(result.stdout, r"(?m)^%d +python\S* +\(does not answer\)$" % process.pid)

    def test_signals_are_heard_while_an_answer_is_waited_for(self):
        process = self.hostile(18)
        command = subprocess.Popen([self.spex, "train", self.path("models"), "--pid", str(process.pid)],
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(command.kill)
        # Commands of other tests look for programs, too, and may ask first.
        self.assertIn("asked by %d\n" % command.pid, process.stdout)
        command.terminate()
        self.assertEqual(command.communicate()[1], "spex: ended by a signal before the program has answered\n")
        self.assertEqual(command.returncode, 1)

    def test_top_gives_up_a_program_that_closes_each_connection(self):
        process = self.listening(CLOSING)
        result = self.run_spex("top", "-b", process.pid)
        self.assertEqual(result.returncode, 1)
        # On a busy machine the time for an answer may be over first.
        self.assertIn(result.stderr, ["spex: process %d %s\n" % (process.pid, why)
                                      for why in ("cannot be reached any more", "does not answer")])

    def test_top_says_that_a_stopped_program_does_not_answer(self):
        process = self.start()
        process.send_signal(signal.SIGSTOP)
        self.addCleanup(process.send_signal, signal.SIGCONT)
        result = self.run_spex("top", "-b", process.pid)
        self.assertEqual((result.returncode, result.stderr), (1, "spex: process %d does not answer\n" % process.pid))


if __name__ == "__main__":
    Programs.spex, Programs.live, PLUGIN = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
