// SPDX-License-Identifier: MIT
// The slowest executions of a running program: of each probe of times the program tells one, the slowest of the last 10 to 20 s. They are
// kept here, and drawn on the time line that recorded traces have.

import { clock } from "./charts.js";
import { seconds } from "./data.js";
import { byId } from "./elements.js";
import { called, keyOf, shown } from "./model.js";
import { showPicture } from "./pictures.js";
import { TimeLine } from "./timeline.js";

const keptMost = 60, probesMost = 1000, sameMs = 1;
// By the probe's key: one execution, for its name and type, and all, the newest last.
const kept = new Map();

const isSame = (one, other) => one.tid === other.tid && Math.abs(one.end - other.end) < 1000 * sameMs;

// As an event of a trace: times in microseconds. Reports tell an execution again, as long as none is slower; the end of each is
// converted anew.
function executionOf(told, { seconds: length, end_ns: end, thread, cpu }) {
  return { name: called(told), cat: told.type, pid: shown.process, tid: thread, dur: 1e6 * length, ts: end / 1000 - 1e6 * length, end: end / 1000, args: { cpu } };
}

export function take({ figures }) {
  for (const told of figures.probes) {
    if (!told.slowest) continue;
    const key = keyOf(told), one = executionOf(told, told.slowest);
    if (!kept.has(key) && kept.size === probesMost) continue;
    const { slowest } = kept.get(key) ?? kept.set(key, { key, about: one, slowest: [] }).get(key);
    if (slowest.some(other => isSame(one, other))) continue;
    slowest.push(one);
    if (slowest.length > keptMost) slowest.shift();
  }
  byId("slowest").disabled = !kept.size;
}

export function forget() {
  kept.clear();
  byId("slowest").disabled = true;
}

const lacks = "Of each probe the program tells one recorded execution, the slowest of the last 10 to 20 seconds. Those are drawn that went on " +
  "meanwhile. So where nothing is drawn the threads may have worked all the same, and which spans belong to one request is not known. " +
  "A trace has all of it (spex record).";

function source() {
  const probes = [...kept.values()].map(({ key, about, slowest }) => ({ key, about, slowest: [...slowest].sort((one, other) => other.dur - one.dur) }));
  const all = probes.flatMap(({ slowest }) => slowest);
  const meanwhile = chosen => all.filter(one => one.ts <= chosen.ts + chosen.dur && one.end >= chosen.ts);
  // Where nobody has chosen a probe: the one of whose slowest execution the others tell most, of several the longest.
  const told = probes.map(({ key, slowest: [first] }) => ({ key, parts: meanwhile(first).length, dur: first.dur }));
  const best = told.reduce((one, other) => ((other.parts - one.parts || other.dur - one.dur) > 0 ? other : one)).key;
  return { best, probes, whole: lacks, stamp: one => `ended at ${clock(one.end / 1000)}`,
    partsOf: async chosen => ({ parts: meanwhile(chosen).map(one => ({ ...one })), left: 0 }) };
}

byId("slowest").addEventListener("click", () => showPicture(`Slowest executions of ${shown.program} ${shown.process}`, container => {
  const from = source();
  return new TimeLine(container, from).chooseProbe(kept.has(shown.chosen) ? shown.chosen : from.best);
}));
