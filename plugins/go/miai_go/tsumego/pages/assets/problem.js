// A problem: sends the line of moves, and shows what the proof answers.
"use strict";
const element = (id) => document.getElementById(id);
const { address } = element("problem-board").dataset;
const board = new Board(element("picture"), element("menu"), (move) => play(move));
let line = []; // the moves so far
let shown = []; // the positions that the buttons step through
let at = 0;
let waiting = false;

async function ask(path, said) {
  if (waiting) return null;
  waiting = true;
  element("picture").setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(`${address}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(said),
    });
    const answer = await reply.json();
    element("problem").textContent = answer.problem || "";
    return reply.ok ? answer : null;
  } catch {
    element("problem").textContent = "The server does not answer; try again.";
    return null;
  } finally {
    waiting = false;
    element("picture").removeAttribute("aria-busy");
  }
}

async function play(move) {
  const answer = await ask("moves", { line, move });
  if (answer) show(answer);
}

function show(answer) {
  const [frame] = answer.frames;
  line = frame.line;
  board.forget();
  board.draw(frame);
  element("status").textContent = answer.text || element("task").textContent;
  element("status").className = answer.outcome;
  element("pass").hidden = !frame.moves.some((move) => !move.path.length);
  shown = answer.sequel || [];
  at = 0;
  element("steps").hidden = !shown.length;
  if (shown.length) step(0);
  if (answer.counts) {
    element("solved").textContent = answer.counts.solved;
    element("tried").textContent = answer.counts.tried;
  }
}

function step(to) {
  at = Math.max(0, Math.min(shown.length - 1, to));
  board.draw(shown[at]);
  element("back").disabled = at === 0;
  element("next").disabled = at === shown.length - 1;
}

async function begin() {
  element("hint").textContent = "";
  const answer = await ask("moves", { line: [] });
  if (answer) show(answer);
}

element("again").addEventListener("click", begin);
element("pass").addEventListener("click", () => {
  const move = board.moves.find(({ path }) => !path.length);
  if (move) play(move.action);
});
element("back").addEventListener("click", () => step(at - 1));
element("next").addEventListener("click", () => step(at + 1));
element("show").addEventListener("click", async () => {
  const answer = await ask("solution", { line: [] });
  if (answer) show(answer);
});
element("show-status").addEventListener("click", async () => {
  const answer = await ask("status", { line: [] });
  if (answer) element("hint").textContent = answer.status;
});
if (element("task")) begin();
