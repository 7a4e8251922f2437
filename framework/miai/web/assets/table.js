// A table: draws what the server sends, and sends what the player chooses.
"use strict";
const table = document.getElementById("table");
const address = `/tables/${table.dataset.table}`;
const element = (id) => document.getElementById(id);
const board = new Board(
  element("picture"), element("menu"), (action) => send({ kind: "move", action }),
);
let frame = null;
let hidden = false; // whether the game hides anything
let sent = -1; // number of the frame that was answered

const events = new EventSource(`${address}/events`);
events.onmessage = (event) => show(JSON.parse(event.data));
events.onerror = () => {
  element("status").textContent = "Connection lost; trying again …";
  sent = -1; // a server that died may not have stored the answer
};

function show(news) {
  if (!frame || frame.number !== news.frame.number || news.stage !== "playing") board.forget();
  frame = news.frame;
  hidden = !news.moves;
  element("text").hidden = !!frame.picture;
  element("text").textContent = frame.text;
  board.draw(frame);
  showAside(news);
  const yours = frame.turn && news.stage === "playing";
  showClocks(news.clocks);
  element("status").textContent = {
    waiting: "Waiting for everybody to sit down.",
    starting: news.compiling ? `${table.dataset.starting} (${news.compiling})` : table.dataset.starting,
    playing: news.paused ? "Paused." : yours ? "Your turn." : "The game goes on.",
    suspended: "The game is interrupted.",
    over: `The game is over: ${news.result}`,
    failed: "The game has failed.",
  }[news.stage];
  element("problem").textContent = news.problem;
  if (element("news").textContent !== frame.news) element("news").textContent = frame.news;
  element("hint").textContent = frame.hint;
  element("over").hidden = news.stage !== "over";
  for (const button of document.querySelectorAll("[data-invite]")) {
    button.closest(".invite").hidden = !news.empty.includes(Number(button.dataset.invite));
  }
  news.chairs.forEach((who, i) => { document.querySelectorAll("#chairs b")[i].textContent = who; });
  if (element("typed")) { showChoices(news, yours); showOffer(news); }
  if (news.moves) {
    element("played").hidden = !news.moves.length;
    element("moves").classList.toggle("wide", news.moves.some((text) => text.length > 8));
    element("moves").replaceChildren(...news.moves.map((text) => made("li", text)));
  }
}

let clocks = null;
let shownAt = 0;
function showClocks(news) {
  clocks = news;
  shownAt = performance.now();
  tick();
}

// Shows the clocks as they are now: the one that runs has lost what passed since the news came.
function tick() {
  if (!clocks) return;
  for (const time of document.querySelectorAll("#clocks time")) {
    const player = Number(time.dataset.player);
    const left = clocks.left[player];
    const runs = clocks.ticking.includes(player);
    const seconds = Math.max(0, left - (runs ? (performance.now() - shownAt) / 1000 : 0));
    time.parentElement.hidden = left === null;
    time.parentElement.classList.toggle("runs", runs);
    time.textContent = clockText(seconds);
  }
}
if (element("clocks")) setInterval(tick, 100);

// Minutes and seconds; tenths of a second in the last ten.
function clockText(seconds) {
  if (seconds < 10) return `0:0${seconds.toFixed(1)}`.replace("0:010.0", "0:10");
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function showChoices(news, yours) {
  const moves = yours ? frame.moves : [];
  const free = moves.filter((move) => !move.path.length);
  const offered = free.length <= 60 ? free : [];
  element("buttons").replaceChildren(...offered.map((move) => made("button", move.label, {
    type: "button", onclick: () => send({ kind: "move", action: move.action }),
  })));
  element("typed").hidden = !yours;
  element("moves-list").replaceChildren(...moves.map((move) => made("option", "", { value: move.text })));
  element("undo").hidden = !(yours && news.undo);
  element("resign").hidden = !yours;
  element("advice").hidden = !(yours && news.hints);
  element("allow").hidden = !news.allowing || news.stage !== "playing";
  element("allow").querySelector("input").checked = !!news.allowing?.own;
  element("allow").querySelector("small").textContent = news.allowing?.who || "";
}

// What two people can agree on: a draw, or at the end a rematch, to which both go at once.
let hoping = false;
function showOffer({ offer, offered, rematch }) {
  const own = offered.includes(true);
  const theirs = offered.includes(false);
  element("offer").hidden = !offer || own;
  element("offer").textContent = `${theirs ? "accept the" : "offer a"} ${offer}`;
  element("offer").dataset.kind = offer;
  element("decline").hidden = !theirs;
  const said = theirs ? `Your opponent offers a ${offer}.` : own ? `You have offered a ${offer}.` : "";
  if (element("offered").textContent !== said) element("offered").textContent = said;
  if (offer === "rematch" && own) hoping = true;
  if (rematch && hoping) location.assign(`/tables/${rematch}`);
  element("rematch").hidden = !rematch;
  element("rematch").href = `/tables/${rematch}`;
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
    if (!reply.ok || ["undo", "hints"].includes(answer.kind)) sent = -1;
  } catch {
    sent = -1;
    element("problem").textContent = "The server does not answer; try again.";
  }
}

if (element("typed")) {
  element("typed").addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = element("move").value.trim();
    const move = frame.moves.find(({ text, label }) => [text, label].some((name) => name.toLowerCase() === typed.toLowerCase()));
    if (move) {
      element("move").value = "";
      send({ kind: "move", action: move.action });
    } else {
      send({ kind: "typed", text: typed }); // the server says why not
    }
  });
  element("advice").addEventListener("click", async (event) => {
    const { number } = frame;
    event.target.disabled = true;
    const said = await asked("hints");
    event.target.disabled = false;
    if (frame.number !== number) return;
    element("hint").textContent = said.text || said.problem;
    if (said.thoughts) showThoughts(said.thoughts);
    const move = frame.moves.find(({ action }) => action === said.action);
    board.mark(move ? move.path : [], "advised");
  });
  for (const id of ["offer", "decline"]) {
    element(id).addEventListener("click", async ({ target: { dataset: { kind } } }) => {
      if (kind === "rematch") hoping = true;
      const said = await asked("offers", { kind });
      element("problem").textContent = said.problem || "";
    });
  }
  element("allow").addEventListener("change", (event) => send({ kind: "hints", allow: event.target.checked }));
  element("undo").addEventListener("click", () => send({ kind: "undo" }));
  element("resign").addEventListener("click", () => {
    if (confirm("Resign this game?")) send({ kind: "resign" });
  });
}

// Asks the server for something that may be refused, or may not be answered.
async function asked(what, values = {}) {
  try {
    return await (await fetch(`${address}/${what}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(values),
    })).json();
  } catch {
    return { problem: "The server does not answer; try again." };
  }
}

// What is shown beside the board on request. It is asked for anew when the position changes.
function showAside(news) {
  element("pace").hidden = news.paused === null || news.stage !== "playing";
  for (const button of document.querySelectorAll("[data-pace]")) {
    button.disabled = (button.dataset.pace === "pause") === !!news.paused;
  }
  element("analysis").hidden = !news.analysis;
  element("estimate").hidden = !news.estimate;
  element("estimate").querySelector("summary").textContent = news.estimate;
  if (news.analysis && element("analysis").open) ask("analysis", showAnalysis);
  if (news.estimate && element("estimate").open) ask("estimate", showEstimate);
}

const asking = new Set();
async function ask(what, answer) {
  if (asking.has(what)) return;
  asking.add(what);
  const { number } = frame;
  try {
    const reply = await fetch(`${address}/${what}`);
    if (reply.ok) answer(await reply.json());
  } finally {
    asking.delete(what);
  }
  if (frame.number !== number) ask(what, answer);
}

function showAnalysis({ graph, thoughts }) {
  element("graph").innerHTML = graph;
  if (thoughts) showThoughts(thoughts);
  else element("thoughts").replaceChildren(made("p", "No agent has said what it thought."));
}

function showThoughts({ who, value, considered, line }) {
  element("analysis").hidden = false;
  const parts = [made("p", value ? `${who}: ${value}` : who)];
  const label = (mark, text, strength) => ({ box: mark.box || (hidden && boxOf(mark.action)), label: text, strength });
  const marks = considered.map((c) => label(c, `${Math.round(100 * c.share)}`, c.share));
  if (considered.length) {
    const table = made("table", "");
    const columns = ["visits", "value", "prior"].filter((name) => considered.some((c) => c[name]));
    const head = table.createTHead().insertRow();
    for (const name of ["considered", ...columns]) head.append(made("th", name, { scope: "col" }));
    const body = table.createTBody();
    considered.forEach((c, i) => {
      const row = body.insertRow();
      row.append(made("th", c.text, { scope: "row" }), ...columns.map((name) => made("td", c[name])));
      row.addEventListener("pointerenter", () => board.label([marks[i]]));
      row.addEventListener("pointerleave", () => board.label(marks));
    });
    parts.push(table);
  }
  if (line.length) {
    const expected = made("p", `expected: ${line.map(({ text }) => text).join(" ")}`, { tabIndex: 0 });
    const steps = line.map((place, i) => label(place, `${i + 1}`, 1));
    for (const name of ["pointerenter", "focus"]) {
      expected.addEventListener(name, () => board.label(steps));
    }
    for (const name of ["pointerleave", "blur"]) {
      expected.addEventListener(name, () => board.label(marks));
    }
    parts.push(expected);
  }
  element("thoughts").replaceChildren(...parts);
  element("analysis").open = true;
  board.label(marks);
}

// The area of a legal action of the position that is shown; null without one.
function boxOf(action) {
  const move = frame.moves.find((each) => each.action === action);
  return move && move.path.length ? frame.areas[move.path.at(-1)].box : null;
}

function showEstimate({ title, picture, text }) {
  const figure = element("estimate").querySelector("figure");
  figure.querySelector(".picture").innerHTML = picture;
  figure.querySelector("pre").hidden = !text;
  figure.querySelector("pre").textContent = text;
  figure.querySelector("figcaption").textContent = title;
  figure.querySelector("svg")?.setAttribute("aria-label", title);
}

element("analysis").addEventListener("toggle", (event) => {
  if (event.target.open) { if (!element("thoughts").children.length) ask("analysis", showAnalysis); } else board.label([]);
});
element("estimate").addEventListener("toggle", (event) => {
  if (event.target.open) ask("estimate", showEstimate);
});
for (const button of document.querySelectorAll("[data-pace]")) {
  button.addEventListener("click", () => asked("pace", { kind: button.dataset.pace }));
}
for (const button of document.querySelectorAll("[data-invite]")) {
  button.addEventListener("click", async () => {
    const said = await asked(`invitations/${button.dataset.invite}`);
    button.nextElementSibling.textContent = said.address || said.problem;
  });
  button.disabled = false;
}
