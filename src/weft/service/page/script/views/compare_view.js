/** Two versions of a text side by side: what changed, and what that did to the links. */

import { ask, isCancelled, Latest, readScore } from "../shared/api.js";
import { announce, byId, make, show } from "../shared/dom.js";
import { VERSIONS } from "../shared/examples.js";
import { levelOf, nameOf, strengthOf, thread } from "../shared/link.js";
import { ordinal, percentileOf, showProblem, shown } from "../shared/summary.js";

const SIGNS = { same: "", changed: "~", moved: "↕", added: "+", removed: "−" };

export class CompareView {
  #requests = new Latest();

  constructor() {
    byId("compare-run").addEventListener("click", () => this.run());
    byId("compare-cancel").addEventListener("click", () => this.#cancel());
    byId("compare-edit").addEventListener("click", () => this.#edit());
    byId("compare-example").addEventListener("click", () => {
      [byId("first").value, byId("second").value] = VERSIONS;
      this.run();
    });
  }

  /** Take a text as the first version; the second begins as a copy of it. */
  open(text) {
    this.#edit();
    byId("first").value = text;
    if (!byId("second").value.trim()) byId("second").value = text;
    byId("second").focus();
  }

  /** Compare the two texts. */
  async run() {
    const [first, second] = [byId("first").value, byId("second").value];
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
