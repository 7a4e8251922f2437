// Analyses the game that a replay shows: begins, pauses, goes on, and shows what came of it.
"use strict";
const analyse = document.getElementById("analyse");
const [standing, ask] = [analyse.querySelector("p"), analyse.querySelector("button")];
let judged = -1;

async function told(init) {
  try {
    const { text, kind, button, running, ...now } = await (await fetch(analyse.dataset.at, init)).json();
    if (judged < 0) judged = running ? 0 : now.judged;
    if (!running && now.judged > judged) location.reload();
    standing.textContent = text;
    ask.hidden = !kind;
    ask.value = kind;
    ask.textContent = button;
    if (running && !init) setTimeout(told, 1000);
  } catch {
    standing.textContent = "The server does not answer; trying again …";
    if (!init) setTimeout(told, 3000);
  }
}
ask.addEventListener("click", async () => {
  const going = ask.value === "pause"; // is asked about every second
  await told({ method: "POST", body: ask.value });
  if (!going) told();
});
told();
