// The form of a new game: the fields of the agent that is chosen, and the sides that are swapped.
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
  let before = select.value;
  select.addEventListener("change", () => {
    showFields();
    const own = [...document.querySelectorAll("select.agent")].filter(({ value }) => value === "me");
    const other = own.find((each) => each !== select);
    // Who changes sides leaves the other side to who was here.
    if (select.value === "me" && other && before !== "me") {
      other.value = before;
      other.dispatchEvent(new Event("change"));
    }
    before = select.value;
  });
  // Somebody was faster than this script, or the browser has restored a choice.
  if (!select.selectedOptions[0]?.defaultSelected) showFields();
}
