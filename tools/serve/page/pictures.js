// SPDX-License-Identifier: MIT
// Pictures of recorded traces, in a dialog; and what pictures of blocks beside and below each other have in common.

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

async function open(name, [what, format, show]) {
  const mine = ++asked, contents = byId("picture-contents"), state = byId("picture-state");
  const called = one => (one === "." ? "the whole folder" : one), before = what === difference[0] ? byId("before").value : "";
  if (what === difference[0] && (!before || before === name)) {
    say(byId("traces-state"), "A difference is to another trace: choose it as “compare with” above the table.");
    byId("before").focus();
    return;
  }
  say(byId("picture-title"), `${what} of ${called(name)}${before ? ` to ${called(before)}` : ""}`);
  contents.replaceChildren();
  say(state, "The trace is being read");
  byId("picture").showModal();
  try {
    const { contents: exported, problem, file } = await traceAs(name, format, before);
    const part = element("div", "");
    if (mine !== asked) return;
    contents.append(part);
    await show(part, exported, file);
    if (mine === asked) say(state, problem ? `Not all could be read: ${problem}` : "");
  } catch (error) {
    if (mine === asked) say(state, `There is no picture: ${error.message}`);
  }
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
