// Shows one position at a time. Without this script the page shows the last one.
"use strict";
const root = document.documentElement;
const board = document.getElementById("position");
const decision = document.getElementById("decision");
const links = new Map([...document.querySelectorAll("#moves a")].map((a) => [a.hash, a]));
const slider = document.getElementById("slider");
const place = document.getElementById("place");
const graphs = [...document.querySelectorAll(".graph")];
const playOn = document.getElementById("play-on");
const live = document.querySelector("main").dataset.live; // the address of the record at a server
const playing = document.querySelector("[data-go=play]");
let pieces = [];
let frames = [];
let children = new Map(); // the positions behind each, in the order of the file
let last = 0;
let now = -1;
let timer = 0;
let shown = "all";

// The positions are a zlib stream of JSON: pieces of HTML, and for each position their numbers.
async function unpack() {
  const packed = atob(document.getElementById("positions").textContent);
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  ({ pieces, frames } = JSON.parse(await new Response(stream).text()));
  last = Number(slider.max); // variations are behind it
  frames.forEach((frame, number) => number && grow(number));
}
function grow(number) {
  const before = frames[number][2];
  if (!children.has(before)) children.set(before, []);
  children.get(before).push(number);
}

function show(number, { keepHash = false } = {}) {
  const next = number in frames ? number : Math.max(0, Math.min(last, number));
  if (next === now) return;
  links.get(`#p${now}`)?.removeAttribute("aria-current");
  now = next;
  draw();
  let ply = now;
  while (ply > last) ply = frames[ply][2];
  const link = links.get(`#p${ply}`);
  if (ply === now) link.setAttribute("aria-current", "step");
  reveal(link.closest("tr"));
  slider.value = String(ply);
  place.textContent = ply === now ? `${now} of ${last}` : `variation of ${ply}`;
  if (playOn) {
    playOn.search = `?ply=${now}`;
    playOn.hidden = now <= last && now > Number(playOn.dataset.plies);
  }
  for (const graph of graphs) {
    const cursor = graph.querySelector(".cursor");
    const [left, right] = [Number(graph.dataset.left), Number(graph.dataset.right)];
    const x = left + ((right - left) * ply) / Math.max(1, last);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
  }
  try {
    if (!keepHash) history.replaceState(null, "", `#p${now}`);
    if (live) localStorage.setItem(`position ${live}`, now);
  } catch {
    // some browsers refuse that for files; the page works without
  }
}

function draw() {
  board.innerHTML = frames[now][0].map((piece) => pieces[piece]).join("");
  decision.innerHTML = pieces[frames[now][1]];
  pick();
  board.dispatchEvent(new Event("drawn"));
}

// Scrolls the list of moves to a row, so that a whole row is below the head.
function reveal(row) {
  const list = document.getElementById("moves");
  const head = list.querySelector("thead").offsetHeight;
  const bottom = row.offsetTop + row.offsetHeight;
  if (row.offsetTop - head < list.scrollTop) list.scrollTop = row.offsetTop - head;
  if (bottom <= list.scrollTop + list.clientHeight) return;
  let first = row;
  for (let above = row; above; above = above.previousElementSibling) {
    if (above.offsetTop - head >= bottom - list.clientHeight) first = above;
  }
  list.scrollTop = first.offsetTop - head;
}

// Hides the views that are not chosen.
function pick() {
  const figures = [...board.querySelectorAll("figure")];
  for (const figure of figures) {
    figure.hidden = figures.length > 1 && shown !== "all" && figure.dataset.view !== shown;
  }
  const visible = figures.filter((figure) => !figure.hidden);
  board.querySelector(".views")?.classList.toggle("single", visible.length === 1);
}
function pause() {
  clearInterval(timer);
  timer = 0;
  playing.textContent = "play";
}
function play() {
  if (timer) return pause();
  if (following() === now) show(0);
  playing.textContent = "pause";
  timer = setInterval(() => (following() === now ? pause() : show(following())), 900);
}
// The next position of the game or of a variation; the same one at its end.
function following(number = now) {
  return children.get(number)?.[0] ?? number;
}
function end(number) {
  while (number !== last && following(number) !== number) number = following(number);
  return number;
}
// The position after another action in place of the last one.
function beside(step) {
  const siblings = now ? children.get(frames[now][2]) : [];
  return siblings[siblings.indexOf(now) + step] ?? now;
}
const goes = {
  first: () => show(0),
  back: () => show(frames[now][2]),
  on: () => show(following()),
  last: () => show(end(now)),
  up: () => show(beside(-1)),
  down: () => show(beside(1)),
  play,
};
const keys = {
  Home: "first", ArrowLeft: "back", ArrowRight: "on", End: "last", " ": "play",
  ArrowUp: "up", ArrowDown: "down",
};

function view(name) {
  shown = name;
  pick();
  for (const button of document.querySelectorAll("button[data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === name));
  }
}
function fromHash() {
  const found = /^#p(\d+)$/.exec(location.hash);
  show(found ? Number(found[1]) : remembered(), { keepHash: true });
  reach();
}
// On a narrow page what leads to a position may be far below the board.
function reach() {
  if (board.getBoundingClientRect().bottom < innerHeight / 2) board.parentElement.scrollIntoView();
}
function remembered() {
  try {
    return live ? Number(localStorage.getItem(`position ${live}`)) : 0;
  } catch {
    return 0;
  }
}

function start() {
  root.classList.add("scripted");
  document.getElementById("controls").hidden = false;
  for (const button of document.querySelectorAll("button[data-go]")) {
    button.addEventListener("click", () => goes[button.dataset.go]());
  }
  for (const button of document.querySelectorAll("button[data-view]")) {
    button.addEventListener("click", () => view(button.dataset.view));
  }
  for (const [hash, link] of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      show(Number(hash.slice(2)));
      reach();
    });
  }
  slider.addEventListener("input", () => show(Number(slider.value)));
  for (const graph of graphs) {
    graph.addEventListener("click", (event) => {
      const box = graph.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * graph.viewBox.baseVal.width;
      const [left, right] = [Number(graph.dataset.left), Number(graph.dataset.right)];
      show(Math.round(((x - left) / (right - left)) * last));
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("textarea, select")) return;
    const go = keys[event.key];
    const steps = { up: -1, down: 1 };
    if (steps[go] && beside(steps[go]) === now) return; // scrolls
    if (!go || (event.key === " " && event.target.closest("button, summary, a"))) return;
    event.preventDefault();
    goes[go]();
  });
  addEventListener("hashchange", fromHash);
  fromHash();
  view(document.querySelector("button[data-view]")?.dataset.view ?? "all");
}
// A browser without DecompressionStream keeps the page as it is.
if ("DecompressionStream" in globalThis) unpack().then(start);
