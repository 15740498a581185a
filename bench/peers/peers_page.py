# SPDX-License-Identifier: MIT
"""What bench/peers/run has found, as text, and as docs/peers.md with its picture."""

import datetime
import json
import os
import platform
import subprocess
import sys

from page import compiler, processor

PACKAGES = ("lttng-tools", "liblttng-ust-dev", "systemtap-sdt-dev", "uftrace", "clang", "libdpdk-dev", "libpapi-dev")
STATES = {"off": "Off", "on": "On", "call": "What programs call where they have no probes"}
SLOWER = {"rate": "time", "own_ns": "CPU time of its thread", "cpu_ns": "CPU time of all"}
VERDICTS = {True: "holds", False: "**does not hold**", None: "not known"}
# So many slices tell an interval.
SLICES_LEAST = 9

HEAD = """# spex beside its peers

Made by `bench/peers/run`, {date}; run it for figures of your machine. Figures are of {processor},
{cpus} CPUs, Linux {linux}, {compiler}. Other programs took {others} of the machine meanwhile{state}. Of the
bursts of a row, those count that were calm: a loop of loads and stores took as long before and after as it does at
best, and the burst did not wait for a processor. A row with fewer than 9 of them is of all, and marked: busy.

Packages: {packages}.
"""

BURSTS = """## A begin and an end (`bench/peers/run`)

Each program executes bursts of pairs of a begin and an end with nothing between, {rounds} bursts each, in random order
between the programs. Ticks (of {tick:.3f} ns) are those on the thread that executes the pair, beyond the same loop without
them: medians and their 95 % intervals. Ratios are of the medians of the same rounds, to a LAT pair of spex that is recorded.
"""

ON = """Work is equal where a row says so: a time stamp at the begin and one at the end, thread, CPU, and a value, written to a
buffer that somebody else reads. The second table has the CPU time of all processors for a pair: of the thread and of who
carries the records to where they go, in {carried} bursts and the quarter of a second after each; means.
"""

PLACES = """## In place

LevelDB's `db_bench` (random writes, then random reads, in memory) and nginx (one worker, a small page, `wrk`) of Debian's
sources, with the points of [bench/foreign](../bench/foreign)'s patches: as probes of spex, all recorded to a trace; as
events of LTTng-UST with thread and process ids, all recorded; as USDT probes. Slices in random order. Of an operation, by how
much longer it takes than in `plain`, by the mean of the fastest quarter of each way's slices, since what else the machine
does only adds to a time: by the clock; where it is known, in CPU time of the thread that does it; in CPU time of all threads
of the program, its start included, and of who carries the records. That they have recorded is checked. `plain, again` is a
second measurement of the same program: as much the machine does by itself. A count of spex, which has one record, is one
event; what has a begin and an end is two.
"""


def percent(figure, digits=1):
    return f"{100 * figure:.{digits}f} %"


def number(figure):
    """Three digits that count."""
    return f"{figure:.2f}" if abs(figure) < 10 else f"{figure:,.1f}" if abs(figure) < 100 else f"{figure:,.0f}"


def span(estimate, text=number):
    low, high = estimate["ci95"]
    return f"{text(low)} to {text(high)}"


def circumstances():
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", *PACKAGES], capture_output=True, text=True,
                           check=False).stdout if os.path.exists("/usr/bin/dpkg-query") else ""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"date": now.strftime("%Y-%m-%d, %H:%M UTC"), "processor": processor(), "cpus": os.cpu_count(),
            "linux": ".".join(platform.release().split(".")[:2]), "compiler": compiler(),
            "packages": [line for line in found.splitlines() if len(line.split()) == 2]}


def limits_of(result):
    """Of few slices nothing is known, however much their figures agree."""
    return result["bursts"]["limits"] + [{**limit, "kept": limit["kept"] if program["rounds"] >= SLICES_LEAST else None}
                                         for program in result.get("programs", ()) for limit in program.get("limits", ())]


def show(result):
    """For a person who has run it."""
    for row in result["bursts"]["rows"]:
        print(f"{row['name']:30} {number(row['median']):>9} ticks ({span(row)}){', busy' if row['busy'] else ''}"
              + (f"; {number(row['all_ns']['value'])} ns of all CPUs" if "all_ns" in row else "")
              + (f"; {row['lost']} lost" if row["lost"] else ""))
    for name, why in result["bursts"]["missing"].items():
        print(f"{name:30} not measured: {why}")
    for program in result.get("programs", ()):
        if "none" in program:
            print(f"{program['program']}: not measured: {program['none']}")
            continue
        for row in program["rows"]:
            slower = "; ".join(f"{text} {percent(row[figure + '_slowdown']['value'])} "
                               f"({span(row[figure + '_slowdown'], percent)})"
                               for figure, text in SLOWER.items() if figure + "_slowdown" in row)
            print(f"{program['program']:10} {row['way']:22} {number(row['rate'])} {program['unit']}s a second; more "
                  f"{slower}")
        for way, why in program["missing"].items():
            print(f"{program['program']:10} {way:22} not measured: {why}")
    for limit in limits_of(result):
        print(f"{limit['what']}: {number(limit['figure'])} ({span(limit)}), at most {number(limit['at_most'])}: "
              f"{VERDICTS[limit['kept']]}".replace("**", ""))


def table(out, head, rows):
    print("| " + " | ".join(name for name, _ in head) + " |", file=out)
    print("| " + " | ".join(line for _, line in head) + " |", file=out)
    for row in rows:
        print("| " + " | ".join(row) + " |", file=out)
    print(file=out)


LEFT, RIGHT = "---", "---:"


def cells(row):
    ratio = row["to_lat"]
    return [row["name"] + (", busy" if row["busy"] else ""), number(row["median"]), span(row),
            *([number(ratio["value"]), span(ratio)] if row["state"] != "off" and ratio else [])]


def lost(row):
    return "" if row["lost"] is None else f"{row['lost']:,}"


def print_bursts(out, bursts):
    print(BURSTS.format(rounds=bursts["rounds"], tick=bursts["tick_ns"]), file=out)
    head = [("", LEFT), ("ticks", RIGHT), ("95 % interval", RIGHT)]
    ratios = [("times spex", RIGHT), ("95 % interval", RIGHT)]
    work = [("time stamps", LEFT), ("thread", LEFT), ("CPU", LEFT), ("value", LEFT), ("read by", LEFT)]
    for state, title in STATES.items():
        rows = [row for row in bursts["rows"] if row["state"] == state]
        print(f"### {title}\n", file=out)
        if state == "off":
            table(out, head, [cells(row) for row in rows])
        elif state == "call":
            table(out, head + ratios + work, [cells(row) + list(row["work"]) for row in rows])
        else:
            print(ON.format(carried=bursts["carried_rounds"]), file=out)
            table(out, head + ratios + work, [cells(row) + list(row["work"]) for row in rows])
            table(out, [("", LEFT), ("ns of all processors", RIGHT), ("95 % interval", RIGHT), ("lost", RIGHT)],
                  [[row["name"], number(row["all_ns"]["value"]), span(row["all_ns"]), lost(row)]
                   for row in rows if "all_ns" in row])
    for name, why in bursts["missing"].items():
        print(f"- {name}: not measured here: {why}.", file=out)
    print(file=out)


def print_programs(out, programs):
    print(PLACES, file=out)
    for program in programs:
        print(f"### {program['program']}\n", file=out)
        if "none" in program:
            print(f"Not measured: {program['none']}.\n", file=out)
            continue
        few = "" if program["rounds"] >= SLICES_LEAST else ": too few for an interval, which is from the least to the most"
        print(f"{program['rounds']} slices of each{few}.\n", file=out)
        kinds = [figure for figure in SLOWER if figure + "_slowdown" in program["rows"][0]]
        table(out, [("", LEFT), (program["unit"] + "s a second", RIGHT),
                    *[head for figure in kinds for head in ((SLOWER[figure], RIGHT), ("95 % interval", RIGHT))], ("lost", RIGHT)],
              [[row["way"], number(row["rate"]),
                *[text for figure in kinds for text in (percent(row[figure + "_slowdown"]["value"]),
                                                        span(row[figure + "_slowdown"], percent))],
                f"{program['lost'][row['way']]:,}" if row["way"] in program["lost"] else ""] for row in program["rows"]])
        for way, why in program["missing"].items():
            print(f"- {way}: not measured here: {why}.", file=out)
        if program["missing"]:
            print(file=out)


def print_limits(out, result):
    print("## Numbers to reach\n", file=out)
    print("What spex has set itself, in the same run. It holds where the whole interval is within the limit, and\nis not known where "
          f"the limit is in the interval or there were fewer than {SLICES_LEAST} slices.\n", file=out)
    table(out, [("what", LEFT), ("figure", RIGHT), ("95 % interval", RIGHT), ("at most", RIGHT), ("", LEFT)],
          [[limit["what"], f"{limit['figure']:.3f}", span(limit, lambda figure: f"{figure:.3f}"), f"{limit['at_most']:.3f}",
            VERDICTS[limit["kept"]]] for limit in limits_of(result)])


def panel(title, unit, rows, logarithmic):
    """Commands for gnuplot: a point and its interval for each row, from the top."""
    lines = "\n".join(f'{low} {value} {high} {len(rows) - i}' for i, (_, value, low, high) in enumerate(rows))
    names = ", ".join(f'"{name}" {len(rows) - i}' for i, (name, *_) in enumerate(rows))
    return (f'$rows << END\n{lines}\nEND\nset title "{title}"\nset xlabel "{unit}"\n'
            f'{"set logscale x" if logarithmic else "unset logscale x"}\nset ytics ({names})\n'
            f'set yrange [0.4:{len(rows) + 0.6}]\n'
            'plot $rows using 2:4:1:3 with xerrorbars linecolor rgb "#1f5fa8" pointtype 7 pointsize 0.6 notitle\n')


def picture(path, result):
    tick = result["bursts"]["tick_ns"]
    rows = [(row["name"], row["median"] * tick, *(value * tick for value in row["ci95"])) for row in result["bursts"]["rows"]
            if row["state"] != "off"]
    panels = [panel("A begin and an end", "ns on the thread", rows, True)]
    for program in result.get("programs", ()):
        rows = [(row["way"], 100 * row["cpu_ns_slowdown"]["value"], *(100 * value for value in row["cpu_ns_slowdown"]["ci95"]))
                for row in program.get("rows", ()) if row["way"] not in ("plain", "USDT, attached")]
        if rows:
            panels.append(panel(program["program"], "% more CPU time", rows, False))
    script = (f'set terminal svg noenhanced size 760,{120 + 260 * len(panels)} font "sans,12" background rgb "white"\n'
              'set grid x\n'
              f'set lmargin 30\nset multiplot layout {len(panels)},1\n' + "".join(panels))
    made = subprocess.run(["gnuplot", "-"], input=script, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit("run: gnuplot: " + made.stderr.strip())
    with open(path, "w", encoding="utf-8") as file:
        file.write(made.stdout)


def write(path, results):
    result = {}
    for name in results:
        with open(name, encoding="utf-8") as file:
            result.update(json.load(file))
    image = os.path.splitext(path)[0] + ".svg"
    picture(image, result)
    with open(path, "w", encoding="utf-8") as out:
        state = "; a quick run, of few rounds" if result["quick"] else ""
        print(HEAD.format(**{**result, "others": percent(result["others"], 0), "state": state,
                             "packages": ", ".join(result["packages"]) or "not of Debian's packages"}), file=out)
        print_limits(out, result)
        print(f"![Costs of a pair, and in place]({os.path.basename(image)})\n", file=out)
        print_bursts(out, result["bursts"])
        if "programs" in result:
            print_programs(out, result["programs"])
