/** Files to keep: JSON, CSV, HTML and PNG, made in the browser. */

import { make } from "./dom.js";
import { scaleText } from "./legend.js";
import { nameOf, strengthOf } from "./link.js";
import { drawPicture } from "./picture.js";
import { problemWords } from "./problems.js";
import { percentileOf, summaryParts } from "./summary.js";

/** Save a file. */
export function save(name, type, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: `${type};charset=utf-8` }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Save a scored text in one of the formats. */
export async function downloadText(format, score, text) {
  if (format === "json") save("weft.json", "application/json", textRecord(score, text));
  if (format === "csv") save("weft.csv", "text/csv", linkTable(score, text));
  if (format === "html") save("weft.html", "text/html", textPage(score, text));
  if (format === "png") save("weft.png", "image/png", await drawPicture(score, text));
}

function sentencesOf(score, text) {
  return score.spans.map(({ start, end }) => text.slice(start, end));
}

function summaryText(score) {
  return summaryParts(score).map((part) => part.textContent ?? part).join("");
}

/** Return the score as the service gave it, with the text; the page's own fields are left out. */
function textRecord(score, text) {
  const { spans, links, scale, mark, meaning, note, ...record } = score;
  return JSON.stringify({ text, ...record }, null, 2);
}

/** Return one row per link. */
function linkTable(score, text) {
  const sentences = sentencesOf(score, text);
  const rows = score.links.map((link) => [
    link.left + 1, link.left + 2, link.value, link.bar, link.probability, link.marked ? score.mark : "", link.reason, sentences[link.left], sentences[link.left + 1],
  ]);
  return table([["left", "right", "value", "bar", "break_probability", "mark", "reason", "left_sentence", "right_sentence"], ...rows]);
}

/** Return one row per text of a class. */
export function classTable(texts) {
  const rows = texts.map(({ id, score, problem }) => [
    id, score?.value, score && percentileOf(score), score?.reference, score?.shuffles_beaten, score?.fluency, score?.links.filter((link) => link.marked).length,
    score?.spans.length, problem ? problemWords(problem).title : score?.warning_codes.join(" "),
  ]);
  return table([["id", "value", "percentile", "reference", "shuffles_beaten", "fluency", "marks", "sentences", "remarks"], ...rows]);
}

/** Return the scores of a class as JSON. */
export function classRecords(texts) {
  const records = texts.map(({ id, text, score, problem }) => {
    if (!score) return { id, text, problem: problem ? problemWords(problem).title : null };
    const { spans, links, scale, mark, meaning, note, ...record } = score;
    return { ...record, id, text };
  });
  return JSON.stringify(records, null, 2);
}

function table(rows) {
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** Return a cell; one that a spreadsheet would take for a formula begins with an apostrophe. */
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const PAGE_STYLE = `body{font:1.1rem/1.9 Charter,Georgia,serif;max-width:38em;margin:3em auto;padding:0 1em;color:#1f2328;background:#fbfaf7}
h1{font-size:1.3rem;line-height:1.4}.note{color:#5d5a52;font:.9rem/1.5 system-ui,sans-serif}p{white-space:pre-line}
mark{background:none;color:#a63c06;font:600 .8rem system-ui,sans-serif;white-space:nowrap}meter{width:3em;height:.6em}
@media(prefers-color-scheme:dark){body{color:#e6e3dc;background:#16181b}.note{color:#a9a598}mark{color:#ff9d5c}}`;

/** Return the text with its links as one HTML file without outside parts. */
function textPage(score, text) {
  const page = document.implementation.createHTMLDocument("weft");
  page.head.append(make("meta", { charset: "utf-8" }), make("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }));
  page.body.append(make("h1", { text: summaryText(score) }), ...score.warnings.map((warning) => make("p", { class: "note", text: warning })));
  const sentences = sentencesOf(score, text);
  let paragraph = null;
  sentences.forEach((sentence, number) => {
    if (!number || score.spans[number].paragraph !== score.spans[number - 1].paragraph) {
      paragraph = make("p", { dir: "auto" });
      page.body.append(paragraph);
    }
    paragraph.append(sentence, " ", ...linkParts(score.links[number], score));
  });
  page.body.append(make("p", { class: "note", text: `${scaleText(score.scale)} Made with weft, model ${score.model}. A weak link is not always a fault: read the two sentences and decide.` }));
  // The policy of this page forbids inline style, also in a document that is not shown; so it is added to the file.
  const head = `<head>${page.head.innerHTML}<style>${PAGE_STYLE}</style></head>`;
  return `<!doctype html>\n<html lang="en">${head}${page.body.outerHTML}</html>\n`;
}

function linkParts(link, score) {
  if (!link) return [];
  const label = [nameOf(link), strengthOf(link, score), link.reason].filter(Boolean).join(". ");
  const parts = [make("meter", { min: 0, max: 1, value: link.bar ?? 0, title: label, "aria-label": label }), " "];
  if (link.marked) parts.push(make("mark", { text: `↯ ${nameOf(link)}`, title: label }), " ");
  return parts;
}
