// SPDX-License-Identifier: MIT
// Makes a flame graph of `spex export` answer: it zooms, searches, and goes by the other measure. Names only become text.
(() => { 'use strict';
const svg = document.currentScript.closest('svg'), one = name => svg.querySelector(name);
const tags = [...svg.querySelectorAll('.by')];
const measures = ['time', 'executions'], told = one('.told'), usual = [...told.childNodes];
const frames = [...svg.querySelectorAll('.frames > svg')].map(node => {
  const [caller, ...values] = node.dataset.v.split(' ').map(Number), title = node.querySelector('title').textContent;
  return { node, caller, values, title, name: title.split('\n')[0], narrow: node.classList.contains('n'), text: node.querySelector('text') };
});
let wide = 1200, focus = 0, by = Number(svg.dataset.by), pattern = null;
const columns = letter => (letter > '\u10ff' ? 2 : 1);
function fitting(name, pixels) {
  let room = Math.floor((pixels - 8) / 7.5), begin = '';
  if ([...name].reduce((sum, letter) => sum + columns(letter), 0) <= room) return name;
  if (room-- < 4) return '';
  for (const letter of name) { room -= columns(letter); if (room < 0) break; begin += letter; }
  return begin + '…';
}
function place(frame, x, width, pixels) {
  frame.node.style.display = width * pixels < 0.05 ? 'none' : '';
  frame.node.setAttribute('x', 100 * x + '%');
  frame.node.setAttribute('width', 100 * width + '%');
  frame.text.textContent = fitting(frame.name, width * pixels);
  frame.next = x;
}
function draw() {
  wide = Math.max(document.documentElement === svg ? innerWidth : svg.clientWidth, 720);
  const pixels = wide - 20, callers = new Set();
  if (document.documentElement === svg) svg.setAttribute('width', wide);
  one('.frames').setAttribute('width', pixels);
  box.setAttribute('x', wide - 470);
  for (let n = focus; n >= 0; n = frames[n].caller) callers.add(n);
  const whole = frames[focus].values[by];
  frames.forEach((frame, n) => {
    const caller = frames[frame.caller], within = caller?.within;
    const width = callers.has(n) ? 1 : within && whole > 0 ? frame.values[by] / whole : 0;
    frame.within = within || n === focus;
    place(frame, callers.has(n) || !within ? 0 : caller.next, width, pixels);
    if (within) caller.next += width;
    frame.node.classList.toggle('up', callers.has(n) && n !== focus);
  });
  tags.forEach(tag => { tag.textContent = measures[by]; });
  turn.textContent = 'By ' + measures[1 - by];
  back.hidden = focus === 0;
  mark();
}
function mark() {
  let sum = 0;
  for (const frame of frames) {
    const caller = frames[frame.caller], hit = !frame.narrow && pattern !== null && pattern.test(frame.name);
    frame.node.classList.toggle('hit', hit);
    frame.under = caller?.hit || caller?.under;
    frame.hit = hit;
    if (hit && frame.within && !frame.under) sum += frame.values[by];
  }
  const whole = frames[focus].values[by];
  share.textContent = pattern && whole > 0 ? `${Number((100 * sum / whole).toPrecision(3))} % matched` : '';
}
function zoom(n) { focus = n; draw(); go(n); }
function go(n) {
  for (const frame of frames) frame.node.tabIndex = -1;
  frames[n].node.tabIndex = 0;
  frames[n].node.focus();
}
function seek(text) {
  try { pattern = text ? new RegExp(text, 'i') : null; } catch { pattern = new RegExp(text.replace(/\W/g, '\\$&'), 'i'); }
  mark();
}
const seen = n => n >= 0 && frames[n].node.style.display === '';
const steps = {
  ArrowUp: n => frames[n].caller,
  ArrowDown: n => frames.findIndex((frame, m) => frame.caller === n && seen(m)),
  ArrowLeft: n => frames.findLastIndex((frame, m) => m < n && frame.caller === frames[n].caller && seen(m)),
  ArrowRight: n => frames.findIndex((frame, m) => m > n && frame.caller === frames[n].caller && seen(m)),
};
const html = (name, attributes) => Object.assign(document.createElementNS('http://www.w3.org/1999/xhtml', name), attributes);
const box = document.createElementNS(svg.namespaceURI, 'foreignObject'), tools = html('div', { className: 'tools' });
const share = html('output', {}), back = html('button', { textContent: 'All', title: 'Escape' }), turn = html('button', {});
const search = html('input', { type: 'search', placeholder: 'Search', title: 'Control F' });
search.setAttribute('aria-label', 'Search kernels by a regular expression');
for (const [name, value] of [['y', 8], ['width', 460], ['height', 34]]) box.setAttribute(name, value);
tools.append(share, back, turn, search);
box.append(tools);
svg.append(box);
back.addEventListener('click', () => zoom(0));
turn.addEventListener('click', () => { by = 1 - by; draw(); });
search.addEventListener('input', () => seek(search.value));
frames.forEach((frame, n) => {
  const { node } = frame;
  node.classList.add('acts');
  node.setAttribute('role', 'button');
  node.setAttribute('aria-label', frame.title.replaceAll('\n', '; '));
  node.addEventListener('click', () => zoom(n));
  const tell = () => { told.textContent = fitting(frame.title.replaceAll('\n', ';  '), wide); };
  for (const event of ['focus', 'mouseenter']) node.addEventListener(event, tell);
  node.addEventListener('mouseleave', () => { told.replaceChildren(...usual); });
  node.addEventListener('keydown', event => {
    const to = steps[event.key]?.(n) ?? -1;
    if (event.key === 'Enter' || event.key === ' ') zoom(n); else if (seen(to)) go(to); else return;
    event.preventDefault();
  });
});
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && search.value) { search.value = ''; seek(''); } else if (event.key === 'Escape') zoom(0);
  if (event.key !== 'f' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  search.focus();
  search.select();
});
addEventListener('resize', draw);
frames[0].node.tabIndex = 0;
draw();
})();
