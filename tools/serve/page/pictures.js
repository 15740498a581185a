// SPDX-License-Identifier: MIT
// Pictures of recorded traces, in a dialog; and what pictures of blocks beside and below each other have in common.

import { traceAs } from "./data.js";
import { byId, element, say } from "./elements.js";
import * as flame from "./flame.js";
import * as timeline from "./timeline.js";

const kinds = [["Flame graph", "folded", flame.show], ["Time line", "chrome", timeline.show]];
// What is asked for last is shown, if the dialog is still open then.
let asked = 0;

async function open(name, [what, format, show]) {
  const mine = ++asked, contents = byId("picture-contents"), state = byId("picture-state");
  say(byId("picture-title"), `${what} of ${name === "." ? "the whole folder" : name}`);
  contents.replaceChildren();
  say(state, "The trace is being read");
  byId("picture").showModal();
  try {
    const { contents: exported, problem } = await traceAs(name, format);
    const part = element("div", "");
    if (mine !== asked) return;
    contents.append(part);
    await show(part, exported);
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
