// A table: draws what the server sends, and sends what the player chooses.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const table = document.getElementById("table");
const address = `/tables/${table.dataset.table}`;
const element = (id) => document.getElementById(id);
const picture = element("picture");
let frame = null;
let chosen = []; // areas clicked so far
let sent = -1; // number of the frame that was answered
let focus = 0; // the area that the keyboard is on
let dragged = null;

const events = new EventSource(`${address}/events`);
events.onmessage = (event) => show(JSON.parse(event.data));
events.onerror = () => { element("status").textContent = "Connection lost; trying again …"; };

function show(news) {
  const kept = document.activeElement && document.activeElement.classList.contains("area");
  if (!frame || frame.number !== news.frame.number || news.stage !== "playing") chosen = [];
  frame = news.frame;
  drawPicture();
  drawAreas(kept);
  const yours = frame.turn && news.stage === "playing";
  const clock = news.left === null ? "" : ` (${Math.floor(news.left)} s left)`;
  element("status").textContent = {
    waiting: "Waiting for everybody to sit down.",
    playing: yours ? `Your turn.${clock}` : "The game goes on.",
    suspended: "The game is interrupted.",
    over: `The game is over: ${news.result}`,
    failed: "The game has failed.",
  }[news.stage];
  element("problem").textContent = news.problem;
  element("hint").textContent = frame.hint;
  element("over").hidden = news.stage !== "over";
  if (element("typed")) showChoices(news, yours);
  if (news.moves) {
    element("played").hidden = !news.moves.length;
    element("moves").replaceChildren(...news.moves.map((text) => made("li", text)));
  }
}

function made(name, text, attributes = {}) {
  const result = document.createElement(name);
  result.textContent = text;
  Object.assign(result, attributes);
  return result;
}

function drawPicture() {
  picture.hidden = !frame.picture;
  const text = element("text");
  text.hidden = !frame.text;
  text.textContent = frame.text;
  picture.innerHTML = frame.picture;
}

function shape(box, style) {
  const result = document.createElementNS(SVG, "rect");
  ["x", "y", "width", "height"].forEach((name, i) => result.setAttribute(name, box[i]));
  result.setAttribute("class", style);
  return result;
}

function drawAreas(kept) {
  const drawn = picture.querySelector("svg");
  if (!drawn || !frame.areas.length) return;
  const layer = document.createElementNS(SVG, "svg");
  layer.setAttribute("viewBox", drawn.getAttribute("viewBox"));
  layer.setAttribute("role", "group");
  layer.setAttribute("aria-label", "Places to choose; the arrow keys move");
  if (focus >= frame.areas.length) focus = 0;
  frame.areas.forEach((area, i) => {
    const rect = shape(area.box, "area");
    rect.setAttribute("role", "button");
    rect.setAttribute("aria-label", area.name);
    rect.setAttribute("tabindex", i === focus ? "0" : "-1");
    rect.dataset.area = i;
    layer.append(rect);
  });
  layer.addEventListener("pointerover", (event) => halo(layer, event.target));
  layer.addEventListener("focusin", (event) => halo(layer, event.target));
  layer.addEventListener("pointerleave", () => halo(layer, null));
  layer.addEventListener("click", (event) => { if (!dragged) choose(areaOf(event.target)); });
  layer.addEventListener("pointerdown", (event) => { dragged = null; start = areaOf(event.target); });
  layer.addEventListener("pointerup", (event) => drop(event));
  layer.addEventListener("keydown", (event) => key(layer, event));
  picture.append(layer);
  mark();
  if (kept) layer.children[focus].focus();
}

let start = -1;
function areaOf(target) {
  return target && target.dataset && target.dataset.area ? Number(target.dataset.area) : -1;
}

function drop(event) {
  const end = areaOf(document.elementFromPoint(event.clientX, event.clientY));
  if (start < 0 || end < 0 || start === end) return;
  dragged = end;
  chosen = [];
  choose(start);
  choose(end);
}

function halo(layer, target) {
  layer.querySelectorAll(".halo").forEach((old) => old.remove());
  const area = frame.areas[areaOf(target)];
  if (area && area.halo) layer.prepend(shape(area.halo, "halo"));
}

function key(layer, event) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const current = areaOf(event.target);
  if (current < 0) return;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    dragged = null;
    choose(current);
  } else if (event.key === "Escape") {
    chosen = [];
    mark();
  } else if (steps[event.key]) {
    event.preventDefault();
    focus = nearest(current, steps[event.key]);
    layer.querySelectorAll(".area").forEach((rect, i) => {
      rect.setAttribute("tabindex", i === focus ? "0" : "-1");
      if (i === focus) rect.focus();
    });
  }
}

function nearest(current, [dx, dy]) {
  const centre = ({ box: [x, y, w, h] }) => [x + w / 2, y + h / 2];
  const [x, y] = centre(frame.areas[current]);
  let best = current;
  let least = Infinity;
  frame.areas.forEach((area, i) => {
    const [ax, ay] = centre(area);
    const along = (ax - x) * dx + (ay - y) * dy;
    const aside = Math.abs((ax - x) * dy) + Math.abs((ay - y) * dx);
    if (along > 0.5 && along + 3 * aside < least) {
      least = along + 3 * aside;
      best = i;
    }
  });
  return best;
}

function choose(area) {
  if (area < 0 || sent === frame.number) return;
  const begun = (path) => chosen.every((name, i) => path[i] === name);
  let next = frame.moves.filter((move) => begun(move.path) && move.path[chosen.length] === area);
  if (!next.length && chosen.length) { // another beginning instead
    chosen = [];
    next = frame.moves.filter((move) => move.path[0] === area);
  }
  if (!next.length) return mark();
  chosen.push(area);
  const whole = next.filter((move) => move.path.length === chosen.length);
  if (whole.length === 1) send({ kind: "move", action: whole[0].action });
  else if (whole.length > 1) ask(whole);
  mark();
}

function mark() {
  picture.querySelectorAll(".area").forEach((rect) => {
    rect.classList.toggle("chosen", chosen.includes(Number(rect.dataset.area)));
  });
}

function ask(moves) {
  const menu = element("menu");
  const buttons = moves.map((move) => made("button", move.text, {
    type: "button",
    onclick: () => { menu.close(); send({ kind: "move", action: move.action }); },
  }));
  menu.firstElementChild.replaceChildren(...buttons);
  menu.showModal();
  menu.onclose = () => { chosen = []; mark(); };
}

function showChoices(news, yours) {
  const moves = yours ? frame.moves : [];
  const free = moves.filter((move) => !move.path.length);
  const offered = free.length <= 60 ? free : [];
  element("buttons").replaceChildren(...offered.map((move) => made("button", move.text, {
    type: "button", onclick: () => send({ kind: "move", action: move.action }),
  })));
  element("typed").hidden = !yours;
  element("moves-list").replaceChildren(...moves.map((move) => made("option", "", { value: move.text })));
  element("undo").hidden = !(yours && news.undo);
  element("resign").hidden = !yours;
  element("advice").hidden = !(yours && news.hints);
}

async function send(answer) {
  if (!frame || sent === frame.number) return;
  const { number } = frame;
  sent = number;
  try {
    const reply = await fetch(`${address}/answers`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ number, ...answer }),
    });
    const said = await reply.json();
    element("problem").textContent = said.problem || "";
    if (!reply.ok || answer.kind === "undo") sent = -1;
  } catch {
    sent = -1;
    element("problem").textContent = "The server does not answer; try again.";
  }
}

if (element("typed")) {
  element("typed").addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = element("move").value.trim();
    const move = frame.moves.find(({ text }) => text.toLowerCase() === typed.toLowerCase());
    if (move) {
      element("move").value = "";
      send({ kind: "move", action: move.action });
    } else {
      element("problem").textContent = `No legal move is written '${typed}'.`;
    }
  });
  element("advice").addEventListener("click", async (event) => {
    const { number } = frame;
    event.target.disabled = true;
    const reply = await fetch(`${address}/hints`, { method: "POST" });
    const said = await reply.json();
    event.target.disabled = false;
    if (frame.number !== number) return;
    element("hint").textContent = said.text || said.problem;
    const move = frame.moves.find(({ action }) => action === said.action);
    picture.querySelectorAll(".area").forEach((rect) => {
      rect.classList.toggle("advised", !!move && move.path.includes(Number(rect.dataset.area)));
    });
  });
  element("undo").addEventListener("click", () => send({ kind: "undo" }));
  element("resign").addEventListener("click", () => {
    if (confirm("Resign this game?")) send({ kind: "resign" });
  });
}
for (const button of document.querySelectorAll("[data-invite]")) {
  button.addEventListener("click", async () => {
    const reply = await fetch(`${address}/invitations/${button.dataset.invite}`, { method: "POST" });
    const said = await reply.json();
    button.nextElementSibling.textContent = said.address || said.problem;
  });
}
