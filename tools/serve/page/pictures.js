// SPDX-License-Identifier: MIT
// Pictures of executions, in a dialog: of recorded traces, and those that others show.

import { traceAs } from "./data.js";
import { byId, element, say } from "./elements.js";
import * as flame from "./flame.js";
import * as timeline from "./timeline.js";

// The picture is drawn and not run: the file that is downloaded can be searched and zoomed.
function showDifference(container, contents, file) {
  const source = URL.createObjectURL(new Blob([contents], { type: "image/svg+xml" }));
  const picture = element("img", "", { src: source, class: "difference", alt: "Flame graph: red takes more time than before, blue less" });
  const link = element("a", `Download ${file}, which can be searched and zoomed`, { href: source, download: file }), line = element("p", "");
  line.append(link);
  container.append(line, picture);
}

const difference = ["Difference", "flamegraph", showDifference];
const kinds = [["Flame graph", "folded", flame.show], ["Time line", "chrome", timeline.show], difference];
// What is asked for last is shown, if the dialog is still open then.
let asked = 0;

// Opens the dialog; fill(container, isShown) draws, and returns what is to be said of it.
export async function showPicture(title, fill) {
  const mine = ++asked, contents = byId("picture-contents"), state = byId("picture-state"), part = element("div", "");
  say(byId("picture-title"), title);
  contents.replaceChildren(part);
  byId("picture").showModal();
  try {
    const told = await fill(part, () => mine === asked);
    if (mine === asked) say(state, told ?? "");
  } catch (error) {
    if (mine === asked) say(state, `There is no picture: ${error.message}`);
  }
}

function open(name, [what, format, show]) {
  const called = one => (one === "." ? "the whole folder" : one), before = what === difference[0] ? byId("before").value : "";
  if (what === difference[0] && (!before || before === name)) {
    say(byId("traces-state"), "A difference is to another trace: choose it as “compare with” above the table.");
    byId("before").focus();
    return;
  }
  say(byId("picture-state"), "The trace is being read");
  showPicture(`${what} of ${called(name)}${before ? ` to ${called(before)}` : ""}`, async (part, isShown) => {
    const { contents, problem, file } = await traceAs(name, format, before);
    if (isShown()) await show(part, contents, file);
    return problem ? `Not all could be read: ${problem}` : "";
  });
}

export function buttons(name) {
  return kinds.map(kind => {
    const made = element("button", kind[0], { type: "button", "aria-label": `${kind[0]} of ${name}` });
    made.addEventListener("click", () => open(name, kind));
    return made;
  });
}

byId("picture-close").addEventListener("click", () => byId("picture").close());
byId("picture").addEventListener("close", () => {
  asked++;
  byId("picture-contents").replaceChildren();
});
