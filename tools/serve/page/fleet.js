// SPDX-License-Identifier: MIT
// What a fleet has measured, as `spex fleet history --json` tells it.

import { amount, number, range } from "./data.js";
import { byId, fillTable, row, say } from "./elements.js";

const perSecond = value => `${number(value)}/s`;

function figure(values, name) {
  if (!values) return "–";
  const write = value => amount(value, values.unit);
  return [write(values[name]), range(values[`${name}_low`], values[`${name}_high`], write)];
}

// A row for each value of a probe, or one where it has none.
function rows(probe, mixed) {
  const name = `${mixed && probe.provider ? `${probe.provider}/` : ""}${probe.name ?? probe.id}`;
  return (probe.values.length ? probe.values : [null]).map(values => row(name, [
    probe.type, number(probe.instances), number(probe.count), number(probe.lost), [perSecond(probe.rate), range(probe.rate_low, probe.rate_high, perSecond)],
    values?.name ?? "–", ...["p50", "p90", "p99"].map(quantile => figure(values, quantile))], ["", ...Array(4).fill("number"), "", ...Array(3).fill("number")]));
}

export function show({ probes }) {
  const mixed = new Set(probes.map(({ provider }) => provider)).size > 1;
  say(byId("fleet-state"), probes.length ? `${probes.length} ${probes.length === 1 ? "probe" : "probes"}` : "Nothing was measured yet.");
  fillTable("fleet-table", ["Probe", "Type", "Instances", "Executions", "Lost", "Each, a second", "Value", "p50", "p90", "p99"],
    probes.flatMap(probe => rows(probe, mixed)));
}
