// SPDX-License-Identifier: MIT
// The part of time that all charts show, and what of the page its address carries.

export const view = { range: 120, newest: 0, paused: null, zoom: null };
const changed = new Set();

export const onChange = call => changed.add(call);
const tell = () => { for (const call of changed) call(); };

// From when to when, in milliseconds.
export function span() {
  if (view.zoom) return view.zoom;
  const to = view.paused ?? view.newest;
  return [to - 1000 * view.range, to];
}

// Milliseconds in which charts move so far that it is worth to draw them: a sixtieth of their width, five seconds at most.
export function chartStep() {
  const [from, to] = span();
  return Math.min(Math.max((to - from) / 60, 1000), 5000);
}

export const isLive = () => view.paused === null && !view.zoom;
export const inSpan = time => { const [from, to] = span(); return time >= from && time <= to + 1; };

export function setRange(seconds) {
  Object.assign(view, { range: seconds, zoom: null });
  tell();
}

export function pause() {
  view.paused = view.newest;
  tell();
}

export function goLive() {
  Object.assign(view, { paused: null, zoom: null });
  tell();
}

export function zoomTo(from, to) {
  if (to - from < 3000) return;
  view.zoom = [from, to];
  tell();
}

// Moves what is shown by half of it.
export function move(sign) {
  const [from, to] = span(), by = (sign * (to - from)) / 2;
  view.zoom = [from + by, to + by];
  if (view.zoom[1] >= view.newest) Object.assign(view, { zoom: null, paused: null });
  tell();
}

// The address: process, program, probe, filter, sort, range; and what is shown of the past.

export function readAddress() {
  const asked = new URLSearchParams(location.search), number = name => Number(asked.get(name)) || 0;
  if (number("range") > 0) view.range = number("range");
  if (number("from") > 0 && number("to") > number("from")) view.zoom = [1000 * number("from"), 1000 * number("to")];
  return { process: number("process"), program: asked.get("program") ?? "", probe: asked.get("probe") ?? "",
    filter: asked.get("filter") ?? "", sort: asked.get("sort") ?? "" };
}

export function writeAddress(parts) {
  const told = new URLSearchParams();
  for (const [name, value] of Object.entries(parts)) if (value) told.set(name, value);
  if (view.range !== 120) told.set("range", view.range);
  if (view.zoom) told.set("from", Math.round(view.zoom[0] / 1000)), told.set("to", Math.round(view.zoom[1] / 1000));
  const address = location.pathname + (String(told) ? `?${told}` : "");
  if (address !== location.pathname + location.search) history.replaceState(null, "", address);
}
