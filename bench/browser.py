#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A real browser on the page of `spex serve`: it shows nginx (bench/foreign/build makes it) under load and an exploration
of SQLite (examples/sqlite) in progress, switches a probe, follows nginx over a reload, loses the server and finds it
again. Each step is checked, against nginx's own count and `spex probes` where they tell; what takes time is told.

Needs chromium, chromium-driver, python3-selenium and wrk. --screenshots: pictures at three widths, light and dark.

usage: browser.py [--json] [--screenshots FOLDER] BUILD NGINX
"""

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import serve

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "foreign"))
import server as foreign  # pylint: disable=wrong-import-position

TOKEN = "0123456789abcdef0123"
CONNECTIONS, TRIPS = 40, 100000
WIDTHS = 375, 820, 1400
PATIENCE = 120  # seconds
SPACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "sqlite", "demo.xml")

ROWS = """
return [...document.querySelectorAll('#table tbody tr')].map(row => [...row.cells].map(cell => cell.innerText));
"""
CELLS = """
document.getElementById(arguments[0]).scrollIntoView();
return echarts.getInstanceByDom(document.getElementById(arguments[0]))?.getOption()?.series?.[0]?.data?.length ?? 0;
"""


class Observed:
    """Programs, a server, and what others say of them."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.spex = os.path.join(os.path.abspath(options.build), "tools", "spex")
        self.environment = {**os.environ, "SPEX_CONTROL": os.path.join(folder, "control")}
        self.running = []
        self.port = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *command, **options):
        process = subprocess.Popen(command, env=self.environment, cwd=self.folder, **{
            "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options})
        self.running.append(process)
        return process

    def end(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.terminate()
            process.communicate()

    def run(self, *arguments):
        return subprocess.run([self.spex, *arguments], env=self.environment, stdout=subprocess.PIPE, check=True).stdout

    def start_nginx(self):
        self.web = foreign.Server(argparse.Namespace(folder=self.folder, build=self.options.build))
        self.web.prepare()
        self.nginx = self.start("env", "SPEX_FORKS=follow", os.path.abspath(self.options.nginx), "-p", self.folder, "-c",
                                "nginx.conf")
        until(self.web.status, "nginx answers")
        self.start("wrk", "-t1", "-c%d" % CONNECTIONS, "-d600s", "-s", self.path("load.lua"), self.web.address)

    def start_exploration(self):
        taxi = [os.path.join(os.path.abspath(self.options.build), "examples", "sqlite", "taxi"), "--rows", str(TRIPS),
                "--db-dir", self.folder]
        subprocess.run([*taxi, "--make", "4096,65536"], check=True, stdout=subprocess.DEVNULL)
        self.start(self.spex, "explore", os.path.abspath(SPACE), "--policy", "grid", "--store", self.path("taxi.db"), "--", *taxi)
        until(lambda: subprocess.run([self.spex, "report", self.path("taxi.db")], check=False, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL).returncode == 0, "the exploration has a trial")

    def start_server(self):
        with open(self.path("token"), "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(TOKEN)
        server = self.start(self.spex, "serve", "nginx", "--store", self.path("taxi.db"), "--token-file", self.path("token"),
                            "--listen", "127.0.0.1:%d" % self.port, stdout=subprocess.PIPE, text=True)
        self.port = int(server.stdout.readline().rsplit(":", 1)[1].strip("/\n"))
        return server

    def workers(self):
        """The processes of nginx but the first one, which executes no requests."""
        path = "/proc/%d/task/%d/children" % (self.nginx.pid, self.nginx.pid)
        with open(path, encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]

    def sites(self, pid, name):
        sites = json.loads(self.run("probes", "--json", str(pid)))["sites"]
        return [site for site in sites if site["name"] == name]

    def busiest(self):
        """The worker that has had the most requests since the probe is on."""
        return max(self.workers(), key=lambda pid: max(site["count"] or 0 for site in self.sites(pid, "request")))

    def metric(self, name, probe):
        """Of nginx, as Prometheus reads it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/metrics", headers={"Authorization": "Bearer " + TOKEN})
        text = connection.getresponse().read().decode()
        connection.close()
        start = '%s{program="nginx",probe="%s"' % (name, probe)
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(start))


def until(condition, what):
    """Waits for it, and returns what it has returned, or ends with what has not come."""
    begin = time.monotonic()
    while not (found := condition()):
        if time.monotonic() > begin + PATIENCE:
            sys.exit("browser.py: it is not so that " + what)
        time.sleep(0.02)
    return found


class Page:
    def __init__(self, observed):
        self.observed = observed
        self.browser, self.driver = serve.open_browser()
        self.browser.get("http://127.0.0.1:%d/#token=%s" % (observed.port, TOKEN))

    def text(self, selector):
        return self.browser.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def rows(self):
        return {row[0]: row[1:] for row in self.browser.execute_script(ROWS)}

    def press(self, label):
        self.browser.execute_script("document.querySelector(arguments[0]).click()", 'button[aria-label="%s"]' % label)

    def choose(self, list_id, value):
        self.browser.execute_script("const list = document.getElementById(arguments[0]); list.value = arguments[1];"
                                    "list.dispatchEvent(new Event('change'))", list_id, value)

    def state_is(self, text):
        return until(lambda: text in self.text("#state"), "the page says " + text)

    def row_is(self, name, condition, what):
        return until(lambda: name in (rows := self.rows()) and condition(rows[name]) and rows[name], what)

    def size(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def shoot(self, folder):
        os.makedirs(folder, exist_ok=True)
        for scheme in "light", "dark":
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                         {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            for width in WIDTHS:
                self.size(width, 900)
                self.size(width, self.browser.execute_script("return document.documentElement.scrollHeight"))
                time.sleep(2.5)  # charts that have come into sight are drawn with the next event
                self.browser.save_screenshot(os.path.join(folder, "nginx-%s-%d.png" % (scheme, width)))
        self.size(1280, 900)


def seconds_of(action, condition, what):
    begin = time.monotonic()
    action()
    until(condition, what)
    return time.monotonic() - begin


def switch(observed, page):
    """Each worker obeys a press of the button, and the page shows what it measures."""
    page.row_is("request", lambda row: row[1] == "off", "the probe request is off")
    page.choose("whom", "program")

    def obeyed():
        return all(site["on"] for pid in observed.workers() for site in observed.sites(pid, "request"))
    told = {"switched_seconds": seconds_of(lambda: page.press("Switch on: request, span"), obeyed, "nginx obeys")}
    page.row_is("request", lambda row: row[1] == "on" and row[3] != "–" and "leased" in row[-1], "request has figures")
    page.choose("process", str(observed.busiest()))
    page.row_is("request", lambda row: " to " in row[4], "request has times")
    for name, kind in ("handle", "kernel"), ("open", "lat"), ("deflate", "kernel"):
        page.press("Switch on: %s, %s" % (name, kind))
        page.row_is(name, lambda row: row[1] == "on" and row[3] != "–" and " to " in row[4], name + " has figures")
    return told


def count(observed):
    """Requests of nginx by its own count and by the probe, over some seconds; the status itself is a request."""
    before, counted = observed.web.status()[1], observed.metric("spex_probe_executions_total", "request")
    time.sleep(5)
    after, now = observed.web.status()[1], observed.metric("spex_probe_executions_total", "request")
    told = {"requests": after - before, "requests_of_probe": now - counted}
    if not 0.9 < told["requests_of_probe"] / told["requests"] < 1.1:
        sys.exit("browser.py: nginx has counted %(requests)d requests, the probe %(requests_of_probe)d" % told)
    return told


def reload(observed, page):
    """Probes stay on in the workers that replace others, which the page follows."""
    old = set(observed.workers())
    page.choose("lease", "")
    for name, kind in ("request", "span"), ("handle", "kernel"):
        page.press("Switch off: %s, %s" % (name, kind))
        page.row_is(name, lambda row: row[1] == "off", name + " is off")
        page.press("Switch on: %s, %s" % (name, kind))
        page.row_is(name, lambda row: row[1] == "on" and "leased" not in row[-1], name + " is on for good")
    def followed():
        pid = page.browser.execute_script("return Number(document.getElementById('process').value)")
        rows = page.rows()
        return pid not in old and "request" in rows and rows["request"][1] == "on"
    return {"reload_seconds": seconds_of(lambda: observed.nginx.send_signal(signal.SIGHUP), followed,
                                         "the page follows a process that has come with the reload, with request on")}


def exploration(page):
    """The exploration goes on, and is drawn."""
    def trials():
        words = page.text("#exploration-state").split()
        return next((int(word) for word in words if word.isdigit()), 0)
    before = until(trials, "the exploration has trials")
    until(lambda: trials() > before, "the exploration goes on")
    told = {"trials": trials(), "exploration": page.text("#exploration-state"), "best": page.text("#best")}
    for chart in "convergence", "map":
        told[chart + "_cells"] = until(lambda chart=chart: page.browser.execute_script(CELLS, chart), chart + " is drawn")
    return told


def lose(observed, page, server):
    """The server is killed and comes again at the same port."""
    lost = seconds_of(server.kill, lambda: "cannot be reached" in page.text("#state"), "the page says that the server is lost")
    server.wait()
    found = seconds_of(observed.start_server, lambda: page.text("#state") == "Live", "the page finds the server again")
    page.row_is("request", lambda row: row[1] == "on" and row[3] != "–", "request has figures again")
    return {"lost_seconds": lost, "found_seconds": found}


def visit(options, folder):
    observed = Observed(options, folder)
    page = None
    try:
        observed.start_nginx()
        observed.start_exploration()
        server = observed.start_server()
        page = Page(observed)
        page.state_is("Live")
        told = switch(observed, page)
        told.update(count(observed), **exploration(page))
        if options.screenshots:
            page.shoot(options.screenshots)
        told.update(reload(observed, page), **lose(observed, page, server))
        told["heap_bytes"] = page.browser.execute_script("return performance.memory.usedJSHeapSize")
        log = [entry["message"] for entry in page.browser.get_log("browser") if "ERR_" not in entry["message"]]
        if log:
            sys.exit("browser.py: the browser complains: " + "; ".join(log))
        return told
    finally:
        if page:
            page.browser.quit()
        observed.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--screenshots")
    parser.add_argument("build")
    parser.add_argument("nginx")
    options = parser.parse_args()
    if serve.lacking() or subprocess.run(["which", "wrk"], check=False, stdout=subprocess.DEVNULL).returncode:
        print("browser.py: there is no %s" % (serve.lacking() or "wrk"), file=sys.stderr)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        told = visit(options, folder)
    if options.json:
        json.dump(told, sys.stdout, indent=2)
        print()
        return
    print("nginx: probes on in all workers %.2f s after the button was pressed; %d requests by the probe, %d by nginx" % (
        told["switched_seconds"], told["requests_of_probe"], told["requests"]))
    print("SQLite: %s; drawn: %d steps of the best, %d cells of the heat map" % (
        told["exploration"], told["convergence_cells"], told["map_cells"]))
    print("a reload: a new process is followed after %.1f s" % told["reload_seconds"])
    print("the server killed: said after %.2f s; live again %.1f s after it was started" % (
        told["lost_seconds"], told["found_seconds"]))
    print("the page's heap: %.1f MB" % (told["heap_bytes"] / 1e6))


if __name__ == "__main__":
    main()
