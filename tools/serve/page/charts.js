// SPDX-License-Identifier: MIT
// What charts have in common, and those over time. What a program has named is drawn, and never HTML.

import { amount, bound, number, percent } from "./data.js";
import { withGaps } from "./model.js";
import { inSpan, span, zoomTo } from "./view.js";

const { echarts } = window;

export const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Times of this machine, in the same form whatever the browser's language is: "2026-11-30 21:07:09", and its last part.
const digits = (number, count = 2) => String(number).padStart(count, "0");
const partsOf = at => [[digits(at.getFullYear(), 4), digits(at.getMonth() + 1), digits(at.getDate())].join("-"),
  [at.getHours(), at.getMinutes(), at.getSeconds()].map(part => digits(part)).join(":")];
export const moment = time => partsOf(new Date(time)).join(" ");
export const clock = time => partsOf(new Date(time))[1];

// Calls draw(chart) whenever the result is called and the chart is in sight, and when it comes into sight. Of several crossings
// that are told at once the last one counts.
export function chart(id, draw) {
  const element = document.getElementById(id), made = echarts.init(element);
  let seen = true;
  const redraw = () => { if (seen) draw(made); };
  new ResizeObserver(() => made.resize()).observe(element);
  new IntersectionObserver(entries => { seen = entries.at(-1).isIntersecting; redraw(); }).observe(element);
  return redraw;
}

// What all charts have in common. Tooltips are drawn: they are no HTML.
export function common() {
  const text = { color: style("--quiet"), fontSize: 12 };
  const axis = { axisLabel: text, axisLine: { lineStyle: { color: style("--line") } }, nameTextStyle: text,
    nameGap: 30, splitLine: { lineStyle: { color: style("--line"), opacity: 0.5 } } };
  const tooltip = { renderMode: "richText", confine: true, backgroundColor: style("--part"),
    borderColor: style("--line"), textStyle: { color: style("--text"), fontSize: 13 } };
  return { text, axis, base: { animation: false, tooltip, grid: { left: 64, right: 16, top: 12, bottom: 28 } } };
}

// A time axis is dragged over to look closer. All of these charts have one cross-hair.
export function timeChart(id, draw) {
  const redraw = chart(id, draw), made = echarts.getInstanceByDom(document.getElementById(id)), events = made.getZr();
  let from = null;
  made.group = "time";
  echarts.connect("time");
  const timeAt = x => made.convertFromPixel({ xAxisIndex: 0 }, x);
  const mark = to => made.setOption({ graphic: [{ id: "drag", type: "rect", silent: true, invisible: to === null, z: 100,
    style: { fill: style("--strong"), opacity: 0.2 },
    shape: { x: Math.min(from, to ?? from), y: 8, width: Math.abs((to ?? from) - from), height: made.getHeight() - 36 } }] });
  events.on("mousedown", ({ offsetX, offsetY }) => { if (made.containPixel("grid", [offsetX, offsetY])) from = offsetX; });
  events.on("mousemove", ({ offsetX }) => { if (from !== null) mark(offsetX); });
  events.on("mouseup", ({ offsetX: to }) => {
    if (from !== null && Math.abs(to - from) > 8) {
      mark(null);
      zoomTo(...[timeAt(from), timeAt(to)].sort((a, b) => a - b));
    }
    from = null;
  });
  return redraw;
}

export const visible = points => points.filter(({ time }) => inSpan(time));

// The interval around each point, as wide as the time that it is of.
function interval(points, low, high, color) {
  return { type: "custom", silent: true, encode: { x: 0, y: [1, 2] }, tooltip: { show: false }, clip: true,
    data: points.filter(point => point[low] !== null && point[high] !== null && !point.gap)
      .map(point => [point.time, point[low], point[high], 1000 * point.seconds]),
    renderItem(_, api) {
      const [x, bottom] = api.coord([api.value(0), api.value(1)]);
      const top = api.coord([api.value(0), api.value(2)])[1];
      const width = api.size([api.value(3), 0])[0];
      return { type: "rect", style: { fill: color, opacity: 0.25 },
        shape: { x: x - width, y: top, width, height: Math.max(bottom - top, 1) } };
    } };
}

// Points without neighbours are drawn as such: no line goes through them.
function line(name, points, key, color, type) {
  return { name, type: "line", showSymbol: points.length < 3, data: points.map(point => [point.time, point.gap ? null : point[key]]),
    lineStyle: { color, type, width: 2 }, itemStyle: { color }, symbolSize: 5 };
}

export function timeAxis(axis, text, [min, max] = span()) {
  return { ...axis, type: "time", min, max, splitLine: { show: false },
    axisLabel: { ...text, formatter: clock, hideOverlap: true, alignMinLabel: "left", alignMaxLabel: "right" } };
}

function draw(made, write, scale, series, legend = false) {
  const { text, axis, base } = common();
  made.setOption({ ...base, grid: { ...base.grid, top: legend ? 32 : 12 },
    tooltip: { ...base.tooltip, trigger: "axis", valueFormatter: write,
      axisPointer: { label: { formatter: ({ value }) => clock(value) } } },
    legend: { show: legend, data: series.filter(one => one.type === "line").map(one => one.name), textStyle: text, top: 0, itemWidth: 32 },
    xAxis: timeAxis(axis, text),
    yAxis: { ...axis, ...scale, axisLabel: { ...text, formatter: write } },
    series }, { replaceMerge: ["series"] });
}

// A logarithmic axis where figures differ by more than a factor.
function scaleOf(values, factor) {
  const known = values.filter(value => value > 0);
  const wide = known.length && known.length === values.length && Math.max(...known) > factor * Math.min(...known);
  return wide ? { type: "log", min: 10 ** Math.floor(Math.log10(Math.min(...known))) } : { type: "value", min: 0, scale: false };
}

// One line for each of several probes: { name, color, dash, points }.
export function drawLines(made, lines, key, write) {
  const parts = lines.map(one => ({ ...one, points: visible(one.points).filter(point => point[key] !== null && point[key] !== undefined) }));
  const values = parts.flatMap(({ points }) => points.map(point => point[key]));
  draw(made, write, scaleOf(values, 50), parts.map(({ name, color, dash, points }) => line(name, withGaps(points), key, color, dash)));
}

// The next one that divides an axis into parts of few digits.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return Number((power * [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find(step => value <= step * power * 1.0001)).toPrecision(2));
}

// What probes and the threads of spex take, and the budget for both.
export function drawOverhead(made, totals, budget) {
  const points = withGaps(visible(totals).map(point => ({ ...point, all: (point.probes ?? 0) + (point.threads ?? 0) })));
  const limit = budget > 0 ? [{ name: "budget", type: "line", showSymbol: false, data: span().map(time => [time, budget]),
    lineStyle: { color: style("--bad"), type: "dashed", width: 2 }, itemStyle: { color: style("--bad") } }] : [];
  draw(made, percent, { type: "value", min: 0, max: ({ max }) => roundUp(Math.max((Number.isFinite(max) ? max : 0) * 1.05, budget * 1.2, 1e-4)) },
    [{ ...line("probes and spex's threads", points, "all", style("--first"), "solid"), areaStyle: { color: style("--first"), opacity: 0.2 } },
      line("probes alone", points, "probes", style("--third"), "dashed"), ...limit]);
}

export function drawRate(made, all) {
  const points = withGaps(visible(all)), color = style("--first");
  draw(made, number, { type: "value", min: 0 },
    [interval(points, "rateLow", "rateHigh", color), line("per second", points, "rate", color, "solid")]);
}

const quantiles = [["median", "p50", "--first", "solid"], ["90 %", "p90", "--third", "dashed"], ["99 %", "p99", "--second", "dotted"]];

export function drawValues(made, all, unit, value) {
  const points = visible(all).flatMap(point => (point.values[value]?.p50 ?? null) === null ? [] : [{ time: point.time, seconds: point.seconds, ...point.values[value] }]);
  const positive = points.length > 0 && points.every(point => point.p50 > 0 && !(point.p50Low <= 0));
  const known = withGaps(points);
  draw(made, written => amount(written, unit), { type: positive ? "log" : "value", scale: true },
    quantiles.flatMap(([name, key, color, type]) =>
      [interval(known, `${key}Low`, `${key}High`, style(color)), line(name, known, key, style(color), type)]), true);
}

// A cell is drawn for each bucket of each interval that has executions, as wide as the interval; the scale is logarithmic.
export function drawHeat(made, all) {
  const { text, axis, base } = common(), points = visible(all);
  const cells = points.flatMap(({ time, seconds, buckets }) => buckets.map(([bucket, rate]) => [time, bucket, Math.log10(rate), 1000 * seconds]));
  const rates = cells.map(cell => cell[2]), buckets = cells.map(cell => cell[1]);
  const low = rates.reduce((a, b) => Math.min(a, b), 99), high = rates.reduce((a, b) => Math.max(a, b), -99);
  const first = buckets.reduce((a, b) => Math.min(a, b), 999), last = buckets.reduce((a, b) => Math.max(a, b), 0);
  made.setOption({ ...base, grid: { ...base.grid, top: 32 },
    tooltip: { ...base.tooltip, formatter: ({ data }) => (data ? `${clock(data[0])}\n${bound(data[1] - 1)} to ${bound(data[1])}: ${number(10 ** data[2])} per second` : "") },
    visualMap: { min: cells.length ? low : 0, max: cells.length ? Math.max(high, low + 0.01) : 1, dimension: 2, right: 12, top: 0,
      orient: "horizontal", itemHeight: 120, itemWidth: 12, precision: 2, textStyle: text, calculable: false, show: cells.length > 0,
      text: [`${number(10 ** high)}/s`, `${number(10 ** low)}/s`], inRange: { color: style("--heat").split(",").map(color => color.trim()) } },
    xAxis: timeAxis(axis, text),
    yAxis: { ...axis, type: "value", min: cells.length ? first - 1 : 0, max: cells.length ? last + 1 : 10, minInterval: 1, axisTick: { show: false },
      axisLabel: { ...text, formatter: value => (Number.isInteger(value) ? bound(value) : "") } },
    series: [{ type: "custom", data: cells, encode: { x: 0, y: 1 }, clip: true, renderItem(_, api) {
      const [right, top] = api.coord([api.value(0), api.value(1)]), [width, height] = api.size([api.value(3), 1]);
      return { type: "rect", shape: { x: right - width, y: top, width: Math.max(width, 1), height }, style: { fill: api.visual("color") } };
    } }] }, { replaceMerge: ["series"] });
}
