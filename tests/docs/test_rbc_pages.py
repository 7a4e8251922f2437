"""The pages on Reconnaissance Blind Chess: their commands run, and a game is played as it was."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.docs.page_parts import ROOT, commands, page, rows, run, section

from miai.plugins.loader import registry
from miai.record_reader import read_record
from miai_rbc.belief.scans import SCANS
from miai_rbc.belief.weighted import load_model


@pytest.mark.slow
def test_the_commands_run_and_draw_the_pictures(tmp_path: Path) -> None:
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    for words in commands(page("rbc")):
        # Whole games take a minute.
        short = ["--set", "full_turn_limit=4"] * (words[:2] == ["play", "rbc"])
        run(["miai", *words, *short], tmp_path)
    for name in ("belief.svg", "told.svg"):
        root = ElementTree.parse(tmp_path / name).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_its_tables_name_what_there_is() -> None:
    scans, engines, named = (
        rows(section(page("rbc"), heading)) for heading in ("Scans", "Engines", "Agents")
    )
    assert scans == set(SCANS)
    assert engines == {"kernel", "stockfish"}
    agents, others = (
        {c.name for c in registry().components("agent", game=game, adapted=True)}
        for game in ("rbc", "tic_tac_toe")
    )
    assert named <= agents
    assert agents - named <= others


GAME = """2 21 d6 b1c3; 4 267 d5 f1d3; 5 32 d5 e1g1; 8 1 - f3h2; 11 349 f7 c3b5; 12 27 e7 b5c7;
18 147 e6 c1c7; 20 27 e7 g7f8"""  # turns with the boards before the sense, the sense and the move


@pytest.mark.slow
def test_a_game_is_played_as_it_was(tmp_path: Path) -> None:
    play = "play rbc --white rbc-strong --white.evaluations 2000 --black rbc-seed --seed 6 --quiet"
    run(["miai", *play.split(), "--record", "game.jsonl"], tmp_path)
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
    run(["miai", *play, "--record", str(games / "game.reconchess")], tmp_path)
    (games / "game.reconchess").rename(games / "game.json")
    plays = [*play[:3], "rbc-strong", "--white.weights.file", "opponent.safetensors", *play[4:]]
    plays += ["--white.evaluations", "30", "--set", "full_turn_limit=3"]
    said = ("of 2 players learned", "mean log-likelihood of the true board", "")
    for words, text in zip([*commands(page("rbc-strong")), plays], said, strict=True):
        assert text in run(["miai", *words], tmp_path)
    assert load_model(tmp_path / "opponent.safetensors").names == ("attacker", "rbc-random")
