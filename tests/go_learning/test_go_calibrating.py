"""``miai go calibrate``: the factor that it finds, what it changes, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.go_learning.go_commands import run
from tests.go_learning.go_networks_small import random_planes, small_file
from tests.go_learning.go_training_games import write_games
from torch import Tensor, nn

from miai.errors import MiaiError, WeightsError
from miai_go.errors import DataError
from miai_go.learning.training.calibrating import fitted_factor, scale_values
from miai_go.learning.training.measuring import evaluate_weights
from miai_go.nets.network import Outputs, encoder_of, load_weights, save_weights
from miai_go.nets.onnx_export import own_games
from miai_go.shipped import find_weights


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
    fitted = fitted_factor(values, results)
    assert fitted == pytest.approx(factor, rel=0.02)

    def likelihood(factor: float) -> float:
        odds = ((1 + values) / (1 - values)) ** factor
        return float(np.log(np.where(results > 0, odds, 1) / (1 + odds)).mean())

    assert likelihood(fitted) > max(likelihood(fitted * 1.01), likelihood(fitted * 0.99))


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
def test_results_that_tell_no_factor_are_refused(values: list[float], results: list[float]) -> None:
    with pytest.raises(DataError, match="determine no factor"):
        fitted_factor(np.array(values), np.array(results))


@pytest.mark.slow
def test_the_command_scales_log_odds_and_nothing_else(tmp_path: Path, games: Path) -> None:
    source = timid_file(tmp_path / "net.safetensors", "tower", games)
    target = tmp_path / "calibrated.safetensors"
    words = ("--out", target, "--split", "all", "--json")
    figures = json.loads(run("calibrate", source, games, *words))
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
    again = json.loads(run("calibrate", target, games, *words))
    assert again["factor"] == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
def test_what_it_cannot_calibrate_is_named(tmp_path: Path, games: Path) -> None:
    out = ("--out", tmp_path / "out.safetensors")
    policy = small_file(tmp_path / "net.safetensors", height=1, width=8, value="none")
    with pytest.raises(WeightsError, match="no value head"):
        run("calibrate", policy, games, *out)
    with pytest.raises(WeightsError, match="name weights of a network"):
        run("calibrate", "rollout-9x9", games, *out)
    export = tmp_path / "net.onnx"
    export.write_bytes(b"no matter")
    with pytest.raises(WeightsError, match=r"net\.onnx: is an export; calibrate its \.safetensors"):
        run("calibrate", export, games, *out)
    for bad in (tmp_path, tmp_path / "net.txt"):
        with pytest.raises(WeightsError, match=r"--out .*: name a file that ends in \.safetensors"):
            run("calibrate", policy, games, "--out", bad)
    with pytest.raises(MiaiError, match="--split: 'tests' is not one of"):
        run("calibrate", small_file(tmp_path / "n.safetensors"), games, *out, "--split", "tests")
    assert not out[1].exists()


class OnPlanes(nn.Module):
    """A network whose values are a function of a linear layer; by default one that fits."""

    def __init__(self, function: Callable[[Tensor], Tensor] = torch.tanh, bias: float = 0) -> None:
        super().__init__()
        self.value = nn.Linear(4, 1)
        self.function = function
        nn.init.constant_(self.value.bias, bias)

    def forward(self, planes: Tensor) -> Outputs:
        return Outputs(value=self.function(self.value(planes.mean((2, 3)))).squeeze(1))


PLANES = torch.from_numpy(random_planes(16, seed=3))


def test_the_last_layer_is_scaled() -> None:
    network = OnPlanes()
    weight, bias = (parameter.clone() for parameter in network.value.parameters())
    scale_values(network, 1.5, PLANES, where="net")
    torch.testing.assert_close(network.value.weight, 1.5 * weight)
    torch.testing.assert_close(network.value.bias, 1.5 * bias)


OTHERS = {
    "clamped": OnPlanes(lambda logits: logits.clamp(-0.9, 0.9)),
    "cubed": OnPlanes(lambda logits: torch.tanh(logits) ** 3),
    "sure of all": OnPlanes(torch.tanh, bias=60.0),
    "no head": nn.Flatten(),
}


@pytest.mark.parametrize("network", OTHERS.values(), ids=OTHERS)
def test_values_that_are_no_tanh_of_a_layer_are_left_alone(network: nn.Module) -> None:
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with pytest.raises(WeightsError, match=r"net: its values cannot be scaled: they are not"):
        scale_values(network, 1.5, PLANES, where="net")
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name])


@pytest.mark.parametrize("factor", [0.1, 8.0])
def test_shipped_networks_can_be_scaled(factor: float) -> None:
    path = find_weights("policy-7-13")
    loaded = load_weights(path, size=9)
    encoder = encoder_of(loaded.header, where="", size=9)
    planes = own_games(loaded, encoder, 8, seed=2) * encoder.scales[:, None, None]
    scale_values(loaded.network, factor, torch.from_numpy(planes), where="")
