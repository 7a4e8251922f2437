"""Training and measuring the opponent model, from Python and by the commands."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.rbc.games import rbc
from tests.warm_command import run_miai

import miai
from miai.errors import RecordError
from miai_rbc.belief.weighted import MAX_STYLES, OpponentModel
from miai_rbc.kernels.opponent import FEATURES
from miai_rbc.learning.opponent_model import (
    EDGES,
    MoveExamples,
    examples_of,
    measure,
    read_histories,
    train,
)
from miai_rbc.rbc_parameters import ModelWeights, OpponentTraining
from miai_rbc.reconchess.histories import ReconchessRecords

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Histories of short games: `attacker` against `rbc-random`."""
    path = tmp_path_factory.mktemp("histories")
    game = rbc(full_turn_limit=10)
    for number in range(8):
        agents = [miai.make_agent(name, game) for name in ("attacker", "rbc-random")]
        record = miai.play(game, agents[:: 1 if number % 2 else -1], seed=number)
        for agent in agents:
            agent.close()
        (path / f"{number:02}.json").write_text(ReconchessRecords().write(record))
    return path


def log_likelihood(model: OpponentModel, examples: MoveExamples, style: str) -> float:
    """Return the mean log-likelihood of a player's moves, by the definition of the model."""
    starts = np.concatenate([[0], np.cumsum(examples.counts)])
    total, boards = 0.0, 0
    for i in np.flatnonzero(examples.styles == examples.names.index(style)):
        rows = model.table[examples.features[starts[i] : starts[i + 1]]].sum(axis=1)
        hidden = np.concatenate([rows[:, :1], np.maximum(rows[:, 1:], 0)], axis=1)
        logits = hidden @ model.styles[model.names.index(style)]
        total += logits[examples.taken[i]] - math.log(np.exp(logits).sum())
        boards += 1
    return total / boards


@pytest.fixture(scope="module")
def trained(folder: Path) -> tuple[OpponentModel, list[float]]:
    """A model that has learnt the moves of both, and its losses."""
    losses: list[float] = []
    model = train(
        examples_of(read_histories([folder])),
        OpponentTraining(units=8, epochs=100, seed=1),
        progress=lambda _, loss: losses.append(loss),
    )
    return model, losses


def test_training_learns_the_moves_of_each_player(
    folder: Path, trained: tuple[OpponentModel, list[float]]
) -> None:
    examples = examples_of(read_histories([folder]))
    assert examples.names == ("attacker", "rbc-random")
    assert examples.features.max() < FEATURES
    assert len(examples.features) == examples.counts.sum()
    assert (examples.taken < examples.counts).all()
    model, losses = trained
    assert losses[-1] < losses[0]
    uniform = -float(np.log(examples.counts).mean())
    assert log_likelihood(model, examples, "attacker") > uniform + 1.0


def test_training_repeats_itself_by_the_seed(folder: Path) -> None:
    examples = examples_of(read_histories([folder]))
    first, again, other = (
        train(examples, OpponentTraining(units=8, epochs=4, seed=seed)) for seed in (1, 1, 2)
    )
    assert (again.table == first.table).all()
    assert (other.table != first.table).any()


def test_measuring_compares_three_ways(
    folder: Path, trained: tuple[OpponentModel, list[float]]
) -> None:
    model, _ = trained
    result = measure(read_histories([folder]), model, limit=10_000)
    assert result.model > result.even + 0.5
    assert result.bins.shape == (len(EDGES) - 1, 3)
    nothing = OpponentModel.of_tensors(
        {"table": np.zeros((FEATURES, 4), np.float32), "styles": np.zeros((1, 4), np.float32)},
        ("nobody",),
    )
    alike = ModelWeights(doubt=1.0)
    flat = measure(read_histories([folder]), nothing, limit=10_000, weights=alike)
    assert flat.model == pytest.approx(flat.even)
    assert flat.beliefs == result.beliefs
    true = (result.bins[:, 0] * result.bins[:, 2]).sum()
    assert true == pytest.approx(result.beliefs)
    weight = (result.bins[:, 0] * result.bins[:, 1]).sum()
    assert weight == pytest.approx(result.beliefs)
    assert (result.bins[:, 1] <= np.array(EDGES[1:]) + 1e-12).all()


@pytest.mark.slow
def test_bad_input_gives_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text("{")
    output = str(tmp_path / "x.safetensors")
    for words, message in [
        (["train-opponent", str(tmp_path / "empty"), "--output", output], "has no histories"),
        (["train-opponent", str(tmp_path / "bad.json"), "--output", output], "bad.json"),
        (["train-opponent", str(tmp_path / "none.json"), "--output", output], "none.json"),
        (["train-opponent", str(folder), "--output", str(tmp_path / "x.npz")], ".safetensors"),
        (["train-opponent", str(folder), "--output", str(tmp_path / "no" / "x.safetensors")], "no"),
        (["measure-opponent", str(folder), "--model", str(tmp_path / "bad.json")], "bad.json"),
        (["measure-opponent", str(tmp_path / "empty")], "has no histories"),
    ]:
        done = run_miai(["rbc", *words])
        assert done.returncode == 2, (words, done.stderr)
        assert done.stderr.startswith("miai: "), done.stderr
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    done = run_miai(
        ["play", "rbc", "--white", "rbc-strong", "--white.weights.file", "none.safetensors"]
    )
    assert done.returncode == 2
    assert "none.safetensors" in done.stderr
    assert "Traceback" not in done.stderr


def test_too_many_players_are_refused(folder: Path) -> None:
    (history, *_) = read_histories([folder / "00.json"])
    histories = [
        type(history)((f"a{i}", f"b{i}"), history.game, history.actions, None, "")
        for i in range(MAX_STYLES // 2 + 1)
    ]
    with pytest.raises(RecordError, match="at most 31 styles"):
        examples_of(histories)
