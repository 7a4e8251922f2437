"""Sets of self-play games: targets of full searches alone, resumed and extended bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer
from tests.go_learning.go_forest_slow import Judged, random_judge
from typer.testing import CliRunner

from miai.errors import MiaiError
from miai_go.commands import add_commands
from miai_go.errors import DataError
from miai_go.learning.dataset import GoDataset
from miai_go.learning.shards import open_shards, shard_folders
from miai_go.learning.tree_games import SelfPlayPlan, play_set
from miai_go.rules.board import Board

SIZE = 4


def plan_of(**settings: object) -> SelfPlayPlan:
    values: dict[str, object] = {"size": SIZE, "komi": 0.5, "max_moves": 30, "simulations": 12}
    values |= {"full_share": 0.4, "warm_moves": 3, "seed": 5, "games_a_shard": 3}
    return SelfPlayPlan.model_validate({"weights": "judge", **values, **settings})


def judges(count: int) -> list[Judged]:
    return [Judged(random_judge(SIZE, seed=1)) for _ in range(count)]


def test_moves_of_fast_searches_have_no_targets(tmp_path: Path) -> None:
    assert play_set(plan_of(), 7, judges(1), tmp_path) == 9, "whole shards"
    shares = []
    for index in range(9):
        game = GoDataset(tmp_path).game(index)
        assert game.policy is not None
        assert game.weight is not None
        assert game.root_value is not None
        full = game.weight > 0
        shares.append(full.mean())
        np.testing.assert_array_equal(game.policy.any(1), full)
        np.testing.assert_array_equal(~np.isnan(game.root_value), full)
        board = Board(SIZE)
        for ply, move in enumerate(game.moves.tolist()):
            if move < SIZE**2:
                board.play(ply % 2, move)
        assert game.margin == board.area_score() - 0.5
    assert 0.2 < np.mean(shares) < 0.6


def test_komi_is_drawn_from_the_spread(tmp_path: Path) -> None:
    play_set(plan_of(komi=3.0, komi_spread=1.0, games_a_shard=40), 40, judges(1), tmp_path)
    (shard,) = open_shards(tmp_path)
    assert set(shard.columns["half_komi"].tolist()) == {4, 5, 6, 7, 8}


def test_a_set_is_resumed_and_extended_with_any_number_of_workers(tmp_path: Path) -> None:
    play_set(plan_of(), 12, judges(2), tmp_path / "whole")

    def stop(games: int) -> None:
        if games >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_set(plan_of(), 9, judges(2), tmp_path / "parts", progress=stop)
    assert play_set(plan_of(), 9, judges(1), tmp_path / "parts") == 3
    assert play_set(plan_of(), 12, judges(1), tmp_path / "parts") == 3
    assert play_set(plan_of(), 12, judges(1), tmp_path / "parts") == 0
    whole, parts = open_shards(tmp_path / "whole"), open_shards(tmp_path / "parts")
    assert len(whole) == len(parts) == 4
    for one, other in zip(whole, parts, strict=True):
        assert one.manifest is not None
        assert other.manifest is not None
        assert one.manifest.columns == other.manifest.columns, "digests of all columns"
    assert whole[0].columns["moves"].tolist() != whole[1].columns["moves"].tolist()
    with pytest.raises(DataError, match="seed differ"):
        play_set(plan_of(seed=6), 12, judges(1), tmp_path / "parts")


def test_a_failing_worker_stops_the_others(tmp_path: Path) -> None:
    class Failing(Judged):
        def value_leaves(self, leaves):  # type: ignore[no-untyped-def]
            raise DataError("broken")

    good, bad = Judged(random_judge(SIZE, seed=1)), Failing(random_judge(SIZE, seed=1))
    with pytest.raises(DataError, match="broken"):
        play_set(plan_of(), 300, [good, bad], tmp_path)
    assert len(shard_folders(tmp_path)) < 100 if tmp_path.is_dir() else True


def test_the_command_plays_and_resumes(tmp_path: Path) -> None:
    app, out = typer.Typer(), tmp_path / "own"
    add_commands(app)
    words = ["go", "data", "play", "--out", str(out), "--games", "2", "--games-a-shard", "2"]
    words += ["--simulations", "2", "--fast-simulations", "1", "--workers", "1"]
    assert "2  games played" in CliRunner().invoke(app, words).stdout
    assert "0  games played" in CliRunner().invoke(app, words).stdout
    (shard,) = open_shards(out)
    assert shard.size == 9
    refused = CliRunner().invoke(app, [*words, "--komi-spread", "0.3"]).exception
    assert isinstance(refused, MiaiError)
    assert "komi_spread" in str(refused)
