// SPDX-License-Identifier: MIT
// The pictures that the page opens with: the probes that matter first, and what all of them cost.

import { drawLines, drawOverhead, style, timeChart } from "./charts.js";
import { amount, number, small } from "./data.js";
import { byId, element, say } from "./elements.js";
import { called, shown, unitOf } from "./model.js";

const most = 5, keptFor = 8000, oddRatio = 2, oddPoints = 30, nowPoints = 5;
const looks = [["--c1", "solid"], ["--c2", "dashed"], ["--c3", "dotted"], ["--c4", "solid"], ["--c5", "dashed"]];
// The probes that are shown, by key, with the reason; and when they were chosen.
let picked = new Map(), pickedAt = 0, redraws = null;

const middle = list => list.toSorted((a, b) => a - b)[list.length >> 1];
const known = (probe, name, points) => points.map(point => point[name]).filter(value => value !== null && value !== undefined);

// By how much a figure of the last seconds differs from what was usual.
function change(probe, name) {
  const before = known(probe, name, probe.brief.slice(0, -nowPoints)), now = known(probe, name, probe.brief.slice(-nowPoints));
  if (before.length < oddPoints || now.length < nowPoints || !(middle(before) > 0)) return 1;
  return middle(now) / middle(before);
}

function oddity(probe) {
  const time = unitOf(probe) === "s" ? change(probe, "p99") : 1, rate = change(probe, "rate");
  if (time >= oddRatio) return [time, `odd: 99 % takes ${number(time)} times as long`];
  if (rate >= oddRatio) return [rate, `odd: ${number(rate)} times as often`];
  return rate > 0 && rate <= 1 / oddRatio ? [1 / rate, `odd: ${number(1 / rate)} times as seldom`] : [0, ""];
}

const last = (probe, name) => known(probe, name, probe.brief.slice(-nowPoints)).at(-1) ?? 0;
const slowness = probe => [unitOf(probe) === "s" ? last(probe, "p99") : 0, `slowest: 99 % within ${amount(last(probe, "p99"), "s")}`];
const dearness = probe => [last(probe, "overhead"), `dearest: ${small(last(probe, "overhead"))} of the CPU time`];
const busyness = probe => [last(probe, "rate"), `busiest: ${number(last(probe, "rate"))}/s`];

// In turn the oddest, the slowest, the dearest, the busiest that is not among them yet.
function pick(probes) {
  const found = new Map(), orders = [oddity, slowness, dearness, busyness].map(reason =>
    probes.map(probe => [probe.key, ...reason(probe)]).filter(([, weight]) => weight > 0).sort((a, b) => b[1] - a[1]));
  while (found.size < most && orders.some(order => order.length))
    for (const order of orders) {
      const next = order.findIndex(([key]) => !found.has(key));
      const [taken] = next < 0 ? [] : order.splice(0, next + 1).slice(-1);
      if (taken && found.size < most) found.set(taken[0], taken[2]);
      if (next < 0) order.length = 0;
    }
  return found;
}

// Those that are shown stay for a while, so that lines can be followed.
function choose() {
  const probes = [...shown.probes.values()].filter(probe => probe.brief.length);
  if (Date.now() - pickedAt < keptFor && picked.size >= Math.min(most, probes.length) && [...picked.keys()].every(key => shown.probes.has(key))) return;
  const next = pick(probes), stay = [...picked.keys()].filter(key => next.has(key));
  picked = new Map([...stay, ...[...next.keys()].filter(key => !stay.includes(key))].map(key => [key, next.get(key)]));
  pickedAt = Date.now();
}

const labelOf = ({ about }) => `${called(about)}, ${about.type}`;

function lines(wanted) {
  return [...picked.keys()].map((key, n) => ({ probe: shown.probes.get(key), color: style(looks[n][0]), dash: looks[n][1] }))
    .filter(({ probe }) => probe && wanted(probe)).map(({ probe, color, dash }) => ({ name: labelOf(probe), color, dash, points: probe.brief }));
}

function makeCharts() {
  return [timeChart("rates", made => drawLines(made, lines(() => true), "rate", number)),
    timeChart("times", made => drawLines(made, lines(probe => unitOf(probe) === "s"), "p99", value => amount(value, "s"))),
    timeChart("costs", made => drawOverhead(made, shown.totals, shown.interval?.budget ?? 0))];
}

let onChosen = () => {};
export const whenChosen = call => { onChosen = call; };

function renderLegend() {
  const list = byId("legend"), keys = [...picked.keys()].join("\n");
  if (list.dataset.keys !== keys) {
    list.dataset.keys = keys;
    list.replaceChildren(...[...picked.keys()].map((key, n) => {
      const item = element("li", ""), button = element("button", "", { type: "button", class: "plain" });
      const swatch = element("span", "", { class: `swatch ${looks[n][1]}`, "aria-hidden": "true" });
      swatch.style.setProperty("--color", `var(${looks[n][0]})`);
      button.append(swatch, element("span", labelOf(shown.probes.get(key))));
      button.addEventListener("click", () => onChosen(key));
      item.append(button, element("span", "", { class: "note" }));
      return item;
    }));
  }
  for (const [n, reason] of [...picked.values()].entries()) say(list.children[n].lastChild, reason);
}

export function forget() {
  picked = new Map();
  pickedAt = 0;
}

export const isOdd = probe => (picked.get(probe.key) ?? "").startsWith("odd");

export function render() {
  choose();
  renderLegend();
  byId("times").parentElement.hidden = ![...picked.keys()].some(key => unitOf(shown.probes.get(key)) === "s");
  redraws ??= makeCharts();
  for (const redraw of redraws) redraw();
}
