/**
 * The text, and the links drawn over it.
 *
 * The text is a plain textarea: caret, selection, undo, spelling and input methods are the browser's own, and nothing
 * that the page draws can move the caret. A mirror with the same letters lies behind it and gives the places of the
 * sentences; links are drawn over it at these places.
 */

import { make } from "../shared/dom.js";
import { drawLink, describeLink } from "../shared/link.js";
import { shiftSpans, smallestEdit } from "../shared/text.js";

const NEARBY = 1200; // pixels above and below the window in which links are drawn
const TIGHT = 64; // pixels at the end of a line, in which the label of a link has no room
const SMALL = 300; // links; of a text with fewer, all are drawn

export class Editor {
  #area;
  #mirror;
  #layer;
  #spans = [];
  #score = null;
  #drawn = new Map(); // buttons by the number of their link
  #anchors = [];
  #text = "";
  #current = 0; // the link that the Tab key reaches

  /**
   * @param {{area: HTMLTextAreaElement, mirror: HTMLElement, layer: HTMLElement}} nodes
   * @param {{onEdit: function(string), onLink: function(?number, ?HTMLElement), onPlace: function()}} listeners
   */
  constructor({ area, mirror, layer }, { onEdit, onLink, onPlace }) {
    [this.#area, this.#mirror, this.#layer] = [area, mirror, layer];
    this.onLink = onLink;
    this.onPlace = onPlace;
    area.addEventListener("input", () => {
      const before = this.#text;
      this.#follow();
      onEdit(before);
    });
    layer.addEventListener("keydown", (event) => this.#walk(event));
    new ResizeObserver(() => this.#place()).observe(mirror);
    addEventListener("scroll", () => this.#drawNearby(), { passive: true });
  }

  get text() {
    return this.#area.value;
  }

  /** Places of the sentences, as far as they are known. */
  get spans() {
    return this.#spans;
  }

  /**
   * Put a text in the place of the present one; the caret stays where it was in what does not change.
   *
   * @param {string} text
   * @param {{start: number, end: number}[]|null} spans - Places of its sentences, if they are known already.
   */
  setText(text, spans = null) {
    const { start, end, inserted } = smallestEdit(this.#area.value, text);
    if (start !== end || inserted) this.#area.setRangeText(inserted, start, end, "preserve");
    this.#follow();
    if (!spans) return;
    this.#spans = spans.map((span) => ({ ...span, stale: true }));
    this.#mirrorText();
  }

  /** Draw the links of a score, unless the text has changed since. */
  setScore(score, text) {
    if (text !== this.#area.value) return;
    this.#score = score;
    this.#spans = score?.spans ?? [];
    this.#mirrorText();
  }

  /** Show sentences as the ones that are talked about. */
  highlight(numbers, className = "spoken") {
    this.#mirror.querySelectorAll(`.${className}`).forEach((node) => node.classList.remove(className));
    numbers.forEach((number) => this.#mirror.querySelector(`[data-sentence="${number}"]`)?.classList.add(className));
  }

  /** Show the numbers of all sentences. */
  showNumbers(visible) {
    this.#mirror.classList.toggle("numbered", visible);
  }

  /** Return the place of a sentence on the screen, as rectangles, one per line. */
  rectsOf(number) {
    return [...(this.#mirror.querySelector(`[data-sentence="${number}"]`)?.getClientRects() ?? [])];
  }

  /** Scroll so that a sentence can be seen above `bottom`, where a panel may begin. */
  bringIntoView(number, bottom = innerHeight) {
    const place = this.rectsOf(number)[0];
    if (place && (place.top < 0 || place.bottom > bottom)) scrollBy({ top: place.top - bottom / 3 });
  }

  /** Return the distance of a link from the top of the paper; null if it is not there. */
  topOf(link) {
    return this.#anchors[link]?.top ?? null;
  }

  /** Move the focus to a link. */
  focusLink(number) {
    this.#current = number;
    const { top } = this.#layer.getBoundingClientRect();
    const place = top + (this.topOf(number) ?? 0);
    if (place < 80 || place > innerHeight - 80) scrollBy({ top: place - innerHeight / 3 });
    this.#drawNearby();
    this.#drawn.get(number)?.focus({ preventScroll: true });
  }

  #follow() {
    const edit = smallestEdit(this.#text, this.#area.value);
    this.#text = this.#area.value;
    this.#spans = shiftSpans(this.#spans, edit);
    this.#mirrorText();
  }

  #mirrorText() {
    this.#text = this.#area.value;
    const parts = [];
    let place = 0;
    this.#spans.forEach((span, number) => {
      parts.push(this.#text.slice(place, span.start));
      const sentence = make("span", { "data-sentence": number, "data-number": number + 1, text: this.#text.slice(span.start, span.end) });
      parts.push(sentence, make("i", { "data-anchor": number }));
      place = span.end;
    });
    // A line break at the end has no height of its own.
    parts.push(`${this.#text.slice(place)}\u200b`);
    this.#mirror.replaceChildren(...parts);
    this.#place();
  }

  #place() {
    const paper = this.#layer.getBoundingClientRect();
    const ends = [...this.#mirror.querySelectorAll("i")].map((node) => node.getBoundingClientRect());
    const starts = [...this.#mirror.querySelectorAll("span")].map((node) => node.getClientRects()[0]);
    this.#anchors = ends.slice(0, -1).map((end, index) => ({
      left: end.left - paper.left,
      top: end.bottom - paper.top,
      // A sentence that begins on the next line has its link under the end of this one.
      wraps: !starts[index + 1] || Math.abs(starts[index + 1].bottom - end.bottom) > 4,
      room: paper.right - end.left,
    }));
    this.#drawNearby();
    this.onPlace();
  }

  #drawNearby() {
    const links = this.#score && this.#spans.length === this.#score.spans.length ? this.#score.links : [];
    const top = this.#layer.getBoundingClientRect().top;
    const near = (anchor) => links.length <= SMALL || Math.abs(anchor.top + top - innerHeight / 2) < NEARBY;
    for (const [number, node] of this.#drawn) {
      if (number >= links.length || !this.#anchors[number] || !near(this.#anchors[number])) {
        node.remove();
        this.#drawn.delete(number);
      }
    }
    if (this.#current >= links.length) this.#current = 0;
    this.#anchors.forEach((anchor, number) => {
      if (number < links.length && near(anchor)) this.#draw(number, links[number], anchor);
    });
  }

  #draw(number, link, anchor) {
    let node = this.#drawn.get(number);
    if (!node) {
      node = make("button", { type: "button" });
      node.addEventListener("mouseenter", () => this.onLink(number, node));
      node.addEventListener("mouseleave", () => this.onLink(null, null));
      node.addEventListener("focus", () => {
        this.#tabStop(number);
        this.onLink(number, node);
      });
      node.addEventListener("blur", () => this.onLink(null, null));
      this.#drawn.set(number, node);
      this.#insert(number, node);
    }
    const stale = this.#spans[number].stale || this.#spans[number + 1].stale;
    drawLink(node, link, this.#score, stale);
    node.setAttribute("aria-label", describeLink(link, this.#score));
    node.tabIndex = number === this.#current ? 0 : -1;
    node.classList.toggle("wraps", anchor.wraps);
    node.classList.toggle("tight", anchor.room < TIGHT);
    node.style.left = `${anchor.left}px`;
    node.style.top = `${anchor.top}px`;
  }

  /** Buttons stand in the order of the text, which is the order of the arrow keys and of screen readers. */
  #insert(number, node) {
    const following = [...this.#drawn.keys()].filter((other) => other > number);
    this.#layer.insertBefore(node, following.length ? this.#drawn.get(Math.min(...following)) : null);
  }

  #tabStop(number) {
    this.#drawn.get(this.#current)?.setAttribute("tabindex", "-1");
    this.#current = number;
    this.#drawn.get(number)?.setAttribute("tabindex", "0");
  }

  #walk(event) {
    const last = this.#anchors.length - 1;
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -last, End: last };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.focusLink(Math.min(last, Math.max(0, this.#current + steps[event.key])));
  }
}
