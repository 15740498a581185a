// SPDX-License-Identifier: MIT
// An exploration, finished or in progress, as `spex report --json` tells it.

import { chart, common, style } from "./charts.js";
import { number, percent, range, seconds } from "./data.js";
import { byId, fillSelect, fillTable, listTile, row, say, tile } from "./elements.js";

const axesMost = 10, ticksMost = 12, rowsMost = 200;
let report = null, redraws = null, panelChosen = false;

const colors = () => style("--heat").split(",").map(color => color.trim());
const unitOf = name => report.effects.main.find(({ parameter }) => parameter === name)?.unit;
const settings = config => Object.entries(config).filter(([, value]) => value !== null)
  .map(([name, value]) => [`${name}=${value}`, unitOf(name)].filter(Boolean).join(" "));
const configured = config => settings(config).join(" ");

// A value of the first objective.
function objective(value) {
  const { unit } = report.objective;
  return unit === "s" ? seconds(value) : `${number(value)}${unit}`;
}

function drawConvergence(made) {
  const { text, axis, base } = common();
  made.setOption({ ...base,
    tooltip: { ...base.tooltip, trigger: "axis", valueFormatter: objective,
      axisPointer: { label: { formatter: ({ value }) => `trial ${value}` } } },
    xAxis: { ...axis, type: "value", min: 1, max: Math.max(report.trials_finished, 2), minInterval: 1, splitLine: { show: false } },
    yAxis: { ...axis, type: "value", scale: true, axisLabel: { ...text, formatter: objective } },
    series: [{ name: "trial", type: "custom", data: report.points.filter(([, value]) => value !== null), encode: { x: 0, y: 1 }, clip: true,
      itemStyle: { color: style("--second") },
      renderItem: (_, api) => { const [cx, cy] = api.coord([api.value(0), api.value(1)]);
        return { type: "circle", shape: { cx, cy, r: 2.5 }, style: { fill: style("--second"), opacity: 0.45 } }; } },
    { name: "best so far", type: "line", step: "end", showSymbol: report.convergence.length < 3,
      data: report.convergence.map(point => [point.trials, point.best]),
      lineStyle: { color: style("--first"), width: 2 }, itemStyle: { color: style("--first") } }] }, true);
}

// Places of values on an axis from 0 to 1, and what stands beside it.
function axisOf(values, write) {
  const known = values.filter(value => value !== null), low = Math.min(...known), high = Math.max(...known);
  if (known.length && known.every(Number.isFinite)) {
    const [at, from, to] = low > 0 && high > 50 * low ? [Math.log, Math.log(low), Math.log(high)] : [Number, low, high];
    const place = value => (value === null ? null : to > from ? (at(value) - from) / (to - from) : 0.5);
    return { place, ticks: low === high ? [[0.5, write(low)]] : [[0, write(low)], [1, write(high)]] };
  }
  const kinds = [...new Set(known)].sort(), place = value => (value === null ? null : kinds.length > 1 ? kinds.indexOf(value) / (kinds.length - 1) : 0.5);
  return { place, ticks: kinds.filter((_, n) => kinds.length <= ticksMost || n === 0 || n === kinds.length - 1).map(kind => [place(kind), String(kind)]) };
}

// The parameters that explain most, in the order of the space.
function shownParameters() {
  const share = new Map(report.effects.main.map(effect => [effect.parameter, effect.share.value ?? 0])), names = Object.keys(report.best.config);
  const first = new Set(names.toSorted((one, other) => (share.get(other) ?? 0) - (share.get(one) ?? 0)).slice(0, axesMost));
  return names.filter(name => first.has(name));
}

// A line for each configuration, the best one thick. A parameter that does not apply breaks the line.
function drawParallel(made) {
  const { text, axis, base } = common(), names = shownParameters(), { ranked } = report, scale = colors();
  const axes = [...names.map(name => axisOf(ranked.map(({ config }) => config[name] ?? null), String)), axisOf(ranked.map(one => one.objective), objective)];
  const places = ranked.map(({ config, objective: value }) => [...names.map(name => config[name] ?? null), value].map((one, n) => axes[n].place(one)));
  const labels = axes.flatMap(({ ticks }, x) => ticks.map(([y, label]) => [x, y, label]));
  const color = n => scale[Math.round((1 - n / Math.max(ranked.length - 1, 1)) * (scale.length - 1))];
  const lines = (n, api) => {
    const parts = [[]];
    for (const [x, y] of places[n].entries()) y === null ? parts.push([]) : parts.at(-1).push(api.coord([x, y]));
    return { type: "group", children: parts.filter(part => part.length > 1).map(points => ({ type: "polyline", shape: { points },
      style: { fill: "none", stroke: n ? color(n) : style("--second"), lineWidth: n ? 1 : 4, opacity: n ? 0.6 : 1 } })) };
  };
  made.setOption({ ...base, grid: { left: 70, right: 70, top: 24, bottom: 34 },
    tooltip: { ...base.tooltip, trigger: "item", formatter: ({ value: [n] }) =>
      `${settings(ranked[n].config).join("\n")}\n${objective(ranked[n].objective)}, ${ranked[n].trials} ${ranked[n].trials === 1 ? "trial" : "trials"}` },
    xAxis: { ...axis, type: "category", boundaryGap: false, data: [...names.map(name => axisName({ parameter: name, unit: unitOf(name) })), report.objective.metric], splitLine: { show: true, lineStyle: { color: style("--line") } },
      axisTick: { show: false }, axisLabel: { ...text, interval: 0, width: 90, overflow: "truncate" } },
    yAxis: { ...axis, type: "value", min: 0, max: 1, show: false },
    series: [{ name: "configuration", type: "custom", encode: { x: 1, y: 2 }, data: ranked.map((_, n) => [n, 0, 0]).reverse(),
      renderItem: (_, api) => lines(api.value(0), api) },
    { name: "values", type: "custom", silent: true, tooltip: { show: false }, encode: { x: 0, y: 1 }, data: labels.map(([x, y]) => [x, y]),
      renderItem({ dataIndex }, api) {
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        return { type: "text", style: { text: labels[dataIndex][2], x: x + 4, y, verticalAlign: "middle", fill: style("--text"), fontSize: 12,
          stroke: style("--ground"), lineWidth: 3 } };
      } }] }, true);
}

const shares = () => report.effects.main.filter(effect => effect.share.value !== null)
  .sort((one, other) => one.share.value - other.share.value);

// A line from the low to the high end of each share.
function intervals(effects, color) {
  return { type: "custom", z: 3, silent: true, tooltip: { show: false }, encode: { x: [0, 1], y: 2 },
    data: effects.flatMap(({ share }, y) => (share.low === null || share.high === null ? [] : [[share.low, share.high, y]])),
    renderItem(_, api) {
      const [x1, y] = api.coord([api.value(0), api.value(2)]), [x2] = api.coord([api.value(1), api.value(2)]);
      return { type: "line", shape: { x1, y1: y, x2, y2: y }, style: { stroke: color, lineWidth: 3 } };
    } };
}

function drawEffects(made) {
  const { text, axis, base } = common();
  const effects = shares();
  made.setOption({ ...base, grid: { ...base.grid, left: 12, right: 24, containLabel: true },
    tooltip: { ...base.tooltip, trigger: "item", valueFormatter: percent },
    xAxis: { ...axis, type: "value", min: 0, max: 1, axisLabel: { ...text, formatter: value => percent(value) } },
    yAxis: { ...axis, type: "category", data: effects.map(effect => effect.parameter),
      axisLabel: { ...text, width: 110, overflow: "truncate" } },
    series: [{ name: "share", type: "bar", barMaxWidth: 22, data: effects.map(effect => effect.share.value),
      itemStyle: { color: style("--first") } }, intervals(effects, style("--text"))] }, true);
}

const panel = () => report.heat_map.panels[Number(byId("panel").value) || 0];
const axisName = ({ parameter, unit }) => (unit ? `${parameter} [${unit}]` : parameter);

function drawMap(made) {
  const { text, axis, base } = common();
  const { x, y, panels } = report.heat_map, { cells, best } = panel();
  const means = panels.flatMap(one => one.cells.map(cell => cell[2]));
  const [low, high] = [Math.min(...means), Math.max(...means)];
  const label = { ...text, width: 90, overflow: "truncate" };
  // The last one is drawn above its neighbours.
  const isBest = cell => best !== null && best[0] === cell[0] && best[1] === cell[1];
  const framed = cells.filter(isBest).map(value => ({ value, itemStyle: { borderColor: style("--second"), borderWidth: 4 } }));
  made.setOption({ ...base, grid: { left: 12, right: 84, top: 34, bottom: 34, containLabel: true },
    tooltip: { ...base.tooltip, formatter: ({ value }) =>
      `${x.parameter} ${x.values[value[0]]}, ${y.parameter} ${y.values[value[1]]}: ${objective(value[2])}` },
    visualMap: { min: low, max: high > low ? high : low + 1e-9, dimension: 2, right: 0, top: "middle", itemHeight: 140, itemWidth: 14,
      textStyle: text, text: [objective(high), objective(low)], inRange: { color: colors() } },
    xAxis: { ...axis, type: "category", data: x.values, name: axisName(x), nameLocation: "middle", nameGap: 22,
      axisLabel: label, splitLine: { show: false } },
    yAxis: { ...axis, type: "category", data: y.values, name: axisName(y), nameGap: 12,
      nameTextStyle: { ...text, align: "left" }, axisLabel: label },
    series: [{ type: "heatmap", data: [...cells.filter(cell => !isBest(cell)), ...framed] }] }, true);
}

function fillTables() {
  const { effects: { main }, ties, best } = report, all = [best, ...ties.filter(one => configured(one.config) !== configured(best.config))];
  fillTable("ties-table", ["Configuration", "Estimate", "Mean", "Trials", "Chance to be the best"], all.slice(0, 50).map(one =>
    row(configured(one.config), [[objective(one.estimate), range(...one.interval, objective)], objective(one.objective), String(one.trials),
      percent(one.chance)], "number")));
  fillTable("ranked-table", ["Configuration", "Estimate", "Mean", "Trials"], report.ranked.slice(0, rowsMost).map(one =>
    row(configured(one.config), [one.estimate === null ? "–" : objective(one.estimate), objective(one.objective), String(one.trials)], "number")));
  fillTable("effects-table", ["Parameter", "Share of the variance", "The best value tried"], main.map(effect => {
    const sign = report.objective.goal === "minimise" ? -1 : 1;
    const top = effect.values.filter(one => one.best !== null).reduce((a, b) => (a && sign * a.best >= sign * b.best ? a : b), null);
    return row(effect.parameter, [[percent(effect.share.value), range(effect.share.low, effect.share.high, percent)],
      top ? `${top.value}: ${objective(top.best)}` : "–"], "number");
  }));
  if (!report.heat_map) return fillTable("map-table", [], []);
  const { x, y } = report.heat_map, at = new Map(panel().cells.map(([column, line, mean]) => [`${column} ${line}`, mean]));
  fillTable("map-table", [`${axisName(y)} by ${axisName(x)}`, ...x.values], y.values.map((value, line) =>
    row(value, x.values.map((_, column) => (at.has(`${column} ${line}`) ? objective(at.get(`${column} ${line}`)) : "–")), "number")));
}

function sayState() {
  const { trials_finished: finished, trials_failed: failed, running, policy, tried, configurations } = report;
  const failures = report.failures.slice(0, 3)
    .map(({ reason, trials }) => `${trials}: ${reason.length > 80 ? `${reason.slice(0, 80)}…` : reason}`).join("; ");
  const { passed, limit } = report.time, of = limit === null ? "" : `, ${seconds(passed)} of ${seconds(limit)}`;
  say(byId("exploration-state"), `${running ? "In progress" : "Not in progress"}: ${finished} ${finished === 1 ? "trial" : "trials"} by ${policy}${of}, ${number(tried)} of ${number(configurations)} configurations` +
    `${failed ? `, ${failed} failed (${failures})` : ""}${report.best ? "" : "; no result yet"}${report.drift?.text ? `; ${report.drift.text}` : ""}`);
}

function sayBest() {
  const { best, objective: { metric, probe, goal }, ties, limits_kept: kept } = report;
  const others = ties.length > 1 ? `${ties.length} are as good as far as the trials can tell` : "";
  byId("best").replaceChildren(
    tile(`Best ${metric} of ${probe === "command" ? "the command" : probe}`, objective(best.estimate), [range(...best.interval, objective), goal].filter(Boolean).join("; ")),
    listTile("Configuration", settings(best.config), [others, kept ? "" : "no configuration keeps all limits"].filter(Boolean).join("; ")),
    tile("Trials", number(report.trials_finished), `${seconds(report.seconds)} measured`),
    tile("Chance to be the best", percent(best.chance), `${best.trials} of its trials`));
}

function makeCharts() {
  return [chart("convergence", made => report?.best && drawConvergence(made)), chart("parallel", made => report?.best && drawParallel(made)),
    chart("effects", made => report?.best && drawEffects(made)),
    chart("map", made => report?.heat_map && drawMap(made))];
}

export function redraw() {
  for (const one of report?.best && redraws ? redraws : []) one();
}

// Until another one is chosen, the panel is that of the best.
function showBestPanel() {
  const at = report.heat_map?.panels.findIndex(({ best }) => best !== null) ?? -1;
  if (!panelChosen && at >= 0) byId("panel").value = String(at);
}

export function show(told) {
  report = told;
  say(byId("space"), report.space);
  sayState();
  byId("found").hidden = !report.best;
  if (!report.best) return;
  sayBest();
  byId("map-figure").hidden = !report.heat_map;
  byId("effects-figure").hidden = !shares().length;
  fillSelect("panel", (report.heat_map?.panels ?? []).map(({ title }) => title));
  showBestPanel();
  byId("panel-label").hidden = !(report.heat_map?.panels.length > 1);
  fillTables();
  redraws ??= makeCharts();
  redraw();
}

byId("panel").addEventListener("change", () => { panelChosen = true; fillTables(); redraw(); });
