#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures `spex serve`: how long a scrape of many programs takes, and how much CPU time it takes of a processor to
tell a client of a program's probes once a second; and what the program takes while nobody looks, `spex top` does, and
the page does. Where chromium, chromium-driver and python3-selenium are installed also what the page takes of a processor
in the browser, when it paints first, and how long after a report it shows what has changed.

usage: serve.py [--json] [--programs N] [--scrapes N] [--seconds N] [--probes N] BUILD
"""

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

# What bench/many has; its first probe.
PROBES, THREADS, FIRST = 200, 8, 10
SCRAPE_LIMIT, CPU_LIMIT, BROWSER_LIMIT, SHOWN_LIMIT, PAINT_LIMIT = 0.1, 0.02, 0.05, 0.3, 1
CHANGES = 20
ROUNDS = 6
# Heights of the window: of a laptop, where most charts are below, and of one that shows all.
LAPTOP, TALL = 800, 1800

# Notes when the state of the first probe changes, in the clock of this machine.
OBSERVE = """
const cell = document.querySelector("#table tbody tr").cells[2];
window.changes = [];
new MutationObserver(() => changes.push([Date.now() / 1000, cell.textContent]))
  .observe(cell, { childList: true, characterData: true, subtree: true });
return document.querySelector("#table tbody tr th").textContent;
"""


def lacking():
    """What is missing for a browser; None: nothing."""
    if not webdriver:
        return "python3-selenium (for %s)" % sys.executable
    return next((package for package, command in (("chromium", "chromium"), ("chromium-driver", "chromedriver"))
                 if not shutil.which(command)), None)


def open_browser():
    """The browser, and the process of its driver, which has started it."""
    options = webdriver.ChromeOptions()
    for argument in ["headless=new", "disable-gpu", "disable-dev-shm-usage", *(["no-sandbox"] if os.geteuid() == 0 else [])]:
        options.add_argument("--" + argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(shutil.which("chromedriver"))
    return webdriver.Chrome(service=service, options=options), service.process


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.spex = os.path.join(os.path.abspath(options.build), "tools", "spex")
        self.many = os.path.join(os.path.abspath(options.build), "bench", "many")
        self.environment = {**os.environ, "SPEX_CONTROL": folder, "SPEX_OUT": os.devnull}
        self.running = []

    def start_many(self):
        """A program with as many probes on as are asked for."""
        probes = "*" if self.options.probes >= PROBES else ",".join(map(str, range(FIRST, FIRST + self.options.probes)))
        return self.start([self.many, str(THREADS), "10"], probes)[0]

    def start(self, command, probes=None, **options):
        environment = {**self.environment, **({"SPEX_PROBES": probes} if probes else {})}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, **options)
        self.running.append(process)
        return process, process.stdout.readline().strip()

    def serve(self, processes):
        """Process, and connection, when all of these answer."""
        process, url = self.start([self.spex, "serve", "--listen", "127.0.0.1:0", *(str(one.pid) for one in processes)])
        connection = http.client.HTTPConnection("127.0.0.1", int(url.rsplit(":", 1)[1].strip("/")))
        while self.scrape(connection)[1].count("spex_program_processes{") < len(processes):
            continue
        return process, connection

    def scrape(self, connection):
        begin = time.monotonic()
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        return time.monotonic() - begin, text

    def end(self):
        for process in reversed(self.running):
            process.terminate()
            process.communicate()
        self.running = []

    def scrapes(self):
        """Each program has 20 probes on, and a name of its own."""
        programs = [self.start(["many-%d" % number, "1", "100"], ",".join(map(str, range(10, 30))), executable=self.many)[0]
                    for number in range(self.options.programs)]
        server, connection = self.serve(programs)
        found, cpu = [], self.cpu(server)
        for _ in range(self.options.scrapes):
            time.sleep(0.2)  # what is younger would be told again
            found.append(self.scrape(connection))
        times = [seconds for seconds, _ in found]
        cpu = self.cpu(server) - cpu
        self.end()
        return {"programs": self.options.programs, "scrapes": len(times), "median_seconds": statistics.median(times),
                "worst_seconds": max(times), "cpu_seconds": cpu / len(times), "bytes": len(found[-1][1]), "limit_seconds": SCRAPE_LIMIT}

    def cpu(self, process):
        with open("/proc/%d/stat" % process.pid, encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def events(self):
        program = self.start_many()
        server, connection = self.serve([program])
        connection.request("GET", "/api/events?process=%d" % program.pid, headers={"Accept-Encoding": "gzip"})
        stream, unpack = connection.getresponse(), zlib.decompressobj(31)

        def intervals(count):
            """Bytes as they come, compressed."""
            taken = 0
            while count > 0:
                part = stream.read1()
                taken += len(part)
                count -= unpack.decompress(part).count(b"event: interval\n")
            return taken
        intervals(2)
        begin, cpu = time.monotonic(), self.cpu(server)
        size = intervals(self.options.seconds)
        seconds, cpu = time.monotonic() - begin, self.cpu(server) - cpu
        self.end()
        return {"probes": self.options.probes, "threads": THREADS, "seconds": seconds, "events": self.options.seconds,
                "bytes_per_event": size / self.options.seconds, "cpu_share": cpu / seconds, "limit_share": CPU_LIMIT}

    def threads_cpu(self, process):
        """To the nanosecond."""
        folder, nanoseconds = "/proc/%d/task" % process.pid, 0
        for thread in os.listdir(folder):
            with open(os.path.join(folder, thread, "schedstat"), encoding="utf-8") as file:
                nanoseconds += int(file.read().split()[0])
        return nanoseconds / 1e9

    def observed(self):
        """What a program takes of a CPU, by who looks at it, in rounds of all ways in turn."""
        program = self.start_many()
        _, connection = self.serve([program])

        def nobody():
            return (lambda: None), (lambda: None)

        def top():
            process = subprocess.Popen([self.spex, "top", "-b", str(program.pid)], env=self.environment, stdout=subprocess.PIPE)

            def end():
                process.terminate()
                process.communicate()

            def table():
                while not process.stdout.readline().startswith(b"probe"):
                    continue
            return table, end

        def page():
            connection.request("GET", "/api/events?process=%d" % program.pid)
            stream = connection.getresponse()

            def interval():
                while stream.readline() != b"event: interval\n":
                    continue
            return interval, connection.close

        shares = {way: [] for way in (nobody, top, page)}
        for _ in range(ROUNDS):
            for way, found in shares.items():
                report, end = way()
                report()
                begin, cpu = time.monotonic(), self.threads_cpu(program)
                while time.monotonic() < begin + self.options.seconds / 4:
                    report()
                    if way is nobody:
                        time.sleep(1)
                found.append((self.threads_cpu(program) - cpu) / (time.monotonic() - begin))
                end()
        self.end()
        ratios = [one / other for one, other in zip(shares[page], shares[top])]
        return {"probes": self.options.probes, "threads": THREADS, "rounds": ROUNDS,
                **{"cpu_share_" + way.__name__: statistics.median(found) for way, found in shares.items()},
                "ratio": statistics.median(ratios), "ratio_least": min(ratios), "ratio_most": max(ratios)}

    def tree_cpu(self, root):
        """Of this process and all below it."""
        stats = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid, encoding="utf-8") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            stats[int(pid)] = int(fields[1]), int(fields[11]) + int(fields[12])
        below, ticks = {root}, stats[root][1]
        for pid in sorted(stats):
            if stats[pid][0] in below:
                below.add(pid)
                ticks += stats[pid][1]
        return ticks / os.sysconf("SC_CLK_TCK")

    def shown(self, browser, stream, program):
        """Seconds from a report with a change to the page that shows it, for each of some changes."""
        name, found = browser.execute_script(OBSERVE), []
        for change in range(CHANGES):
            state = "1 in %d" % (change + 2)
            subprocess.run([self.spex, "set", str(program.pid), "+%s@%d" % (name, change + 2)], env=self.environment, check=True,
                           stdout=subprocess.DEVNULL)
            while True:
                line = stream.readline()
                if line.startswith(b'data: {"program"') and any(
                        str(probe["name"] or probe["id"]) == name and probe["period"] == change + 2
                        for probe in json.loads(line[6:])["figures"]["probes"]):
                    break
            told, times = time.time(), []
            while not times:
                times = [at for at, text in browser.execute_script("return changes") if text == state]
            found.append(max(times[0] - told, 0))
        return found

    def share(self, browser, height, root, server):
        """What the browser and the server take of a CPU while the window is of this height."""
        browser.set_window_size(1280, height)
        before = time.monotonic(), self.tree_cpu(root), self.tree_cpu(server)
        time.sleep(self.options.seconds)
        seconds, *cpu = (now - then for now, then in zip((time.monotonic(), self.tree_cpu(root), self.tree_cpu(server)), before))
        return [one / seconds for one in cpu]

    def page(self):
        if lacking():
            return None
        program = self.start_many()
        server, connection = self.serve([program])
        browser, driver = open_browser()
        try:
            browser.get("http://127.0.0.1:%d/" % connection.port)
            while browser.execute_script("return document.querySelectorAll('#table tbody tr').length") < self.options.probes:
                time.sleep(0.1)
            painted = browser.execute_script("return performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1e3
            shares = [self.share(browser, height, driver.pid, server.pid) for height in (LAPTOP, TALL)]
            connection.close()  # it was idle
            connection.request("GET", "/api/events?process=%d" % program.pid)
            times = self.shown(browser, connection.getresponse(), program)
        finally:
            browser.quit()
            self.end()
        return {"probes": self.options.probes, "threads": THREADS, "seconds": self.options.seconds, "browser_cpu_share": shares[0][0],
                "browser_cpu_share_all_in_sight": shares[1][0], "browser_limit_share": BROWSER_LIMIT,
                "server_cpu_share": shares[0][1], "painted_seconds": painted, "painted_limit_seconds": PAINT_LIMIT, "changes": len(times),
                "shown_median_seconds": statistics.median(times), "shown_worst_seconds": max(times), "shown_limit_seconds": SHOWN_LIMIT}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--programs", type=int, default=50)
    parser.add_argument("--scrapes", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--probes", type=int, default=PROBES)
    parser.add_argument("build")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        try:
            result = {"scrape": bench.scrapes(), "events": bench.events(), "observed": bench.observed(), "page": bench.page()}
        finally:
            bench.end()
    if options.json:
        json.dump(result, sys.stdout, indent=2)
        print()
        return
    scrape, events = result["scrape"], result["events"]
    print("a scrape of %d programs: %.1f ms (worst %.1f ms), asked below %.0f ms; %.1f ms of CPU time" % (
        scrape["programs"], scrape["median_seconds"] * 1e3, scrape["worst_seconds"] * 1e3, SCRAPE_LIMIT * 1e3,
        scrape["cpu_seconds"] * 1e3))
    print("%d probes, %d threads, an event of %.1f kB a second: %.2f %% of a CPU, asked below %.0f %%" % (
        events["probes"], THREADS, events["bytes_per_event"] / 1e3, events["cpu_share"] * 100, CPU_LIMIT * 100))
    observed, page = result["observed"], result["page"]
    print("such a program takes %.2f %% of a CPU while nobody looks, %.2f %% with spex top, %.2f %% with the page: "
          "%.2f times as much as with spex top (%d rounds: %.2f to %.2f)" % (
              *(observed["cpu_share_" + way] * 100 for way in ("nobody", "top", "page")), observed["ratio"], observed["rounds"],
              observed["ratio_least"], observed["ratio_most"]))
    if not page:
        print("the page: there is no %s" % lacking())
        return
    print("the page of %d probes: %.1f %% of a CPU in the browser, asked below %.0f %%; %.1f %% with all charts in sight; "
          "%.2f %% in the server" % (page["probes"], page["browser_cpu_share"] * 100, BROWSER_LIMIT * 100,
                                     page["browser_cpu_share_all_in_sight"] * 100, page["server_cpu_share"] * 100))
    print("first painted after %.2f s, asked within %.0f s" % (page["painted_seconds"], PAINT_LIMIT))
    print("a change is shown %.0f ms after its report (worst of %d: %.0f ms), asked within %.0f ms" % (
        page["shown_median_seconds"] * 1e3, page["changes"], page["shown_worst_seconds"] * 1e3, SHOWN_LIMIT * 1e3))


if __name__ == "__main__":
    main()
