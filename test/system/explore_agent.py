#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How configurations reach programs that do not read them, and what is around a program in a trial:
`spex explore` with templates, variables, commands and loads.

usage: explore_agent.py SPEX SUBJECT [unittest arguments]
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

from exploration import Exploration, PATIENCE, SPEX, SUBJECT, WORK, space, subjects

ONE = '<parameter name="work" type="integer" values="200"/>'
CACHE = '<parameter name="cache" type="integer" values="8 16" when="$mode = \'cached\'"/>'
MODES = '<parameter name="mode" type="categorical" values="plain cached"/>' + CACHE


def attribute(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def command(element, text, more=""):
    return f'<{element} command="{attribute(text)}" {more}/>\n'


def processes(folder):
    """Whatever carries the configuration of a trial whose files are in the folder: arguments by number."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                of_trial = f"\0SPEX_CONFIG={folder}/".encode() in b"\0" + environment.read()
            if of_trial:
                with open(f"/proc/{pid}/cmdline", "rb") as arguments:
                    found[int(pid)] = arguments.read().split(b"\0")
        except OSError:
            pass  # ended meanwhile, or a thread of the kernel
    return found


def group(number):
    """The processes of a group. (Workers of stress-ng write their titles over their environment.)"""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                fields = stat.read().rpartition(")")[2].split()
            if int(fields[2]) == number and fields[0] != "Z":
                found.append(int(pid))
        except OSError:
            pass  # ended meanwhile
    return found


class AgentExploration(Exploration):
    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.dir, "log")

    def logged(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read().splitlines()

    def shell(self, script, *arguments):
        """A program that does this first; $0 is the subject."""
        return ["/bin/sh", "-c", script, SUBJECT, *arguments]

    def statuses(self):
        return [trial["status"] for trial in self.report()["trials"]]

    def succeed(self, text, program=None):
        result = self.explore(text, program)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(set(self.statuses()), {"ok"})
        self.assert_nothing_left()

    def assert_nothing_left(self):
        super().assert_nothing_left()
        self.assertEqual(processes(self.dir), {})


class Templates(AgentExploration):
    def test_a_program_that_reads_no_configuration(self):
        self.succeed(space(WORK, metric="p50", goal="minimise"), [SUBJECT, "work={work}"])
        best = self.report()["best"]
        self.assertEqual(best["config"]["work"], 200)
        for trial in self.report()["trials"]:
            self.assertGreaterEqual(trial["objective"], 0.98e-6 * trial["config"]["work"])

    def test_what_an_argument_can_hold(self):
        self.succeed(space(ONE), self.shell(
            f'printf "%s\\n" "$@" > {self.log}; exec "$0"', "--work={work}us", "{}", "{{work}}",
            '{"a":{"b":{work}}}', "${work}", "{ work }", ""))
        self.assertEqual(self.logged(), ["--work=200us", "{}", "{work}", '{"a":{"b":200}}',
                                         "${work}", "{ work }", ""])

    def test_what_does_not_apply_is_left_out(self):
        self.succeed(
            space(ONE + MODES, rest='<environment name="CACHE" value="{cache}"/>\n'
                  '<environment name="BOTH" value="{mode}: {cache}"/>\n'
                  '<environment name="MODE" value="{mode}"/>\n'
                  + command("setup", 'echo "${SPEX_PARAMETER_CACHE-none}" >> "$LOG"')
                  + command("teardown", 'echo teardown {cache} >> "$LOG"')),
            self.shell('echo "$@ $MODE ${CACHE-none} ${BOTH-none}" >> "$LOG"; exec "$0"',
                       "{mode}", "--cache={cache}", "end"))
        self.assertEqual(self.logged(), [
            "none", "plain end plain none none",
            "8", "cached --cache=8 end cached 8 cached: 8", "teardown 8",
            "16", "cached --cache=16 end cached 16 cached: 16", "teardown 16"])

    def setUp(self):
        super().setUp()
        # Not handed on where the space sets it.
        self.environment.update(LOG=self.log, CACHE="inherited")

    def test_unknown_names_are_refused_at_the_begin(self):
        result = self.explore(space(WORK), [SUBJECT, "work={wrk}"])
        self.assert_fails(result, 1, 'argument 1 of the program, "work={wrk}": {wrk}: the space has '
                          "no such parameter; it has work")
        self.assertEqual(len(result.stderr.splitlines()), 1)
        result = self.explore(space(WORK, rest=command("setup", "echo {wrk}")))
        self.assert_fails(result, 1, "space.xml:5: <setup>: command: {wrk}: the space has no such")
        self.assertFalse(os.path.exists(self.store))

    def test_a_program_that_does_not_apply(self):
        self.explore(space(ONE + MODES), ["/bin/true{cache}"])
        self.assertEqual(self.statuses(),
                         ["did not start: /bin/true{cache} names a parameter that does not apply"]
                         + [f"did not start: /bin/true{n}: No such file or directory"
                            for n in (8, 16)])

    def test_the_configuration_on_a_descriptor(self):
        for descriptor in (3, 9, 4):
            self.succeed(space(ONE, rest=f'<configuration descriptor="{descriptor}"/>'),
                         self.shell(f'cat <&{descriptor} > "$LOG"; cmp "$LOG" "$SPEX_CONFIG" && '
                                    'exec "$0"'))
            self.assertIn('<parameter name="work" value="200"/>', "".join(self.logged()))
            os.unlink(self.store)

    def test_the_agent_is_part_of_the_space(self):
        self.succeed(space(ONE))
        result = self.explore(space(ONE, rest='<environment name="A" value="{work}"/>'))
        self.assert_fails(result, 1, "belongs to another space", "environment A={work}")


class Commands(AgentExploration):
    def setUp(self):
        super().setUp()
        self.environment["LOG"] = self.log

    def test_before_and_after_each_trial(self):
        self.succeed(
            space(WORK, rest=command("setup", 'echo setup {work} "$SPEX_PARAMETER_WORK" '
                                     '"$(basename "$SPEX_CONFIG")" "${SPEX_OUT-none}" '
                                     '"${SPEX_PROBES-none}" >> "$LOG"; test -s "$SPEX_CONFIG"')
                  + command("teardown", 'echo teardown {work} >> "$LOG"')),
            self.shell('echo program >> "$LOG"; exec "$0"'))
        self.assertEqual(self.logged(), [
            f"{word} {work}{more}" if word != "program" else word
            for work in (200, 800)
            for word, more in (("setup", f" {work} configuration.xml none none"),
                               ("program", ""), ("teardown", ""))])

    def test_a_setup_that_runs_a_program_with_probes(self):
        """Its records are none of the trial's, and it knows all variables that it has."""
        self.succeed(space(ONE, rest=command(
            "setup", f'{SUBJECT} work=100 behaviour=end > "$LOG" 2>&1')))
        self.assertEqual(self.logged(), [])

    def test_a_setup_that_fails(self):
        result = self.explore(
            space(WORK, rest=command("setup", "echo no disk; exit 3")
                  + command("teardown", 'echo teardown >> "$LOG"')),
            self.shell('echo program >> "$LOG"; exec "$0"'))
        self.assert_fails(result, 1, "no trial has a result")
        self.assertEqual(self.statuses(), ["setup: exited with status 3: no disk"] * 2)
        self.assertEqual(self.logged(), ["teardown"] * 2)
        self.assert_nothing_left()

    def test_a_setup_that_does_not_end(self):
        self.explore(space(ONE, rest=command("setup", "echo waiting; sleep 1000; true",
                                             'timeout="0.5"')
                           + command("teardown", 'echo teardown >> "$LOG"')))
        self.assertEqual(self.statuses(),
                         ["setup: did not end in 0.5 s; its last output: waiting"])
        self.assertEqual(self.logged(), ["teardown"])
        self.assert_nothing_left()

    def test_a_teardown_that_fails_is_told(self):
        result = self.explore(space(WORK, rest=command(
            "teardown", 'test {work} = 200 || { echo "still mounted"; exit 5; }')))
        self.assertEqual(result.returncode, 0, result.stderr)
        trials = self.report()["trials"]
        self.assertEqual([t["status"] for t in trials], ["ok"] * 2)
        self.assertEqual([t["note"] for t in trials],
                         [None, "teardown: exited with status 5: still mounted"])
        self.assertIn("notes      of 1 trials, the first: teardown: exited with status 5: still "
                      "mounted\n", self.spex("report", self.store).stdout)
        os.unlink(self.store)
        self.explore(space(ONE, rest=command("teardown", "sleep 1000; true", 'timeout="0.5"')))
        self.assertEqual(self.report()["trials"][0]["note"], "teardown: did not end in 0.5 s")
        self.assert_nothing_left()

    def test_what_a_setup_starts_lives_until_after_the_teardown(self):
        """Also a daemon, and also what still writes to its standard output."""
        self.succeed(
            space(ONE, rest=command("setup", "sleep 1000 & echo $! > server; "
                                    "setsid sleep 2000 & echo $! > daemon; "
                                    "yes & echo $! > writer")
                  + command("teardown", "for name in server daemon writer; do "
                            'kill -0 "$(cat $name)" && echo $name >> "$LOG"; done')),
            self.shell(f'cd {self.dir} && exec "$0"'))
        self.assertEqual(self.logged(), ["server", "daemon", "writer"])

    def test_a_teardown_meets_nothing_of_the_program(self):
        self.succeed(
            space(ONE, rest=command("teardown", 'echo teardown >> "$LOG"; '
                                    'grep "^State:.[^Z]" /proc/$(cat daemon)/status >> "$LOG"; true')),
            self.shell('setsid sleep 1000 & echo $! > daemon; exec "$0"'))
        self.assertEqual(self.logged(), ["teardown"])

    def explore(self, *arguments, **more):
        return super().explore(*arguments, cwd=self.dir, **more)

    def test_an_interruption_runs_the_teardown(self):
        text = space(ONE, rest=command("setup", 'echo setup >> "$LOG"; sleep 1000; true',
                                       'timeout="900"')
                     + command("teardown", 'echo teardown >> "$LOG"'))
        explorer = subprocess.Popen([SPEX, *self.command(text)], env=self.environment,
                                    stderr=subprocess.PIPE, text=True)
        self.until(lambda: os.path.exists(self.log) and self.logged())
        explorer.send_signal(signal.SIGINT)
        _, told = explorer.communicate(timeout=PATIENCE)
        self.assertEqual(explorer.returncode, 130, told)
        self.assertEqual(self.logged(), ["setup", "teardown"])
        self.assert_nothing_left()


class Usage(AgentExploration):
    KEYS = {"user_seconds", "system_seconds", "max_rss_bytes", "minor_faults", "major_faults",
            "voluntary_switches", "involuntary_switches", "read_bytes", "written_bytes",
            "storage_read_bytes", "storage_written_bytes"}

    def test_of_each_trial(self):
        # With a child that has been waited for.
        script = (f"{sys.executable} -c 'import os, time\n"
                  "block = bytearray(os.urandom(4096)) * 8192\n"
                  "while time.process_time() < 0.3: pass\n"
                  f"open(\"{self.dir}/written\", \"wb\").write(block[:1 << 20])' && exec \"$0\"")
        self.succeed(space(ONE), self.shell(script))
        trial, = self.report()["trials"]
        usage = trial["usage"]
        self.assertEqual(set(usage), self.KEYS)
        # The program itself has executed for as long as it was measured.
        self.assertGreater(usage["user_seconds"] + usage["system_seconds"], 0.3)
        self.assertGreater(usage["max_rss_bytes"], 32 << 20)
        self.assertGreater(usage["minor_faults"], 8192)
        self.assertGreater(usage["voluntary_switches"], 0)
        if usage["written_bytes"] is not None:
            self.assertGreaterEqual(usage["written_bytes"], 1 << 20)
        row, = self.rows("SELECT * FROM trial_usage")
        self.assertEqual(row[0], 1)
        self.assertAlmostEqual(row[1], usage["user_seconds"])
        self.assertEqual(row[3], usage["max_rss_bytes"])
        self.assertEqual((trial["load"], trial["note"]), ([], None))

    def test_there_is_none_of_a_program_that_did_not_start(self):
        self.explore(space(ONE), ["/nonexistent/program"])
        trial, = self.report()["trials"]
        self.assertIsNone(trial["usage"])
        self.assertEqual(self.rows("SELECT * FROM trial_usage"), [])


def load(stressor, workers, options=""):
    return f'<load stressor="{stressor}" workers="{workers}" options="{options}"/>\n'


class Loads(AgentExploration):
    NEIGHBOURS = '<parameter name="neighbours" type="integer" values="0 2"/>'

    def setUp(self):
        super().setUp()
        if not shutil.which("stress-ng"):
            print("SKIP: stress-ng is not installed")
            self.skipTest("stress-ng is not installed")

    def test_beside_each_trial(self):
        """What the program sees of it, from its first instruction on, and what it has used."""
        # Of this session: somebody else may run stress-ng, too.
        script = ("session() { sed 's/.*) //' $1/stat | cut -d' ' -f4; }; own=$(session /proc/self); "
                  "for p in /proc/[0-9]*; do [ \"$(session $p)\" != \"$own\" ] || cat $p/comm; done "
                  f"2>/dev/null > {self.log}.$1; sleep 0.3; exec \"$0\"")
        self.succeed(
            space(ONE + self.NEIGHBOURS,
                  rest=load("cpu", "{neighbours}", "--cpu-load 50 --cpu-method pi")
                  + load("vm", "1", "--vm-bytes 16m")),
            self.shell(script, "{neighbours}"))
        for workers in (0, 2):
            with open(f"{self.log}.{workers}", encoding="utf-8", errors="replace") as log:
                seen = log.read()
            self.assertEqual(len(re.findall(r"stress-ng-cpu$", seen, re.MULTILINE)), workers)
            self.assertGreaterEqual(len(re.findall(r"stress-ng-vm$", seen, re.MULTILINE)), 1)
        none, two = (trial["load"] for trial in self.report()["trials"])
        self.assertEqual([(l["stressor"], l["workers"]) for l in none], [("cpu", 0), ("vm", 1)])
        self.assertEqual([(l["stressor"], l["workers"]) for l in two], [("cpu", 2), ("vm", 1)])
        self.assertIsNone(none[0]["usage"])
        self.assertGreater(two[0]["usage"]["user_seconds"], 0.05)
        for trial in (none, two):
            self.assertGreater(trial[1]["usage"]["max_rss_bytes"], 8 << 20)
            self.assertGreater(trial[1]["usage"]["user_seconds"]
                               + trial[1]["usage"]["system_seconds"], 0)
        self.assertEqual(self.rows("SELECT trial, stressor, workers, user_seconds IS NULL "
                                   "FROM trial_load ORDER BY trial, load"),
                         [(1, "cpu", 0, 1), (1, "vm", 1, 0), (2, "cpu", 2, 0), (2, "vm", 1, 0)])

    def test_files_of_loads_are_removed(self):
        self.succeed(space(ONE, rest=load("hdd", "1", "--hdd-bytes 4m")))

    def test_a_load_that_does_not_apply(self):
        self.succeed(space(ONE + MODES, rest=load("cpu", "{cache}", "--cpu-load 10")
                           + load("cpu", "1", "--cpu-load {cache}")))
        self.assertEqual([[l["workers"] for l in trial["load"]]
                          for trial in self.report()["trials"]], [[0, 0], [8, 1], [16, 1]])

    def test_a_load_that_cannot_run(self):
        self.explore(space(ONE, rest=load("cpu", "1", "--cpu-load many")))
        self.assertRegex(self.statuses()[0], "^load cpu: exited with status [1-9]: .*many")
        self.assert_nothing_left()

    def test_a_load_that_ends_before_its_trial(self):
        text = space(ONE, rest=load("cpu", "1", "--timeout 1"),
                     run='records_per_thread="100000000" duration="60"')
        self.explore(text)
        self.assertRegex(self.statuses()[0], "^load cpu: exited with status 0")
        self.assert_nothing_left()

    def test_without_stress_ng(self):
        self.environment["PATH"] = "/nonexistent"
        result = self.explore(space(ONE, rest=load("cpu", "1")))
        self.assert_fails(result, 1, 'needs stress-ng: install Debian\'s package "stress-ng"')
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertFalse(os.path.exists(self.store))

    def test_a_stressor_that_there_is_not(self):
        result = self.explore(space(ONE, rest=load("cpuu", "1")))
        self.assert_fails(result, 1, 'stressor="cpuu"', "stress-ng --stressors")
        self.assertFalse(os.path.exists(self.store))

    def test_what_a_killed_exploration_leaves_goes_when_it_goes_on(self):
        text = space(ONE, run='records_per_thread="100000000" duration="900"',
                     rest=command("setup", "setsid sleep 1000 & true") + load("cpu", "1"))
        explorer = subprocess.Popen([SPEX, *self.command(text)], env=self.environment,
                                    stderr=subprocess.DEVNULL)
        self.until(lambda: subjects(self.dir))
        stress_ng, = (pid for pid, arguments in processes(self.dir).items()
                      if arguments[0] == b"stress-ng")
        self.assertGreaterEqual(len(group(stress_ng)), 2)
        explorer.kill()
        explorer.wait()
        self.until(lambda: not group(stress_ng) and not subjects(self.dir),
                   "the load or the program outlived its explorer")
        self.assertTrue(any(b"sleep" in arguments for arguments in processes(self.dir).values()))
        explorer = subprocess.Popen([SPEX, *self.command(text)], env=self.environment,
                                    stderr=subprocess.DEVNULL)
        self.until(lambda: len(subjects(self.dir)) == 1 and
                   sum(b"sleep" in arguments for arguments in processes(self.dir).values()) == 1)
        stress_ng, = (pid for pid, arguments in processes(self.dir).items()
                      if arguments[0] == b"stress-ng")
        explorer.send_signal(signal.SIGTERM)
        self.assertEqual(explorer.wait(PATIENCE), 130)
        self.assertEqual(group(stress_ng), [])
        self.assert_nothing_left()

    def test_of_trials_at_a_time(self):
        """Each is where its trial is."""
        script = ("grep Cpus_allowed_list /proc/self/status > own; for p in /proc/[0-9]*; do "
                  "tr '\\0' '\\n' < $p/environ | grep -qxF \"SPEX_CONFIG=$SPEX_CONFIG\" && "
                  "grep -h Cpus_allowed_list $p/status; done 2>/dev/null > all; "
                  "sort -u own all | wc -l >> $LOG; wc -l < all >> $LOG; exec \"$0\"")
        arguments = self.command(space(WORK, rest=load("cpu", "1", "--cpu-load 20")),
                                 self.shell("mkdir $LOG.$$ && cd $LOG.$$; LOG=$LOG.$$.log; " + script))
        self.environment["LOG"] = self.log
        result = self.spex(*arguments[:1], "--jobs", "2", *arguments[1:])
        if "CPU" in result.stderr and result.returncode == 1:
            self.skipTest("too few CPU cores for two trials at a time")
        self.assertEqual(result.returncode, 0, result.stderr)
        logs = [name for name in os.listdir(self.dir) if name.endswith(".log")]
        self.assertEqual(len(logs), 2)
        for name in logs:
            with open(os.path.join(self.dir, name), encoding="utf-8") as log:
                different, found = map(int, log.read().split())
            self.assertEqual(different, 1)
            self.assertGreaterEqual(found, 2)  # stress-ng and the program
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
