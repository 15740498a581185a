// SPDX-License-Identifier: MIT
// Elements of the page. What others have named only becomes text.

export const byId = id => document.getElementById(id);

export function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A text that is there is changed in its place, which is drawn for less than a new one.
export function say(where, text) {
  const { firstChild: first } = where;
  if (first instanceof Text && !first.nextSibling) {
    if (first.data !== text) first.data = text;
  } else if (where.textContent !== text) {
    where.textContent = text;
  }
}

// A figure with its interval below it.
export function withInterval(cell, text, interval) {
  if (cell.dataset.text === text + interval) return cell;
  cell.dataset.text = text + interval;
  cell.replaceChildren(text, ...(interval ? [element("span", interval, { class: "note" })] : []));
  return cell;
}

export function tile(name, value, note) {
  const made = element("div", "");
  made.append(element("dt", name), element("dd", value), ...(note ? [element("dd", note, { class: "note" })] : []));
  return made;
}

// Puts tiles in the place of others; those that are alike are kept, and their texts changed.
export function replaceTiles(where, made) {
  const alike = (one, other) => one.className === other.className && one.children.length === other.children.length;
  for (const [n, next] of made.entries()) {
    const old = where.children[n];
    if (!old) where.append(next);
    else if (old.className || !alike(old, next)) old.replaceWith(next);
    else for (const [c, child] of [...next.children].entries()) say(old.children[c], child.textContent);
  }
  while (where.children.length > made.length) where.lastElementChild.remove();
}

// A tile of several parts, none of which is broken where there is room for it.
export function listTile(name, parts, note) {
  const made = tile(name, "", note);
  made.classList.add("list");
  made.querySelector("dd").append(...parts.flatMap(part => [element("span", part), " "]));
  return made;
}

// A row whose first cell is its heading. A cell is a text, a [figure, interval], or an element; kinds are their classes, or one
// for all.
export function row(heading, cells, kinds) {
  const made = element("tr", "");
  made.append(element("th", heading, { scope: "row" }));
  for (const [n, cell] of cells.entries()) {
    const inner = made.appendChild(element("td", "", { class: Array.isArray(kinds) ? kinds[n] : kinds }));
    if (Array.isArray(cell)) withInterval(inner, ...cell);
    else inner.append(cell);
  }
  return made;
}

// Kinds are the classes of the headings behind the first, or one for all.
export function fillTable(id, headings, rows, kinds = "number") {
  const table = byId(id), head = element("tr", "");
  head.append(...headings.map((heading, n) =>
    element("th", heading, { scope: "col", class: n ? (Array.isArray(kinds) ? kinds[n - 1] : kinds) : "" })));
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(...rows);
}

// Fills a list of choices, and keeps what was chosen if it is still there.
export function fillSelect(id, texts) {
  const list = byId(id), chosen = list.value;
  list.replaceChildren(...texts.map((text, n) => element("option", text, { value: n })));
  if (chosen !== "" && Number(chosen) < texts.length) list.value = chosen;
}
