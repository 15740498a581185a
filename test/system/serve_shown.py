#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex serve --store --trace --model`: an exploration that runs and one that is over, traces in other formats, anomalies, models.

    serve_shown.py SPEX LIVE SUBJECT STALLED RECORDED
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import watch
from running import Programs
from serving import NAME, TOKEN, Server

SUBJECT = RECORDED = None

SPACE = """<space name="test">
<parameter name="work" type="integer" unit="us" values="200 800"/>
<parameter name="threads" type="integer" min="1" max="2"/>
<parameter name="behaviour" type="categorical" values="steady crash"/>
<objective probe="work:tpt" metric="throughput" goal="maximise"/>
<run records_per_thread="40" warmup="0.001" least="0" threads="threads"/>
</space>
"""


class Materials(Server):
    """What can be shown, made by the commands that make it."""

    def write(self, name, text=""):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def explore(self, works="200 800"):
        """Begins an exploration; the store is there when this returns."""
        process = subprocess.Popen([self.spex, "explore", self.write("space.xml", SPACE.replace("200 800", works)), "--policy", "grid",
                                    "--store", self.path("t.db"), "--", SUBJECT],
                                   env=self.environment(TMPDIR=self.dir), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.until(lambda: self.run_spex("report", self.path("t.db")).returncode == 0 or process.poll())
        self.assertIn(process.poll(), (None, 0))
        return process

    def record(self, name, *arguments):
        os.makedirs(self.path("traces"), exist_ok=True)
        result = self.run_spex("record", "-o", self.path("traces/" + name), "--", RECORDED, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path("traces/" + name)

    def models(self):
        return watch.Watches.models(self)

    def stalled(self):
        """A program whose disk becomes slow when there is a file."""
        process = self.start(str(watch.ROWS), "1000000000", before=[watch.STALLED], environment=self.environment(STALL=self.path("slow")))
        return process

    def start(self, *arguments, before=(), **options):
        if not before:
            return super().start(*arguments, **options)
        process = Programs.start(self, *before, *arguments[:-1], program=arguments[-1], **options)
        self.addCleanup(process.kill)
        return process

    def json(self, path, status=200):
        answer, text = self.ask(path)
        self.assertEqual((answer.status, answer.getheader("Content-Type")), (status, "application/json"), text)
        return json.loads(text)

    def refused(self, path, status, pattern=""):
        answer, text = self.ask(path)
        self.assertEqual(answer.status, status, text)
        self.assertRegex(text, pattern)


class Exploration(Materials):
    def report(self):
        return json.loads(self.run_spex("report", self.path("t.db"), "--json", "--no-trials").stdout)

    def test_one_that_is_over(self):
        self.assertEqual(self.explore().wait(), 0)
        self.serve("--store", self.path("t.db"), whom=None)
        told = self.json("/api/exploration")
        self.assertEqual(told, self.report())
        self.assertEqual((told["running"], told["trials_finished"], told["trials_failed"]), (False, 8, 4))
        self.assertEqual(len(told["heat_map"]["panels"]), 2)
        programs = self.json("/api/programs")
        self.assertEqual((programs["programs"], programs["follows"]), ([], False))
        self.assertEqual(programs["shown"], {"exploration": 1, "models": None, "fleet": None, "anomalies": None, "traces": False})
        # A process of another name would be followed where no program is named.
        self.start()
        self.assertEqual(self.json("/api/programs")["programs"], [])
        for path in "models", "fleet", "anomalies", "traces", "trace?name=x&format=csv":
            self.refused("/api/" + path, 404, "the server was started without")

    def test_one_that_is_in_progress(self):
        process = self.explore(" ".join(map(str, range(101, 400))))
        self.serve("--store", self.path("t.db"), whom=None)
        before = self.json("/api/exploration")
        self.assertTrue(before["running"])
        self.until(lambda: process.poll() is not None or
                   self.json("/api/exploration")["trials_finished"] >= before["trials_finished"] + 3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.until(lambda: not self.json("/api/exploration")["running"])
        self.assertGreater(self.json("/api/programs")["shown"]["exploration"], 1)

    def test_a_store_that_becomes_none(self):
        self.explore().wait()
        self.serve("--store", self.path("t.db"), whom=None)
        self.json("/api/exploration")
        self.write("other", "no store\n" * 100)
        os.rename(self.path("other"), self.path("t.db"))
        answer = self.until(lambda: (answer := self.ask("/api/exploration"))[0].status != 200 and answer)
        self.assertEqual(answer[0].status, 500)
        self.assertIn("is no store of spex", answer[1])

    def test_what_is_wrong_is_told_at_the_start(self):
        nothing, text = self.path("nothing"), self.write("text", "x\n")
        for arguments, status, pattern in [(["--store", nothing], 2, "serve: .*nothing"), (["--store", text], 2, "is no store of spex"),
                                           (["--trace", nothing], 2, "serve: .*nothing: No such file"), (["--trace", text], 2, "Not a directory"),
                                           (["--model", nothing], 1, "No such file"), (["--model", text], 1, "line 1: ")]:
            result = self.run_spex("serve", "--listen", "127.0.0.1:0", *arguments)
            self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
            self.assertRegex(result.stderr, pattern)
            self.assertEqual(result.stderr.count("\n"), 1)


class Traces(Materials):
    def test_each_format_is_what_export_writes(self):
        trace = self.record("one", "kernels")
        self.serve("--trace", self.path("traces"), whom=None)
        told = self.json("/api/traces")
        (entry,) = told["traces"]
        self.assertEqual((entry["name"], told["left_out"]), ("one", 0))
        self.assertEqual(told["formats"], ["perfetto", "chrome", "pprof", "folded", "flamegraph", "csv", "sqlite"])
        for kind in told["formats"]:
            connection = self.connect()
            connection.request("GET", "/api/trace?name=one&format=" + kind)
            answer = connection.getresponse()
            contents = answer.read()
            connection.close()
            self.assertEqual((answer.status, answer.getheader("Spex-Problem")), (200, None))
            self.assertRegex(answer.getheader("Content-Disposition"), r'^attachment; filename="one\.[a-z.]+"$')
            path = self.path("exported")
            self.assertEqual(self.run_spex("export", trace, "--format", kind, "-o", path).returncode, 0)
            if kind == "sqlite":
                with open(self.path("taken.db"), "wb") as file:
                    file.write(contents)
                rows = [sqlite3.connect(of).execute("SELECT count(*) FROM record").fetchone()[0] for of in (path, self.path("taken.db"))]
                self.assertEqual(rows[0], rows[1])
                self.assertGreater(rows[0], 0)
            elif kind != "pprof":  # which tells when it was made
                with open(path, "rb") as file:
                    self.assertEqual(contents, file.read())
            self.assertGreater(len(contents), 0)
            os.unlink(path)

    def test_what_has_changed_between_two_traces(self):
        traces = [self.record(name, "kernels") for name in ("one", "two")]
        self.serve("--trace", self.path("traces"), whom=None)
        answer, text = self.ask("/api/trace?name=two&before=one&format=flamegraph")
        self.assertEqual(answer.status, 200)
        path = self.path("difference.svg")
        self.assertEqual(self.run_spex("export", traces[1], "--before", traces[0], "--format", "flamegraph", "-o", path).returncode, 0)
        with open(path, encoding="utf-8") as file:
            # The titles name the traces as they were asked for.
            self.assertEqual(len(text), len(file.read().replace(self.path("traces"), ".")))

    def test_no_path_leads_out_of_the_folder(self):
        self.record("one", "kernels")
        os.rename(self.path("traces/one"), self.path("outside"))
        self.record("two", "kernels")
        os.symlink("../outside", self.path("traces/link"))
        os.mkdir(self.path("traces/<img src=x>"))
        os.mkdir(os.path.join(self.path("traces").encode(), b"\xff\x1b[31m"))
        for name in b"<img src=x>", b"\xff\x1b[31m":
            with open(os.path.join(self.path("traces").encode(), name, b"metadata"), "wb"):
                pass
        self.serve("--trace", self.path("traces"), whom=None)
        told = self.json("/api/traces")
        self.assertEqual({entry["name"] for entry in told["traces"]}, {"two", "<img src=x>"})
        self.assertEqual(told["left_out"], 1)
        for name in ("link", "../outside", "%2e%2e/outside", "..", ".", "", "two/..", "two/../../outside", self.path("outside"), "%2f",
                     "-o", "%ff", "%ff%1b[31m", "a" * 300, "none", "two%2f"):
            self.refused("/api/trace?format=csv&name=" + name, 404, "there is no such trace")
            self.refused("/api/trace?format=flamegraph&name=two&before=" + name, 404, "there is no such trace")
        self.refused("/api/trace?format=csv&name=two&before=two", 400, "format=flamegraph alone")
        for query in "", "?name=two", "?format=csv", "?name=two&format=", "?name=two&format=../csv", "?name=two&format=--by":
            self.refused("/api/trace" + query, 400, "was expected")
        # What is no trace after all.
        self.refused("/api/trace?format=csv&name=%3Cimg%20src=x%3E", 500, "<img src=x>")

    def test_what_cannot_be_read_is_told(self):
        trace = self.record("one", "kernels")
        (process,) = os.listdir(trace)
        for name in os.listdir(os.path.join(trace, process)):
            if name.startswith("cpu_"):
                with open(os.path.join(trace, process, name), "r+b") as file:
                    file.truncate(os.path.getsize(file.name) - 1)
        self.serve("--trace", self.path("traces"), whom=None)
        answer, text = self.ask("/api/trace?name=one&format=csv")
        self.assertEqual(answer.status, 200)
        self.assertIn("cpu_", answer.getheader("Spex-Problem"))
        self.assertIn("time_ns,", text)

    def test_exports_leave_nothing(self):
        """Also those whose client has gone."""
        self.record("one", "fast", "300000")
        self.serve("--trace", self.path("traces"), whom=None)
        for _ in range(12):
            connection = self.connect()
            connection.request("GET", "/api/trace?name=one&format=chrome")
            connection.close()
        while (answer := self.ask("/api/trace?name=one&format=folded"))[0].status == 503:
            self.assertIn("too many traces are being exported", answer[1])
            time.sleep(0.02)
        (folder,) = [name for name in os.listdir(self.dir) if name.startswith("spex-serve-")]
        self.until(lambda: not os.listdir(self.path(folder)))
        self.server.terminate()
        self.assertEqual(self.server.wait(), 0)
        self.assertFalse(os.path.exists(self.path(folder)))


class Anomalies(Materials):
    def setUp(self):
        super().setUp()
        self.trained = self.models()

    def begun(self, kernel, before):
        """The anomalies that began after event number `before`, or that are not over: on a busy machine one may be there already."""
        events = [event for event in self.json("/api/anomalies?since=0")["events"] if event["kernel"] == kernel]
        over = {event["anomaly"] for event in events if event["event"] == "ends"}
        return [event for event in events if event["event"] != "ends" and
                (event["number"] > before or event["anomaly"] not in over)]

    def test_they_come_with_their_causes(self):
        process = self.stalled()
        self.serve("--model", self.trained, whom=str(process.pid))
        told = self.json("/api/models")
        self.assertEqual([model["path"] for model in told["models"]], ["request", "request/digest", "request/fetch"])
        self.assertEqual(told["models"][0]["parameters"], [{"name": "rows", "low": 200, "high": 4000}])
        self.until_on(process, 3)
        told = self.until(lambda: (told := self.json("/api/anomalies"))["watched"] and told)
        self.assertEqual([(one["pid"], one["watched"]) for one in told["watched"]], [(process.pid, True)])
        before = told["newest"]
        self.write("slow")
        found = self.until(lambda: self.begun("request/fetch", before))
        self.assertEqual((found[0]["pid"], found[0]["parameters"]), (process.pid, {"rows": watch.ROWS}))
        self.assertGreater(found[0]["seconds"], found[0]["high_seconds"])
        self.assertNotEqual(found[0]["cause"], "")
        os.unlink(self.path("slow"))
        newest = self.json("/api/anomalies")["newest"]
        self.assertEqual(self.json("/api/anomalies?since=%d" % 10**12)["newest"], newest)
        for since in "-1", "x", "9" * 30:
            self.refused("/api/anomalies?since=" + since, 400, "was expected")
        # Who watches leaves the program as it was.
        self.server.terminate()
        self.assertEqual(self.server.wait(), 0)
        self.assertEqual(self.listed(process)["sites_on"], 0)

    def test_what_cannot_be_watched_is_told(self):
        process = self.start()
        self.serve("--model", self.trained)
        watched = self.until(lambda: [one for one in self.json("/api/anomalies")["watched"] if not one["watched"]])
        self.assertEqual((watched[0]["pid"], watched[0]["program"]), (process.pid, NAME))
        self.assertIn("has none of the kernels", watched[0]["why"])
        self.say(process, "end")
        self.until(lambda: not self.json("/api/anomalies")["watched"])

    def test_a_server_that_is_killed_leaves_nothing_on(self):
        process = self.stalled()
        self.serve("--model", self.trained, whom=str(process.pid))
        self.until_on(process, 3)
        self.server.kill()
        self.until_on(process, 0)


class Refused(Materials):
    def test_all_of_it_needs_the_token_and_this_site(self):
        self.write("token", TOKEN)
        os.chmod(self.path("token"), 0o600)
        self.record("one", "kernels")
        self.serve("--token-file", self.path("token"), "--trace", self.path("traces"), whom=None)
        bearer = "Bearer " + TOKEN
        for path in "/api/exploration", "/api/models", "/api/anomalies", "/api/traces", "/api/trace?name=one&format=csv":
            for headers, method, status in [({}, "GET", 401), ({"Authorization": bearer, "Host": "evil.example"}, "GET", 421),
                                            ({"Authorization": bearer, "Origin": "http://evil.example"}, "GET", 403),
                                            ({"Authorization": bearer, "Sec-Fetch-Site": "cross-site"}, "GET", 403),
                                            ({"Authorization": bearer}, "POST", 405), ({"Authorization": bearer}, "DELETE", 405)]:
                with self.subTest(path=path, headers=headers, method=method):
                    self.assertEqual(self.ask(path, method, **headers)[0].status, status)
        answer, _ = self.ask("/api/traces", Authorization=bearer)
        self.assertEqual(answer.status, 200)
        self.assertIn("default-src 'none'", answer.getheader("Content-Security-Policy"))


if __name__ == "__main__":
    Programs.spex, Programs.live, SUBJECT, watch.STALLED, RECORDED = map(os.path.abspath, sys.argv[1:6])
    watch.SPEX = Programs.spex
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
