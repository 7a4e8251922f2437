// Plays at random. The same seed gives the same game.
const lines = require("readline").createInterface({ input: process.stdin });
let state = 0;

function random() {  // xorshift32
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 2 ** 32;
}

function say(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}

lines.on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "hello") {
    say({ type: "hello", protocol: 1, name: "random-js", version: "1.0" });
  } else if (message.type === "new_game") {
    state = (message.seed ^ 0x9e3779b9) | 1;
  } else if (message.type === "act") {
    const action = message.legal[Math.floor(random() * message.legal.length)];
    say({ type: "action", id: message.id, action, statistics: { choices: message.legal.length } });
  }
});
