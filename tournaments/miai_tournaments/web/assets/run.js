// A run: replaces the parts of the page that have changed. Tables stay sorted and scrolled as the
// reader left them, what was unfolded stays so, and the keyboard stays where it was.
"use strict";
const events = new EventSource(document.getElementById("run").dataset.address);
events.onmessage = (event) => {
  for (const [name, content] of Object.entries(JSON.parse(event.data))) {
    const part = document.getElementById(name);
    const restore = remember(part);
    part.innerHTML = content;
    prepare(part);
    restore();
  }
};
function named(part, selector, name) {
  const found = new Map();
  for (const element of part.querySelectorAll(selector)) {
    if (!found.has(name(element))) found.set(name(element), element);
  }
  return found;
}
const label = (element) => element.closest(".scroll")?.getAttribute("aria-label") ?? "";
const scrolled = (part) => named(part, ".scroll", label);
const unfolded = (part) => named(part, "details", (element) => element.firstElementChild.textContent);
const reached = (part) => named(part, "a, button, summary, [tabindex]",
  (element) => element.getAttribute("href") ?? `${label(element)} ${element.tagName} ${element.closest("th")?.textContent ?? ""}`);
function remember(part) {
  const tables = [...scrolled(part)].map(([name, frame]) => {
    const heads = [...(frame.querySelector("thead tr")?.cells ?? [])];
    const column = heads.findIndex((head) => head.hasAttribute("aria-sort"));
    return { name, left: frame.scrollLeft, column, order: heads[column]?.getAttribute("aria-sort") };
  });
  const open = [...unfolded(part)].filter(([, element]) => element.open).map(([name]) => name);
  const focus = [...reached(part)].find(([, element]) => element === document.activeElement)?.[0];
  return () => {
    const frames = scrolled(part);
    for (const { name, left, column, order } of tables) {
      const head = frames.get(name)?.querySelector("thead tr").cells[column];
      if (head && order) {
        head.firstElementChild.click();
        if (order === "ascending") head.firstElementChild.click();
      }
      if (left) frames.get(name)?.scrollTo({ left, behavior: "instant" });
    }
    const details = unfolded(part);
    for (const name of open) details.get(name)?.setAttribute("open", "");
    if (focus !== undefined) reached(part).get(focus)?.focus({ preventScroll: true });
  };
}
