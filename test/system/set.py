#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex set` and `spex list`: running programs are found, and their probes switched.

    set.py SPEX LIVE
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from running import ALONE, Programs, nobody, nobody_can_run

SPEX = LIVE = None


class Set(Programs):
    def test_a_busy_site_is_reached(self):
        process = self.start()
        begin = time.monotonic()
        self.assertEqual(self.set(process.pid, "query.parse").stdout, "1 of 4 probe sites are on\n")
        switched = time.monotonic()
        self.until(lambda: self.records(process, "query.parse"))
        print("switched after %.1f ms, first seen in a table after %.1f ms" %
              (1000 * (switched - begin), 1000 * (time.monotonic() - begin)))

    def test_replacing_and_adding(self):
        process = self.start()
        for arguments, on, selection in [
                (["*"], 4, "*"), (["query", "state"], 2, "query,state"),
                (["+3:cnt@5"], 3, "query,state,3:cnt@5"), (["+query@off"], 2, "query@off,state"),
                (["off"], 0, "off"), (["+:lat"], 1, ":lat"), ([""], 0, "off")]:
            with self.subTest(arguments=arguments):
                result = self.set(process.pid, *arguments)
                self.assertEqual(result.stdout, "%d of 4 probe sites are on\n" % on)
                self.assertEqual(result.stderr, "")
                if selection != "query@off,state":  # where a changed item goes is not promised
                    self.assertIn(self.selected(process), {selection, "*:lat"})

    def wakes(self, process):
        """How often the program's collector has gone to sleep; None before it runs."""
        tasks = "/proc/%d/task" % process.pid
        for task in os.listdir(tasks):
            with open(os.path.join(tasks, task, "status"), encoding="utf-8") as file:
                status = dict(line.split(":", 1) for line in file)
            if status["Name"].strip() == "spex-collector":
                return int(status["voluntary_ctxt_switches"])
        return None

    def test_without_records_the_collector_sleeps(self):
        process = self.start()
        self.set(process.pid, "3:cnt@10000000")
        self.until(lambda: self.wakes(process) is not None)
        begin, before = time.monotonic(), self.wakes(process)
        time.sleep(1)
        wakes, seconds = self.wakes(process) - before, time.monotonic() - begin
        print("woke %d times in %.2f s" % (wakes, seconds))
        # Sleeps grow from 50 microseconds to 110 ms in nine steps.
        self.assertLessEqual(wakes, 10 + 10 * seconds)

    def called(self, name):
        """A program of this name, with an environment that has nothing but the place of sockets; not a dormant one."""
        if not os.path.exists(self.path(name)):
            os.symlink(self.live, self.path(name))
        return self.start(program=self.path(name), environment={"SPEX_CONTROL": self.control, "SPEX_WAITS": "1"})

    def test_programs_of_a_name(self):
        name = "live-%d" % os.getpid()
        self.refused("no program called %s is running that" % name, name, "query")
        processes = [self.called(name), self.called(name)]
        result = self.set(name, "query")
        self.assertEqual(sorted(result.stdout.splitlines()),
                         sorted("process %d: 1 of 4 probe sites are on" % process.pid for process in processes))
        self.assertEqual(self.selected(self.called(name)), "off")

    def test_programs_that_do_not_answer_share_one_time_limit(self):
        name = "live-%d" % os.getpid()
        # With the time of one each, they would take as many times as long.
        silent = [self.called(name) for _ in range(30)]
        for process in silent:
            process.send_signal(signal.SIGSTOP)
            self.addCleanup(process.send_signal, signal.SIGCONT)
        answering = self.called(name)
        result = self.set(name, "query", status=1)
        self.assertEqual(result.stdout, "process %d: 1 of 4 probe sites are on\n" % answering.pid)
        self.assertEqual(sorted(result.stderr.splitlines()),
                         sorted("spex: process %d does not answer" % process.pid for process in silent))

    def test_programs_that_start_later(self):
        name = "live-%d" % os.getpid()
        result = self.set("--follow", name, "query@7")
        self.assertEqual(result.stdout, "no program called %s runs; the selection is for those that this user starts\n" % name)
        first = self.called(name)
        self.assertEqual(self.selected(first), "query@7")
        self.set("-f", first.pid, "+state")
        self.assertEqual([self.selected(process) for process in (first, self.called(name))], ["query@7,state"] * 2)
        self.assertEqual(self.selected(self.start()), "off")
        self.set("-f", name, "off")
        self.assertEqual(self.selected(self.called(name)), "off")

    def test_off_removes_what_was_left_for_any_user(self):
        if os.geteuid() != 0:
            self.skipTest("an ordinary user leaves selections in one place")
        name = "live-%d" % os.getpid()
        # As the directory of a user, of whom no program runs any more.
        place = tempfile.mkdtemp(prefix="spex-", dir="/tmp")
        self.addCleanup(shutil.rmtree, place)
        for program in name, "another":
            with open(os.path.join(place, "select-" + program), "w", encoding="utf-8") as file:
                file.write("query\n")
        environment = {key: value for key, value in os.environ.items() if key != "SPEX_CONTROL"}
        result = subprocess.run([SPEX, "set", "-f", name, "off"], env=environment, text=True, capture_output=True, check=True)
        self.assertEqual(result.stdout, "no program called %s runs; none that starts gets a selection\n" % name)
        self.assertEqual(os.listdir(place), ["select-another"])

    def test_a_name_that_no_file_can_have(self):
        for name in "a\x1bb", "a\nb":
            self.refused("cannot be left for programs that start: Invalid argument$", "-f", name, "query")

    def budget(self, process):
        """In per cent."""
        budget = self.listed(process).get("budget")
        return budget and round(100 * budget, 6)

    def test_a_budget(self):
        process = self.start()
        self.assertEqual(self.set("-b", "2%", process.pid, "*").stdout, "4 of 4 probe sites are on; budget 2 %\n")
        self.until(lambda: self.budget(process) == 2)
        self.assertEqual(self.set("--budget", "0.5%", process.pid).stdout, "process %d; budget 0.5 %%\n" % process.pid)
        self.until(lambda: self.budget(process) == 0.5)
        self.assertEqual(self.listed(process)["sites_on"], 4)
        self.assertEqual(self.set("-b", "off", process.pid, "query").stdout,
                         "1 of 4 probe sites are on; budget as the program was started with\n")
        self.until(lambda: self.budget(process) is None)
        self.assertEqual(self.set("--for", "600s", "-b", "3%", process.pid, "*").stdout,
                         "4 of 4 probe sites are on; leased for 600 s; budget 3 %\n")
        self.until(lambda: self.budget(process) == 3)

    def test_the_least_budget_is_kept(self):
        process = self.start(environment=self.environment(SPEX_BUDGET="1%", SPEX_PROBES="*", SPEX_OUT="/dev/null"))
        self.set("-b", "2%", process.pid)
        self.assertEqual(self.budget(process), 1)
        self.set("-b", "0.5%", process.pid)
        self.until(lambda: self.budget(process) == 0.5)

    def test_budgets_that_are_none(self):
        process = self.start()
        for budget in "0%", "101%", "x", "2":
            self.refused("a percentage above 0% and up to 100%, such as 2%, or off was expected", "-b", budget, process.pid, status=2)
        self.refused("a process and probes were expected", "-b", "2%", "--for", "60s", process.pid, status=2)
        self.refused("options come before the process", process.pid, "-b", "3%", status=2)
        self.refused("options come before the process", process.pid, "*", "--for", "60s", status=2)
        self.refused("without --follow", "-f", "-b", "2%", "--for", "60s", process.pid, "*", status=2)
        self.assertIsNone(self.budget(process))

    def test_a_lease(self):
        process = self.start()
        self.set(process.pid, "state")
        result = self.set("--for", "600s", process.pid, "+query")
        self.assertEqual(result.stdout, "2 of 4 probe sites are on; leased for 600 s\n")
        listed = self.listed(process)
        self.assertEqual((listed["selection"], listed["leased"], listed["sites_on"]), ("state", "+query", 2))
        self.assertTrue(0 < listed["lease_seconds"] <= 600)
        self.assertRegex(self.run_spex("list", "--verbose").stdout, r"state; \+query for \d+ s")
        sites = json.loads(self.run_spex("probes", "--json", process.pid).stdout)["sites"]
        self.assertEqual([site["name"] for site in sites if "lease_seconds" in site], ["query"])
        self.assertRegex(self.run_spex("probes", "--verbose", process.pid).stdout, r"query .*leased for \d+ s\n")
        # Another one, which ends before.
        self.assertRegex(self.set("--for", "300s", process.pid, "+query.parse").stdout, r"; leased for \d+ to \d+ s\n$")
        ends = re.search(r"state; \+query,query.parse for (\d+) to (\d+) s", self.run_spex("list", "--verbose").stdout)
        self.assertTrue(int(ends[1]) <= 300 < int(ends[2]), ends[0])
        self.set(process.pid, "+query.parse@off")
        # Instead of what is selected; and what ends by hand does not come again.
        self.assertEqual(self.set("--for", "0.05", process.pid, "3").stdout.split(";")[0], "1 of 4 probe sites are on")
        self.until_on(process, 2)
        self.assertEqual(self.set(process.pid, "+query@off").stdout, "1 of 4 probe sites are on\n")
        self.set("--for", "10min", process.pid, "*")
        self.assertEqual(self.set(process.pid, "off").stdout, "0 of 4 probe sites are on\n")
        self.assertNotIn("leased", self.listed(process))

    def test_bad_leases(self):
        process = self.start()
        for lease in "0", "0s", "-1", "1m", "", "s", "nan", "86401", "2d", "10ms", "9" * 20:
            with self.subTest(lease=lease):
                self.refused("--for %s: 0.05 to 86400 seconds were expected, such as 60s or 10min$" % lease, "--for", lease,
                             process.pid, "*", status=2)
        self.assertEqual(self.selected(process), "off")

    def test_a_setter_that_dies_leaves_nothing_on(self):
        process = self.start()
        script = 'while "$0" set --for 0.3 "$1" "+query" >/dev/null; do :; done'
        setter = subprocess.Popen(["sh", "-c", script, SPEX, str(process.pid)], env=self.environment(), start_new_session=True)
        self.until_on(process, 1)
        os.killpg(setter.pid, signal.SIGKILL)
        setter.wait()
        self.until_on(process, 0)
        self.assertEqual(self.selected(process), "off")

    def test_a_lease_goes_on_while_the_program_is_stopped(self):
        process = self.start()
        self.set("--for", "0.5", process.pid, "query")
        process.send_signal(signal.SIGSTOP)
        self.addCleanup(process.send_signal, signal.SIGCONT)
        time.sleep(0.6)
        process.send_signal(signal.SIGCONT)
        self.until_on(process, 0)

    def test_a_lease_is_followed_by_forks_and_leaves_nothing_for_later(self):
        name = "live-%d" % os.getpid()
        self.refused("no program called %s is running that" % name, "-f", "--for", "60s", name, "query")
        process = self.called(name)
        self.set("-f", "--for", "60s", name, "query")
        self.assertEqual(self.listed(process)["leased"], "query")
        self.assertEqual(self.selected(self.called(name)), "off")

    def test_bad_syntax_changes_nothing(self):
        process = self.start()
        self.set(process.pid, "query")
        self.refused("a probe type was expected", process.pid, "query:nonsense", status=2)
        self.refused("", process.pid, "query@0", status=2)
        self.refused("", process.pid, "query@", "state", status=2)
        self.refused("longer than|too long", process.pid, "x" * 20000)
        self.assertEqual(self.selected(process), "query")

    def test_what_matches_nothing(self):
        process = self.start()
        result = self.set(process.pid, "qurey", status=1)
        self.assertRegex(result.stderr, r'\Aspex: no probe matches "qurey" \(yet\); there are: query')
        self.assertEqual(result.stdout, "0 of 4 probe sites are on\n")
        result = self.set(process.pid, "query,qurey")
        self.assertRegex(result.stderr, r'\Aspex: no probe matches "qurey" \(yet\); there are: query')
        self.assertEqual(result.stdout, "1 of 4 probe sites are on\n")
        self.set(process.pid, "+nothing", status=1)
        self.assertEqual(self.selected(process), "query,qurey,nothing")

    def test_processes_that_cannot_be_reached(self):
        self.refused("there is no process 99999999", 99999999, "*")
        self.refused("there is no process 9{30}", "9" * 30, "*")
        self.refused("there is no process 0", 0, "*")
        self.refused("", 1, "*")  # the parent of orphans, which are not its own
        self.refused("was not built with spex, has not called spex_start itself, as a child of a fork has to, or "
                     "has no directory for the socket$", self.stranger(), "*")
        process = self.start(environment=self.environment(SPEX_CONTROL="off"))
        self.refused("has SPEX_CONTROL=off", process.pid, "*")
        process = self.start()
        self.say(process, "stop")
        self.refused("has no control socket", process.pid, "*")

    def test_usage(self):
        self.refused("a process and probes were expected", os.getpid(), status=2)
        self.refused("a process and probes were expected", status=2)
        self.assertIn("there is no option --nonsense; see spex set --help", self.set("--nonsense", status=2).stderr)
        self.assertIn("usage: spex set", self.set("--help").stdout)

    def test_stopped_and_started_again(self):
        process = self.start()
        self.say(process, "stop")
        self.say(process, "start")
        self.assertEqual(self.set(process.pid, "*").stdout, "4 of 4 probe sites are on\n")

    def test_after_an_exec(self):
        process = self.start()
        self.set(process.pid, "*")
        self.assertEqual(self.say(process, "exec"), "ready\n")
        self.assertEqual(self.set(process.pid, "query").stdout, "1 of 4 probe sites are on\n")

    def test_somebody_elses_process(self):
        if os.getuid() != 0:
            self.skipTest("needs root to become somebody else")
        if not nobody_can_run(SPEX) or not nobody_can_run(LIVE):
            self.skipTest("the programs are where only root can run them")
        other = nobody()
        os.chmod(self.dir, 0o777)
        process = self.start()
        self.refused("is not yours", process.pid, "*", **other)
        self.assertNotIn(process.pid, self.programs(**other))
        theirs = self.start(environment=self.environment(SPEX_CONTROL=self.control + "-theirs"),
                            **other)
        for options in other, {}:  # root may
            self.assertEqual(self.set(theirs.pid, "*", **options).stdout,
                             "4 of 4 probe sites are on\n")
            self.assertIn(theirs.pid, self.programs(**options))

    def test_other_namespaces(self):
        if subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no PID and mount namespaces")
        os.mkdir(os.path.join(self.dir, "mounted"))
        shutil.copy(LIVE, os.path.join(self.dir, "live"))
        script = "mount -t tmpfs none mounted && cp live mounted && exec mounted/live"
        control = os.path.join(self.dir, "mounted", "control")
        outer = self.start(*ALONE, "sh", "-c", script, program="sh", cwd=self.dir,
                           environment=self.environment(SPEX_CONTROL=control))
        with open("/proc/%d/task/%d/children" % (outer.pid, outer.pid), encoding="utf-8") as children:
            inner = int(children.read())
        if not os.access("/proc/%d/root/%s" % (inner, self.dir), os.R_OK):
            self.skipTest("no right to look into another process's root")
        self.assertFalse(os.path.exists(control))
        self.assertEqual(self.set(inner, "query").stdout, "1 of 4 probe sites are on\n")
        self.assertEqual(self.programs()[inner]["selection"], "query")


class List(Programs):
    def test_no_program(self):
        if subprocess.run([*ALONE, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no PID and mount namespaces, and others may run programs with spex")
        result = subprocess.run([*ALONE, SPEX, "list"], check=False, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"\Aspex: no program is running that .* can control\n\Z")
        result = subprocess.run([*ALONE, SPEX, "list", "--json"], check=False, capture_output=True, text=True)
        self.assertEqual(result.stdout, "[]\n")

    def test_too_few_descriptors_are_not_taken_for_no_program(self):
        self.start()
        for arguments in ["list"], ["list", "--json"], ["set", "live", "query"]:
            result = self.run_spex(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5)))
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assertEqual(result.stderr, "spex: programs cannot be looked for: Too many open files\n")

    def test_several_programs(self):
        first, second = self.start(), self.start()
        self.set(second.pid, "query@100", "state")
        programs = self.programs()
        self.assertLessEqual({first.pid, second.pid}, set(programs))
        self.assertEqual(
            {**programs[first.pid], "seconds": 0},
            {"pid": first.pid, "command": "live", "answers": True, "sites": 4, "sites_on": 0,
             "seconds": 0, "selection": "off"})
        self.assertEqual(programs[second.pid]["sites_on"], 2)
        self.assertEqual(programs[second.pid]["selection"], "query@100,state")
        self.assertGreater(programs[second.pid]["seconds"], 0)
        table = self.run_spex("list", "--verbose").stdout
        self.assertRegex(table, r"\Apid +command +selected +sites +on +seconds\n")
        self.assertRegex(table, rf"(?m)^{first.pid} +live +off +4 +0 +0\.0$")
        self.assertRegex(table, rf"(?m)^{second.pid} +live +query@100,state +4 +2 +\d+\.\d$")

    def test_a_stopped_program(self):
        process = self.start(environment=self.environment(SPEX_WAITS="1"))
        process.send_signal(signal.SIGSTOP)
        try:
            self.assertEqual(self.programs()[process.pid],
                             {"pid": process.pid, "command": "live", "answers": False})
            self.assertRegex(self.run_spex("list").stdout, r"live +\(does not answer\)\n")
        finally:
            process.send_signal(signal.SIGCONT)

    def test_a_program_that_was_killed(self):
        process = self.start()
        self.say(process, "crash")
        process.wait()
        self.assertEqual(len(os.listdir(self.control)), 1)
        self.assertNotIn(process.pid, self.programs())
        after = self.start()
        sockets = os.listdir(self.control)
        self.assertEqual([name.split("-")[0] for name in sockets], [str(after.pid)])

    def test_a_full_disk_is_noticed(self):
        self.start()
        for arguments in [], ["--json"]:
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([SPEX, "list", *arguments], stdout=full, check=False,
                                        stderr=subprocess.PIPE, text=True, env=self.environment())
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot be written: No space left on device", result.stderr)

    def test_usage(self):
        self.assertEqual(self.run_spex("list", "more").returncode, 2)
        self.assertIn("usage: spex list", self.run_spex("list", "--help").stdout)


if __name__ == "__main__":
    SPEX, LIVE = Programs.spex, Programs.live = list(map(os.path.abspath, sys.argv[1:3]))
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
