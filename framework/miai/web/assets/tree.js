// The tree of a record at a server: draws variations as they are followed, and adds to them.
"use strict";
const element = (id) => document.getElementById(id);
const additions = element("additions");
const clicks = new Board(null, element("menu"), (action) => add({ action }));
let choices = []; // the legal actions of the position that is shown
const put = (html) => pieces.push(html) - 1;

async function ask(path, body) {
  const said = { problem: "The server does not answer; try again." };
  try {
    const json = { method: "POST", headers: { "content-type": "application/json" } };
    const reply = await fetch(`${live}/${path}`, body && { ...json, body: JSON.stringify(body) });
    Object.assign(said, { problem: "" }, await reply.json());
  } catch {
    // said
  }
  element("problem").textContent = said.problem;
  return said.problem ? null : said;
}

board.addEventListener("drawn", async () => {
  clicks.awaited = clicks.played;
  clicks.played = false;
  const number = now;
  const missing = board.querySelector(".not-drawn");
  if (!missing && !additions.open) return;
  const said = await ask(`positions/${number}`);
  if (!said) return missing?.replaceChildren(element("problem").textContent);
  if (missing) frames[number][0] = [put(said.position)];
  if (number !== now) return;
  if (missing) draw();
  else offer(said);
});

// Offers the actions of a position, on its picture and in a list.
function offer({ areas, moves }) {
  choices = moves;
  element("choices").replaceChildren(...moves.map(({ action, text }) => made("option", text, { value: action })));
  element("variation").hidden = !moves.length;
  const figure = board.querySelector("figure");
  const drawn = figure?.querySelector("svg");
  if (!drawn || !areas.length) return;
  const { outerHTML: picture } = drawn;
  clicks.holder = made("div", "", { className: "clickable" });
  drawn.replaceWith(clicks.holder);
  clicks.forget();
  clicks.draw({ picture, text: drawn.getAttribute("aria-label"), areas, moves });
}

async function add(addition) {
  const position = now;
  clicks.played = Boolean(document.activeElement?.matches(".area:focus-visible"));
  const said = await ask("additions", { position, ...addition });
  if (!said) return false;
  if (said.reload) { // the lines of an analysis are counted anew
    location.hash = `p${said.number}`;
    location.reload();
    return true;
  }
  for (const [at, html] of said.notes) frames[at][1] = put(pieces[frames[at][1]] + html);
  if (said.number >= frames.length) {
    frames[said.number] = [[put(said.position)], 0, position];
    grow(said.number);
  }
  if (said.number !== now) show(said.number);
  else draw();
  return true;
}

additions.addEventListener("toggle", draw);
board.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  clicks.awaited = false;
  document.activeElement.blur();
});
element("variation").addEventListener("submit", (event) => {
  event.preventDefault();
  add({ action: Number(element("choices").value) });
});
element("remark").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await add({ comment: element("comment").value })) element("comment").value = "";
});
if (now >= 0) draw(); // this script came after the first position
