#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex agent`, and other commands that switch probes on for as long as they run: what is on when they are killed.

    agent.py SPEX LIVE STALLED [--kills COUNT]
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import unittest

from running import Programs, beside as load_tests

SPEX = LIVE = STALLED = None
KILLS = 4  # at the same place each; 100 by hand
tests = itertools.count()

POLICY = """<profiling-spec name="shop">
  <instrumentation-map>%s</instrumentation-map>
  <qos-requirements>
    <response-time probe="query:lat" metric="mean" at_most="50ms"/>
    <overhead at_most="%s"/>
  </qos-requirements>
</profiling-spec>
"""
MAP = '<unit type="glob" name="query*" modes="lat tpt"/><unit type="probe" name="3" modes="cnt@20"/>'
WANTED = "+1:lat,2:tpt,3:cnt@20"


class Commands(Programs):
    def setUp(self):
        super().setUp()
        # Other tests may run programs of theirs: those of this one have a name of their own.
        self.name = "live-%d%c" % (os.getpid(), ord("a") + next(tests))
        self.program = self.copied(LIVE, self.name)

    def start(self, *before, program=None, **options):
        return super().start(*before, program=program or self.program, **options)

    def policy(self, units=MAP, overhead="100%"):
        with open(self.path("policy.xml"), "w", encoding="utf-8") as file:
            file.write(POLICY % (units, overhead))
        return self.path("policy.xml")

    def agent(self, *arguments, lease="60", policy=None):
        """Started, with its first line read."""
        agent = subprocess.Popen([SPEX, "agent", "--policy", policy or self.policy(), "--json", "--lease", lease, self.name, *arguments],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())
        self.followed(agent)
        self.assertEqual(self.event(agent)["event"], "start")
        return agent

    def start_command(self, *arguments):
        return self.followed(subprocess.Popen([SPEX, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                              env=self.environment()))

    def event(self, agent):
        return json.loads(agent.stdout.readline())

    def mode(self, agent, process):
        event = self.event(agent)
        self.assertEqual((event["event"], event["pid"], event["program"]), ("mode", process.pid, self.name))
        return event["mode"], event["on"], event["wanted"], event["why"]

    def end(self, agent, status=0):
        agent.send_signal(signal.SIGTERM)
        errors = agent.communicate()[1]
        self.assertEqual(agent.returncode, status, errors)
        return errors

    def kill(self, *commands):
        for command in commands:
            command.kill()
        for command in commands:
            command.communicate()


class Agent(Commands):
    def test_the_policy_is_switched_on_and_off_again(self):
        process = self.start()
        agent = self.agent()
        self.assertEqual(self.mode(agent, process), ("full", 3, 3, None))
        listed = self.listed(process)
        self.assertEqual((listed["selection"], listed["leased"], listed["sites_on"]), ("off", WANTED, 3))
        # A part of the lease is left for what it takes until the program has heard of it and has ended it.
        self.assertTrue(0 < listed["lease_seconds"] <= 0.95 * 60)
        self.end(agent)
        listed = self.listed(process)
        self.assertEqual((listed["selection"], listed["sites_on"]), ("off", 0))
        self.assertNotIn("leased", listed)

    def test_the_programs_of_the_policy(self):
        """Without operands; all others are left alone, also those that have the probes."""
        with open(self.policy(), encoding="utf-8") as file:
            text = file.read().replace('name="shop"', 'name="shop" program="%s"' % self.name, 1)
        with open(self.path("named.xml"), "w", encoding="utf-8") as file:
            file.write(text)
        other = self.start(program=self.copied(LIVE, self.name[:-1] + "_"))
        process = self.start()
        agent = self.start_command("agent", "--policy", self.path("named.xml"), "--json")
        self.assertEqual(self.event(agent)["program"], self.name)
        self.assertEqual(self.mode(agent, process), ("full", 3, 3, None))
        late = self.start()
        self.assertEqual(self.mode(agent, late), ("full", 3, 3, None))
        self.end(agent)
        self.assertNotIn("leased", self.listed(other))
        # The policy's own name without one.
        named = self.start_command("agent", "--policy", self.policy(), "--json")
        self.assertEqual(self.event(named)["program"], "shop")
        self.end(named)
        self.assertEqual(self.listed(other)["sites_on"], 0)

    def test_lines(self):
        process = self.start()
        agent = subprocess.Popen([SPEX, "agent", str(process.pid), "--policy", self.policy()], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(agent.communicate)
        self.addCleanup(agent.kill)
        self.assertEqual([agent.stdout.readline() for _ in range(2)],
                         ["policy shop: leases of 10 s, at most 100 % of the time of each process\n",
                          "process %d (%s): full, 3 of 3 probes on\n" % (process.pid, self.name)])
        self.say(process, "end")
        self.assertEqual(agent.stdout.readline(), "process %d (%s): gone\n" % (process.pid, self.name))
        agent.send_signal(signal.SIGINT)
        self.assertEqual(agent.communicate()[0], "end: probes of 0 processes are off again\n")

    def test_what_others_have_switched_on_stays(self):
        process = self.start()
        self.set(process.pid, "state")
        self.set("--for", "600", process.pid, "+1:lat")
        agent = self.agent()
        self.assertEqual(self.mode(agent, process), ("full", 3, 3, None))
        self.assertEqual(self.listed(process)["sites_on"], 4)
        self.end(agent)
        listed = self.listed(process)
        self.assertEqual((listed["selection"], listed["leased"], listed["sites_on"]), ("state", "+1:lat", 2))

    def test_whoever_switches_off_has_the_last_word(self):
        # A short lease may be over on a busy machine before it is renewed, and then the agent asks anew: the last word is its own.
        process = self.start()
        agent = self.agent(lease="6")
        self.assertEqual(self.mode(agent, process)[0], "full")
        self.set(process.pid, "off")
        mode, on, wanted, why = self.mode(agent, process)
        self.assertEqual((mode, on, wanted), ("none", 0, 3))
        self.assertEqual(why, "another client has switched its probes off, and they stay off")
        self.assertEqual(self.listed(process)["sites_on"], 0)
        self.say(process, "exec")  # another program
        self.assertEqual(self.mode(agent, process), ("full", 3, 3, None))

    def test_a_lease_that_is_longer_than_connections_last(self):
        # The program drops clients that have asked nothing for 10 s.
        process = self.start()
        agent = self.agent(lease="31")
        self.assertEqual(self.mode(agent, process)[0], "full")
        self.set(process.pid, "off")
        self.assertEqual(self.mode(agent, process)[:3], ("none", 0, 3))
        self.assertEqual(self.listed(process)["sites_on"], 0)

    def test_a_program_that_stops_and_starts_spex(self):
        process = self.start()
        agent = self.agent(lease="1")
        self.assertEqual(self.mode(agent, process)[0], "full")
        for _ in range(3):
            self.say(process, "stop")
            self.say(process, "start")
            self.until(lambda: self.leased(process) == WANTED)

    def test_programs_come_and_go(self):
        agent = self.agent()
        first = self.start()
        self.assertEqual(self.mode(agent, first), ("full", 3, 3, None))
        second = self.start()
        self.assertEqual(self.mode(agent, second), ("full", 3, 3, None))
        self.say(first, "end")
        gone = self.event(agent)
        self.assertEqual((gone["event"], gone["pid"]), ("gone", first.pid))
        self.assertEqual(self.leased(second), WANTED)
        self.end(agent)
        self.assertEqual(self.listed(second)["sites_on"], 0)

    def test_programs_without_such_probes_are_left_alone(self):
        process = self.start()
        agent = self.agent(policy=self.policy('<unit type="glob" name="cart*" modes="lat"/>'))
        self.assertEqual(self.mode(agent, process), ("none", 0, 0, "it has no probe that the policy wants"))
        self.assertEqual(self.leased(process), "")

    def test_the_program_keeps_to_the_budget_of_the_policy(self):
        process = self.start()
        agent = self.agent(policy=self.policy('<unit type="probe" name="query" modes="lat"/>', "0.5%"))
        self.assertEqual(self.mode(agent, process), ("full", 1, 1, None))
        self.assertEqual(self.listed(process)["budget"], 0.005)
        self.assertEqual(self.leased(process), "+1:lat")
        self.end(agent)
        self.until(lambda: "budget" not in self.listed(process))

    def test_the_least_of_two_budgets_holds(self):
        process = self.start(environment=self.environment(SPEX_BUDGET="0.2%"))
        agent = self.agent(policy=self.policy('<unit type="probe" name="query" modes="lat"/>', "0.5%"))
        self.assertEqual(self.mode(agent, process), ("full", 1, 1, None))
        self.assertEqual(self.listed(process)["budget"], 0.002)

    def test_killed_agents_leave_nothing_on(self):
        process = self.start()
        for _ in range(KILLS):
            agent = self.agent(lease="1")
            self.assertEqual(self.mode(agent, process)[0], "full")
            self.kill(agent)
            listed = self.listed(process)
            self.assertLessEqual(listed.get("lease_seconds", 0), 0.95)
            self.until_on(process, 0)
            self.assertEqual(self.selected(process), "off")

    def test_the_next_agent_takes_over(self):
        process = self.start()
        self.kill(self.agent(lease="2"))
        before = self.agent(lease="2")
        self.assertEqual(self.mode(before, process)[0], "full")
        self.kill(before)
        agent = self.agent()
        self.assertEqual(self.mode(agent, process), ("full", 3, 3, None))

        def holds_alone():
            """What the other one held has ended by itself."""
            listed = self.listed(process)
            self.assertEqual(listed["sites_on"], 3)
            return listed.get("leased") == WANTED

        self.until(holds_alone)
        self.assertEqual(self.listed(process)["sites_on"], 3)

    def test_an_agent_that_was_stopped_goes_on(self):
        process = self.start()
        agent = self.agent(lease="1")
        self.assertEqual(self.mode(agent, process)[0], "full")
        agent.send_signal(signal.SIGSTOP)
        self.until_on(process, 0)
        agent.send_signal(signal.SIGCONT)
        self.until_on(process, 3)

    def test_a_program_that_is_stopped_holds_up_nobody(self):
        stopped, other = self.start(), self.start()
        agent = self.agent(lease="1")
        for _ in range(2):
            self.assertEqual(self.event(agent)["mode"], "full")
        stopped.send_signal(signal.SIGSTOP)
        self.addCleanup(stopped.send_signal, signal.SIGCONT)
        third = self.start()
        self.assertEqual(self.mode(agent, third), ("full", 3, 3, None))
        self.until(lambda: self.leased(other) == WANTED)
        agent.send_signal(signal.SIGTERM)
        errors = agent.communicate()[1]
        # On a busy machine the lease may be over by then, which leaves nothing to be said.
        if agent.returncode or errors:
            self.assertEqual(agent.returncode, 1, errors)
            self.assertIn("probes of process %d go off when their lease of 1 s is over" % stopped.pid, errors)
        self.assertEqual([self.listed(one)["sites_on"] for one in (other, third)], [0, 0])
        stopped.send_signal(signal.SIGCONT)
        self.until_on(stopped, 0)

    def test_what_is_wrong_is_said(self):
        policy, bad = self.policy(), self.path("bad.xml")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("<profiling-spec>\n")
        for arguments, status, pattern in [
                ([], 2, "agent: --policy was expected, or --nats$"),
                (["--policy", policy, "--lease", "0.5"], 2, "1 to 3600 seconds were expected"),
                (["--policy", policy, "0"], 1, "there is no process 0$"),
                (["--policy", bad], 1, r"bad\.xml:\d+: "),
                (["--policy", self.path("none.xml")], 1, "none.xml")]:
            with self.subTest(arguments=arguments):
                result = self.run_spex("agent", *arguments)
                self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
                self.assertRegex(result.stderr.splitlines()[-1], "^spex: .*" + pattern)


class Others(Commands):
    """Commands that follow a running program."""

    def command(self, *arguments):
        return self.followed(subprocess.Popen([SPEX, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                              text=True, env=self.environment()))

    def until_leased(self, process, command):
        self.until(lambda: self.leased(process))
        self.assertIsNone(command.poll())

    def test_killed_commands_leave_nothing_on(self):
        live = [self.start(), self.start(STALLED, "2000", program="1000000000",
                                         environment=self.environment(STALL=self.path("slow")))]
        self.addCleanup(live[1].kill)
        commands = [self.command("record", "--pid", live[0].pid, "-e", "query", "-o", self.path("trace")),
                    self.command("train", self.path("models"), "--pid", live[1].pid)]
        for process, command in zip(live, commands):
            self.until_leased(process, command)
        self.kill(*commands)
        for process in live:
            self.assertLessEqual(self.listed(process)["lease_seconds"], 10)
        for process in live:
            self.until_on(process, 0)
            self.assertEqual(self.selected(process), "off")


if __name__ == "__main__":
    if "--kills" in sys.argv:
        KILLS = int(sys.argv.pop(sys.argv.index("--kills") + 1))
        sys.argv.remove("--kills")
    SPEX, LIVE, STALLED = map(os.path.abspath, sys.argv[1:4])
    Programs.spex, Programs.live = SPEX, LIVE
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
