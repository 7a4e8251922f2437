// Shows one position at a time. Without this script all of them stand below each other.
"use strict";
const root = document.documentElement;
const frames = [...document.querySelectorAll(".frame")];
const links = [...document.querySelectorAll("#moves a")];
const slider = document.getElementById("slider");
const place = document.getElementById("place");
const graphs = [...document.querySelectorAll(".graph")];
const playing = document.querySelector("[data-go=play]");
const last = frames.length - 1;
let now = -1;
let timer = 0;

function show(number, { keepHash = false } = {}) {
  const next = Math.max(0, Math.min(last, number));
  if (next === now) return;
  if (now >= 0) {
    frames[now].classList.remove("now");
    links[now].removeAttribute("aria-current");
  }
  now = next;
  frames[now].classList.add("now");
  const link = links[now];
  link.setAttribute("aria-current", "step");
  const list = link.closest("ol");
  const [top, bottom] = [link.offsetTop - list.offsetTop, link.offsetTop - list.offsetTop + 28];
  if (top < list.scrollTop) list.scrollTop = top;
  if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
  slider.value = String(now);
  place.textContent = `${now} of ${last}`;
  for (const graph of graphs) {
    const cursor = graph.querySelector(".cursor");
    const [left, right] = [Number(graph.dataset.left), Number(graph.dataset.right)];
    const x = left + ((right - left) * now) / Math.max(1, last);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
  }
  if (!keepHash) {
    try {
      history.replaceState(null, "", `#p${now}`);
    } catch {
      // some browsers refuse that for files; the page works without
    }
  }
}
function pause() {
  clearInterval(timer);
  timer = 0;
  playing.textContent = "play";
}
function play() {
  if (timer) return pause();
  if (now === last) show(0);
  playing.textContent = "pause";
  timer = setInterval(() => (now === last ? pause() : show(now + 1)), 900);
}
const goes = {
  first: () => show(0),
  back: () => show(now - 1),
  on: () => show(now + 1),
  last: () => show(last),
  play,
};
const keys = { Home: "first", ArrowLeft: "back", ArrowRight: "on", End: "last", " ": "play" };

function view(name) {
  document.getElementById("board").dataset.shown = name;
  for (const button of document.querySelectorAll("button[data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === name));
  }
}
function fromHash() {
  const found = /^#p(\d+)$/.exec(location.hash);
  show(found ? Number(found[1]) : 0, { keepHash: true });
}

root.classList.add("scripted");
document.getElementById("controls").hidden = false;
for (const button of document.querySelectorAll("button[data-go]")) {
  button.addEventListener("click", () => goes[button.dataset.go]());
}
for (const button of document.querySelectorAll("button[data-view]")) {
  button.addEventListener("click", () => view(button.dataset.view));
}
for (const [number, link] of links.entries()) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    show(number);
  });
}
slider.addEventListener("input", () => show(Number(slider.value)));
for (const graph of graphs) {
  graph.addEventListener("click", (event) => {
    event.preventDefault();
    const box = graph.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * graph.viewBox.baseVal.width;
    const [left, right] = [Number(graph.dataset.left), Number(graph.dataset.right)];
    show(Math.round(((x - left) / (right - left)) * last));
  });
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const go = keys[event.key];
  if (!go || (event.key === " " && event.target.closest("button, summary, a"))) return;
  event.preventDefault();
  goes[go]();
});
addEventListener("hashchange", fromHash);
view("all");
fromHash();
