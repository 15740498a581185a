// SPDX-License-Identifier: MIT
// The page: it follows one process, keeps two minutes of its probes, and switches them. Names of
// programs and probes only become text.

import * as data from "./data.js";
import * as charts from "./charts.js";
import { byId, element, listTile, say, tile, withInterval } from "./elements.js";
import * as beside from "./beside.js";

const { amount, number, percent, range, seconds } = data;
const keptPoints = 120, tableRows = 30, retryMost = 5000, refreshLeast = 5000, refreshMost = 60000;

// Of the process that is followed: its probes by key, and what was told last.
const shown = { process: 0, program: "", programs: [], probes: new Map(), providers: new Set(), ordered: false,
  charted: "", lost: 0, known: 0, sites: -1, sitesOn: -1, canChange: false, interval: null };
let stop = new AbortController();

function sayState(text, live = false) {
  say(byId("state"), text);
  byId("state").classList.toggle("live", live);
}

// Probes

const keyOf = probe => [probe.provider, probe.name, probe.id, probe.type].join("\n");

// As users write it in a selection.
function called(probe) {
  const name = probe.name ?? String(probe.id);
  return probe.provider && shown.providers.size > 1 ? `${probe.provider}/${name}` : name;
}

// Rows that are scrolled out of sight are drawn when they come into it.
const sight = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) {
    const probe = shown.probes.get(target.dataset.key);
    if (probe) probe.row.seen = isIntersecting;
    if (probe && isIntersecting) renderRow(probe);
  }
}, { root: byId("table").parentElement, rootMargin: "200px" });

function probeOf(about) {
  const key = keyOf(about);
  if (!shown.probes.has(key)) {
    shown.probes.set(key, { key, about, points: [], figures: null, leaseEnd: 0, on: false, period: 0, sampling: null,
      row: makeRow(key) });
    shown.providers.add(about.provider);
    shown.ordered = false;
  }
  return shown.probes.get(key);
}

function stateOf(probe) {
  if (!probe.on) return "off";
  if (probe.sampling === "probing") return "polled";
  const how = { geometric: " at random", bursty: " in bursts" }[probe.sampling] ?? "";
  return probe.period === 1 ? "on" : `1 in ${number(probe.period)}${how}`;
}

function whyOf(probe) {
  const left = (probe.leaseEnd - Date.now()) / 1000;
  const lease = left > 0 ? `leased for ${Math.ceil(left)} s` : "";
  return [probe.figures?.why, lease].filter(Boolean).join("; ") || (probe.on ? "as selected" : "");
}

const leaseEndOf = ({ lease_seconds: left }, time) => (left ? time + 1000 * left : 0);

// Several places of a probe are one row: it is on where one of them is.
function takeSites(told) {
  const time = Date.now();
  for (const probe of shown.probes.values()) Object.assign(probe, { on: false, period: 0, leaseEnd: 0 });
  for (const site of told.sites.sites) {
    const probe = probeOf(site);
    probe.leaseEnd = Math.max(probe.leaseEnd, leaseEndOf(site, time));
    if (!site.on || (probe.on && probe.period <= site.period)) continue;
    Object.assign(probe, { on: true, period: site.period, sampling: site.sampling });
  }
}

async function refreshSites(process = shown.process) {
  shown.known = Date.now();
  try {
    const told = await data.probesOf(process);
    if (process === shown.process) takeSites(told);
  } catch (error) {
    if (!(error instanceof data.Refused) && !(error instanceof TypeError)) throw error;
    shown.known = 0; // the next state asks again
  }
  render();
}

// Intervals

function pointOf(figures, length, time) {
  const values = figures.values[0] ?? {};
  const rate = figures.rate ?? null, margin = figures.count_margin === null ? null : figures.count_margin / length;
  const point = { time, rate, rateLow: margin === null || rate === null ? null : Math.max(rate - margin, 0),
    rateHigh: margin === null || rate === null ? null : rate + margin, buckets: [] };
  for (const name of ["p50", "p90", "p99"])
    Object.assign(point, { [name]: values[name] ?? null, [`${name}Low`]: values[`${name}_low`] ?? null,
      [`${name}High`]: values[`${name}_high`] ?? null });
  for (const [n, count] of (figures.histogram?.counts ?? []).entries())
    if (count > 0) point.buckets.push([figures.histogram.first + n, count / length]);
  return point;
}

function takeInterval(interval) {
  const time = Date.now(), length = interval.figures.seconds;
  if (interval.pid !== shown.process) return;
  shown.interval = interval;
  shown.lost += interval.figures.records.lost;
  for (const figures of length > 0 ? interval.figures.probes : []) {
    const probe = probeOf(figures);
    Object.assign(probe, { figures, on: figures.sites_on > 0, period: figures.period, sampling: figures.sampling,
      leaseEnd: leaseEndOf(figures, time) });
    probe.points.push(pointOf(figures, length, time));
    while (probe.points[0].time < time - keptPoints * 1000 || probe.points.length > keptPoints) probe.points.shift();
  }
  render();
}

// Intervals have all of the probes that are or were on. Others are asked for when there may be new ones.
function lookForSites({ sites, sites_on: sitesOn }) {
  const since = Date.now() - shown.known;
  const due = sites !== shown.sites || (sitesOn !== shown.sitesOn && since > refreshLeast) || since > refreshMost;
  if (!due) return;
  Object.assign(shown, { sites, sitesOn });
  refreshSites();
}

function takePrograms(told) {
  shown.programs = told.programs.filter(program => program.processes.length);
  shown.canChange = told.can_change;
  beside.take(told.shown);
  byId("followed").hidden = !told.follows;
  if (!told.follows) return showNoProgram();
  listProcesses();
  const process = shown.programs.flatMap(program => program.processes).find(({ pid }) => pid === shown.process);
  if (!process) return followAnother();
  lookForSites(process);
  sayState(process.answers ? "Live" : "The process does not answer", process.answers);
}

function showNoProgram() {
  byId("token-form").hidden = true;
  sayState("Live", true);
}

// The busiest one first, or else the newest: the first one of many is often a parent that does nothing.
const byWork = (one, other) => other.cpu_seconds - one.cpu_seconds || other.pid - one.pid;

// A worker that was replaced is followed by another one of its program.
function followAnother() {
  const program = shown.programs.find(({ name }) => name === shown.program) ?? shown.programs[0];
  byId("token-form").hidden = true;
  if (program) return choose([...program.processes].sort(byWork)[0].pid);
  sayState(shown.process ? "The process has ended; waiting for another one" : "Waiting for a program", false);
}

// Drawing

function renderTiles({ figures, budget, budget_seconds, budget_spent, selection, leased, lease_seconds, probes_left_out: left }) {
  const probes = [...shown.probes.values()], on = probes.filter(probe => probe.on).length;
  const { records } = figures, length = figures.seconds || 1;
  byId("tiles").replaceChildren(
    tile("Probes on", `${on} of ${probes.length}`,
      (selection ? `selected: ${selection}` : "nothing is selected") + (left ? `; ${left} more are not shown` : "")),
    ...(leased ? [listTile("Leased", leased.split(/(?<=,)/), `for ${seconds(Math.ceil(lease_seconds))}`)] : []),
    tile("Records", `${number(records.produced / length)}/s`, `${number(records.consumed / length)}/s in the figures`),
    tile("Lost records", number(records.lost), `${number(shown.lost)} since this page follows the process`),
    tile("Overhead", (figures.overhead_known ? "" : "≥ ") + percent(figures.overhead_seconds / figures.program_seconds),
      "believed, of the program's CPU time"),
    tile("Budget", budget > 0 ? percent(budget) : "none",
      budget > 0 ? `of the program's CPU time; used, as believed: ${percent(budget_spent / budget_seconds)}` : ""),
    tile("spex's own threads", percent(figures.collector_seconds / figures.program_seconds), "of the program's CPU time"));
}

function makeRow(key) {
  const row = element("tr", "", { "data-key": key }), head = element("th", "", { scope: "row" });
  const name = element("button", "", { type: "button", "aria-pressed": "false" });
  name.addEventListener("click", () => { shown.charted = key; render(); });
  head.append(name);
  const [state, type, ...rest] = ["", "", "number", "number", "number", "number", "number", "why"]
    .map(kind => element("td", "", { class: kind }));
  const button = element("button", "", { type: "button" });
  button.addEventListener("click", () => turn(shown.probes.get(key)));
  const last = element("td", "");
  last.append(button);
  row.append(head, last, state, type, ...rest);
  sight.observe(row);
  return { seen: true, row, name, type, state, figures: rest.slice(0, 5), why: rest[5], button };
}

function renderFigures(probe, cells) {
  const point = probe.on ? probe.points.at(-1) : null, { figures } = probe;
  const write = value => amount(value, unitOf(probe));
  withInterval(cells[0], number(point?.rate), range(point?.rateLow, point?.rateHigh, number));
  withInterval(cells[1], write(point?.p50), range(point?.p50Low, point?.p50High, write));
  withInterval(cells[2], write(point?.p99), range(point?.p99Low, point?.p99High, write));
  say(cells[3], point ? number(figures.lost) : "–");
  say(cells[4], point ? percent(figures.overhead_seconds / shown.interval.figures.program_seconds) : "–");
}

function renderRow(probe) {
  const { row, name, type, state, figures, why, button } = probe.row, text = called(probe.about);
  row.classList.toggle("off", !probe.on);
  say(name, text);
  name.title = text;
  name.setAttribute("aria-pressed", String(probe.key === shown.charted));
  say(type, probe.about.type);
  say(state, stateOf(probe));
  say(why, whyOf(probe));
  renderFigures(probe, figures);
  say(button, probe.on ? "Switch off" : "Switch on");
  button.setAttribute("aria-label", `${button.textContent}: ${text}, ${probe.about.type}`);
  button.disabled = !shown.canChange;
}

function orderRows() {
  if (shown.ordered) return;
  const probes = [...shown.probes.values()].sort((one, other) =>
    called(one.about).localeCompare(called(other.about), "en", { numeric: true }) || one.about.type.localeCompare(other.about.type));
  byId("table").tBodies[0].replaceChildren(...probes.map(probe => probe.row.row));
  shown.ordered = true;
}

function renderTable() {
  const filter = byId("filter").value.trim().toLowerCase();
  orderRows();
  for (const probe of shown.probes.values()) {
    probe.row.row.hidden = filter !== "" && !called(probe.about).toLowerCase().includes(filter);
    if (probe.row.seen) renderRow(probe);
  }
}

function numbersRow(point, write) {
  const row = element("tr", "");
  row.append(element("th", charts.clock(point.time), { scope: "row" }));
  const most = point.buckets.reduce((a, b) => (b[1] > (a?.[1] ?? 0) ? b : a), null);
  const cells = [[number(point.rate), range(point.rateLow, point.rateHigh, number)],
    ...["p50", "p90", "p99"].map(name => [write(point[name]), range(point[`${name}Low`], point[`${name}High`], write)]),
    [most ? `${data.bound(most[0] - 1)} to ${data.bound(most[0])}` : "–", ""]];
  for (const [text, interval] of cells) {
    row.append(element("td", "", { class: "number" }));
    withInterval(row.lastChild, text, interval);
  }
  return row;
}

const charted = () => shown.probes.get(shown.charted);
const unitOf = probe => probe?.figures?.values[0]?.unit;
let redraws = null;

function makeCharts() {
  const points = () => charted()?.points ?? [];
  return [charts.chart("rate", made => charts.drawRate(made, points())),
    charts.chart("values", made => charts.drawValues(made, points(), unitOf(charted()))),
    charts.chart("heat", made => charts.drawHeat(made, points()))];
}

function renderCharts() {
  const probe = charted();
  byId("charts").hidden = !probe;
  if (!probe) return;
  const { points } = probe, unit = unitOf(probe);
  say(byId("charted"), `${called(probe.about)}, ${probe.about.type}`);
  redraws ??= makeCharts();
  byId("values").parentElement.hidden = !unit && unit !== null;
  byId("heat").parentElement.hidden = unit !== "s";
  for (const redraw of redraws) redraw();
  if (!byId("numbers").closest("details").open) return;
  byId("numbers").tBodies[0].replaceChildren(
    ...points.slice(-tableRows).reverse().map(point => numbersRow(point, value => amount(value, unit))));
}

// The busiest probe is in the charts until another one is chosen.
function chooseCharted() {
  if (shown.probes.has(shown.charted)) return;
  const weight = ({ figures }) => (figures.values.length ? figures.rate ?? 0 : 0);
  const [busiest] = [...shown.probes.values()].filter(probe => probe.points.length).sort((a, b) => weight(b) - weight(a));
  if (busiest) shown.charted = busiest.key;
}

function render() {
  if (!shown.process) return;
  byId("token-form").hidden = true;
  byId("probes").hidden = byId("now").hidden = false;
  byId("fixed").hidden = shown.canChange;
  byId("switches").disabled = !shown.canChange;
  if (document.hidden) return;
  chooseCharted();
  if (shown.interval) renderTiles(shown.interval);
  renderTable();
  renderCharts();
}

function listProcesses() {
  const list = byId("process");
  const groups = shown.programs.map(program => {
    const group = element("optgroup", "", { label: program.name });
    group.append(...program.processes.map(({ pid }) => element("option", `${program.name} ${pid}`, { value: pid })));
    return group;
  });
  const text = groups.map(group => group.textContent).join("\n");
  if (list.dataset.text === text) return;
  list.dataset.text = text;
  list.replaceChildren(...groups);
  list.value = String(shown.process);
}

// Switching

async function send(probes, lease) {
  const whom = byId("whom").value === "program" ? { program: shown.program } : { process: shown.process };
  try {
    const told = await data.switchProbes({ ...whom, probes, ...(lease ? { for: Number(lease) } : {}) });
    const lines = told.slice(0, 8).map(({ pid, done, sites_on: on, text }) =>
      `${pid}: ${done ? `${on} ${on === 1 ? "place" : "places"} on` : "not switched"}${text ? `; ${text}` : ""}`);
    say(byId("done"), lines.join("\n") + (told.length > 8 ? `\nand ${told.length - 8} more` : ""));
  } catch (error) {
    say(byId("done"), `Not switched: ${error.message}`);
    if (error.status === 401) askForToken();
  }
  refreshSites();
}

function turn(probe) {
  const what = `${called(probe.about)}:${probe.about.type}`, period = byId("period");
  if (probe.on) return send(`+${what}@off`, "");
  if (period.reportValidity()) send(`+${what}@${period.value}`, byId("lease").value);
}

// The connection

function askForToken() {
  sayState("The server wants a token");
  byId("token-form").hidden = false;
  for (const section of document.querySelectorAll("main section")) section.hidden = true;
  beside.forget();
  byId("token").focus();
}

function choose(process) {
  shown.program = shown.programs.find(program => program.processes.some(({ pid }) => pid === process))?.name ?? shown.program;
  Object.assign(shown, { process, probes: new Map(), providers: new Set(), interval: null, lost: 0, sites: -1, charted: "" });
  byId("process").value = String(process);
  sight.disconnect();
  byId("table").tBodies[0].replaceChildren();
  connect();
}

const take = { programs: takePrograms, interval: takeInterval };

// Follows until it is told to stop. A server that is lost is tried again, more and more seldom.
async function connect() {
  stop.abort();
  const { signal } = (stop = new AbortController());
  for (let wait = 500; !signal.aborted; wait = Math.min(2 * wait, retryMost)) {
    try {
      await data.follow(shown.process, (name, told) => { wait = 500; if (!signal.aborted) take[name]?.(told); }, signal);
      if (!signal.aborted) sayState("The server has ended the connection; trying again");
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return askForToken();
      sayState(error.status ? `${error.message}; trying again` : "The server cannot be reached; trying again");
      beside.forget();
    }
    await new Promise(done => setTimeout(done, wait));
  }
}

byId("token-form").addEventListener("submit", event => {
  event.preventDefault();
  data.keepToken(byId("token").value.trim());
  byId("token").value = "";
  sayState("Connecting");
  connect();
});
byId("process").addEventListener("change", event => choose(Number(event.target.value)));
byId("all-off").addEventListener("click", () => send("off", ""));
byId("filter").addEventListener("input", render);
document.querySelector("#charts details").addEventListener("toggle", render);
document.addEventListener("visibilitychange", render);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { render(); beside.redraw(); });
data.takeToken();
connect();
