/** One link between two sentences: how it is drawn, and what is said about it. */

import { makeSvg } from "./dom.js";

export const LEVELS = ["very weak", "weak", "medium", "strong", "very strong"];
const WHOLE = "M3 3Q17 15 31 3";
const TORN = "M3 3Q8 8 12 9M22 9Q26 8 31 3"; // the thread with a gap in it

/** Return the level of a link, 0 to 4, on the absolute scale; null where the model has none. */
export function levelOf(link) {
  return link.bar === null ? null : Math.min(4, Math.floor(link.bar * 5));
}

/** Return a percentage without a false 0 or 100. */
export function percent(share) {
  return `${Math.min(99, Math.max(1, Math.round(100 * share)))}%`;
}

/** Return how many of 100 others score lower, with the rule of the library: rounded down, and never 100. */
export function wholePercent(share) {
  return `${Math.min(99, Math.floor(Number((100 * share).toFixed(6))))}%`;
}

/** Return the drawing of a link: the weaker, the thinner; a marked one is torn. */
export function thread(level, marked) {
  const path = makeSvg("path", { d: marked ? TORN : WHOLE, class: "thread" });
  return makeSvg("svg", { viewBox: "0 0 34 14", width: 34, height: 14, "aria-hidden": "true", class: `level-${level ?? "none"}` }, path);
}

/** Draw a link into its button. */
export function drawLink(node, link, score, stale) {
  const label = markLabel(link);
  const look = `link${link.marked ? " marked" : ""}${stale ? " stale" : ""}`;
  const state = `${levelOf(link)} ${label} ${look}`;
  node.className = look;
  if (node.dataset.state === state) return;
  node.dataset.state = state;
  node.replaceChildren(thread(levelOf(link), link.marked));
  if (label) {
    const small = document.createElement("small");
    small.textContent = label;
    node.append(small);
  }
}

/** Return what stands beside a marked link: its probability, or that it is weak. */
function markLabel(link) {
  if (!link.marked) return "";
  return link.probability === null ? "weak" : percent(link.probability);
}

/** Return the name of a link, such as "Break, 87% likely". */
export function nameOf(link) {
  if (link.marked && link.probability !== null) return `Break, ${percent(link.probability)} likely`;
  if (link.marked) return "Weak link";
  const level = levelOf(link);
  return level === null ? "Link" : `${LEVELS[level][0].toUpperCase()}${LEVELS[level].slice(1)} link`;
}

/** Return how strong a link is, on the scale that all texts share. */
export function strengthOf(link, score) {
  if (link.bar === null) return "";
  // A weak link is weak beside the other links of its text; beside those of other texts it may be strong.
  const within = link.marked && link.probability === null ? "Weaker than the rest of this text. " : "";
  if (score.scale.kind === "percentile") {
    const place = link.bar < 0.5 ? `Weaker than ${percent(1 - link.bar)}` : `Stronger than ${percent(link.bar)}`;
    return `${within}${place} of links in ${score.scale.reference}.`;
  }
  return `${within}${Math.round(100 * link.bar)} of 100 on the scale of the model.`;
}

/** Return how likely a link that is not marked is a break; the name of a marked one says it. */
export function chanceOf(link) {
  return !link.marked && link.probability !== null ? `A break is ${percent(link.probability)} likely.` : "";
}

/** Return everything about a link in one line, for screen readers. */
export function describeLink(link, score) {
  const where = `Sentence ${link.left + 1} to ${link.left + 2}`;
  return [`${where}: ${nameOf(link)}.`, link.reason, strengthOf(link, score), chanceOf(link)].filter(Boolean).join(" ");
}
