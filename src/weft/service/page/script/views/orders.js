/** Suggest an order: the moves, one by one, with Undo. */

import { ask, isCancelled, Latest } from "../shared/api.js";
import { announce, button, byId, lessMotion, make } from "../shared/dom.js";
import { showProblem, shown } from "../shared/summary.js";
import { moveSentence } from "../shared/text.js";

const GLIDE = 550; // milliseconds of a move

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
      const { orders } = await ask("/v1/order", { text }, { signal });
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
    this.#plan = { found, moves, texts: [text], current: found.order.map((_, index) => index), history: [] };
    this.#show();
    this.#view.editor.showNumbers(true);
    announce(this.#headline(), 0);
    byId("panel").focus({ preventScroll: true });
  }

  #headline() {
    const { moves, found } = this.#plan;
    if (!moves.length) return "No better order was found. The text stays as it is.";
    const left = moves.filter((move) => !move.accepted).length;
    if (!left) return "All moves are made.";
    const gain = `from ${shown(found.input_value)} to ${shown(found.value)}`;
    const made = left < moves.length ? ` ${moves.length - left} of them made.` : "";
    return `${moves.length === 1 ? "One move" : `${moves.length} moves`} would raise the score ${gain}.${made}`;
  }

  #show() {
    const { moves } = this.#plan;
    const left = moves.filter((move) => !move.accepted);
    const list = make("ol", { class: "moves" }, ...moves.map((move) => this.#row(move)));
    const actions = make("p", { class: "tools" });
    if (left.length > 1) actions.append(button("Accept all", () => this.#acceptAll()));
    if (left.length < moves.length) actions.append(button("Take back", () => this.#view.undo()));
    this.#view.openPanel("Suggested order", () => this.#close(), make("p", { text: this.#headline() }), list, actions);
  }

  #row(move) {
    const target = this.#target(move);
    const where = target === null ? "to the beginning" : `after sentence ${this.#numberOf(target)}`;
    const name = `Move sentence ${this.#numberOf(move.sentence)} ${where}`;
    const head = make("span", { class: "move-name", text: move.accepted ? "Moved" : name });
    const row = make("li", { class: move.accepted ? "accepted" : null }, head, make("q", { text: shorten(move.text), dir: "auto" }));
    if (move.accepted) return row;
    const accept = button("Accept", () => this.#accept(move), { "aria-label": `Accept: ${name}` });
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

  async #accept(move) {
    const { current, texts } = this.#plan;
    const { editor } = this.#view;
    if (editor.text !== texts.at(-1) || editor.spans.length !== current.length) return this.#outdated();
    const target = this.#target(move);
    const from = current.indexOf(move.sentence);
    const text = moveSentence(editor.text, editor.spans, from, target === null ? null : current.indexOf(target));
    const start = editor.rectsOf(from);
    this.#plan.history.push({ move, current: [...current] });
    current.splice(from, 1);
    const to = target === null ? 0 : current.indexOf(target) + 1;
    current.splice(to, 0, move.sentence);
    move.accepted = true;
    texts.push(text);
    announce(`Sentence ${from + 1} moved; it is now sentence ${to + 1}.`, 0);
    await this.#view.change(text, { moved: true });
    if (!this.#plan) return undefined;
    this.#show();
    (byId("panel").querySelector(".moves button") ?? byId("panel")).focus({ preventScroll: true });
    editor.highlight([to], "arrived");
    editor.bringIntoView(to, this.#view.panelTop);
    return glide(start, editor.rectsOf(to), move.text);
  }

  /** Accept all moves; closing the panel or changing the text stops it. */
  async #acceptAll() {
    const plan = this.#plan;
    for (const move of plan.moves) {
      if (this.#plan !== plan) return;
      if (!move.accepted) await this.#accept(move);
    }
  }

  /** Follow Undo in the text. */
  undone() {
    const last = this.#plan?.history.pop();
    if (!last) return;
    this.#plan.texts.pop();
    last.move.accepted = false;
    this.#plan.current.splice(0, Infinity, ...last.current);
    this.#show();
  }

  #outdated() {
    this.#view.openPanel(
      "Suggested order",
      () => this.#close(),
      make("p", { text: "The text has changed since these moves were found." }),
      button("Suggest again", () => this.suggest(), { class: "main-button" }),
    );
    this.#plan = null;
  }

  #close() {
    this.#plan = null;
    this.#view.closePanel();
    byId("suggest").focus();
  }
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
