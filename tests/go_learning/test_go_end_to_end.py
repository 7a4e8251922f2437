"""From games to play in small: supervised, policy gradient, value network, search; and zero."""

from __future__ import annotations

import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tests.go_learning.go_training_games import SIZE, Interrupting, supervised_config

import miai
from miai.tensors import read_tensors
from miai_go.learning.data.shards import open_shards
from miai_go.learning.training.reinforce import ReinforceConfig, train_by_gradient
from miai_go.learning.training.run_folder import TrainingPlan, load_plan
from miai_go.learning.training.supervised import SupervisedConfig, train_supervised
from miai_go.learning.training.training_run import Checkpoints, RoundsResult
from miai_go.learning.training.value import ValueConfig, train_value
from miai_go.learning.training.zero import _Zero, read_ladder, train_zero
from miai_go.learning.training.zero_config import ZeroConfig
from miai_go.nets.network import WeightsHeader

torch.set_num_threads(1)

REINFORCE = """
[game]
size = 5
komi = 7.5
max_moves = 50
games = 8
rounds = 3

[pool]
every = 1

[match]
every = 3
games = 4

[encoder]
name = "zero"

[network]
name = "tower"
parameters = {{ height = 1, width = 8 }}
start = "{start}"

[optimiser]
rate = 0.01
warm_steps = 2
batch = 64

[run]
steps = 100
seed = 5
threads = 1
"""

VALUE = """
[game]
policy = "{policy}"
player = "{player}"
size = 5
komi = 7.5
max_moves = 50
games = 60
batch = 20
last_random = 10
validation = 0.3

[encoder]
name = "zero"

[network]
name = "tower"
parameters = {{ height = 1, width = 8 }}
start = "{policy}"

[optimiser]
rate = 0.02
warm_steps = 2
batch = 16

[loss]
policy = 0.0

[run]
steps = 10
seed = 5
threads = 1
"""

ZERO = """
[game]
size = 5
komi = 7.5
max_moves = 40

[search]
simulations = 8
considered = 4

[selfplay]
rounds = 3
games = 8
groups = 2
at_once = 3

[replay]
rounds = 2
root_share = 0.5

[ladder]
every = 1
games = 4
simulations = 4

[encoder]
name = "zero"
parameters = { history = 1 }

[network]
name = "tower"
parameters = { height = 1, width = 8, ownership = true, score = true }

[optimiser]
rate = 0.05
warm_steps = 2
batch = 32

[run]
steps = 12
seed = 2
threads = 1
average = 0.9
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def same_tensors(first: Path, second: Path) -> bool:
    a, _ = read_tensors(first)
    b, _ = read_tensors(second)
    return a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a)


@pytest.mark.slow
def test_from_games_to_play(tmp_path: Path) -> None:
    plan = load_plan(
        supervised_config(tmp_path, steps=30),
        SupervisedConfig,
        command="train sl",
        out=tmp_path / "sl",
    )
    policy = train_supervised(plan).weights

    config = written(tmp_path / "rl.toml", REINFORCE.format(start=policy))
    reinforced = train_by_gradient(
        load_plan(config, ReinforceConfig, command="train rl", out=tmp_path / "rl")
    )
    assert reinforced.rounds == 3
    assert reinforced.steps >= 3
    assert not same_tensors(policy, reinforced.weights)

    text = VALUE.format(policy=policy, player=reinforced.weights)
    config = written(tmp_path / "value.toml", text)
    valued = train_value(
        load_plan(config, ValueConfig, command="train value", out=tmp_path / "value")
    )
    shards = open_shards(tmp_path / "value" / "games")
    assert sum(shard.games for shard in shards) >= 60
    for shard in shards:  # one position of each game, and never the first two
        offsets = shard.columns["offsets"]
        weights = [shard.columns["weight"][a:b] for a, b in pairwise(offsets)]
        assert all(weight.sum() == 1 and weight[0] == 0 for weight in weights)
    assert valued.measures.figures()["positions"] > 5
    history = WeightsHeader.read(valued.weights).history
    assert [record.command.split()[3] for record in history] == ["sl", "value"]

    game = miai.load_game("go", board_size=SIZE, komi=7.5)
    player = miai.make_agent(
        "alphago",
        game,
        policy=str(policy),
        value=str(valued.weights),
        simulations=16,
        leaf_value="mixed",
    )
    record = miai.play(game, [player, miai.make_agent("fast-random", game)], seed=4)
    player.close()
    assert record.termination == "terminal", record.detail
    assert record.moves[0].statistics["simulations"] == 16


def zero_plan(folder: Path, *settings: str) -> TrainingPlan[ZeroConfig]:
    config = written(folder / "zero.toml", ZERO)
    out = folder / ("run" + "".join(c for c in "".join(settings) if c.isalnum()))
    return load_plan(config, ZeroConfig, command="train zero", assignments=settings, out=out)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RoundsResult]:
    folder = tmp_path_factory.mktemp("zero")
    plan = zero_plan(folder)
    return plan.folder, train_zero(plan)


@pytest.mark.slow
def test_zero_learns_from_its_own_games(whole: tuple[Path, RoundsResult]) -> None:
    folder, ended = whole
    assert (ended.rounds, ended.steps) == (3, 12)
    shards = open_shards(folder / "games")
    assert [shard.games for shard in shards] == [8, 8, 8]
    for shard in shards:
        targets = shard.columns["policy"].astype(np.float64).sum(1)
        assert targets == pytest.approx(np.ones(len(targets)), abs=0.01)
    rungs = read_ladder(folder)
    assert [(rung.round, rung.against) for rung in rungs] == [(1, 0), (2, 1), (3, 2)]
    assert all(rung.wins + rung.draws + rung.losses == 4 for rung in rungs)
    assert (folder / "ladder.svg").read_text("utf-8").startswith("<svg")


@pytest.mark.slow
def test_a_gate_keeps_the_weights_that_a_run_began_with(tmp_path: Path) -> None:
    first = train_zero(zero_plan(tmp_path, "selfplay.rounds=1", "ladder.every=0", "run.steps=2"))
    settings = (f"network.start='{first.weights}'", "gate.games=4", "optimiser.rate=1e-9")
    plan = zero_plan(tmp_path, *settings, "selfplay.rounds=2", "ladder.every=0", "run.steps=2")
    ended = train_zero(plan)
    assert (ended.rounds, ended.steps) == (2, 2)
    assert ended.weights.parent.name == "step-000000000"
    assert same_tensors(ended.weights, first.weights)
    assert train_zero(plan).weights == ended.weights  # a run that is done goes no further


def test_an_interrupted_round_ends_with_the_games_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def play(*arguments: Any) -> Any:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        return played(*arguments)

    played = _Zero._play
    monkeypatch.setattr(_Zero, "_play", play)

    plan = zero_plan(tmp_path, "selfplay.games=20000", "selfplay.groups=2", "selfplay.workers=2")
    before = signal.signal(signal.SIGALRM, interrupt)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            train_zero(plan)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 20
    assert not (plan.folder / "games").exists()


@pytest.mark.soak
def test_self_play_in_int8_is_played_by_onnx_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    from miai_go.nets import onnx_oracle

    made: list[onnx_oracle.OnnxOracle] = []

    class Noted(onnx_oracle.OnnxOracle):
        def __init__(self, model: bytes, *, where: str) -> None:
            super().__init__(model, where=where)
            made.append(self)

    monkeypatch.setattr(onnx_oracle, "OnnxOracle", Noted)
    settings = ("selfplay.precision='int8'", "selfplay.rounds=1", "selfplay.games=4")
    plan = zero_plan(tmp_path, *settings, "ladder.every=0", "run.steps=2")
    assert train_zero(plan).rounds == 1
    (shard,) = open_shards(plan.folder / "games")
    assert shard.games == 4
    assert {oracle.precision for oracle in made} == {"int8"}
    asked = sum(oracle.statistics()["positions"] for oracle in made)
    assert asked > len(shard.columns["policy"])


@pytest.mark.slow
def test_an_interrupted_zero_run_resumes(whole: tuple[Path, RoundsResult], tmp_path: Path) -> None:
    plan = zero_plan(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        train_zero(plan, journal=Interrupting(plan.folder, step=8))
    ended = train_zero(plan)
    assert same_tensors(whole[1].weights, ended.weights)
    assert [(r.wins, r.losses, r.elo) for r in read_ladder(plan.folder)] == [
        (r.wins, r.losses, r.elo) for r in read_ladder(whole[0])
    ]


@pytest.mark.slow
def test_zero_is_the_same_on_any_number_of_workers(
    whole: tuple[Path, RoundsResult], tmp_path: Path
) -> None:
    plan = zero_plan(tmp_path, "selfplay.workers=1")
    assert same_tensors(whole[1].weights, train_zero(plan).weights)


@pytest.mark.slow
def test_a_gate_keeps_weights_that_lose_from_playing(tmp_path: Path) -> None:
    settings = ("gate.games=4", "gate.score=1.0", "ladder.games=2", "search.method='puct'")
    plan = zero_plan(tmp_path, *settings, "resign.below=-0.2", "resign.hold_out=0.5")
    ended = train_zero(plan)
    log = (plan.folder / "log.csv").read_text("utf-8")
    assert "gate" in log
    assert "resign_wrong" in log
    assert ended.steps == 12
    checkpoints = Checkpoints(plan.folder / "checkpoints")
    newest = checkpoints.latest()
    assert newest is not None
    assert ended.weights == checkpoints.weights(newest.state["best"])
    assert read_ladder(plan.folder)[-1].steps == newest.state["best"] < newest.step
