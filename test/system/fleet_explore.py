#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Explorations whose trials agents run, with a real NATS server: whatever is killed, each trial is counted once.

    fleet_explore.py SPEX SUBJECT
"""

import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import nats
from exploration import behaviours, Exploration, MANY, PATIENCE, space, SPEX, SUBJECT, subjects, WORK

# As docs/fleet.md has it.
USERS = """accounts { FLEET: { jetstream: enabled, users: [
  { user: explorer, password: e, permissions: {
      publish: ["spex.shop.trial.>", "spex.shop.offer.*", "$JS.API.>", "$JS.ACK.results_shop.>", "$JS.ACK.trials_shop.>"]
      subscribe: ["spex.shop.worker.*", "_INBOX.>"] } }
  { user: worker, password: w, permissions: {
      publish: ["spex.shop.worker.*", "spex.shop.result.*.*", "$JS.API.CONSUMER.INFO.trials_shop.*",
                "$JS.API.CONSUMER.MSG.NEXT.trials_shop.*", "$JS.ACK.trials_shop.>"]
      subscribe: ["spex.shop.offer.*", "_INBOX.>"] } }
] } }
"""
# Long enough for something to happen meanwhile.
SLOW = space(WORK, run='records_per_thread="1000000" warmup="0" duration="1" trials_per_config="2"')
QUICK = space(MANY, run='trials_per_config="1" warmup="0.01" finals="none"')
MANY_TIMES = space(MANY, run='trials_per_config="5" warmup="0.01" finals="none"')
ONE = space('<parameter name="work" type="integer" min="800" max="800"/>',
            run='records_per_thread="1000000" warmup="0" duration="1" trials_per_config="1"')


class Trials(Exploration):
    """Hosts are folders for temporary files, as each has its place for trials there."""

    def setUp(self):
        super().setUp()
        self.server = nats.Server(os.path.join(self.dir, "nats"))
        self.addCleanup(self.server.kill)
        self.server.start()

    def write(self, text, name="space.xml"):
        """An agent that starts may read the file: it is not written again as it is."""
        path = os.path.join(self.dir, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                if file.read() == text:
                    return path
        return super().write(text, name)

    def where(self):
        return ["--nats", self.server.url, "--fleet", "shop"]

    def home(self, host):
        path = os.path.join(self.dir, "host-" + host)
        os.makedirs(path, exist_ok=True)
        return path

    def start(self, *command, **more):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def agent(self, host, text=None, where=None, before=(), program=None):
        path = self.write(text, "agent.xml") if text else os.path.join(self.dir, "space.xml")
        return self.start(*before, SPEX, "agent", *(where or self.where()), "--host", host, "--json", "--explore", path, "--",
                          *(program or [SUBJECT]), env=dict(os.environ, TMPDIR=self.home(host)))

    def fleet_command(self, text, *options, where=None):
        command = self.command(text)
        end = command.index("--")
        return [SPEX, *command[:end], *(where or self.where()), *options, *command[end:]]

    def explorer(self, text, *options, where=None):
        return self.start(*self.fleet_command(text, *options, where=where), env=self.environment)

    def until(self, agent, kind):
        """The configuration of the agent's next event of this kind."""
        for line in agent.stdout:
            event = json.loads(line)
            if event["event"] == kind:
                return event["configuration"]
        self.fail("the agent has ended: " + agent.stderr.read())

    def until_line(self, process, words):
        for line in process.stderr:
            if words in line:
                return line
        self.fail("no line with: " + words)

    def ends(self, process, status=0):
        errors = process.stderr.read()
        self.assertEqual(process.wait(PATIENCE), status, errors)
        return errors

    def end(self, agent, status=0):
        """The configurations whose trials it has ended."""
        agent.terminate()
        events = [json.loads(line) for line in agent.stdout]
        self.ends(agent, status)
        return [event["configuration"] for event in events if event["event"] == "ended"]

    def counted(self):
        """How often each configuration is in the store, with a result."""
        rows = self.rows("SELECT value FROM trial JOIN trial_value ON trial = number WHERE status = 'ok'")
        return collections.Counter(value for value, in rows)

    def assert_all_once(self, trials, each):
        """Every plan has one trial, and every configuration its trials."""
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT asked) FROM trial"), [(trials, trials)])
        self.assertEqual(set(self.counted().values()), {each})

    def hosts(self):
        return {host for host, in self.rows("SELECT DISTINCT host FROM trial JOIN machine ON machine = machine.id")}

    def exploration(self):
        """What the fleet knows it by."""
        return self.rows("SELECT exploration FROM fleet")[0][0]

    def assert_nothing_left(self):
        super().assert_nothing_left()
        for host in "ab":
            self.assertEqual(os.listdir(self.home(host)), [])


class Run(Trials):
    def test_trials_run_on_several_hosts(self):
        self.write(QUICK)
        agents = [self.agent(host) for host in "ab"]
        explorer = self.explorer(QUICK)
        self.assertIn("; hosts ", self.ends(explorer))
        ended = sum((self.end(agent) for agent in agents), [])
        self.assert_all_once(60, 1)
        # On a busy machine one may be delivered again, which counts once.
        self.assertGreaterEqual(len(ended), 60)
        self.assertEqual(self.hosts() - {"a", "b"}, set())
        report = self.report()
        self.assertEqual({m["host"] for m in report["machines"]}, self.hosts())
        self.assertFalse(report["mixed"])
        if len(self.hosts()) > 1:
            self.assertIn("which are of one class", self.spex("report", self.store).stdout)
        self.assertTrue(all(trial["usage"] for trial in report["trials"]))
        self.assertEqual(self.rows("SELECT count(DISTINCT trial) FROM trial_metric")[0][0], 60)
        self.assert_nothing_left()

    def test_a_policy_learns_from_them(self):
        self.write(QUICK)
        agent = self.agent("a")
        result = subprocess.run([argument if argument != "grid" else "gaussian" for argument in self.fleet_command(QUICK)],
                                env=self.environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.end(agent)
        self.assertGreater(sum(self.counted().values()), 4)

    def test_a_command_without_probes(self):
        text = ('<space name="test"><parameter name="n" type="integer" min="1" max="6"/>'
                '<objective output="n=([0-9]+)" goal="maximise"/><objective command="wall" goal="minimise"/></space>')
        command = ["sh", "-c", "echo n={n}"]
        self.write(text)
        agent = self.agent("a", program=command)
        result = self.fleet_command(text)
        explorer = self.start(*result[:result.index("--") + 1], *command, env=self.environment)
        self.ends(explorer)
        trials = self.report()["trials"]
        self.assertEqual({(trial["config"]["n"], trial["measured"][0]["value"], trial["status"]) for trial in trials},
                         {(n, n, "ok") for n in range(1, 7)})
        self.end(agent)

    def test_a_trial_that_fails(self):
        text = space(behaviours("steady", "exit"), run='records_per_thread="500" warmup="0" trials_per_config="1"')
        self.write(text)
        agent = self.agent("a")
        self.ends(self.explorer(text))
        self.assertEqual(self.rows("SELECT status FROM trial ORDER BY status"), [("exited with status 3: out of work",), ("ok",)])
        self.assertEqual(sorted(self.end(agent)), ["behaviour=exit", "behaviour=steady"])
        self.assert_nothing_left()

    def test_what_an_agent_does_not_allow(self):
        self.write(QUICK)
        others = [self.agent("a", SLOW), self.agent("b", program=[SUBJECT, "--more"])]
        explorer = self.explorer(QUICK)
        self.until_line(explorer, "no agent is there that may run this space and program")
        agent = self.agent("c")
        self.assertTrue(self.until_line(explorer, "; hosts ").endswith("; hosts c\n"))
        # An agent says that a trial has ended before its result is on the way.
        while not self.counted():
            self.until(agent, "ended")
        explorer.send_signal(signal.SIGINT)
        self.ends(explorer, 130)
        self.end(agent)
        self.assertEqual([self.end(other) for other in others], [[], []])
        self.assertEqual(self.hosts(), {"c"})

    def test_one_place_a_host(self):
        self.write(QUICK)
        first = self.agent("a")
        explorer = self.explorer(QUICK)
        self.until(first, "began")
        self.assertIn("another process of this user runs trials", self.ends(self.agent("a"), 1))
        self.ends(explorer)
        self.end(first)

    def test_what_is_wrong_in_the_command_line(self):
        for options, words in ((["--nats", self.server.url], "--fleet with the name"),
                               (["--fleet", "shop"], "with --nats alone"),
                               ([*self.where(), "--mixed"], "--mixed")):
            self.assertIn(words, self.ends(self.explorer(QUICK, where=options), 2))
        for arguments, words in ((["--explore", "x.xml", *self.where()], "together"),
                                 (["--explore", "x.xml", "--", SUBJECT], "with --nats"),
                                 (["--explore", "none.xml", *self.where(), "--", SUBJECT], "none.xml")):
            result = self.spex("agent", *arguments)
            self.assert_fails(result, 1 if "none.xml" in arguments else 2, words)
        self.write(QUICK)
        self.assertIn("a file that can be run was expected", self.ends(self.agent("a", program=["./no-such-program"]), 1))


@unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "one CPU makes one class")
class Classes(Trials):
    def few(self):
        """An agent on fewer CPUs: another class."""
        return self.agent("few", before=["taskset", "-c", str(min(os.sched_getaffinity(0)))])

    def test_trials_are_of_one_class(self):
        self.write(QUICK)
        few, all_cpus = self.few(), self.agent("a")
        for agent in few, all_cpus:
            self.until_line(agent, "waits for trials of fleet shop")
        errors = self.ends(self.explorer(QUICK), 1)
        self.assertIn("--class was expected: hosts of 2 classes are there", errors)
        classes = {line.split("hosts ")[1]: line.split("class ")[1][:16] for line in errors.splitlines() if "; hosts " in line}
        self.assertEqual(set(classes), {"a", "few"})
        explorer = self.explorer(QUICK, "--class", classes["a"])
        self.assertIn("host few runs no trials here: it is of another class, " + classes["few"], self.ends(explorer))
        self.assertEqual((self.hosts(), self.end(few)), ({"a"}, []))
        self.assertIn("needs another one", self.ends(self.explorer(QUICK, "--class", classes["few"]), 1))
        self.end(all_cpus)
        self.assert_all_once(60, 1)


class Faults(Trials):
    def test_an_agent_that_is_killed(self):
        self.write(SLOW)
        first = self.agent("a")
        explorer = self.explorer(SLOW)
        lost = self.until(first, "began")
        first.kill()
        self.assertEqual(first.wait(), -signal.SIGKILL)
        second = self.agent("b")
        self.ends(explorer)
        ended = self.end(second)
        self.assertIn(lost, ended)
        self.assert_all_once(4, 2)
        self.assertEqual(self.hosts(), {"b"})
        # What it has left is removed by the next one of its host.
        self.assertNotEqual(os.listdir(self.home("a")), [])
        again = self.agent("a")
        another = self.fleet_command(SLOW)
        another[another.index(self.store)] = os.path.join(self.dir, "other.db")
        explorer = self.start(*another, env=self.environment)
        self.until(again, "ended")
        self.ends(explorer)
        self.end(again)
        self.assert_nothing_left()

    def test_an_agent_that_is_late(self):
        """Its trial is given to another one, and comes twice."""
        self.write(SLOW)
        first = self.agent("a")
        explorer = self.explorer(SLOW)
        late = self.until(first, "began")
        first.send_signal(signal.SIGSTOP)
        second = self.agent("b")
        # Then its result is in the queue, before that of the first one.
        while self.until(second, "sent") != late:
            continue
        first.send_signal(signal.SIGCONT)
        self.assertEqual(self.until(first, "ended"), late)
        self.ends(explorer)
        self.end(first)
        self.end(second)
        self.assert_all_once(4, 2)
        self.assert_nothing_left()

    def test_a_server_that_is_killed(self):
        self.write(SLOW)
        agent = self.agent("a")
        explorer = self.explorer(SLOW)
        self.until(agent, "began")
        self.server.kill()
        self.until(agent, "ended")
        self.until_line(explorer, "NATS is not there")
        self.server.start()
        self.until_line(explorer, "NATS is there again")
        self.ends(explorer)
        self.end(agent)
        self.assert_all_once(4, 2)

    def test_a_program_that_is_replaced(self):
        """A machine with another build is of another class: what it has measured does not count."""
        program = os.path.join(self.dir, "program")
        shutil.copy(SUBJECT, program)
        self.write(SLOW)
        agent = self.agent("a", program=[program])
        command = self.fleet_command(SLOW)
        explorer = self.start(*command[:command.index("--") + 1], program, env=self.environment)
        self.until(agent, "began")
        for build, event in ((SPEX, "changed"), (SUBJECT, "ended")):
            shutil.copy(build, program + ".new")
            os.replace(program + ".new", program)
            self.until(agent, event)
        self.ends(explorer)
        self.end(agent)
        self.assert_all_once(4, 2)

    def test_a_server_that_has_lost_all(self):
        """Also a trial whose agent was killed, which is in no queue any more."""
        self.write(SLOW)
        agent, killed = self.agent("a"), self.agent("b")
        explorer = self.explorer(SLOW)
        self.until(agent, "began")
        agent.send_signal(signal.SIGSTOP)
        lost = self.until(killed, "began")
        killed.kill()
        agent.send_signal(signal.SIGCONT)
        self.server.kill()
        shutil.rmtree(os.path.join(self.server.folder, "store"))
        self.server.start()
        self.ends(explorer)
        self.assertIn(lost, self.end(agent))
        self.assert_all_once(4, 2)

    def test_an_explorer_that_is_killed(self):
        self.write(SLOW)
        agent = self.agent("a")
        explorer = self.explorer(SLOW, "--jobs", "1")
        ended = [self.until(agent, "sent")]
        self.until(agent, "began")
        explorer.kill()
        explorer.wait()
        before = self.rows("SELECT number, asked, value FROM trial JOIN trial_measured ON trial = number")
        # Its result waits.
        ended.append(self.until(agent, "sent"))
        self.ends(self.explorer(SLOW, "--jobs", "1"))
        ended += self.end(agent)
        self.assertEqual(len(ended), 4)
        self.assert_all_once(4, 2)
        after = self.rows("SELECT number, asked, value FROM trial JOIN trial_measured ON trial = number")
        self.assertEqual(after[:len(before)], before)

    def test_everything_is_killed_again_and_again(self):
        self.write(MANY_TIMES)
        agents = {host: self.agent(host) for host in "ab"}
        for victim in (*"abab", "server", "explorer", *"ab"):
            explorer = self.explorer(MANY_TIMES, "--jobs", "2")
            self.until(agents["b" if victim == "a" else "a"], "ended")
            if victim == "server":
                self.server.kill()
                self.server.start()
            elif victim != "explorer":
                agents[victim].kill()
                agents[victim].wait()
                agents[victim] = self.agent(victim)
            explorer.kill()
            explorer.wait()
        self.ends(self.explorer(MANY_TIMES))
        for agent in agents.values():
            self.end(agent)
        self.assert_all_once(300, 5)

    def test_a_trial_that_no_agent_ends(self):
        self.write(ONE)
        explorer = self.explorer(ONE)
        for _ in range(5):
            agent = self.agent("a")
            self.until(agent, "began")
            self.end(agent)
        agent = self.agent("a")
        self.assertIn("no trial has a result", self.ends(explorer, 1))
        self.assertEqual(self.rows("SELECT status FROM trial"), [("was given to 5 workers, of which none has ended it",)])
        self.ends(self.explorer(ONE, "--retry-failed"))
        self.assertEqual(self.rows("SELECT status, retried FROM trial"), [("ok", 1)])
        self.end(agent)
        self.assert_nothing_left()


class Enemies(Trials):
    def client(self, login=None):
        client = nats.Client(self.server, login)
        self.addCleanup(client.close)
        return client

    def result(self, exploration, **changed):
        """A result as an agent would send it, but for what is changed."""
        good = {"format": 1, "exploration": exploration, "class": "0" * 16, "trial": [1, 0], "levels": [0], "ok": True,
                "status": "ok", "measured": [[1e9, 1.0]], "used": 1, "lost": 0, "seconds": 1.0, "steady": True, "usage": None,
                "loads": [], "note": None, "metrics": [], "machine": ["evil"] * 7}
        return json.dumps({**good, **changed}).encode()

    def test_messages_that_nobody_should_send(self):
        self.write(SLOW)
        agent = self.agent("a")
        explorer = self.explorer(SLOW)
        self.until(agent, "began")
        client, exploration = self.client(), self.exploration()
        machine = list(self.rows("SELECT class FROM fleet")[0])
        huge = b"[" * (1 << 20)
        for subject in ("result.%s.1-0" % exploration, "trial.%s.9-0" % exploration, "worker.evil", "offer." + exploration):
            for data in (b"", b"\xff\x00", b"{}", b'{"format":1}', huge, b'{"format":1,"key":"\x1b[2J"}',
                         self.result(exploration), self.result(exploration, machine=machine * 7),
                         self.result(exploration, trial=[10**6, 0]), self.result(exploration, measured=[]),
                         self.result(exploration, levels=[7])):
                client.send("spex.shop." + subject, data)
        self.assertTrue(client.ping())
        errors = self.ends(explorer)
        self.assertIn("is refused", errors)
        self.assertNotIn("\x1b", errors)
        self.end(agent)
        self.assert_all_once(4, 2)
        self.assertEqual(self.hosts(), {"a"})

    def test_results_that_nobody_asked_for(self):
        """Of a machine of the class: for another configuration, and of trials that were not handed out."""
        self.write(SLOW)
        agent = self.agent("a")
        explorer = self.explorer(SLOW)
        self.until(agent, "began")
        while not self.counted():
            self.until(agent, "ended")
        level = 1 if self.until(agent, "began") == "work=200" else 0
        client, exploration = self.client(), self.exploration()
        machine = self.rows("SELECT host, kernel, cpu, cpus, memory, build, spex FROM machine")[0]
        for trial in (1, 2, 3, 4, 10**6):
            data = self.result(exploration, machine=machine, trial=[trial, 0], levels=[level],
                               **{"class": self.rows("SELECT class FROM fleet")[0][0]})
            client.send("spex.shop.result.%s.%d-0" % (exploration, trial), data)
        self.assertTrue(client.ping())
        errors = self.ends(explorer)
        self.assertIn("is refused: another configuration was expected", errors)
        self.assertIn("is refused: no such trial was handed out", errors)
        self.end(agent)
        self.assert_all_once(4, 2)

    def login(self, login):
        path = os.path.join(self.dir, login.replace(":", "-"))
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(login)
        return [*self.where(), "--credentials", path]

    def test_credentials(self):
        self.server.kill()
        self.server.options = USERS
        self.server.start()
        self.write(QUICK)
        self.assertIn("refuses the credentials", self.ends(self.agent("b", where=self.login("worker:wrong")), 1))
        self.assertIn("refuses the credentials", self.ends(self.explorer(QUICK, where=self.login("explorer:wrong")), 1))
        agent = self.agent("a", where=self.login("worker:w"))
        self.ends(self.explorer(QUICK, where=self.login("explorer:e")))
        self.assertEqual(len(self.end(agent)), 60)
        self.assert_all_once(60, 1)
        # An agent's user hands out no trials.
        client = self.client(("worker", "w"))
        client.send("spex.shop.trial.%s.1-0" % self.exploration(), b"{}")
        self.assertFalse(client.ping())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
