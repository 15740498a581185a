// SPDX-License-Identifier: MIT
// The table of probes: sorted by any of its columns, grouped by what names begin with.

import { amount, number, percent, range, small } from "./data.js";
import { byId, element, say } from "./elements.js";
import { isOdd } from "./overview.js";
import { called, heldShare, isHeld, isSelected, rateText, shown, unitOf, valuesOf } from "./model.js";
import { span } from "./view.js";

const orderFor = 3000, groupedFrom = 12, sparkWidth = 110, sparkHeight = 22;
const SVG = "http://www.w3.org/2000/svg";
// Set by the page: what buttons do.
export const actions = { choose: () => {}, turn: () => {} };
let dearest = 1e-9;
let sort = { column: "cost", down: true }, orderedAt = 0, closed = new Set();
// What was to be put in order last, and the rows as they lie.
let asked = "", laidOut = "";

const lastPoint = probe => (isSelected(probe) ? probe.recent.at(-1) : null);
const value = (probe, name) => lastPoint(probe)?.values[0]?.[name] ?? -1;
const keys = {
  name: probe => called(probe.about), type: probe => probe.about.type, state: probe => stateOf(probe), rate: probe => lastPoint(probe)?.rate ?? lastPoint(probe)?.least ?? -1,
  p50: probe => value(probe, "p50"), p99: probe => value(probe, "p99"), cost: probe => lastPoint(probe)?.overhead ?? -1,
  lost: probe => lastPoint(probe)?.lost ?? -1, why: probe => whyOf(probe) };

export function stateOf(probe) {
  if (isHeld(probe)) return `held ${percent(heldShare(probe))}`;
  if (!probe.on) return "off";
  if (probe.sampling === "probing") return "polled";
  return probe.period === 1 ? "on" : `1 in ${number(probe.period)}`;
}

export function whyOf(probe) {
  const left = (probe.leaseEnd - Date.now()) / 1000;
  const how = { geometric: "at random", bursty: "in bursts" }[probe.on && probe.period > 1 ? probe.sampling : ""];
  const lease = left > 0 ? `leased for ${Math.ceil(left)} s` : "";
  return [probe.figures?.why, how, lease].filter(Boolean).join("; ") || (probe.on ? "as selected" : "");
}

// Half of the interval, as a part of the figure.
function margin(figure, low, high) {
  if (!(figure > 0) || low === null || high === null || low === undefined || high === undefined) return "";
  const part = (high - low) / 2 / figure;
  return part < 0.005 ? "" : ` ±${part < 9.995 ? percent(Number(part.toPrecision(2))) : "?"}`;
}

function fill(cell, text, beside, title) {
  if (cell.dataset.text === text + beside) return;
  cell.dataset.text = text + beside;
  const { firstChild: first, lastChild: last } = cell;
  if (first && (first === last) === !beside) {
    first.data = text;
    if (beside) say(last, beside);
  } else {
    cell.replaceChildren(text, ...(beside ? [element("span", beside, { class: "beside" })] : []));
  }
  cell.title = title ? `95 %: ${title}` : "";
}

// Long names are broken behind what parts them.
function sayName(button, text) {
  if (button.textContent === text) return;
  button.replaceChildren(...text.split(/(?<=[.:/_-])(?=.)/).flatMap((part, n) => (n ? [document.createElement("wbr"), part] : [part])));
}

// Rows that are scrolled out of sight are drawn when they come into it.
const sight = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) {
    const probe = shown.probes.get(target.dataset.key);
    if (!probe) continue;
    probe.row.seen = isIntersecting;
    if (isIntersecting) renderRow(probe);
  }
}, { rootMargin: "200px" });

function sparkline() {
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("viewBox", `0 0 ${sparkWidth} ${sparkHeight}`);
  drawn.setAttribute("class", "spark");
  drawn.setAttribute("aria-hidden", "true");
  drawn.append(...["rate", "p99"].map(name => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    return path;
  }));
  return drawn;
}

// A line from the least to the greatest of the time that is shown; new parts begin behind gaps.
function sparkPath(points, name) {
  const [from, to] = span(), seen = points.filter(point => point.time >= from && point.time <= to && (point[name] ?? null) !== null);
  const values = seen.map(point => point[name]), low = Math.min(...values, name === "rate" ? 0 : Infinity), high = Math.max(...values);
  if (seen.length < 2) return "";
  const y = figure => (high > low ? sparkHeight - 2 - ((figure - low) / (high - low)) * (sparkHeight - 4) : sparkHeight / 2);
  let before = null, apart = 1500;
  return seen.map(point => {
    const move = before === null || point.time - before > 2.5 * apart ? "M" : "L";
    if (before !== null) apart = Math.max(1500, Math.min(point.time - before, 120000));
    before = point.time;
    return `${move}${(((point.time - from) / (to - from)) * sparkWidth).toFixed(1)},${y(point[name]).toFixed(1)}`;
  }).join("");
}

function makeRow(probe) {
  const row = element("tr", "", { "data-key": probe.key }), head = element("th", "", { scope: "row" });
  const name = element("button", "", { type: "button", class: "plain", "aria-pressed": "false" }), spark = sparkline();
  name.addEventListener("click", () => actions.choose(probe.key));
  head.append(name);
  const cell = kind => element("td", "", { class: kind });
  const [type, state, drawn, rate, p50, p99, cost, lost, why, last] = ["type", "state", "drawn", "number", "number", "number", "number cost",
    "number lost", "why", "switch"].map(cell);
  const button = element("button", "", { type: "button" });
  button.addEventListener("click", () => actions.turn(shown.probes.get(probe.key)));
  drawn.append(spark);
  last.append(button);
  row.append(head, type, state, drawn, rate, p50, p99, cost, lost, why, last);
  sight.observe(row);
  return { seen: true, row, name, type, state, spark, rate, p50, p99, cost, lost, why, button };
}

function renderFigures(probe, { rate, p50, p99, cost, lost, spark }) {
  const point = lastPoint(probe), first = point?.values[0], unit = unitOf(probe), write = figure => amount(figure, unit);
  fill(rate, rateText(point), margin(point?.rate, point?.rateLow, point?.rateHigh), range(point?.rateLow, point?.rateHigh, number));
  for (const [cell, name] of [[p50, "p50"], [p99, "p99"]])
    fill(cell, write(first?.[name]), margin(first?.[name], first?.[`${name}Low`], first?.[`${name}High`]), range(first?.[`${name}Low`], first?.[`${name}High`], write));
  say(cost, point ? small(point.overhead ?? NaN) : "–");
  const part = `${Math.round((100 * (point?.overhead ?? 0)) / dearest)}%`;
  if (cost.dataset.part !== part) cost.style.setProperty("--part", (cost.dataset.part = part));
  say(lost, point ? number(point.lost) : "–");
  lost.classList.toggle("bad", point?.lost > 0);
  const [from, to] = span(), pixel = (to - from) / sparkWidth, drawn = `${pixel} ${Math.floor(to / pixel)}`;
  if (spark.dataset.drawn === drawn) return;
  spark.dataset.drawn = drawn;
  for (const path of spark.children) path.setAttribute("d", sparkPath(probe.brief, path.getAttribute("class")));
}

function renderRow(probe) {
  const { row, name, type, state, why, button } = probe.row, text = called(probe.about), selected = isSelected(probe);
  row.classList.toggle("off", !selected);
  sayName(name, text);
  name.title = text;
  name.setAttribute("aria-pressed", String(probe.key === shown.chosen));
  const { unit, name: counted } = valuesOf(probe)[0] ?? {};
  fill(type, probe.about.type, counted && unit !== "s" ? ` ${counted}` : "", "");
  say(state, stateOf(probe));
  state.classList.toggle("warn", isHeld(probe));
  row.classList.toggle("odd", isOdd(probe));
  say(why, whyOf(probe));
  renderFigures(probe, probe.row);
  say(button, selected ? "Off" : "On");
  button.setAttribute("aria-label", `${selected ? "Switch off" : "Switch on"}: ${text}, ${probe.about.type}`);
  button.disabled = !shown.canChange;
}

// Filters by name and type, as `spex top` does.
function matching() {
  const wanted = byId("filter").value.trim().toLowerCase().split(/\s+/);
  return [...shown.probes.values()].filter(({ about }) => {
    const text = `${called(about)} ${about.type}`.toLowerCase();
    return wanted.every(part => text.includes(part));
  });
}

function compare(one, other) {
  const [a, b] = [keys[sort.column](one), keys[sort.column](other)];
  const by = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
  return (sort.down ? -by : by) || called(one.about).localeCompare(called(other.about), "en", { numeric: true }) || one.about.type.localeCompare(other.about.type);
}

// What names begin with, if others begin with it, too; the provider where there are several.
function groupsOf(probes) {
  const firstOf = ({ about }) => (shown.providers.size > 1 && about.provider ? about.provider : /^[^.:/]+(?=[.:/])/.exec(called(about))?.[0] ?? "");
  const groups = Map.groupBy ? Map.groupBy(probes, firstOf) : probes.reduce((map, probe) => map.set(firstOf(probe), [...(map.get(firstOf(probe)) ?? []), probe]), new Map());
  if (!byId("grouped").checked) return new Map([["", probes]]);
  const alone = [...groups].filter(([name, list]) => name && list.length < 2).flatMap(([, list]) => list);
  const rest = [...(groups.get("") ?? []), ...alone].sort(compare);
  return new Map([...[...groups].filter(([name, list]) => name && list.length > 1), ...(rest.length ? [["", rest]] : [])]);
}

function groupHead(name, probes) {
  const row = element("tr", "", { class: "group" }), head = element("th", "", { scope: "rowgroup", colspan: "11" });
  const open = !closed.has(name), button = element("button", `${open ? "▾" : "▸"} ${name || "others"}`, { type: "button", class: "plain", "aria-expanded": String(open) });
  const on = probes.filter(isSelected).length;
  button.addEventListener("click", () => {
    if (!closed.delete(name)) closed.add(name);
    asked = "";
    render(true);
  });
  head.append(button, element("span", ` ${probes.length} probes, ${on} on`, { class: "note" }));
  row.append(head);
  return row;
}

// Rows are put in order when there are figures first, and then every few seconds, not under somebody's pointer or focus.
function orderRows(probes, now) {
  const table = byId("table"), busy = table.matches(":hover") || table.querySelector("tbody :focus");
  const known = probes.map(probe => probe.key).sort().join("\n") + JSON.stringify(sort) + byId("grouped").checked + [...closed].join()
    + (shown.interval !== null);
  if (!now && known === asked && (busy || Date.now() - orderedAt < orderFor)) return;
  asked = known;
  orderedAt = Date.now();
  const groups = groupsOf(probes.sort(compare));
  const order = JSON.stringify([...groups].map(([name, list]) => [name, list.map(probe => [probe.key, isSelected(probe)])]));
  if (!now && order === laidOut) return;
  laidOut = order;
  const bodies = [...groups].map(([name, list]) => {
    const body = element("tbody", "");
    if (groups.size > 1) body.append(groupHead(name, list));
    if (groups.size === 1 || !closed.has(name)) body.append(...list.map(probe => probe.row.row));
    return body;
  });
  for (const body of [...table.tBodies]) body.remove();
  table.append(...(bodies.length ? bodies : [element("tbody", "")]));
}

export function render(now = false) {
  for (const probe of shown.probes.values()) probe.row ??= makeRow(probe);
  const probes = matching();
  orderRows(probes, now);
  say(byId("none"), `No probe's name or type contains "${byId("filter").value}".`);
  byId("none").hidden = probes.length > 0 || !shown.probes.size;
  dearest = Math.max(...[...shown.probes.values()].map(probe => lastPoint(probe)?.overhead ?? 0), 1e-9);
  for (const probe of probes) if (probe.row.seen) renderRow(probe);
}

function renderSort() {
  for (const head of document.querySelectorAll("#table thead th[data-sort]")) {
    const { sort: column } = head.dataset;
    if (column === sort.column) head.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

export const sortText = () => (sort.column === "cost" && sort.down ? "" : `${sort.down ? "-" : ""}${sort.column}`);

export function sortBy(text) {
  const column = text.replace(/^-/, "");
  if (!keys[column]) return;
  sort = { column, down: text.startsWith("-") };
  renderSort();
}

export function forget() {
  sight.disconnect();
  asked = laidOut = "";
  for (const body of [...byId("table").tBodies]) body.replaceChildren();
}

// Many probes are grouped until somebody decides otherwise.
let decided = false;
export function maybeGroup() {
  if (!decided) byId("grouped").checked = shown.probes.size > groupedFrom;
}
byId("grouped").addEventListener("change", () => { decided = true; render(true); });

for (const head of document.querySelectorAll("#table thead th[data-sort]"))
  head.querySelector("button").addEventListener("click", () => {
    const { sort: column } = head.dataset, text = ["name", "type", "state", "why"].includes(column);
    sort = column === sort.column ? { column, down: !sort.down } : { column, down: !text };
    renderSort();
    render(true);
    actions.sorted?.();
  });
renderSort();
