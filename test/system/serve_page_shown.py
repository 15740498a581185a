#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the page of `spex serve` shows beside programs: explorations, anomalies, models, traces. As serve_page.py.

    serve_page_shown.py SPEX LIVE SUBJECT STALLED RECORDED
"""

import gzip
import http.server
import json
import os
import shutil
import sys
import threading
import time
import unittest
import urllib.request

import serve_page
import serve_shown
import watch
from running import Programs
from serving import TOKEN

By = serve_page.By if serve_page.webdriver else None


class Page(serve_shown.Materials, serve_page.Page):
    def canvas_data(self, chart):
        """How much is drawn in the first series of a chart, once it is in sight."""
        self.browser.execute_script("document.getElementById(arguments[0]).scrollIntoView()", chart)
        return self.browser.execute_script(
            "return echarts.getInstanceByDom(document.getElementById(arguments[0]))?.getOption()?.series?.[0]?.data?.length ?? 0", chart)

    def rows_of(self, table):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))",
            "#" + table)


class Beside(Page):
    def test_an_exploration_in_progress(self):
        process = self.explore(" ".join(map(str, range(101, 400))))
        self.serve("--store", self.path("t.db"), "--token-file", self.path("token"), whom=None)
        self.open("#token=" + TOKEN)
        self.wait(lambda: self.text("#exploration-state").startswith("In progress: "))
        self.wait_for_state("Live")

        def trials():
            return int(self.text("#exploration-state").split()[2 if self.text("#exploration-state")[0] == "I" else 3])
        before = trials()
        self.wait(lambda: trials() > before + 3)
        self.wait(lambda: self.text("#best").startswith("Best throughput of work:tpt"))
        for chart in "convergence", "map":
            self.wait(lambda chart=chart: self.canvas_data(chart) > 0)
        self.wait(lambda: self.rows_of("ties-table") and self.rows_of("effects-table"))
        process.kill()
        self.wait(lambda: self.text("#exploration-state").startswith("Not in progress: "))
        # Where nothing is followed, nothing of programs is shown.
        for name in "now", "probes", "charts", "anomalies", "models", "traces", "followed":
            self.assertFalse(self.browser.find_element(By.ID, name).is_displayed(), name)
        self.check_log()

    def test_a_panel_is_chosen(self):
        self.explore().wait()
        self.serve("--store", self.path("t.db"), whom=None)
        self.open()
        self.wait(lambda: self.rows_of("map-table"))
        self.assertEqual(self.browser.execute_script("return [...document.getElementById('panel').options].map(one => one.text)"),
                         ["behaviour steady", "behaviour crash"])
        self.assertTrue(all("–" not in row[1:] for row in self.rows_of("map-table")))
        serve_page.Select(self.browser.find_element(By.ID, "panel")).select_by_visible_text("behaviour crash")
        self.wait(lambda: all(set(row[1:]) == {"–"} for row in self.rows_of("map-table")))
        self.check_log()

    def test_anomalies_and_models(self):
        process = self.stalled()
        self.serve("--model", self.models(), whom=str(process.pid))
        self.open()
        self.wait(lambda: self.text("#models-state") == "3 kernels: 3 linear")
        self.wait(lambda: self.canvas_data("curve") > 0)
        serve_page.Select(self.browser.find_element(By.ID, "kernel")).select_by_visible_text("request/fetch")
        self.wait(lambda: self.text("#model").startswith("request/fetch: "))
        self.wait(lambda: self.text("#anomalies-state").startswith("1 process is watched; "))
        self.write("slow")
        self.wait(lambda: [row for row in self.rows_of("anomalies-table") if row[1].startswith("request/fetch(rows=2 k)") and row[2]])
        self.check_log()

    def test_a_trace_is_downloaded(self):
        self.record("one", "kernels")
        os.rename(self.path("traces/one"), self.path("traces/<img src=x onerror=document.title=1>"))
        self.serve("--trace", self.path("traces"), "--token-file", self.path("token"), whom=None)
        self.open("#token=" + TOKEN)
        os.mkdir(self.path("downloads"))
        self.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": self.path("downloads")})
        self.wait(lambda: len(self.rows_of("traces-table")) == 1)
        serve_page.Select(self.browser.find_element(By.ID, "format")).select_by_visible_text("csv")
        self.browser.find_element(By.CSS_SELECTOR, "#traces-table button").click()
        self.wait(lambda: os.listdir(self.path("downloads")) == ["_img_src_x_onerror_document.title_1_.csv"])
        self.wait(lambda: self.text("#traces-state").startswith("_img_src_x_onerror_document.title_1_.csv: "))
        with open(self.path("downloads/_img_src_x_onerror_document.title_1_.csv"), encoding="utf-8") as file:
            self.assertTrue(file.readline().startswith("time_ns,"))
        shutil.rmtree(self.path("traces/<img src=x onerror=document.title=1>"))
        self.browser.find_element(By.CSS_SELECTOR, "#traces-table button").click()
        self.wait(lambda: "there is no such trace" in self.text("#traces-state"))
        self.browser.find_element(By.ID, "again").click()
        self.wait(lambda: self.text("#traces-state") == "0 traces")
        self.assertEqual(self.browser.title, "spex")
        self.check_log(["404"])

    def test_another_server_has_other_things(self):
        self.explore().wait()
        self.record("one", "kernels")
        self.serve("--store", self.path("t.db"), whom=None)
        self.open()
        self.wait(lambda: self.rows_of("map-table"))
        self.end()
        self.wait_for_state("cannot be reached")
        self.serve("--store", self.path("t.db"), "--trace", self.path("traces"), "--listen", "127.0.0.1:%d" % self.port, whom=None)
        self.wait(lambda: len(self.rows_of("traces-table")) == 1)
        self.wait_for_state("Live")


class Replayed(http.server.BaseHTTPRequestHandler):
    """A server that tells in minutes what another one tells in a night: its files and answers are those of the real one."""

    real = None  # asks it: path to type and contents
    events = ()  # name and data of a second
    count = 0
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def give(self, kind, contents):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(contents)))
        self.end_headers()
        self.wfile.write(contents)

    def do_GET(self):  # pylint: disable=invalid-name
        if self.path.startswith("/api/events"):
            return self.give_events()
        if self.path.startswith("/api/anomalies"):
            return self.give("application/json", json.dumps(self.anomalies()).encode())
        return self.give(*self.real(self.path))

    def anomalies(self):
        """Other ones each time, as many as a server keeps."""
        newest = Replayed.count * 256
        return {"newest": newest, "left_out": 0, "watched": [], "events": [{
            "event": "begins", "number": number, "anomaly": number, "pid": 1, "program": "p", "time": number, "kernel": "k" * 100,
            "parameters": {"n": number}, "seconds": 2, "predicted_seconds": 1, "low_seconds": 0, "high_seconds": None, "executions": 1,
            "lasted_seconds": 0, "median_ratio": 2, "cause": "c", "changes": {}} for number in range(newest - 255, newest + 1)]}

    def give_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                Replayed.count += 1
                for name, told in self.events:
                    if name == "programs":
                        told = {**told, "shown": {**told["shown"], "anomalies": Replayed.count // 50, "exploration": Replayed.count // 50}}
                    self.wfile.write(("event: %s\ndata: %s\n\n" % (name, json.dumps(told))).encode())
                time.sleep(0.002)  # one is drawn before the next comes
        except OSError:
            return


class Night(Page):
    def heap(self):
        self.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        return self.browser.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]

    def test_memory_is_bounded(self):
        """SPEX_NIGHT: so many seconds."""
        night = int(os.environ.get("SPEX_NIGHT", 1500))
        self.explore().wait()
        program = Programs.start(self, environment=self.environment(SPEX_PROBES="*"))
        super().serve("--store", self.path("t.db"), "--model", self.models(), whom=str(program.pid))

        origin = self.url[:-1]

        def real(path):
            with urllib.request.urlopen(origin + path) as answer:
                contents = answer.read()
                return answer.headers["Content-Type"], gzip.decompress(contents) if contents[:2] == b"\x1f\x8b" else contents
        Replayed.real = staticmethod(real)
        with urllib.request.urlopen("%sapi/events?process=%d" % (self.url, program.pid)) as stream:
            told = {}
            while set(told) != {"programs", "interval"}:
                name, data, _ = (stream.readline().decode() for _ in range(3))
                told[name[7:-1]] = json.loads(data[6:])
        told["interval"]["figures"]["records"]["lost"] = 1
        Replayed.events, Replayed.count = tuple(told.items()), 0
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Replayed)
        server.daemon_threads = True
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.url = "http://127.0.0.1:%d/" % server.server_port
        self.open()
        used = []
        for seconds in night // 3, night:
            self.wait(lambda seconds=seconds: Replayed.count > seconds)
            used.append(self.heap())
        rows = self.rows_of("anomalies-table")
        self.assertEqual(len(rows), 50)
        print("after %d s %.1f MB, after %d s %.1f MB" % (night // 3, used[0] / 1e6, night, used[1] / 1e6), file=sys.stderr)
        self.assertLess(used[1], 1.5 * used[0] + 2e6)


class Whole(serve_page.Shown, Page):
    """How all of it looks, and whether everybody can use it."""

    def serve(self, *arguments, **options):
        self.explore().wait()
        self.record("one", "kernels")
        super().serve("--store", self.path("t.db"), "--trace", self.path("traces"), "--model", self.models(), *arguments, **options)

    def setUp(self):
        super().setUp()
        self.wait(lambda: self.rows_of("traces-table") and self.rows_of("map-table") and self.rows_of("points-table") is not None
                  and self.text("#models-state"))
        self.browser.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")


if __name__ == "__main__":
    Programs.spex, Programs.live, serve_shown.SUBJECT, watch.STALLED, serve_shown.RECORDED = map(os.path.abspath, sys.argv[1:6])
    watch.SPEX = Programs.spex
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
