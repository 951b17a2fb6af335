/** Suggest an order: the moves, one by one, with Undo. */

import { ask, isCancelled, Latest } from "../shared/api.js";
import { announce, button, byId, count, lessMotion, make } from "../shared/dom.js";
import { showProblem } from "../shared/problems.js";
import { shown } from "../shared/summary.js";
import { moveSentence, placesOf } from "../shared/text.js";

const TITLE = "Suggested order";
const GLIDE = 550; // milliseconds of a move
const SMALL_GAIN = 0.5; // standard deviations of the links of a text

export class Orders {
  #view;
  #requests = new Latest();
  #plan = null;

  /** @param {Object} view - The text view. */
  constructor(view) {
    this.#view = view;
  }

  /** Stop a search under way. */
  cancel() {
    this.#requests.cancel();
  }

  /** Ask for an order of the text and show its moves. */
  async suggest() {
    const text = this.#view.editor.text;
    const signal = this.#requests.start();
    this.#view.busy("Looking for an order …");
    try {
      const { orders } = await ask("/v1/order", { text: this.#view.given }, { signal });
      if (signal.aborted || text !== this.#view.editor.text) return;
      this.#begin(orders[0], text);
    } catch (error) {
      if (!isCancelled(error)) showProblem(byId("warnings"), error);
    } finally {
      if (!signal.aborted) this.#view.idle();
    }
  }

  #begin(found, text) {
    const moves = found.moves.map((move) => ({ ...move, accepted: false }));
    const links = this.#view.score?.links ?? [];
    this.#plan = { found, moves, small: isSmall(found, links), current: found.order.map((_, index) => index), history: [], text };
    this.#show();
    this.#view.editor.showNumbers(true);
    announce([this.#headline(), ...this.#caution().map((node) => node.textContent)].join(" "), 0);
    byId("panel").focus({ preventScroll: true });
  }

  #headline() {
    const { moves, found } = this.#plan;
    if (!moves.length) return "No better order was found. The text stays as it is.";
    const left = moves.filter((move) => !move.accepted).length;
    if (!left) return "You accepted all moves.";
    const made = left < moves.length ? ` ${moves.length - left} of them accepted.` : "";
    const number = moves.length === 1 ? "One move" : `${moves.length} moves together`;
    const change = `from ${shown(found.input_value)} to ${shown(found.value)}`;
    if (found.value > found.input_value) return `${number} would raise the score ${change}.${made}`;
    return `${number.replace(" together", "")} suggested. In the new order, sentences that usually come early in a text come earlier. With all moves, the score of the links would change ${change}.${made}`;
  }

  /** Return what to keep in mind about the suggestion. */
  #caution() {
    if (!this.#plan.moves.length) return [];
    const text = this.#plan.small
      ? "The gain is small. The search finds such a gain in many texts that are in good order. Keep your order unless the text is better after a move."
      : "Read each move before you accept it. A text with a higher score is not always better.";
    return [make("p", { class: this.#plan.small ? "notice" : "hint", text })];
  }

  #show() {
    const { moves } = this.#plan;
    const left = moves.filter((move) => !move.accepted);
    const list = make("ol", { class: "moves" }, ...moves.map((move) => this.#row(move)));
    const actions = make("p", { class: "tools" });
    if (left.length > 1) actions.append(button("Accept all", () => this.#accept(left)));
    if (left.length < moves.length) actions.append(button("Take back", () => this.#view.undo()));
    this.#view.openPanel(TITLE, () => this.#close(), make("p", { text: this.#headline() }), ...this.#caution(), list, actions);
  }

  #row(move) {
    const target = this.#target(move);
    const where = target === null ? "to the beginning" : `after sentence ${this.#numberOf(target)}`;
    const name = `Move sentence ${this.#numberOf(move.sentence)} ${where}`;
    const head = make("span", { class: "move-name", text: move.accepted ? "Moved" : name });
    const row = make("li", { class: move.accepted ? "accepted" : null }, head, make("q", { text: shorten(move.text), dir: "auto" }));
    if (move.accepted) return row;
    const accept = button("Accept", () => this.#accept([move]), { "aria-label": `Accept: ${name}` });
    row.append(accept);
    row.addEventListener("mouseenter", () => this.#point(move));
    row.addEventListener("focusin", () => this.#point(move));
    row.addEventListener("mouseleave", () => this.#view.editor.highlight([], "moving"));
    row.addEventListener("focusout", () => this.#view.editor.highlight([], "moving"));
    return row;
  }

  #point(move) {
    this.#view.editor.highlight([this.#plan.current.indexOf(move.sentence)], "moving");
  }

  /** Return the number that a sentence of the first text has now. */
  #numberOf(sentence) {
    return this.#plan.current.indexOf(sentence) + 1;
  }

  /**
   * Return the sentence after which a move puts its own: the nearest one before it, in the suggested order, that is in
   * its place already. Moves can then be accepted in any order and lead to the same text.
   */
  #target(move) {
    const { found, moves } = this.#plan;
    const unsettled = new Set(moves.filter((other) => !other.accepted).map((other) => other.sentence));
    const before = found.order.slice(0, found.order.indexOf(move.sentence));
    return before.filter((sentence) => !unsettled.has(sentence)).at(-1) ?? null;
  }

  /** Make moves, all in one step; Undo takes them back together. The page moves the sentences itself, and the service is asked once. */
  async #accept(moves) {
    const { editor } = this.#view;
    const { current } = this.#plan;
    if (editor.text !== this.#plan.text || editor.spans.length !== current.length) return this.#outdated();
    const starts = moves.map((move) => editor.rectsOf(current.indexOf(move.sentence)));
    this.#plan.history.push({ moves, current: [...current], text: editor.text });
    let [text, spans] = [editor.text, editor.spans];
    for (const move of moves) [text, spans] = this.#made(move, text, spans);
    this.#plan.text = text;
    announce(this.#done(moves), 0);
    const scored = this.#view.change(text, { moved: true, spans });
    this.#show();
    (byId("panel").querySelector(".moves button") ?? byId("panel")).focus({ preventScroll: true });
    const places = moves.map((move) => current.indexOf(move.sentence));
    editor.highlight(places, "arrived");
    editor.bringIntoView(places.at(-1), this.#view.panelTop);
    await Promise.all([scored, ...moves.map((move, index) => glide(starts[index], editor.rectsOf(places[index]), move.text))]);
    return undefined;
  }

  /** Return the text and the places of its sentences after a move. */
  #made(move, text, spans) {
    const { current } = this.#plan;
    const target = this.#target(move);
    const from = current.indexOf(move.sentence);
    const sentences = spans.map(({ start, end }) => text.slice(start, end));
    const moved = moveSentence(text, spans, from, target === null ? null : current.indexOf(target));
    current.splice(from, 1);
    const to = target === null ? 0 : current.indexOf(target) + 1;
    current.splice(to, 0, move.sentence);
    sentences.splice(to, 0, ...sentences.splice(from, 1));
    move.accepted = true;
    return [moved, placesOf(moved, sentences)];
  }

  #done(moves) {
    if (moves.length > 1) return `${count(moves.length, "sentence")} moved.`;
    return `The sentence moved; it is now sentence ${this.#numberOf(moves[0].sentence)}.`;
  }

  /** Whether the panel shows this suggestion, and not that of another tool. */
  get #visible() {
    const panel = byId("panel");
    return !panel.hidden && panel.getAttribute("aria-label") === TITLE;
  }

  /** Follow Undo in the text. */
  undone() {
    const last = this.#plan?.history.pop();
    if (!last) return;
    this.#plan.text = last.text;
    last.moves.forEach((move) => {
      move.accepted = false;
    });
    this.#plan.current.splice(0, Infinity, ...last.current);
    if (this.#visible) this.#show();
  }

  /** Follow an edit of the text: moves that were found for another text are no longer shown, until Undo brings it back. */
  edited() {
    if (!this.#plan || !this.#visible) return;
    if (this.#view.editor.text === this.#plan.text) this.#show();
    else this.#outdated();
  }

  #outdated() {
    this.#view.openPanel(
      TITLE,
      () => this.#close(),
      make("p", { text: "The text has changed since these moves were found." }),
      button("Suggest again", () => this.suggest(), { class: "main-button" }),
    );
    this.#view.editor.highlight([], "moving");
  }

  #close() {
    this.#plan = null;
    this.#view.closePanel();
    byId("suggest").focus();
  }
}

/** Whether an order gains no more than a search finds by chance, measured by how much the links of the text differ. */
function isSmall(found, links) {
  const values = links.map(({ value }) => value);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  return found.value - found.input_value < SMALL_GAIN * spread;
}

function shorten(text, most = 70) {
  return text.length <= most ? text : `${text.slice(0, most).replace(/\s+\S*$/, "")} …`;
}

/** Let a copy of the sentence glide from its old place to the new one. */
async function glide(from, to, text) {
  if (lessMotion() || !from.length || !to.length) return;
  const ghost = make("div", { class: "ghost", "aria-hidden": "true", dir: "auto", text });
  const width = Math.max(...from.map((rect) => rect.width));
  ghost.style.left = `${Math.min(...from.map((rect) => rect.left))}px`;
  ghost.style.top = `${from[0].top}px`;
  ghost.style.width = `${width + 8}px`;
  document.body.append(ghost);
  const path = `translate(${to[0].left - from[0].left}px, ${to[0].top - from[0].top}px)`;
  const flight = ghost.animate(
    [{ transform: "none", opacity: 1 }, { transform: path, opacity: 1, offset: 0.85 }, { transform: path, opacity: 0 }],
    { duration: GLIDE, easing: "cubic-bezier(.4,0,.2,1)" },
  );
  await flight.finished.catch(() => null);
  ghost.remove();
}
