// SPDX-License-Identifier: MIT
// A flame graph of the folded stacks of `spex export`: a block for each calling context of a kernel, as wide as the time in it.

import { block, drawn, setRows, table } from "./blocks.js";
import { number, percent, seconds } from "./data.js";
import { element, row, say } from "./elements.js";

const narrowest = 0.5, dearest = 50;

// "main;sort 1234": nanoseconds of sort where main has called it.
function treeOf(text) {
  const all = { name: "all kernels", caller: null, time: 0, own: 0, inner: new Map() };
  for (const line of text.split("\n")) {
    const [, path, digits] = /^(.*) (\d+)$/.exec(line) ?? [];
    if (path === undefined) continue;
    const own = Number(digits) / 1e9;
    let node = all;
    all.time += own;
    for (const name of path.split(";")) {
      if (!node.inner.has(name)) node.inner.set(name, { name, caller: node, time: 0, own: 0, inner: new Map() });
      node = node.inner.get(name);
      node.time += own;
    }
    node.own += own;
  }
  return all;
}

const innerOf = node => [...node.inner.values()].sort((one, other) => other.time - one.time);

function callersOf(node) {
  const callers = [];
  for (let caller = node.caller; caller; caller = caller.caller) callers.unshift(caller);
  return callers;
}

// The nodes that are drawn while `focus` is as wide as the picture, with their places; those too narrow are counted.
function placed(focus, pixels) {
  const callers = callersOf(focus), left = { count: 0, time: 0 };
  const places = callers.map((node, n) => ({ node, begin: 0, width: 1, row: n, calls: true }));
  const waiting = [{ node: focus, begin: 0, width: 1, row: callers.length }];
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    places.push(place);
    let { begin } = place;
    for (const node of innerOf(place.node)) {
      const width = node.time / focus.time;
      if (width * pixels >= narrowest) {
        waiting.push({ node, begin, width, row: place.row + 1 });
        begin += width;
        continue;
      }
      left.count++;
      left.time += node.time;
    }
  }
  return { places, left };
}

function about({ name, time, own }, all) {
  return `${name}\n${seconds(time)}, ${percent(time / all.time)} of the time; itself ${seconds(own)}`;
}

function pattern(text) {
  try {
    return text ? new RegExp(text, "i") : null;
  } catch {
    return new RegExp(text.replace(/[^\p{L}\p{N}]/gu, "\\$&"), "iu");
  }
}

// The time in what is found; what is found within that counts once.
function foundTime(node, found) {
  if (found.test(node.name)) return node.time;
  return [...node.inner.values()].reduce((sum, inner) => sum + foundTime(inner, found), 0);
}

// By name: the time itself, and with what is within; of a kernel within itself that counts once.
function sumsOf(all) {
  const sums = new Map(), within = new Set();
  const add = node => {
    const sum = sums.get(node.name) ?? sums.set(node.name, { name: node.name, own: 0, time: 0 }).get(node.name);
    const outermost = !within.has(node.name);
    sum.own += node.own;
    if (outermost) sum.time += node.time;
    within.add(node.name);
    node.inner.forEach(add);
    if (outermost) within.delete(node.name);
  };
  all.inner.forEach(add);
  return [...sums.values()].sort((one, other) => other.own - one.own);
}

function sumsTable(all) {
  const sums = sumsOf(all), share = time => [seconds(time), percent(time / all.time)];
  return table(sums.length > dearest ? `The ${dearest} dearest of ${sums.length} kernels` : "Kernels, the dearest first",
    [["Kernel", ""], ["Itself", "number"], ["With those within it", "number"]],
    sums.slice(0, dearest).map(({ name, own, time }) => row(name, [share(own), share(time)], "number")));
}

class Flame {
  constructor(container, all) {
    Object.assign(this, { all, focus: all, places: [], told: element("p", "", { class: "note" }), share: element("output", ""),
      back: element("button", "Show all", { type: "button" }),
      picture: element("div", "", { class: "blocks", role: "group", "aria-label": "Flame graph" }),
      search: element("input", "", { type: "search", placeholder: "a part of the name, or a pattern" }) });
    const tools = element("p", "", { class: "tools" }), label = element("label", "Search ");
    label.append(this.search);
    tools.append(label, this.back, this.share);
    container.append(tools, this.told, this.picture, sumsTable(all));
    this.picture.addEventListener("click", ({ target }) => this.at(target) && this.zoom(this.at(target).node));
    this.picture.addEventListener("keydown", event => this.step(event));
    this.search.addEventListener("input", () => this.mark());
    this.back.addEventListener("click", () => this.zoom(all));
    drawn(this.picture, () => this.draw());
  }

  at(made) {
    return this.places.find(place => place.made === made);
  }

  make(place, pixels) {
    const text = about(place.node, this.all);
    place.made = block("button", place.node.name, text, { ...place, pixels });
    place.made.type = "button";
    place.made.tabIndex = place.node === this.focus ? 0 : -1;
    place.made.setAttribute("aria-label", text);
    place.made.classList.toggle("calls", Boolean(place.calls) || place.node === this.all);
  }

  draw() {
    const { focus, all, picture } = this, pixels = picture.clientWidth, { places, left } = placed(focus, pixels);
    this.places = places.sort((one, other) => one.row - other.row || one.begin - other.begin);
    for (const place of places) this.make(place, pixels);
    picture.replaceChildren(...places.map(({ made }) => made));
    setRows(picture, places.at(-1).row + 1);
    this.back.disabled = focus === all;
    say(this.told, `${seconds(focus.time)} in ${focus === all ? "kernels" : focus.name}, the dearest on the left; below each kernel are ` +
      "those within it, and a click makes it as wide as the picture." +
      (left.count ? ` ${number(left.count)} are too narrow to be drawn, ${percent(left.time / focus.time)} of the time.` : ""));
    this.mark();
  }

  zoom(node) {
    this.focus = node;
    this.draw();
    this.places.find(place => place.node === node).made.focus();
  }

  mark() {
    const { focus } = this, found = pattern(this.search.value.trim());
    for (const { node, made } of this.places) made.classList.toggle("found", Boolean(found?.test(node.name)));
    say(this.share, found ? `${percent(foundTime(focus, found) / focus.time)} of the time shown is found` : "");
  }

  // Where an arrow leads from a place.
  next(key, at) {
    if (key === "ArrowUp") return this.places.find(place => place.node === at.node.caller);
    if (key === "ArrowDown") return this.places.find(place => place.node.caller === at.node);
    if (key === "ArrowRight") return this.places.find(place => place.row === at.row && place.begin > at.begin);
    return key === "ArrowLeft" ? this.places.findLast(place => place.row === at.row && place.begin < at.begin) : undefined;
  }

  step(event) {
    const from = this.at(event.target), to = from && this.next(event.key, from);
    if (!to) return;
    event.preventDefault();
    from.made.tabIndex = -1;
    to.made.tabIndex = 0;
    to.made.focus();
  }
}

export async function show(container, contents) {
  const all = treeOf(await contents.text());
  if (all.time > 0) return new Flame(container, all);
  container.append(element("p", "The trace has no time in kernels."));
}
