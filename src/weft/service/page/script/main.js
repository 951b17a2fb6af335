/** The page: which view is shown, and what all views share. */

import { ask, askForKeyWith } from "./shared/api.js";
import { announce, button, byId, count, show } from "./shared/dom.js";
import { downloadText } from "./shared/download.js";
import { EXAMPLES } from "./shared/examples.js";
import { filesOf, readFiles } from "./shared/files.js";
import { showProblem } from "./shared/problems.js";
import { genreName } from "./shared/summary.js";
import { ClassView } from "./views/class_view.js";
import { CompareView } from "./views/compare_view.js";
import { TextView } from "./views/text_view.js";

const VIEWS = ["text", "compare", "class"];
const PROBLEMS = { text: "warnings", compare: "compare-summary" }; // where each view shows them

/** Ask for the key of the service in a dialog. */
function askForKey({ wrong }) {
  const dialog = byId("key-dialog");
  byId("key").value = "";
  show(byId("key-wrong"), wrong);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok" ? byId("key").value : ""), { once: true });
  });
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

function shownView() {
  return VIEWS.find((name) => !byId(`view-${name}`).hidden) ?? "text";
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
      await views.text.open(texts[0]?.text ?? "", texts[0]?.spans);
    }
  } catch (error) {
    if (shownView() === "class") views.class.fail(error); // whoever opens a class stays in it
    else showProblem(byId(PROBLEMS[shownView()]), error);
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
      choice.append(...model.genres.map((genre) => new Option(genreName(genre), genre)));
      show(choice.parentElement, model.genres.length > 0);
    }
  } catch {
    choices.forEach((choice) => show(choice.parentElement, false));
  }
}

/** Open a text of the class with the genre of the class, so that its score stays the same. */
function openFromClass({ text, spans }, view) {
  goTo("text");
  byId("genre").value = byId("class-genre").value;
  view.open(text, spans);
}

/** Move the focus to the content of the view that is shown. */
function skip(event) {
  event.preventDefault();
  const contents = { text: ["text-area"], compare: ["first", "compare-edit"], class: ["class-open"] }[shownView()];
  (contents.map(byId).find((node) => node.checkVisibility()) ?? byId("main")).focus();
}

function start() {
  const text = new TextView();
  const views = { text, compare: new CompareView(), class: new ClassView((chosen) => openFromClass(chosen, text)) };
  byId("examples").append(...EXAMPLES.map(({ name, text: example }) => button(name, () => text.open(example), { class: "plain" })));
  byId("to-compare").addEventListener("click", () => { goTo("compare"); views.compare.open(text.editor.text, text.begun); });
  document.querySelector(".skip").addEventListener("click", skip);
  if (!["localhost", "127.0.0.1", "[::1]"].includes(location.hostname)) byId("host").textContent = location.host;
  askForKeyWith(askForKey);
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
