/** Files that are opened or dropped: one text each, or many texts in a table. */

import { Problem } from "./api.js";
import { placesOf } from "./text.js";

const LARGEST = 32 * 2 ** 20;
const TEXT_NAMES = ["text", "essay", "content", "body", "answer", "response", "sentences"];
const ID_NAMES = ["id", "name", "title", "student", "author", "file"];

/** Return the files of a drop. */
export function filesOf(transfer) {
  return [...(transfer?.files ?? [])];
}

/** Return the texts of files, each with a name; of several files, one that cannot be read has the reason in `unread`. */
export async function readFiles(files) {
  const texts = [];
  for (const file of files) {
    try {
      texts.push(...(await readFile(file)));
    } catch (problem) {
      if (files.length === 1 || !(problem instanceof Problem)) throw problem;
      texts.push({ id: file.name, text: "", unread: problem });
    }
  }
  if (!texts.length) throw new Problem({ title: "There is no text in this file.", next_step: "Open a file with text." });
  return texts;
}

async function readFile(file) {
  if (file.size > LARGEST) {
    throw new Problem({ title: `“${file.name}” is too large for the page.`, next_step: "Run `weft score FILE` in a terminal instead." });
  }
  const name = file.name.replace(/\.[^.]+$/, "");
  const kind = file.name.split(".").at(-1).toLowerCase();
  const content = decode(await file.arrayBuffer(), file.name);
  if (kind === "csv" || kind === "tsv") return fromTable(content, name);
  if (kind === "jsonl" || kind === "ndjson") return fromLines(content, name);
  return [{ id: name, text: kind === "md" || kind === "markdown" ? withoutMarkdown(content) : content }];
}

function decode(bytes, name) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Problem({ title: `“${name}” is not a text in UTF-8.`, next_step: "Save it as plain text in UTF-8; Word and PDF files are read by `weft score FILE`." });
  }
}

/**
 * Return the texts of JSON lines: `paragraphs`, `sentences` or `text`, as on the command line, and a name where there is
 * one. A line that cannot be read has the reason in `unread`; a file without any other line is refused.
 */
export function fromLines(content, name) {
  const lines = content.split("\n").map((line, index) => ({ line, number: index + 1 })).filter(({ line }) => line.trim());
  const texts = lines.map(({ line, number }, index) => {
    const id = `${name} ${index + 1}`;
    try {
      return fromLine(line, number, name, id);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      return { id, text: "", unread: problem };
    }
  });
  if (texts.length && texts.every(({ unread }) => unread)) throw texts[0].unread;
  return texts;
}

function fromLine(line, number, name, id) {
  let record;
  try {
    record = JSON.parse(line);
  } catch {
    throw new Problem({ title: `Line ${number} of “${name}” is not JSON.`, next_step: "Write one object per line, such as {\"text\": \"…\"}." });
  }
  const text = typeof record === "string" ? { text: record } : textOf(record ?? {});
  if (typeof text.text !== "string") {
    throw new Problem({ title: `Line ${number} of “${name}” has no text.`, next_step: "Name the key `text`, `sentences` or `paragraphs`." });
  }
  return { id: String(record.id ?? record.title ?? id), ...text };
}

/** Return the text of a record, with the places of its sentences if it has them; paragraphs are lists of sentences. */
function textOf({ paragraphs, sentences, text }) {
  const all = (list, type) => Array.isArray(list) && list.every((one) => (type === "list" ? all(one, "string") : typeof one === "string"));
  const given = all(paragraphs, "list") ? paragraphs : all(sentences, "string") ? [sentences] : null;
  if (!given) return { text };
  const passages = given.map((one) => one.map((sentence) => sentence.trim().replace(/\s+/g, " ")).filter(Boolean));
  const joined = passages.filter((one) => one.length).map((one) => one.join(" ")).join("\n\n");
  return { text: joined, spans: placesOf(joined, passages.flat()) };
}

/** Return the texts of a table: the column called text, or the one with the longest cells. */
export function fromTable(content, name) {
  const rows = parseTable(content);
  const [head, ...body] = rows;
  if (!body.length) throw new Problem({ title: `“${name}” has no rows.`, next_step: "The first row names the columns; each further row is a text." });
  const names = head.map((cell) => cell.trim().toLowerCase());
  const column = find(names, TEXT_NAMES) ?? longest(body);
  const title = find(names, ID_NAMES.filter((wanted) => names.indexOf(wanted) !== column));
  return body.map((row, index) => ({ id: (title === null ? "" : row[title]) || `${name} ${index + 1}`, text: row[column] ?? "" }));
}

function find(names, wanted) {
  const found = wanted.map((name) => names.indexOf(name)).find((place) => place >= 0);
  return found ?? null;
}

function longest(rows) {
  const sizes = rows[0].map((_, column) => rows.reduce((sum, row) => sum + (row[column]?.length ?? 0), 0));
  return sizes.indexOf(Math.max(...sizes));
}

/** Return the cells of a table with commas, semicolons or tabs; quoted cells may have line breaks. */
export function parseTable(content) {
  const text = content.replace(/^\ufeff/, "");
  const first = text.split("\n", 1)[0];
  const separator = [",", ";", "\t"].sort((one, other) => first.split(other).length - first.split(one).length)[0];
  const rows = [[]];
  let [cell, quoted] = ["", false];
  const endCell = () => {
    rows.at(-1).push(cell);
    cell = "";
  };
  for (let place = 0; place < text.length; place++) {
    const letter = text[place];
    if (quoted && letter === '"' && text[place + 1] === '"') {
      cell += '"';
      place++;
    } else if (letter === '"' && (quoted || cell === "")) quoted = !quoted;
    else if (!quoted && letter === separator) endCell();
    else if (!quoted && letter === "\n") {
      endCell();
      rows.push([]);
    } else if (quoted || letter !== "\r") cell += letter;
  }
  endCell();
  return rows.filter((row) => row.some((value) => value.trim()));
}

/** Return Markdown without front matter, code, images and marks; headings are not sentences. */
export function withoutMarkdown(content) {
  return content
    .replace(/^---\n[\s\S]*?\n---\n/, "")
    .replace(/^(```|~~~)[\s\S]*?^\1.*$/gm, "")
    .replace(/^#{1,6} .*$/gm, "")
    .replace(/!\[[^\]]*\]\([^)]*\)/g, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__|`)/g, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
