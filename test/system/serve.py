#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex serve`: a real server, over real programs, and clients that mean it well or not.

    serve.py SPEX LIVE
"""

import gzip
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import unittest
import zlib

from running import LISTENING, PARENT, Programs
from serving import NAME, TOKEN, Server

PLACES = 64
# echarts.min.js of the package echarts 6.1.0 of npm.
ECHARTS = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"


# A program of 5000 probes, which has no places for them.
MANY = """
def answer(connection):
    while request := connection.recv(65536):
        def send(kind, entry, count=1):
            number, = struct.unpack_from("=I", request, 8)
            head = struct.pack("=IHHIIIiII", 0x43505853, 3, kind, number, len(entry) or 1, count, 0, 0, 0)
            connection.send(head + entry)
        send(16, b"\\0" * 112 + b"many".ljust(64, b"\\0"))
        send(17, struct.pack("=I", 2).ljust(344, b"\\0"))
        for number in range(5000):
            send(19, struct.pack("=IH", 2, number).ljust(552, b"\\0"))
        send(21, b"", 0)
"""


class Api(Server):
    def setUp(self):
        super().setUp()
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write(TOKEN)
        os.chmod(self.path("token"), 0o600)
        self.process = self.start()
        self.serve("--token-file", self.path("token"))

    def serve_and_wait(self):
        self.until(lambda: self.json("/api/programs")["programs"])

    def ask(self, path, method="GET", body=None, **headers):
        return super().ask(path, method, body, **{"Authorization": "Bearer " + TOKEN, **headers})

    def json(self, path, status=200):
        answer, text = self.ask(path)
        # A program that gets no processor has not answered yet.
        while answer.status == 504 != status:
            answer, text = self.ask(path)
        self.assertEqual((answer.status, answer.getheader("Content-Type")), (status, "application/json"), text)
        return json.loads(text)

    def announce(self, method, path, length):
        """The status of the answer to who has not sent the body yet."""
        connection = self.connect()
        self.addCleanup(connection.close)
        connection.putrequest(method, path)
        for name, value in {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json",
                            "Content-Length": str(length)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status

    def post(self, order, **headers):
        body = json.dumps(order) if isinstance(order, (dict, list)) else order
        return self.ask("/api/set", "POST", body, **{"Content-Type": "application/json", **headers})

    def events(self, query=""):
        connection = self.connect()
        self.addCleanup(connection.close)
        connection.request("GET", "/api/events" + query, headers={"Authorization": "Bearer " + TOKEN})
        stream = connection.getresponse()
        stream.gone = connection.sock
        return stream

    def next_event(self, stream, name):
        while True:
            kind, data, end = (stream.readline().decode() for _ in range(3))
            self.assertEqual((kind[:7], data[:6], end), ("event: ", "data: ", "\n"))
            if kind == "event: %s\n" % name:
                return json.loads(data[6:])

    def test_programs_and_probes(self):
        self.serve_and_wait()
        told = self.json("/api/programs")
        self.assertTrue(told["can_change"])
        (program,) = told["programs"]
        self.assertEqual(program["name"], NAME)
        self.assertEqual([one["pid"] for one in program["processes"]], [self.process.pid])
        self.set(self.process.pid, "query")
        probes = self.json("/api/probes?process=%d" % self.process.pid)
        self.assertEqual((probes["program"], probes["pid"]), (NAME, self.process.pid))
        sites = probes["sites"]["sites"]
        self.assertEqual(json.loads(self.run_spex("probes", "--json", self.process.pid).stdout)["sites"][0].keys(), sites[0].keys())
        self.assertEqual({site["name"] for site in sites if site["on"]}, {"query"})
        self.assertEqual([probe["name"] for probe in probes["figures"]["probes"]], ["query"])
        # Without a budget, too.
        self.until(lambda: self.json("/api/programs")["programs"][0]["processes"][0]["overhead_seconds"] > 0)
        self.assertEqual(self.json("/api/programs")["programs"][0]["processes"][0]["budget"], 0)
        for query, status in ("", 400), ("?process=x", 400), ("?process=-1", 400), ("?process=1", 404):
            self.assertEqual(self.ask("/api/probes" + query)[0].status, status)

    def test_probes_right_after_programs(self):
        """The report is not there, as nobody watched when it came, and is younger than those that are asked for again."""
        self.serve_and_wait()
        for _ in range(10):
            self.json("/api/programs")
            self.assertEqual(self.json("/api/probes?process=%d" % self.process.pid)["pid"], self.process.pid)

    def compressed(self, path, encodings):
        """Of an answer to this header: its encoding, and its text."""
        connection = self.connect()
        connection.request("GET", path, headers={"Authorization": "Bearer " + TOKEN, "Accept-Encoding": encodings})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.assertEqual(answer.status, 200)
        self.assertEqual(int(answer.getheader("Content-Length")), len(data))
        encoding = answer.getheader("Content-Encoding")
        return encoding, (gzip.decompress(data) if encoding else data).decode(), len(data)

    def test_answers_are_compressed_for_who_asks(self):
        self.serve_and_wait()
        probes = "/api/probes?process=%d" % self.process.pid
        for path in "/metrics", probes:
            _, plain, length = self.compressed(path, "identity")
            for encodings in "gzip", "GZIP", "deflate, gzip;q=1.0, *;q=0.5", "br,\tgzip ; q=0.1":
                encoding, text, shorter = self.compressed(path, encodings)
                self.assertEqual(encoding, "gzip", encodings)
                self.assertLess(shorter, length / 2)
                self.assertEqual(text[:40], plain[:40])
            for encodings in "", "deflate", "gzip;q=0", "gzip; q=0.000, br", "gzipped", "x-gzip", "*":
                self.assertEqual(self.compressed(path, encodings)[0], None, encodings)
        # A few bytes are as good as they are, and a refusal is for people.
        answer, _ = self.ask("/api/programs", Accept_Encoding="gzip")
        self.assertEqual((answer.status, answer.getheader("Content-Encoding")), (200, None))
        answer, text = self.ask("/nowhere", Accept_Encoding="gzip")
        self.assertEqual((answer.status, answer.getheader("Content-Encoding"), text), (404, None, "there is no such page\n"))

    def test_switching(self):
        self.serve_and_wait()
        for whom in {"process": self.process.pid}, {"program": NAME}:
            for probes, on in ("query,state@8", 2), ("off", 0):
                answer, text = self.post({**whom, "probes": probes})
                self.assertEqual(answer.status, 200, text)
                (done,) = json.loads(text)["processes"]
                self.assertEqual((done["pid"], done["done"], done["sites_on"]), (self.process.pid, True, on))
                self.assertEqual(self.listed(self.process)["sites_on"], on)

    def test_a_lease_ends(self):
        self.serve_and_wait()
        for seconds in 0.05, 600:
            answer, text = self.post({"process": self.process.pid, "probes": "query", "for": seconds})
            self.assertEqual(answer.status, 200, text)
            self.assertEqual(json.loads(text)["processes"][0]["sites_on"], 1)
            if seconds < 1:
                self.until_on(self.process, 0)
        probes = self.json("/api/probes?process=%d" % self.process.pid)["sites"]["sites"]
        (left,) = [site["lease_seconds"] for site in probes if "lease_seconds" in site]
        self.assertTrue(0 < left <= 600, left)
        self.assertEqual(self.post({"process": self.process.pid, "probes": "off"})[0].status, 200)

    def test_a_budget(self):
        self.set(self.process.pid, "query")
        self.serve_and_wait()
        for budget in 0.03, 0:
            answer, text = self.post({"process": self.process.pid, "budget": budget})
            self.assertEqual(answer.status, 200, text)
            self.until(lambda budget=budget: self.listed(self.process).get("budget", 0) == budget)

    def test_the_past(self):
        """The server keeps what events have told, also of a process that has ended."""
        self.set(self.process.pid, "query,state")
        self.serve_and_wait()
        path = "/api/history?process=%d" % self.process.pid
        self.assertEqual(self.json(path)["times"], [])
        stream = self.events("?process=%d" % self.process.pid)
        told = [self.next_event(stream, "interval") for _ in range(3)]
        self.say(self.process, "end")
        while self.next_event(stream, "programs")["programs"][0]["processes"]:
            continue
        kept = self.json(path)
        self.assertEqual(kept["program"], NAME)
        self.assertEqual(kept["times"][:3], [interval["time"] for interval in told])
        for time in kept["times"]:
            self.assertLess(abs(time / 1000 - self.began), 300)
        for number, probe in enumerate(kept["probes"]):
            of_event = [next(one for one in interval["figures"]["probes"] if one["name"] == probe["name"]) for interval in told]
            for rate, one in zip(probe["rate"], of_event):
                self.assertAlmostEqual(rate, one["rate"], delta=one["rate"] / 1e5)
            whole = self.json(path + "&probe=%d" % number)["probe"]
            self.assertEqual(whole["rate"], probe["rate"])
            for values, of_values in zip(whole["values"], of_event[0]["values"]):
                self.assertEqual((values["name"], values["unit"]), (of_values["name"], of_values["unit"]))
                for name in "p50", "p99_high":
                    # Neither knows a quantile of few executions.
                    self.assertAlmostEqual(values[name][0], of_values[name], delta=(of_values[name] or 0) / 1e5)
            if probe["type"] == "lat":
                first, *counts = whole["histograms"][0]
                histogram = of_event[0]["histogram"]
                self.assertEqual((first, len(counts)), (histogram["first"], len(histogram["counts"])))
                seconds = told[0]["figures"]["seconds"]
                for count, one in zip(counts, histogram["counts"]):
                    self.assertAlmostEqual(count * seconds, one, delta=one / 500)
        for query in "", "?process=x", "?process=%d&probe=99" % self.process.pid, "?process=1&probe=0":
            self.assertEqual(self.ask("/api/history" + query)[0].status, 400)
        self.assertEqual(self.json("/api/history?process=1")["probes"], [])

    def test_wrong_orders_change_nothing(self):
        self.serve_and_wait()
        pid, probes = {"process": self.process.pid}, {"probes": "*"}
        for order, status in [("", 400), ("{", 400), ("[]", 400), ("null", 400), ("[" * 19000, 400), (pid, 400), (probes, 400),
                              ({**pid, **probes, "for": 0}, 400), ({**pid, **probes, "for": "60"}, 400),
                              ({**pid, **probes, "for": 1e9}, 400), ({**pid, **probes, "program": NAME}, 400),
                              ({**pid, **probes, "budget": 0.1}, 400), ({**pid, "budget": 2}, 400), ({**pid, "budget": "2%"}, 400),
                              ({**pid, "budget": 0.1, "for": 60}, 400), ({"process": "x", **probes}, 400), ({"program": 3, **probes}, 400),
                              ({**pid, "probes": ""}, 400), ({**pid, "probes": "query@x"}, 400),
                              ({**pid, "probes": "x" * 17000}, 400), ({"process": 1, **probes}, 404),
                              ({"program": "other", **probes}, 404), ('{"process":1,"process":2,"probes":"*"}', 400)]:
            with self.subTest(order=str(order)[:80]):
                answer, text = self.post(order)
                self.assertEqual(answer.status, status, text)
        order = {**pid, **probes}
        for headers, status in [({"Content-Type": "text/plain"}, 415), ({"Origin": "http://evil.example"}, 403),
                                ({"Authorization": "Bearer x"}, 401), ({"Host": "evil.example"}, 421)]:
            self.assertEqual(self.post(order, **headers)[0].status, status)
        self.assertEqual(self.ask("/api/set?process=%d&probes=*" % self.process.pid)[0].status, 405)
        self.assertEqual(self.announce("POST", "/api/set", 30000), 413)
        self.assertEqual(self.announce("GET", "/api/programs", 1), 413)
        try:  # in chunks, for which there is no answer where they still come
            self.assertEqual(self.post(iter([b"x" * 30000]))[0].status, 400)
        except ConnectionError:
            pass
        self.assertEqual(self.listed(self.process)["sites_on"], 0)
        self.end()
        self.serve()
        self.assertEqual(self.post(order)[0].status, 403)

    def test_a_program_that_does_not_answer_holds_up_nobody(self):
        self.serve_and_wait()
        self.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.process.send_signal, signal.SIGCONT)
        connection = self.connect()
        self.addCleanup(connection.close)
        connection.request("POST", "/api/set", json.dumps({"program": NAME, "probes": "*"}),
                           {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"})
        self.json("/api/programs")
        answer = connection.getresponse()
        self.assertEqual(answer.status, 502)
        self.assertIn("does not answer", answer.read().decode())

    def test_events(self):
        self.set(self.process.pid, "query")
        self.serve_and_wait()
        stream = self.events("?process=%d" % self.process.pid)
        self.assertEqual((stream.status, stream.getheader("Content-Type")), (200, "text/event-stream; charset=utf-8"))
        self.assertEqual(self.next_event(stream, "programs")["programs"][0]["name"], NAME)
        for _ in range(2):
            interval = self.next_event(stream, "interval")
            (probe,) = interval["figures"]["probes"]
            self.assertEqual(probe["name"], "query")
            self.assertGreater(probe["count"], 0)
            self.assertEqual((probe["sites_on"], probe["why"]), (1, ""))
            times = probe["histogram"]
            self.assertGreaterEqual(times["first"], 40)  # it sleeps for 0.1 ms
            self.assertGreater(times["counts"][0], 0)
            self.assertGreater(times["counts"][-1], 0)
            slowest = probe["slowest"]
            self.assertGreater(slowest["seconds"], 1e-4)
            self.assertLess(abs(slowest["end_ns"] / 1e6 - interval["time"]), 30e3)
            self.assertIn(str(slowest["thread"]), os.listdir("/proc/%d/task" % self.process.pid))
        self.post({"program": NAME, "probes": "off"})
        while self.next_event(stream, "programs")["programs"][0]["processes"][0]["sites_on"]:
            continue
        self.say(self.process, "end")
        while self.next_event(stream, "programs")["programs"][0]["processes"]:
            continue

    def query_of(self, figures):
        """How often the probe was executed, of these figures."""
        return sum(probe["count"] for probe in figures["probes"] if probe["name"] == "query")

    def test_events_are_compressed_for_who_asks(self):
        """Each can be read when it has come, and they are no more than a third as long."""
        self.set(self.process.pid, "*")
        self.serve_and_wait()
        connection = self.connect()
        self.addCleanup(connection.close)
        connection.request("GET", "/api/events?process=%d" % self.process.pid,
                           headers={"Authorization": "Bearer " + TOKEN, "Accept-Encoding": "br, gzip"})
        stream = connection.getresponse()
        self.assertEqual((stream.getheader("Content-Encoding"), stream.getheader("Vary")), ("gzip", "Accept-Encoding"))
        unpack, text, packed = zlib.decompressobj(31), b"", 0
        while text.count(b"event: interval\n") < 3 or not text.endswith(b"\n\n"):
            part = stream.read1()
            packed += len(part)
            text += unpack.decompress(part)
        for event in text.decode().split("\n\n")[:-1]:
            name, data = event.split("\n")
            self.assertIn(name, ("event: programs", "event: interval"))
            json.loads(data[6:])
        self.assertLess(3 * packed, len(text))

    def test_intervals_are_whole_whoever_else_asks(self):
        """What others have asked for between two events is in the next one, too."""
        self.serve_and_wait()
        path = "/api/probes?process=%d" % self.process.pid
        stream = self.events("?process=%d" % self.process.pid)
        self.next_event(stream, "interval")
        self.set(self.process.pid, "query")
        while self.query_of(self.json(path)["figures"]) < 5000:
            self.assertEqual(self.ask("/metrics")[0].status, 200)
        self.set(self.process.pid, "off")
        told = [self.query_of(self.next_event(stream, "interval")["figures"])]
        while told[-1] or not any(told):
            told.append(self.query_of(self.next_event(stream, "interval")["figures"]))
        self.assertEqual(sum(told), self.query_of(self.json(path)["figures"]))

    def test_another_viewer_costs_the_program_nothing(self):
        """Between two events he gets what is known."""
        self.serve_and_wait()
        path = "/api/probes?process=%d" % self.process.pid
        stream = self.events("?process=%d" % self.process.pid)
        for _ in range(30):
            self.next_event(stream, "interval")
            told = [self.json(path)["figures"]["seconds"]]
            other = self.events("?process=%d" % self.process.pid)
            self.next_event(other, "programs")
            told.append(self.json(path)["figures"]["seconds"])
            other.gone.close()
            other.close()
            if told[0] == told[1]:
                return
        self.fail("the program was asked again each time")

    def test_reports_are_as_rare_as_the_budget_pays_for(self):
        process = self.start(environment=self.environment(SPEX_PROBES="*", SPEX_BUDGET="0.01%"))
        stream = self.events("?process=%d" % process.pid)

        def next_rest():
            """How often the server may ask the process, once it follows it."""
            listed = [one for program in self.next_event(stream, "programs")["programs"] for one in program["processes"]]
            return next((one["report_seconds"] for one in listed if one["pid"] == process.pid), 0)
        while (rest := next_rest()) <= 1.5:
            continue
        self.next_event(stream, "interval")  # it may have begun before the program said so
        self.assertGreater(self.next_event(stream, "interval")["figures"]["seconds"], min(rest, 1.5))
        self.assertLessEqual(next_rest(), 10)

    def test_a_process_that_is_silent_tells_no_interval_twice(self):
        self.set(self.process.pid, "query")
        self.serve_and_wait()
        stream = self.events("?process=%d" % self.process.pid)
        before = self.next_event(stream, "interval")
        self.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.process.send_signal, signal.SIGCONT)
        while self.next_event(stream, "programs")["programs"][0]["processes"][0]["answers"]:
            continue
        lines = [stream.readline() for _ in range(6)]
        self.assertEqual(lines[::3], [b"event: programs\n"] * 2)
        self.process.send_signal(signal.SIGCONT)
        after = self.next_event(stream, "interval")
        self.assertGreater(after["figures"]["seconds"], before["figures"]["seconds"] / 2)

    def test_intervals_have_leases(self):
        self.serve_and_wait()
        stream = self.events("?process=%d" % self.process.pid)
        self.next_event(stream, "interval")
        self.assertEqual(self.post({"process": self.process.pid, "probes": "query", "for": 600})[0].status, 200)
        self.set(self.process.pid, "+state")
        while len(probes := self.next_event(stream, "interval")["figures"]["probes"]) < 2:
            continue
        leases = {probe["name"]: probe.get("lease_seconds") for probe in probes}
        self.assertTrue(0 < leases["query"] <= 600, leases)
        self.assertIsNone(leases["state"])

    def test_probes_right_after_switching(self):
        """The server has asked the program a moment ago: what it knows is of before."""
        self.serve_and_wait()
        path = "/api/probes?process=%d" % self.process.pid
        for probes, on in [("query,state", 2), ("off", 0)] * 5:
            self.json("/api/programs")
            self.assertEqual(self.post({"process": self.process.pid, "probes": probes})[0].status, 200)
            self.assertEqual(sum(site["on"] for site in self.json(path)["sites"]["sites"]), on)

    def test_few_clients_get_events(self):
        streams = [self.events() for _ in range(8)]
        for stream in streams:
            self.next_event(stream, "programs")
        self.assertEqual(self.events().status, 503)
        for _ in range(2):
            self.next_event(streams[0], "programs")
        streams[1].gone.shutdown(socket.SHUT_RDWR)
        self.until(lambda: self.events().status == 200)

    def asked(self, path, body=None):
        """A connection on which an answer is waited for."""
        connection = self.connect()
        connection.request("POST" if body else "GET", path, body, {"Authorization": "Bearer " + TOKEN, **(
            {"Content-Type": "application/json"} if body else {})})
        return connection

    def test_the_end_waits_for_nobody(self):
        """Whatever is asked for, of a program that answers or not: MHD ends a process that leaves a connection suspended."""
        pid = self.process.pid
        for turn in range(50):
            if turn:
                self.serve("--token-file", self.path("token"))
            self.serve_and_wait()
            streams = [self.events("?process=%d" % pid if n % 2 else "") for n in range(8)]
            self.next_event(streams[turn % 8], "programs")
            if turn % 2:
                self.process.send_signal(signal.SIGSTOP)
            waiting = [self.asked("/api/set", json.dumps({"process": pid, "probes": "query"})), self.asked("/metrics"),
                       self.asked("/api/probes?process=%d" % pid), self.asked("/api/programs")]
            streams[0].gone.shutdown(socket.SHUT_RDWR)
            self.server.send_signal((signal.SIGINT, signal.SIGTERM)[turn % 3 == 0])
            self.assertEqual((self.server.communicate()[1], self.server.returncode), ("", 0))
            self.process.send_signal(signal.SIGCONT)
            for connection in waiting:
                connection.close()

    def test_signals_end_streams(self):
        self.next_event(self.events(), "programs")
        self.server.terminate()
        self.assertEqual(self.server.wait(), 0)


class Many(Server):
    def test_a_program_of_very_many_probes(self):
        """It says so, and what is told of it is bounded."""
        program = Programs.start(self, sys.executable, "-c", program=LISTENING + MANY + "\nserve_all()")
        self.addCleanup(program.kill)
        self.serve(whom=str(program.pid))
        path = "/api/probes?process=%d" % program.pid
        while (answer := self.ask(path))[0].status in (404, 504):
            continue
        told = json.loads(answer[1])
        self.assertEqual((len(told["figures"]["probes"]), told["probes_left_out"]), (4096, 904))
        self.assertEqual((len(told["sites"]["sites"]), told["sites_left_out"]), (0, 0))


class Workers(Server):
    def test_those_of_a_parent(self):
        """The number of a process without spex is for those that it has started."""
        self.start()
        parent = Programs.start(self, sys.executable, "-c", PARENT, program=self.program)
        self.serve(whom=str(parent.pid))
        self.wait_for("spex_program_processes", lambda values: values == {(("program", NAME),): 2})
        process = self.start()
        self.end()
        self.serve(whom=str(process.pid))
        self.wait_for("spex_program_processes", lambda values: values == {(("program", NAME),): 1})


class Refused(Server):
    def test_hosts_origins_methods_and_paths(self):
        self.serve()
        for status, path, method, headers in [
                (421, "/metrics", "GET", {"Host": "evil.example"}),
                (421, "/metrics", "GET", {"Host": "evil.example:%d" % self.port}),
                (403, "/metrics", "GET", {"Origin": "http://evil.example"}),
                (403, "/metrics", "GET", {"Origin": "null"}),
                (200, "/metrics", "GET", {"Origin": "http://127.0.0.1:%d" % self.port}),
                (405, "/metrics", "POST", {}), (405, "/metrics", "DELETE", {}), (405, "/metrics", "OPTIONS", {}),
                (405, "/", "PUT", {}), (421, "/", "GET", {"Host": "evil.example"}), (403, "/", "GET", {"Origin": "null"}),
                (404, "/index.html", "GET", {}), (404, "/page/", "GET", {}), (404, "/metrics/", "GET", {}), (404, "/../metrics", "GET", {}),
                (404, "/%2e%2e/etc/passwd", "GET", {}),
                (200, "/metrics?x=<script>", "GET", {})]:
            with self.subTest(path=path, method=method, headers=headers):
                answer, text = self.ask(path, method, **headers)
                self.assertEqual(answer.status, status, text)
                self.assertEqual(answer.getheader("X-Content-Type-Options"), "nosniff")
                self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
        self.assertGreater(self.values("spex_serve_refused_requests_total")[()], 0)

    def test_the_page_is_there_without_the_token(self):
        """It tells nothing of programs, and asks nobody else for anything."""
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write(TOKEN)
        os.chmod(self.path("token"), 0o600)
        self.serve("--token-file", self.path("token"))
        for path, kind in {"/": "html", "/page.css": "css", "/page.js": "javascript", "/echarts.js": "javascript",
                           "/icon.svg": "svg"}.items():
            connection = self.connect()
            connection.request("GET", path)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            self.assertIn(kind, answer.getheader("Content-Type"))
            policy = answer.getheader("Content-Security-Policy")
            self.assertIn("default-src 'none'", policy)
            self.assertNotRegex(policy, "unsafe|http|data:")
            text = answer.read()
            if path == "/echarts.js":
                self.assertEqual(answer.getheader("Content-Encoding"), "gzip")
                text = gzip.decompress(text)
                self.assertEqual(hashlib.sha256(text).hexdigest(), ECHARTS)
            elif path != "/icon.svg":  # a namespace is an address, too
                self.assertNotIn(b"http", text.replace(b"http://www.w3.org/2000/svg", b""))
            connection.close()
        for path in "/metrics", "/api/programs", "/api/events":
            self.assertEqual(self.ask(path)[0].status, 401)

    def test_malformed_requests(self):
        self.serve()
        host = b"Host: localhost\r\n"
        for data in [b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET /metrics\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n",
                     b"GET /metrics HTTP/1.1\r\n\r\n", b"GET /metrics HTTP/1.1\r\n" + 2 * host + b"\r\n",
                     b"GET /metrics HTTP/9.9\r\n" + host + b"\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                     b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n" + host + b"\r\n",
                     b"GET /metrics HTTP/1.1\r\n" + host + b"X: " + b"a" * 100000 + b"\r\n\r\n",
                     b"GET /metrics HTTP/1.1\r\n" + host + b"A: b\r\n" * 10000 + b"\r\n",
                     b"POST /metrics HTTP/1.1\r\n" + host + b"Content-Length: -1\r\n\r\n",
                     b"POST /metrics HTTP/1.1\r\n" + host + b"Content-Length: 99999999999999999999\r\n\r\n",
                     b"POST /metrics HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
                     b"GET /metrics HTTP/1.1\r\nHost: localhost\x1b[31m\r\n\r\n", b"\xff" * 5000,
                     b"GET /metrics HTTP/1.1\r\n" + host + b" evil.example\r\n\r\n",
                     b"GET /metrics HTTP/1.1\r\nHost: 127.1\r\n\r\n", b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.nip.io\r\n\r\n"]:
            with self.subTest(data=data[:60]):
                with socket.create_connection(("127.0.0.1", self.port)) as client:
                    answer = b""
                    try:
                        client.sendall(data)
                        client.shutdown(socket.SHUT_WR)
                        while part := client.recv(65536):
                            answer += part
                    except OSError:  # it has closed the connection already
                        pass
                self.assertFalse(answer.startswith(b"HTTP/1.1 200"), answer[:200])
        self.metrics()
        self.assertIsNone(self.server.poll())

    def test_slow_requests_do_not_keep_others_out(self):
        """All places are taken by requests of which a byte comes now and then."""
        self.serve()
        slow = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(PLACES + 20)]
        for client in slow:
            self.addCleanup(client.close)
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
        self.assertIn("spex_serve_programs", self.metrics())

    def test_a_flood_of_requests(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.sendall(request * 50 + b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while part := client.recv(65536):
                answer += part
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 51)

    def test_clients_that_go_away(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        for _ in range(PLACES * 2):
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.metrics()


class Settings(Server):
    def file(self, name, text, mode=0o600):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def test_the_token_in_its_header_alone(self):
        self.serve("--token-file", self.file("token", TOKEN + "\n"))
        for headers in {}, {"Authorization": "Bearer " + TOKEN[:-1]}, {"Cookie": "token=" + TOKEN}, {"Token": TOKEN}:
            answer, _ = self.ask("/metrics?token=" + TOKEN, **headers)
            self.assertEqual((answer.status, answer.getheader("WWW-Authenticate")), (401, "Bearer"))
        self.assertEqual(self.ask("/metrics", Authorization="Bearer " + TOKEN)[0].status, 200)

    def test_a_request_that_others_may_read_otherwise_is_the_last_one(self):
        """Where it ends, or who has made it: what a proxy before the server has understood is not known here."""
        self.serve("--token-file", self.file("token", TOKEN))
        body = '{"program": "none", "probes": "off"}'
        usual = ["Host: localhost", "Origin: http://localhost", "Authorization: Bearer " + TOKEN, "Sec-Fetch-Site: same-origin",
                 "Content-Type: application/json", "Content-Length: %d" % len(body)]

        def answers(lines):
            data = "\r\n".join(["POST /api/set HTTP/1.1", *lines, "", body + "GET /metrics HTTP/1.1", *usual[:4],
                                "Connection: close", "", ""])
            return re.findall(rb"HTTP/1.1 (\d+) ", self.raw(data.encode()))

        self.assertEqual(answers(usual), [b"404", b"200"])
        unclear = [*usual, *map(str.upper, usual), "Sec-Fetch-Site: cross-site", "Content-Length: 2", "Transfer-Encoding: chunked",
                   "transfer-encoding: identity", "Transfer-Encoding: gzip, chunked", "X: a\x01b", "X(: a"]
        for more in unclear:
            for lines in [*usual, more], [more, *usual]:
                with self.subTest(lines=lines):
                    self.assertEqual(answers(lines), [b"400"])

    def refused_to_start(self, pattern, *arguments, status=2):
        result = self.run_spex("serve", *arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""))
        self.assertRegex(result.stderr.splitlines()[-1], "^spex: serve: .*" + pattern)

    def test_beyond_this_machine_only_with_token_and_tls(self):
        token = self.file("token", TOKEN)
        for address in "0.0.0.0:0", "[::]:0":
            self.refused_to_start("--token-file was expected", "--listen", address)
            self.refused_to_start("--token-file was expected", "--listen", address, "--behind-proxy")
            self.refused_to_start("TLS was expected", "--listen", address, "--token-file", token)

    def test_settings_that_are_wrong(self):
        for address in "9797", "127.0.0.1", "127.0.0.1:", ":9797", "example.org:1", "127.0.0.1:99999", "[::1:1", "":
            self.refused_to_start("ADDRESS:PORT was expected", "--listen", address)
        listening = "127.0.0.1:0", "--token-file"
        self.refused_to_start("cannot read .*: No such file", "--listen", *listening, self.path("none"))
        os.mkfifo(self.path("pipe"), 0o600)
        self.refused_to_start("nobody writes to it", "--listen", *listening, self.path("pipe"))
        self.refused_to_start("can be read by others", "--listen", *listening, self.file("open", TOKEN, 0o644))
        self.refused_to_start("at least 16", "--listen", *listening, self.file("short", "abc"))
        self.refused_to_start("at least 16", "--listen", *listening, self.file("blank", TOKEN + " x"))
        self.refused_to_start("expected together", "--listen", "127.0.0.1:0", "--cert", self.path("none"))
        wrong = self.file("wrong", "x")
        self.refused_to_start("no PEM file", "--listen", "127.0.0.1:0", "--cert", wrong, "--key", wrong)
        self.refused_to_start("without \"x\"", "--all", "x")
        self.refused_to_start("there is no process 99999999", "--listen", "127.0.0.1:0", "99999999", status=1)
        self.serve()
        self.refused_to_start("cannot listen on .*Address already in use", "--listen", "127.0.0.1:%d" % self.port, status=1)

    def test_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not there")
        cert, key = self.path("cert"), self.path("key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "1",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, stderr=subprocess.DEVNULL)
        os.chmod(key, 0o600)
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve("--token-file", self.file("token", TOKEN), "--cert", cert, "--key", key)
        self.assertTrue(self.url.startswith("https://"))
        context = ssl.create_default_context(cafile=cert)
        connection = http.client.HTTPSConnection("localhost", self.port, context=context)
        connection.request("GET", "/metrics", headers={"Authorization": "Bearer " + TOKEN})
        self.assertIn(b"spex_serve_programs", connection.getresponse().read())
        self.assertFalse(self.raw(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200"))

    def test_behind_a_proxy_it_says_so(self):
        self.serve("--token-file", self.file("token", TOKEN), "--behind-proxy", "--host", "spex.example")
        answer, _ = self.ask("/metrics", Host="spex.example", Origin="https://spex.example", Authorization="Bearer " + TOKEN)
        self.assertEqual(answer.status, 200)
        self.server.terminate()
        self.assertIn("no TLS here", self.server.stderr.read())

    def test_signals_end_it(self):
        for number in signal.SIGINT, signal.SIGTERM:
            self.serve()
            idle = socket.create_connection(("127.0.0.1", self.port))
            self.addCleanup(idle.close)
            self.server.send_signal(number)
            self.assertEqual(self.server.wait(), 0)


if __name__ == "__main__":
    Programs.spex, Programs.live = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
