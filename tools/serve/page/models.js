// SPDX-License-Identifier: MIT
// Models of kernels, as `spex models --json --curves` tells them.

import { chart, common, style } from "./charts.js";
import { number, range, seconds } from "./data.js";
import { byId, fillSelect, fillTable, row, say } from "./elements.js";

let models = [], redraws = null;

const model = () => models[Number(byId("kernel").value) || 0];
const parameter = () => Number(byId("parameter").value) || 0;

function order(one, other) {
  const p = one.values.findIndex((value, n) => value !== other.values[n]);
  return p < 0 ? 0 : one.values[p] - other.values[p];
}

// The area between the ends of the interval.
function band(places, color) {
  const known = places.filter(([, , low, high]) => low !== null && high !== null);
  return { type: "custom", silent: true, tooltip: { show: false }, clip: true, data: known.length ? [[known[0][0], known[0][1]]] : [],
    renderItem: (_, api) => ({ type: "polygon", style: { fill: color, opacity: 0.2 }, shape: { points: [
      ...known.map(([x, , low]) => api.coord([x, low])), ...known.toReversed().map(([x, , , high]) => api.coord([x, high]))] } }) };
}

function drawCurve(made) {
  const { text, axis, base } = common(), { parameters, curves, points } = model(), p = parameter(), curve = curves[p];
  const name = parameters[p]?.name ?? "";
  const places = curve ? curve.places : [];
  const write = value => seconds(value);
  made.setOption({ ...base, grid: { left: 12, right: 24, top: 32, bottom: 36, containLabel: true },
    tooltip: { ...base.tooltip, formatter: ({ value, seriesName }) => `${seriesName}, ${name} ${number(value[0])}: ${seconds(value[1])}` },
    legend: { data: ["model", "measured"], textStyle: text, top: 0 },
    xAxis: { ...axis, type: curve?.logarithmic ? "log" : "value", scale: true, name, nameLocation: "middle", nameGap: 24,
      axisLabel: { ...text, formatter: number, hideOverlap: true },
      ...(places.length ? { min: places[0][0], max: places.at(-1)[0] } : {}) },
    yAxis: { ...axis, type: "value", min: 0, axisLabel: { ...text, formatter: write } },
    series: [band(places, style("--first")),
      { name: "model", type: "line", showSymbol: false, data: places.map(([x, value]) => [x, value]),
        lineStyle: { color: style("--first"), width: 2 }, itemStyle: { color: style("--first") } },
      { name: "measured", type: "scatter", symbol: "diamond", symbolSize: 9, itemStyle: { color: style("--second") },
        data: points.map(point => [point.values[p], point.seconds]) }] }, true);
}

function render() {
  const { path, class: kind, adjusted_r2: r2, model: text, parameters, executions, curves, points } = model();
  fillSelect("parameter", parameters.map(({ name }) => name));
  byId("parameter-label").hidden = parameters.length < 2;
  const others = parameters.length > 1 ? " The curve is of the others in the middle of their ranges; points are at all of their values." : "";
  say(byId("model"), `${path}: ${text} seconds; ${kind}, adjusted R² ${Number(r2.toPrecision(3))}, ${number(executions)} executions.${others}`);
  byId("curve").parentElement.hidden = !curves.length;
  fillTable("points-table", [...parameters.map(({ name }) => name), "Median time", "Executions"], points.toSorted(order).map(({ values, seconds: time, executions: count }) =>
    row(values.length ? number(values[0]) : seconds(time), [...values.slice(1).map(number), ...(values.length ? [seconds(time)] : []), number(count)], "number")));
  byId("points-table").closest("details").hidden = !points.length;
  redraws ??= [chart("curve", made => model()?.curves.length && drawCurve(made))];
  redraw();
}

export function redraw() {
  for (const one of models.length && redraws ? redraws : []) one();
}

export function show(told) {
  ({ models } = told);
  say(byId("models-state"), `${told.kernels} ${told.kernels === 1 ? "kernel" : "kernels"}: ` +
    Object.entries(told.classes).filter(([, count]) => count).map(([name, count]) => `${count} ${name}`).join(", "));
  byId("modelled").hidden = !models.length;
  fillSelect("kernel", models.map(({ path }) => path));
  if (models.length) render();
}

byId("kernel").addEventListener("change", render);
byId("parameter").addEventListener("change", redraw);
