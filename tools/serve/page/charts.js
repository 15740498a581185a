// SPDX-License-Identifier: MIT
// What charts have in common, and those of one probe. What a program has named is drawn, and never HTML.

import { amount, bound, number } from "./data.js";

const { echarts } = window;
const second = 1000;

export const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const timeOfDay = new Intl.DateTimeFormat([], { timeStyle: "medium", hourCycle: "h23" });
export const clock = time => timeOfDay.format(time);

// Calls draw(chart) whenever the result is called and the chart is in sight, and when it comes into sight.
export function chart(id, draw) {
  const element = document.getElementById(id), made = echarts.init(element);
  let seen = true;
  const redraw = () => { if (seen) draw(made); };
  new ResizeObserver(() => made.resize()).observe(element);
  new IntersectionObserver(([entry]) => { seen = entry.isIntersecting; redraw(); }).observe(element);
  return redraw;
}

// What all charts have in common. Tooltips are drawn: they are no HTML.
export function common() {
  const text = { color: style("--quiet"), fontSize: 12 };
  const axis = { axisLabel: text, axisLine: { lineStyle: { color: style("--line") } }, nameTextStyle: text,
    nameGap: 30, splitLine: { lineStyle: { color: style("--line"), opacity: 0.5 } } };
  const tooltip = { renderMode: "richText", confine: true, backgroundColor: style("--part"),
    borderColor: style("--line"), textStyle: { color: style("--text"), fontSize: 13 } };
  return { text, axis, base: { animation: false, tooltip, grid: { left: 64, right: 16, top: 32, bottom: 28 } } };
}

// The interval around each point, as wide as the second that it is of.
function interval(points, low, high, color) {
  return { type: "custom", silent: true, encode: { x: 0, y: [1, 2] }, tooltip: { show: false }, clip: true,
    data: points.filter(point => point[low] !== null && point[high] !== null)
      .map(point => [point.time, point[low], point[high]]),
    renderItem(_, api) {
      const [x, bottom] = api.coord([api.value(0), api.value(1)]);
      const top = api.coord([api.value(0), api.value(2)])[1];
      const width = api.size([second, 0])[0];
      return { type: "rect", style: { fill: color, opacity: 0.25 },
        shape: { x: x - width / 2, y: top, width, height: Math.max(bottom - top, 1) } };
    } };
}

function line(name, points, key, color, type) {
  return { name, type: "line", showSymbol: points.length < 3, data: points.map(point => [point.time, point[key]]),
    lineStyle: { color, type, width: 2 }, itemStyle: { color } };
}

function draw(made, write, scale, series) {
  const { text, axis, base } = common();
  const newest = series.flatMap(one => one.data.map(([time]) => time)).reduce((a, b) => Math.max(a, b), 0);
  made.setOption({ ...base,
    tooltip: { ...base.tooltip, trigger: "axis", valueFormatter: write,
      axisPointer: { label: { formatter: ({ value }) => clock(value) } } },
    legend: { show: series.length > 2, data: series.filter(one => one.type === "line").map(one => one.name),
      textStyle: text, top: 0, itemWidth: 32 },
    xAxis: { ...axis, type: "time", min: newest - 120 * second, max: newest, splitLine: { show: false },
      axisLabel: { ...text, formatter: clock, hideOverlap: true, alignMinLabel: "left", alignMaxLabel: "right" } },
    yAxis: { ...axis, ...scale, axisLabel: { ...text, formatter: write } },
    series });
}

export function drawRate(made, points) {
  const color = style("--first");
  draw(made, number, { type: "value", min: 0 },
    [interval(points, "rateLow", "rateHigh", color), line("per second", points, "rate", color, "solid")]);
}

const quantiles = [["median", "p50", "--first", "solid"], ["90 %", "p90", "--third", "dashed"], ["99 %", "p99", "--second", "dotted"]];

export function drawValues(made, points, unit) {
  const known = points.filter(point => point.p50 !== null);
  const positive = known.every(point => point.p50 > 0 && !(point.p50Low <= 0));
  draw(made, value => amount(value, unit), { type: positive && known.length ? "log" : "value", scale: true },
    quantiles.flatMap(([name, key, color, type]) =>
      [interval(known, `${key}Low`, `${key}High`, style(color)), line(name, points, key, style(color), type)]));
}

// Bounds of 1, 2 and 5 of a power of ten; of many, 1 alone.
const isLabelled = (bucket, count) => (count > 30 ? [0] : [0, 3, 7]).includes(bucket % 10);

// A cell is drawn for each bucket of each second that has executions; the scale is logarithmic.
export function drawHeat(made, points) {
  const { text, axis, base } = common();
  const cells = points.flatMap((point, x) => point.buckets.map(([bucket, rate]) => [x, bucket, rate]));
  const rates = cells.map(cell => cell[2]), buckets = cells.map(cell => cell[1]);
  const first = Math.min(...buckets), last = Math.max(...buckets);
  const bounds = cells.length ? Array.from({ length: last - first + 1 }, (_, n) => first + n) : [];
  const [low, high] = cells.length ? [Math.log10(Math.min(...rates)), Math.log10(Math.max(...rates))] : [0, 1];
  made.setOption({ ...base, grid: { ...base.grid, right: 72 },
    tooltip: { ...base.tooltip, formatter: ({ data }) =>
      `${clock(points[data[0]].time)}\n${bound(bounds[data[1]] - 1)} to ${bound(bounds[data[1]])}: ${number(10 ** data[2])} per second` },
    visualMap: { min: low, max: Math.max(high, low + 0.01), dimension: 2, right: 0, top: "middle", itemHeight: 140, itemWidth: 14,
      precision: 2, textStyle: text, text: [number(10 ** high), number(10 ** low)],
      inRange: { color: style("--heat").split(",").map(color => color.trim()) } },
    xAxis: { ...axis, type: "category", data: points.map(point => clock(point.time)), splitLine: { show: false } },
    yAxis: { ...axis, type: "category", data: bounds.map(bound),
      axisTick: { show: false }, axisLabel: { ...text, interval: n => isLabelled(bounds[n], bounds.length) } },
    series: [{ type: "heatmap", data: cells.map(([x, bucket, rate]) => [x, bucket - first, Math.log10(rate)]) }] });
}
