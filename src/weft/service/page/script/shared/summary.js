/** What a score says, in plain sentences. */

import { sentenceOf } from "./api.js";
import { count, make } from "./dom.js";
import { wholePercent } from "./link.js";

/** Return the percentile of a score; null for a model without reference texts. */
export function percentileOf(score) {
  return score.percentiles?.written ?? null;
}

/** Names of genres in plain words, where the service has short ones. */
const GENRES = { howto: "how-to", llm: "machine-written", paper: "research paper", popsci: "popular science", story5: "very short story" };

/** Return a genre in plain words. */
export function genreName(genre) {
  return GENRES[genre] ?? genre;
}

/** Return the score in one plain sentence, as parts of which the important ones are strong. */
export function summaryParts(score) {
  const place = percentileOf(score);
  const shuffles = score.shuffles_beaten ?? null;
  const shuffled = score.percentiles?.shuffled ?? null;
  const parts = [];
  if (place !== null) parts.push("Scores higher than ", strong(wholePercent(place / 100)), ` of ${referenceName(score)}${genreRemark(score)}`);
  if (shuffles !== null) parts.push(place === null ? "Scores higher than " : " and ", strong(wholePercent(shuffles)), " of random orders of its own sentences");
  else if (shuffled !== null) parts.push(" and ", strong(wholePercent(shuffled / 100)), " of the same texts in random order");
  if (!parts.length) parts.push("Its score is ", strong(shown(score.value)));
  return [...parts, ". ", foundMarks(score)];
}

/** Return how many links are marked, or that none is; a model that cannot mark any says nothing. */
export function foundMarks(score) {
  const marked = score.links.filter((link) => link.marked).length;
  if (marked) return `${marked === 1 ? "One" : marked} ${score.mark}${marked === 1 ? "" : "s"} found.`;
  return sentenceOf(score.note);
}

function referenceName({ genre, reference }) {
  return genre ? reference.replace(genre, genreName(genre)) : reference;
}

function genreRemark(score) {
  if (!score.genre_guessed) return "";
  return score.genre === "all" ? " (genre unclear)" : " (genre guessed)";
}

/** Return a score with two digits, or a dash. */
export function shown(value) {
  return value === null || value === undefined ? "–" : value.toFixed(2).replace("-", "−");
}

/** Return a percentile as a place, such as "21st"; never the 0th or 100th. */
export function ordinal(percentile) {
  const place = Math.min(99, Math.max(1, Math.floor(percentile)));
  const ending = { one: "st", two: "nd", few: "rd", other: "th" }[new Intl.PluralRules("en", { type: "ordinal" }).select(place)];
  return `${place}${ending}`;
}

function strong(text) {
  return make("strong", { text });
}

/** Return the small print of a score. */
export function detailsOf(score) {
  const fluency = score.fluency ?? null;
  const parts = [`Score ${shown(score.value)}`, fluency !== null && `fluency ${shown(fluency)}`, count(score.spans.length, "sentence"), score.model];
  return parts.filter(Boolean).join(" · ");
}

/** What to do about a warning, by its code; the warning itself is a sentence of the service. */
const ADVICE = {
  "no-score": "Write at least two sentences, each with a full stop.",
  "few-sentences": "The score is that of a single link.",
  "not-english": "Do not use the score and the threads of this text.",
  "mixed-languages": "Score the English part alone.",
  list: "Remove list items and headings, or write them as sentences.",
  transcript: "Remove labels and timestamps before you trust the score.",
  repetition: "Do not use the score. Remove the repeated sentences.",
  "long-sentence": "Add punctuation, or split long sentences.",
  "unknown-words": "Check how the text was extracted.",
};

/** Return a warning as a sentence, without what it says about settings of the service. */
export function plainWarning(warning) {
  return sentenceOf(warning.split("; ").filter((part) => !part.includes("`")).join("; "));
}

/** Show the warnings of a score above the text. */
export function showWarnings(node, score) {
  const codes = score?.warning_codes ?? [];
  const items = (score?.warnings ?? []).map((warning, index) => {
    const advice = make("span", { class: "advice", text: ADVICE[codes[index]] ?? "" });
    return make("p", { class: "notice", "data-code": codes[index] }, `${plainWarning(warning)} `, advice);
  });
  node.replaceChildren(...items);
}
