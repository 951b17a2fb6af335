/** Arithmetic on texts: offsets, edits, and the places of sentences. */

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/;

/**
 * Return a function from offsets in code points, which the service counts, to offsets in UTF-16 units, which the
 * browser counts.
 */
export function toBrowserOffsets(text) {
  if (!PAIR.test(text)) return (offset) => offset;
  const places = [];
  let unit = 0;
  for (const character of text) {
    places.push(unit);
    unit += character.length;
  }
  places.push(unit);
  return (offset) => places[Math.min(offset, places.length - 1)];
}

/** Return the smallest edit that makes `after` from `before`: where it starts, where the old part ends, the new part. */
export function smallestEdit(before, after) {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let tail = 0;
  while (tail < most - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return { start, end: before.length - tail, inserted: after.slice(start, after.length - tail) };
}

/** Return the places of sentences after an edit, and mark those that it touched as stale. */
export function shiftSpans(spans, edit) {
  const moved = edit.inserted.length - (edit.end - edit.start);
  return spans
    .map((span) => {
      if (span.end < edit.start) return span;
      if (span.start > edit.end) return { ...span, start: span.start + moved, end: span.end + moved };
      const start = Math.min(span.start, edit.start);
      return { ...span, start, end: Math.max(start, span.end + moved), stale: true };
    })
    .filter((span) => span.end > span.start);
}

/**
 * Return the text after one sentence is moved behind another; paragraphs keep their breaks.
 *
 * @param {string} text
 * @param {{start: number, end: number}[]} spans - Places of the sentences.
 * @param {number} sentence - Number of the sentence that moves.
 * @param {number|null} after - Number of the sentence it follows; null puts it first.
 */
export function moveSentence(text, spans, sentence, after) {
  const span = spans[sentence];
  const moved = text.slice(span.start, span.end);
  const [from, to] = cutRange(text, span);
  const rest = text.slice(0, from) + text.slice(to);
  if (after === null) {
    const first = spans.find((_, number) => number !== sentence).start;
    const place = first > span.start ? first - (to - from) : first;
    return `${rest.slice(0, place)}${moved} ${rest.slice(place)}`;
  }
  const end = spans[after].end;
  const place = end > span.start ? end - (to - from) : end;
  return `${rest.slice(0, place)} ${moved}${rest.slice(place)}`;
}

/** Return the places of sentences in a text that has them in this order, with nothing but white space between. */
export function placesOf(text, sentences) {
  let place = 0;
  return sentences.map((sentence) => {
    const start = text.indexOf(sentence, place);
    place = start + sentence.length;
    return { start, end: place };
  });
}

/** Return a text as the service takes it: as sentences, where their places are given, else as it is. */
export function asGiven(text, spans) {
  if (!spans?.length) return { text };
  const opens = (number) => number === 0 || /\n\s*\n/.test(text.slice(spans[number - 1].end, spans[number].start));
  return {
    sentences: spans.map(({ start, end }) => text.slice(start, end)),
    paragraph_starts: spans.map((_, number) => number).filter(opens),
  };
}

/** Return what to cut so that neither a double space nor an empty paragraph stays behind. */
function cutRange(text, { start, end }) {
  let from = start;
  let to = end;
  while (from > 0 && /\s/.test(text[from - 1])) from--;
  while (to < text.length && /\s/.test(text[to])) to++;
  const before = text.slice(from, start);
  const behind = text.slice(end, to);
  if (from === 0) return [start, to];
  if (to === text.length) return [from, end];
  // The wider of the two gaps stays: a break of a paragraph is kept.
  return before.split("\n").length >= behind.split("\n").length ? [start, to] : [from, end];
}
