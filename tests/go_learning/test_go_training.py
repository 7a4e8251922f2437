"""Training: losses fall, runs resume bit for bit, failures leave the last good checkpoint."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.go_learning.go_data_games import random_game, write_set
from tests.go_learning.go_networks_small import small_file, stir
from tests.go_learning.go_training_games import (
    SIZE,
    Interrupting,
    config_text,
    rollout_games,
    supervised_config,
    write_games,
)

from miai.cli.app import build_app
from miai.errors import ConfigError, MiaiError
from miai.tensors import read_tensors
from miai_go.errors import DataError, TrainingError
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.training.config_sections import (
    EncoderSection,
    LearningTables,
    LossSection,
    NetworkSection,
    OptimiserSection,
    TrainingRunSection,
)
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Learner, Lesson
from miai_go.learning.training.measuring import GameMeasures, measure
from miai_go.learning.training.reinforce import advantages
from miai_go.learning.training.run_folder import TrainingJournal, TrainingPlan, load_plan
from miai_go.learning.training.supervised import (
    SupervisedConfig,
    _Lessons,
    endless,
    lesson_of,
    train_supervised,
)
from miai_go.learning.training.training_run import Checkpoints, TrainingResult
from miai_go.learning.training.zero import Replay, _Zero, train_zero
from miai_go.learning.training.zero_config import ZeroConfig
from miai_go.nets.encoder import load_encoder
from miai_go.nets.inference import load_oracle
from miai_go.nets.network import WeightsHeader, load_weights, save_weights
from miai_go.nets.torch_oracle import TorchOracle

torch.set_num_threads(1)


def train(config: Path, out: Path, *settings: str) -> TrainingResult[GameMeasures]:
    plan = load_plan(config, SupervisedConfig, command="train sl", assignments=settings, out=out)
    return train_supervised(plan)


def small_learner(
    rate: float = 0.05,
    *,
    tower: dict[str, object] | None = None,
    fixed_norms: bool = False,
    **run: object,
) -> Learner:
    settings = TrainingRunSection.model_validate({"threads": 1, "steps": 100, **run})
    encoder = EncoderSection(name="zero", parameters={})
    parameters = {"height": 1, "width": 8, **(tower or {})}
    network = NetworkSection(name="tower", parameters=parameters, start="")
    built, feeders, _header = make_network(SIZE, encoder, network, seed=1)
    optimiser = OptimiserSection.model_validate({"rate": rate, "warm_steps": 0})
    tables = LearningTables(optimiser=optimiser, run=settings)
    return Learner(built, feeders[SIZE].scales, tables, norms="fixed" if fixed_norms else "batch")


def test_positions_of_fast_searches_are_left_out_when_asked() -> None:
    games = [random_game(7, length=40, search=True)]
    data = GoDataset.of_games(games, encoder=load_encoder("zero", 9))
    section = {"sources": ["x"], "symmetries": False}
    settings = {"data": section, "optimiser": {"batch": 8}}

    def weights() -> list[float]:
        lessons = _Lessons(SupervisedConfig.model_validate(settings), data, ahead=0).made(0)
        return [float(w) for lesson in islice(lessons, 8) for w in np.asarray(lesson.weight)]

    assert min(weights()) == 0
    section["targets_only"] = True
    assert min(weights()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [True, False])
def test_fixed_norms_learn_by_the_statistics_that_play_uses(fixed: bool) -> None:
    learner = small_learner(fixed_norms=fixed)
    stir(learner.network, seed=2)
    data = GoDataset.of_games(rollout_games(), encoder=load_encoder("zero", SIZE))
    lesson = lesson_of(next(data.batches(64, seed=1)))
    before = {name: t.clone() for name, t in learner.network.state_dict().items()}
    value = learner.answers(np.asarray(lesson.planes)).value
    assert value is not None
    expected = float(((value - torch.as_tensor(lesson.value)) ** 2).mean())
    assert (learner.learn(lesson)["value"] == pytest.approx(expected, rel=1e-5)) == fixed
    changed = {n for n, t in learner.network.state_dict().items() if not torch.equal(t, before[n])}
    statistics = {name for name in before if "running" in name}
    assert bool(changed & statistics) == (not fixed)
    assert {name for name in before if name.endswith("norm.weight")} <= changed


@pytest.mark.slow
def test_fixed_norms_need_weights_to_start_from_with_every_block(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="norms = 'fixed' needs start"):
        NetworkSection(norms="fixed")
    start = str(small_file(tmp_path / "start.safetensors"))
    encoder = EncoderSection(name="zero")
    three, two = {"height": 3}, {"height": 2}
    make_network(SIZE, encoder, NetworkSection(start=start, parameters=three), seed=1)
    make_network(SIZE, encoder, NetworkSection(start=start, norms="fixed", parameters=two), seed=1)
    network = NetworkSection(start=start, norms="fixed", parameters=three)
    with pytest.raises(TrainingError, match="all blocks and heads"):
        make_network(SIZE, encoder, network, seed=1)


@pytest.mark.slow
def test_a_network_learns_and_its_weights_say_how(tmp_path: Path) -> None:
    learnt = train(supervised_config(tmp_path, steps=60), tmp_path / "run")
    assert learnt.steps == 60
    header = WeightsHeader.read(learnt.weights)
    assert header.encoder == "zero"
    assert header.licence == "CC0-1.0"
    assert header.komi == (7.5, 7.5)
    assert [record.steps for record in header.history] == [60]
    assert header.history[0].command == "miai go train sl sl-sgd-60.toml"
    oracle = load_oracle(learnt.weights)
    data = GoDataset.of_games(rollout_games(), encoder=oracle.encoder)
    batch = next(data.batches(256, seed=1))
    assert batch.planes is not None
    answers = oracle.infer(batch.planes)
    assert answers.policy is not None
    logarithm = answers.policy - np.log(np.exp(answers.policy).sum(1, keepdims=True))
    assert logarithm[np.arange(256), batch.action].mean() > -np.log(SIZE**2 + 1) + 0.3


def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(tmp_path: Path) -> None:
    """With AdamW; runs by SGD, on several sizes, are resumed in test_go_sizes."""
    config = supervised_config(tmp_path, steps=20, method="adamw", rate=0.002)
    whole = train(config, tmp_path / "whole")
    plan = load_plan(config, SupervisedConfig, command="train sl", out=tmp_path / "broken")
    with pytest.raises(KeyboardInterrupt):
        train_supervised(plan, journal=Interrupting(tmp_path / "broken", step=15))
    resumed = train(config, tmp_path / "broken")
    assert tensors_at(whole.weights) == tensors_at(resumed.weights)
    logs = [(tmp_path / name / "log.csv").read_text() for name in ("whole", "broken")]
    assert logs[0].count("\n") == logs[1].count("\n")


def tensors_at(weights: Path) -> dict[str, bytes]:
    """Return the tensors of the network and of the learner at a checkpoint."""
    names = ("weights.safetensors", "learner.safetensors")
    files = [read_tensors(weights.parent / name)[0] for name in names]
    return {f"{n}/{k}": t.tobytes() for n, f in enumerate(files) for k, t in f.items()}


def test_time_ends_a_run_and_lowers_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    clock = SimpleNamespace(monotonic=count(step=0.25).__next__)
    monkeypatch.setattr("miai_go.learning.training.learner.time", clock)
    config = supervised_config(tmp_path, steps=20)
    settings = ("run.steps=1000000", "run.minutes=0.1", "run.log_every=1")
    learnt = train(config, tmp_path / "run", *settings)
    assert 4 < learnt.steps < 24
    printed = capfd.readouterr().err
    assert re.search(r"^\[4/1000000, 0\.0\d? of 0\.1 minutes\]", printed, re.MULTILINE)
    latest = Checkpoints(tmp_path / "run/checkpoints").latest()
    assert latest is not None
    assert latest.step == learnt.steps
    assert train(config, tmp_path / "run", *settings).steps == learnt.steps, "the time is over"
    rows = [row.split(",") for row in (tmp_path / "run/log.csv").read_text().splitlines()]
    rates = [float(row[2]) for row in rows if row[1] == "rate"][4:]  # after the warm-up
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 0.2 * rates[0]
    more = train(config, tmp_path / "run", *settings[:1], "run.minutes=0.2", settings[2])
    assert learnt.steps < more.steps < 3 * learnt.steps


def test_a_run_does_not_go_on_with_another_teacher(tmp_path: Path) -> None:
    config, teacher = supervised_config(tmp_path, steps=5), tmp_path / "teacher.safetensors"
    shutil.copy(train(config, tmp_path / "first").weights, teacher)
    settings = (f"teacher.weights={teacher}",)
    learnt = train(config, tmp_path / "run", *settings)
    digest = WeightsHeader.read(teacher).sha256[:32]
    assert WeightsHeader.read(learnt.weights).history[-1].data.endswith(f"; teacher {digest}")
    teacher.unlink()
    shutil.copy(learnt.weights, teacher)
    with pytest.raises(TrainingError, match="other teachers than there are now"):
        train(config, tmp_path / "run", *settings, "run.steps=6")
    teacher.unlink()
    with pytest.raises(MiaiError, match=r"teacher.weights: .*teacher.safetensors"):
        train(config, tmp_path / "other", *settings)


def test_a_run_does_not_go_on_with_another_config_or_other_games(tmp_path: Path) -> None:
    config = supervised_config(tmp_path, steps=5)
    train(config, tmp_path / "run")
    with pytest.raises(ConfigError, match="other settings"):
        train(supervised_config(tmp_path, steps=10, rate=0.01), tmp_path / "run")
    write_set(tmp_path / "data", rollout_games(20, 9))
    with pytest.raises(TrainingError, match="other games"):
        train(config, tmp_path / "run", "run.steps=10")


def test_a_damaged_folder_is_reported_and_a_busy_one_left_alone(tmp_path: Path) -> None:
    config = supervised_config(tmp_path, steps=5)
    with TrainingJournal(tmp_path / "run"), pytest.raises(TrainingError, match="another process"):
        train(config, tmp_path / "run")
    kept = tmp_path / "run/settings.json"
    kept.write_bytes(kept.read_bytes()[:20])
    with pytest.raises(TrainingError, match=r"settings.json: is damaged.*delete it"):
        train(config, tmp_path / "run")
    kept.unlink()
    assert train(config, tmp_path / "run").steps == 5


@pytest.mark.slow
def test_a_run_goes_on_after_sigkill(tmp_path: Path) -> None:
    config = supervised_config(tmp_path, steps=80)
    command = [sys.executable, "-m", "miai", "go", "train", "sl", str(config)]
    command += ["--out", str(tmp_path / "run")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        checkpoints = tmp_path / "run" / "checkpoints"
        end = time.monotonic() + 90
        while len(list(checkpoints.glob("step-*"))) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    reached = Checkpoints(checkpoints).latest()
    assert reached is not None
    assert reached.step < 80
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    assert f"resuming from step {reached.step}" in done.stderr
    assert "weights: " in done.stdout


@pytest.mark.parametrize(
    ("setting", "output"),
    [
        ("optimiser.rat=1", "unknown key"),
        ("optimizer.rate=1", "no table 'optimizer'"),
        ("optimiser.rate=-1", "optimiser.rate"),
        ("encoder.name='tenplane'", "tenplane"),
        ("network.start='nowhere'", "nowhere"),
        ("run.device='cuda:-7'", r"run\.device = '.*use 'cpu'"),
        ("run.device='banana'", r"run\.device = '.*use 'cpu'"),
    ],
)
def test_mistakes_are_reported_in_one_line(tmp_path: Path, setting: str, output: str) -> None:
    with pytest.raises(MiaiError, match=output) as caught:
        train(supervised_config(tmp_path, steps=5), tmp_path / "run", setting)
    assert "\n" not in str(caught.value)


def begun_from(folder: Path, encoder: EncoderSection, section: NetworkSection) -> tuple[Any, Path]:
    """Return a network with drawn weights, and their file."""
    network, _encoders, header = make_network(SIZE, encoder, section, seed=1)
    stir(network, seed=5)
    start = folder / "start.safetensors"
    save_weights(start, network, header)
    return network, start


@pytest.mark.parametrize(
    ("setting", "output"),
    [
        ("encoder.parameters={history=2,ko=true}", "'ko': False.*'ko': True"),
        ("encoder.parameters={history=3}", "'history': 2.*'history': 3"),
        ("network.parameters={height=0}", "base.blocks.0.*no such weights"),
        ("network.parameters={width=16}", "width 8.*say 16.*only height"),
        ("network.parameters={heigth=1}", "heigth"),
    ],
)
def test_a_start_must_be_what_the_config_names(tmp_path: Path, setting: str, output: str) -> None:
    """The planes of ko and of legal moves are as many; the weights know only one of them."""
    encoder = EncoderSection(name="zero", parameters={"history": 2, "legal": True})
    network = NetworkSection(name="tower", parameters={"height": 1, "width": 8})
    _made, start = begun_from(tmp_path, encoder, network)
    network = network.model_copy(update={"start": str(start)})
    make_network(SIZE, encoder, network, seed=1)
    table, text = setting.split(".parameters=")
    values = tomllib.loads(f"parameters = {text}")
    if table == "encoder":
        encoder = encoder.model_copy(update=values)
    else:
        network = network.model_copy(update=values)
    with pytest.raises(MiaiError, match=output):
        make_network(SIZE, encoder, network, seed=1)


def test_a_start_keeps_its_answers_and_gets_the_heads_that_it_lacks(tmp_path: Path) -> None:
    encoder = EncoderSection(name="zero", parameters={"history": 2})
    network = NetworkSection(name="tower", parameters={"height": 1, "width": 8})
    made, start = begun_from(tmp_path, encoder, network)
    heads = {"ownership": True, "score": True}
    more = NetworkSection(name="tower", parameters=heads, start=str(start))
    begun, feeders, after = make_network(SIZE, encoder, more, seed=2)
    assert after.outputs == ("policy", "value", "ownership", "score")
    assert after.network_parameters.items() >= {"height": 1, "width": 8, **heads}.items()
    planes = torch.ones(3, feeders[SIZE].planes, SIZE, SIZE)
    with torch.no_grad():
        before, now = made.eval()(planes), begun.eval()(planes)
    torch.testing.assert_close(now.policy, before.policy, rtol=0, atol=0)
    torch.testing.assert_close(now.value, before.value, rtol=0, atol=0)
    save_weights(tmp_path / "begun.safetensors", begun, after)
    kept = load_weights(tmp_path / "begun.safetensors", size=SIZE).network.eval()
    with torch.no_grad():
        torch.testing.assert_close(kept(planes).ownership, now.ownership, rtol=0, atol=0)


def test_a_taller_network_with_pooling_begins_with_the_answers_of_its_start(tmp_path: Path) -> None:
    encoder = EncoderSection(name="zero", parameters={"history": 2})
    network = NetworkSection(name="tower", parameters={"height": 2, "width": 8})
    made, start = begun_from(tmp_path, encoder, network)
    more = {"height": 4, "pooling": 2, "value": "pooled"}
    taller = NetworkSection(name="tower", parameters=more, start=str(start))
    grown, feeders, after = make_network(SIZE, encoder, taller, seed=2)
    assert after.network_parameters.items() > {"width": 8, **more}.items()
    planes = torch.randint(0, 2, (5, feeders[SIZE].planes, SIZE, SIZE)).float()
    with torch.no_grad():
        before, now = made.eval()(planes), grown.eval()(planes)
    torch.testing.assert_close(now.policy, before.policy, rtol=0, atol=0)
    assert not torch.allclose(now.value, before.value), "the new head knows nothing of the old one"
    save_weights(tmp_path / "grown.safetensors", grown, after)
    assert load_weights(tmp_path / "grown.safetensors").header.network_parameters["height"] == 4


def test_a_nan_loss_stops_training_and_keeps_the_weights() -> None:
    learner = small_learner()
    before = {n: t.clone() for n, t in learner.network.state_dict().items() if "running" not in n}
    planes = np.ones((4, 18, SIZE, SIZE), np.uint8)
    weight = np.full(4, np.inf, np.float32)
    action = np.zeros(4, np.int64)
    with pytest.raises(TrainingError, match="step 1 is"):
        learner.learn(Lesson(planes=planes, action=action, weight=weight))
    after = learner.network.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before if "num_" not in name)


def test_a_divergent_run_names_its_last_good_checkpoint(tmp_path: Path) -> None:
    config = supervised_config(tmp_path, steps=400)
    settings = ("optimiser.rate=10", "optimiser.clip=0", "optimiser.momentum=0.999")
    with pytest.raises(TrainingError, match=r"not finite|loss of step") as caught:
        train(config, tmp_path / "run", "optimiser.decay=1", *settings)
    assert "checkpoint" in str(caught.value)


def written_at_5(checkpoints: Checkpoints, memory: Any) -> Any:
    return checkpoints.write(5, memory=memory, state={}, save_weights=lambda p: p.write_bytes(b"x"))


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    checkpoints, memory = Checkpoints(tmp_path), small_learner().tensors()
    good = written_at_5(checkpoints, memory)

    def fill(path: Path) -> None:
        path.symlink_to("/dev/full")
        path.write_bytes(b"x")

    with pytest.raises(TrainingError, match=r"No space left.*last good checkpoint is .*000005"):
        checkpoints.write(10, memory=memory, state={}, save_weights=fill)
    latest = checkpoints.latest()
    assert latest is not None
    assert latest.tensors().keys() == memory.keys()
    assert list(tmp_path.iterdir()) == [good.folder]


def test_missing_or_truncated_checkpoints_are_reported(tmp_path: Path) -> None:
    checkpoints, learner = Checkpoints(tmp_path), small_learner()
    written = written_at_5(checkpoints, learner.tensors())
    assert checkpoints.weights(5) == written.weights
    memory = written.folder / "learner.safetensors"
    memory.write_bytes(memory.read_bytes()[:-4])
    latest = checkpoints.latest()
    assert latest is not None
    with pytest.raises(TrainingError, match=r"truncated.*delete .*step-000000005"):
        latest.tensors()
    with pytest.raises(TrainingError, match=r"step-000000003.*is missing"):
        checkpoints.weights(3)


def test_measures_equal_a_direct_computation() -> None:
    encoder = load_encoder("zero", SIZE)
    data = GoDataset.of_games(rollout_games(), encoder=encoder)
    learner = small_learner()
    for batch in data.batches(256):  # for an untrained network many moves are equal
        learner.learn(lesson_of(batch))
    measures = measure(learner.answers, data)
    batch = next(data.batches(10_000, symmetries=False, shuffle=False))
    assert batch.planes is not None
    outputs = learner.answers(batch.planes)
    assert outputs.policy is not None
    assert outputs.value is not None
    logits, values = outputs.policy.double(), outputs.value.double()
    target = torch.from_numpy(batch.action)
    best = (logits.argmax(1) == target).double().mean()
    top5 = (logits.topk(5).indices == target[:, None]).any(1).double().mean()
    entropy = torch.nn.functional.cross_entropy(logits, target)
    error = ((values - torch.from_numpy(batch.result).double()) ** 2).mean()
    figures = measures.figures()
    assert figures["top1"] == pytest.approx(float(best), abs=1e-9)
    assert figures["top5"] == pytest.approx(float(top5), abs=1e-9)
    assert figures["cross_entropy"] == pytest.approx(float(entropy), rel=1e-6)
    assert figures["value_error"] == pytest.approx(float(error), rel=1e-6)
    assert sum(row["positions"] for row in measures.calibration()) == len(batch)
    assert sum(float(row["positions"]) for row in measures.by_ply()) == len(batch)


def test_advantages_sum_the_differences_of_values() -> None:
    # Two games; values for the player to move. Black wins the first, White the second.
    values = np.array([0.2, -0.4, 0.5, 0.1, -0.3])
    results = np.array([1, -1, 1, -1, 1], np.float32)
    games = np.array([0, 0, 0, 1, 1])
    by_result = advantages(values, results, games, trace=1.0)
    assert by_result == pytest.approx(results - values)
    one_step = advantages(values, results, games, trace=0.0)
    assert one_step == pytest.approx([0.4 - 0.2, -0.5 + 0.4, 1 - 0.5, 0.3 - 0.1, 1 + 0.3])
    half = advantages(values, results, games, trace=0.5)
    # For Black: differences 0.2, 0.1, 0.5 with weights 1, 1/2, 1/4.
    assert half[0] == pytest.approx(0.2 + 0.5 * 0.1 + 0.25 * 0.5)


def test_owners_that_are_not_known_are_not_learnt() -> None:
    learner = small_learner(tower={"ownership": True})
    planes = np.random.default_rng(1).integers(0, 2, (2, 18, SIZE, SIZE)).astype(np.uint8)
    owners = np.ones((2, SIZE, SIZE), np.int8)
    owners[1] = 0  # a game that was resigned
    lesson = Lesson(planes=planes, ownership=owners)
    answers = learner._answers(lesson).ownership
    assert answers is not None
    error = ((answers[0].double() - 1) ** 2).mean()
    losses = learner._losses(learner._answers(lesson), lesson)
    share = LossSection().ownership
    assert float(losses["ownership"].detach()) == pytest.approx(share * float(error.detach()))


def value_measures(game: Any, value: Any, result: Any) -> GameMeasures:
    """Return measures of values alone; a position's game is its ply, too."""
    none, sizes = np.zeros(0), np.full(len(game), SIZE)
    return GameMeasures(game, none.astype(np.int64), none, value, result, game, sizes)


def test_a_value_is_right_by_its_sign_in_decided_games() -> None:
    values, results = np.array([0.1, -0.4, 0.2, -0.9, 0.5]), np.array([1, 1, 0, -1, np.nan])
    measures = value_measures(np.arange(5), values, results)
    assert measures.figures()["value_sign"] == pytest.approx(2 / 3)


def test_the_interval_of_a_calibration_is_that_of_resampled_games() -> None:
    rng = np.random.default_rng(3)
    game = np.repeat(np.arange(300), rng.integers(1, 8, 300))
    result = np.where(rng.random(300) < 0.8, 1.0, -1.0)[game]
    value = rng.uniform(0.4, 0.6, len(game)) - 1e-9
    measures = value_measures(game, value, result)
    rows = [row for row in measures.calibration() if row["from"] == pytest.approx(0.4)]
    mine = np.bincount(game, weights=result - value)
    counts = np.bincount(game)
    drawn = rng.integers(0, 300, (4000, 300))
    means = mine[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, (0.025, 0.975))
    assert rows[0]["positions"] == len(game)
    assert rows[0]["margin_95"] == pytest.approx((high - low) / 2, rel=0.05)
    # Positions of a game are not taken for games.
    assert rows[0]["margin_95"] > 1.5 * 1.96 * (result - value).std() / len(game) ** 0.5


@pytest.mark.parametrize(
    ("command", "config"),
    [
        (("train", "zero"), '[network]\nstart = "no-such-weights"\n'),
        (("train", "value"), '[game]\npolicy = ""\nplayer = "no-such-weights"\n'),
        (("tsumego", "train"), '[data]\nfolder = "no-such-set"\n'),
    ],
)
def test_a_training_that_is_refused_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], config: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.toml").write_text(config)
    with pytest.raises(MiaiError, match="no-such"):
        build_app()(["go", *command, "x.toml", "--out", "runs/x"], standalone_mode=False)
    assert [path.name for path in tmp_path.iterdir()] == ["x.toml"]


# -- AlphaGo Zero's loop learns from recorded games between its own --------------------------------


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
    write_set(folder / "own", rollout_games(8))
    encoder = load_encoder("zero", 5, {"history": 1})
    return Replay(config, encoder, folder / "own")


@pytest.mark.parametrize("share", [0.01, 0.25, 0.6])
def test_its_steps_are_shared_out_evenly_from_any_round(tmp_path: Path, share: float) -> None:
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_other_recorded_games_are_refused_when_it_goes_on(tmp_path: Path) -> None:
    games = write_games(tmp_path / "recorded")
    plan = plan_of(tmp_path, games)
    train_zero(plan)
    shutil.rmtree(games)
    games.mkdir()
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
