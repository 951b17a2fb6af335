/** Answers of the service that are not results, in words for a person at the page. */

import { sentenceOf } from "./api.js";
import { make } from "./dom.js";

const SPLIT = "Split it into sections, and open them one by one.";
const WAIT = "Wait a moment, then try again.";

/** What a person at the page can do, by the code of a problem; the service itself speaks to those who write programs. */
const WORDS = {
  "body-too-large": { title: "This text is too large for the page.", facts: false, advice: "Split it, or run `weft score FILE` in a terminal." },
  "too-many-characters": { advice: SPLIT },
  "too-many-tokens": { title: "The text is too long.", facts: false, advice: SPLIT },
  "too-many-sentences": { advice: SPLIT },
  "no-writer": {
    title: "This service cannot continue texts.",
    facts: false,
    advice: "Ask the person who runs it to install a model that writes. Scores, orders and comparisons need none.",
    final: true,
  },
  "empty-text": { facts: false },
  "queue-full": { title: "Too many people use the service now.", facts: false, advice: WAIT },
  "time-out": { title: "The answer takes too long.", facts: false, advice: "Try again, or use a shorter text." },
  stopping: { title: "The service is about to stop.", facts: false, advice: WAIT },
  "not-ready": { title: "The service is not ready yet.", facts: false, advice: WAIT },
  "internal-error": { title: "The service made a mistake.", facts: false, advice: "Try again. If it happens again, tell the person who runs the service." },
  "wrong-key": { title: "This service needs a key.", facts: false, advice: "Try again, and give the key. The person who runs the service has it." },
};

/** Return what was wrong, what was seen, and what to do, as whole sentences. */
export function problemWords(problem) {
  const words = WORDS[problem.code] ?? {};
  const facts = [problem.seen && `Seen: ${problem.seen}.`, problem.allowed && `Allowed: ${problem.allowed}.`];
  const advice = [...(words.facts === false ? [] : facts), words.advice ?? sentenceOf(problem.nextStep ?? "")];
  return { title: words.title ?? sentenceOf(problem.message || "Something went wrong"), advice: advice.filter(Boolean).join(" ") };
}

/** Whether the same request would fail again, whatever the text is. */
export function isFinal(problem) {
  return WORDS[problem.code]?.final ?? false;
}

/** Return a problem as a notice. */
export function noticeOf(problem) {
  const { title, advice } = problemWords(problem);
  return make("p", { class: "notice problem", role: "alert" }, `${title} `, make("span", { class: "advice", text: advice }));
}

/** Show a problem in a place of the page, instead of what is there. */
export function showProblem(node, problem) {
  node.replaceChildren(noticeOf(problem));
}
