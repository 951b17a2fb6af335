/** The page: which view is shown, and the text view. */

import { ask, isCancelled, Latest, readScore, useKey } from "./api.js";
import { ClassView } from "./class_view.js";
import { CompareView } from "./compare_view.js";
import { announce, byId, button, count, show } from "./dom.js";
import { downloadText } from "./download.js";
import { Editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { filesOf, readFiles } from "./files.js";
import { writeLegend } from "./legend.js";
import { placeNotes, Reason, writeNotes } from "./notes.js";
import { Orders } from "./orders.js";
import { detailsOf, foundMarks, showProblem, showWarnings, summaryParts } from "./summary.js";
import { Writer } from "./writer.js";

const PAUSE = 60; // milliseconds without a key before the text is scored
const REST = 250; // milliseconds before the reasons are asked for
const VIEWS = ["text", "compare", "class"];

/** The view of one text. */
class TextView {
  #requests = new Latest();
  #waiting = 0;
  #score = null;
  #scored = null; // the text that the score is of
  #past = []; // texts before an accepted suggestion, for Undo

  constructor() {
    this.reason = new Reason();
    this.editor = new Editor(
      { area: byId("text-area"), mirror: byId("mirror"), layer: byId("links") },
      {
        onEdit: () => this.#later(),
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
    byId("text-area").addEventListener("keydown", (event) => this.#undoKey(event));
    addEventListener("keydown", (event) => event.key === "Escape" && this.cancel());
  }

  get score() {
    return this.#scored === this.editor.text ? this.#score : null;
  }

  get genre() {
    return byId("genre").value || null;
  }

  /** Show a text and score it. */
  open(text) {
    this.closePanel();
    this.#past = [];
    show(byId("undo"), false);
    this.editor.setText(text);
    return this.scoreNow();
  }

  /** Put a changed text in place of the present one, so that Undo brings it back. */
  change(text) {
    this.#past.push(this.editor.text);
    show(byId("undo"), true);
    this.editor.setText(text);
    return this.scoreNow();
  }

  /** Bring back the text before the last accepted suggestion. */
  undo() {
    const text = this.#past.pop();
    show(byId("undo"), this.#past.length > 0);
    if (text === undefined) return;
    this.editor.setText(text);
    this.orders.undone();
    announce("Undone.", 0);
    this.scoreNow();
  }

  /** Ctrl+Z after an accepted suggestion undoes the suggestion; before and after, it is the browser's own. */
  #undoKey(event) {
    const undo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    if (!undo || !this.#past.length || this.#typed) return;
    event.preventDefault();
    this.undo();
  }

  #typed = false;

  #later() {
    this.#typed = true;
    this.#requests.cancel();
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(() => this.scoreNow({ typed: true }), PAUSE);
  }

  /** Score the text and show the result. */
  async scoreNow({ typed = false } = {}) {
    clearTimeout(this.#waiting);
    this.#typed = typed;
    const text = this.editor.text;
    const signal = this.#requests.start();
    if (!text.trim()) {
      this.#show(null, text);
      return;
    }
    const slow = setTimeout(() => this.busy("Reading the text …"), 400);
    try {
      const body = { text, genre: this.genre };
      const { scores } = await ask("/v1/score", body, { signal });
      this.#show(readScore(scores[0], text), text);
      clearTimeout(slow);
      this.idle();
      if (scores[0].breaks.length) await this.#addReasons(body, signal);
    } catch (error) {
      if (isCancelled(error)) return;
      this.#fail(error, text);
    } finally {
      clearTimeout(slow);
      if (!signal.aborted) this.idle();
    }
  }

  /** Reasons take longer than links, so they follow once the text has rested. */
  async #addReasons(body, signal) {
    await new Promise((resolve) => setTimeout(resolve, REST));
    if (signal.aborted) return;
    const { scores } = await ask("/v1/score", { ...body, reasons: true }, { signal });
    const score = readScore(scores[0], body.text);
    if (score.links.some((link) => link.reason)) this.#show(score, body.text);
  }

  #show(score, text) {
    [this.#score, this.#scored] = [score, text];
    this.editor.setScore(score, text);
    document.body.classList.toggle("has-text", Boolean(text.trim()));
    showWarnings(byId("warnings"), score);
    const judged = score !== null && score.value !== null;
    byId("summary").replaceChildren(...(judged ? summaryParts(score) : []));
    byId("details").textContent = judged ? detailsOf(score) : "";
    writeNotes(byId("notes"), score, this.editor);
    writeLegend(byId("legend"), judged ? score : null);
    byId("suggest").disabled = byId("download").disabled = byId("to-compare").disabled = !judged;
    byId("continue").disabled = score === null || !score.spans.length;
    if (score) announce([byId("summary").textContent || "No score.", ...(score.warnings ?? [])].join(" "));
    document.body.dataset.scored = String(Number(document.body.dataset.scored ?? 0) + 1);
  }

  #fail(error, text) {
    this.#show(null, text);
    document.body.classList.toggle("has-text", Boolean(text.trim()));
    if (error.status === 401) askForKey(() => this.scoreNow());
    showProblem(byId("warnings"), error);
  }

  #explain(number, node) {
    const link = number === null ? null : this.#score?.links[number];
    this.editor.highlight(link ? [number, number + 1] : []);
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

  /** Open the panel beside the text. */
  openPanel(...nodes) {
    const panel = byId("panel");
    panel.replaceChildren(...nodes);
    show(panel, true);
    document.body.classList.add("has-panel");
  }

  /** Close the panel beside the text. */
  closePanel() {
    this.orders.cancel();
    this.writer.cancel();
    show(byId("panel"), false);
    document.body.classList.remove("has-panel");
    this.editor.showNumbers(false);
    this.editor.highlight([], "moving");
    placeNotes(byId("notes"), this.editor);
  }

  /** What marks the text has, for the panel. */
  get marks() {
    return this.#score ? foundMarks(this.#score) : "";
  }
}

/** Ask for the key of the service, then try again. */
function askForKey(retry) {
  const dialog = byId("key-dialog");
  if (dialog.open) return;
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "ok") return;
    useKey(byId("key").value);
    retry();
  }, { once: true });
  dialog.showModal();
}

function showView() {
  const wanted = location.hash.slice(1);
  const view = VIEWS.includes(wanted) ? wanted : "text";
  if (wanted && !VIEWS.includes(wanted)) return; // such as the target of the skip link
  VIEWS.forEach((name) => show(byId(`view-${name}`), name === view));
  document.querySelectorAll("nav [data-view]").forEach((link) => {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
}

function goTo(view) {
  if (location.hash !== `#${view}`) location.hash = view;
  showView();
}

/** Open files: one text in the text view, many in the class view. */
async function openFiles(files, views) {
  try {
    const texts = await readFiles(files);
    if (texts.length > 1) {
      goTo("class");
      await views.class.open(texts);
    } else {
      goTo("text");
      await views.text.open(texts[0]?.text ?? "");
    }
  } catch (error) {
    goTo("text");
    showProblem(byId("warnings"), error);
  }
}

function takeFiles(views) {
  const picker = byId("file");
  const pick = () => picker.click();
  byId("open").addEventListener("click", pick);
  byId("class-open").addEventListener("click", pick);
  picker.addEventListener("change", () => {
    if (picker.files.length) openFiles([...picker.files], views);
    picker.value = "";
  });
  let inside = 0;
  addEventListener("dragenter", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    inside++;
    show(byId("drop"), true);
  });
  addEventListener("dragleave", () => {
    inside = Math.max(0, inside - 1);
    show(byId("drop"), inside > 0);
  });
  addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
  addEventListener("drop", (event) => {
    inside = 0;
    show(byId("drop"), false);
    const files = filesOf(event.dataTransfer);
    if (!files.length) return; // dropped text goes into the text area by itself
    event.preventDefault();
    openFiles(files, views);
  });
}

function takeDownloads(view) {
  const [opener, list] = [byId("download"), byId("download-menu")];
  const toggle = (open) => {
    show(list, open);
    opener.setAttribute("aria-expanded", String(open));
  };
  opener.addEventListener("click", () => toggle(list.hidden));
  addEventListener("click", (event) => !event.target.closest?.(".menu") && toggle(false));
  list.parentElement.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || list.hidden) return;
    toggle(false);
    opener.focus();
  });
  list.addEventListener("click", (event) => {
    const format = event.target.dataset.format;
    if (!format || !view.score) return;
    downloadText(format, view.score, view.editor.text);
    toggle(false);
    opener.focus();
  });
}

/** Learn from the service which model answers and which genres it knows; the page works without an answer. */
async function showModel() {
  const choices = [byId("genre"), byId("class-genre")];
  try {
    const { models, default: chosen } = await ask("/v1/models");
    const model = models.find(({ name }) => name === chosen) ?? models[0];
    byId("model-name").textContent = `Model: ${model.name}, ${model.summary}.`;
    for (const choice of choices) {
      choice.append(...model.genres.map((genre) => new Option(genre, genre)));
      show(choice.parentElement, model.genres.length > 0);
    }
  } catch {
    choices.forEach((choice) => show(choice.parentElement, false));
  }
}

function start() {
  const text = new TextView();
  const views = { text, compare: new CompareView(), class: new ClassView((chosen) => { goTo("text"); text.open(chosen); }) };
  byId("examples").append(...EXAMPLES.map(({ name, text: example }) => button(name, () => text.open(example), { class: "plain" })));
  byId("to-compare").addEventListener("click", () => { goTo("compare"); views.compare.open(text.editor.text); });
  if (!["localhost", "127.0.0.1", "[::1]"].includes(location.hostname)) byId("host").textContent = location.host;
  takeFiles(views);
  takeDownloads(text);
  addEventListener("hashchange", showView);
  showView();
  showModel();
  // A browser may keep what was typed before a reload.
  if (byId("text-area").value) text.open(byId("text-area").value);
  announce(count(EXAMPLES.length, "example") + " to try.", 1500);
}

start();
