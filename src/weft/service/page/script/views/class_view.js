/** Many texts in a table: sorted by any column; a click opens a text. */

import { ask, isCancelled, Latest, readScore } from "../shared/api.js";
import { announce, button, byId, count, make, makeSvg, scrollable, show } from "../shared/dom.js";
import { classTable, classRecords, save } from "../shared/download.js";
import { EXAMPLES } from "../shared/examples.js";
import { levelOf, wholePercent } from "../shared/link.js";
import { noticeOf, problemWords } from "../shared/problems.js";
import { percentileOf, shown } from "../shared/summary.js";
import { asGiven } from "../shared/text.js";

const AT_ONCE = 8; // texts in one request: often enough to show progress and to stop
const STRIP = 30; // links in the small picture of a text
const STEP = 4; // pixels from bar to bar

const marksOf = (score) => score.links.filter((link) => link.marked).length;

/** The columns; one that no text has a value for is left out. */
const COLUMNS = [
  { name: () => "Text", key: ({ id }) => id.toLowerCase(), words: true },
  { name: () => "Score", key: ({ score }) => score?.value, cell: shown },
  { name: () => "Percentile", key: ({ score }) => score && percentileOf(score), cell: (value) => wholePercent(value / 100) },
  { name: () => "Own shuffles", key: ({ score }) => score?.shuffles_beaten, cell: wholePercent },
  { name: () => "Fluency", key: ({ score }) => score?.fluency, cell: shown },
  { name: (mark) => (mark === "break" ? "Breaks" : "Weak links"), key: ({ score }) => score && marksOf(score), cell: String },
  { name: () => "Sentences", key: ({ score }) => score?.spans.length, cell: String },
];

export class ClassView {
  #requests = new Latest();
  #texts = [];
  #sort = { column: null, falling: true };
  #busy = false;
  #failure = null; // why the texts could not be scored
  #open;

  /** @param {function(Object)} open - Shows a text in the text view. */
  constructor(open) {
    this.#open = open;
    byId("class-example").addEventListener("click", () => this.open(EXAMPLES.map(({ name, text }) => ({ id: name, text }))));
    byId("class-cancel").addEventListener("click", () => this.#cancel());
    byId("class-genre").addEventListener("change", () => this.#texts.length && this.open(this.#texts));
    scrollable(byId("class-table"), "Texts and their scores");
    byId("class-json").addEventListener("click", () => save("weft-class.json", "application/json", classRecords(this.#texts)));
    byId("class-csv").addEventListener("click", () => save("weft-class.csv", "text/csv", classTable(this.#texts)));
  }

  /** Score texts and show them as they are done. */
  async open(texts) {
    const signal = this.#requests.start();
    this.#texts = texts.map(({ id, text, spans, unread = null }) => ({ id, text, spans, unread, score: null, problem: unread }));
    this.#failure = null;
    this.#work(true);
    try {
      for (let start = 0; start < this.#texts.length; start += AT_ONCE) {
        const readable = this.#texts.slice(start, start + AT_ONCE).filter(({ unread }) => !unread);
        if (readable.length) await this.#score(readable, signal);
        byId("class-progress").value = start + AT_ONCE;
        this.#show();
      }
      announce(`${count(this.#texts.length, "text")} scored.`, 0);
    } catch (error) {
      if (!isCancelled(error)) this.#failure = error;
    } finally {
      if (!signal.aborted) this.#work(false);
    }
  }

  /** Say why no text could be read; the texts that were shown before are not those of the file. */
  fail(problem) {
    this.#requests.cancel();
    [this.#texts, this.#failure] = [[], problem];
    this.#work(false);
  }

  /** Score some texts; if the service refuses them together, one by one, so that one text cannot stop the others. */
  async #score(texts, signal) {
    const genre = byId("class-genre").value || undefined;
    try {
      const bodies = texts.map(({ id, text, spans }) => ({ id: id.slice(0, 200), ...asGiven(text, spans) }));
      const { scores } = await ask("/v1/score", { texts: bodies, genre }, { signal });
      texts.forEach((entry, index) => {
        entry.score = readScore(scores[index], entry.text);
      });
    } catch (error) {
      if (isCancelled(error) || ![413, 422].includes(error.status)) throw error;
      if (texts.length === 1) texts[0].problem = error;
      else for (const text of texts) await this.#score([text], signal);
    }
  }

  #work(busy) {
    this.#busy = busy;
    if (!busy && byId("class-cancel") === document.activeElement) byId("class-open").focus();
    show(byId("class-cancel"), busy);
    show(byId("class-progress"), busy);
    byId("class-progress").max = this.#texts.length;
    byId("class-progress").value = 0;
    this.#show();
  }

  #cancel() {
    this.#requests.cancel();
    this.#work(false);
    announce("Cancelled.", 0);
  }

  #show() {
    const done = this.#texts.filter(({ score, problem }) => score || problem);
    show(byId("class-json"), done.length > 0);
    show(byId("class-csv"), done.length > 0);
    const failed = this.#failure ? [noticeOf(this.#failure)] : [];
    byId("class-summary").replaceChildren(...failed, ...(this.#failure && !done.length ? [] : [this.#headline(done)]));
    if (!this.#texts.length) {
      byId("class-table").replaceChildren();
      return;
    }
    const mark = done.find(({ score }) => score)?.score.mark ?? "break";
    const columns = COLUMNS.map((column) => ({ ...column, name: column.name(mark) })).filter(
      ({ key, cell }) => !cell || !done.length || this.#texts.some((entry) => (key(entry) ?? null) !== null),
    );
    const plain = ["Links", "Warnings"].map((text) => make("th", { scope: "col", role: "columnheader", class: "words", text }));
    const head = make("tr", { role: "row" }, ...columns.map((column) => this.#heading(column)), ...plain);
    const rows = this.#sorted(columns).map((entry) => this.#row(entry, columns));
    const caption = make("caption", { class: "quiet", text: "Texts and their scores; the buttons in the first row sort the table" });
    // On narrow screens the rows are laid out as cards, and the roles keep it a table for screen readers.
    const parts = [make("thead", { role: "rowgroup" }, head), make("tbody", { role: "rowgroup" }, ...rows)];
    const table = make("table", { class: "class", role: "table" }, caption, ...parts);
    byId("class-table").replaceChildren(table);
    if (this.#focus) byId("class-table").querySelector(`[data-column="${this.#focus}"]`)?.focus();
    this.#focus = null;
  }

  #focus = null; // the heading that was pressed: it is drawn again and keeps the focus

  #headline(done) {
    const marked = done.filter(({ score }) => score?.links.some((link) => link.marked)).length;
    const warned = done.filter(({ score, problem }) => problem || score?.warnings.length).length;
    const parts = [`${count(this.#texts.length, "text")}${done.length < this.#texts.length ? `, ${done.length} scored` : ""}.`];
    if (done.length) parts.push(`${marked} with a marked link, ${warned} with a warning or an error.`);
    return parts.join(" ");
  }

  #sorted(columns) {
    const { column, falling } = this.#sort;
    const key = columns.find(({ name }) => name === column)?.key;
    if (!key) return this.#texts;
    const sign = falling ? -1 : 1;
    return [...this.#texts].sort((one, other) => {
      const [left, right] = [key(one) ?? null, key(other) ?? null];
      if (left === null || right === null) return (left === null) - (right === null); // texts without a value come last
      return sign * (typeof left === "string" ? left.localeCompare(right, undefined, { numeric: true }) : left - right);
    });
  }

  #heading(column) {
    const sorted = this.#sort.column === column.name;
    const direction = sorted ? (this.#sort.falling ? "descending" : "ascending") : null;
    const cell = make("th", { scope: "col", role: "columnheader", "aria-sort": direction, class: column.words ? "words" : null });
    cell.append(button(column.name, () => this.#sortBy(column, sorted), { "data-column": column.name }));
    return cell;
  }

  #sortBy(column, again) {
    this.#sort = { column: column.name, falling: again ? !this.#sort.falling : !column.words };
    this.#focus = column.name;
    this.#show();
    announce(`Sorted by ${column.name}, ${this.#sort.falling ? "highest" : "lowest"} first.`, 0);
  }

  #row(entry, columns) {
    const { id, text, score, problem, unread } = entry;
    const begin = text.trim().replace(/\s+/g, " ").slice(0, 80);
    const opener = unread ? make("span", { text: id, dir: "auto" }) : button(id, () => this.#open(entry), { class: "plain", dir: "auto" });
    const named = make("th", { scope: "row", role: "rowheader" }, opener, make("span", { class: "begin", text: begin, dir: "auto" }));
    const values = columns.filter(({ cell }) => cell);
    if (problem) {
      const { title, advice } = problemWords(problem);
      const reason = make("td", { role: "cell", class: "words reason-cell", colspan: values.length + 2, text: `${title} ${advice}`.trim() });
      return make("tr", { role: "row" }, named, reason);
    }
    const cells = values.map(({ name, key, cell }) => {
      const value = key(entry) ?? null;
      return make("td", { role: "cell", "data-name": name, text: value !== null ? cell(value) : score || !this.#busy ? "–" : "…" });
    });
    const codes = (score?.warning_codes ?? []).join(", ").replaceAll("-", " ");
    return make(
      "tr",
      { role: "row" },
      named,
      ...cells,
      make("td", { role: "cell", class: "strip" }, score ? strip(score.links) : ""),
      make("td", { role: "cell", class: "words", text: codes }),
    );
  }
}

/** Return the links of a text as a row of small bars: taller is stronger, and marked ones hang below the line. */
function strip(links) {
  const shownLinks = links.slice(0, STRIP);
  const bars = shownLinks.map((link, index) => {
    const height = 2 + 12 * (link.bar ?? 0);
    return makeSvg("rect", {
      x: index * STEP, width: STEP - 1, y: link.marked ? 15 : 14 - height, height: link.marked ? 5 : height, class: `bar level-${levelOf(link) ?? "none"}`,
    });
  });
  const width = STEP * Math.max(1, shownLinks.length);
  return makeSvg("svg", { viewBox: `0 0 ${width} 20`, width, height: 20, "aria-hidden": "true" }, ...bars);
}
