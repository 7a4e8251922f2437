// The list of games: those that contain the words, of the group and with the facts that are chosen.
"use strict";
const wanted = document.getElementById("wanted");
const shown = document.getElementById("shown");
const filters = [...document.querySelectorAll("[data-fact]")];
let facts = {}; // of each game; they come after the page
const games = [...document.querySelectorAll(".games li")];
function sift() {
  const words = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
  let hits = 0;
  for (const game of games) {
    const text = game.textContent.toLowerCase();
    const groups = game.dataset.groups.split(" ");
    const own = facts[game.dataset.game] || {};
    const hit = words.every((word) => text.includes(word)) && (!shown.value || groups.includes(shown.value))
      && filters.every(({ value, dataset }) => !value || own[dataset.fact] === value);
    game.hidden = !hit;
    hits += hit;
  }
  document.getElementById("hits").textContent = hits < games.length ? `${hits} of ${games.length} games` : "";
}
wanted.addEventListener("input", sift);
for (const choice of [shown, ...filters]) choice.addEventListener("change", sift);
sift(); // a browser that goes back restores what was entered
fetch("/facts").then((reply) => reply.json()).then((told) => { facts = told; sift(); });
