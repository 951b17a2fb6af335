/** Requests to the service: a newer request aborts an older one, and errors become sentences for people. */

import { placesOf, toBrowserOffsets } from "./text.js";

let key = ""; // kept in memory alone
let askForKey = async () => "";
let asked = null; // requests that need a key wait for the same answer

/** Name the function that asks a person for the key of the service; it returns an empty string if there is none. */
export function askForKeyWith(ask) {
  askForKey = ask;
}

/** Whether a person gave a key; one that the service has refused is said to be wrong. */
async function gotKey(refused) {
  asked ??= askForKey({ wrong: refused !== "" }).finally(() => {
    asked = null;
  });
  key = await asked;
  return key !== "";
}

/** An answer of the service that is not a result, as a sentence and what to do. */
export class Problem extends Error {
  constructor({ title, status = 0, next_step: nextStep = "", seen = "", allowed = "", type = "" }) {
    super(title);
    Object.assign(this, { status, nextStep: nextStep ?? "", seen: seen ?? "", allowed: allowed ?? "", code: type.split(":").at(-1) });
  }
}

/** Whether an error only says that a newer request has taken the place of this one, or that it was cancelled. */
export function isCancelled(error) {
  return error.name === "AbortError";
}

/** One line of requests of which only the newest counts. */
export class Latest {
  #controller = null;

  /** Abort the request under way, and return the signal of the next one. */
  start() {
    this.cancel();
    this.#controller = new AbortController();
    return this.#controller.signal;
  }

  /** Abort the request under way. */
  cancel() {
    this.#controller?.abort();
    this.#controller = null;
  }
}

/** Return the JSON that the service answers. */
export async function ask(path, body, { signal } = {}) {
  const response = await send(path, body, { signal });
  return response.json();
}

/** Call `onRecord` with every line of a stream of JSON lines, as it arrives. */
export async function stream(path, body, onRecord, { signal } = {}) {
  const response = await send(path, body, { signal, accept: "application/x-ndjson" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    lines.filter((line) => line.trim()).forEach((line) => onRecord(checked(JSON.parse(line))));
    if (done) return;
  }
}

let asking = 0; // requests under way

/** Write the number of requests under way into the page, where tests and benchmarks can wait for it. */
function note(change) {
  asking += change;
  document.body.dataset.asking = String(asking);
}

/** Return a record of a stream; the last one may be the reason why there are no more. */
function checked(record) {
  if (record.type?.startsWith("urn:weft:problem:")) throw new Problem(record);
  return record;
}

async function send(path, body, options) {
  note(1);
  const used = key;
  try {
    return await exchange(path, body, options);
  } catch (error) {
    // Another request may have asked for the key meanwhile.
    if (error.status === 401 && (key !== used || (await gotKey(used)))) return await send(path, body, options);
    throw error;
  } finally {
    note(-1);
  }
}

async function exchange(path, body, { signal, accept = "application/json" }) {
  const headers = { Accept: accept };
  if (key) headers.Authorization = `Bearer ${key}`;
  const lines = typeof body === "string";
  if (body !== undefined) headers["Content-Type"] = lines ? "application/x-ndjson" : "application/json";
  let response;
  try {
    response = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined || lines ? body : JSON.stringify(body),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (isCancelled(error)) throw error;
    throw new Problem({ title: "The service does not answer.", next_step: "Check that `weft serve` is running, then try again." });
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function problemOf(response) {
  try {
    return new Problem(await response.json());
  } catch {
    return new Problem({ title: `The service answered ${response.status}.`, status: response.status });
  }
}

/**
 * Return a score as the page uses it: places of sentences in UTF-16 units, and one link per gap.
 *
 * Every field that a model does not have is null or empty.
 */
export function readScore(record, text) {
  const { passages, links, scale, mark, meaning, note } = record.view;
  const places = placesIn(text, passages.flat());
  const paragraphs = passages.flatMap((sentences, paragraph) => sentences.map(() => paragraph));
  const spans = places.map((place, number) => ({ ...place, paragraph: paragraphs[number], stale: false }));
  const read = links.map((link) => ({
    left: link.gap,
    value: link.value,
    bar: link.bar,
    probability: link.break_probability,
    marked: link.marked,
    reason: link.reason?.text ? sentenceOf(link.reason.text) : "",
    about: link.reason ? [link.reason.sentence, link.reason.after].filter((number) => number !== null && number >= 0) : [],
  }));
  return { ...record, spans, links: read, scale, mark, meaning, note };
}

/** Return the places of sentences; the service names none for a text that it got as sentences. */
function placesIn(text, sentences) {
  if (sentences[0]?.start === null) return placesOf(text, sentences.map((sentence) => sentence.text));
  const offset = toBrowserOffsets(text);
  return sentences.map(({ start, end }) => ({ start: offset(start), end: offset(end) }));
}

/** Return a phrase of the service as a sentence: with a capital letter and a full stop. */
export function sentenceOf(phrase) {
  const text = phrase.trim();
  return text ? `${text[0].toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}` : "";
}
