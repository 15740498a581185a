// SPDX-License-Identifier: MIT
// How a fleet is, how it has been, and what it has measured, as `spex fleet history --json` tells it.

import { chart, clock, common, moment, style, timeAxis } from "./charts.js";
import { amount, number, percent, range, seconds } from "./data.js";
import { byId, fillTable, row, say, tile } from "./elements.js";

const decisionsMost = 50, instanceKinds = ["", "", "number", "number", "number", "number", "why"];
const probeKinds = ["", ...Array(5).fill("number"), "", ...Array(3).fill("number")];
let told = null, redraws = null;

const perSecond = value => `${number(value)}/s`;

function figure(values, name) {
  if (!values) return "–";
  const write = value => amount(value, values.unit);
  return [write(values[name]), range(values[`${name}_low`], values[`${name}_high`], write)];
}

// The points of a column. Where the master has written nothing for a while there is none between.
function points(name) {
  const { time } = told.course, values = told.course[name];
  const steps = time.slice(1).map((at, n) => at - time[n]).sort((a, b) => a - b), usual = steps[steps.length >> 1] ?? 0;
  return time.flatMap((at, n) => [...(n && at - time[n - 1] > 6 * usual ? [[500 * (at + time[n - 1]), null]] : []), [1000 * at, values[n]]]);
}

function line(name, column, color, type = "solid", more = {}) {
  const data = points(column);
  return { name, type: "line", data, showSymbol: data.length < 3, symbolSize: 5, itemStyle: { color: style(color) },
    lineStyle: { color: style(color), type, width: 2 }, ...more };
}

// A bound is drawn where the figures come near it: they would be a line at 0 below one that is far away.
const level = (name, value, column) => {
  const { time } = told.course, most = Math.max(...told.course[column].filter(Number.isFinite));
  return !(value <= 4 * most) ? [] : [{ name, type: "line", showSymbol: false, itemStyle: { color: style("--bad") },
    lineStyle: { color: style("--bad"), type: "dashed", width: 2 }, data: [[1000 * time[0], value], [1000 * time.at(-1), value]] }];
};

// A line across the chart for each decision.
function decisions() {
  return { name: "decision", type: "custom", data: told.decisions.map(({ time, action }) => [1000 * time, action]), encode: { x: 0 }, clip: true,
    itemStyle: { color: style("--quiet") }, tooltip: { show: false }, silent: true,
    renderItem({ coordSys }, api) {
      const [x] = api.coord([api.value(0), 0]);
      return { type: "line", shape: { x1: x, x2: x, y1: coordSys.y, y2: coordSys.y + coordSys.height },
        style: { stroke: style("--quiet"), lineDash: [2, 3] } };
    } };
}

function draw(made, write, series, most) {
  const { text, axis, base } = common(), { time } = told.course;
  made.setOption({ ...base, grid: { ...base.grid, top: 32 },
    tooltip: { ...base.tooltip, trigger: "axis", valueFormatter: write, axisPointer: { label: { formatter: ({ value }) => clock(value) } } },
    legend: { data: series.map(({ name }) => name), textStyle: text, top: 0, itemWidth: 32 },
    xAxis: timeAxis(axis, text, [1000 * time[0], Math.max(1000 * time.at(-1), 1000 * time[0] + 1000)]),
    yAxis: { ...axis, type: "value", min: 0, max: most, minInterval: write === String ? 1 : 0, axisLabel: { ...text, formatter: write } },
    series }, { replaceMerge: ["series"] });
}

function mode(name, color) {
  return line(name, name, color, "solid", { stack: "modes", step: "end", areaStyle: { color: style(color), opacity: 0.45 } });
}

function makeCharts() {
  const any = draw => made => told?.course.time.length && draw(made);
  return [
    chart("fleet-modes", any(made => draw(made, String, [mode("full", "--c1"), mode("partial", "--c3"), mode("none", "--c2"), decisions()]))),
    chart("fleet-load", any(made => draw(made, perSecond, [line("can serve", "capacity", "--c1"), line("asked for", "load", "--c2", "dashed")]))),
    chart("fleet-response", any(made => draw(made, seconds, [line("response time", "response", "--c1"), ...level("at most", told.status?.targets?.response, "response")]))),
    chart("fleet-coverage", any(made => draw(made, String, [line("recorded", "recorded", "--c1", "solid", { step: "end" }),
      line("decided", "covered", "--c3", "dashed", { step: "end" }), line("map", "map", "--c2", "dotted", { step: "end" })]))),
  ];
}

const marked = (made, bad) => {
  if (bad) made.querySelector("dd").classList.add("bad");
  return made;
};

function tiles({ modes, hosts, count, map, covered, recorded, overlap, now, targets }) {
  const { full, partial, none } = modes, { response, capacity, p_t: load, cost } = now;
  return [
    tile("Instances", number(count), `${full} full, ${partial} partial, ${none} without probes; on ${hosts} ${hosts === 1 ? "host" : "hosts"}`),
    marked(tile("Coverage", `${recorded} of ${map} probes`, covered === recorded ? "recorded at one instance at least" : `${covered} are to be recorded`),
      recorded < map),
    tile("Overlap", overlap ? percent(overlap.share) : "–", overlap ? ["of the profile of all instances", range(overlap.low, overlap.high, percent)].filter(Boolean).join("; ")
      : "two instances that record are needed"),
    marked(tile(`Response time, ${targets.metric} of ${targets.probe}`, seconds(response), `at most ${seconds(targets.response)}`), response > targets.response),
    marked(tile("Load", load === null ? "–" : perSecond(load), capacity === null ? "what can be served is not known" : `can serve ${perSecond(capacity)}`),
      capacity !== null && capacity < load),
    ...(targets.cost === null ? [] : [marked(tile("Cost an hour", number(cost), `below ${number(targets.cost)}`), cost >= targets.cost)]),
  ];
}

function instanceRow(one) {
  return row(one.instance, [one.program, one.leaving ? `${one.mode}, leaves` : one.mode, `${one.on} of ${one.map}`, seconds(one.response),
    one.throughput === null ? "–" : perSecond(one.throughput), percent(one.spent ?? NaN), one.why], instanceKinds);
}

function decisionRow({ time, text }) {
  return row(moment(1000 * time), [text.replace(/^\d+ s: /, "")], "why");
}

function showNow() {
  const { status, decisions: made, course } = told;
  byId("fleet-now").replaceChildren(...(status?.modes && status.now && status.targets ? tiles(status) : []));
  byId("fleet-course").hidden = !course.time.length;
  byId("fleet-decisions").hidden = !made.length;
  fillTable("fleet-decisions-table", ["When", "What was decided, and by which figures"], made.slice(-decisionsMost).reverse().map(decisionRow), "");
  const instances = status?.instances ?? [];
  byId("fleet-instances").hidden = !instances.length;
  fillTable("fleet-instances-table", ["Instance", "Program", "Mode", "Probes on", "Response time", "Executions", "Probes take", "Why"],
    instances.map(instanceRow), instanceKinds);
  if (status?.next) byId("fleet-instances-table").tBodies[0].append(row(`${number(status.count - instances.length)} more`, [], ""));
}

// A row for each value of a probe, or one where it has none.
function rows(probe, mixed, on) {
  const plain = probe.name ?? String(probe.id), full = probe.provider ? `${probe.provider}/${plain}` : plain;
  // The map names a probe by its number where it has one.
  const recorded = [plain, probe.id].map(name => on.get(`${probe.provider ? `${probe.provider}/` : ""}${name}:${probe.type}`)).find(found => found !== undefined);
  return (probe.values.length ? probe.values : [null]).map(values => row(mixed ? full : plain, [
    probe.type, recorded === undefined ? "–" : number(recorded), number(probe.instances), number(probe.count), number(probe.lost),
    [perSecond(probe.rate), range(probe.rate_low, probe.rate_high, perSecond)],
    values?.name ?? "–", ...["p50", "p90", "p99"].map(quantile => figure(values, quantile))], probeKinds));
}

function sayState() {
  const { probes, status } = told, parts = [];
  if (status?.policy) parts.push(`Policy ${status.policy}, as of ${moment(1000 * status.written)}`);
  parts.push(probes.length ? `${probes.length} ${probes.length === 1 ? "probe" : "probes"}` : "nothing was measured yet");
  say(byId("fleet-state"), parts.join("; "));
}

export function redraw() {
  for (const one of redraws ?? []) one();
}

export function show(fleet) {
  told = fleet;
  const { probes, status } = told, mixed = new Set(probes.map(({ provider }) => provider)).size > 1;
  const on = new Map((status?.probes ?? []).map(one => [one.probe, one.on]));
  sayState();
  showNow();
  fillTable("fleet-table", ["Probe", "Type", "On at", "Instances", "Executions", "Lost", "Each, a second", "Value", "Median", "90 %", "99 %"],
    probes.flatMap(probe => rows(probe, mixed, on)), probeKinds);
  redraws ??= makeCharts();
  redraw();
}
