#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex probes` of a running program, which answers itself: what its probes do, and libraries that come and go.

    listing.py SPEX LIVE PLUGIN
"""

import json
import os
import sys
import unittest

from running import Programs

PLUGIN = None


class Listing(Programs):
    def probes(self, process, *arguments, status=0):
        result = self.run_spex("probes", process.pid, *arguments)
        self.assertEqual((result.returncode, result.stderr), (status, ""))
        return result.stdout

    def sites(self, process):
        """Of all that is loaded, by name (id where there is none) and type."""
        listed = json.loads(self.probes(process, "--json"))
        self.assertEqual((listed["program"], listed["pid"]), ("live", process.pid))
        return {(site["name"] or site["id"], site["type"]): site for site in listed["sites"]}

    def wait_for(self, process, condition):
        while True:
            sites = self.sites(process)
            if condition(sites):
                return sites

    def test_what_is_off_has_no_figures(self):
        sites = self.sites(self.start())
        self.assertEqual(set(sites), {("query", "lat"), ("query.parse", "tpt"), (3, "cnt"), ("state", "snapshot")})
        for site in sites.values():
            self.assertEqual((site["on"], site["period"], site["rate"], site["lost"]), (False, 0, None, None))
        self.assertEqual((sites[3, "cnt"]["sc"], sites["state", "snapshot"]["values"]), (10, 2))

    def test_what_is_on_tells_what_it_does(self):
        process = self.start()
        self.set(process.pid, "query@3,:cnt")
        sites = self.wait_for(process, lambda found: (found["query", "lat"]["rate"] or 0) > 0
                              and (found[3, "cnt"]["rate"] or 0) > 0)
        query = sites["query", "lat"]
        self.assertEqual((query["on"], query["period"], query["lost"]), (True, 3, 0))
        self.assertGreater(query["record_cost_ns"], 0)
        self.assertEqual(sites[3, "cnt"]["period"], 10)
        self.assertFalse(sites["state", "snapshot"]["on"])
        row = next(line for line in self.probes(process).splitlines() if line.startswith("query "))
        self.assertIn("1 in 3", row)
        self.set(process.pid, "off")
        self.assertFalse(self.sites(process)["query", "lat"]["on"])

    def test_libraries_that_come_later_obey_what_was_said_before(self):
        process = self.start(environment=self.environment(LIVE_PLUGIN=PLUGIN))
        self.set(process.pid, "plugin*:lat@7,nothing", status=1)
        self.assertNotIn(("plugin.work", "lat"), self.sites(process))
        self.say(process, "load")
        sites = self.wait_for(process, lambda found: (found["plugin.work", "lat"]["rate"] or 0) > 0)
        self.assertEqual((sites["plugin.work", "lat"]["on"], sites["plugin.work", "lat"]["period"]), (True, 7))
        self.assertFalse(sites["plugin.work", "snapshot"]["on"])
        self.say(process, "unload")
        self.assertNotIn(("plugin.work", "lat"), self.sites(process))
        self.say(process, "load")
        self.assertTrue(self.sites(process)["plugin.work", "lat"]["on"])


if __name__ == "__main__":
    Programs.spex, Programs.live, PLUGIN = map(os.path.abspath, sys.argv[1:4])
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
