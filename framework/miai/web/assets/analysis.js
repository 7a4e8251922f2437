// Analyses the game that a replay shows: begins, pauses, goes on, and shows what came of it.
"use strict";
const analyse = document.getElementById("analyse");
const [standing, wish] = [analyse.querySelector("p"), analyse.querySelector("button")];
let judged = -1;

async function told(init) {
  try {
    const { text, kind, button, running, ...now } = await (await fetch(analyse.dataset.at, init)).json();
    if (judged < 0) judged = running ? 0 : now.judged;
    if (!running && now.judged > judged) location.reload();
    standing.textContent = text;
    wish.hidden = !kind;
    wish.value = kind;
    wish.textContent = button;
    if (running && !init) setTimeout(told, 1000);
  } catch {
    standing.textContent = "The server does not answer; trying again …";
    if (!init) setTimeout(told, 3000);
  }
}
wish.addEventListener("click", async () => {
  const going = wish.value === "pause"; // is asked about every second
  await told({ method: "POST", body: wish.value });
  if (!going) told();
});
told();
