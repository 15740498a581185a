// SPDX-License-Identifier: MIT
// The server's answers, and how their figures are written. The token goes in a header, which
// EventSource cannot send: streams are read from fetch.

const kept = "spex-token";

// A token behind "#token=" is taken from the address at once: the fragment is never sent.
export function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  keepToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

export const hasToken = () => sessionStorage.getItem(kept) !== null;

export function keepToken(token) {
  sessionStorage.setItem(kept, token);
}

export class Refused extends Error {
  constructor(status, text) {
    super(text.trim() || `the server answers ${status}`);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const token = sessionStorage.getItem(kept);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(path, { ...options, headers });
  if (!answer.ok && !answer.headers.get("Content-Type")?.startsWith("application/json"))
    throw new Refused(answer.status, await answer.text());
  return answer;
}

export async function probesOf(process) {
  return (await ask(`/api/probes?process=${process}`)).json();
}

// What the server keeps of the last hour; of one probe, by its number there, in full.
export async function historyOf(process, probe) {
  return (await ask(`/api/history?process=${process}${probe === undefined ? "" : `&probe=${probe}`}`)).json();
}

export async function told(name) {
  return (await ask(`/api/${name}`)).json();
}

// A trace in a format, or what has changed in it since another one: the file's name, its contents, and what of it could not be read.
export async function traceAs(name, format, before) {
  const answer = await ask(`/api/trace?${new URLSearchParams({ name, format, ...(before ? { before } : {}) })}`);
  const [, file] = /filename="([^"]*)"/.exec(answer.headers.get("Content-Disposition")) ?? [null, "trace"];
  return { file, contents: await answer.blob(), problem: answer.headers.get("Spex-Problem") };
}

// Switches probes, or sets a budget. Tells for each process what has come of it.
export async function change(order) {
  const headers = { "Content-Type": "application/json" };
  const answer = await ask("/api/set", { method: "POST", headers, body: JSON.stringify(order) });
  return (await answer.json()).processes;
}

// Calls take(name, data) for each event, until the stream ends.
export async function follow(process, take, signal) {
  const answer = await ask(process ? `/api/events?process=${process}` : "/api/events", { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [], end = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parts.push(value);
    end = (end + value.slice(-2)).slice(-2);
    if (end !== "\n\n") continue;
    const events = parts.join("").split("\n\n").slice(0, -1);
    parts = [];
    for (const event of events) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event);
      take(name, JSON.parse(data));
    }
  }
}

const prefixes = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

function scaled(value, steps, space) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const [size, unit] = steps.find(([size]) => Math.abs(value) >= size) ?? steps.at(-1);
  const shown = value / size;
  return Number(shown.toPrecision(Math.abs(shown) >= 1000 ? 4 : 3)) + (unit ? space + unit : "");
}

export const number = value => scaled(value, prefixes, " ");
export const seconds = value => (value === 0 ? "0 s" : scaled(value, units, " "));
export const amount = (value, unit) => (unit === "s" ? seconds(value) : number(value));
export const bytes = value => `${number(value)}${value >= 1000 ? "B" : " B"}`;
export const percent = share =>
  Number.isFinite(share) ? `${Number((100 * share).toPrecision(share < 0.1 ? 2 : 3))} %` : "–";
export const small = share => (share > 0 && share < 1e-4 ? "< 0.01 %" : percent(share));

// "low to high", or nothing where the bounds are not known or say nothing more.
export function range(low, high, write) {
  if (low === null || high === null || low === undefined || high === undefined) return "";
  return write(low) === write(high) ? "" : `${write(low)} to ${write(high)}`;
}

// The upper bound of a bucket of times.
export const bound = bucket => seconds(Number((1e-8 * 10 ** (bucket / 10)).toPrecision(2)));
