"""Records of tournaments become games to learn from, with the visits of searches as targets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from tests.warm_command import run_miai

from miai.errors import RecordError
from miai.record_reader import read_record
from miai_go.learning.data.games import UNKNOWN, StoredGame
from miai_go.learning.data.importing import read_record_game
from miai_go.learning.data.shards import open_shards

_VISITS = TypeAdapter(list[tuple[int, int]])
CONFIG = """
[tournament]
name = "agents"
seed = 7
rounds = 1
[game]
name = "go"
board_size = 7
komi = 7.0
suicide = false
[openings]
random_plies = 2
[[players]]
name = "tree"
agent = "mcts"
simulations = 60
[[players]]
name = "random"
agent = "fast-random"
[[players]]
name = "gumbel"
agent = "alphazero"
weights = "policy-7-13"
search = "gumbel"
simulations = 8
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three players, whose games were imported to ``set``."""
    folder = tmp_path_factory.mktemp("agents")
    (folder / "agents.toml").write_text(CONFIG)
    for words in (
        "tournament run agents.toml --out run --records jsonl --records sgf",
        "go data import run/records --out set --size 7",
    ):
        done = run_miai(words.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def test_visits_values_results_and_owners_are_those_of_the_records(played: Path) -> None:
    records = [
        read_record(path.read_text()) for path in sorted((played / "run" / "records").glob("*l"))
    ]
    games = [shard.game(i) for shard in open_shards(played / "set") for i in range(shard.games)]
    assert len(games) == len(records) == 6
    targets = 0
    for game, record in zip(games, records, strict=True):
        assert game.moves.tolist() == [move.action for move in record.moves]
        assert f"{game.margin:+g}".replace("+", "B+").replace("-", "W+") == record.detail
        assert game.result == record.returns[0]
        assert game.ownership is not None
        assert game.ownership.sum() == game.margin + 7
        for ply, move in enumerate(record.moves):
            agent = record.players[move.actor].agent
            visits = dict(_VISITS.validate_python(move.statistics.get("visits", [])))
            searched = bool(move.statistics.get("top"))
            assert bool(visits) == (searched and agent == "mcts")
            assert weight_of(game, ply) == bool(visits)
            value = move.statistics["value"] if searched else np.nan
            assert root_value_of(game, ply) == pytest.approx(value, abs=1e-3, nan_ok=True)
            if visits:
                assert game.policy is not None
                expected = np.zeros(50)
                expected[list(visits)] = list(visits.values())
                np.testing.assert_allclose(game.policy[ply], expected / expected.sum(), atol=1e-3)
                targets += 1
    assert targets > 20


def weight_of(game: StoredGame, ply: int) -> float:
    return 0.0 if game.weight is None else float(game.weight[ply])


def root_value_of(game: StoredGame, ply: int) -> float:
    return float("nan") if game.root_value is None else float(game.root_value[ply])


def changed(played: Path, change: Callable[[list[Any]], None]) -> bytes:
    """Return the lines of the first record after a change."""
    path = min((played / "run" / "records").glob("*.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    change(lines)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.mark.parametrize(
    ("ending", "result"),
    [("resignation", -1), ("time", -1), ("crash", UNKNOWN), ("illegal-action", UNKNOWN)],
)
def test_a_game_that_an_error_decides_has_no_result(played: Path, ending: str, result: int) -> None:
    def end(lines: list[Any]) -> None:
        del lines[-5:-1]
        lines[-1] |= {"termination": ending, "loser": 0, "returns": [-1.0, 1.0]}

    game = read_record_game(changed(played, end), "x.jsonl")
    assert game.result == result
    assert np.isnan(game.margin)
    assert game.ownership is None


def test_bad_records_are_refused_with_their_reason(played: Path, tmp_path: Path) -> None:
    def off_board(lines: list[Any]) -> None:
        lines[5]["statistics"]["visits"] = [[50, 3]]

    def no_numbers(lines: list[Any]) -> None:
        lines[5]["statistics"]["visits"] = "many"

    def chess(lines: list[Any]) -> None:
        lines[0]["game"] = "chess"

    def twice(lines: list[Any]) -> None:
        lines[4]["action"] = lines[3]["action"]

    def suicide(lines: list[Any]) -> None:
        lines[0]["game_parameters"]["suicide"] = True
        # White fills the last liberty of two stones in the corner.
        for line, action in zip(lines[1:6], (1, 0, 14, 41, 8), strict=True):
            line |= {"action": action, "text": "?"}
        lines[6] |= {"action": 7, "text": "A2"}

    for change, message in (
        (off_board, "visits of ply 4 are of an action off the board"),
        (no_numbers, "visits of ply 4: "),
        (chess, "a record of chess, not of go"),
        (suicide, r"move 6, A2, is suicide, .* suicide = false"),
    ):
        with pytest.raises(RecordError, match=message):
            read_record_game(changed(played, change), "x.jsonl")
    (tmp_path / "bad.jsonl").write_bytes(changed(played, twice))
    (tmp_path / "good.jsonl").write_bytes(changed(played, lambda lines: None))
    done = run_miai(
        ["go", "data", "import", str(tmp_path), "--out", str(tmp_path / "set"), "--size", "7"]
    )
    assert done.returncode == 0, done.stderr
    assert "1  bad:" in done.stdout
    assert "1  written to" in done.stdout
