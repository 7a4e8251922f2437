// The form of a new game: the fields of the agent that is chosen.
"use strict";
for (const select of document.querySelectorAll("select.agent")) {
  const box = select.closest("fieldset");
  const details = box.querySelector(".own");
  select.addEventListener("change", async () => {
    const { game, player } = box.dataset;
    const answer = await fetch(`/games/${game}/players/${player}/${encodeURIComponent(select.value)}`);
    const fields = details.querySelector(".parameters");
    if (answer.ok) fields.innerHTML = await answer.text();
    else fields.replaceChildren();
    details.hidden = !fields.querySelector(".field, .mistake");
  });
}
