"""AlphaGo Zero's loop learns from recorded games between its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tests.go_learning.go_training_games import config_text, rollout_games, write_games

from miai_go.errors import DataError, TrainingError
from miai_go.learning.data.shards import ShardWriter
from miai_go.learning.training.learner import Lesson
from miai_go.learning.training.run_folder import TrainingPlan, load_plan
from miai_go.learning.training.supervised import endless
from miai_go.learning.training.zero import Replay, _Zero, train_zero
from miai_go.learning.training.zero_config import ZeroConfig
from miai_go.nets.encoder import load_encoder
from miai_go.nets.network import WeightsHeader
from miai_go.nets.torch_oracle import TorchOracle


def plan_of(folder: Path, games: Path, *, share: float = 0.25) -> TrainingPlan[ZeroConfig]:
    config, given = folder / "zero.toml", f"recorded.sources=['{games}']"
    config.write_text(config_text("zero"))
    small = ("search.simulations=4", "selfplay.rounds=2", "selfplay.games=4", "ladder.every=0")
    recorded = (given, f"recorded.share={share}", "recorded.validation=0.2", "recorded.test=0.0")
    settings = (*small, *recorded, "network.parameters={height=1,width=8}", "run.steps=8")
    out = folder / "run"
    return load_plan(config, ZeroConfig, command="train zero", assignments=settings, out=out)


def replay_of(folder: Path, share: float) -> Replay:
    """Return the lessons of a run that played one round of eight games."""
    config = plan_of(folder, write_games(folder / "recorded"), share=share).config
    with ShardWriter(folder / "own", size=5) as out:
        for game in rollout_games(8):
            out.add(game)
    encoder = load_encoder("zero", 5, {"history": 1})
    return Replay(config, encoder, folder / "own")


@pytest.mark.parametrize("share", [0.01, 0.25, 0.6])
def test_its_steps_are_shared_out_evenly_wherever_a_round_begins(
    tmp_path: Path, share: float
) -> None:
    replay = replay_of(tmp_path, share)
    whole = [kind for kind, _ in replay.lessons(0, first=0, count=40)]
    assert whole.count("recorded_") == int(40 * share)
    for end in range(41):
        assert abs(whole[:end].count("recorded_") - end * share) < 1
    parts = [kind for first in (0, 20) for kind, _ in replay.lessons(0, first=first, count=20)]
    assert parts == whole


def test_each_kind_of_step_learns_from_its_games(tmp_path: Path) -> None:
    replay = replay_of(tmp_path, 0.5)
    assert replay.recorded is not None
    assert 0 < len(replay.recorded) < 60  # the games that measure sl's progress are not learnt
    lessons = list(replay.lessons(0, first=3, count=4))
    expected = islice(endless(replay.recorded, 32, seed=2), 1, 3)
    found: list[Lesson] = [lesson for kind, lesson in lessons if kind]
    for batch, lesson in zip(expected, found, strict=True):
        np.testing.assert_array_equal(batch.planes, lesson.planes)
        np.testing.assert_array_equal(batch.action, lesson.action)
        np.testing.assert_array_equal(batch.result, lesson.value)
        assert lesson.policy is None
    for kind, lesson in lessons:
        assert kind or lesson.policy is not None  # what the search found


def test_a_run_learns_from_both_and_says_so(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, write_games(tmp_path / "recorded"))
    ended = train_zero(plan)
    header = WeightsHeader.read(ended.weights)
    assert header.komi == (0.5, 7.5)  # of its own games, and of the recorded ones
    (record,) = header.history
    assert record.data.startswith("games of its own, 4 a round; 0.25 of the steps 4")
    log = (plan.folder / "log.csv").read_text()
    assert "recorded_policy" in log
    assert ",policy," in log


def test_the_komi_of_recorded_games_counts(tmp_path: Path) -> None:
    config = plan_of(tmp_path, write_games(tmp_path / "recorded")).config
    game = config.game.model_copy(update={"komi": 6.0})
    encoder = load_encoder("zero", 5, {"history": 1})
    replay = Replay(config.model_copy(update={"game": game}), encoder, tmp_path / "own")
    assert replay.komi() == (6.0, 7.5)


def test_other_recorded_games_are_refused_when_it_goes_on(tmp_path: Path) -> None:
    games = write_games(tmp_path / "recorded")
    plan = plan_of(tmp_path, games)
    train_zero(plan)
    for path in games.rglob("*.*"):
        path.unlink()
    for folder in sorted(games.glob("*")):
        folder.rmdir()
    with pytest.raises(DataError):
        train_zero(plan)
    write_games(games, count=30)
    with pytest.raises(TrainingError, match="other recorded games"):
        train_zero(plan)


def test_komi_is_drawn_only_for_a_network_that_sees_it(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, write_games(tmp_path / "recorded"))
    game = plan.config.game.model_copy(update={"komi_spread": 1.5})
    drawn = replace(plan, config=plan.config.model_copy(update={"game": game}))
    with pytest.raises(TrainingError, match=r"komi_spread.*does not show komi"):
        train_zero(drawn)


def test_a_network_that_learns_plays_as_one_for_the_komi_of_its_games(tmp_path: Path) -> None:
    """Otherwise its values would be shifted from no komi to that of the games."""
    zero = _Zero(plan_of(tmp_path, write_games(tmp_path / "recorded")), None)
    for player in (zero._player(), zero._untrained()):
        assert isinstance(player, TorchOracle)
        low, high = player.header.komi
        assert low <= 7.5 <= high
