// SPDX-License-Identifier: MIT
// The probes of the process that is followed, and what is known of them over time: the last two minutes in full, the last hour
// in few points, and the probe that was chosen in full for the last hour.

import { number } from "./data.js";

const recentMost = 120, briefMost = 900, detailMost = 3600;

export const shown = { process: 0, program: "", programs: [], probes: new Map(), providers: new Set(), totals: [], lost: 0,
  canChange: false, interval: null, now: null, ended: 0, chosen: "", detail: null };

export const keyOf = probe => [probe.provider ?? "", probe.name ?? "", probe.id ?? "", probe.type].join("|");

// As users write it in a selection.
export function called(about) {
  const name = about.name ?? String(about.id);
  return about.provider && shown.providers.size > 1 ? `${about.provider}/${name}` : name;
}

export function probeOf(about) {
  const key = keyOf(about);
  if (!shown.probes.has(key)) {
    shown.probes.set(key, { key, about, recent: [], brief: [], figures: null, leaseEnd: 0, on: false, period: 0, sampling: null,
      number: null, row: null });
    shown.providers.add(about.provider ?? "");
  }
  return shown.probes.get(key);
}

export const chosen = () => shown.probes.get(shown.chosen);
export const valuesOf = probe => probe?.figures?.values ?? [];
export const unitOf = (probe, value = 0) => valuesOf(probe)[value]?.unit ?? probe?.units?.[value];
export const pointsOf = probe => (shown.detail?.key === probe?.key ? shown.detail.points : probe?.recent ?? []);

// Whether the budget keeps it off for a part of the time.
export const heldShare = probe => {
  const length = shown.interval?.figures.seconds;
  return probe.figures && length > 0 ? Math.min(probe.figures.held_seconds / length, 1) : 0;
};
export const isHeld = probe => heldShare(probe) > 0.01;
export const isSelected = probe => probe.on || isHeld(probe);

export const rateText = point => ((point?.least ?? null) === null ? number(point?.rate) : `≥ ${number(point.least)}`);

const quantiles = ["p50", "p90", "p99"];

function valueOf(from) {
  const value = {};
  for (const name of quantiles)
    Object.assign(value, { [name]: from[name] ?? null, [`${name}Low`]: from[`${name}_low`] ?? null, [`${name}High`]: from[`${name}_high`] ?? null });
  return value;
}

// `least`: what the rate is at least, where more is not known.
function makePoint({ time, seconds, rate, least = null, margin, overhead, lost, values, buckets }) {
  const known = margin !== null && margin !== undefined && rate !== null;
  return { time, seconds, rate, least, rateLow: known ? Math.max(rate - margin, 0) : null, rateHigh: known ? rate + margin : null,
    overhead, lost, values, buckets };
}

function pointOf(figures, time, seconds, programSeconds) {
  const { first, counts } = figures.histogram ?? { counts: [] };
  const bound = figures.rate_at_least;
  return makePoint({ time, seconds, rate: bound ? null : figures.rate ?? null, least: bound ? figures.rate : null, margin: figures.count_margin === null ? null : figures.count_margin / seconds,
    overhead: programSeconds > 0 ? figures.overhead_seconds / programSeconds : null, lost: figures.lost ?? 0,
    values: figures.values.map(valueOf), buckets: counts.flatMap((count, n) => (count > 0 ? [[first + n, count / seconds]] : [])) });
}

const briefOf = point => ({ time: point.time, rate: point.rate, p99: point.values[0]?.p99 ?? null, overhead: point.overhead });

// Keeps the newest in full, and every second one of the others.
function addBrief(list, point) {
  list.push(point);
  if (list.length > briefMost) list.splice(0, list.length, ...list.filter((_, n) => n % 2 || n > (2 * briefMost) / 3));
}

function forget(list, before) {
  const late = list.findIndex(({ time }) => time >= before);
  list.splice(0, Math.max(late < 0 ? list.length : late, list.length - detailMost));
}

function addPoint(probe, point) {
  probe.recent.push(point);
  if (probe.recent.length > recentMost) probe.recent.shift();
  addBrief(probe.brief, briefOf(point));
  if (shown.detail?.key !== probe.key) return;
  shown.detail.points.push(point);
  forget(shown.detail.points, point.time - 3600000);
}

export function takeInterval(interval) {
  const { figures } = interval, seconds = figures.seconds, { time } = interval;
  shown.interval = shown.now = interval;
  shown.lost += figures.records.lost;
  if (!(seconds > 0)) return;
  const share = value => (figures.program_seconds > 0 ? value / figures.program_seconds : null);
  addBrief(shown.totals, { time, seconds, probes: share(figures.overhead_seconds), threads: share(figures.collector_seconds),
    lost: figures.records.lost, spent: interval.budget_seconds > 0 ? interval.budget_spent / interval.budget_seconds : null });
  for (const told of figures.probes) {
    const probe = probeOf(told);
    Object.assign(probe, { figures: told, on: told.sites_on > 0, period: told.period, sampling: told.sampling,
      leaseEnd: told.lease_seconds ? Date.now() + 1000 * told.lease_seconds : 0 });
    addPoint(probe, pointOf(told, time, seconds, figures.program_seconds));
  }
}

// What the server keeps of the time before the page was opened.

export function takeHistory(told) {
  const { times } = told, oldest = list => list[0]?.time ?? Infinity;
  const totals = times.map((time, n) => ({ time, seconds: told.seconds[n], probes: told.overhead[n], threads: told.collector[n], lost: told.lost[n] ?? 0 }));
  shown.totals.unshift(...totals.filter(({ time }) => time < oldest(shown.totals) - 1));
  for (const [number, about] of told.probes.entries()) {
    const probe = probeOf(about), { rate, p99, overhead } = about, until = oldest(probe.brief) - 1;
    probe.number = number;
    probe.units = about.values.map(({ unit }) => unit);
    probe.brief.unshift(...times.flatMap((time, n) => (time < until && (rate[n] ?? overhead[n] ?? null) !== null
      ? [{ time, rate: rate[n], p99: p99[n], overhead: overhead[n] }] : [])));
  }
}

export function takeDetail(key, { times, seconds, probe }) {
  const bucketsOf = list => (list ?? []).slice(1).flatMap((rate, n) => (rate > 0 ? [[list[0] + n, rate]] : []));
  const at = (from, n) => Object.fromEntries(Object.entries(from).filter(([, list]) => Array.isArray(list)).map(([name, list]) => [name, list[n]]));
  const points = times.flatMap((time, n) => (probe.rate[n] === null && probe.overhead[n] === null ? [] : [makePoint({ time,
    seconds: seconds[n], rate: probe.rate[n], margin: probe.margin[n], overhead: probe.overhead[n], lost: probe.lost[n],
    values: probe.values.map(value => valueOf(at(value, n))), buckets: bucketsOf(probe.histograms[n]) })]));
  if (shown.chosen !== key) return;
  const newer = pointsOf(shown.probes.get(key)).filter(({ time }) => !points.length || time > points.at(-1).time + 1);
  shown.detail = { key, points: [...points, ...newer] };
}

// Where time is missing between two points: more than what lies between their neighbours.
export function withGaps(points) {
  const apart = n => points[n].time - points[n - 1].time, made = [];
  for (const [n, point] of points.entries()) {
    const usual = Math.max(1500, n > 1 ? apart(n - 1) : 0, n > 0 && n + 1 < points.length ? apart(n + 1) : 0);
    if (n && apart(n) > 2.5 * Math.min(usual, 120000)) made.push({ ...point, time: point.time - 1, gap: true });
    made.push(point);
  }
  return made;
}
