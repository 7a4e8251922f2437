"""Agents of a single file: `FILE.py:CLASS` plays without being installed."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from tests.tournaments.support import config_text, player
from tests.warm_command import run_miai
from tests.whole_texts import assert_transcript, refusal

import miai
from miai.cli.play import parse_players
from miai_tournaments.config.load import load_tournament
from miai_tournaments.store.store import Store

AGENTS = """
import dataclasses

import miai

class MineParameters(miai.Parameters):
    last: bool = miai.parameter(False, help="Play the last legal action")

@dataclasses.dataclass
class Note:
    text: str

class Mine(miai.Agent):
    only_games = ("tic_tac_toe",)

    def __init__(self, game, parameters: MineParameters | None = None):
        super().__init__(game, parameters)
        self.place = -1 if parameters.last else 0

    def act(self, clock):
        return miai.Decision(self.view.legal_actions[self.place])

class Plain(miai.Agent):
    def act(self, clock):
        return miai.Decision(self.view.legal_actions[0])

class Unfinished(miai.Agent):
    pass

class Unlucky(Plain):
    def __init__(self, game, parameters):
        raise ValueError("no luck")

class Thing:
    pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.py").write_text(AGENTS)
    (tmp_path / "syntax.py").write_text("x = 1\ndef broken(:\n")
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "raises.py").write_text("\n\nraise RuntimeError('not today')\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "folder.py").mkdir()
    return tmp_path


def miai_in(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_miai(words, cwd=folder)


def moves_of(output: str) -> list[str]:
    return [line.split()[2] for line in output.splitlines() if ". x " in line]


def test_a_class_of_a_file_plays_from_the_command_line(folder: Path) -> None:
    words = ("play", "tic_tac_toe", "--x", "./agents.py:Mine", "--o", "random", "--seed", "3")
    first = miai_in(folder, *words)
    assert first.returncode == 0, first.stderr
    assert moves_of(first.stdout)[0] == "a3"
    last = miai_in(folder, *words, "--x.last", "true")
    assert moves_of(last.stdout)[0] == "c1"


def test_bad_input_gives_one_clear_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    game = miai.load_game("tic_tac_toe")

    def answer(line: str) -> str:
        words = ["--x", *line.split()]
        return refusal(lambda: parse_players(game, words)[0].make_agent(game), folder=folder)

    assert_transcript("agent-files.txt", answer)


def test_a_game_that_it_does_not_play_is_refused(folder: Path) -> None:
    done = miai_in(folder, "play", "kuhn_poker", "--first", "agents.py:Mine", "--second", "random")
    assert done.returncode == 2
    assert "Mine: does not play kuhn_poker; it plays tic_tac_toe" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_it_plays_in_a_tournament(folder: Path) -> None:
    both = [player("first", "./agents.py:Mine"), player("last", "./agents.py:Mine", last=True)]
    (folder / "x.toml").write_text(config_text(*both, tournament={"rounds": 1}))
    players = load_tournament(folder / "x.toml").players
    assert players[1].agent == "file"
    assert players[1].parameters["parameters"] == {"last": True}
    done = miai_in(folder, "tournament", "run", "x.toml", "--out", "run", "--workers", "1")
    assert done.returncode == 0, done.stderr
    with Store.read(folder / "run") as store:
        rows = store.results()
        assert {row.termination for row in rows} == {"terminal"}
        record = miai.read_record(store.record(rows[0].game_id))
    digest = sha256((folder / "agents.py").read_bytes()).hexdigest()[:12]
    assert {player.version.split("; ")[1] for player in record.players} == {f"Mine {digest}"}
