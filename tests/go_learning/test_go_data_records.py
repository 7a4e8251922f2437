"""Records of tournaments become games to learn from, with the visits of searches as targets."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from tests.go_learning.go_commands import run
from tests.go_learning.go_training_games import config_text

from miai.errors import RecordError
from miai.record_reader import read_record
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.importing import read_record_game
from miai_go.learning.data.shards import open_shards
from miai_go.learning.data.stored_games import UNKNOWN, StoredGame
from miai_tournaments.api import run_tournament

_VISITS = TypeAdapter(list[tuple[int, int]])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three players, whose games were imported to ``set``."""
    folder = tmp_path_factory.mktemp("agents")
    (folder / "agents.toml").write_text(config_text("agents"))
    records = ('run.records=["jsonl", "sgf"]', "limits.isolation=none")
    run_tournament(folder / "agents.toml", folder / "run", overrides=records, executor="serial")
    run("data", "import", folder / "run" / "records", "--out", folder / "set", "--size", "7")
    return folder


@pytest.mark.slow
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
            assert game.weight is not None
            assert game.weight[ply] == bool(visits)
            value = move.statistics["value"] if searched else np.nan
            assert root_value_of(game, ply) == pytest.approx(value, abs=1e-3, nan_ok=True)
            if visits:
                assert game.policy is not None
                expected = np.zeros(50)
                expected[list(visits)] = list(visits.values())
                np.testing.assert_allclose(game.policy[ply], expected / expected.sum(), atol=1e-3)
                targets += 1
    assert targets > 20


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

    game = read_record_game(changed(played, end), "x.jsonl").game
    assert game.result == result
    assert np.isnan(game.margin)
    assert game.ownership is None


def moved(**values: Any) -> Callable[[list[Any]], None]:
    return lambda lines: lines[4].update(values)


def visited(pairs: object) -> Callable[[list[Any]], None]:
    return lambda lines: lines[5]["statistics"].update(visits=pairs)


def headed(**values: Any) -> Callable[[list[Any]], None]:
    return lambda lines: lines[0].update(values)


def small(lines: list[Any]) -> None:
    lines[0]["game_parameters"]["board_size"] = 5


def cut(lines: list[Any]) -> None:
    del lines[-7:-1]


def lost(lines: list[Any]) -> None:
    lines[-1]["returns"].reverse()


def occupied(lines: list[Any]) -> None:
    lines[5]["statistics"]["visits"] = [[lines[1]["action"], 3]]


def suicide(lines: list[Any]) -> None:
    lines[0]["game_parameters"]["suicide"] = True
    # White fills the last liberty of two stones in the corner.
    moves = {"B1": 1, "A1": 0, "A3": 14, "G6": 41, "B2": 8, "A2": 7}
    for line, (text, action) in zip(lines[1:7], moves.items(), strict=True):
        line |= {"action": action, "text": text, "statistics": {}}
    del lines[7:-1]
    lines[-1] |= {"termination": "resignation", "loser": 0, "returns": [-1.0, 1.0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (headed(game="chess"), "a record of chess, not of go"),
        (headed(game_version=9), "recorded from go version 9, "),
        (small, "ply [0-9]+: "),
        (moved(action=10**6), "ply 3: "),
        (moved(actor=-1), "ply 3: player -1 acted"),
        (cut, "ended by 'terminal', but the position is not terminal"),
        (lost, "the record gives returns "),
        (suicide, r"move 6, A2, is suicide, .* suicide = false"),
        (visited("many"), "visits of ply 4: "),
        (visited([[3, 10**400]]), "visits of ply 4: "),
        (visited([[3, True]]), "visits of ply 4: "),
        (visited([["7", 3]]), "visits of ply 4: "),
        (visited([[50, 3]]), "visits of ply 4 are of an action that is not legal"),
        (occupied, "visits of ply 4 are of an action that is not legal"),
        (visited([[49, 3], [49, 4]]), "visits of ply 4 name an action twice"),
    ],
)
def test_a_bad_record_is_refused_with_its_reason(
    played: Path, change: Callable[[list[Any]], None], message: str
) -> None:
    with pytest.raises(RecordError, match=message) as refused:
        read_record_game(changed(played, change), "x.jsonl")
    assert "\n" not in str(refused.value)


def test_games_beside_bad_records_are_imported(played: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(changed(played, moved(action=10**6)))
    (tmp_path / "good.jsonl").write_bytes(changed(played, lambda lines: None))
    output = run("data", "import", tmp_path, "--out", tmp_path / "set", "--size", "7")
    assert "1  bad:" in output
    assert "1  written to" in output


def test_without_searches_a_record_has_no_policy_targets(played: Path) -> None:
    def plain(lines: list[Any]) -> None:
        for line in lines[1:-1]:
            line["statistics"] = {}

    game = read_record_game(changed(played, plain), "x.jsonl").stored(komi=7)
    from_sgf = replace(game, weight=None)
    assert GoDataset.of_games([game, from_sgf]).targets().tolist() == (
        [False] * len(game.moves) + [True] * len(game.moves)
    )
