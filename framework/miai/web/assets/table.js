// A table: draws what the server sends, and sends what the player chooses.
"use strict";
const table = document.getElementById("table");
const address = `/tables/${table.dataset.table}`;
const element = (id) => document.getElementById(id);
const board = new Board(
  element("picture"), element("menu"), (action) => send({ kind: "move", action }),
);
let frame = null;
let sent = -1; // number of the frame that was answered

const events = new EventSource(`${address}/events`);
events.onmessage = (event) => show(JSON.parse(event.data));
events.onerror = () => { element("status").textContent = "Connection lost; trying again …"; };

function show(news) {
  if (!frame || frame.number !== news.frame.number || news.stage !== "playing") board.forget();
  frame = news.frame;
  element("text").hidden = !!frame.picture;
  element("text").textContent = frame.text;
  board.draw(frame);
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
    board.mark(move ? move.path : [], "advised");
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
