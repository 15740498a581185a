#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a fleet has measured together, with a real NATS server: each instance counts once, also when it ends, when its agent
starts again, and when others send what is malformed.

    fleet_profile.py SPEX LIVE
"""

import http.client
import json
import os
import re
import signal
import sqlite3
import sys
import unittest

import fleet_master
import nats
from fleet_master import Fleet
from running import Programs

# All of the map at all instances.
ALL = '<instances instrumented="100%"/>'


def probe(profile, name, kind):
    for row in profile["probes"]:
        if (row["name"] or str(row["id"])) == name and row["type"] == kind:
            return row
    return None


class Profile(Fleet):
    def profile(self):
        status = self.status()
        return status and status["profile"]

    def of_instance(self, name):
        result = self.run_spex("fleet", "status", "--instance", name, *self.where(), "--fleet", "shop", "--json")
        return json.loads(result.stdout) if result.returncode == 0 else None

    def until_told(self, wanted):
        return self.until_status(wanted, self.profile)

    def instance_with_table(self, name):
        return self.instance(self.environment(SPEX_OUT=self.path(name)))

    def end_program(self, process, name):
        """Returns the records that its own table tells of."""
        process.communicate("end\n")
        with open(self.path(name), encoding="utf-8") as file:
            return int(re.search(r"(?m)records: (\d+) produced", file.read()).group(1))

    def test_the_sum_is_that_of_all_instances(self):
        self.master(policy=self.policy(more=ALL))
        processes = [self.instance_with_table("table-%d" % number) for number in range(3)]
        agents = [self.agent("a", processes=processes[:2]), self.agent("b", processes=processes[2:])]
        self.until_told(lambda p: (probe(p, "query", "lat") or {}).get("instances") == 3
                        and (probe(p, "query.parse", "tpt") or {}).get("instances") == 3)
        # They end, each with a last report, and what they have told stays.
        records = sum(self.end_program(process, "table-%d" % number) for number, process in enumerate(processes))
        profile = self.until_told(lambda p: p["told"]["gone"] == 3)
        told = profile["told"]
        self.assertEqual([told[name] for name in ("instances", "refused", "returned", "no_room", "probes_left_out")], [0] * 5)
        self.assertEqual(sum(row["records"] for row in profile["probes"]), records)
        row = probe(profile, "query", "lat")
        self.assertEqual(row["instances"], 3)
        # Each execution is a record here: all of them are in the histogram, and quantiles are known.
        values = row["values"][0]
        self.assertTrue(0 < values["p50_low"] <= values["p50"] <= values["p50_high"] <= values["p90_high"], values)
        self.assertTrue(row["rate_low"] <= row["rate"] <= row["rate_high"], row)
        for agent in agents:
            self.end(agent)
        self.assertEqual(probe(self.profile(), "query", "lat")["count"], row["count"])

    def test_an_agent_that_starts_again_counts_nothing_twice(self):
        self.master(policy=self.policy(more=ALL))
        processes = [self.instance() for _ in range(2)]
        names = ["a/%d" % process.pid for process in processes]
        self.until_told_by(self.agent("a", processes=processes), names)
        self.until_told_by(self.agent("a", processes=processes), names)
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        # Both stand still: the sum is what each has told.
        parts = [probe(self.of_instance(name), "query", "lat") for name in names]
        row = probe(self.profile(), "query", "lat")
        self.assertEqual(row["instances"], 2)
        self.assertEqual(row["records"], sum(part["records"] for part in parts))
        for process in processes:
            process.send_signal(signal.SIGCONT)

    def until_told_by(self, agent, names):
        """Until each instance has told more than before, by this agent; then the agent is killed."""
        before = {name: self.told_records(name) for name in names}
        self.until(lambda: all(self.told_records(name) > before[name] for name in names))
        agent.kill()
        agent.communicate()

    def told_records(self, name):
        told = self.of_instance(name)
        row = told and probe(told, "query", "lat")
        return row["records"] if row else 0

    def test_a_program_that_starts_spex_again_is_another_instance(self):
        self.master(policy=self.policy(more=ALL))
        process = self.instance()
        self.agent("a", processes=[process])
        first = self.until_told(lambda p: probe(p, "query", "lat"))
        self.say(process, "stop")
        self.say(process, "start")
        second = self.until_told(lambda p: p["told"]["gone"] == 1 and p["told"]["instances"] == 1)
        self.assertGreaterEqual(probe(second, "query", "lat")["records"], probe(first, "query", "lat")["records"])

    def test_the_table(self):
        self.master(policy=self.policy(more=ALL))
        process = self.instance()
        self.agent("a", processes=[process])
        self.until_told(lambda p: probe(p, "query", "lat") and probe(p, "3", "cnt"))
        table = self.run_spex("fleet", "status", *self.where(), "--fleet", "shop")
        self.assertEqual((table.returncode, table.stderr), (0, ""))
        self.assertRegex(table.stdout, r"(?m)^profile    of 1 instances and 0 that are over, [1-9]")
        self.assertRegex(table.stdout, r"(?m)^query +.* [0-9.]+ [µm]s")
        self.assertEqual([line for line in table.stdout.splitlines() if len(line) > 80], [])
        self.assertRegex(table.stdout, r"no room for .*\(95 %\)")
        whole = self.run_spex("fleet", "status", *self.where(), "--fleet", "shop", "--verbose").stdout
        self.assertRegex(whole, r"(?m)^query +lat +1 +\S.*  time +[0-9.]+ \S+s +\(.* to .*s\)")
        one = self.run_spex("fleet", "status", "--instance", "a/%d" % process.pid, *self.where(), "--fleet", "shop")
        self.assertRegex(one.stdout, r"(?m)^query +lat +[0-9.]+ ")
        wrong = self.run_spex("fleet", "status", "--instance", "a/1", *self.where(), "--fleet", "shop")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertIn("no such instance has reported", wrong.stderr)

    def history(self, *options):
        result = self.run_spex("fleet", "history", self.path("fleet.db"), "--json", *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def served(self, path):
        serve = self.command("serve", "--fleet", self.path("fleet.db"), "--listen", "127.0.0.1:0")
        connection = http.client.HTTPConnection(serve.stdout.readline().strip()[len("http://"):].strip("/"))
        connection.request("GET", path)
        told = json.loads(connection.getresponse().read())
        connection.close()
        self.end(serve)
        return told

    def test_a_history_is_kept(self):
        store = ["--store", self.path("fleet.db"), "--every", "1"]
        process = self.instance()
        first = self.master(*store, policy=self.policy(more=ALL))
        self.agent("a", processes=[process])
        self.until_told(lambda p: probe(p, "query", "lat"))
        self.end(first)
        # A further master compares with its own first snapshot: what the instance had told before counts once.
        before = self.history()
        second = self.master(*store, policy=self.policy(more=ALL))
        begin = self.until_told(lambda p: probe(p, "query", "lat"))
        end = self.until_told(lambda p: probe(p, "query", "lat")["records"] > probe(begin, "query", "lat")["records"])
        self.end(second)
        after = self.history()
        row, last = probe(after, "query", "lat"), probe(end, "query", "lat")
        self.assertGreaterEqual(row["records"], probe(before, "query", "lat")["records"])
        self.assertGreaterEqual(last["records"] * 2, row["records"])
        self.assertTrue(row["values"][0]["p50_low"] <= row["values"][0]["p50"] <= row["values"][0]["p50_high"])
        nothing = self.history("--to", "2020-01-01")
        self.assertEqual((nothing["probes"], nothing["decisions"], nothing["status"]), ([], [], None))
        self.assertEqual(set(map(len, nothing["course"].values())), {0})
        self.assertEqual(self.history("--from", "2020-01-01"), after)
        self.assertEqual(self.served("/api/fleet"), after)
        self.assertEqual(self.served("/api/programs")["follows"], False)

    def test_how_the_fleet_has_been_is_kept(self):
        master = self.master("--store", self.path("fleet.db"), policy=self.policy(more=ALL))
        process = self.instance()
        self.agent("a", processes=[process])
        self.until_event(master, "decision")
        # A line is written with each decision, and one each ten seconds. On a busy machine the agent may be late for it.
        def is_there(now):
            return now["decisions"] and now["status"]["instances"] and sum(now["course"][mode][-1] for mode in ("none", "partial", "full"))
        now = self.until(lambda: (now := self.history()) and is_there(now) and now)
        self.end(master)
        status, course = now["status"], now["course"]
        self.assertEqual((status["policy"], status["targets"]["response"]), ("shop", 10))
        self.assertEqual([one["instance"] for one in status["instances"]], ["a/%d" % process.pid])
        self.assertEqual(len(set(map(len, course.values()))), 1)
        self.assertEqual(course["time"], sorted(course["time"]))
        self.assertTrue(all(abs(time - status["written"]) < 600 for time in course["time"]))
        last = {name: values[-1] for name, values in course.items()}
        self.assertEqual(last["none"] + last["partial"] + last["full"], 1)
        self.assertEqual(last["map"], len(status["probes"]))
        self.assertEqual(now["decisions"][0]["action"], "instrument")
        table = self.run_spex("fleet", "history", self.path("fleet.db"))
        self.assertRegex(table.stdout, r"(?m)^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d  \d+ s: instruments 1: ")
        # Of a file nothing is trusted.
        with sqlite3.connect(self.path("fleet.db")) as db:
            db.execute("UPDATE course SET full = 'x\x1b[2J', load = 1e999, hosts = NULL")
            db.execute("UPDATE decision SET text = 'a\x1b[2Jb'")
            db.execute("UPDATE status SET json = '[1'")
        hostile = self.history()
        self.assertEqual({*hostile["course"]["full"], *hostile["course"]["load"], *hostile["course"]["hosts"], hostile["status"]}, {None})
        self.assertNotIn("\x1b", self.run_spex("fleet", "history", self.path("fleet.db")).stdout)

    def test_a_history_of_an_older_format(self):
        with sqlite3.connect(self.path("fleet.db")) as db:
            db.executescript("PRAGMA application_id=%d; PRAGMA user_version=1; CREATE TABLE run(id INTEGER PRIMARY KEY, fleet TEXT NOT NULL);"
                             % 0x73707866)
        old = self.run_spex("fleet", "history", self.path("fleet.db"))
        self.assertEqual((old.returncode, old.stdout), (1, ""))
        self.assertIn("the history of a fleet was expected, of format 2", old.stderr)
        self.end(self.master("--store", self.path("fleet.db"), policy=self.policy(more=ALL)))
        self.assertEqual(self.history()["probes"], [])

    def test_histories_that_are_none(self):
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("no database" * 1000)
        policy = self.policy()
        for arguments, pattern in [
                (["history", self.path("nothing")], "nothing: unable to open"),
                (["history", self.path("text")], "text: file is not a database"),
                (["history", self.path("text"), "--from", "soon"], "--from: a time such as"),
                (["master", policy, *self.where(), "--store", self.path("text")], "--store .*text: file is not a database")]:
            with self.subTest(arguments=arguments):
                result = self.run_spex("fleet", *arguments)
                self.assertIn(result.returncode, (1, 2))
                self.assertEqual(result.stdout, "")
                self.assertRegex(result.stderr, "^spex: .*" + pattern)

    def test_what_others_send(self):
        master = self.master(policy=self.policy(more=ALL))
        process = self.instance()
        self.agent("a", processes=[process])
        self.until_told(lambda p: probe(p, "query", "lat"))
        client = nats.Client(self.server)
        for subject, data in [("a", b""), ("a", b"SXPF"), ("a", b"\0" * 64), ("b", b"SXPF\1\0" + b"\xff" * 100),
                              ("b", b"x" * (1 << 20)), ("b\x1b[2J", b"SXPF")]:
            client.send("spex.shop.profile." + subject, data)
        self.assertTrue(client.ping())
        profile = self.until_told(lambda p: p["told"]["refused"] == 6)
        self.assertEqual(probe(profile, "query", "lat")["instances"], 1)
        client.close()
        errors = self.end(master)
        self.assertTrue(all(line.isprintable() for line in errors.splitlines()), errors)
        self.assertIn("was refused: ", errors)


def load_tests(loader, tests, pattern):
    """Not those of the class that Fleet is imported with."""
    suite = unittest.TestSuite()
    suite.addTests(Profile(name) for name in sorted(vars(Profile)) if name.startswith("test_"))
    return suite


if __name__ == "__main__":
    fleet_master.SPEX, fleet_master.LIVE = map(os.path.abspath, sys.argv[1:3])
    Programs.spex, Programs.live = fleet_master.SPEX, fleet_master.LIVE
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
