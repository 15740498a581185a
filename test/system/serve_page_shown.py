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
import sqlite3
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
        for chart in "convergence", "parallel", "map":
            self.wait(lambda chart=chart: self.canvas_data(chart) > 0)
        self.wait(lambda: self.rows_of("ties-table") and self.rows_of("ranked-table") and self.rows_of("effects-table"))
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
        self.assertIn("work=200 us threads=", self.text("#best"))
        self.assertIn(", 8 of 8 configurations", self.text("#exploration-state"))
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
        process.kill()
        self.wait(lambda: any(row[5].startswith("its process has ended") for row in self.rows_of("anomalies-table")))
        self.wait(lambda: "of which 0 go on" in self.text("#anomalies-state"))
        self.check_log()

    def fleet(self):
        """A store as docs/fleet.md describes it; names are markup. Returns its path."""
        name = "<img src=x onerror=document.title=1>"
        instance = {"instance": name + "/7", "program": name, "mode": "full", "cause": "room", "desired": 2, "on": 2, "map": 3,
                    "response": 0.02, "throughput": 50.0, "spent": 0.011, "leaving": False, "why": name}
        now = {"action": "hold", "capacity": 40.0, "p_t": 50.0, "response": 0.02, "cost": 0.5, "text": "9 s: " + name}
        status = {"policy": name, "hosts": 1, "count": 1, "modes": {"none": 0, "partial": 0, "full": 1}, "map": 3, "covered": 3, "recorded": 2,
                  "now": now, "last": now, "probes": [], "instances": [instance], "overlap": None, "next": None,
                  "targets": {"probe": "query:lat", "metric": "mean", "response": 0.01, "cost": None, "throughput": None}}
        with sqlite3.connect(self.path("fleet.db")) as db:
            db.executescript("""PRAGMA application_id=0x73707866; PRAGMA user_version=2;
                CREATE TABLE run(id, fleet); CREATE TABLE snapshot(run, time, instances, gone);
                CREATE TABLE told(run, probe, time, instances, count, records, lost, seconds, p50, p90, p99, profile);
                CREATE TABLE course(time, run, hosts, none, partial, full, covered, recorded, map, capacity, load, response, cost, overlap);
                CREATE TABLE decision(time, run, action, text); CREATE TABLE status(fleet, time, json);""")
            begin = time.time() - 7200
            db.executemany("INSERT INTO course VALUES(?,1,1,0,0,1,3,2,3,40.0,50.0,0.02,0.5,NULL)", [(begin + 5 * t,) for t in range(1400)])
            db.execute("INSERT INTO decision VALUES(?,1,'instrument',?)", (begin, "8 s: instruments 1 " + name))
            db.execute("INSERT INTO status VALUES('p',?,?)", (begin + 7000, json.dumps(status)))
        return self.path("fleet.db"), name

    def test_a_fleet(self):
        store, name = self.fleet()
        self.serve("--fleet", store, whom=None)
        self.open()
        self.wait(lambda: self.text("#fleet-state").startswith("Policy " + name))
        for chart in "modes", "response", "load", "coverage":
            self.wait(lambda chart=chart: 600 < self.canvas_data("fleet-" + chart) <= 720)
        # What is not kept is marked.
        tiles = self.browser.execute_script("return [...document.querySelectorAll('#fleet-now div')].map("
                                            "tile => [tile.querySelector('dd').textContent, !!tile.querySelector('.bad')])")
        self.assertEqual(tiles, [["1", False], ["2 of 3 probes", True], ["–", False], ["20 ms", True], ["50/s", True]])
        self.assertEqual(self.rows_of("fleet-instances-table")[0][:4], [name + "/7", name, "full", "2 of 3"])
        self.assertEqual([row[1] for row in self.rows_of("fleet-decisions-table")], ["instruments 1 " + name])
        self.assertRegex(self.rows_of("fleet-decisions-table")[0][0], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        with sqlite3.connect(store) as db:
            db.execute("INSERT INTO decision VALUES(?,1,'revert','9 s: reverts 1')", (time.time(),))
        self.wait(lambda: len(self.rows_of("fleet-decisions-table")) == 2)
        self.assertEqual(self.browser.title, "spex")
        self.check_log()

    def test_a_fleet_is_accessible(self):
        store, _ = self.fleet()
        self.serve("--fleet", store, whom=None)
        self.open()
        self.wait(lambda: self.rows_of("fleet-instances-table"))
        self.look("fleet")

    def test_an_exploration_is_accessible(self):
        self.explore().wait()
        self.serve("--store", self.path("t.db"), whom=None)
        self.open()
        self.wait(lambda: self.rows_of("map-table"))
        self.look("exploration")

    def test_a_trace_is_downloaded(self):
        self.record("one", "kernels")
        os.rename(self.path("traces/one"), self.path("traces/<img src=x onerror=document.title=1>"))
        self.serve("--trace", self.path("traces"), "--token-file", self.path("token"), whom=None)
        self.open("#token=" + TOKEN)
        os.mkdir(self.path("downloads"))
        self.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": self.path("downloads")})
        self.wait(lambda: len(self.rows_of("traces-table")) == 1)
        # The page is English, in no language's way to write dates.
        self.assertRegex(self.rows_of("traces-table")[0][3], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
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

    def blocks(self):
        """Names of what a picture shows, and how many pixels each has."""
        return self.browser.execute_script("return [...document.querySelectorAll('#picture .block')].map("
                                           "block => [block.title.split('\\n')[0], block.offsetWidth])")

    def open_trace(self):
        """The page, with one trace, whose name is markup; returns its name."""
        name = "<img src=x onerror=document.title=1>"
        self.record("one", "kernels")
        os.rename(self.path("traces/one"), self.path("traces/" + name))
        self.serve("--trace", self.path("traces"), whom=None)
        self.open()
        self.wait(lambda: len(self.rows_of("traces-table")) == 1)
        return name

    def test_a_flame_graph(self):
        name = self.open_trace()
        self.button("Flame graph of " + name).click()
        self.wait(self.blocks)
        self.assertEqual(self.text("#picture-title"), "Flame graph of " + name)
        blocks = self.blocks()
        whole = blocks[0][1]
        self.assertEqual(sorted(block[0] for block in blocks), ["all kernels", "inner", "inner", "outer"])
        self.assertEqual({row[0] for row in self.browser.execute_script(
            "return [...document.querySelectorAll('#picture tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")},
            {"inner", "outer"})
        self.browser.find_element(By.CSS_SELECTOR, "#picture input").send_keys("^INN")
        self.wait(lambda: self.text("#picture output").endswith(" of the time shown is found"))
        self.assertEqual(self.browser.execute_script("return [...document.querySelectorAll('#picture .found')].length"), 2)
        # By keyboard: to the first kernel within all, into it, and back.
        self.browser.find_elements(By.CSS_SELECTOR, "#picture .block")[0].send_keys(serve_page.Keys.ARROW_DOWN)
        inner = self.browser.switch_to.active_element
        chosen = inner.get_attribute("title").split("\n")[0]
        inner.send_keys(serve_page.Keys.ENTER)
        self.wait(lambda: [chosen, whole] in self.blocks()[1:])
        self.browser.switch_to.active_element.send_keys(serve_page.Keys.ARROW_UP, serve_page.Keys.ENTER)
        self.wait(lambda: self.blocks() == blocks)
        self.browser.find_element(By.ID, "picture-close").click()
        self.assertEqual(self.blocks(), [])
        self.assertEqual(self.browser.title, "spex")
        self.check_log()

    def test_a_difference(self):
        for name in "one", "two":
            self.record(name, "kernels")
        self.serve("--trace", self.path("traces"), whom=None)
        self.open()
        self.wait(lambda: len(self.rows_of("traces-table")) == 2)
        self.button("Difference of two").click()
        self.wait(lambda: "compare with" in self.text("#traces-state"))
        serve_page.Select(self.browser.find_element(By.ID, "before")).select_by_visible_text("one")
        self.button("Difference of two").click()
        # The picture is drawn: an image that is not has no size of its own.
        self.wait(lambda: self.browser.execute_script("return document.querySelector('#picture img')?.naturalWidth ?? 0") > 100)
        self.assertEqual(self.text("#picture-title"), "Difference of two to one")
        self.assertEqual(self.browser.find_element(By.CSS_SELECTOR, "#picture a").get_attribute("download"), "two.svg")
        self.check_log()

    def test_the_flame_graph_as_a_file(self):
        """`spex export --format flamegraph`, without any server."""
        self.open_trace()
        path = self.path("flame.svg")
        (trace,) = os.listdir(self.path("traces"))
        result = self.run_spex("export", self.path("traces/" + trace), "--format", "flamegraph", "-o", path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.browser.get("file://" + path)
        frames = self.browser.find_elements(By.CSS_SELECTOR, ".frames > svg")

        def shown():
            return [(frame.get_attribute("aria-label").split(";")[0], round(float(frame.get_attribute("width")[:-1])))
                    for frame in frames if frame.is_displayed()]
        before = shown()
        self.assertEqual(sorted(name for name, _ in before), ["all kernels", "inner", "inner", "outer"])
        by_time, turn = self.text(".head"), self.browser.find_element(By.XPATH, "//*[text()='By executions']")
        turn.click()
        self.assertEqual(self.text(".head"), by_time.replace("by time", "by executions"))
        self.assertEqual({share for name, share in shown() if name == "inner"}, {round(1000 / 21), round(100 / 21)})
        turn.click()
        self.browser.switch_to.active_element.send_keys(serve_page.Keys.CONTROL, "f")
        self.browser.switch_to.active_element.send_keys("^inn")
        self.assertRegex(self.text("output"), r"^[\d.]+ % matched$")
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, ".hit")), 2)
        self.browser.switch_to.active_element.send_keys(serve_page.Keys.ESCAPE)
        self.assertEqual((self.browser.find_elements(By.CSS_SELECTOR, ".hit"), shown()), ([], before))
        outer = next(frame for frame in frames if frame.get_attribute("aria-label").startswith("outer"))
        outer.send_keys(serve_page.Keys.ENTER)
        self.assertEqual(shown()[:2], [("all kernels", 100), ("outer", 100)])
        self.browser.switch_to.active_element.send_keys(serve_page.Keys.ESCAPE)
        self.assertEqual(shown(), before)
        self.check_log()

    def test_a_time_line(self):
        name = self.open_trace()
        self.button("Time line of " + name).click()
        self.wait(lambda: " took " in (self.text("#picture .note") or "") and self.blocks())
        probe, slowest = (serve_page.Select(one) for one in self.browser.find_elements(By.CSS_SELECTOR, "#picture select"))
        probe.select_by_visible_text(next(one.text for one in probe.options if one.text.startswith("outer (kernel)")))
        self.wait(lambda: self.text("#picture .note").startswith("outer (kernel) took "))
        self.wait(lambda: [block[0] for block in self.blocks()] == ["outer (kernel)", "inner (kernel)"])
        self.assertEqual(len(slowest.options), 10)
        times = [self.text("#picture .note")]
        for label in "Next faster", "Next faster", "Next slower":
            self.browser.find_element(By.XPATH, "//dialog//button[text()='%s']" % label).click()
            self.wait(lambda: " took " in self.text("#picture .note"))
            times.append(slowest.first_selected_option.text)
        self.assertEqual([text.split(":")[0] for text in times[1:]], ["2", "3", "2"])
        self.browser.find_element(By.ID, "picture-close").click()
        shutil.rmtree(self.path("traces/" + name))
        self.button("Time line of " + name).click()
        self.wait(lambda: self.text("#picture-state") == "There is no picture: there is no such trace")
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
                        there = [name for name in ("anomalies", "exploration") if told["shown"][name] not in (None, False)]
                        told = {**told, "shown": {**told["shown"], **{name: Replayed.count // 50 for name in there}}}
                    else:
                        told = {**told, "time": told["time"] + 1000 * Replayed.count}
                    self.wfile.write(("event: %s\ndata: %s\n\n" % (name, json.dumps(told))).encode())
                time.sleep(0.002)  # one is drawn before the next comes
        except OSError:
            return


class Replay(Page):
    def replay(self, change, *options):
        """Opens the page of a program, of which the server tells the same again and again, after a change."""
        program = Programs.start(self, environment=self.environment(SPEX_PROBES="*"))
        super().serve(*options, whom=str(program.pid))
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
        change(told["interval"]["figures"])
        Replayed.events, Replayed.count = tuple(told.items()), 0
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Replayed)
        server.daemon_threads = True
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.url = "http://127.0.0.1:%d/" % server.server_port
        self.open()

    def test_a_bound_is_no_figure(self):
        """As the table of `spex run` has it: what a rate is at least is told with ≥, and is no line of a chart."""
        def bound(figures):
            (query,) = (probe for probe in figures["probes"] if probe["name"] == "query")
            query.update(rate=5e6, rate_at_least=True, count_at_least=True)
        self.replay(bound)
        self.wait_for_row("query", lambda row: row[3] == "≥ 5 M")
        (probe,) = (probe for probe in self.interval_probes() if probe["name"] == "query")
        self.assertEqual((probe["rate"], probe["least"]), (None, 5e6))

    def interval_probes(self):
        return self.browser.execute_async_script("""
            const done = arguments[0];
            import("/model.js").then(({ shown }) => done([...shown.probes.values()].filter(({ recent }) => recent.length)
              .map(({ about, recent }) => ({ name: about.name, ...recent.at(-1) }))));""")


class Night(Replay):
    def heap(self):
        self.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        return self.browser.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]

    def test_memory_is_bounded(self):
        """SPEX_NIGHT: so many seconds."""
        night = int(os.environ.get("SPEX_NIGHT", 1500))
        self.explore().wait()
        self.replay(lambda figures: figures["records"].update(lost=1), "--store", self.path("t.db"), "--model", self.models())
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
