// SPDX-License-Identifier: MIT
// A time line of one execution, of those that a running program has told, or from the trace as `spex export --format chrome` writes it: an event a line. A trace may be larger than the
// browser's memory: it is read by lines, once for the slowest executions, and once more for what went on during the chosen one.

import { block, drawn, setRows, table } from "./blocks.js";
import { number, seconds } from "./data.js";
import { element, row, say } from "./elements.js";

const slowestKept = 20, probesMost = 1000, partsMost = 3000, lanesMost = 12, ticksMost = 5, tickPixels = 110, tableRows = 100;
// Numbers of further tracks of a thread are beyond those of threads.
const furtherTrack = 10000000;

// Some lines at a time.
async function* linesOf(contents) {
  const reader = contents.stream().pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    yield lines;
  }
  yield [rest];
}

const eventOf = line => JSON.parse(line.endsWith(",") ? line.slice(0, -1) : line);

// Calls take with each execution, of slices and of spans; these are two events, of which the end follows the beginning. Returns how many
// records the trace has lost, and how many executions the export has left out.
async function executions(contents, take) {
  let begun = null, lacks = [0, 0];
  const takeLine = line => {
    const phase = line.startsWith('{"ph":"') ? line[7] : "";
    if (phase === "X") take(eventOf(line));
    else if (phase === "b") begun = eventOf(line);
    else if (phase === "e" && begun) take({ ...begun, dur: eventOf(line).ts - begun.ts });
    else if (line.startsWith('],"otherData":'))
      lacks = /"lost_records":(\d+),"slices_left_out":(\d+)/.exec(line)?.slice(1).map(Number) ?? lacks;
  };
  for await (const lines of linesOf(contents)) lines.forEach(takeLine);
  return lacks;
}

const keyOf = ({ pid, name, cat }) => [pid, cat, name].join("\n");
const isSpan = ({ cat }) => cat === "span";

// The slowest of each probe, the slowest first.
async function slowestOf(contents) {
  const probes = new Map();
  let count = 0, left = 0;
  const [lost, leftOut] = await executions(contents, one => {
    const key = keyOf(one);
    if (!probes.has(key) && probes.size === probesMost) return left++;
    const { slowest } = probes.get(key) ?? probes.set(key, { about: one, slowest: [] }).get(key);
    count++;
    if (slowest.length === slowestKept && slowest.at(-1).dur >= one.dur) return;
    const at = slowest.findIndex(({ dur }) => dur < one.dur);
    slowest.splice(at < 0 ? slowest.length : at, 0, one);
    if (slowest.length > slowestKept) slowest.pop();
  });
  return { count, left: left + leftOut, lost, probes: [...probes.values()] };
}

// Probes of spans come first, since those are requests.
const order = (one, other) => isSpan(other.about) - isSpan(one.about) || other.slowest[0].dur - one.slowest[0].dur;

// What the process did meanwhile; of very much, the longest.
async function partsOf(contents, chosen) {
  const end = chosen.ts + chosen.dur;
  let parts = [], left = 0;
  const shorten = () => {
    parts.sort((one, other) => other.dur - one.dur);
    left += Math.max(parts.length - partsMost, 0);
    parts = parts.slice(0, partsMost);
  };
  await executions(contents, one => {
    if (one.pid !== chosen.pid || one.ts > end || one.ts + one.dur < chosen.ts) return;
    parts.push(one);
    if (parts.length > 4 * partsMost) shorten();
  });
  shorten();
  return { parts, left };
}

const isSame = (one, other) => ["ts", "dur", "tid", "name", "id"].every(name => one[name] === other[name]);
const keyOfSpan = one => (isSpan(one) ? one.args?.key : undefined);
const sameKey = (one, other) => (keyOfSpan(one) === undefined ? isSpan(one) && isSame(one, other) : keyOfSpan(one) === keyOfSpan(other));
const threadOf = ({ tid }) => tid % furtherTrack;

// Spans of the same key are the request's own; then come the thread that has ended it, and the busiest others.
function laneOf(part, chosen) {
  const key = keyOfSpan(part);
  if (sameKey(part, chosen)) return { name: key === undefined ? "the execution itself" : `key ${key}`, order: 0 };
  if (isSpan(part)) return { name: key === undefined ? "other spans" : "spans of other keys", order: 3 };
  return { name: `thread ${threadOf(part)}`, order: threadOf(part) === threadOf(chosen) ? 1 : 2 };
}

// Each part gets the first row of its lane where the one before it has ended, or in which it is nested.
function setDepths(parts) {
  const rows = [];
  parts.sort((one, other) => one.ts - other.ts || other.dur - one.dur);
  for (const part of parts) {
    let depth = rows.findIndex(end => end <= part.ts + 1e-6);
    if (depth < 0) depth = rows.length;
    rows[depth] = part.ts + part.dur;
    part.depth = depth;
  }
  return rows.length;
}

function lanesOf(parts, chosen) {
  const lanes = new Map();
  for (const part of parts) {
    const { name, order } = laneOf(part, chosen);
    const lane = lanes.get(name) ?? lanes.set(name, { name, order, time: 0, parts: [] }).get(name);
    lane.parts.push(part);
    lane.time += part.dur;
  }
  const all = [...lanes.values()].sort((one, other) => one.order - other.order || other.time - one.time);
  const shown = all.slice(0, lanesMost);
  for (const lane of shown) lane.rows = setDepths(lane.parts);
  return { lanes: shown, left: all.length - shown.length };
}

const micro = value => seconds(value / 1e6);
const called = ({ name, cat }) => `${name} (${cat})`;

function about(part, chosen) {
  const values = Object.entries(part.args ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
  const begins = part.ts < chosen.ts ? `${micro(chosen.ts - part.ts)} before` : `after ${micro(part.ts - chosen.ts)}`;
  return `${called(part)}\n${micro(part.dur)}, begins ${begins}\n${values}`;
}

function drawLane(lane, chosen, pixels) {
  const whole = Math.max(chosen.dur, 0.001); // microseconds
  const name = element("p", lane.name, { class: "lane" }), picture = element("div", "", { class: "blocks", "aria-hidden": "true" });
  for (const part of lane.parts) {
    const begin = Math.max((part.ts - chosen.ts) / whole, 0), end = Math.min((part.ts + part.dur - chosen.ts) / whole, 1);
    const place = { begin: Math.min(begin, 1), width: Math.max(end - begin, 0), row: part.depth, pixels };
    const made = block("div", part.name, about(part, chosen), place);
    made.classList.toggle("chosen", isSame(part, chosen));
    picture.append(made);
  }
  setRows(picture, lane.rows);
  return [name, picture];
}

function axis(chosen, pixels) {
  const ticks = Math.max(Math.min(Math.floor(pixels / tickPixels), ticksMost), 1);
  const made = element("div", "", { class: "axis", "aria-hidden": "true" });
  for (let tick = 0; tick <= ticks; tick++) {
    const label = element("span", micro(chosen.dur * tick / ticks));
    label.style.left = `${100 * tick / ticks}%`;
    made.append(label);
  }
  return made;
}

function partsTable(lanes, chosen) {
  const parts = lanes.flatMap(({ name, parts: of }) => of.map(part => ({ name, part })));
  parts.sort((one, other) => one.part.ts - other.part.ts);
  return table(parts.length > tableRows ? `The first ${tableRows} of ${parts.length} executions` : "Executions, by their beginnings",
    [["Probe", ""], ["Where", ""], ["Begins after", "number"], ["Takes", "number"]],
    parts.slice(0, tableRows).map(({ name, part }) => row(called(part),
      [name, part.ts < chosen.ts ? "before it" : micro(part.ts - chosen.ts), micro(part.dur)], ["", "number", "number"])));
}

// `from`: the probes with their slowest executions, partsOf(chosen), what went on meanwhile, stamp(one), when one was, and what to say
// of them all.
export class TimeLine {
  constructor(container, from) {
    const { probes } = from;
    probes.sort(order);
    Object.assign(this, { from, probes, rank: 0, asked: 0, probe: element("select", ""), list: element("select", ""),
      slower: element("button", "Next slower", { type: "button" }), faster: element("button", "Next faster", { type: "button" }),
      told: element("p", "", { class: "note", role: "status" }), picture: element("div", "", { class: "lanes" }) });
    const tools = element("p", "", { class: "tools" });
    for (const [text, select] of [["Probe ", this.probe], ["Slowest ", this.list]]) {
      const label = element("label", text);
      label.append(select);
      tools.append(label);
    }
    tools.append(this.slower, this.faster);
    const several = new Set(probes.map(({ about: one }) => one.pid)).size > 1;
    this.probe.append(...probes.map(({ about: one }, n) =>
      element("option", called(one) + (several ? `, process ${one.pid}` : ""), { value: n })));
    container.append(tools, this.told, this.picture);
    this.probe.addEventListener("change", () => this.choose(0));
    this.list.addEventListener("change", () => this.choose(Number(this.list.value)));
    this.slower.addEventListener("click", () => this.choose(this.rank - 1));
    this.faster.addEventListener("click", () => this.choose(this.rank + 1));
    drawn(this.picture, () => this.draw());
  }

  get slowest() {
    return this.probes[Number(this.probe.value)].slowest;
  }

  // The first one where there is none with the key.
  chooseProbe(key) {
    this.probe.value = String(Math.max(this.probes.findIndex(({ key: one }) => one === key), 0));
    return this.choose(0);
  }

  async choose(rank) {
    const mine = ++this.asked, chosen = this.slowest[rank];
    this.rank = rank;
    this.list.replaceChildren(...this.slowest.map((one, n) =>
      element("option", `${n + 1}: ${micro(one.dur)}, ${this.from.stamp(one)}`, { value: n })));
    this.list.value = String(rank);
    this.slower.disabled = rank === 0;
    this.faster.disabled = rank === this.slowest.length - 1;
    say(this.told, "The trace is being read");
    const { parts, left } = await this.from.partsOf(chosen);
    if (mine !== this.asked) return;
    this.shown = { chosen, leftParts: left, ...lanesOf(parts, chosen) };
    this.draw();
  }

  draw() {
    if (!this.shown) return;
    const { chosen, lanes, left, leftParts } = this.shown;
    say(this.told, `${called(chosen)} took ${micro(chosen.dur)}, ended by thread ${threadOf(chosen)}. ` +
      "The other threads are those of its process. " + this.from.whole + (left ? ` ${number(left)} more threads were at work.` : "") +
      (leftParts ? ` ${number(leftParts)} shorter executions are not drawn.` : ""));
    const pixels = this.picture.clientWidth;
    this.picture.replaceChildren(axis(chosen, pixels), ...lanes.flatMap(lane => drawLane(lane, chosen, pixels)), partsTable(lanes, chosen));
  }
}

export async function show(container, contents) {
  const { probes, count, left, lost } = await slowestOf(contents);
  const whole = `The trace has ${number(count)} executions with their times.` +
    (left ? ` ${number(left)} more are too many for the picture.` : "") + (lost ? ` ${number(lost)} records of all probes were lost.` : "");
  if (count)
    return new TimeLine(container, { probes, whole, partsOf: chosen => partsOf(contents, chosen), stamp: one => `at ${(one.ts / 1e6).toFixed(6)} s` }).choose(0);
  container.append(element("p", "The trace has no executions with a time: no lat, tpt, kernel or span."));
}
