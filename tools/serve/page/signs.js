// SPDX-License-Identifier: MIT
// What somebody should know at once: losses, the budget, what does not answer, anomalies.

import { number, percent, seconds } from "./data.js";
import { byId, element } from "./elements.js";
import { isHeld, shown } from "./model.js";

const over = 1.25, lookBack = 10, staleAfter = 3;

// By the accounts of the budget, which have what it costs to answer this page.
function overBudget() {
  const budget = shown.interval?.budget, last = shown.totals.slice(-lookBack).map(({ spent }) => spent);
  if (!(budget > 0) || last.length < lookBack || last.some(spent => (spent ?? null) === null)) return null;
  const share = last.reduce((sum, spent) => sum + spent, 0) / last.length;
  return share > over * budget + 0.003 ? `probes take ${percent(share)} of the CPU time, the budget is ${percent(budget)}` : null;
}

const probes = (count, rest) => `${count} ${count === 1 ? "probe" : "probes"} ${rest}`;

// [kind, text, where to look] of each.
function signs({ stale, silent, anomalies, leftOut }) {
  const { figures } = shown.interval ?? { figures: null }, made = [];
  const add = (kind, text, where = "") => { if (text) made.push([kind, text, where]); };
  const lost = figures?.records.lost ?? 0, held = [...shown.probes.values()].filter(isHeld).length;
  if (silent && !shown.ended) add("bad", "the process does not answer");
  if (stale > staleAfter && !shown.ended) add("bad", `no figures for ${seconds(Math.floor(stale))}`);
  if (lost) add("bad", `${number(lost)} records lost in the last second`, "#probes");
  else if (shown.lost) add("warn", `${number(shown.lost)} records lost since this page follows the process`, "#probes");
  add("bad", overBudget());
  if (held) add("warn", probes(held, `${held === 1 ? "is" : "are"} held off for a part of the time by the budget`), "#probes");
  if (anomalies) add("warn", `${anomalies} ${anomalies === 1 ? "anomaly goes" : "anomalies go"} on`, "#anomalies");
  if (shown.interval?.probes_left_out) add("warn", probes(shown.interval.probes_left_out, "more are not shown"));
  if (figures?.unfollowed) add("warn", `probes are off in ${number(figures.unfollowed)} children of forks`);
  if (leftOut) add("warn", `${number(leftOut)} more processes are not followed, as there are too many`);
  return made;
}

export function render(about) {
  const made = signs(about), list = byId("signs");
  if (!made.length && shown.interval?.figures.seconds > 0 && !shown.ended) made.push(["good", "nothing is lost, and nothing is held off", ""]);
  const text = JSON.stringify(made);
  if (list.dataset.text === text) return;
  list.dataset.text = text;
  const marks = { bad: "▲", warn: "△", good: "✓" };
  list.replaceChildren(...made.map(([kind, said, where]) => {
    const item = element("li", "", { class: kind });
    item.append(element("span", `${marks[kind]} `, { "aria-hidden": "true" }), where ? element("a", said, { href: where }) : said);
    return item;
  }));
}
