/** Helpers that build the page; text goes in through textContent alone, so that no text can become markup. */

/** Return the element with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Return a new element.
 *
 * @param {string} tag - Such as "p".
 * @param {Object} attributes - Attributes by name; `text` is its text, `class` its classes, false and null are left out.
 * @param {...(Node|string)} children - Nodes, or strings that become text.
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  node.append(...children);
  return node;
}

/** Return a new SVG element. */
export function makeSvg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(node, attributes);
  node.append(...children);
  return node;
}

function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
}

/** Return a button with a text that calls `action` when it is pressed. */
export function button(text, action, attributes = {}) {
  const node = make("button", { type: "button", ...attributes, text });
  node.addEventListener("click", action);
  return node;
}

/** Show or hide an element. */
export function show(node, visible) {
  node.hidden = !visible;
}

/** Let the keyboard scroll an element that is wider than its place; one that fits is no stop of the Tab key. */
export function scrollable(node, label) {
  const follow = () => {
    const wider = node.scrollWidth > node.clientWidth;
    for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": label })) {
      if (wider) node.setAttribute(name, value);
      else node.removeAttribute(name);
    }
  };
  new ResizeObserver(follow).observe(node);
  new MutationObserver(follow).observe(node, { childList: true });
}

/** Whether the reader asked the system for less motion. */
export function lessMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

let announcing = 0;

/** Say something to screen readers, after a pause: typing must not be talked over. */
export function announce(sentence, wait = 600) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    byId("live").textContent = sentence;
  }, wait);
}

/** Return "1 link", "2 links". */
export function count(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}
