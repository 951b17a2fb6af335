/** A scored text as a picture, drawn on a canvas. */

import { scaleText } from "./legend.js";
import { LEVELS, levelOf, nameOf } from "./link.js";
import { summaryParts } from "./summary.js";

const WIDTH = 800;
const EDGE = 56;
const LINE = 40;
const SIZE = 19;
const MOST_LINES = 400; // a picture may have at most about 16,000 pixels in height
const TIE = 30; // width of a link

/** Return a PNG of the text with its links, in the colours of the page. */
export async function drawPicture(score, text) {
  const style = getComputedStyle(document.body);
  const colour = (name) => style.getPropertyValue(name).trim();
  const pen = document.createElement("canvas").getContext("2d");
  const font = `${SIZE}px ${getComputedStyle(document.getElementById("text-area")).fontFamily}`;
  const head = wrapWords(pen, `600 ${font}`, [summaryParts(score).map((part) => part.textContent ?? part).join("")]);
  const body = wrapWords(pen, font, sentences(score, text)).slice(0, MOST_LINES);
  const scale = 2;
  pen.canvas.width = WIDTH * scale;
  const empty = body.filter((line) => !line.length).length;
  pen.canvas.height = (2 * EDGE + (head.length + body.length - empty / 2 + 1) * LINE) * scale;
  pen.scale(scale, scale);
  pen.fillStyle = colour("--paper");
  pen.fillRect(0, 0, WIDTH, pen.canvas.height);
  let y = EDGE;
  y = writeLines(pen, head, `600 ${font}`, colour("--ink"), y) + LINE / 2;
  y = writeLines(pen, body, font, colour("--ink"), y, (place, number) => drawTie(pen, place, score.links[number], colour));
  pen.font = `13px ${style.fontFamily}`;
  pen.fillStyle = colour("--faint");
  if (score.links.length) y = drawLegend(pen, score.mark, y + 10, colour);
  pen.fillText(`weft · ${score.model} · ${scaleText(score.scale)}`, EDGE, y + 10, WIDTH - 2 * EDGE);
  return new Promise((resolve) => pen.canvas.toBlob(resolve, "image/png"));
}

/** Return the sentences, with null where a paragraph begins. */
function sentences(score, text) {
  return score.spans.flatMap(({ start, end, paragraph }, number) => {
    const opens = number > 0 && paragraph !== score.spans[number - 1].paragraph;
    return opens ? [null, text.slice(start, end)] : [text.slice(start, end)];
  });
}

/** Return lines of words with their places; a word that ends a sentence has the number of its link. */
function wrapWords(pen, font, parts) {
  pen.font = font;
  const space = pen.measureText(" ").width;
  const lines = [[]];
  let [x, number] = [EDGE, 0];
  for (const part of parts) {
    if (part === null) {
      lines.push([], []); // an empty line between paragraphs
      x = EDGE;
      continue;
    }
    const words = part.split(/\s+/).filter(Boolean);
    words.forEach((word, index) => {
      const width = pen.measureText(word).width;
      if (x + width > WIDTH - EDGE && lines.at(-1).length) {
        lines.push([]);
        x = EDGE;
      }
      lines.at(-1).push({ word, x, end: x + width, link: index === words.length - 1 ? number : null });
      x += width + space;
    });
    number++;
  }
  return lines;
}

function writeLines(pen, lines, font, ink, top, drawLink = () => {}) {
  let y = top;
  for (const line of lines) {
    for (const { word, x, end, link } of line) {
      pen.font = font;
      pen.fillStyle = ink;
      pen.fillText(word, x, y);
      if (link !== null) drawLink({ x: end, y }, link);
    }
    y += line.length ? LINE : LINE / 2;
  }
  return y;
}

/** Draw what the ties mean, from weak to strong and torn, on one line; return where the next line is. */
function drawLegend(pen, mark, y, colour) {
  const { font, fillStyle } = pen;
  let x = EDGE;
  const write = (word) => {
    Object.assign(pen, { font, fillStyle });
    pen.fillText(word, x, y);
    x += pen.measureText(word).width + 6;
  };
  const tie = (bar, marked) => {
    drawTie(pen, { x: x + TIE / 2, y: y - 14 }, { bar, marked, probability: null }, colour, "");
    x += TIE + 6;
  };
  write("weak");
  LEVELS.forEach((_, level) => tie((level + 0.5) / LEVELS.length, false));
  write("strong");
  x += 12;
  tie(0, true);
  write(mark);
  pen.setLineDash([]);
  Object.assign(pen, { font, fillStyle });
  return y + LINE / 2;
}

function drawTie(pen, { x, y }, link, colour, label = link && nameOf(link)) {
  if (!link) return;
  const level = levelOf(link);
  pen.strokeStyle = pen.fillStyle = link.marked ? colour("--weak-ink") : colour(`--level-${level ?? 2}`);
  pen.lineWidth = level === null ? 1.5 : [1.25, 1.75, 2.25, 3, 4][level];
  pen.setLineDash(level === 0 && !link.marked ? [2, 3] : []);
  const arc = (from, to) => {
    pen.beginPath();
    for (let step = from; step <= to; step += 0.05) {
      const [across, down] = [x - TIE / 2 + TIE * step, y + 7 + 24 * step * (1 - step)];
      if (step === from) pen.moveTo(across, down);
      else pen.lineTo(across, down);
    }
    pen.stroke();
  };
  if (!link.marked) return arc(0, 1);
  arc(0, 0.35);
  arc(0.65, 1);
  pen.font = "600 11px system-ui, sans-serif";
  return pen.fillText(label, x + TIE / 2 + 2, y + 15);
}
