# SPDX-License-Identifier: MIT
"""The parts of a real fleet on loopback, for the benches of this folder: instances of the shop of examples/fleet behind
HAProxy, load from wrk, agents, a master, a NATS server."""

import glob
import http.client
import json
import os
import queue
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../test/system"), os.path.join(HERE, "../peers"), os.path.join(HERE, "..")]
import nats  # pylint: disable=wrong-import-position

ITEMS = 20000
PATIENCE = 30  # seconds until something that must come is missed
BALANCER = """global
  maxconn 4000
  nbthread 1
  stats socket {folder}/balancer mode 600 level user
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout check 5s
  option redispatch
frontend shop
  bind 127.0.0.1:{port}
  default_backend instances
backend instances
  balance leastconn
  option httpchk GET /health
"""
POLICY = """<profiling-spec name="{name}">
  <instrumentation-map>
{units}
  </instrumentation-map>
  <qos-requirements>
    <response-time probe="request:span" metric="mean" at_most="{response}"/>
    {more}
  </qos-requirements>
</profiling-spec>
"""
# What a user would want to know of the shop; and all of it, down to single rows and words, as of methods.
USUAL = """    <unit type="glob" name="page*" modes="lat"/>
    <unit type="glob" name="query_*" modes="lat kernel"/>
    <unit type="glob" name="table" modes="lat"/>
    <unit type="file" name="*server.c" modes="lat"/>
    <unit type="probe" name="queued" modes="span" scope="external"/>"""
DETAILED = """    <unit type="glob" name="*" modes="lat kernel ctxsw"/>
    <unit type="probe" name="queued" modes="span" scope="external"/>"""
MAPS = {"usual": USUAL, "detailed": DETAILED}
SETS = {"usual": "page*:lat,query_*:lat,query_*:kernel,table:lat,file=*server.c:lat,queued:span",
        "detailed": "*"}


def need(*programs):
    """Ends the bench where one is missing. Debian's packages have the names of the programs."""
    missing = [program for program in programs if not find(program)]
    if missing:
        sys.exit(f"this bench needs {' '.join(missing)}: apt-get install {' '.join(missing)}")


def find(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin")


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def cpu_seconds(process):
    """Of all threads of a process that still runs."""
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_seconds(processes):
    """The time that their threads have run, to the nanosecond; none of them ends meanwhile."""
    ran = 0
    for process in processes:
        for path in glob.glob(f"/proc/{process}/task/*/schedstat"):
            with open(path, encoding="ascii") as file:
                ran += int(file.read().split()[0])
    return ran / 1e9


def memory(process):
    """Bytes that it has had in memory at most."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


class Others:
    """What other programs, and other machines of the same host, take of the processors meanwhile."""

    def __init__(self):
        self.begin = self.now()

    @staticmethod
    def now():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, idle, wait, irq, soft, steal = map(int, file.readline().split()[1:9])
        ours = sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                       resource.RUSAGE_CHILDREN)))
        busy = (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
        return busy - ours, steal / os.sysconf("SC_CLK_TCK"), busy + (idle + wait + steal) / os.sysconf("SC_CLK_TCK")

    def told(self):
        """As shares of all; when this bench's programs have ended."""
        others, steal, all_of_it = (now - before for now, before in zip(self.now(), self.begin))
        return {"others": max(0.0, others / all_of_it), "stolen": steal / all_of_it}


class Parts:
    """Everything is in a folder of its own, and ends with close()."""

    def __init__(self, build, instances_most=8):
        # What was started is ended after SIGTERM, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
        self.build = os.path.abspath(build)
        self.spex = os.path.join(self.build, "tools/spex")
        self.folder = tempfile.mkdtemp(prefix="spex-fleet-")
        # Commands see all programs of this user, of which only those with this name are these.
        self.name = f"shop-{os.getpid()}"
        self.shop, self.database, self.running = self.path(self.name), self.path("shop.db"), []
        os.mkdir(self.path("control"), 0o700)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SPEX_")}
        self.environment["SPEX_CONTROL"] = self.path("control")
        self.port, self.serve_port, *self.ports = free_ports(2 + instances_most)
        self.server = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        for process in reversed(self.running):
            process.terminate()
        for process in reversed(self.running):
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
        if self.server:
            self.server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *command, output=subprocess.DEVNULL):
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, text=True,
                                   env=self.environment, cwd=self.folder)
        self.running.append(process)
        return process

    def end(self, process, how=signal.SIGTERM):
        process.send_signal(how)
        process.wait()
        self.running.remove(process)

    def until(self, wanted, what, patience=PATIENCE):
        """Asks until it is so."""
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            found = wanted()
            if found:
                return found
            time.sleep(0.01)
        raise RuntimeError(f"{what}: not within {patience} s")

    # Instances, the balancer, load.

    def make_database(self):
        shop = os.path.join(self.build, "examples/fleet/shop")
        if not os.path.exists(shop):
            sys.exit(f"{shop} is not there: it needs libmicrohttpd-dev when BUILD is made")
        shutil.copy(shop, self.shop)
        subprocess.run([self.shop, "--database", self.database, "--make", "yes", "--items", str(ITEMS)], check=True)

    def instance(self, number, *options):
        if not os.path.exists(self.database):
            self.make_database()
        process = self.start(self.shop, "--database", self.database, "--port", self.ports[number], *options)
        self.until(lambda: self.answers(self.ports[number]), "an instance of the shop")
        return process

    def answers(self, port, path="/health"):
        try:
            return self.get(port, path) is not None
        except OSError:
            return False

    def get(self, port, path):
        """None: it was refused."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            return body if answer.status == 200 else None
        finally:
            connection.close()

    def balancer(self):
        with open(self.path("balancer.cfg"), "w", encoding="utf-8") as file:
            file.write(BALANCER.format(folder=self.folder, port=self.port))
            for number, port in enumerate(self.ports):
                file.write(f"  server instance{number} 127.0.0.1:{port} check inter 1s fastinter 100ms downinter 100ms rise 1 fall 3\n")
        process = self.start(find("haproxy"), "-db", "-q", "-f", self.path("balancer.cfg"))
        self.until(lambda: self.answers(self.port), "HAProxy")
        return process

    def balancer_told(self):
        """What the balancer tells of its frontend, its backend and each instance, by their names."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path("balancer"))
            connection.sendall(b"show stat\n")
            text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        header, *lines = text.lstrip("# ").splitlines()
        return {row["svname"]: row for row in (dict(zip(header.split(","), line.split(","))) for line in lines if line)}

    def balanced(self):
        """Requests that the balancer has answered, and instances that are up, of each its number."""
        told = self.balancer_told()
        return int(told["FRONTEND"]["req_tot"]), {name: int(row["stot"]) for name, row in told.items()
                                                  if name.startswith("instance") and row["status"].startswith("UP")}

    def load(self, mode, connections, seconds, pause="0", seed=1):
        """wrk, as it runs; answer() has what it has measured."""
        return self.start(find("wrk"), "-t", "1", "-c", connections, "-d", f"{seconds:g}s", "-s",
                          os.path.join(HERE, "load.lua"), "--timeout", "20s", f"http://127.0.0.1:{self.port}/", "--", mode,
                          pause, seed, ITEMS, output=subprocess.PIPE)

    def answer(self, wrk):
        output, _ = wrk.communicate()
        self.running.remove(wrk)
        told = json.loads(output.splitlines()[-1])
        if told["errors"]:
            raise RuntimeError(f"wrk: {told['errors']} requests failed")
        return {**told, "rate": told["requests"] / told["seconds"]}

    def measure(self, mode, connections, seconds, **how):
        """For whole seconds."""
        return self.answer(self.load(mode, connections, seconds, **how))

    # What spex tells.

    def run_spex(self, *arguments, check=True):
        result = subprocess.run([self.spex, *map(str, arguments)], capture_output=True, text=True, env=self.environment,
                                check=False)
        if check and result.returncode:
            raise RuntimeError(f"spex {arguments[0]}: {result.stderr.strip()}")
        return result

    def serve(self):
        self.start(self.spex, "serve", self.name, "--listen", f"127.0.0.1:{self.serve_port}")
        self.until(lambda: self.answers(self.serve_port, "/api/programs"), "spex serve")

    def sites_on(self):
        """Of each process of the shop that answers."""
        told = json.loads(self.get(self.serve_port, "/api/programs"))["programs"]
        return {one["pid"]: one["sites_on"] for program in told for one in program["processes"] if one["answers"]}

    def counts(self, process):
        """Executions of each probe of the process, while it was on; and its records."""
        told = json.loads(self.get(self.serve_port, f"/api/probes?process={process}"))["figures"]
        probes = {f"{probe['name']}:{probe['type']}": probe["count"] for probe in told["probes"]}
        return probes, told["records"]["consumed"]

    # The fleet.

    def policy(self, name, units, response="1s", more=""):
        path = self.path(name + ".xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(POLICY.format(name=name, units=units, response=response, more=more))
        return path

    def agent(self, *arguments, lease=10):
        return self.start(self.spex, "agent", *arguments, "--json", "--lease", lease, output=subprocess.PIPE)

    def nats(self, options=""):
        self.server = nats.Server(self.path("nats"), options).start()
        return self.server

    def where(self, fleet):
        return ["--nats", self.server.url, "--fleet", fleet]

    def master(self, policy, *options):
        return self.start(self.spex, "fleet", "master", policy, "--nats", self.server.url, "--json", *options,
                          output=subprocess.PIPE)

    def status(self, fleet):
        """None: no master answers."""
        result = self.run_spex("fleet", "status", *self.where(fleet), "--json", check=False)
        return json.loads(result.stdout) if result.returncode == 0 else None


def until_modes(agent, processes, mode="full"):
    """Reads what the agent says until each process has been in that mode."""
    waiting = set(processes)
    for line in agent.stdout:
        event = json.loads(line)
        if event["event"] == "mode" and event["mode"] == mode:
            waiting.discard(event["pid"])
        if not waiting:
            return
    raise RuntimeError("the agent has ended")


class Told:
    """The events of a master, with the times at which they came. Reading them keeps its output from being full."""

    def __init__(self, master):
        self.events = queue.Queue()
        threading.Thread(target=self.read, args=[master.stdout], daemon=True).start()

    def read(self, stream):
        for line in stream:
            self.events.put((time.monotonic(), json.loads(line)))

    def all(self):
        events = []
        while not self.events.empty():
            events.append(self.events.get())
        return events
