// Tables: heads that sort them, by a click or Enter, and a sign where columns are off screen.
"use strict";
function sign(frame) {
  const beyond = frame.scrollWidth - frame.clientWidth;
  frame.classList.toggle("beyond", beyond > 1);
  frame.classList.toggle("ended", beyond > 1 && frame.scrollLeft > beyond - 2);
}
const sizes = new ResizeObserver((entries) => entries.forEach((entry) => sign(entry.target)));
function prepare(part) {
  for (const frame of part.querySelectorAll(".scroll")) {
    sizes.observe(frame);
    frame.addEventListener("scroll", () => sign(frame), { passive: true });
  }
  for (const table of part.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.append(button);
      button.addEventListener("click", () => sort(table, heads, column));
    });
  }
}
prepare(document);
function sort(table, heads, column) {
  const up = heads[column].getAttribute("aria-sort") === "descending";
  const body = table.tBodies[0];
  const key = (row) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const order = (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (typeof x === "number" && typeof y === "number") return x - y;
    if (typeof x === "number") return 1;
    if (typeof y === "number") return -1;
    return -x.localeCompare(y, undefined, { numeric: true });
  };
  const rows = [...body.rows].sort((a, b) => (up ? order(a, b) : order(b, a)));
  body.append(...rows);
  for (const head of heads) head.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
}
