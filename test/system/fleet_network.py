#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A fleet whose network is cut, or is not safe: agent and NATS server in networks of the test's own, with TLS.

    fleet_network.py SPEX LIVE
"""

import itertools
import os
import shutil
import subprocess
import sys
import unittest

import fleet_master
import nats
from fleet_faults import Credentials, Faults, USERS
from fleet_master import is_instrumented
from running import Programs

# Names of network namespaces, and of what connects them, are of this process alone, and of one test: what another one has
# removed may still be there for a while.
NAME = "spex-%d" % os.getpid()
tests = itertools.count()


class Network(Faults):
    """The agent in another network, with TLS."""

    def setUp(self):
        Programs.setUp(self)
        self.program = shutil.copy(fleet_master.LIVE, self.path(fleet_master.NAME))
        test = next(tests)
        self.space = "%s-%d" % (NAME, test)
        number = (4 * os.getpid() + test) % 16384
        self.net = "10.%d.%d.%%d" % (64 + number // 256, number % 256)
        self.ends = ["sx%d%c%d" % (os.getpid(), end, test) for end in "ab"]
        self.addCleanup(self.ip, "netns", "del", self.space)
        self.ip("netns", "add", self.space)
        self.ip("link", "add", self.ends[0], "type", "veth", "peer", "name", self.ends[1], "netns", self.space)
        self.ip("addr", "add", self.net % 1 + "/30", "dev", self.ends[0])
        self.ip("link", "set", self.ends[0], "up")
        for arguments in (["addr", "add", self.net % 2 + "/30", "dev", self.ends[1]], ["link", "set", self.ends[1], "up"]):
            subprocess.run([*self.inside(), "ip", *arguments], check=True, capture_output=True)
        self.certify()
        tls = 'tls { cert_file: "%s", key_file: "%s" }\n' % (self.path("cert.pem"), self.path("key.pem"))
        self.server = nats.Server(self.path("nats"), USERS + tls)
        self.server.scheme, self.server.address = "tls", self.net % 1
        self.addCleanup(self.server.kill)
        self.server.start()

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    def inside(self):
        return ["nsenter", "--net=/run/netns/" + self.space]

    def certify(self, name=None):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                        "-subj", "/CN=test", "-addext", "subjectAltName=%s" % (name or "DNS:%s,IP:%s" % (
                            self.net % 1, self.net % 1)), "-keyout",
                        self.path("key.pem"), "-out", self.path("cert.pem")], check=True, capture_output=True)

    login = Credentials.login

    def options(self, login):
        return [*self.login(login), "--tls-ca", self.path("cert.pem")]

    def where(self):
        return self.options("master:m")

    def status(self):
        result = self.run_spex("fleet", "status", *self.options("reader:r"), "--fleet", "shop", "--json")
        return fleet_master.json.loads(result.stdout) if result.returncode == 0 else None

    def test_a_network_that_is_cut(self):
        self.processes = [self.instance() for _ in range(2)]
        self.master()
        agent = subprocess.Popen(
            [*self.inside(), fleet_master.SPEX, "agent", *self.options("agent:a"), "--fleet", "shop", "--host",
             "a", "--lease", self.lease, *[str(process.pid) for process in self.processes]],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.environment())
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        self.ip("link", "set", self.ends[0], "down")
        self.until_off()
        self.ip("link", "set", self.ends[0], "up")
        self.until_status(lambda s: is_instrumented(1)(s) and s["recorded"] == 3)
        self.until_on()

    def test_a_server_that_is_another_one(self):
        self.certify("DNS:other.example")
        self.server.kill()
        self.server.start()
        status = self.run_spex("fleet", "status", *self.options("reader:r"), "--fleet", "shop")
        self.assertEqual((status.returncode, status.stdout), (1, ""))
        self.assertNotIn("no master", status.stderr)

    def test_what_is_not_safe_is_refused(self):
        plain = "nats://" + self.server.url.split("//")[1]
        for arguments in (["--nats", self.server.url], ["--nats", plain, *self.login("reader:r")[2:]]):
            result = self.run_spex("fleet", "status", *arguments, "--fleet", "shop")
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertIn("off loopback, tls:// and --credentials or --tls-cert were expected", result.stderr)


def load_tests(loader, tests, pattern):
    """The class has the tests of its own alone."""
    return unittest.TestSuite(Network(name) for name in sorted(vars(Network)) if name.startswith("test_"))


def lacks():
    """What there is not of what the test needs; None: all is there."""
    for program in ("openssl", "ip", "nsenter", "unshare"):
        if not shutil.which(program):
            return program
    made = subprocess.run(["unshare", "--net", "sh", "-c", "ip link set lo up && ip netns add %s && ip netns del %s" % (NAME, NAME)],
                          capture_output=True, check=False)
    return "the right to make network namespaces" if made.returncode else None


if __name__ == "__main__":
    if "TEST_OWN_NETWORK" not in os.environ:
        if lacks():
            print("SKIP: fleet_network needs " + lacks())
            sys.exit(77)
        # No address of the test's is one of the machine.
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], {**os.environ, "TEST_OWN_NETWORK": "1"})
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    fleet_master.SPEX, fleet_master.LIVE = map(os.path.abspath, sys.argv[1:3])
    Programs.spex, Programs.live = fleet_master.SPEX, fleet_master.LIVE
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
