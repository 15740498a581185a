// SPDX-License-Identifier: MIT
// Blocks with names, beside and below each other. A name has the same colour everywhere.

import { element } from "./elements.js";

const colours = 6, rowPixels = 22, textLeast = 32, thin = 4;

function colourOf(name) {
  let hash = 0x811c9dc5; // FNV-1a
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 0x01000193) >>> 0;
  return `block-${hash % colours}`;
}

// `begin` and `width` are shares of the picture, which has so many pixels. A name that has no room is left out.
export function block(kind, name, title, { begin, width, row, pixels }) {
  const made = element(kind, width * pixels < textLeast ? "" : name, { class: `block ${colourOf(name)}`, title });
  made.classList.toggle("thin", width * pixels < thin);
  made.style.left = `${100 * begin}%`;
  made.style.width = `max(1px, ${100 * width}%)`;
  made.style.top = `${row * rowPixels}px`;
  return made;
}

export function setRows(picture, rows) {
  picture.style.height = `${rows * rowPixels}px`;
}

// Draws now, and whenever the picture has another width.
export function drawn(picture, draw) {
  let pixels = 0;
  new ResizeObserver(() => {
    if (picture.clientWidth === pixels) return;
    pixels = picture.clientWidth;
    draw();
  }).observe(picture);
}

export function table(caption, headings, rows) {
  const made = element("table", ""), head = element("tr", ""), body = element("tbody", ""), top = element("thead", "");
  head.append(...headings.map(([heading, kind]) => element("th", heading, { scope: "col", class: kind })));
  top.append(head);
  body.append(...rows);
  made.append(element("caption", caption), top, body);
  const scroll = element("div", "", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption });
  scroll.append(made);
  return scroll;
}
