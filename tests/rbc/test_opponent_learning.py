"""Training and measuring the opponent model, from Python and by the commands."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.rbc.games import rbc
from tests.rbc.test_pictures import command

import miai
from miai.errors import RecordError
from miai.tensors import TrainingRecord
from miai_rbc.agents.choice import CHECK, Scorer, make_engine, opponent_weights
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.belief.weighted import (
    MAX_STYLES,
    OpponentHeader,
    OpponentModel,
    PieceAges,
    WeightedBoards,
    blend,
    load_model,
    phase_of,
)
from miai_rbc.kernels.opponent import FEATURES, SLOTS, describe_moves
from miai_rbc.learning.opponent_model import (
    EDGES,
    Likelihood,
    MoveExamples,
    examples_of,
    measure,
    read_histories,
    train,
)
from miai_rbc.pictures.moments import steps_of
from miai_rbc.rbc_parameters import ModelWeights, OpponentTraining, StrongParameters
from miai_rbc.reconchess.histories import ReconchessRecords
from miai_rbc.rules.observations import Moved, Sensed

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
    model, losses = trained
    assert losses[-1] < losses[0]
    uniform = -float(np.log(examples.counts).mean())
    assert log_likelihood(model, examples, "attacker") > uniform + 1.0


def test_one_bad_history_of_a_folder_is_left_out_and_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = (folder / "00.json").read_text()
    for name, text in (("a", good), ("b", good[:-40]), ("c", good)):
        (tmp_path / f"{name}.json").write_text(text)
    assert len(list(read_histories([tmp_path]))) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path}: 1 of 3 histories are left out, the first: {tmp_path / 'b.json'}" in said
    with pytest.raises(RecordError, match=r"b\.json"):
        list(read_histories([tmp_path / "b.json"]))
    for name in ("a", "c"):
        (tmp_path / f"{name}.json").unlink()
    with pytest.raises(RecordError, match=r"b\.json"):
        list(read_histories([tmp_path]))


def test_training_repeats_itself_by_the_seed(folder: Path) -> None:
    examples = examples_of(read_histories([folder]))
    first, again, other = (
        train(examples, OpponentTraining(units=8, epochs=4, seed=seed)) for seed in (1, 1, 2)
    )
    assert (again.table == first.table).all()
    assert (other.table != first.table).any()


@pytest.mark.slow
def test_measuring_compares_three_ways(
    folder: Path, trained: tuple[OpponentModel, list[float]]
) -> None:
    model, _ = trained
    some = sorted(folder.iterdir())[:3]
    result = measure(read_histories(some), model, limit=10_000)
    assert result.model > result.even + 0.5
    assert result.bins.shape == (len(EDGES) - 1, 3)
    nothing = OpponentModel.of_tensors(
        {"table": np.zeros((FEATURES, 4), np.float32), "styles": np.zeros((1, 4), np.float32)},
        ("nobody",),
    )
    alike = ModelWeights(doubt=1.0)
    flat = measure(read_histories(some), nothing, limit=10_000, weights=alike)
    assert flat.model == pytest.approx(flat.even)
    assert flat.beliefs == result.beliefs
    true = (result.bins[:, 0] * result.bins[:, 2]).sum()
    assert true == pytest.approx(result.beliefs)
    weight = (result.bins[:, 0] * result.bins[:, 1]).sum()
    assert weight == pytest.approx(result.beliefs)
    assert (result.bins[:, 1] <= np.array(EDGES[1:]) + 1e-12).all()


def test_a_measurement_is_that_of_all_boards_one_by_one(tmp_path: Path) -> None:
    """In a game so short that no board is left out; and what is learned from it."""
    (history,) = read_histories([short_game(tmp_path)])
    model, scorer = load_model(), Scorer(make_engine(StrongParameters()))
    logs, pieces, features = [], (PieceAges(), PieceAges()), []
    moves, found = np.empty(600, np.int64), np.empty((600, SLOTS), np.int16)
    steps = [(step, player) for player in (0, 1) for step in steps_of(history, player)]
    for player in (0, 1):
        belief = RbcBelief(history.game, player)
        weighted = WeightedBoards(belief.boards, model, capacity=10_000, seed=0)
        for step in (step for step, whose in steps if whose == player):
            count, truth = len(belief.events), step.state.boards.rows[0]
            belief.observe(step.observation)
            for event in belief.events[count:]:
                weighted.observe(event, belief.boards)
            if isinstance(step.event, Sensed) and len(belief) > 1:
                assert len(belief) <= 300
                values = opponent_weights(belief.boards.rows, scorer, check=CHECK)
                mixed = blend(weighted, belief.boards, ModelWeights().doubt)
                values = values[(belief.boards.rows == truth).all(axis=1)] / values.sum()
                mixed = mixed[(weighted.boards.rows == truth).all(axis=1)]
                logs.append(np.log([1 / len(belief), *values, *mixed]))
    scorer.engine.close()
    result = measure([history], model, limit=512)
    assert result.beliefs == len(logs) > 2
    assert (result.even, result.value, result.model) == pytest.approx(np.mean(logs, axis=0))
    for step, player in sorted(steps, key=lambda s: s[0].state.move_number()):
        if isinstance(step.event, Sensed):  # a move follows
            row, ages = step.state.boards.rows[0], pieces[1 - player].ages()
            n = describe_moves(row, ages, phase_of(step.turn), moves, found)
            features.append(found[:n].copy())
        elif isinstance(step.event, Moved):
            pieces[player].add(step.event)
    examples = examples_of([history])
    assert (examples.features == np.concatenate(features)).all()
    assert examples.counts.tolist() == list(map(len, features))
    assert [examples.names[style] for style in examples.styles] == ["attacker", "rbc-random"] * 2


def short_game(folder: Path) -> Path:
    game = rbc(full_turn_limit=2)
    agents = [miai.make_agent(name, game) for name in ("attacker", "rbc-random")]
    record = miai.play(game, agents, seed=3)
    (folder / "short.json").write_text(ReconchessRecords().write(record))
    return folder / "short.json"


def test_a_measurement_in_words() -> None:
    bins = np.zeros((len(EDGES) - 1, 3))
    bins[2], bins[8] = (10, 0.02, 0.05), (4, 0.5, 0.75)  # 0.2 and 2 of weight, 0.03 and 0.25 apart
    lines = Likelihood(3, -1.0, -0.5, -0.25, bins).to_text().splitlines()
    assert lines[:4] == [
        "3 beliefs; mean log-likelihood of the true board (nats):",
        "  equal weights -1.000, by value -0.500, model -0.250",
        "calibration error 0.230",
        "   probability    boards    mean    true",
    ]
    assert lines[6] == " 0.010 - 0.050        10   0.020   0.050"
    assert lines[12:] == [
        " 0.500 - 0.600         4   0.500   0.750",
        *(f" 0.{n}00 - {(n + 1) / 10:.3f}         0   0.000   0.000" for n in (6, 7, 8, 9)),
    ]


def test_the_commands_learn_and_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    history, file = short_game(tmp_path), tmp_path / "model.safetensors"
    words = ("--output", file, "--units", 4, "--epochs", 3, "--seed", 2)
    assert command(monkeypatch, "train-opponent", history, *words) == 0
    *epochs, last = capsys.readouterr().out.splitlines()
    assert [line.split(".")[0] for line in epochs] == [f"[{n}/3] loss 3" for n in (1, 2, 3)]
    assert last == f"4 moves of 2 players learned, written to {file}"
    header, _ = OpponentHeader.read_all(file)
    assert header.styles == ("attacker", "rbc-random")
    (learned,) = header.history
    assert learned == TrainingRecord(
        command="miai rbc train-opponent",
        data="4 moves of attacker, rbc-random",
        steps=3,
        seed=2,
        date=learned.date,
    )
    assert command(monkeypatch, "measure-opponent", history, "--model", file) == 0
    measured = measure(read_histories([history]), load_model(file), limit=50_000)
    assert capsys.readouterr().out == f"{measured.to_text()}\n"


def test_bad_input_gives_one_line(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.json").write_text("{")
    output = ("--output", tmp_path / "x.safetensors")
    for words, message in [
        (["train-opponent", tmp_path / "empty", *output], "empty: has no histories of reconchess"),
        (["train-opponent", tmp_path / "bad.json", *output], "bad.json"),
        (["train-opponent", tmp_path / "none.json", *output], "none.json"),
        (
            ["train-opponent", folder, "--output", tmp_path / "x.npz"],
            "end its name in .safetensors",
        ),
        (["train-opponent", folder, "--output", tmp_path / "no" / "x.safetensors"], "no folder"),
        (["measure-opponent", folder, "--model", tmp_path / "bad.json"], "bad.json"),
        (["measure-opponent", tmp_path / "empty"], "empty: has no histories of reconchess"),
    ]:
        assert command(monkeypatch, *words) == 2
        error = capsys.readouterr().err
        assert error.startswith("miai: ")
        assert message in error
        assert error.count("\n") == 1


def test_too_many_players_are_refused(folder: Path) -> None:
    (history, *_) = read_histories([folder / "00.json"])
    histories = [
        type(history)((f"a{i}", f"b{i}"), history.game, history.actions, None, "")
        for i in range(MAX_STYLES // 2 + 1)
    ]
    with pytest.raises(RecordError, match="at most 31 styles"):
        examples_of(histories)
