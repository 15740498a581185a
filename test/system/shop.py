#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The web shop of examples/fleet: it serves its pages, sells, has the probes that its policy wants, and ends.

    shop.py SOURCE_ROOT SPEX SHOP
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import unittest

from running import Programs

ROOT = SHOP = None
ITEMS = 200


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Shop(Programs):
    def setUp(self):
        super().setUp()
        self.database = self.path("shop.db")
        subprocess.run([SHOP, "--database", self.database, "--make", "yes", "--items", str(ITEMS)], check=True)

    def open(self, *options):
        """Another program may take the port meanwhile."""
        # A variable that spex does not know would be told on standard error.
        environment = {name: value for name, value in self.environment(SPEX_WAITS="1").items()
                       if name in ("SPEX_CONTROL", "SPEX_WAITS") or not name.startswith("SPEX_")}
        while True:
            self.port = free_port()
            shop = subprocess.Popen([SHOP, "--database", self.database, "--port", str(self.port), *options],
                                    env=environment, stderr=subprocess.PIPE, text=True)
            self.addCleanup(shop.stderr.close)
            self.addCleanup(shop.wait)
            self.addCleanup(shop.kill)
            while shop.poll() is None:
                try:
                    if self.get("/health")[0] == 200:
                        return shop
                except ConnectionRefusedError:
                    continue

    def get(self, path, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def end(self, shop):
        shop.send_signal(signal.SIGTERM)
        self.assertEqual((shop.stderr.read(), shop.wait()), ("", 0))

    def test_pages(self):
        shop = self.open("--threads", "3")
        for path, status, part in [
                ("/categories", 200, "Category &lt;A&gt; &amp; more"), ("/category?id=3&page=0", 200, '<a href="/item?id=2">'),
                ("/category?id=99", 404, "<table></table>"), ("/search?word=lamp", 200, "lamp no. "),
                ("/search?word=%3Cscript%3E", 200, "<h1>&lt;script&gt;</h1>"), ("/item?id=7", 200, " no. 7</h1>"),
                ("/item?id=9999", 404, ""), ("/bids?id=7", 200, '<a href="/user?id='), ("/user?id=3", 200, "user3"),
                ("/nothing", 404, "no such page")]:
            with self.subTest(path):
                answered, text = self.get(path)
                self.assertEqual(answered, status)
                self.assertIn(part, text)
        self.end(shop)

    def test_what_is_sold_is_sold_once(self):
        subprocess.run([sys.executable, "-c", "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
                        "db.execute('UPDATE item SET stock = 1 WHERE id = 5'); db.commit()", self.database], check=True)
        shop, first = self.open(), self.port
        other = self.open()
        self.assertEqual(self.get("/buy?id=5&user=1", "POST", "card=1")[0], 200)
        self.port = first
        self.assertEqual(self.get("/buy?id=5&user=2", "POST", "card=2")[0], 409)
        self.end(shop)
        self.end(other)

    def test_its_policy_covers_what_it_names(self):
        checked = subprocess.run([self.spex, "fleet", "check", os.path.join(ROOT, "examples/fleet/shop.xml"), SHOP],
                                 capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_its_probes_count_requests(self):
        shop = self.open()
        self.assertEqual(self.run_spex("set", str(shop.pid), "request:span,page_item:lat").returncode, 0)
        for number in range(30):
            self.get("/item?id=%d" % (number + 1))
        table = self.run_spex("top", "-b", "-t", "-n", "1", str(shop.pid)).stdout
        self.assertRegex(table, r"(?m)^page_item +lat +30 ")
        self.assertRegex(table, r"(?m)^request +span +30 ")
        self.end(shop)

    def test_a_database_that_is_not_there(self):
        shop = subprocess.run([SHOP, "--database", self.path("none.db"), "--port", str(free_port())], capture_output=True,
                              text=True, check=False)
        self.assertEqual(shop.returncode, 1)
        self.assertIn("--make makes it", shop.stderr)


if __name__ == "__main__":
    ROOT, spex, SHOP = map(os.path.abspath, sys.argv[1:4])
    Programs.spex = spex
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
