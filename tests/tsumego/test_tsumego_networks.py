"""Networks of life and death: what they answer, learn, keep, and what they are without torch."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.tsumego.small_nets import small_net, small_set

torch = pytest.importorskip("torch")

from miai.errors import WeightsError  # noqa: E402
from miai_go.learning.training.run_folder import TrainingPlan, load_plan  # noqa: E402
from miai_go.nets.network import tensors_of  # noqa: E402
from miai_go.tsumego.data.labelled_positions import LabelledPositions  # noqa: E402
from miai_go.tsumego.networks.accuracy import (  # noqa: E402
    answering,
    area,
    majority_accuracy,
    measure_file,
)
from miai_go.tsumego.networks.array_nets import read_array_net  # noqa: E402
from miai_go.tsumego.networks.net_files import (  # noqa: E402
    load_net,
    quantize_net,
    save_net,
)
from miai_go.tsumego.networks.net_training import TsumegoConfig, train_net  # noqa: E402

ROW = ("problem", "attackers", "defenders", "side")
CONFIG = """
[data]
folder = "{folder}"
[planes]
planes = "extended"
[network]
name = "dense"
parameters = {{ width = 64 }}
[optimiser]
method = "adamw"
rate = 0.002
warm_steps = 5
batch = 64
[run]
steps = 120
threads = 1
checkpoint_every = 60
log_every = 60
measure_every = 120
"""


def plan_of(config: Path, out: Path, *assignments: str) -> TrainingPlan[TsumegoConfig]:
    command = "tsumego train"
    return load_plan(config, TsumegoConfig, command=command, assignments=assignments, out=out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nets") / "set"
    small_set(path, positions=1500)
    return path


@pytest.fixture(scope="module")
def positions(folder: Path) -> LabelledPositions:
    return LabelledPositions.open(folder)


@pytest.mark.slow
def test_training_learns_stops_and_goes_on_to_the_bit(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "net.toml"
    config.write_text(CONFIG.format(folder=folder))
    whole = train_net(plan_of(config, tmp_path / "whole"))
    resumed = tmp_path / "resumed"
    shutil.copytree(tmp_path / "whole", resumed)
    shutil.rmtree(resumed / "checkpoints" / "step-000000120")  # as if it was killed before it
    again = train_net(plan_of(config, resumed))
    for name, array in tensors_of(load_net(whole.weights).network).items():
        assert (array == tensors_of(load_net(again.weights).network)[name]).all(), name
    assert whole.measures.figures()["auc"] > 0.7
    positions = LabelledPositions.open(folder)
    measured = measure_file(whole.weights, positions)
    assert measured.line() == whole.measures.line()
    again = train_net(plan_of(config, tmp_path / "whole"))  # nothing is left to do
    assert again.steps == whole.steps == 120
    header = load_net(whole.weights).header
    assert header.held_out is not None
    assert header.data == positions.digest
    assert 0.4 < majority_accuracy(positions, header) < 1


@pytest.mark.slow
def test_the_config_of_the_zone_makes_a_network_that_kernels_evaluate(
    folder: Path, positions: LabelledPositions, tmp_path: Path
) -> None:
    plan = plan_of(
        Path("configs/tsumego-zone.toml"),
        tmp_path,
        *(f"data.folder={folder}", "run.steps=8", "optimiser.batch=64"),
    )
    learnt = train_net(plan)
    small = tmp_path / "small.safetensors"
    quantize_net(load_net(learnt.weights), 5, small)
    assert small.stat().st_size < 100_000
    row = [column[:50] for column in map(positions.columns.get, ROW) if column is not None]
    values, _logits = read_array_net(learnt.weights).evaluate(positions.layout, *row)
    views = positions.views(np.arange(50), planes="extended", window=11)
    outputs = answering(load_net(learnt.weights).network)(views.planes)
    assert outputs.value is not None
    np.testing.assert_allclose(values, outputs.value.numpy(), atol=1e-4)


@pytest.mark.slow
def test_the_area_is_the_share_of_pairs_in_order() -> None:
    rng = np.random.default_rng(0)
    chance = np.round(rng.random(60), 1)
    safe = rng.random(60) < 0.4
    pairs = [
        (chance[i] > chance[j]) + (chance[i] == chance[j]) / 2
        for i in np.flatnonzero(safe)
        for j in np.flatnonzero(~safe)
    ]
    assert area(chance, safe) == pytest.approx(np.mean(pairs))


@pytest.mark.slow
def test_changed_weights_are_refused(tmp_path: Path) -> None:
    net = small_net(width=8)
    path = tmp_path / "net.safetensors"
    save_net(path, tensors_of(net.network), net.header)
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    with pytest.raises(WeightsError, match="digest"):
        load_net(path)
