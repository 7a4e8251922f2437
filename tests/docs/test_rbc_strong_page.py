"""The page on rbc-strong: its commands run, and a game is played as it was."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.warm_command import run_miai

from miai.record_reader import read_record
from miai_rbc.belief.weighted import load_model

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rbc-strong.md").read_text(encoding="utf-8")


def block(containing: str) -> list[list[str]]:
    """Return the words of each command of a block, without the name of the program."""
    (text,) = (b for b in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if containing in b)
    return [shlex.split(command)[1:] for command in text.splitlines()]


GAME = """2 21 d6 b1c3; 4 267 d5 f1d3; 5 32 d5 e1g1; 8 1 - f3h2; 11 349 f7 c3b5; 12 27 e7 b5c7;
18 147 e6 c1c7; 20 27 e7 g7f8"""  # turns with the boards before the sense, the sense and the move


@pytest.mark.slow
def test_a_game_is_played_as_it_was(tmp_path: Path) -> None:
    play = "play rbc --white rbc-strong --white.evaluations 2000 --black rbc-seed --seed 6 --quiet"
    done = run_miai([*play.split(), "--record", "game.jsonl"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = read_record((tmp_path / "game.jsonl").read_text())
    own = [move for move in record.moves if move.actor == 0]
    for turn, boards, sense, text in (row.split() for row in GAME.split(";")):
        sensing, moving = own[2 * int(turn) - 2 : 2 * int(turn)]
        assert sensing.statistics["boards"] == int(boards), turn
        assert (sensing.text, moving.text) == (f"sense {sense}", text), turn
    assert own[9].statistics["boards"] == 1
    assert own[8].statistics["style"] == "seed3"
    assert own[35].statistics["boards"] == 54
    assert own[-1].statistics["why"] == "king"


@pytest.mark.slow
def test_a_model_is_trained_and_measured(tmp_path: Path) -> None:
    games = tmp_path / "runs" / "rbc-opponent" / "records"
    games.mkdir(parents=True)
    play = ["play", "rbc", "--white", "attacker", "--black", "rbc-random", "--quiet", "--seed", "1"]
    done = run_miai([*play, "--record", str(games / "game.reconchess")], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (games / "game.reconchess").rename(games / "game.json")
    plays = [*play[:3], "rbc-strong", "--white.weights.file", "opponent.safetensors", *play[4:]]
    plays += ["--white.evaluations", "30", "--set", "full_turn_limit=3"]
    said = ("of 2 players learned", "mean log-likelihood of the true board", "")
    for words, text in zip([*block("train-opponent"), plays], said, strict=True):
        done = run_miai(words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert text in done.stdout
    assert load_model(tmp_path / "opponent.safetensors").names == ("attacker", "rbc-random")
