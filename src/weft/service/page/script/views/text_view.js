/** The view of one text: it is scored while it is written. */

import { ask, isCancelled, Latest, readScore } from "../shared/api.js";
import { announce, button, byId, make, show } from "../shared/dom.js";
import { writeLegend } from "../shared/legend.js";
import { showProblem } from "../shared/problems.js";
import { detailsOf, plainWarning, showWarnings, summaryParts } from "../shared/summary.js";
import { asGiven, smallestEdit } from "../shared/text.js";
import { Editor } from "./editor.js";
import { placeNotes, Reason, writeNotes } from "./notes.js";
import { Orders } from "./orders.js";
import { Writer } from "./writer.js";

const PAUSE = 25; // milliseconds without a key before the text is scored
const MOST_UNDONE = 50; // steps
const TYPED = 2; // characters that one key can put in; more of them are pasted or dropped
const LEFT_OVER = 0.2; // share of a text that another one, pasted over it, can have in common with it by chance
const SLOW = 400; // milliseconds after which the page says that it is busy
const REST = 700; // milliseconds before the reasons are asked for: they keep the model busy, and typing must not wait for them

export class TextView {
  #requests = new Latest();
  #waiting = 0;
  #score = null;
  #scored = null; // the text that the score is of
  #split = new Map(); // places of sentences by text, for texts that were given as sentences
  #past = []; // texts to which Undo goes back, where they began, and whether a move of a sentence is taken back with them
  #begun = null; // the text as it was opened or pasted; null for one that was typed

  constructor() {
    this.reason = new Reason();
    this.editor = new Editor(
      { area: byId("text-area"), mirror: byId("mirror"), layer: byId("links") },
      {
        onEdit: (before) => this.#later(before),
        onLink: (number, node) => this.#explain(number, node),
        onPlace: () => placeNotes(byId("notes"), this.editor),
      },
    );
    this.orders = new Orders(this);
    this.writer = new Writer(this);
    byId("suggest").addEventListener("click", () => this.orders.suggest());
    byId("continue").addEventListener("click", () => this.writer.start());
    byId("undo").addEventListener("click", () => this.undo());
    byId("cancel").addEventListener("click", () => this.cancel());
    byId("genre").addEventListener("change", () => this.scoreNow());
    addEventListener("keydown", (event) => this.#undoKey(event));
    addEventListener("keydown", (event) => event.key === "Escape" && this.cancel());
  }

  get score() {
    return this.#scored === this.editor.text ? this.#score : null;
  }

  get genre() {
    return byId("genre").value || null;
  }

  /** The version that the present text began with: the text as it was first scored; the present one, if it was typed. */
  get begun() {
    return this.#begun ?? this.editor.text;
  }

  /** The present text as the service takes it: as sentences, as long as one that was given so is not edited. */
  get given() {
    return asGiven(this.editor.text, this.#split.get(this.editor.text));
  }

  /**
   * Show a text and score it; Undo brings the one before it back.
   *
   * @param {string} text
   * @param {{start: number, end: number}[]} [spans] - Places of its sentences, if they are known.
   */
  open(text, spans) {
    this.closePanel();
    if (spans) this.#split.set(text, spans);
    if (this.editor.text.trim()) this.#remember(this.editor.text);
    this.editor.setText(text);
    this.#begun = text;
    return this.scoreNow({ opened: true });
  }

  /** Put a changed text in place of the present one, so that Undo brings it back. */
  change(text, { moved = false, spans = null } = {}) {
    this.#remember(this.editor.text, moved);
    if (spans && this.#split.has(this.editor.text)) this.#split.set(text, spans);
    this.editor.setText(text, spans);
    return this.scoreNow();
  }

  #remember(text, moved = false) {
    this.#past = [...this.#past.slice(1 - MOST_UNDONE), { text, moved, begun: this.#begun }];
    show(byId("undo"), true);
  }

  /** Bring back the text before the last accepted suggestion, or before what was typed after it. */
  undo() {
    const last = this.#past.pop();
    if (!last) return;
    if (!this.#past.length && byId("undo") === document.activeElement) byId("text-area").focus({ preventScroll: true });
    show(byId("undo"), this.#past.length > 0);
    this.#begun = last.begun;
    this.editor.setText(last.text);
    if (last.moved) this.orders.undone();
    else this.orders.edited();
    announce("Undone.", 0);
    this.scoreNow();
  }

  /** Ctrl+Z after an accepted suggestion undoes the suggestion; before and after, it is the browser's own. */
  #undoKey(event) {
    const undo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    const elsewhere = event.target.matches("input, textarea, select") && event.target !== byId("text-area");
    if (!undo || elsewhere || byId("text-area").offsetParent === null || !this.#past.length || this.#typed) return;
    event.preventDefault();
    this.undo();
  }

  #typed = false;

  #later(before) {
    // What is typed after a suggestion is a step of its own: Undo must not take both back at once.
    if (this.#past.length && !this.#typed) this.#remember(before);
    this.#typed = true;
    this.#begin(before);
    this.orders.edited();
    this.#requests.cancel();
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.scoreNow({ typed: true }), PAUSE);
  }

  /** After an edit that leaves next to nothing of a text, another one begins. */
  #begin(before) {
    const { text } = this.editor;
    const { start, end, inserted } = smallestEdit(before, text);
    const kept = before.slice(0, start).trim().length + before.slice(end).trim().length;
    if (kept > LEFT_OVER * before.trim().length) return;
    this.#begun = inserted.length > TYPED ? text : null;
  }

  /** Score the text and show the result. */
  async scoreNow({ typed = false, opened = false } = {}) {
    clearTimeout(this.#waiting);
    this.#typed = typed;
    const text = this.editor.text;
    const signal = this.#requests.start();
    if (!text.trim()) {
      this.#show(null, text);
      return;
    }
    const slow = setTimeout(() => {
      if (opened) this.#clear(); // what was said about another text
      this.busy("Reading the text …");
    }, SLOW);
    try {
      const body = { text: this.given, genre: this.genre };
      const { scores } = await ask("/v1/score", body, { signal });
      this.#show(readScore(scores[0], text), text);
      clearTimeout(slow);
      this.idle();
      if (scores[0].breaks.length) await this.#addReasons(text, body, signal);
    } catch (error) {
      if (isCancelled(error)) return;
      this.#fail(error, text);
    } finally {
      clearTimeout(slow);
      if (!signal.aborted) this.idle();
    }
  }

  #clear() {
    showWarnings(byId("warnings"), null);
    byId("summary").replaceChildren();
    document.body.classList.add("has-text");
  }

  /** Reasons take longer than links, so they follow once the text has rested. */
  async #addReasons(text, body, signal) {
    await new Promise((resolve) => setTimeout(resolve, REST));
    if (signal.aborted) return;
    const { scores } = await ask("/v1/score", { ...body, reasons: true }, { signal });
    const score = readScore(scores[0], text);
    if (score.links.some((link) => link.reason)) this.#show(score, text);
  }

  #show(score, text) {
    [this.#score, this.#scored] = [score, text];
    this.editor.setScore(score, text);
    document.body.classList.toggle("has-text", Boolean(text.trim()));
    showWarnings(byId("warnings"), score);
    const judged = score !== null && score.value !== null;
    const foreign = judged && score.warning_codes.includes("not-english");
    document.body.classList.toggle("foreign", foreign);
    byId("summary").replaceChildren(...(judged && !foreign ? summaryParts(score) : []));
    byId("details").textContent = judged ? detailsOf(score) : "";
    writeNotes(byId("notes"), score, this.editor);
    this.reason.follow(judged ? score : null);
    writeLegend(byId("legend"), judged ? score : null);
    byId("suggest").disabled = byId("download").disabled = byId("to-compare").disabled = !judged;
    byId("continue").disabled = score === null || !score.spans.length;
    if (score) announce([byId("summary").textContent, ...(score.warnings ?? []).map(plainWarning)].filter(Boolean).join(" ") || "No score.");
    document.body.dataset.scored = String(Number(document.body.dataset.scored ?? 0) + 1);
  }

  #fail(error, text) {
    this.#show(null, text);
    document.body.classList.toggle("has-text", Boolean(text.trim()));
    showProblem(byId("warnings"), error);
  }

  #explain(number, node) {
    const link = number === null ? null : this.#score?.links[number];
    this.editor.highlight(link ? [number, number + 1, ...link.about] : []);
    if (link) this.reason.show(link, this.#score, node);
    else this.reason.hide();
  }

  /** Say that something is under way, which Cancel stops. */
  busy(sentence) {
    document.body.classList.add("busy");
    byId("details").textContent = sentence;
    show(byId("cancel"), true);
  }

  /** Nothing is under way. */
  idle() {
    document.body.classList.remove("busy");
    show(byId("cancel"), false);
    if (this.score) byId("details").textContent = this.score.value === null ? "" : detailsOf(this.score);
  }

  /** Stop what is under way. */
  cancel() {
    if (!document.body.classList.contains("busy")) return;
    this.#requests.cancel();
    this.orders.cancel();
    this.writer.cancel();
    this.idle();
    announce("Cancelled.", 0);
  }

  /** Open the panel beside the text; on a phone it covers the lower part of the screen, and the text moves up. */
  openPanel(title, close, ...nodes) {
    const panel = byId("panel");
    const opened = panel.hidden;
    const head = make("div", { class: "panel-head" }, make("h2", { class: "margin-title", text: title }), button("Close", close));
    const held = panel.contains(document.activeElement);
    panel.replaceChildren(head, ...nodes);
    panel.setAttribute("aria-label", title);
    show(panel, true);
    if (held) panel.focus({ preventScroll: true }); // what had the focus is gone
    document.body.classList.add("has-panel");
    if (opened && getComputedStyle(panel).position === "fixed") byId("sheet").scrollIntoView({ block: "start" });
  }

  /** Where the panel begins, if it covers the lower part of the screen; else the lower edge of the screen. */
  get panelTop() {
    const panel = byId("panel");
    return !panel.hidden && getComputedStyle(panel).position === "fixed" ? panel.getBoundingClientRect().top : innerHeight;
  }

  /** Close the panel beside the text. */
  closePanel() {
    this.orders.cancel();
    this.writer.cancel();
    this.idle();
    show(byId("panel"), false);
    document.body.classList.remove("has-panel");
    this.editor.showNumbers(false);
    this.editor.highlight([], "moving");
    placeNotes(byId("notes"), this.editor);
  }
}
