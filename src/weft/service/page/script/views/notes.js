/** The notes in the margin, and the reason that appears at a link. */

import { byId, make, show } from "../shared/dom.js";
import { chanceOf, nameOf, strengthOf } from "../shared/link.js";

const MOST = 40; // notes; a text with more gets the most likely ones
const GAP = 12; // pixels between two notes

/** Write one note for every marked link. */
export function writeNotes(list, score, editor) {
  const marked = worst(score?.links ?? []);
  const notes = marked.map((link) => {
    const note = make(
      "button",
      { type: "button", class: "note" },
      make("span", { class: "note-name", text: nameOf(link) }),
      make("span", { class: "note-where", text: `between sentences ${link.left + 1} and ${link.left + 2}` }),
      make("span", { class: "note-reason", text: link.reason || strengthOf(link, score) }),
    );
    note.addEventListener("click", () => editor.focusLink(link.left));
    note.addEventListener("mouseenter", () => editor.highlight([link.left, link.left + 1]));
    note.addEventListener("mouseleave", () => editor.highlight([]));
    return make("li", { "data-link": link.left }, note);
  });
  list.replaceChildren(...notes);
  show(byId("notes-title"), notes.length > 0);
  placeNotes(list, editor);
}

/** Return the marked links, at most as many as the margin holds, in the order of the text. */
function worst(links) {
  const marked = links.filter((link) => link.marked);
  const weakness = (link) => link.probability ?? 1 - (link.bar ?? 0);
  return marked.sort((one, other) => weakness(other) - weakness(one)).slice(0, MOST).sort((one, other) => one.left - other.left);
}

/** Put every note beside its link, where the margin is beside the text, and never over another note. */
export function placeNotes(list, editor) {
  const beside = getComputedStyle(list).position === "relative";
  const offset = list.getBoundingClientRect().top - byId("links").getBoundingClientRect().top;
  let free = 0;
  const items = [...list.children];
  const heights = items.map((item) => item.offsetHeight);
  items.forEach((item, index) => {
    const top = editor.topOf(Number(item.dataset.link));
    if (!beside || top === null) {
      item.style.top = "";
      return;
    }
    const place = Math.max(free, top - offset - 30);
    item.style.top = `${place}px`;
    free = place + heights[index] + GAP;
  });
  list.style.minHeight = beside ? `${free}px` : "";
}

/** The small box that says why a link is as it is. */
export class Reason {
  #box = byId("reason");
  #hiding = 0;
  #shown = null; // the link that the box is about, and its node

  constructor() {
    this.#box.addEventListener("mouseenter", () => clearTimeout(this.#hiding));
    this.#box.addEventListener("mouseleave", () => this.hide());
    addEventListener("keydown", (event) => event.key === "Escape" && this.hide(0));
    addEventListener("scroll", () => this.hide(0), { passive: true });
  }

  /** Show the reason beside a node. */
  show(link, score, node) {
    clearTimeout(this.#hiding);
    this.#shown = { link, node };
    const lines = [link.reason, strengthOf(link, score), chanceOf(link)].filter(Boolean);
    this.#box.replaceChildren(
      make("strong", { text: nameOf(link) }),
      make("span", { class: "note-where", text: `between sentences ${link.left + 1} and ${link.left + 2}` }),
      ...lines.map((text) => make("span", { text })),
    );
    // At the edge of the screen the box would be narrow and high while it is measured.
    this.#box.style.left = this.#box.style.top = "0";
    show(this.#box, true);
    const place = node.getBoundingClientRect();
    const width = this.#box.offsetWidth;
    const above = place.bottom + this.#box.offsetHeight + 12 > innerHeight;
    const left = Math.min(Math.max(8, place.left + place.width / 2 - width / 2), document.documentElement.clientWidth - width - 8);
    this.#box.style.left = `${left}px`;
    this.#box.style.top = `${above ? place.top - this.#box.offsetHeight - 26 : place.bottom + 4}px`;
  }

  /** Say what a new score says of the same link; a box whose link is gone disappears. */
  follow(score) {
    if (this.#box.hidden) return;
    const link = score?.links[this.#shown.link.left];
    if (link && this.#shown.node.isConnected) this.show(link, score, this.#shown.node);
    else show(this.#box, false);
  }

  /** Hide it after a moment, in which the pointer can move into it. */
  hide(wait = 150) {
    clearTimeout(this.#hiding);
    this.#hiding = setTimeout(() => show(this.#box, false), wait);
  }
}
