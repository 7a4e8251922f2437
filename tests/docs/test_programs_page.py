"""The page on programs: its command runs, and its conversation is one that takes place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.docs.page_parts import ROOT, page, run
from tests.framework.test_programs import playing

import miai
from miai.process.program_game import GameHello, PositionAnswer, ProgramGameParameters

TEXT = page("programs")

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


@pytest.mark.slow
def test_the_commands_run() -> None:
    said = {"play": "wins", "check": "no violation in 5 games"}
    lines = re.findall(r"^\$ miai (.*)$", TEXT, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        assert said[line.split()[0]] in run(f"miai {line}", ROOT)


def test_the_conversation_with_a_game_takes_place_like_this() -> None:
    """The example in a shell answers as the page says, and miai asks so."""
    section = TEXT.partition("## A game\n")[2]
    shown = re.findall(r"^(->|<-) (.*)$", section, re.MULTILINE)
    questions = [line for way, line in shown if way == "->"]
    answers = [json.loads(line) for way, line in shown if way == "<-"]
    shell = ROOT / "docs" / "examples" / "programs" / "take_away.sh"
    done = subprocess.run(
        [shell], input="\n".join(questions) + "\n", capture_output=True, text=True, check=True
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    for answer, one in zip(answers, said, strict=True):
        assert {key: one[key] for key in answer} == answer
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        # tee would pass a line on before it notes it.
        noting = f'printf "%s\\n" "$line" >>"{notes}"; printf "%s\\n" "$line"'
        command = ["sh", "-c", f'while IFS= read -r line; do {noting}; done | "{shell}"']
        game = miai.load_game("program", command=command)
        game.new_initial_state().child(2)
        assert notes.read_text().splitlines() == questions


def test_every_setting_and_field_of_a_game_is_on_the_page() -> None:
    section = TEXT.partition("## A game\n")[2]
    for model in (ProgramGameParameters, GameHello, PositionAnswer):
        for field in model.model_fields:
            assert f"`{field}`" in section, field


def test_messages_have_the_fields_of_the_page(tmp_path: Path) -> None:
    """In this order too, as programs without a JSON library rely on it."""
    section = TEXT.partition("## A game\n")[0]
    shown = [json.loads(line[3:]) for line in section.splitlines() if line.startswith("-> ")]
    notes = tmp_path / "notes"
    record = playing([sys.executable, "-c", BOT, str(notes)])
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
