#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `spex serve`, in a real browser: Debian's chromium, chromium-driver and python3-selenium.

    serve_page.py SPEX LIVE HOSTILE

SPEX_AXE is axe.min.js of the package axe-core of npm, which judges how accessible the page is. SPEX_SCREENSHOTS is a
folder for pictures of the page.
"""

import json
import os
import shutil
import sys
import time
import unittest
import urllib.parse

from running import Programs
from serving import NAME, TOKEN, Server

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    webdriver = None

HOSTILE = None
PATIENCE = 300  # seconds: what is waited for comes, or the test has failed


def lacking():
    """What is missing for a browser; None: nothing."""
    if not webdriver:
        return "python3-selenium"
    for package, command in ("chromium", "chromium"), ("chromium-driver", "chromedriver"):
        if not shutil.which(command):
            return package
    return None


class Page(Server):
    def setUp(self):
        super().setUp()
        if lacking():
            self.skipTest("%s is not there: the page was not opened" % lacking())
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write(TOKEN)
        os.chmod(self.path("token"), 0o600)
        self.browser = None

    def open(self, fragment=""):
        options = webdriver.ChromeOptions()
        for argument in ["headless=new", "disable-gpu", "disable-dev-shm-usage", "no-first-run", "window-size=1400,2400",
                         "user-data-dir=" + self.path("browser"), *(["no-sandbox"] if os.geteuid() == 0 else [])]:
            options.add_argument("--" + argument)
        options.binary_location = shutil.which("chromium")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.addCleanup(self.browser.quit)
        self.browser.get(self.url + fragment)

    def open_with_token(self):
        self.serve("--token-file", self.path("token"))
        self.open("#token=" + TOKEN)

    def wait(self, condition):
        return WebDriverWait(self.browser, PATIENCE, 0.05).until(lambda _: condition())

    def text(self, selector):
        return self.browser.execute_script("return document.querySelector(arguments[0])?.textContent", selector)

    def wait_for_state(self, text):
        self.wait(lambda: text in self.text("#state"))

    def rows(self):
        """The cells of each probe, by its name: type, state, picture, rate, median, 99 %, overhead, lost, why, switch."""
        rows = self.browser.execute_script(
            "return [...document.querySelectorAll('#table tbody tr[data-key]')].map(row => [...row.cells].map(cell => cell.textContent))")
        return {row[0]: row[1:] for row in rows}

    def wait_for_row(self, name, condition):
        def is_so():
            rows = self.rows()
            return name in rows and condition(rows[name])
        return self.wait(is_so)

    def size(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def button(self, label):
        return self.browser.find_element(By.CSS_SELECTOR, 'button[aria-label="%s"]' % label)

    def open_controls(self):
        self.browser.find_element(By.CSS_SELECTOR, "#how summary").click()

    def look(self, name):
        """How accessible the page is, as it is now."""
        if not os.environ.get("SPEX_AXE"):
            self.skipTest("SPEX_AXE is not set: axe (axe-core of npm) did not look at the page")
        with open(os.environ["SPEX_AXE"], encoding="utf-8") as file:
            self.browser.execute_script(file.read())
        options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
        found = self.browser.execute_async_script("axe.run(document, arguments[0]).then(arguments[1])", options)
        self.assertEqual(["%s: %s" % (one["id"], node["html"]) for one in found["violations"] for node in one["nodes"]], [], name)
        self.assertGreater(len(found["passes"]), 10)

    def check_log(self, but=()):
        """No script has failed, and none was kept from anything by the policy."""
        for entry in self.browser.get_log("browser"):
            self.assertTrue(any(text in entry["message"] for text in but), entry)

    def probe_sites(self, process):
        sites = json.loads(self.run_spex("probes", "--json", process.pid).stdout)["sites"]
        return {site["name"]: site for site in sites}


class Live(Page):
    def test_what_a_program_measures(self):
        process = self.start(environment=self.environment(SPEX_PROBES="*", SPEX_BUDGET="2%"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[1] != "off" and "–" not in row[3:6])
        self.assertEqual(self.query()["process"], [str(process.pid)])
        self.assertIn("%s · %d" % (NAME, process.pid), self.browser.title)
        self.wait_for_state("Live")
        for chart in "rates", "times", "costs":
            self.wait(lambda chart=chart: self.drawn(chart) > 2)
        self.wait(lambda: self.text("#tiles").count("of the budget") == 1)
        for row in self.browser.find_elements(By.CSS_SELECTOR, "tbody th button"):
            row.send_keys(Keys.ENTER)
            self.wait(lambda row=row: self.text("#charted").startswith(row.text))
        self.button("Switch off: query, lat")
        self.choose("query")
        self.browser.find_element(By.CSS_SELECTOR, "#charts details summary").send_keys(Keys.ENTER)
        for chart in "rate", "values", "heat":
            self.browser.execute_script("document.getElementById(arguments[0]).scrollIntoView()", chart)  # out of sight it is not drawn
            self.wait(lambda chart=chart: self.drawn(chart) > 2)
        self.wait(lambda: self.browser.execute_script("return document.querySelectorAll('#numbers tbody tr').length") > 1)
        self.browser.find_element(By.ID, "back").click()
        self.wait(self.browser.find_element(By.ID, "overview").is_displayed)
        self.check_log()

    def query(self):
        return urllib.parse.parse_qs(urllib.parse.urlsplit(self.browser.current_url).query)

    def drawn(self, chart):
        """The points of a chart."""
        return self.browser.execute_script(
            "return echarts.getInstanceByDom(document.getElementById(arguments[0]))?.getOption().series"
            ".reduce((sum, one) => Math.max(sum, one.data.length), 0) ?? 0", chart)

    def choose(self, name):
        self.browser.execute_script(
            "[...document.querySelectorAll('tbody th button')].find(button => button.textContent === arguments[0]).click()", name)
        self.wait(lambda: self.text("#charted").startswith(name))

    def test_a_reload_forgets_nothing(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[3] != "–")
        self.choose("query")
        self.wait(lambda: self.drawn("rate") > 3)
        before = self.times("rate")
        self.browser.find_element(By.ID, "filter").send_keys("que")
        self.wait(lambda: self.query().get("filter") == ["que"])
        self.browser.refresh()
        self.wait(lambda: set(before) <= set(self.times("rate")))
        self.assertTrue(self.text("#charted").startswith("query"))
        self.assertEqual(self.browser.find_element(By.ID, "filter").get_attribute("value"), "que")
        now = time.time() * 1000
        self.assertTrue(all(now - 60000 * PATIENCE < one < now + 1000 for one in self.times("rate")))
        self.check_log()

    def times(self, chart):
        """Of its points, to the millisecond."""
        found = self.browser.execute_script(
            "return echarts.getInstanceByDom(document.getElementById(arguments[0]))?.getOption().series.at(-1).data.map(([time]) => time) ?? []", chart)
        return [round(one) for one in found]

    def test_time_stands_still_when_it_is_asked_to(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[3] != "–")
        self.wait(lambda: self.drawn("rates") > 1)
        self.browser.find_element(By.ID, "pause").click()
        paused = self.text("#when")
        self.assertIn("Paused", paused)
        seen = self.text("#tiles")
        self.wait(lambda: self.text("#tiles") != seen)
        self.assertEqual(self.text("#when"), paused)
        self.browser.find_element(By.ID, "live").click()
        self.wait(lambda: self.text("#when") == "")
        self.browser.find_element(By.CSS_SELECTOR, "#ranges button[value='600']").click()
        self.wait(lambda: self.query().get("range") == ["600"])

    def test_the_dearest_is_first_from_the_first_report_on(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.open_with_token()
        # A probe that only counts costs least, and has the first name.
        found = self.wait(lambda: (rows := self.rows()) and rows["3"][3] != "–" and list(rows))
        self.assertEqual((found[-1], sorted(found)[0]), ("3", "3"))

    def test_the_table_is_sorted_by_each_column(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[3] != "–")
        for head in self.browser.find_elements(By.CSS_SELECTOR, "#table thead th[data-sort]"):
            if not head.is_displayed():
                continue
            column = head.get_attribute("data-sort")
            for _ in range(2):
                head.find_element(By.TAG_NAME, "button").click()
                self.assertIn(head.get_attribute("aria-sort"), ("ascending", "descending"))
            self.wait(lambda column=column: self.query().get("sort", [""])[0].lstrip("-") in (column, ""))
        self.browser.find_element(By.CSS_SELECTOR, "#table th[data-sort=name] button").click()
        down = self.browser.find_element(By.CSS_SELECTOR, "#table th[data-sort=name]").get_attribute("aria-sort") == "descending"
        names = list(self.rows())
        self.assertEqual(names, sorted(names, key=str.lower, reverse=down))

    def test_a_budget_is_set_and_taken_back(self):
        process = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[1] == "on")
        self.open_controls()
        self.browser.find_element(By.ID, "budget").clear()
        self.browser.find_element(By.ID, "budget").send_keys("3")
        self.browser.find_element(By.ID, "budget-set").click()
        self.wait(lambda: self.budget(process) == 0.03)
        self.wait(lambda: "the budget is 3 %" in self.text("#done"))
        self.browser.find_element(By.CSS_SELECTOR, "#done button").click()
        self.wait(lambda: self.budget(process) == 0)
        self.check_log()

    def budget(self, process):
        return self.listed(process).get("budget", 0)

    def test_switching_all_off_is_undone(self):
        process = self.start(environment=self.environment(SPEX_PROBES="query@7"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[1] == "1 in 7")
        self.open_controls()
        self.browser.find_element(By.ID, "all-off").click()
        self.wait_for_row("query", lambda row: row[1] == "off")
        self.browser.find_element(By.CSS_SELECTOR, "#done button").click()
        self.wait_for_row("query", lambda row: row[1] == "1 in 7")
        site = self.probe_sites(process)["query"]
        self.assertEqual((site["on"], site["period"]), (True, 7))

    def test_the_slowest_executions_on_a_time_line(self):
        """Of the chosen probe, with what went on meanwhile in the same thread."""
        process = self.start(environment=self.environment(SPEX_PROBES="query,query.parse"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[3] != "–")
        self.browser.find_element(By.XPATH, "//tbody//th//button[text()='query']").click()
        self.wait(lambda: self.browser.find_element(By.ID, "slowest").is_enabled())
        self.browser.find_element(By.ID, "slowest").click()
        self.wait(lambda: self.text("#picture .note").startswith("query (lat) took "))
        self.assertIn("the slowest of the last 10 to 20 seconds", self.text("#picture .note"))
        self.assertEqual(self.text("#picture-title"), "Slowest executions of %s %d" % (NAME, process.pid))
        chosen, lanes = self.browser.execute_script(
            "return [[...document.querySelectorAll('#picture .block.chosen')].map(one => one.title),"
            " [...document.querySelectorAll('#picture .lane')].map(one => one.textContent)]")
        self.assertEqual((len(chosen), len(lanes)), (1, 1))
        self.assertRegex(chosen[0], r"^query \(lat\)\n[\d.]+ [mµ]?s, begins after 0 s\ncpu \d+$")
        self.assertRegex(lanes[0], r"^thread \d+$")
        Select(self.browser.find_element(By.CSS_SELECTOR, "#picture select")).select_by_visible_text("query.parse (tpt)")
        self.wait(lambda: self.text("#picture .note").startswith("query.parse (tpt) took "))
        self.browser.find_element(By.ID, "picture-close").click()
        self.check_log()

    def test_the_token_is_typed_in(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve("--token-file", self.path("token"))
        self.open()
        self.wait_for_state("wants a token")
        for token in "wrong", TOKEN:
            self.wait(self.browser.find_element(By.ID, "token").is_displayed)
            self.browser.find_element(By.ID, "token").send_keys(token, Keys.ENTER)
            self.wait(lambda: self.text("#state") != "Connecting")
            self.assertEqual("not accept" in self.text("#token-wrong"), token != TOKEN)
        self.wait_for_row("query", lambda row: row[1] == "on")
        self.assertFalse(self.browser.find_element(By.ID, "token").is_displayed())
        self.browser.refresh()
        self.wait_for_state("Live")
        self.assertEqual(self.browser.execute_script("return document.cookie + JSON.stringify(localStorage)"), "{}")
        self.check_log(["401"])

    def test_a_server_without_token_switches_nothing(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.serve()
        self.open()
        self.wait_for_row("query", lambda row: row[1] == "on")
        self.open_controls()
        self.wait(self.browser.find_element(By.ID, "fixed").is_displayed)
        self.assertFalse(self.button("Switch off: query, lat").is_enabled())
        self.assertFalse(self.browser.find_element(By.ID, "all-off").is_enabled())

    def test_the_program_obeys(self):
        process = self.start()
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[1] == "off")
        self.open_controls()
        self.browser.find_element(By.ID, "period").clear()
        self.browser.find_element(By.ID, "period").send_keys("100")
        self.button("Switch on: query, lat").send_keys(Keys.ENTER)
        self.wait_for_row("query", lambda row: row[1] == "1 in 100" and "leased for" in row[8])
        self.assertEqual(self.listed(process)["sites_on"], 1)
        site = self.probe_sites(process)["query"]
        self.assertEqual((site["on"], site["period"]), (True, 100))
        self.assertTrue(0 < site["lease_seconds"] <= 60, site)
        self.assertIn("1 place of probes on", self.text("#done"))
        Select(self.browser.find_element(By.ID, "lease")).select_by_value("")
        Select(self.browser.find_element(By.ID, "whom")).select_by_value("program")
        self.button("Switch on: state, snapshot").click()
        self.wait_for_row("state", lambda row: row[1] == "1 in 100" and "leased" not in row[8])
        self.button("Switch off: query, lat").click()
        self.wait_for_row("query", lambda row: row[1] == "off")
        self.assertEqual({name for name, site in self.probe_sites(process).items() if site["on"]}, {"state"})
        self.browser.find_element(By.ID, "all-off").click()
        self.wait_for_row("state", lambda row: row[1] == "off")
        self.assertEqual(self.listed(process)["sites_on"], 0)
        self.check_log()

    def test_what_others_switch_is_shown(self):
        process = self.start()
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[1] == "off")
        self.set(process.pid, "query@8")
        self.wait_for_row("query", lambda row: row[1] == "1 in 8")
        self.browser.find_element(By.ID, "filter").send_keys("PARSE")
        self.wait(lambda: list(self.rows()) == ["query.parse"])

    def test_a_server_that_is_lost_is_found_again(self):
        self.start(environment=self.environment(SPEX_PROBES="*"))
        self.open_with_token()
        self.wait_for_state("Live")
        self.wait_for_row("query", lambda row: row[1] == "on" and row[3] != "–")
        # The end of the axis is a figure of few digits.
        self.wait(lambda: self.drawn("costs") > 1)
        self.assertIn(self.wait(lambda: self.browser.execute_script(
            "return echarts.getInstanceByDom(document.getElementById('costs'))?.getModel().getComponent('yAxis').axis.scale.getExtent()[1]"
            ".toExponential(4).split('e')[0]")), ["1.0000", "1.5000", "2.0000", "2.5000", "3.0000", "4.0000", "5.0000", "6.0000", "8.0000"])
        self.end()
        self.wait_for_state("cannot be reached; trying again until spex serve runs")
        # What is old is said, and can be read.
        self.wait(lambda: self.browser.execute_script("return document.body.classList.contains('stale')"))
        self.assertEqual(self.browser.execute_script(
            "return ['now', 'overview', 'table'].map(id => getComputedStyle(document.getElementById(id)).opacity)"), ["1"] * 3)
        self.serve("--token-file", self.path("token"), "--listen", "127.0.0.1:%d" % self.port)
        self.wait_for_state("Live")
        self.wait_for_row("query", lambda row: row[1] == "on" and row[3] != "–")

    def test_a_worker_that_is_replaced(self):
        first = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.open_with_token()
        self.wait_for_state("Live")
        self.say(first, "end")
        self.wait_for_state("Waiting for " + NAME)
        self.assertIn("%s (%d) has ended at " % (NAME, first.pid), self.text("#ended"))
        second = self.start(environment=self.environment(SPEX_PROBES="query"))
        # Until then the rows are those of the first one.
        self.wait(lambda: self.browser.find_element(By.ID, "process").get_attribute("value") == str(second.pid))
        self.wait_for_row("query", lambda row: row[1] == "on" and row[3] != "–")

    def test_another_program_is_offered_and_not_shown_instead(self):
        first = self.start(environment=self.environment(SPEX_PROBES="*"))
        other = Programs.start(self, program=shutil.copy(self.live, self.path("other")), environment=self.environment(SPEX_PROBES="*"))
        self.addCleanup(other.kill)
        self.serve("--token-file", self.path("token"), NAME, whom="other")
        self.open("?process=%d#token=%s" % (first.pid, TOKEN))
        self.wait_for_row("query", lambda row: row[3] != "–")
        self.say(first, "end")
        self.wait_for_state("Waiting for " + NAME)
        self.assertIn("query", self.rows())  # what it measured is still there
        self.browser.find_element(By.CSS_SELECTOR, "#ended button").click()
        self.wait(lambda: self.query()["process"] == [str(other.pid)])
        self.wait_for_row("query", lambda row: row[3] != "–")
        self.check_log()


class Hostile(Page):
    def test_names_are_text(self):
        program = shutil.copy(HOSTILE, self.path("<b id=bad>"))
        process = Programs.start(self, program=program, environment=self.environment(SPEX_PROBES="*"))
        self.addCleanup(process.kill)
        self.serve("--token-file", self.path("token"), whom=str(process.pid))
        self.open("#token=" + TOKEN)
        self.wait_for_row("<img src=x onerror=document.title=1>", lambda row: row[1] == "on" and row[3] != "–")
        rows = self.rows()
        self.assertEqual(len(rows), 5)
        # Names as long as these leave room for the other columns.
        for width in 375, 820, 1200, 1400:
            self.size(width, 900)
            wide, room = self.browser.execute_script("const {scrollWidth, clientWidth} = document.querySelector('#probes .wide'); return [scrollWidth, clientWidth]")
            self.assertLessEqual(wide, room, width)
        self.size(1400, 2400)
        self.assertIn('"><script>document.title=2</script>', rows)
        self.assertIn("__proto__", rows)
        for row in self.browser.find_elements(By.CSS_SELECTOR, "tbody th button"):
            row.click()
            self.wait(lambda row=row: self.text("#charted").startswith(row.text))
        self.browser.find_element(By.CSS_SELECTOR, "tbody td.switch button").click()
        self.wait(lambda: self.text("#done"))
        self.assertIn("<b id=bad> · %d · spex" % process.pid, self.browser.title)
        self.assertEqual(self.browser.execute_script("return document.querySelectorAll('img, #bad, td script').length"), 0)
        self.assertIn("<b id=bad>", self.text("#process"))
        self.check_log()


class Shown(Page):
    """How it looks, and whether everybody can use it."""

    def setUp(self):
        super().setUp()
        self.start(environment=self.environment(SPEX_PROBES="*", SPEX_BUDGET="2%"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[3] != "–")

    def appearances(self):
        for scheme in "light", "dark":
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            for width in 375, 820, 1400:
                self.size(width, 900)
                yield "%s-%d" % (scheme, width)
            self.browser.execute_script("document.querySelector('#charts:not([hidden]) #back, tbody th button').click()")
            self.size(820, 900)
            yield scheme + "-probe"

    def test_no_width_makes_the_page_scroll_sideways(self):
        folder = os.environ.get("SPEX_SCREENSHOTS")
        for name in self.appearances():
            wide, height, inner = self.browser.execute_script(
                "const page = document.documentElement; return [page.scrollWidth, page.scrollHeight, innerWidth]")
            self.assertLessEqual(wide, inner, name)
            if folder:
                self.size(inner, height)
                before = self.text("#tiles")
                self.wait(lambda before=before: self.text("#tiles") != before)
                self.browser.save_screenshot(os.path.join(folder, name + ".png"))

    def test_accessibility(self):
        for name in self.appearances():
            self.look(name)
        self.browser.find_element(By.ID, "slowest").click()
        self.wait(lambda: " took " in (self.text("#picture .note") or ""))
        self.look("slowest")
        self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
        self.end()
        self.wait(lambda: self.browser.execute_script("return document.body.classList.contains('stale')"))
        self.look("lost")


if __name__ == "__main__":
    Programs.spex, Programs.live, HOSTILE = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
