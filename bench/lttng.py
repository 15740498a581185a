# SPDX-License-Identifier: MIT
"""LTTng-UST for benches: its session daemon, which each of them starts and ends, and its sessions."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import time

ANSWERS_WITHIN = 10


def cpu_ns(process, thread="*"):
    """CPU time of a process's threads, or of one."""
    total = 0
    for path in glob.glob(f"/proc/{process}/task/{thread}/schedstat"):
        with open(path, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


class Lttng:
    """The daemon, while it is needed. It has a home of its own; as root also needs that no other runs."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="spex-lttng-")
        # Programs wait at their start until the daemon has said which events are on.
        self.environment = {**os.environ, "LTTNG_HOME": self.home, "HOME": self.home, "LTTNG_UST_REGISTER_TIMEOUT": "-1"}
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + ANSWERS_WITHIN
        while self.daemon.poll() is None and time.monotonic() < until:
            if self.command("list", check=False).returncode == 0:
                return
            time.sleep(0.1)
        self.end()
        raise OSError("lttng-sessiond does not answer, or another one runs")

    def command(self, *words, check=True):
        return subprocess.run(["lttng", "--no-sessiond", *words], check=check, capture_output=True, text=True,
                              env=self.environment)

    def session(self, name, folder, events, contexts):
        """Records these events of all programs to the folder from now on, each with these contexts; in 8 MiB for each CPU."""
        self.command("create", name, "--output", folder)
        self.record(events, contexts, "--subbuf-size=1M", "--num-subbuf=8")

    def record(self, events, contexts, *buffers):
        """The same with a session that was just created, and buffers as they are by default."""
        self.command("enable-channel", "-u", *buffers, "c")
        for event in events:
            self.command("enable-event", "-u", "-c", "c", event)
        for context in contexts:
            self.command("add-context", "-u", "-c", "c", "-t", context)
        self.command("start")

    def stop(self, name):
        """Returns how many events were discarded."""
        stopped = self.command("stop")
        self.command("destroy", name)
        return sum(map(int, re.findall(r"(\d+) events? (?:were )?discarded", stopped.stdout + stopped.stderr)))

    def consumer_ns(self):
        """The CPU time of the process that carries the events to the trace."""
        for path in glob.glob("/proc/[0-9]*/comm"):
            try:
                with open(path, encoding="utf-8") as file:
                    if file.read().startswith("lttng-consumerd"):
                        return cpu_ns(path.split("/")[2])
            except OSError:
                pass
        return 0

    def end(self):
        self.daemon.terminate()
        self.daemon.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def lttng_missing(program):
    """Why LTTng is not measured, whose program is this; None: it is."""
    if not os.path.exists(program):
        return "liblttng-ust-dev was not there when this was built"
    if not shutil.which("lttng-sessiond") or not shutil.which("lttng"):
        return "lttng-tools is not installed"
    return None
