#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fleet with a real NATS server: `spex fleet master`, the agents that it leads, `status` and `why`.

    fleet_master.py SPEX LIVE
"""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

import nats
from running import Programs, beside as load_tests

SPEX = LIVE = None
NAME = "live-%d" % os.getpid()
# Half of the time: these programs, each a loop, are at half of what they could do. With as much as that for probes the
# master could not know whether all of them can be instrumented.
POLICY = """<profiling-spec name="shop">
  <instrumentation-map>
    <unit type="glob" name="query*" modes="lat tpt"/><unit type="probe" name="3" modes="cnt@20"/>
  </instrumentation-map>
  <qos-requirements>
    <response-time probe="query:lat" metric="mean" at_most="%(response)s"/>
    <overhead at_most="50%%"/>
    %(more)s
  </qos-requirements>
</profiling-spec>
"""


class Fleet(Programs):
    """Processes of one machine, as hosts with an agent each."""

    lease = "4"

    def setUp(self):
        super().setUp()
        self.program = self.copied(LIVE, NAME)
        self.server = self.nats()

    def nats(self, options=""):
        folder = self.path("nats")
        server = nats.Server(folder, options)
        self.addCleanup(server.kill)
        return server.start()

    def policy(self, response="10s", more="", name="policy.xml"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(POLICY % {"response": response, "more": more})
        return self.path(name)

    def command(self, *arguments, environment=None):
        """Under a parent that ignores SIGCHLD, as some do."""
        command = subprocess.Popen([SPEX, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=environment or self.environment(),
                                   preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        return self.followed(command)

    def where(self):
        return ["--nats", self.server.url]

    def master(self, *options, policy=None, leads=True):
        master = self.command("fleet", "master", policy or self.policy(), *self.where(), "--json", *options)
        if leads:
            self.until_event(master, "leads")
        return master

    def until_event(self, command, kind):
        for line in command.stdout:
            event = json.loads(line)
            if event["event"] == kind:
                return event
        self.fail("no %s: %s" % (kind, command.stderr.read()))

    def host(self, name):
        """The environment of a host's programs and its agent, which sees no others."""
        control = self.path("control-" + name)
        os.makedirs(control, mode=0o700, exist_ok=True)
        return {**os.environ, "SPEX_CONTROL": control}

    def agent(self, host, *options, where=None, processes=()):
        return self.command("agent", *(where or self.where()), "--fleet", "shop", "--host", host, "--json", "--lease",
                            self.lease, *options, *[process.pid for process in processes] or [NAME])

    def instance(self, environment=None):
        return self.start(program=self.program, environment=environment)

    def status(self):
        """None: no master answers."""
        result = self.run_spex("fleet", "status", *self.where(), "--fleet", "shop", "--json")
        return json.loads(result.stdout) if result.returncode == 0 else None

    def ask(self, *what):
        """What the master answers, as people read it."""
        result = self.run_spex("fleet", *what, *self.where(), "--fleet", "shop")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def until_status(self, wanted, what=None):
        """Asks the master until its status is as wanted."""
        return self.until(lambda: (status := (what or self.status)()) and wanted(status) and status)

    def end(self, command, status=0):
        command.send_signal(signal.SIGTERM)
        output, errors = command.communicate()
        self.assertEqual(command.returncode, status, output + errors)
        return errors


def modes(status):
    return {instance["instance"]: instance["mode"] for instance in status["instances"]}


def is_instrumented(count):
    return lambda status: sum(mode != "none" for mode in modes(status).values()) == count


class Master(Fleet):
    def test_half_of_the_instances_record_the_map(self):
        master = self.master()
        processes = [self.instance() for _ in range(4)]
        agents = [self.agent("a", processes=processes[:2]), self.agent("b", processes=processes[2:])]
        status = self.until_status(lambda s: s["count"] == 4 and is_instrumented(2)(s) and s["recorded"] == 3)
        self.assertEqual((status["hosts"], status["covered"], status["map"], status["refused"]), (2, 3, 3, 0))
        self.assertEqual(sorted(modes(status)), sorted("%s/%d" % ("aabb"[p], processes[p].pid) for p in range(4)))
        # What is told is so: an instrumented one has the map, the others the probe of the response time alone.
        self.until_status(lambda s: all(i["on"] == i["desired"] or i["mode"] == "none" for i in s["instances"]))

        # On a busy machine a lease may end before it is renewed, and another instance has the map then.
        def is_as_told(process):
            told = modes(self.until_status(bool))
            named = [mode for name, mode in told.items() if name.endswith("/%d" % process.pid)]
            return named and self.sites_on(process) == (3 if named[0] == "full" else 1)

        for process in processes:
            self.until(lambda process=process: is_as_told(process))
        self.until_status(lambda s: all(i["response"] and i["throughput"] for i in s["instances"]))
        # All instances do the same, and take their turns at different times of a machine: the interval tells by how much.
        overlap = self.until_status(lambda s: s["overlap"])["overlap"]
        self.assertEqual(overlap["instances"], 2)
        self.assertTrue(0 < overlap["low"] <= overlap["share"] <= overlap["high"] <= 1, overlap)
        self.assertGreater(overlap["high"], 0.9)
        self.end(master)
        for agent in agents:
            self.end(agent)
        self.assertEqual([self.sites_on(process) for process in processes], [0] * 4)

    def test_why(self):
        self.master()
        process = self.instance()
        self.agent("a", processes=[process])
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        # A program that gets no processor for a while is reverted, and then has room again.
        self.until(lambda: re.match(
            r"instance a/%d: full since \d+ s, before none \(\d+ changes\): inequality \(1\) held with the margin, so there was "
            r"room for it; 3 of 3 probes" % process.pid, self.ask("why", "a/%d" % process.pid)))
        wrong = self.run_spex("fleet", "why", "a/1", *self.where(), "--fleet", "shop")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertIn("there is no such instance", wrong.stderr)
        self.until(lambda: re.search(r"(?ms)^coverage   3 of 3 probes decided, 3 on$.*^a/%d +%s +full +room +3 of 3 " % (
            process.pid, NAME[:15]), self.ask("status")))

    def test_a_second_master_is_refused(self):
        self.master()
        second = self.master(policy=self.policy(name="second.xml"), leads=False)
        self.assertEqual(second.wait(), 1)
        self.assertIn("another master leads fleet shop", second.stderr.read())

    def test_a_master_with_another_policy(self):
        first = self.master()
        process = self.instance()
        self.agent("a", processes=[process])
        self.until_status(is_instrumented(1))
        self.end(first)
        self.master(policy=self.policy("20us"))
        # What the first one has switched on is adopted, and then reverted: there is no other instance to be added.
        status = self.until_status(lambda s: s["count"] == 1 and is_instrumented(0)(s) and s["decisions"])
        self.assertIn(status["last"]["action"], ("revert", "stuck"))
        self.until(lambda: self.sites_on(process) == 1)

    def test_the_hook_adds_instances(self):
        hook = self.path("hook")
        with open(hook, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho $(date +%%s) "$@" >>%s\n' % self.path("asked"))
        os.chmod(hook, 0o700)
        self.master("--hook", hook, policy=self.policy(more='<instances least="3"/>'))
        self.agent("a", processes=[self.instance()])
        self.until_status(lambda s: s["count"] == 1 and s["master"]["hook"])
        with open(self.path("asked"), encoding="utf-8") as file:
            asked = [line.split() for line in file]
        self.assertEqual({line[1] for line in asked}, {"add"})
        # As many as are missing, however many decisions that has taken. What has not come in a minute is asked for again.
        began = int(asked[0][0])
        self.assertIn(sum(int(line[2]) for line in asked if int(line[0]) < began + 50), (2, 3))

    def test_the_hook_removes_instances(self):
        hook = self.path("hook")
        with open(hook, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n[ "$1" = remove ] || exit 3\nshift\nfor i; do kill ${i#a/}; done\n')
        os.chmod(hook, 0o700)
        cost = '<cost an_instance_hour="1" at_most="3"/>'
        processes = [self.instance() for _ in range(4)]
        self.agent("a", processes=processes)
        self.master("--hook", hook, policy=self.policy(more=cost))
        self.until_status(lambda s: s["count"] == 2 and s["master"]["hook"] == hook + " has ended")
        self.assertEqual(sum(process.poll() is None for process in processes), 2)

    def test_command_lines(self):
        policy = self.policy()
        for arguments, pattern in [
                (["fleet", "master", policy], "--nats was expected"),
                (["fleet", "master", policy, "--nats", "nats://10.0.0.1:1"], "off loopback, tls:// and"),
                (["fleet", "master", policy, "--nats", "nats://me:secret@127.0.0.1"], "no password was expected in it"),
                (["fleet", "master", policy, "--nats", "http://127.0.0.1"], "nats://HOST:PORT or tls://"),
                (["fleet", "status", *self.where()], "--fleet with the name"),
                (["fleet", "status", *self.where(), "--fleet", "other"], "no master of fleet other answers"),
                (["agent", *self.where()], "--fleet with the name"),
                (["agent", *self.where(), "--policy", policy], "not both"),
                (["agent", "--policy", policy, "--fleet", "shop"], "with --nats alone"),
                (["agent", *self.where(), "--fleet", "shop", "--host", "a.b"], "--host: a name of 1 to 63"),
                (["agent", *self.where(), "--fleet", "shop", "--tls-key", "k"], "expected together")]:
            with self.subTest(arguments=arguments):
                result = self.run_spex(*arguments)
                self.assertIn(result.returncode, (1, 2))
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr.splitlines()[-1], "^spex: .*" + pattern)


if __name__ == "__main__":
    SPEX, LIVE = map(os.path.abspath, sys.argv[1:3])
    Programs.spex, Programs.live = SPEX, LIVE
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
