"""Sets of self-play games: targets of full searches alone, resumed and extended bit for bit."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import typer
from tests.go_learning.go_forest_slow import Judged, random_judge
from typer.testing import CliRunner

from miai.errors import MiaiError
from miai_go.commands import add_commands
from miai_go.errors import DataError
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.shards import open_shards, shard_folders
from miai_go.learning.selfplay.tree_games import SelfPlayPlan, play_set

SIZE = 4


def plan_of(**settings: object) -> SelfPlayPlan:
    values: dict[str, object] = {"size": SIZE, "komi": 0.5, "max_moves": 30, "simulations": 12}
    values |= {"full_share": 0.4, "warm_moves": 3, "seed": 5, "games_a_shard": 3}
    return SelfPlayPlan.model_validate({"weights": "judge", **values, **settings})


def judges(count: int, *sizes: int) -> list[dict[int, Judged]]:
    wanted = sizes or (SIZE,)
    return [{size: Judged(random_judge(size, seed=1)) for size in wanted} for _ in range(count)]


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
    assert 0.2 < np.mean(shares) < 0.6


def test_komi_is_drawn_from_the_spread(tmp_path: Path) -> None:
    play_set(plan_of(komi=3.0, komi_spread=1.0, games_a_shard=40), 40, judges(1), tmp_path)
    (shard,) = open_shards(tmp_path)
    assert set(shard.columns["half_komi"].tolist()) == {4, 5, 6, 7, 8}


@pytest.mark.slow
def test_a_failing_worker_stops_the_others(tmp_path: Path) -> None:
    calls: list[int] = []

    class Counting(Judged):
        def value_leaves(self, leaves):  # type: ignore[no-untyped-def]
            calls.append(len(leaves))
            return super().value_leaves(leaves)

    class Failing(Judged):
        def value_leaves(self, leaves):  # type: ignore[no-untyped-def]
            while not calls:
                time.sleep(0.001)
            raise DataError("broken")

    plan = plan_of(games_a_shard=20, simulations=40, full_share=1.0)
    counting = Counting(random_judge(SIZE, seed=1))
    play_set(plan, 20, [{SIZE: counting}], tmp_path / "whole")
    whole = len(calls)
    calls.clear()
    workers: list[dict[int, Judged]] = [
        {SIZE: counting},
        {SIZE: Failing(random_judge(SIZE, seed=1))},
    ]
    with pytest.raises(DataError, match="broken"):
        play_set(plan, 40, workers, tmp_path / "failed")
    assert not shard_folders(tmp_path / "failed")
    assert len(calls) < whole / 2, "the other worker did not stop"


def test_folders_that_are_no_sets_are_refused_before_a_game(tmp_path: Path) -> None:
    play_set(plan_of(), 3, judges(1), tmp_path / "set")
    for name in ("000007", "mine"):
        shard = (tmp_path / "set" / "000000").replace(tmp_path / name)
        with pytest.raises(DataError, match="is a shard itself"):
            play_set(plan_of(), 3, judges(1), shard)
        shard.replace(tmp_path / "set" / "000000")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="file"):
        play_set(plan_of(), 3, judges(1), tmp_path / "file")


def test_a_folder_of_other_things_is_not_made_a_set(tmp_path: Path) -> None:
    (tmp_path / "games").mkdir()
    for sizes in ([4], [4, 5]):
        with pytest.raises(DataError, match="is not a set of games, it contains games; name a new"):
            play_set(plan_of(size=sizes), 3, judges(1, *sizes), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["games"]
    (tmp_path / "games").rmdir()
    (tmp_path / "4x4").mkdir()  # an interrupted run may leave one
    assert play_set(plan_of(size=[4, 5]), 3, judges(1, 4, 5), tmp_path) > 0


@pytest.mark.parametrize(
    "settings", [{"komi": 1e6}, {"komi_spread": 1e9}, {"simulations": 10**12}, {"size": 30}]
)
def test_numbers_beyond_reason_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        plan_of(**settings)


def test_the_command_plays_and_resumes(tmp_path: Path) -> None:
    app, out = typer.Typer(), tmp_path / "own"
    add_commands(app)
    words = ["go", "data", "play", "--out", str(out), "--games", "2", "--games-a-shard", "2"]
    words += ["--simulations", "2", "--fast-simulations", "1", "--workers", "1", "--sizes", "9"]
    assert "2  games played" in CliRunner().invoke(app, words).stdout
    assert "0  games played" in CliRunner().invoke(app, words).stdout
    (shard,) = open_shards(out)
    assert shard.size == 9
    refused = CliRunner().invoke(app, [*words, "--komi-spread", "0.3"]).exception
    assert isinstance(refused, MiaiError)
    assert str(refused) == "--komi-spread: 0.3 is not a multiple of 0.5; use 0 or 0.5"
