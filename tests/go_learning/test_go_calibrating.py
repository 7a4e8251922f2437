"""``miai go calibrate``: the factor that it finds, what it changes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
import typer
from tests.go_learning.go_networks_small import random_planes, small_file, small_header
from tests.go_learning.go_training_games import write_games
from torch import Tensor, nn
from typer.testing import CliRunner

from miai.errors import MiaiError, WeightsError
from miai_go.commands import add_commands
from miai_go.errors import DataError
from miai_go.learning.calibrating import fitted_factor, scale_values
from miai_go.learning.measuring import evaluate_weights
from miai_go.nets.network import Outputs
from miai_go.nets.weights import NetworkWeights, load_weights, save_weights


def run(*words: str | Path) -> str:
    """Run a command in this process; raise what it raises."""
    app = typer.Typer()
    add_commands(app)
    result = CliRunner().invoke(app, ["go", *map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_games(tmp_path_factory.mktemp("games") / "set")


def timid_file(path: Path, network: str, games: Path) -> Path:
    """Write a network with small values that are right more often than wrong."""
    measures = evaluate_weights(str(small_file(path, network)), [games])
    weights = load_weights(path)
    head = weights.network.value
    assert isinstance(head, nn.Module)
    last = [layer for layer in head.modules() if isinstance(layer, nn.Linear)][-1]
    right = np.arctanh(measures.value) @ measures.result > 0
    with torch.no_grad():
        for parameter in last.parameters():
            parameter.mul_(0.1 if right else -0.1)
    save_weights(path, weights.network, weights.header)
    return path


@pytest.mark.parametrize("factor", [0.4, 1.0, 1.7])
def test_the_factor_that_drew_the_results_is_found(factor: float) -> None:
    rng = np.random.default_rng(5)
    values = rng.uniform(-0.95, 0.95, 200_000)
    odds = ((1 + values) / (1 - values)) ** factor
    results = np.where(rng.random(len(values)) < odds / (1 + odds), 1.0, -1.0)
    found = fitted_factor(values, results)
    assert found == pytest.approx(factor, rel=0.02)

    def likelihood(factor: float) -> float:
        odds = ((1 + values) / (1 - values)) ** factor
        return float(np.log(np.where(results > 0, odds, 1) / (1 + odds)).mean())

    assert likelihood(found) > max(likelihood(found * 1.01), likelihood(found * 0.99))


def test_a_draw_is_half_won_and_half_lost() -> None:
    values = np.array([0.5, 0.5, -0.2])
    halves = np.repeat(values, 2)
    drawn = fitted_factor(values, np.array([0.0, 1.0, -1.0]))
    counted = fitted_factor(halves, np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0]))
    assert drawn == pytest.approx(counted)


@pytest.mark.parametrize(
    ("values", "results"),
    [([], []), ([0.5, -0.5], [-1.0, 1.0]), ([0.5, 0.6], [1.0, 1.0]), ([0.0, 0.0], [1.0, -1.0])],
    ids=["nothing", "opposite", "all as expected", "no values"],
)
def test_results_that_determine_no_factor_are_refused(
    values: list[float], results: list[float]
) -> None:
    with pytest.raises(DataError, match="determine no factor"):
        fitted_factor(np.array(values), np.array(results))


@pytest.mark.parametrize("network", ["tower", "four-conv", "equivariant"])
def test_the_command_scales_log_odds_and_nothing_else(
    network: str, tmp_path: Path, games: Path
) -> None:
    source = timid_file(tmp_path / "net.safetensors", network, games)
    target = tmp_path / "calibrated.safetensors"
    figures = json.loads(
        run("calibrate", source, games, "--out", target, "--split", "all", "--json")
    )
    before, after = load_weights(source), load_weights(target)
    planes = torch.from_numpy(random_planes(64, seed=2)).float()
    with torch.no_grad():
        old, new = before.network(planes), after.network(planes)
    odds = [(1 + out.value.double()) / (1 - out.value.double()) for out in (old, new)]
    torch.testing.assert_close(odds[1], odds[0] ** figures["factor"], rtol=1e-3, atol=1e-3)
    for name in set(before.header.outputs) - {"value"}:
        torch.testing.assert_close(getattr(new, name), getattr(old, name))
    assert figures["cross_entropy"]["after"] < figures["cross_entropy"]["before"]
    commands = [record.command for record in after.header.history]
    assert commands == ["miai go train sl", "miai go calibrate --split all"]
    again = run("calibrate", target, games, "--out", target, "--split", "all", "--json")
    assert json.loads(again)["factor"] == pytest.approx(1, abs=1e-3)


def test_what_it_cannot_calibrate_is_named(tmp_path: Path, games: Path) -> None:
    out = ("--out", tmp_path / "out.safetensors")
    policy = small_file(tmp_path / "net.safetensors", height=1, width=8, value="none")
    with pytest.raises(WeightsError, match="no value head"):
        run("calibrate", policy, games, *out)
    with pytest.raises(WeightsError, match="name weights of a network"):
        run("calibrate", "rollout-9x9", games, *out)
    with pytest.raises(MiaiError, match="--split tests: unknown; choose from"):
        run("calibrate", small_file(tmp_path / "n.safetensors"), games, *out, "--split", "tests")
    assert not out[1].exists()


class Clamped(nn.Module):
    """A network whose values are no tanh."""

    def __init__(self) -> None:
        super().__init__()
        self.value = nn.Linear(4, 1)

    def forward(self, planes: Tensor) -> Outputs:
        return Outputs(value=self.value(planes.mean((2, 3))).clamp(-0.9, 0.9).squeeze(1))


def test_values_that_are_no_tanh_are_left_alone() -> None:
    weights = NetworkWeights(Clamped(), small_header())
    before = {name: tensor.clone() for name, tensor in weights.network.state_dict().items()}
    with pytest.raises(WeightsError, match=r"net: its values cannot be scaled: they are not"):
        scale_values(weights, 1.5, where="net")
    for name, tensor in weights.network.state_dict().items():
        assert torch.equal(tensor, before[name])
