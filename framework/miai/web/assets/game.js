// The form of a new game: the fields of the agent that is chosen.
"use strict";
for (const select of document.querySelectorAll("select.agent")) {
  const box = select.closest("fieldset");
  const details = box.querySelector(".own");
  const showFields = async () => {
    const { game, player } = box.dataset;
    const fields = details.querySelector(".parameters");
    const agent = select.selectedOptions[0].title ? select.value : ""; // others have no parameters
    const answer = agent && await fetch(`/games/${game}/players/${player}/${encodeURIComponent(agent)}`);
    if (answer.ok) fields.innerHTML = await answer.text();
    else fields.replaceChildren();
    details.hidden = !fields.querySelector(".field, .mistake");
  };
  select.addEventListener("change", showFields);
  // Somebody was faster than this script, or the browser has restored a choice.
  if (!select.selectedOptions[0]?.defaultSelected) showFields();
}
