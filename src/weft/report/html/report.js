"use strict";
// Sorts the ranking by the column whose name is clicked: numbers by size, other values by name; dashes come last.
for (const table of document.querySelectorAll("table.ranking")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") === "descending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => row.cells[column].textContent.trim();
    const compare = (first, second) => {
      const [one, other] = [value(first), value(second)];
      const missing = (one === "–" || one === "") - (other === "–" || other === "");
      if (missing) return missing;
      const [a, b] = [Number(one), Number(other)];
      const order = Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other) : a - b;
      return up ? order : -order;
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  }));
}
// Escape closes the note of a link.
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement.classList.contains("weft-link")) document.activeElement.blur();
});
