#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Services of `spex explore`: servers that run during each trial, which the program puts load on.

usage: explore_services.py SPEX SUBJECT [unittest arguments]
"""

import os
import signal
import socket
import subprocess
import sys
import unittest
from xml.sax.saxutils import quoteattr

from exploration import Exploration, PATIENCE, SPEX

# Answers with its first argument. It says when it has ended, and that it was asked to.
SERVER = """
import os, signal, socket, sys
answer, port, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def end(number, frame):
    open(folder + "/ended", "a").write(answer)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listening.bind(("127.0.0.1", port))
listening.listen()
open(folder + "/pids", "a").write("%d\\n" % os.getpid())
while True:
    connection, _ = listening.accept()
    connection.sendall(answer.encode())
    connection.close()
"""

CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    print("answer:", connection.recv(100).decode())
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Services(Exploration):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.server = self.write(SERVER, "server.py")
        self.client = self.write(CLIENT, "client.py")

    def serve(self, answer="{n}"):
        return f"exec python3 {self.server} {answer} {self.port} {self.dir}"

    def space(self, *services, rest="", values="1 2"):
        elements = "".join(f"<service command={quoteattr(command)} ready={quoteattr(ready)} {more}/>\n"
                           for command, ready, more in services)
        return (f'<space name="services"><parameter name="n" type="integer" values="{values}"/>\n'
                f'<objective output="answer: ([0-9]+)" goal="maximise"/>\n{elements}{rest}</space>\n')

    def ask(self):
        return ["python3", self.client, str(self.port)]

    def assert_services_ended(self, count=None):
        path = os.path.join(self.dir, "pids")
        pids = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                pids = file.read().split()
        if count is not None:
            self.assertEqual(len(pids), count)
        for pid in pids:
            self.assertFalse(os.path.exists(f"/proc/{pid}"), pid)
        self.assert_nothing_left()

    def reason(self, *services, program=None, **more):
        """Why the trials failed."""
        result = self.explore(self.space(*services, values="1", **more), program or self.ask())
        self.assertNotEqual(result.returncode, 0)
        trial = self.report()["trials"][0]
        self.assert_services_ended()
        return trial["status"]

    def test_the_program_talks_to_a_service_of_its_configuration(self):
        for ready in [f"port:{self.port}", f"test -s {self.dir}/pids && python3 {self.client} {self.port}"]:
            with self.subTest(ready=ready):
                if os.path.exists(self.store):
                    os.remove(self.store)
                result = self.explore(self.space((self.serve(), ready, "")), self.ask())
                self.assertEqual(result.returncode, 0, result.stderr)
                report = self.report()
                self.assertEqual({trial["config"]["n"]: trial["objective"] for trial in report["trials"]},
                                 {1: 1, 2: 2})
                self.assert_services_ended(count=2)
                with open(f"{self.dir}/ended", encoding="utf-8") as file:
                    self.assertEqual(sorted(file.read()), ["1", "2"])  # by SIGTERM, once each
                load = report["trials"][0]["load"][0]
                self.assertEqual(load["stressor"], "service python3")
                for name in ["pids", "ended"]:
                    os.remove(f"{self.dir}/{name}")

    def test_services_begin_in_their_order_and_end_the_other_way_round(self):
        order = f"{self.dir}/order"
        first = (f"trap 'echo end1 >> {order}; exit' TERM; echo begin1 >> {order}; touch {self.dir}/one; "
                 "while :; do sleep 0.01; done")
        second = (f"test -e {self.dir}/one || exit 9; trap 'echo end2 >> {order}; exit' TERM; echo begin2 >> {order}; "
                  f"touch {self.dir}/two; while :; do sleep 0.01; done")
        rest = f'<teardown command="echo teardown &gt;&gt; {order}; rm {self.dir}/one {self.dir}/two"/>'
        result = self.explore(self.space((first, f"test -e {self.dir}/one", ""), (second, f"test -e {self.dir}/two", ""),
                                         rest=rest, values="1"), ["sh", "-c", f"echo run >> {order}; echo answer: 3"])
        self.assertEqual(result.returncode, 0, result.stderr + str(self.report()["trials"]))
        with open(order, encoding="utf-8") as file:
            self.assertEqual(file.read().split(), ["begin1", "begin2", "run", "end2", "end1", "teardown"])
        self.assert_nothing_left()

    def test_what_services_use_is_measured(self):
        """Of all services together, the whole time that they run; not of the program."""
        busy = self.write(f"""
import sys, time
n, kept = int(sys.argv[1]), bytearray(int(sys.argv[1]) << 25)
while time.process_time() < n * 0.1:
    pass
open(sys.argv[2], "w").close()
time.sleep({PATIENCE})
""", "busy.py")
        services = [(f"exec python3 {busy} {n} {self.dir}/{name}", f"rm {self.dir}/{name}", "")
                    for name, n in [("one", "{n}"), ("two", "1")]]
        text = self.space(*services, rest='<limit service="memory" at_most="128MiB"/>').replace(
            '<objective output="answer: ([0-9]+)" goal="maximise"/>',
            "".join(f'<objective service="{what}" goal="minimise"/>' for what in ["cpu", "faults", "switches"]))
        # The program would add 1.6 seconds.
        program = ["sh", "-c", f"exec python3 {busy} 8 {self.dir}/load & while ! rm {self.dir}/load 2>&1; do :; done"]
        result = self.explore(text, program)
        self.assertEqual(result.returncode, 0, result.stderr)
        trials = self.report()["trials"]
        self.assertEqual([trial["status"] for trial in trials], ["ok", "ok"])
        values = {trial["config"]["n"]: [one["value"] for one in trial["measured"]] for trial in trials}
        for n, (cpu, faults, switches, memory) in values.items():
            self.assertTrue((n + 1) * 0.1 <= cpu < (n + 1) * 0.1 + 1, (n, cpu))
            self.assertGreater(faults, 0)
            self.assertGreater(switches, 0)
            self.assertGreater(memory, (n + 1) << 25)
        text = self.spex("report", self.store).stdout
        self.assertIn("minimise CPU time of services\n", text)
        self.assertIn("peak memory of services at most 128 MiB\n", text)

    def test_options_can_be_of_what_services_use(self):
        command, ready = f"test {{n}} = 1 || dd if=/dev/zero of=/dev/null bs=1M count=2000 2>&1; : > {self.dir}/up; " \
                         "exec sleep 1000", f"rm {self.dir}/up"
        result = self.spex("explore", "--set", "n=1|2", "--minimise", "service=cpu", "--service", command, "--ready", ready,
                           "--for", "2s", "--store", self.store, "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.report()["best"]["config"], {"n": 1})
        with open(self.store.replace(".db", ".xml"), encoding="utf-8") as file:
            self.assertIn('<objective service="cpu" goal="minimise"/>', file.read())
        for options, words in [(["--minimise", "service=cpu"], "CPU time of services: a <service> was expected"),
                               (["--minimise", "service=wall"], 'service="wall": cpu, memory, faults or switches was')]:
            result = self.spex("explore", "--set", "n=1|2", *options, "--store", f"{self.dir}/none.db", "--", "echo", "{n}")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(words, result.stderr)

    def test_one_that_ends_at_once(self):
        reason = self.reason(("echo starting; echo cannot bind >&2; exit 3", f"port:{self.port}", ""))
        self.assertEqual(reason, "service echo starting; echo cannot bind >&2; exit 3 ended before it was ready: exited "
                                 "with status 3: cannot bind")

    def test_one_that_is_never_ready(self):
        for ready, answer in [("echo no answer; false", "exited with status 1: no answer"),
                              (f"port:{self.port}", "refused a connection"), ("sleep 1000", "did not end")]:
            with self.subTest(ready=ready):
                reason = self.reason(("echo warming up; exec sleep 1000", ready, 'timeout="0.3"'))
                self.assertTrue(reason.startswith("service echo warming up; exec sleep 1000: was not ready in 0.3 s ("),
                                reason)
                self.assertIn(answer, reason)
                self.assertTrue(reason.endswith("; its last output: warming up"), reason)
                os.remove(self.store)

    def test_one_that_ends_before_the_program(self):
        reason = self.reason((f"touch {self.dir}/there; read line < {self.dir}/pipe; echo lost >&2; exit 4",
                              f"test -e {self.dir}/there", ""),
                             program=["sh", "-c", f"echo > {self.dir}/pipe; exec sleep 1000"],
                             rest=f'<setup command="mkfifo {self.dir}/pipe"/>')
        self.assertTrue(reason.endswith("ended before the program: exited with status 4: lost"), reason)

    def test_another_server_is_not_taken_for_it(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", self.port))
            other.listen()
            reason = self.reason((self.serve(), f"port:{self.port}", ""))
        self.assertIn("tells that it is ready before it was started: another one seems to run", reason)

    def test_it_ends_with_a_program_that_fails(self):
        for program, expected, run in [(["sh", "-c", "echo broken >&2; exit 5"], "exited with status 5: broken", ""),
                                       (["sleep", "1000"], "did not end in 0.2 s", '<run duration="0.2" warmup="0"/>')]:
            with self.subTest(program=program):
                reason = self.reason((self.serve(), f"port:{self.port}", ""), program=program, rest=run)
                self.assertIn(expected, reason)
                os.remove(self.store)

    def test_what_a_service_has_started_ends_with_it(self):
        # One in its own session that ignores SIGTERM, as a daemon of its own.
        child = self.write(f"trap '' TERM; echo $$ >> {self.dir}/pids; exec sleep 1000", "child.sh")
        ready = f"test $(wc -l < {self.dir}/pids) -eq 2 && python3 {self.client} {self.port}"
        result = self.explore(self.space((f"setsid sh {child} & {self.serve()}", ready, ""), values="1"), self.ask())
        self.assertEqual(result.returncode, 0, result.stderr + str(self.report()["trials"]))
        self.assert_services_ended(count=2)

    def test_one_that_does_not_end_is_killed(self):
        command = f"trap '' TERM; echo $$ >> {self.dir}/pids; while :; do sleep 0.05; done"
        result = self.explore(self.space((command, f"test -e {self.dir}/pids", ""), values="1"),
                              ["echo", "answer: 7"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_services_ended(count=1)

    def test_one_that_writes_much_is_not_held_up(self):
        command = (f"i=0; while [ $i -lt 4000 ]; do echo {'x' * 100}; i=$((i + 1)); done; touch {self.dir}/done; "
                   "exec sleep 1000")
        result = self.explore(self.space((command, f"test -e {self.dir}/done", ""), values="1"),
                              ["echo", "answer: 7"])
        self.assertEqual(result.returncode, 0, result.stderr + str(self.report()["trials"]))
        self.assert_nothing_left()

    def test_interruption_ends_it(self):
        text = self.space((self.serve(), f"port:{self.port}", ""))
        program = ["sh", "-c", f"touch {self.dir}/runs; exec sleep 1000"]
        with subprocess.Popen([SPEX, *self.command(text, program)], env=self.environment, stderr=subprocess.PIPE,
                              text=True) as running:
            self.until(lambda: os.path.exists(f"{self.dir}/runs"))
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=PATIENCE)
        self.assertEqual(running.returncode, 130)
        self.assert_services_ended(count=1)

    def test_interruption_while_it_is_waited_for(self):
        text = self.space((f"touch {self.dir}/runs; exec sleep 1000", "sleep 1000", ""))
        # Before the start, the command that tells is asked, too: it must fail then.
        text = text.replace('ready="sleep 1000"', f'ready="test -e {self.dir}/runs &amp;&amp; sleep 1000"')
        with subprocess.Popen([SPEX, *self.command(text, self.ask())], env=self.environment, stderr=subprocess.PIPE,
                              text=True) as running:
            self.until(lambda: os.path.exists(f"{self.dir}/runs"))
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=PATIENCE)
        self.assertEqual(running.returncode, 130)
        self.assert_nothing_left()

    def test_without_xml(self):
        result = self.spex("explore", "--set", "n=1|2|3", "--maximise", "output=answer: ([0-9]+)", "--store", self.store,
                           "--service", self.serve(), "--ready", f"port:{self.port}", "--", *self.ask())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.report()["best"]["config"], {"n": 3})
        self.assert_services_ended()

    def test_bad_services(self):
        cases = [
            ('<service command="true"/>', '"ready" was expected'),
            ('<service ready="true"/>', '"command" was expected'),
            ('<service command="true" ready="port:0"/>', 'ready="port:0": port:1 to port:65535, or a command, was'),
            ('<service command="true" ready="port:http"/>', "port:1 to port:65535"),
            ('<service command="a {m}" ready="true"/>', "m"),
            ('<service command="true" ready="true" timeout="0"/>', 'timeout="0": seconds, more than 0'),
            ('<service command="true" ready="true" port="3"/>', "port"),
            ('<service command="true" ready="true"/>' * 9, "at most 8 were expected"),
        ]
        for element, expected in cases:
            with self.subTest(element=element):
                result = self.explore(self.space(rest=element), self.ask())
                self.assertEqual(result.returncode, 1)
                self.assertIn(expected, result.stderr)
                self.assertIn("<service>", result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assertFalse(os.path.exists(self.store))

    def test_bad_options(self):
        options = ["--set", "n=1|2", "--store", self.store]
        cases = [
            (["--service", "serve {n}"], "a --ready was expected with each --service"),
            (["--ready", "port:1"], "a --ready was expected with each --service"),
            (["--service", "serve {m}", "--ready", "port:80"], "--service serve {m}: "),
            (["--service", "serve", "--ready", "port:80"],
             "--set n: {n} was expected in an argument of the program, or in a service"),
        ]
        for more, expected in cases:
            with self.subTest(options=more):
                result = self.spex("explore", *options, *more, "--", "true")
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(expected, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
