// SPDX-License-Identifier: MIT
// The page: it follows one process, shows its probes over time, and switches them. Names of programs and probes only become
// text.

import * as beside from "./beside.js";
import * as charts from "./charts.js";
import * as data from "./data.js";
import { byId, element, listTile, replaceTiles, row, say, tile } from "./elements.js";
import * as exemplars from "./exemplars.js";
import { called, chosen, isSelected, pointsOf, probeOf, rateText, shown, takeDetail, takeHistory, takeInterval, unitOf, valuesOf } from "./model.js";
import * as overview from "./overview.js";
import * as signs from "./signs.js";
import * as table from "./table.js";
import { chartStep, goLive, isLive, move, onChange, pause, readAddress, setRange, span, view, writeAddress } from "./view.js";

const { amount, number, percent, range, seconds } = data;
const tableRows = 30, retryMost = 5000, refreshLeast = 5000, refreshMost = 60000, endedMost = 5;

const asked = readAddress();
// When places of probes were asked for last, and how many there were; when the last event came; what the server says of others.
const known = { at: 0, sites: -1, sitesOn: -1, event: 0, every: 1, silent: false, leftOut: 0 };
let stop = new AbortController();

// How old the figures are, in seconds beyond the usual one between two events.
const age = () => (known.event ? (Date.now() - known.event) / 1000 - (known.every - 1) : 0);

function sayState(text, live = false) {
  say(byId("state"), text);
  byId("state").classList.toggle("live", live);
}

// Places of probes

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
  table.maybeGroup();
}

async function refreshSites(process = shown.process) {
  known.at = Date.now();
  try {
    const told = await data.probesOf(process);
    if (process === shown.process) {
      shown.now = told;
      takeSites(told);
    }
  } catch (error) {
    if (!(error instanceof data.Refused) && !(error instanceof TypeError)) throw error;
    known.at = 0; // the next state asks again
  }
  render();
}

// Intervals have all of the probes that are or were on. Others are asked for when there may be new ones.
function lookForSites({ sites, sites_on: sitesOn }) {
  const since = Date.now() - known.at;
  const due = sites !== known.sites || (sitesOn !== known.sitesOn && since > refreshLeast) || since > refreshMost;
  if (!due) return;
  Object.assign(known, { sites, sitesOn });
  refreshSites();
}

// What the server knows from before; a process that it has not followed has none.
async function askHistory(process) {
  try {
    const told = await data.historyOf(process);
    if (process !== shown.process) return;
    takeHistory(told);
    if (!shown.program) shown.program = told.program;
    view.newest = Math.max(view.newest, told.times.at(-1) ?? 0);
  } catch (error) {
    if (!(error instanceof data.Refused) && !(error instanceof TypeError)) throw error;
  }
  askDetail();
  render();
}

async function askDetail() {
  const probe = chosen();
  if (!probe || probe.number === null || shown.detail?.key === probe.key) return;
  try {
    takeDetail(probe.key, await data.historyOf(shown.process, probe.number));
  } catch (error) {
    if (!(error instanceof data.Refused) && !(error instanceof TypeError)) throw error;
  }
  render();
}

function take(interval) {
  if (interval.pid !== shown.process) return;
  known.event = Date.now();
  takeInterval(interval);
  exemplars.take(interval);
  view.newest = Math.max(view.newest, interval.time);
  renderSoon();
}

// Programs that come and go

function takePrograms(told) {
  shown.programs = told.programs.filter(program => program.processes.length);
  shown.canChange = told.can_change;
  known.leftOut = told.processes_left_out;
  beside.take(told.shown);
  byId("followed").hidden = !told.follows;
  byId("token-form").hidden = true;
  if (!told.follows) return sayState("Live", true);
  listProcesses();
  const program = shown.programs.find(({ processes }) => processes.some(({ pid }) => pid === shown.process));
  if (!program) return followAnother();
  const process = program.processes.find(({ pid }) => pid === shown.process);
  Object.assign(shown, { program: program.name, ended: 0 });
  sayEnded();
  lookForSites(process);
  Object.assign(known, { silent: !process.answers, every: process.report_seconds });
  const live = known.every < 1.5 ? "Live" : `Live; figures come each ${seconds(Math.round(known.every))}, as the program's budget pays for no more`;
  sayState(process.answers ? live : "The process does not answer", process.answers);
}

// The busiest one first, or else the newest: the first one of many is often a parent that does nothing.
const byWork = (one, other) => other.cpu_seconds - one.cpu_seconds || other.pid - one.pid;
const busiest = program => [...program.processes].sort(byWork)[0].pid;

// A worker that was replaced is followed by another one of its program. Another program is shown when somebody asks for it.
function followAnother() {
  const program = shown.programs.find(({ name }) => name === shown.program);
  if (program) return choose(busiest(program));
  if (!shown.process && !shown.program && shown.programs.length)
    return choose(shown.programs.map(busiest).map(pid => shown.programs.flatMap(({ processes }) => processes).find(one => one.pid === pid)).sort(byWork)[0].pid);
  if (shown.process && !shown.ended) shown.ended = Date.now();
  sayState(shown.program ? `Waiting for ${shown.program}` : "Waiting for a program");
  sayEnded();
  render();
}

function sayEnded() {
  const where = byId("ended"), waits = !shown.programs.some(({ processes }) => processes.some(({ pid }) => pid === shown.process));
  where.hidden = !waits;
  if (!waits) return;
  const text = shown.program
    ? `${shown.program}${shown.process ? ` (${shown.process}) has ended${shown.ended ? ` at ${charts.clock(shown.ended)}` : ""}` : " is not running"}; waiting for it.`
    : "No program with probes is running that this server follows. Start one, as in: spex run PROGRAM; it appears here by itself.";
  const others = shown.programs.filter(({ name }) => name !== shown.program).slice(0, endedMost), names = others.map(({ name }) => name).join("\n");
  if (where.dataset.text === text + names) return;
  where.dataset.text = text + names;
  const buttons = others.map(program => {
    const button = element("button", program.name, { type: "button" });
    button.addEventListener("click", () => choose(busiest(program)));
    return button;
  });
  where.replaceChildren(element("span", text), ...(buttons.length ? [" Others that run: ", ...buttons.flatMap(button => [button, " "])] : []));
}

function listProcesses() {
  const list = byId("process");
  const groups = shown.programs.map(program => {
    const group = element("optgroup", "", { label: program.name });
    group.append(...program.processes.map(({ pid }) => element("option", `${program.name} ${pid}`, { value: pid })));
    return group;
  });
  const gone = shown.process && !shown.programs.some(({ processes }) => processes.some(({ pid }) => pid === shown.process));
  if (gone) groups.unshift(element("option", `${shown.program} ${shown.process}, ended`, { value: shown.process }));
  const text = groups.map(group => group.textContent).join("\n");
  if (list.dataset.text === text) return;
  list.dataset.text = text;
  list.replaceChildren(...groups);
  list.value = String(shown.process);
}

// Drawing

// The same figure as in `spex run`, `top` and metrics: of the program's own CPU time.
function overheadTile({ figures, budget, budget_seconds: time, budget_spent: spent }) {
  const share = figures.overhead_seconds / figures.program_seconds, threads = percent(figures.collector_seconds / figures.program_seconds);
  const used = budget > 0 ? `; of the budget ${percent(spent / time / budget)} is used` : "";
  return tile("Overhead", (figures.overhead_known ? "" : "≥ ") + percent(share), `probes, of the program's CPU time; spex's threads ${threads}${used}`);
}

function renderTiles(interval) {
  const { figures, budget, selection, leased, lease_seconds: left } = interval;
  const probes = [...shown.probes.values()], on = probes.filter(isSelected).length;
  const { records } = figures, length = figures.seconds || 1;
  replaceTiles(byId("tiles"), [
    tile("Probes on", `${on} of ${probes.length}`, selection ? `selected: ${selection}` : "nothing is selected"),
    ...(leased ? [listTile("Leased", leased.split(/(?<=,)/), `for ${seconds(Math.ceil(left))}`)] : []),
    overheadTile(interval),
    tile("Budget", budget > 0 ? percent(budget) : "none", budget > 0 ? "of the program's CPU time" : "set one below"),
    tile("Records", `${number(records.produced / length)}/s`, `${number(records.consumed / length)}/s in the figures`),
    tile("Lost records", number(records.lost), `${number(shown.lost)} since this page follows the process`)]);
}

let redraws = null;
const valueShown = () => Math.min(Number(byId("value").value) || 0, Math.max(valuesOf(chosen()).length - 1, 0));

function makeCharts() {
  return [charts.timeChart("rate", made => charts.drawRate(made, pointsOf(chosen()))),
    charts.timeChart("values", made => charts.drawValues(made, pointsOf(chosen()), unitOf(chosen(), valueShown()), valueShown())),
    charts.timeChart("heat", made => charts.drawHeat(made, pointsOf(chosen())))];
}

// Values of a snapshot are chosen by name; others have one.
function renderValues(probe) {
  const names = valuesOf(probe).map(({ name }) => name), list = byId("value");
  byId("value-label").hidden = names.length < 2;
  if (list.dataset.names === names.join("\n")) return;
  list.dataset.names = names.join("\n");
  list.replaceChildren(...names.map((name, n) => element("option", name, { value: n })));
}

function numbersRow(point, unit, value) {
  const write = figure => amount(figure, unit), first = point.values[value] ?? {};
  const most = point.buckets.reduce((a, b) => (b[1] > (a?.[1] ?? 0) ? b : a), null);
  return row(charts.clock(point.time), [[rateText(point), range(point.rateLow, point.rateHigh, number)],
    ...["p50", "p90", "p99"].map(name => [write(first[name]), range(first[`${name}Low`], first[`${name}High`], write)]),
    most ? `${data.bound(most[0] - 1)} to ${data.bound(most[0])}` : "–"], "number");
}

function renderDetail(probe) {
  say(byId("charted"), `${called(probe.about)}, ${probe.about.type}`);
  say(byId("turn"), isSelected(probe) ? "Switch off" : "Switch on");
  byId("turn").disabled = !shown.canChange;
  say(byId("charted-state"), [table.stateOf(probe), table.whyOf(probe)].filter(Boolean).join(": "));
  renderValues(probe);
  byId("values").parentElement.hidden = !pointsOf(probe).some(point => (point.values[valueShown()]?.p50 ?? null) !== null);
  byId("heat").parentElement.hidden = unitOf(probe) !== "s";
  redraws ??= makeCharts();
  for (const redraw of redraws) redraw();
  if (!byId("numbers").closest("details").open) return;
  byId("numbers").tBodies[0].replaceChildren(...charts.visible(pointsOf(probe)).slice(-tableRows).reverse()
    .map(point => numbersRow(point, unitOf(probe, valueShown()), valueShown())));
}

function renderPictures() {
  const probe = chosen(), [from, to] = span();
  byId("overview").hidden = Boolean(probe) || !shown.probes.size;
  byId("charts").hidden = !probe;
  byId("time").hidden = !shown.probes.size;
  byId("live").hidden = isLive();
  byId("pause").hidden = !isLive();
  say(byId("when"), isLive() ? "" : `${view.zoom ? "From" : "Paused; from"} ${charts.clock(from)} to ${charts.clock(to)}`);
  for (const button of byId("ranges").children) button.setAttribute("aria-pressed", String(!view.zoom && Number(button.value) === view.range));
  if (probe) renderDetail(probe);
  else if (shown.probes.size) overview.render();
}

// `fresh`: nothing but the figures has changed.
function render(fresh = false) {
  if (!shown.process) return;
  byId("probes").hidden = byId("now").hidden = false;
  byId("fixed").hidden = shown.canChange;
  byId("switches").disabled = !shown.canChange;
  signs.render({ stale: age(), silent: known.silent, anomalies: beside.anomaliesNow(), leftOut: known.leftOut });
  document.body.classList.toggle("stale", Boolean(shown.ended) || age() > 5);
  document.title = [chosen() ? called(chosen().about) : "", shown.program, shown.process, "spex"].filter(Boolean).join(" · ");
  writeAddress({ process: shown.process, program: shown.program, probe: shown.chosen, filter: byId("filter").value, sort: table.sortText() });
  if (document.hidden) return;
  if (!fresh || view.newest - drawnTo >= chartStep()) {
    drawnTo = view.newest;
    renderPictures();
  }
  if (shown.interval) renderTiles(shown.interval);
  table.render();
}

// Events may come faster than pictures can be drawn, and faster than these change. The time that charts were drawn to.
let due = false, drawnTo = 0;
function renderSoon() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; render(true); });
}

function chooseProbe(key) {
  if (shown.detail?.key !== key) shown.detail = null;
  shown.chosen = key;
  askDetail();
  render();
  if (key) byId("charts").scrollIntoView({ block: "nearest" });
}

// Switching

const whom = () => (byId("whom").value === "program" ? { program: shown.program } : { process: shown.process });

// `back`: what to send to undo it.
async function send(order, back = null) {
  const done = byId("done"), undo = element("button", "Undo", { type: "button" });
  try {
    const told = await data.change({ ...whom(), ...order });
    const lines = told.slice(0, 8).map(({ pid, done: obeyed, sites_on: on, text }) =>
      [`${shown.program} ${pid}: ${!obeyed ? "not changed" : order.budget === undefined ? `${on} ${on === 1 ? "place" : "places"} of probes on`
        : order.budget ? `the budget is ${percent(order.budget)}` : "no budget from here"}`, text].filter(Boolean).join("; "));
    say(done, lines.join("\n") + (told.length > 8 ? `\nand ${told.length - 8} more` : ""));
    if (back && told.some(({ done: obeyed }) => obeyed)) done.append(" ", undo);
    undo.addEventListener("click", async () => { for (const one of back) await send(one); });
  } catch (error) {
    say(done, `Not changed: ${error.message}`);
    if (error.status === 401) askForToken();
  }
  refreshSites();
}

function turn(probe) {
  const what = `${called(probe.about)}:${probe.about.type}`, period = byId("period"), lease = Number(byId("lease").value);
  const off = { probes: `+${what}@off` }, was = { probes: `+${what}@${probe.period || 1}` };
  if (isSelected(probe)) return send(off, [was]);
  if (period.reportValidity()) send({ probes: `+${what}@${period.value}`, ...(lease ? { for: lease } : {}) }, [off]);
}

// What was selected, and for the rest of its time what was leased, comes back.
function allOff() {
  const { selection, leased, lease_seconds: left } = shown.now ?? {};
  send({ probes: "off" }, [...(selection ? [{ probes: selection }] : []), ...(leased ? [{ probes: leased, for: Math.max(Math.floor(left), 1) }] : [])]);
}

function setBudget(share) {
  send({ budget: share }, [{ budget: shown.now?.budget ?? 0 }]);
}

// The connection

function askForToken(why = "") {
  sayState("The server wants a token");
  say(byId("token-wrong"), why);
  byId("token-form").hidden = false;
  for (const section of document.querySelectorAll("main section")) section.hidden = true;
  beside.forget();
  byId("token").focus();
}

function choose(process, chosenProbe = "") {
  shown.program = shown.programs.find(program => program.processes.some(({ pid }) => pid === process))?.name ?? shown.program;
  Object.assign(shown, { process, probes: new Map(), providers: new Set(), totals: [], interval: null, now: null, lost: 0, ended: 0, chosen: chosenProbe, detail: null });
  Object.assign(known, { at: 0, sites: -1, sitesOn: -1, event: 0, silent: false });
  byId("process").value = String(process);
  table.forget();
  exemplars.forget();
  overview.forget();
  askHistory(process);
  connect();
}

const events = { programs: takePrograms, interval: take };

// Follows until it is told to stop. A server that is lost is tried again, more and more seldom.
async function connect() {
  stop.abort();
  const { signal } = (stop = new AbortController());
  for (let wait = 500; !signal.aborted; wait = Math.min(2 * wait, retryMost)) {
    try {
      await data.follow(shown.process, (name, told) => { wait = 500; if (!signal.aborted) events[name]?.(told); }, signal);
      if (!signal.aborted) sayState("The server has ended the connection; trying again");
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 401) return askForToken(data.hasToken() ? "The server does not accept this token: it was started with another one." : "");
      sayState(error.status ? `${error.message}; trying again` : "The server cannot be reached; trying again until spex serve runs");
      beside.forget();
    }
    render();
    await new Promise(done => setTimeout(done, wait));
  }
}

byId("token-form").addEventListener("submit", event => {
  event.preventDefault();
  data.keepToken(byId("token").value.trim());
  byId("token").value = "";
  say(byId("token-wrong"), "");
  sayState("Connecting");
  connect();
});
byId("process").addEventListener("change", event => choose(Number(event.target.value)));
byId("all-off").addEventListener("click", allOff);
byId("budget-set").addEventListener("click", () => { if (byId("budget").reportValidity()) setBudget(Number(byId("budget").value) / 100); });
byId("budget-off").addEventListener("click", () => setBudget(0));
byId("filter").addEventListener("input", () => { table.render(true); render(); });
byId("value").addEventListener("change", () => render());
byId("turn").addEventListener("click", () => turn(chosen()));
byId("back").addEventListener("click", () => chooseProbe(""));
for (const button of byId("ranges").children) button.addEventListener("click", () => setRange(Number(button.value)));
byId("pause").addEventListener("click", pause);
byId("live").addEventListener("click", goLive);
byId("earlier").addEventListener("click", () => move(-1));
byId("later").addEventListener("click", () => move(1));
document.querySelector("#charts details").addEventListener("toggle", () => render());
document.addEventListener("visibilitychange", () => render());
document.addEventListener("keydown", event => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { byId("filter").focus(); event.preventDefault(); }
  if (event.key === " " && !event.target.matches("button, summary, a")) { isLive() ? pause() : goLive(); event.preventDefault(); }
  if (event.key === "Escape") view.zoom ? goLive() : chooseProbe("");
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { render(); beside.redraw(); });
onChange(() => render());
setInterval(() => { if (age() > 2.5) render(); }, 1000);
overview.whenChosen(chooseProbe);
Object.assign(table.actions, { choose: chooseProbe, turn, sorted: () => render() });
data.takeToken();
byId("filter").value = asked.filter;
table.sortBy(asked.sort);
shown.program = asked.program;
if (asked.process) choose(asked.process, asked.probe);
else connect();
