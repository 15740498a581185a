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
import unittest

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
        for argument in ["headless=new", "disable-gpu", "disable-dev-shm-usage", "no-first-run",
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
        """The cells of each probe, by its name."""
        rows = self.browser.execute_script(
            "return [...document.querySelectorAll('#table tbody tr:not([hidden])')].map(row => [...row.cells].map(cell => cell.innerText))")
        return {row[0]: row[1:] for row in rows}

    def wait_for_row(self, name, condition):
        def is_so():
            rows = self.rows()
            return name in rows and condition(rows[name])
        return self.wait(is_so)

    def button(self, label):
        return self.browser.find_element(By.CSS_SELECTOR, 'button[aria-label="%s"]' % label)

    def check_log(self, but=()):
        """No script has failed, and none was kept from anything by the policy."""
        for entry in self.browser.get_log("browser"):
            self.assertTrue(any(text in entry["message"] for text in but), entry)

    def probe_sites(self, process):
        sites = json.loads(self.run_spex("probes", "--json", process.pid).stdout)["sites"]
        return {site["name"]: site for site in sites}


class Live(Page):
    def test_what_a_program_measures(self):
        self.start(environment=self.environment(SPEX_PROBES="*", SPEX_BUDGET="2%"))
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[1] == "on" and row[3] != "–" and " to " in row[4] and " to " in row[5])
        self.assertEqual(self.browser.current_url, self.url)
        self.wait_for_state("Live")
        self.browser.find_element(By.CSS_SELECTOR, "#charts details summary").send_keys(Keys.ENTER)
        for row in self.browser.find_elements(By.CSS_SELECTOR, "tbody th button"):
            row.send_keys(Keys.ENTER)
            self.wait(lambda row=row: self.text("#charted").startswith(row.text))
        self.wait(lambda: self.text("#tiles").count("of it used") == 1)
        self.button("Switch off: query, lat")
        for chart in "rate", "values", "heat":
            self.browser.find_element(By.CSS_SELECTOR, "#%s canvas" % chart)
        self.browser.find_elements(By.CSS_SELECTOR, "tbody th button")[1].click()
        self.browser.execute_script("document.getElementById('heat').scrollIntoView()")  # out of sight it is not drawn
        cells = "return echarts.getInstanceByDom(document.getElementById('heat')).getOption().series[0].data.length"
        self.wait(lambda: self.browser.execute_script(cells) > 0)
        self.wait(lambda: self.browser.execute_script("return document.querySelectorAll('#numbers tbody tr').length") > 1)
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
        self.wait(self.browser.find_element(By.ID, "fixed").is_displayed)
        self.assertFalse(self.button("Switch off: query, lat").is_enabled())
        self.assertFalse(self.browser.find_element(By.ID, "all-off").is_enabled())

    def test_the_program_obeys(self):
        process = self.start()
        self.open_with_token()
        self.wait_for_row("query", lambda row: row[1] == "off")
        self.browser.find_element(By.ID, "period").clear()
        self.browser.find_element(By.ID, "period").send_keys("100")
        self.button("Switch on: query, lat").send_keys(Keys.ENTER)
        self.wait_for_row("query", lambda row: row[1] == "1 in 100" and "leased for" in row[-1])
        self.assertEqual(self.listed(process)["sites_on"], 1)
        site = self.probe_sites(process)["query"]
        self.assertEqual((site["on"], site["period"]), (True, 100))
        self.assertTrue(0 < site["lease_seconds"] <= 60, site)
        self.assertIn("1 place on", self.text("#done"))
        Select(self.browser.find_element(By.ID, "lease")).select_by_value("")
        Select(self.browser.find_element(By.ID, "whom")).select_by_value("program")
        self.button("Switch on: state, snapshot").click()
        self.wait_for_row("state", lambda row: row[1] == "1 in 100" and "leased" not in row[-1])
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
        self.end()
        self.wait_for_state("cannot be reached")
        self.serve("--token-file", self.path("token"), "--listen", "127.0.0.1:%d" % self.port)
        self.wait_for_state("Live")
        self.wait_for_row("query", lambda row: row[1] == "on" and row[3] != "–")

    def test_a_worker_that_is_replaced(self):
        first = self.start(environment=self.environment(SPEX_PROBES="*"))
        self.open_with_token()
        self.wait_for_state("Live")
        self.say(first, "end")
        self.wait_for_state("has ended")
        second = self.start(environment=self.environment(SPEX_PROBES="query"))
        self.wait_for_row("query", lambda row: row[1] == "on" and row[3] != "–")
        self.assertEqual(self.browser.find_element(By.ID, "process").get_attribute("value"), str(second.pid))


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
        self.assertIn('"><script>document.title=2</script>', rows)
        self.assertIn("__proto__", rows)
        for row in self.browser.find_elements(By.CSS_SELECTOR, "tbody th button"):
            row.click()
            self.wait(lambda row=row: self.text("#charted").startswith(row.text))
        self.browser.find_element(By.CSS_SELECTOR, "tbody tr td:nth-child(2) button").click()
        self.wait(lambda: self.text("#done"))
        self.assertEqual(self.browser.title, "spex")
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
        self.browser.find_element(By.CSS_SELECTOR, "#charts details summary").click()

    def appearances(self):
        for scheme in "light", "dark":
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            for width in 375, 820, 1400:
                self.size(width, 900)
                yield "%s-%d" % (scheme, width)

    def size(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def test_no_width_makes_the_page_scroll_sideways(self):
        folder = os.environ.get("SPEX_SCREENSHOTS")
        for name in self.appearances():
            wide, height, inner = self.browser.execute_script(
                "const page = document.documentElement; return [page.scrollWidth, page.scrollHeight, innerWidth]")
            self.assertLessEqual(wide, inner, name)
            if folder:
                self.size(inner, height)
                before = self.text("#numbers tbody")
                self.wait(lambda before=before: self.text("#numbers tbody") != before)
                self.browser.save_screenshot(os.path.join(folder, name + ".png"))

    def test_accessibility(self):
        axe = os.environ.get("SPEX_AXE")
        if not axe:
            self.skipTest("SPEX_AXE is not set: axe (axe-core of npm) did not look at the page")
        with open(axe, encoding="utf-8") as file:
            script = file.read()
        for name in self.appearances():
            self.browser.execute_script(script)
            found = self.browser.execute_async_script("axe.run().then(arguments[0])")
            told = ["%s: %s" % (one["id"], node["html"]) for one in found["violations"] for node in one["nodes"]]
            self.assertEqual(told, [], name)
            self.assertGreater(len(found["passes"]), 10)


if __name__ == "__main__":
    Programs.spex, Programs.live, HOSTILE = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
