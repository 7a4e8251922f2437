#!/usr/bin/env node
// Nim as a game for miai: take any number from one heap; who takes the last piece wins.
// The state is the heaps and the player, such as [3,4,5,0]; the program remembers nothing.
const lines = require("readline").createInterface({ input: process.stdin });
let heaps, most;

function say(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}

// The action i * most + n - 1 takes n pieces from heap i.
function describe(id, state) {
  const piles = state.slice(0, -1), player = state[state.length - 1];
  const text = piles.map((n, i) => `heap ${i + 1}: ${n}`).join(", ");
  const answer = { type: "state", id, state, text };
  if (piles.every((n) => n === 0)) {
    return { ...answer, player: -4, returns: player === 1 ? [1, -1] : [-1, 1] };
  }
  const legal = piles.flatMap((n, i) => Array.from({ length: n }, (_, k) => i * most + k));
  return { ...answer, player, legal };
}

function begin(message) {
  heaps = message.parameters.heaps ?? [3, 4, 5];
  if (!Array.isArray(heaps) || !heaps.every((n) => Number.isInteger(n) && n > 0 && n < 100)) {
    return { type: "error", message: "heaps: a list of numbers from 1 to 99" };
  }
  most = Math.max(...heaps);
  return {
    type: "hello", protocol: 1, name: "nim", version: 1, players: ["first", "second"],
    actions: heaps.flatMap((_, i) => Array.from({ length: most }, (_, k) => `${i + 1}-${k + 1}`)),
    max_game_length: heaps.reduce((a, b) => a + b),
  };
}

function next(message) {
  const state = message.state.slice(), action = message.actions[0];
  state[Math.floor(action / most)] -= (action % most) + 1;
  state[state.length - 1] = 1 - state[state.length - 1];
  return describe(message.id, state);
}

lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "hello") say(begin(message));
  else if (message.type === "start") say(describe(message.id, [...heaps, 0]));
  else if (message.type === "next") say(next(message));
});
