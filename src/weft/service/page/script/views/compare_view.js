/** Two versions of a text side by side: what changed, and what that did to the links. */

import { ask, isCancelled, Latest, readScore } from "../shared/api.js";
import { announce, byId, make, show } from "../shared/dom.js";
import { VERSIONS } from "../shared/examples.js";
import { levelOf, nameOf, strengthOf, thread } from "../shared/link.js";
import { showProblem } from "../shared/problems.js";
import { ordinal, percentileOf, shown } from "../shared/summary.js";

const SIGNS = { same: "", changed: "~", moved: "↕", added: "+", removed: "−" };

export class CompareView {
  #requests = new Latest();
  #past = []; // pairs of versions that others have replaced

  constructor() {
    byId("compare-run").addEventListener("click", () => this.run());
    byId("compare-cancel").addEventListener("click", () => this.#cancel());
    byId("compare-edit").addEventListener("click", () => this.#edit());
    byId("compare-undo").addEventListener("click", () => this.#undo());
    byId("compare-example").addEventListener("click", () => {
      this.#replace(VERSIONS);
      this.run();
    });
    for (const side of ["first", "second"]) byId(side).addEventListener("input", () => this.#forget());
  }

  /**
   * Show a text beside the version that it began with. One that has not changed begins as both versions, unless a second
   * version of it was written here.
   *
   * @param {string} text
   * @param {string} begun - The text as it was first scored.
   */
  open(text, begun) {
    const kept = text === begun && byId("first").value === text && byId("second").value.trim();
    if (!kept) this.#replace([begun, text]);
    this.#forget();
    this.#layout(false);
    byId("second").focus();
  }

  get #pair() {
    return [byId("first").value, byId("second").value];
  }

  set #pair([first, second]) {
    [byId("first").value, byId("second").value] = [first, second];
  }

  /** Put other versions in the place of the present ones, which Undo brings back. */
  #replace(pair) {
    const before = this.#pair;
    const same = before.every((text, side) => text === pair[side]);
    if (!same && before.some((text) => text.trim())) this.#past.push(before);
    show(byId("compare-undo"), this.#past.length > 0);
    this.#pair = pair;
  }

  #undo() {
    this.#pair = this.#past.pop();
    show(byId("compare-undo"), this.#past.length > 0);
    this.#forget();
    this.#edit();
    announce("Undone.", 0);
  }

  /** Drop the verdict, and the one that is asked for: it is about other texts. */
  #forget() {
    this.#requests.cancel();
    show(byId("compare-cancel"), false);
    byId("compare-summary").replaceChildren();
  }

  /** Compare the two texts. */
  async run() {
    const [first, second] = this.#pair;
    const summary = byId("compare-summary");
    if (!first.trim() || !second.trim()) {
      summary.textContent = "Paste a text on each side.";
      (first.trim() ? byId("second") : byId("first")).focus();
      return;
    }
    const signal = this.#requests.start();
    show(byId("compare-cancel"), true);
    try {
      const found = await ask("/v1/compare", { first, second }, { signal });
      this.#show(found, readScore(found.first_score, first), readScore(found.second_score, second));
    } catch (error) {
      if (!isCancelled(error)) showProblem(summary, error);
    } finally {
      if (!signal.aborted) show(byId("compare-cancel"), false);
    }
  }

  #cancel() {
    this.#requests.cancel();
    if (byId("compare-cancel") === document.activeElement) byId("first").focus();
    show(byId("compare-cancel"), false);
    announce("Cancelled.", 0);
  }

  #edit() {
    this.#layout(false);
    byId("first").focus();
  }

  #layout(done) {
    document.querySelector("#view-compare .pair:not(.result)").hidden = done;
    show(byId("compare-result"), done);
    show(byId("compare-legend"), done);
    show(byId("compare-edit"), done);
    show(byId("compare-run"), !done);
  }

  #show(found, first, second) {
    byId("compare-summary").textContent = verdict(found, first, second);
    const texts = (side) => found.sentences.filter((pair) => pair[side] !== null).sort((one, other) => one[side] - other[side]);
    byId("compare-result").replaceChildren(
      version("First version", first, texts("before"), "before"),
      version("Second version", second, texts("after"), "after"),
    );
    this.#layout(true);
    announce(byId("compare-summary").textContent, 0);
    byId("compare-edit").focus({ preventScroll: true });
  }
}

function verdict(found, first, second) {
  const values = `${shown(first.value)} → ${shown(second.value)}`;
  if (found.difference === null) return `One of the versions has no score (${values}).`;
  if (Math.abs(found.difference) < 0.005) return `Both versions have nearly the same score (${values}).`;
  const places = [percentileOf(first), percentileOf(second)];
  const same = first.reference === second.reference && places.every((place) => place !== null);
  const moved = same ? `, from the ${ordinal(places[0])} to the ${ordinal(places[1])} percentile of ${second.reference}` : "";
  return `The ${found.difference > 0 ? "second" : "first"} version has the higher score (${values}${moved}).`;
}

function version(title, score, pairs, side) {
  const box = make("article", { class: "version-result", "aria-label": title });
  const marks = score.links.filter((link) => link.marked).length;
  const count = marks ? ` · ${marks} ${score.mark}${marks === 1 ? "" : "s"}` : "";
  box.append(make("h2", { class: "margin-title", text: title }), make("p", { class: "details", text: `Score ${shown(score.value)}${count}` }));
  let paragraph = null;
  let passage = -1;
  pairs.forEach((pair) => {
    const number = pair[side];
    const place = score.spans[number]?.paragraph ?? 0;
    if (place !== passage) {
      paragraph = make("p", { class: "reading", dir: "auto" });
      box.append(paragraph);
      passage = place;
    }
    paragraph.append(sentence(pair, side), " ", link(score.links[number], score), " ");
  });
  return box;
}

function sentence(pair, side) {
  const text = side === "before" ? pair.text_before : pair.text_after;
  if (pair.kind === "same") return make("span", { text });
  const both = pair.kind === "moved" && pair.similarity < 1;
  const sign = make("span", { class: "sign", "aria-hidden": "true", text: both ? SIGNS.moved + SIGNS.changed : SIGNS[pair.kind] });
  const name = make("span", { class: "quiet", text: both ? "moved and changed: " : `${pair.kind}: ` });
  return make("span", { class: `kind-${pair.kind}` }, sign, name, text);
}

function link(found, score) {
  if (!found) return "";
  const title = [nameOf(found), strengthOf(found, score)].join(". ");
  const node = make("span", { class: `inline-link${found.marked ? " marked" : ""}`, title }, thread(levelOf(found), found.marked));
  if (found.marked) node.append(make("span", { class: "quiet", text: ` (${nameOf(found)}) ` }));
  return node;
}
