"""The page on programs: its command runs, and its conversation is one that takes place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import miai

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "programs.md").read_text("utf-8")

BOT = """
import json, sys
with open(sys.argv[1], "w") as notes:
    for line in sys.stdin:
        message = json.loads(line)
        notes.write(line)
        notes.flush()
        if message["type"] == "hello":
            print('{"type":"hello","protocol":1,"name":"my-bot","version":"1.0"}', flush=True)
        elif message["type"] == "act":
            answer = {"type": "action", "id": message["id"], "action": message["legal"][0]}
            print(json.dumps(answer), flush=True)
"""


def test_the_command_runs() -> None:
    (line,) = re.findall(r"^\$ miai (.*)$", TEXT, re.MULTILINE)
    command = [sys.executable, "-m", "miai", *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "x wins" in done.stdout


def test_messages_have_the_fields_of_the_page(tmp_path: Path) -> None:
    """In this order too, as programs without a JSON library rely on it."""
    shown = [json.loads(line[3:]) for line in TEXT.splitlines() if line.startswith("-> ")]
    notes = tmp_path / "notes"
    game = miai.load_game("tic_tac_toe")
    bot = miai.make_agent("program", game, command=[sys.executable, "-c", BOT, str(notes)])
    try:
        record = miai.play(game, [bot, miai.make_agent("random", game)], seed=1)
    finally:
        bot.close()
    assert record.players[0].version == "my-bot 1.0"
    told = [json.loads(line) for line in notes.read_text("utf-8").splitlines()]
    for kind in ("hello", "new_game", "act", "end"):
        documented = next(message for message in shown if message["type"] == kind)
        real = next(message for message in told if message["type"] == kind)
        assert list(real) == list(documented), kind
        if kind == "act":
            assert list(real["clock"]) == list(documented["clock"])
            assert real["observations"] == documented["observations"]
    assert told[0] == shown[0]
