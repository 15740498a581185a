#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex report` and `spex explain` of real trials: text, tables, pictures and pages.

usage: explore_reports.py SPEX SUBJECT [unittest arguments]
"""

import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import unittest
import xml.etree.ElementTree

from exploration import behaviours, Exploration, space, THREADS, WORK


class Reports(Exploration):
    """What `spex report` and `spex explain` say of real trials, beside the numbers."""

    def explored(self):
        result = self.explore(space(WORK + THREADS, run='threads="threads" warmup="0.001" '
                                    'trials_per_config="2" records_per_thread="5"'))
        self.assertEqual(result.returncode, 0, result.stderr)

    def run_report(self, *arguments, command="report"):
        result = self.spex(command, self.store, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_table_of_trials(self):
        self.explored()
        rows = list(csv.DictReader(io.StringIO(self.run_report("--csv", "-"), newline="")))
        self.assertEqual([int(row["trial"]) for row in rows], list(range(1, 9)))
        self.assertEqual({row["status"] for row in rows}, {"ok"})
        self.assertEqual({row["work"] for row in rows}, {"200", "800"})
        for row, trial in zip(rows, self.report()["trials"]):
            self.assertAlmostEqual(float(row["throughput of work:tpt [/s]"]) / trial["objective"], 1)
        path = os.path.join(self.dir, "trials.csv")
        self.assertRegex(self.run_report("--csv", path), r"configurations, trials_per_config 2\n(.*\n)*best ")
        with open(path, encoding="utf-8", newline="") as file:
            self.assertEqual(len(list(csv.reader(file))), 9)

    def test_explanation(self):
        self.explored()
        # How much these trials vary is the machine's affair, and so is what has changed surely.
        text = self.run_report("work=200,threads=1", "work=800,threads=1", "--all",
                               command="explain")
        self.assertRegex(text, r"work \[us\] +200 +800\n")
        self.assertRegex(text, r"work:tpt throughput .*/s .* x \d.* \(")
        report = json.loads(self.run_report("#1", "work=800,threads=1", "--json",
                                            command="explain"))
        self.assertEqual(report["differ"], ["work"])
        quantities = {of["name"]: of for of in report["quantities"]}
        self.assertGreaterEqual(quantities["work:tpt min"]["b"], 800e-6 * 0.98)
        self.assertIn("usage user_seconds", quantities)
        self.assert_fails(self.spex("explain", self.store, "best", "work=200"), 1,
                          "2 configurations have these values")
        self.assert_fails(self.spex("explain", self.store, "best"), 2,
                          "a store and two configurations were expected")

    def test_two_stores(self):
        self.explored()
        text = self.run_report(self.store)
        self.assertIn("space      the same", text)
        self.assertIn("machine    the same", text)
        self.assertIn("no configuration changed surely", text)
        self.assert_fails(self.spex("report", self.store, self.store, "--html", "/dev/null"), 1,
                          "as text or JSON only")

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_pictures_and_page(self):
        self.explored()
        names = ["heat.png", "effects.svg", "convergence.png", "page.html"]
        heat, effects, convergence, page = (os.path.join(self.dir, name) for name in names)
        self.run_report("--heatmap", heat, "--x", "threads", "--effects", effects, "--convergence",
                        convergence, "--html", page)
        for path in (heat, convergence):
            with open(path, "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        drawn = "".join(xml.etree.ElementTree.parse(effects).getroot().itertext())
        shares = [int(share) for share in re.findall(r"(\d+)\s%\sof\sthe\svariance", drawn)]
        self.assertTrue(5 <= sum(shares) <= 200, drawn)  # work is most of it
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("<svg"), 3)
        self.assertNotRegex(text, r'(src|href)="?https?:')
        # Values are told by elements alone; in a file there are no notes, which need the page's style.
        told = re.findall(r'<g class="value" tabindex="0"><title>([^<]*)</title>.*?<text class="note" [^>]*>([^<]*)</text></g>', text, re.S)
        self.assertTrue(all(title == note for title, note in told), told)
        self.assertTrue([title for title, _ in told if re.search(r"threads=\d+: (mean|best) \d", title)], told)
        with open(effects, encoding="utf-8") as file:
            alone = file.read()
        self.assertIn('<g class="value"><title>', alone)
        for one in text, alone:
            self.assertNotRegex(one, r"onmouse|<script|gnuplot_svg")
        self.assertEqual([name for name in os.listdir(self.dir) if ".spex-" in name], [])

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_what_cannot_be_drawn_whole_leaves_the_old(self):
        self.explored()
        for name, most in (("old.svg", 5000), ("old.png", 5000), ("old.csv", 100)):
            path = os.path.join(self.dir, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("old")
            option = "--csv" if name.endswith("csv") else "--heatmap"
            # As on a full disk; gnuplot, too, can write no more than this.
            result = self.spex("report", self.store, option, path, preexec_fn=lambda limit=most: (
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))))
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot write" if option == "--csv" else "has no end", result.stderr)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "old")

    def test_what_cannot_be_asked_for(self):
        self.explored()
        for arguments, status, phrase in (
                (["--x", "work"], 2, "--x and --y are for --heatmap or --html"),
                (["--json", "--csv", "-"], 2, "either --json or --csv -"),
                (["--csv", "/nonexistent/file"], 1, "cannot write /nonexistent/file"),
                (["--heatmap", os.path.join(self.dir, "h.svg"), "--y", "nothing"], 1,
                 'no parameter "nothing"'),
                (["--pareto", os.path.join(self.dir, "p.svg")], 1, "two objectives or more")):
            with self.subTest(arguments=arguments):
                self.assert_fails(self.spex("report", self.store, *arguments), status, phrase)


class HeatMap(Exploration):
    TEXT = space(WORK + THREADS + behaviours("steady", "early"), run='warmup="0.001"',
                 rest='<heatmap x="work" y="threads"/>')

    def setUp(self):
        super().setUp()
        self.picture = os.path.join(self.dir, "map.svg")
        if not shutil.which("gnuplot"):
            self.skipTest("gnuplot is not installed")

    def draw(self, **more):
        return self.spex("report", self.store, "--heatmap", self.picture, **more)

    def test_panels_axes_and_cells(self):
        self.explore(self.TEXT)
        result = self.draw()
        self.assertEqual(result.returncode, 0, result.stderr)
        root = xml.etree.ElementTree.parse(self.picture).getroot()
        texts = ["".join(t.itertext()).strip()
                 for t in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("behaviour steady", texts)
        self.assertIn("behaviour early", texts)
        self.assertEqual(texts.count("work [us]"), 2)
        self.assertEqual(texts.count("threads"), 2)
        self.assertIn("throughput, /s", texts)
        self.assertTrue([text for text in texts if re.match(r"^[\d.]+ k?/s$", text)], texts)

    def test_names_that_gnuplot_could_misread(self):
        odd = '<parameter name="odd" type="categorical" values="a\'b `id` $x \\n {/=9} a&quot;b 25% %g%%"/>'
        self.explore(space(WORK + THREADS + odd, run='warmup="0.001" records_per_thread="1"',
                           rest='<heatmap x="work" y="threads"/>'))
        # As titles of panels, and as labels of an axis.
        for axes, prefix in ([], "odd "), (["--y", "odd"], ""):
            result = self.spex("report", self.store, "--heatmap", self.picture, *axes)
            self.assertEqual(result.returncode, 0, result.stderr)
            root = xml.etree.ElementTree.parse(self.picture).getroot()
            texts = ["".join(t.itertext()).strip()
                     for t in root.iter("{http://www.w3.org/2000/svg}text")]
            for value in ("a'b", "`id`", "$x", "\\n", "{/=9}", 'a"b', "25%", "%g%%"):
                self.assertIn(prefix + value, texts)

    def test_what_can_go_wrong(self):
        self.explore(space(behaviours("early"), run='startup="5"'))
        self.assert_fails(self.draw(), 1, "no trial has a result")
        os.unlink(self.store)
        self.explore(space(WORK))
        self.assert_fails(self.draw(), 1, "two parameters or more")
        os.unlink(self.store)
        self.explore(space(WORK + THREADS))
        self.assert_fails(self.draw(env=dict(self.environment, PATH="/nonexistent")), 1,
                          "needs gnuplot")
        self.picture = "/nonexistent/map.svg"
        self.assert_fails(self.draw(), 1, "cannot write /nonexistent/map.svg:")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
