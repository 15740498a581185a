#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex serve`: metrics, and what examples/monitoring has about them.

    serve_metrics.py SPEX LIVE SOURCE_ROOT
"""

import bisect
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from running import Programs
from serving import NAME, Server

OPEN = "application/openmetrics-text; version=1.0.0"
EXAMPLES = None

QUERY = (("program", NAME), ("probe", "query"), ("type", "lat"))
LIVE = (("program", NAME),)


class Metrics(Server):
    def test_probes_of_a_program(self):
        process = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve(whom="--all")
        self.wait_for("spex_probe_records_total", lambda values: values.get(QUERY, 0) > 100)
        text = self.metrics()
        count = self.values("spex_probe_duration_seconds_count", text)[QUERY]
        buckets = [value for labels, value in self.values("spex_probe_duration_seconds_bucket", text).items()
                   if labels[:3] == QUERY]
        self.assertEqual(len(buckets), 32)
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], count)
        self.assertEqual(self.values("spex_probe_period", text)[QUERY], 1)
        self.assertEqual(self.values("spex_program_processes", text)[LIVE], 1)
        # It sleeps for 0.1 ms, so that none is shorter.
        short = self.values("spex_probe_duration_seconds_bucket", text)[(*QUERY, ("le", "5e-05"))]
        self.assertEqual(short, 0)
        self.assertGreaterEqual(self.values("spex_probe_duration_seconds_sum", text)[QUERY], count * 1e-4)
        # Nothing of the program but names.
        self.assertNotIn("live.c", text)
        self.assertNotIn(self.dir, text)
        self.say(process, "end")

    def test_counts_are_those_of_the_program(self):
        """What a program tells last is what the server goes on to tell."""
        process = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        self.wait_for("spex_probe_records_total", lambda values: values.get(QUERY, 0) > 100)
        self.say(process, "stop")
        self.say(process, "end")
        table = process.communicate()[1]
        told = int(re.search(r"^query +lat +1 +(\d+)", table, re.MULTILINE)[1])
        values = self.wait_for("spex_program_processes", lambda values: values.get(LIVE) == 0)
        values = self.values("spex_probe_executions_total")
        self.assertEqual(values[QUERY], told)

    def test_workers_that_are_replaced_are_summed(self):
        first = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        second = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.wait_for("spex_program_processes", lambda values: values.get(LIVE) == 2)
        before = self.wait_for("spex_probe_executions_total", lambda values: values.get(QUERY, 0) > 200)[QUERY]
        for process in first, second:
            self.say(process, "end")
        self.wait_for("spex_program_processes", lambda values: values.get(LIVE) == 0)
        after = self.values("spex_probe_executions_total")[QUERY]
        self.assertGreaterEqual(after, before)
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.wait_for("spex_probe_executions_total", lambda values: values[QUERY] > after)

    def test_only_those_that_were_named(self):
        one = self.start()
        self.start()
        self.serve(whom=str(one.pid))
        self.wait_for("spex_program_processes", lambda values: values.get(LIVE) == 1)
        self.end()
        self.serve(whom="other-%d" % os.getpid())
        self.assertEqual(self.values("spex_program_processes"), {})
        self.assertEqual(self.values("spex_serve_programs"), {(): 0})

    def test_a_program_that_is_stopped_holds_up_nobody(self):
        process = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        self.wait_for("spex_program_processes", lambda values: values.get(LIVE) == 1)
        process.send_signal(signal.SIGSTOP)
        self.addCleanup(process.send_signal, signal.SIGCONT)
        self.wait_for("spex_program_processes_silent", lambda values: values[LIVE] == 1)
        self.assertGreater(self.values("spex_probe_executions_total")[QUERY], 0)
        process.send_signal(signal.SIGCONT)
        self.wait_for("spex_program_processes_silent", lambda values: values[LIVE] == 0)

    def test_probes_beyond_the_limit_are_counted(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve("--max-probes", "3")
        self.wait_for("spex_program_probes_left_out", lambda values: values.get(LIVE) == 1)
        self.assertEqual(len(self.values("spex_probe_period")), 3)

    def test_the_budget_and_its_use(self):
        self.start(environment=self.environment(SPEX_PROBES="*", SPEX_BUDGET="2%"))
        self.serve()
        self.wait_for("spex_program_budget_used_ratio", lambda values: values.get(LIVE, 0) > 0)
        self.assertEqual(self.values("spex_program_budget_ratio"), {LIVE: 0.02})

    def test_formats(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        self.wait_for("spex_probe_duration_seconds_count", lambda values: values.get(QUERY, 0) > 0)
        answer, text = self.ask("/metrics", Accept=OPEN)
        self.assertEqual(answer.getheader("Content-Type"), "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(text.endswith("\n# EOF\n"))
        answer, plain = self.ask("/metrics")
        self.assertEqual(answer.getheader("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
        self.assertNotIn("# EOF", plain)
        answer, nothing = self.ask("/metrics", method="HEAD")
        self.assertEqual((answer.status, nothing), (200, ""))
        if not shutil.which("promtool"):
            self.skipTest("promtool (Debian's prometheus) is not there: the format was not linted")
        lint = subprocess.run(["promtool", "check", "metrics"], input=plain, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((lint.returncode, lint.stdout), (0, ""))


    def test_the_slowest_execution_is_an_exemplar(self):
        process = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        self.wait_for("spex_probe_duration_seconds_count", lambda values: values.get(QUERY, 0) > 0)
        text = self.metrics(Accept=OPEN)
        (found,) = re.findall(r'probe="query",type="lat",le="(.*)"} \d+ # {pid="(\d+)",thread="(\d+)",cpu="(\d+)"} (\S+) (\S+)\n', text)
        self.assertEqual(int(found[1]), process.pid)
        self.assertIn(found[2], os.listdir("/proc/%d/task" % process.pid))
        self.assertLess(int(found[3]), os.cpu_count())
        self.assertLessEqual(float(found[4]), float(found[0]))
        # It sleeps for 0.1 ms.
        self.assertGreater(float(found[4]), 9e-5)
        self.assertTrue(self.began - 1 <= float(found[5]) <= time.time() + 1)
        self.assertNotIn(" # {", self.metrics())

    def prometheus(self, features="exemplar-storage"):
        """Starts Prometheus, which scrapes the server, and returns its port."""
        if not shutil.which("prometheus"):
            self.skipTest("prometheus (Debian's) is not there: exemplars were not scraped")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with open(self.path("prometheus.yml"), "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: spex, static_configs: "
                       "[{targets: ['127.0.0.1:%d']}]}]\n" % self.port)
        process = subprocess.Popen(
            ["prometheus", "--enable-feature=" + features, "--config.file=" + self.path("prometheus.yml"),
             "--storage.tsdb.path=" + self.path("prometheus"), "--web.listen-address=127.0.0.1:%d" % port],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, port

    def ask_prometheus(self, process, port, path, **query):
        """What its API tells, once it tells something."""
        url = "http://127.0.0.1:%d/api/v1/%s?%s" % (port, path, urllib.parse.urlencode(query))
        data = None
        while not data:
            self.assertIsNone(process.poll(), "prometheus has ended")
            try:
                with urllib.request.urlopen(url) as answer:
                    data = json.load(answer)["data"]
                    data = data["result"] if "result" in data else data
            except (urllib.error.URLError, ConnectionError):
                continue
        return data

    def test_prometheus_stores_exemplars(self):
        program = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        self.wait_for("spex_probe_duration_seconds_count", lambda values: values.get(QUERY, 0) > 0)
        data = self.ask_prometheus(*self.prometheus(), "query_exemplars", query="spex_probe_duration_seconds_bucket",
                                   start=self.began - 60, end=self.began + 3600)
        labels = [one["labels"]["pid"] for series in data for one in series["exemplars"]]
        self.assertEqual(set(labels), {str(program.pid)})

    def measured(self):
        """What a program has measured of `query`, and measures no more."""
        program = self.start(environment=self.environment(SPEX_PROBES="query"))
        self.serve()
        self.wait_for("spex_probe_duration_seconds_count", lambda values: values.get(QUERY, 0) > 1000)
        return self.settled(program)

    def settled(self, program):
        """What the program tells of `query` once it is off, and nothing is on its way to the server."""
        self.set(program.pid, "off")
        counts = [0]
        while counts[-1:] != counts[-2:-1]:
            time.sleep(0.2)
            counts.append(self.values("spex_probe_duration_seconds_count")[QUERY])
        answer, text = self.ask("/api/probes?process=%d" % program.pid)
        self.assertEqual(answer.status, 200, text)
        (own,) = [probe["values"][0] for probe in json.loads(text)["figures"]["probes"] if probe["name"] == "query"]
        return own

    def test_quantiles_of_native_histograms_are_within_a_tenth(self):
        """And the other metrics are the same as in texts."""
        own = self.measured()
        process, port = self.prometheus("native-histograms,exemplar-storage")

        def asked(query):
            (found,) = self.ask_prometheus(process, port, "query", query=query)
            return float(found["value"][1])
        for share, name in (0.5, "p50"), (0.9, "p90"), (0.99, "p99"):
            found = asked('histogram_quantile(%g, sum(spex_probe_duration_seconds{probe="query"}))' % share)
            self.assertLess(abs(found / own[name] - 1), 0.1, (name, own[name], found))
        # A scrape is up to a second old, and late ones on a busy machine are older.
        for name in "spex_probe_executions_total", "spex_program_processes", "spex_probe_period":
            self.until(lambda name=name: asked(name + '{program="%s"}' % NAME) == list(self.values(name).values())[0])
        self.until(lambda: asked('histogram_count(spex_probe_duration_seconds{probe="query"})') ==
                   self.values("spex_probe_duration_seconds_count")[QUERY])
        self.assertEqual(asked("up"), 1)

    def test_quantiles_of_promql_are_within_a_bucket(self):
        """What the program has measured at the end, but for a few executions that are on their way."""
        own = self.measured()
        process, port = self.prometheus()
        bounds = sorted({float(dict(labels)["le"]) for labels in self.values("spex_probe_duration_seconds_bucket")})
        for share, name in (0.5, "p50"), (0.9, "p90"), (0.99, "p99"):
            (found,) = self.ask_prometheus(process, port, "query", query=(
                'histogram_quantile(%g, sum by (le) (spex_probe_duration_seconds_bucket{probe="query"}))' % share))
            places = [bisect.bisect_left(bounds, value) for value in (own[name], float(found["value"][1]))]
            self.assertLessEqual(abs(places[0] - places[1]), 1, (name, own[name], found))


    def quantiles(self, text=None):
        """Of `query`: p50, p90 and p99, the lower and the upper ends of their intervals."""
        text = text or self.metrics()
        return [[value for labels, value in sorted(self.values("spex_probe_recent_duration_%sseconds" % end, text).items())
                 if labels[:3] == QUERY] for end in ("", "low_", "high_")]

    def test_quantiles_are_those_of_the_program(self):
        """Of all executions, which begin after the first scrape."""
        program = self.start()
        self.serve("--quantiles")
        self.wait_for("spex_program_processes", lambda values: values.get(LIVE) == 1)
        self.set(program.pid, "query")
        self.wait_for("spex_probe_duration_seconds_count", lambda values: values.get(QUERY, 0) > 3000)
        own = self.settled(program)
        found, low, high = self.quantiles()
        for place, name in enumerate(("p50", "p90", "p99")):
            self.assertAlmostEqual(found[place] / own[name], 1, delta=0.1)
            self.assertTrue(low[place] <= found[place] <= high[place])
            self.assertLess(high[place] - low[place], 2 * found[place])
        # Another client changes nothing, nor does its haste.
        for _ in range(10):
            time.sleep(0.06)
            for now, before in zip(self.quantiles(), [found, low, high]):
                # The length of a tick is known better and better.
                self.assertTrue(all(abs(a / b - 1) < 1e-4 for a, b in zip(now, before, strict=True)), (now, before))
        lint = shutil.which("promtool") and subprocess.run(["promtool", "check", "metrics"], input=self.metrics(), text=True,
                                                           check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertTrue(not lint or (lint.returncode, lint.stdout) == (0, ""), lint)

    def test_quantiles_of_several_processes(self):
        """One that has ended is in them no longer."""
        programs = [self.start(environment=self.environment(SPEX_PROBES="query")) for _ in range(2)]
        self.serve("--quantiles")
        self.wait_for("spex_program_processes", lambda values: values.get(LIVE) == 2)
        self.wait_for("spex_probe_recent_duration_seconds", lambda values: len(values) == 3)
        for program in programs:
            self.say(program, "end")
        self.wait_for("spex_program_processes", lambda values: values.get(LIVE) == 0)
        self.assertEqual(self.quantiles(), [[], [], []])
        self.assertGreater(self.values("spex_probe_duration_seconds_count")[QUERY], 0)


class Examples(Server):
    """What examples/monitoring has is about metrics that there are."""

    def read(self, name):
        with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
            return file.read()

    def test_rules_and_dashboard_name_metrics_that_there_are(self):
        self.start(environment=self.environment(SPEX_PROBES="*", SPEX_BUDGET="2%"))
        self.serve("--quantiles")
        self.wait_for("spex_program_budget_ratio", lambda values: values)
        self.wait_for("spex_probe_duration_seconds_count", lambda values: values.get(QUERY, 0) > 0)
        self.wait_for("spex_probe_recent_duration_high_seconds", lambda values: values)
        there = set(re.findall(r"^(spex_\w+)", self.metrics(), re.MULTILINE))
        queries = [target["expr"] for panel in json.loads(self.read("grafana.json"))["panels"] for target in panel["targets"]]
        self.assertTrue(queries)
        expressions = "\n".join(queries + re.findall(r"^ +expr: (.*(?:\n {10,}\S.*)*)", self.read("spex.rules.yml"), re.MULTILINE))
        named = set(re.findall(r"(?<![:\w])spex_\w+", expressions))
        self.assertTrue(named)
        self.assertEqual(named - there, set())
        for name in there:
            if not re.search(r"_(bucket|sum|count)$", name):
                self.assertTrue(any(part in self.read("../../docs/monitoring.md") for part in (name, name.replace("spex_program_", "…_"))), name)

    def dashboard(self):
        return json.loads(self.read("grafana.json"))

    def test_nothing_is_counted_twice(self):
        """Sums and quantiles of probes are of one probe of one type each, but for a heat map of a chosen one."""
        queries = [(panel["type"], target["expr"]) for panel in self.dashboard()["panels"] for target in panel["targets"]]
        rules = re.findall(r"^ +expr: (.*(?:\n {10,}\S.*)*)", self.read("spex.rules.yml"), re.MULTILINE)
        with open(os.path.join(EXAMPLES, "../../docs/monitoring.md"), encoding="utf-8") as page:
            rules += re.search(r"```promql\n(.*?)```", page.read(), re.DOTALL)[1].splitlines()
        for kind, query in [*queries, *(("rule", rule) for rule in rules)]:
            for by, inner in re.findall(r"sum by \(([^()]*)\) \(\w+\((spex_probe_[^\[]*)", query):
                probe = 'program=~"$program",probe="$heat",type="$heat_type"' if kind == "heatmap" else "provider, probe, type"
                self.assertIn(probe, inner if kind == "heatmap" else by, query)
            self.assertNotRegex(query, r"sum(?! by)\W*\(?rate\(spex_probe")

    def test_the_first_look(self):
        """One program, ten lines at most in a chart of all its probes, the heat map of one of them, and the page."""
        dashboard = self.dashboard()
        variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
        for name in "program", "heat", "heat_type":
            self.assertFalse(variables[name]["includeAll"])
        self.assertEqual(variables["page"]["type"], "textbox")
        queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        for query in queries:
            if "$type" in query:
                self.assertIn("topk(10, ", query)
        self.assertTrue([link for panel in dashboard["panels"] for link in panel.get("links", []) if link["url"] == "${page}"])
        places = [tuple(panel["gridPos"][side] for side in "xywh") for panel in dashboard["panels"]]
        for x, y, width, height in places:
            self.assertLessEqual(x + width, 24)
            self.assertEqual(sum(x < x2 + w2 and x2 < x + width and y < y2 + h2 and y2 < y + height for x2, y2, w2, h2 in places), 1)

    def test_rules(self):
        if not shutil.which("promtool"):
            self.skipTest("promtool (Debian's prometheus) is not there: the rules were not tested")
        # What the dashboard asks, as rules: that it is understood.
        queries = [target["expr"].replace("$__rate_interval", "1m") for panel in self.dashboard()["panels"]
                   for target in panel["targets"]]
        with open(self.path("dashboard.yml"), "w", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "dashboard", "rules": [
                {"record": "dashboard:query:%d" % number, "expr": query} for number, query in enumerate(queries)]}]}, file)
        for arguments in (["check", "rules", self.path("dashboard.yml")], ["check", "rules", "spex.rules.yml"],
                          ["test", "rules", "spex.test.yml"]):
            result = subprocess.run(["promtool", *arguments], cwd=EXAMPLES, text=True, check=False,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    Programs.spex, Programs.live, EXAMPLES = map(os.path.abspath, sys.argv[1:4])
    EXAMPLES = os.path.join(EXAMPLES, "examples", "monitoring")
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
