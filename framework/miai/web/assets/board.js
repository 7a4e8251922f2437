// A board to play on: a picture, areas over it, and the actions that clicks on the areas choose.
"use strict";
const SVG = "http://www.w3.org/2000/svg";

function made(name, text, attributes = {}) {
  const result = document.createElement(name);
  result.textContent = text;
  Object.assign(result, attributes);
  return result;
}

class Board {
  // holder: where the picture is drawn; menu: a dialog for actions with the same clicks;
  // play(action): called when an action is chosen.
  constructor(holder, menu, play) {
    this.holder = holder;
    this.menu = menu;
    this.play = play;
    this.areas = [];
    this.moves = [];
    this.chosen = []; // areas clicked so far
    this.focus = 0; // the area that the keyboard is on
    this.awaited = false; // whether the keyboard was on the board when it last had areas
    this.from = -1; // where the pointer went down
    this.dragged = false;
  }

  // Draws a frame: its picture, what it shows in words, areas and moves.
  draw({ picture, text, areas, moves }) {
    const lost = this.awaited && document.activeElement === document.body;
    const kept = this.holder.contains(document.activeElement) || lost;
    this.awaited = kept;
    this.holder.hidden = !picture;
    this.holder.innerHTML = picture;
    this.areas = areas;
    this.moves = moves;
    const drawn = this.holder.querySelector("svg");
    if (drawn) drawn.setAttribute("aria-label", text);
    if (!drawn || !areas.length) return;
    const layer = document.createElementNS(SVG, "svg");
    layer.setAttribute("viewBox", drawn.getAttribute("viewBox"));
    layer.setAttribute("role", "group");
    layer.setAttribute("aria-label", "Places to choose; the arrow keys move");
    if (this.focus >= areas.length) this.focus = 0;
    areas.forEach((area, i) => {
      const rect = shape(area.box, "area");
      rect.setAttribute("role", "button");
      rect.setAttribute("aria-label", area.name);
      rect.setAttribute("tabindex", i === this.focus ? "0" : "-1");
      rect.dataset.area = i;
      layer.append(rect);
    });
    layer.addEventListener("pointerover", (event) => this.#halo(layer, event.target));
    layer.addEventListener("focusin", (event) => this.#halo(layer, event.target));
    layer.addEventListener("pointerleave", () => this.#halo(layer, null));
    layer.addEventListener("click", (event) => {
      if (!this.dragged) this.#choose(areaOf(event.target));
    });
    layer.addEventListener("pointerdown", (event) => {
      this.dragged = false;
      this.from = areaOf(event.target);
    });
    layer.addEventListener("pointerup", (event) => this.#drop(event));
    layer.addEventListener("keydown", (event) => this.#key(layer, event));
    this.holder.append(layer);
    this.#showChosen();
    if (kept) layer.children[this.focus].focus();
  }

  // Forgets the areas clicked so far.
  forget() {
    this.chosen = [];
    this.#showChosen();
  }

  // Gives the areas with these numbers a class, and takes it from the others.
  mark(numbers, style) {
    this.holder.querySelectorAll(".area").forEach((rect) => {
      rect.classList.toggle(style, numbers.includes(Number(rect.dataset.area)));
    });
  }

  // Draws labels in boxes, such as moves that an agent considered; strength is from 0 to 1.
  label(marks) {
    this.holder.querySelector(".labels")?.remove();
    const drawn = this.holder.querySelector("svg");
    const placed = marks.filter(({ box }) => box);
    if (!drawn || !placed.length) return;
    const layer = document.createElementNS(SVG, "svg");
    layer.setAttribute("viewBox", drawn.getAttribute("viewBox"));
    layer.setAttribute("class", "labels");
    layer.setAttribute("aria-hidden", "true");
    for (const { box: [x, y, w, h], label, strength } of placed) {
      const radius = 0.46 * Math.min(w, h);
      const circle = document.createElementNS(SVG, "circle");
      circle.setAttribute("cx", x + w / 2);
      circle.setAttribute("cy", y + h / 2);
      circle.setAttribute("r", radius);
      circle.setAttribute("opacity", 0.35 + 0.6 * strength);
      const text = document.createElementNS(SVG, "text");
      text.setAttribute("x", x + w / 2);
      text.setAttribute("y", y + h / 2);
      text.setAttribute("font-size", radius * (label.length > 2 ? 0.85 : 1.05));
      text.textContent = label;
      layer.append(circle, text);
    }
    this.holder.append(layer);
  }

  #showChosen() {
    this.mark(this.chosen, "chosen");
  }

  #drop(event) {
    const end = areaOf(document.elementFromPoint(event.clientX, event.clientY));
    if (this.from < 0 || end < 0 || this.from === end) return;
    this.dragged = true;
    this.chosen = [];
    this.#choose(this.from);
    this.#choose(end);
  }

  #halo(layer, target) {
    layer.querySelectorAll(".halo").forEach((old) => old.remove());
    const area = this.areas[areaOf(target)];
    if (area && area.halo) layer.prepend(shape(area.halo, "halo"));
  }

  #key(layer, event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const current = areaOf(event.target);
    if (current < 0) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.dragged = false;
      this.#choose(current);
    } else if (event.key === "Escape") {
      this.forget();
    } else if (steps[event.key]) {
      event.preventDefault();
      this.focus = this.#nearest(current, steps[event.key]);
      layer.querySelectorAll(".area").forEach((rect, i) => {
        rect.setAttribute("tabindex", i === this.focus ? "0" : "-1");
        if (i === this.focus) rect.focus();
      });
    }
  }

  #nearest(current, [dx, dy]) {
    const centre = ({ box: [x, y, w, h] }) => [x + w / 2, y + h / 2];
    const [x, y] = centre(this.areas[current]);
    let best = current;
    let least = Infinity;
    this.areas.forEach((area, i) => {
      const [ax, ay] = centre(area);
      const along = (ax - x) * dx + (ay - y) * dy;
      const aside = Math.abs((ax - x) * dy) + Math.abs((ay - y) * dx);
      if (along > 0.5 && along + 3 * aside < least) {
        least = along + 3 * aside;
        best = i;
      }
    });
    return best;
  }

  #choose(area) {
    if (area < 0) return;
    const begun = (path) => this.chosen.every((name, i) => path[i] === name);
    const at = this.chosen.length;
    let next = this.moves.filter((move) => begun(move.path) && move.path[at] === area);
    if (!next.length && this.chosen.length) { // another beginning instead
      this.chosen = [];
      next = this.moves.filter((move) => move.path[0] === area);
    }
    if (!next.length) {
      this.#showChosen();
      return;
    }
    this.chosen.push(area);
    const whole = next.filter((move) => move.path.length === this.chosen.length);
    if (whole.length === 1) this.play(whole[0].action);
    else if (whole.length > 1) this.#ask(whole);
    this.#showChosen();
  }

  #ask(moves) {
    const buttons = moves.map((move) => made("button", move.text, {
      type: "button",
      onclick: () => { this.menu.close(); this.play(move.action); },
    }));
    this.menu.firstElementChild.replaceChildren(...buttons);
    this.menu.showModal();
    this.menu.onclose = () => this.forget();
  }
}

function shape(box, style) {
  const result = document.createElementNS(SVG, "rect");
  ["x", "y", "width", "height"].forEach((name, i) => result.setAttribute(name, box[i]));
  result.setAttribute("class", style);
  return result;
}

function areaOf(target) {
  return target && target.dataset && target.dataset.area ? Number(target.dataset.area) : -1;
}
