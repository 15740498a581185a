# SPDX-License-Identifier: MIT
"""What bounds a fleet of 10,000 instances, calculated from what crowd.py has measured of smaller ones: each figure is
taken for a + b · hosts + c · instances, which three crowds determine. Where the crowd's one process did not get as much
of the machine as it needs for a report a second and host, those that came count."""

INSTANCES = 10000
EACH = (1, 8)  # instances a host
# Defaults of nats-server, and what spex takes at most of hosts, of instances and of their profiles (src/fleet).
CONNECTIONS, HOSTS, LED, PROFILES = 65536, 20000, 100000, 512 << 20
KEPT = ("master_memory", "server_memory", "status_bytes")  # the others are rates
FIGURES = ("master_cpu", "server_cpu", "messages_in", "bytes_in", "master_memory", "server_memory", "status_bytes")


def solved(crowds, figure):
    """(a, b, c) of three crowds, by the differences of two from the first one (Cramer's rule)."""
    hosts = [one["agents"] if figure in KEPT else one["reports"] for one in crowds]
    instances = [count * one["instances"] for count, one in zip(hosts, crowds)]
    h, i, y = ([column[row] - column[0] for row in (1, 2)] for column in (hosts, instances, [one[figure] for one in crowds]))
    under = h[0] * i[1] - h[1] * i[0]
    b, c = (y[0] * i[1] - y[1] * i[0]) / under, (h[0] * y[1] - h[1] * y[0]) / under
    return crowds[0][figure] - b * hosts[0] - c * instances[0], b, c


def at(line, hosts, instances):
    a, b, c = line
    return a + b * hosts + c * instances


def most(line, each, limit):
    """Instances at which the figure gets to its limit."""
    a, b, c = line
    return (limit - a) / (b / each + c)


def print_bounds(crowd):
    crowds = [crowd["crowds"][name] for name in ("100x1", "400x1", "100x8")]
    lines = {figure: solved(crowds, figure) for figure in FIGURES}
    probes = crowds[0]["probes"]
    print(f"## What bounds {INSTANCES:,} instances\n")
    print(f"Calculated from the table above, where each figure is taken for a + b · hosts + c · instances of {probes} probes, half of")
    print("the instances recording. This has not been measured at that size.\n")
    print("| | a host more | an instance more | " + " | ".join(f"{INSTANCES // each:,} hosts × {each}" for each in EACH) + " |")
    print("| --- | ---: | ---: | ---: | ---: |")
    rows = (("master, cores", "master_cpu", 1, 3), ("NATS, cores", "server_cpu", 1, 3), ("messages/s", "messages_in", 1, 2),
            ("kB/s to the server", "bytes_in", 1e-3, 2), ("master, MB", "master_memory", 1e-6, 3),
            ("NATS, MB", "server_memory", 1e-6, 3), ("an answer to `status`, kB", "status_bytes", 1e-3, 3))
    for name, figure, factor, digits in rows:
        _, b, c = lines[figure]
        cells = [f"{factor * at(lines[figure], INSTANCES / each, INSTANCES):,.{0 if figure != 'master_cpu' and figure != 'server_cpu' else 1}f}"
                 for each in EACH]
        print(f"| {name} | {factor * b:.{digits}g} | {factor * c:.{digits}g} | {' | '.join(cells)} |")
    print()
    print(f"- **Processors come first.** The master is one thread, which mostly reads reports and profiles: one core is spent at "
          f"{most(lines['master_cpu'], EACH[0], 1):,.0f} instances with a host each, and at {most(lines['master_cpu'], EACH[1], 1):,.0f} "
          f"with {EACH[1]} a host. Fewer probes in the map, or a smaller share of instances that record (`instrumented`), make "
          "reports smaller in proportion.")
    print(f"- NATS takes a core at {most(lines['server_cpu'], EACH[0], 1):,.0f} instances with a host each, and more where it has them; a gigabit network carries what "
          f"{most(lines['bytes_in'], EACH[0], 125e6):,.0f} instances tell. Profiles are most of it: one of each instance every 10 s.")
    print(f"- A server takes {CONNECTIONS:,} connections by default; a master {HOSTS:,} hosts and {LED:,} instances. The bucket has one key a host,")
    print("  written when what is desired there changes and not each second.")
    print(f"- The master keeps {PROFILES >> 20} MiB of profiles at most, here those of about "
          f"{PROFILES / sum(lines['master_memory'][1:]):,.0f} instances. What has no room is counted (`no_room`).")
    print("- SQLite has no part in a decision: what is desired is in NATS.\n")
