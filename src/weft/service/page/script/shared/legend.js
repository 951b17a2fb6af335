/** What the drawings of the links mean. */

import { make, show } from "./dom.js";
import { LEVELS, thread } from "./link.js";

/** Write the legend of a score, or hide it if there is none. */
export function writeLegend(node, score) {
  const shown = score !== null && score.links.length > 0;
  show(node, shown);
  if (!shown) return;
  const steps = LEVELS.map((name, level) => make("span", { class: "step", title: name }, thread(level, false)));
  const torn = make("span", { class: "step marked" }, thread(0, true), score.mark);
  node.replaceChildren("weak ", ...steps, " strong ", torn, make("span", { class: "scale", text: scaleText(score.scale) }));
}

/** Return what the links are measured against; the scale is the same for all texts. */
export function scaleText({ kind, low, high, reference }) {
  if (kind === "percentile") return `The scale is the same for every text: strength among links in ${reference}.`;
  return `The scale is the same for every text: from ${low} to ${high}.`.replaceAll("-", "−");
}
