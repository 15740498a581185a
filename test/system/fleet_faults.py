#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fleet whose master, agents, NATS server fail, whose clocks are off, and which others attack.

    fleet_faults.py SPEX LIVE
"""

import json
import os
import shutil
import subprocess
import sys
import unittest

import fleet_master
import nats
from fleet_master import Fleet, is_instrumented, modes
from running import Beside, Programs

USERS = """accounts { FLEET: { jetstream: enabled, users: [
  { user: master, password: m, permissions: { publish: ["spex.shop.>", "$JS.API.>", "$KV.spex_shop.>", "_INBOX.>"] } }
  { user: agent, password: a, permissions: {
      publish: ["spex.shop.report.*", "spex.shop.profile.*", "spex.shop.kernels.*", "$JS.API.STREAM.NAMES",
                "$JS.API.STREAM.INFO.KV_spex_shop", "$JS.API.CONSUMER.CREATE.KV_spex_shop",
                "$JS.API.CONSUMER.DELETE.KV_spex_shop.*", "$JS.FC.>"]
      subscribe: ["spex.shop.master.*", "_INBOX.>"] } }
  { user: reader, password: r, permissions: { publish: ["spex.shop.ask.*"], subscribe: ["_INBOX.>"] } }
] } }
"""


class Faults(Fleet):
    # A master is heard of each second.
    lease = "2"

    def led(self, count=2):
        """A fleet with one host, half of whose instances record the map."""
        self.processes = [self.instance() for _ in range(count)]
        self.first = self.master()
        self.only = self.agent("a", processes=self.processes)
        return self.until_status(lambda s: is_instrumented(count // 2)(s) and s["recorded"] == 3)

    def sum_on(self):
        return sum(self.sites_on(process) for process in self.processes)

    def until_off(self):
        self.until(lambda: not any(self.sites_on(process) for process in self.processes))

    def until_on(self, instrumented=1):
        """The map at some, the probe of the response time at all."""
        self.until(lambda: self.sum_on() == 2 * instrumented + len(self.processes))

    def kill(self, command):
        command.kill()
        command.communicate()

    def test_a_master_that_starts_again_goes_on(self):
        before = modes(self.led(4))
        self.kill(self.first)
        self.master()
        after = self.until_status(lambda s: s["count"] == 4 and s["recorded"] == 3)
        self.assertEqual(modes(after), before)
        self.assertEqual({i["cause"] for i in after["instances"] if i["mode"] == "full"}, {"adopted"})

    def test_without_a_master_nothing_stays_on(self):
        self.led()
        self.kill(self.first)
        self.until_off()
        self.assertIn("nothing was heard of a master for %s s" % self.lease, self.only.stderr.readline())
        self.master()
        self.until_on()

    def test_an_agent_that_is_killed(self):
        self.led()
        self.kill(self.only)
        for process in self.processes:
            self.assertLessEqual(self.programs()[process.pid].get("lease_seconds", 0), float(self.lease))
        self.until_off()
        self.until_status(lambda s: s["hosts"] == 0)
        self.agent("a", processes=self.processes)
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        self.until_on()

    def test_master_and_agent_that_are_killed(self):
        self.led()
        self.kill(self.first)
        self.kill(self.only)
        for process in self.processes:
            self.assertLessEqual(self.programs()[process.pid].get("lease_seconds", 0), float(self.lease))
        self.until_off()

    def test_nats_that_is_killed(self):
        self.led()
        self.server.kill()
        self.until_off()
        self.server.start()
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        self.until_on()

    def test_nats_that_has_lost_all(self):
        self.led()
        self.server.kill()
        shutil.rmtree(os.path.join(self.server.folder, "store"))
        self.server.start()
        # Nothing tells the agent what to do until the master has made the bucket again.
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        self.until_on()

    def test_nats_that_comes_last(self):
        self.server.kill()
        self.processes = [self.instance() for _ in range(2)]
        self.agent("a", processes=self.processes)
        self.master(leads=False)
        self.assertEqual(self.sum_on(), 0)
        self.server.start()
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        self.until_on()

    def test_two_agents_of_one_name(self):
        self.led()
        self.agent("a", processes=self.processes)
        self.assertIn("two agents have this name", self.first.stderr.readline())
        self.until_status(lambda s: s["refused"] > 3 and s["count"] == 2)


class Attacks(Faults):
    def flood(self, enemy, subject, data, times=1):
        for _ in range(times):
            enemy.send(subject, data)
        enemy.ping()

    def test_malformed_and_huge_messages(self):
        before = modes(self.led())
        enemy = nats.Client(self.server)
        self.addCleanup(enemy.close)
        bad = [b"", b"{", b"\x00\xff", b"[" * 100000, b'{"format":1}', b'{"format":1,"agent":1e400}', b"x" * 1000000,
               b'{"format":1,"agent":1,"desired":0,"probes":["\\u001b"],"instances":[]}']
        for data in bad:
            self.flood(enemy, "spex.shop.report.a", data)
        self.flood(enemy, "spex.shop.report.b\x1bc", b"{}")
        self.flood(enemy, "spex.shop.report.b", b"{}", times=20000)
        self.flood(enemy, "spex.shop.ask.status", b"\xff" * 100)
        for data in bad:
            self.flood(enemy, "$KV.spex_shop.host.a", data)
            self.flood(enemy, "$KV.spex_shop.policy", data)
        status = self.until_status(lambda s: s["refused"] >= 20009)
        self.assertEqual((modes(status), status["hosts"]), (before, 1))
        self.until_on()
        self.assertEqual((self.first.poll(), self.only.poll()), (None, None))
        self.assertRegex(self.first.stderr.readline(), "^spex: fleet master: a report of host a was refused: ")

    def test_a_message_that_nats_itself_refuses(self):
        self.led()
        enemy = nats.Client(self.server)
        self.addCleanup(enemy.close)
        try:
            enemy.send("spex.shop.report.a", b"x" * (2 << 20))
            self.assertFalse(enemy.ping())
        except OSError:  # the server has closed the connection
            pass
        self.until_on()

    def until_mode(self, mode):
        """The agent's next line that tells it of an instance."""
        while json.loads(self.only.stdout.readline()).get("mode") != mode:
            continue

    def test_what_is_desired_is_written_again(self):
        self.led()
        self.until_mode("full")
        enemy = nats.Client(self.server)
        self.addCleanup(enemy.close)
        # As another master's, with nothing in it: the agent leaves the probe of the response time alone on, and says
        # which number it has.
        self.flood(enemy, "$KV.spex_shop.host.a", b'{"format":1,"number":7,"probes":[],"instances":[]}')
        self.until_mode("partial")
        self.until_mode("full")
        self.until_on()


class Credentials(Faults):
    def setUp(self):
        Programs.setUp(self)
        self.program = self.copied(fleet_master.LIVE, fleet_master.NAME)
        self.server = self.nats(USERS)

    def login(self, text, mode=0o600):
        path = self.path("login-" + text.replace(":", "-"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(path, mode)
        return ["--nats", self.server.url, "--credentials", path]

    def where(self):
        return self.login("master:m")

    def status(self):
        result = self.run_spex("fleet", "status", *self.login("reader:r"), "--fleet", "shop", "--json")
        return fleet_master.json.loads(result.stdout) if result.returncode == 0 else None

    def test_users_that_may_do_what_they_must(self):
        self.processes = [self.instance() for _ in range(2)]
        self.master()
        self.agent("a", where=self.login("agent:a"), processes=self.processes)
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        self.until_on()

    def test_wrong_credentials(self):
        for login in ("agent:wrong", "nobody", ""):
            with self.subTest(login):
                agent = self.agent("a", where=self.login(login))
                self.assertEqual(agent.wait(), 1)
                self.assertRegex(agent.stderr.read(), "^spex: agent: (NATS at .* refuses the credentials|--credentials: )")
        agent = self.agent("a", where=self.login("agent:a", mode=0o644))
        self.assertEqual(agent.wait(), 1)
        self.assertIn("its owner alone can read", agent.stderr.read())

    def test_an_agent_cannot_lead(self):
        master = self.command("fleet", "master", self.policy(), *self.login("agent:a"))
        self.assertEqual(master.wait(), 1)
        self.assertIn("NATS does not permit it", master.stderr.read())


CLOCKS = ["unshare", "--time", "--fork", "--kill-child", "--monotonic", "%d", "--boottime", "%d"]


def clocks(seconds):
    return [word % seconds if "%" in word else word for word in CLOCKS]


@unittest.skipIf(subprocess.run([*clocks(60), "true"], capture_output=True, check=False).returncode,
                 "this user may not make time namespaces")
class Clocks(Faults):
    def test_clocks_that_are_off_by_minutes(self):
        self.processes = [self.instance() for _ in range(2)]
        commands = [["fleet", "master", self.policy()], ["agent", "--fleet", "shop", "--host", "a", "--lease", self.lease,
                                                         *[str(process.pid) for process in self.processes]]]
        for seconds, command in zip((420, 86400), commands):
            running = subprocess.Popen([*clocks(seconds), fleet_master.SPEX, *command, *self.where()],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment())
            self.addCleanup(running.wait)
            self.addCleanup(running.kill)
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        self.until_on()
        running.kill()
        self.until_off()


def load_tests(loader, tests, pattern):
    """Each class has the tests of its own alone."""
    return Beside(case(name) for case in (Faults, Attacks, Credentials, Clocks) for name in sorted(vars(case))
                  if name.startswith("test_"))


if __name__ == "__main__":
    fleet_master.SPEX, fleet_master.LIVE = map(os.path.abspath, sys.argv[1:3])
    Programs.spex, Programs.live = fleet_master.SPEX, fleet_master.LIVE
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
