// SPDX-License-Identifier: MIT
// What the server shows beside programs that run: what of it is new is asked for.

import { clock, moment } from "./charts.js";
import * as data from "./data.js";
import { byId, element, row, say } from "./elements.js";
import * as exploration from "./exploration.js";
import * as fleet from "./fleet.js";
import * as models from "./models.js";
import { buttons } from "./pictures.js";

const { bytes, number, range, seconds } = data;
const rowsMost = 50, keptMost = 256;
// Versions of what is shown, by name; what is not there is asked for.
let known = {};
const anomalies = new Map();
let newest = 0;

// Nobody tells the end of one whose process was killed.
let lives = new Set();
const goesOn = one => one.event !== "ends" && lives.has(one.pid);
const stateOf = one => (goesOn(one) ? "goes on" : one.event === "ends" ? "over" : "its process has ended");

export const anomaliesNow = () => [...anomalies.values()].filter(goesOn).length;

// Asks for one of them, and says why where it is refused. Asked for again when there is another version.
async function ask(name, path, show) {
  byId(name).hidden = false;
  try {
    show(await data.told(path));
  } catch (error) {
    if (!(error instanceof data.Refused) && !(error instanceof TypeError)) throw error;
    say(byId(`${name}-state`), error.message);
    if (!error.status) delete known[name];
  }
}

function parametersOf({ parameters }) {
  const texts = Object.entries(parameters).map(([name, value]) => `${name}=${number(value)}`);
  return texts.length ? `(${texts.join(", ")})` : "";
}

function causeOf({ cause, changes }) {
  return [cause, ...Object.entries(changes).map(([name, [before, during]]) =>
    `${name}: ${number(before)}, then ${number(during)}`)];
}

function anomalyRow(one) {
  const [cause, ...changes] = causeOf(one);
  const lasted = one.lasted_seconds > 0 ? `for ${seconds(one.lasted_seconds)}` : "";
  return row(clock(one.time * 1000), [`${one.kernel}${parametersOf(one)}`, [cause, changes.join("; ")],
    [seconds(one.seconds), one.executions > 1 ? `${number(one.median_ratio)} times as long` : ""],
    [seconds(one.predicted_seconds), range(one.low_seconds, one.high_seconds, seconds)], [stateOf(one), lasted],
    number(one.executions), `${one.program} ${one.pid}`], ["kernel", "why", "number", "number", "", "number", ""]);
}

// The newest event of each anomaly tells how it is now.
function takeAnomalies(told) {
  ({ newest } = told);
  lives = new Set(told.watched.map(one => one.pid));
  for (const one of told.events) {
    const key = `${one.pid} ${one.anomaly}`;
    anomalies.delete(key);
    anomalies.set(key, one);
  }
  while (anomalies.size > keptMost) anomalies.delete(anomalies.keys().next().value);
  const all = [...anomalies.values()].sort((one, other) => other.time - one.time);
  const going = all.filter(goesOn).length, watched = told.watched.filter(one => one.watched).length;
  say(byId("anomalies-state"), `${watched} ${watched === 1 ? "process is" : "processes are"} watched; ` +
    (all.length ? `${all.length} ${all.length === 1 ? "anomaly" : "anomalies"}, of which ${going} ${going === 1 ? "goes" : "go"} on; ` +
      `the newest: ${all[0].kernel}, ${all[0].cause}` : "no anomaly yet"));
  const not = told.watched.filter(one => !one.watched).map(one => `${one.program} ${one.pid}: ${one.why}`);
  if (told.left_out) not.push(`${told.left_out} more, as there are too many`);
  say(byId("unwatched"), `Not watched: ${not.join("; ")}`);
  byId("unwatched").hidden = !not.length;
  byId("anomalies-table").tBodies[0].replaceChildren(...all.slice(0, rowsMost).map(anomalyRow));
}

async function download(button, name) {
  const format = byId("format").value;
  button.disabled = true;
  say(byId("traces-state"), `Exporting ${name} as ${format}`);
  try {
    const { file, contents, problem } = await data.traceAs(name, format);
    const link = element("a", "", { href: URL.createObjectURL(contents), download: file });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    say(byId("traces-state"), `${file}: ${bytes(contents.size)}${problem ? `; not all could be read: ${problem}` : ""}`);
  } catch (error) {
    say(byId("traces-state"), `${name} was not exported: ${error.message}`);
  }
  button.disabled = false;
}

function traceRow({ name, bytes: size, modified }) {
  const button = element("button", "Export", { type: "button", "aria-label": `Export ${name}` });
  const shown = name === "." ? "the whole folder" : name;
  const cell = document.createDocumentFragment();
  cell.append(button, ...buttons(name));
  button.addEventListener("click", () => download(button, name));
  return row(shown, [cell, bytes(size), moment(modified * 1000)], ["", "number", ""]);
}

function takeTraces({ traces, left_out: left, formats }) {
  const chosen = byId("format").value;
  byId("format").replaceChildren(...formats.map(format => element("option", format, { value: format })));
  if (chosen) byId("format").value = chosen;
  const before = byId("before").value;
  byId("before").replaceChildren(element("option", "no trace", { value: "" }), ...traces.map(({ name }) =>
    element("option", name === "." ? "the whole folder" : name, { value: name })));
  if (traces.some(({ name }) => name === before)) byId("before").value = before;
  say(byId("traces-state"), `${traces.length} ${traces.length === 1 ? "trace" : "traces"}${left ? `, and ${left} that are not listed` : ""}`);
  byId("traces-table").tBodies[0].replaceChildren(...traces.map(traceRow));
}

const views = { anomalies: takeAnomalies, exploration: exploration.show, fleet: fleet.show, models: models.show, traces: takeTraces };

// What the server has, by version; null: it shows none. Nothing is asked for while nobody looks.
export function take(shown) {
  if (document.hidden) return;
  for (const [name, show] of Object.entries(views)) {
    if (shown[name] === null || shown[name] === false || shown[name] === known[name]) continue;
    known[name] = shown[name];
    ask(name, name === "anomalies" ? `anomalies?since=${newest}` : name, show);
  }
}

// All is asked for anew: another server may have other things.
export function forget() {
  known = {};
  newest = 0;
  anomalies.clear();
}

export function redraw() {
  exploration.redraw();
  fleet.redraw();
  models.redraw();
}

byId("again").addEventListener("click", () => ask("traces", "traces", takeTraces));
