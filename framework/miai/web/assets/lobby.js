// The list of games: those that contain the words and are of the group that is chosen.
"use strict";
const wanted = document.getElementById("wanted");
const shown = document.getElementById("shown");
const games = [...document.querySelectorAll(".games li")];
function sift() {
  const words = wanted.value.toLowerCase().split(/\s+/).filter(Boolean);
  let hits = 0;
  for (const game of games) {
    const text = game.textContent.toLowerCase();
    const groups = game.dataset.groups.split(" ");
    const hit = words.every((word) => text.includes(word)) && (!shown.value || groups.includes(shown.value));
    game.hidden = !hit;
    hits += hit;
  }
  document.getElementById("hits").textContent = hits < games.length ? `${hits} of ${games.length} games` : "";
}
wanted.addEventListener("input", sift);
shown.addEventListener("change", sift);
sift(); // a browser that goes back restores what was entered
