/** Continue a text: candidates for the next sentence arrive one by one, and one of them is chosen. */

import { isCancelled, Latest, stream } from "../shared/api.js";
import { announce, button, byId, count, make } from "../shared/dom.js";
import { isFinal, showProblem } from "../shared/problems.js";

const CANDIDATES = 4;
const TEMPERATURE = 0.7; // at 1 the small models leave the subject and make up words

export class Writer {
  #view;
  #requests = new Latest();
  #seed = 1;

  /** @param {Object} view - The text view. */
  constructor(view) {
    this.#view = view;
  }

  /** Stop writing. */
  cancel() {
    this.#requests.cancel();
  }

  /** Write candidates for the next sentence and show each as soon as it is there. */
  async start() {
    const text = this.#view.editor.text;
    const signal = this.#requests.start();
    const list = make("ol", { class: "candidates" });
    const state = make("p", { text: "Writing …" });
    const stop = button("Stop", () => this.#view.cancel(), { class: "cancel" });
    this.#view.openPanel("Next sentence", () => this.#close(), state, list, stop);
    byId("panel").focus({ preventScroll: true });
    this.#view.busy("Writing …");
    const seen = new Set();
    let again = "Others";
    const add = ({ sentence }) => {
      if (!sentence || seen.has(sentence)) return;
      seen.add(sentence);
      list.append(this.#candidate(sentence));
      announce(`Candidate ${seen.size}: ${sentence}`, 0);
    };
    const body = { text: this.#view.given, number: 1, candidates: CANDIDATES, method: "sample", beam: 4, temperature: TEMPERATURE, seed: this.#seed };
    this.#seed += CANDIDATES;
    try {
      await stream("/v1/generate/stream", body, add, { signal });
      state.textContent = seen.size ? "Choose one, or write your own. The model is small, and its sentences can be false." : "No whole sentence was found. Try again.";
    } catch (error) {
      if (!isCancelled(error)) {
        showProblem(state, error);
        again = isFinal(error) ? "" : "Try again";
      } else state.textContent = seen.size ? `Stopped after ${count(seen.size, "candidate")}.` : "Stopped.";
    } finally {
      if (again) stop.replaceWith(button(again, () => this.start()));
      else stop.remove();
      if (!signal.aborted) this.#view.idle();
    }
  }

  #candidate(sentence) {
    const choose = button("Use", () => this.#use(sentence), { "aria-label": `Use: ${sentence}` });
    return make("li", {}, make("span", { class: "candidate", text: sentence, dir: "auto" }), choose);
  }

  async #use(sentence) {
    const text = this.#view.editor.text;
    this.cancel();
    this.#view.idle();
    const ending = text.trimEnd();
    await this.#view.change(`${ending} ${sentence}${text.slice(ending.length)}`);
    this.#view.editor.highlight([this.#view.editor.spans.length - 1], "arrived");
    announce("Sentence added.", 0);
    this.#close();
  }

  #close() {
    this.#view.closePanel();
    byId("continue").focus();
  }
}
