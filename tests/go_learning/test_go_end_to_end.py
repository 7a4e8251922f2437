"""From games to play in small: supervised, policy gradient, value network, search; and zero."""

from __future__ import annotations

import re
import shutil
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.go_learning.go_networks_small import write_tower
from tests.go_learning.go_training_games import SIZE, Interrupting, config_text
from tests.whole_texts import assert_expected

import miai
from miai.tensors import read_tensors
from miai_go.commands.training import train_rl, train_value
from miai_go.commands.training import train_zero as train_zero_by
from miai_go.errors import TrainingError
from miai_go.learning.data.shards import open_shards, shard_folders
from miai_go.learning.training.run_folder import TrainingPlan, load_plan
from miai_go.learning.training.training_run import Checkpoints, RoundsResult
from miai_go.learning.training.zero import _Zero, read_ladder, train_zero
from miai_go.learning.training.zero_config import ZeroConfig
from miai_go.nets.network import WeightsHeader

torch.set_num_threads(1)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def same_tensors(first: Path, second: Path) -> bool:
    a, _ = read_tensors(first)
    b, _ = read_tensors(second)
    return a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a)


def assert_notes(name: str, printed: str, folder: Path) -> None:
    """Check what a training prints, but for what depends on time."""
    text = re.sub(r"games_a_second [\d.]+  ", "", printed)
    assert_expected(f"training/{name}.txt", text.replace(str(folder), ""))


def test_from_policies_to_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = write_tower(tmp_path / "policy.safetensors", SIZE, {})
    config = written(tmp_path / "rl.toml", config_text("reinforce", start=policy))
    train_rl(config, tmp_path / "rl")
    assert_notes("rl", "".join(capsys.readouterr()), tmp_path)
    reinforced = tmp_path / "rl" / "checkpoints" / "step-000000003" / "weights.safetensors"
    header = WeightsHeader.read(reinforced)
    assert header.history[-1].data == "games of its own, 4 a round"
    assert (header.history[-1].steps, header.history[-1].seed, header.komi) == (3, 5, (0.5, 0.5))

    text = config_text("value", policy=policy, player=reinforced)
    config = written(tmp_path / "value.toml", text)
    train_value(config, tmp_path / "value")
    assert_notes("value", "".join(capsys.readouterr()), tmp_path)
    valued = tmp_path / "value" / "checkpoints" / "step-000000010" / "weights.safetensors"
    shards = open_shards(tmp_path / "value" / "games")
    for shard in shards:  # one position of each game, and never the first two
        offsets = shard.columns["offsets"]
        weights = [shard.columns["weight"][a:b] for a, b in pairwise(offsets)]
        assert all(weight.sum() == 1 and 0 < weight.argmax() <= 5 for weight in weights)

    game = miai.load_game("go", board_size=SIZE, komi=7.5)
    files: Any = {"policy": str(policy), "value": str(valued), "leaf_value": "mixed"}
    player = miai.make_agent("alphago", game, simulations=16, **files)
    record = miai.play(game, [player, miai.make_agent("fast-random", game)], seed=4)
    player.close()
    assert record.termination == "terminal", record.detail
    assert record.moves[0].statistics["simulations"] == 16


def zero_plan(folder: Path, *settings: str) -> TrainingPlan[ZeroConfig]:
    config = written(folder / "zero.toml", config_text("zero"))
    out = folder / ("run" + "".join(c for c in "".join(settings) if c.isalnum()))
    return load_plan(config, ZeroConfig, command="train zero", assignments=settings, out=out)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RoundsResult]:
    folder = tmp_path_factory.mktemp("zero")
    plan = zero_plan(folder)
    return plan.folder, train_zero(plan)


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


def test_an_interrupted_round_has_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_self_play_in_int8_is_by_onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    ladders = [read_ladder(folder) for folder in (plan.folder, whole[0])]
    rows = [[(r.wins, r.losses, r.elo) for r in ladder] for ladder in ladders]
    assert rows[0] == rows[1]


@pytest.mark.slow
def test_zero_is_the_same_on_all_workers(whole: tuple[Path, RoundsResult], tmp_path: Path) -> None:
    plan = zero_plan(tmp_path, "selfplay.workers=1")
    assert same_tensors(whole[1].weights, train_zero(plan).weights)


@pytest.mark.slow
def test_a_gate_keeps_weights_that_do_not_win_from_playing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second round wins the gate, and loses the ladder that is played without openings."""
    config, run = written(tmp_path / "zero.toml", config_text("zero")), tmp_path / "run"
    settings = ["gate.games=2", "gate.score=1.0", "search.method='puct'", "run.seed=3"]
    settings += ["resign.below=-0.1", "resign.hold_out=0.5"]
    for rounds in (1, 3):
        length = [f"selfplay.rounds={rounds}", f"run.steps={2 * rounds}"]
        train_zero_by(config, run, [*settings, *length])
    ladder = "\n".join(line.rpartition(",")[0] for line in (run / "ladder.csv").read_text().split())
    assert_notes("zero", "".join([*capsys.readouterr(), ladder]), tmp_path)
    assert_expected("training/ladder.svg", (run / "ladder.svg").read_text("utf-8"))
    newest = Checkpoints(run / "checkpoints").latest()
    assert newest is not None
    assert (newest.step, newest.state["best"], newest.state["recorded"]) == (6, 4, None)
    shards = shard_folders(run / "games")
    shutil.rmtree(shards[-1])
    message = f"{run / 'games'}: has the games of 2 rounds, but 3 were made; restore them, or start"
    with pytest.raises(TrainingError, match=re.escape(message)):
        train_zero_by(config, run, [*settings, "selfplay.rounds=4", "run.steps=8"])
    (run / "ladder.csv").write_text("round,steps\none,2\n")
    with pytest.raises(TrainingError, match=r"ladder\.csv: is not a ladder: .*; delete it to"):
        read_ladder(run)
