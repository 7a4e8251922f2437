"""Networks by name: what they answer, their symmetry, and their form for inference."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.go_learning.go_networks_small import NETWORKS, SIZE, small_header, small_network
from torch import Tensor, nn

from miai.errors import ParameterError, UnknownComponentError
from miai.parameters import Parameters
from miai.plugins.loader import registry
from miai_go.nets.network import NetworkShape, Outputs, build_network, folded, outputs_of

SHAPE = NetworkShape(SIZE, 4)


torch.set_num_threads(1)


def asked(network: nn.Module, planes: Tensor) -> Outputs:
    with torch.no_grad():
        answers: Outputs = network(planes)
    return answers


def doubles(count: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 4, SIZE, SIZE, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_answers_what_its_heads_say(name: str) -> None:
    network = small_network(small_header(name))
    answers = asked(network, doubles(3, 0).float())
    assert answers.policy is not None
    assert answers.policy.shape == (3, SIZE * SIZE + 1)
    assert answers.value is not None
    assert answers.value.shape == (3,)
    assert answers.value.abs().max() <= 1
    wanted = NETWORKS[name].get("ownership", False)
    assert (answers.ownership is not None) == wanted
    assert (answers.score is not None) == wanted
    if wanted:
        assert answers.ownership is not None
        assert answers.ownership.shape == (3, SIZE, SIZE)
        assert answers.score is not None
        assert answers.score.shape == (3,)


@pytest.mark.parametrize(
    ("off", "left"),
    [
        ({"height": 1, "width": 4, "value": "none"}, ("policy",)),
        ({"height": 1, "width": 4, "policy": "none", "value": "pooled"}, ("value",)),
        ({"height": 0, "width": 4, "score": True}, None),
    ],
)
def test_heads_can_be_disabled_and_replaced(
    off: dict[str, Any], left: tuple[str, ...] | None
) -> None:
    network = build_network("tower", SHAPE, off)
    assert outputs_of(network, SHAPE) == (left or ("policy", "value", "score"))
    assert network.training, "asking for outputs leaves the network in training"


@pytest.mark.parametrize("name", NETWORKS)
def test_folded_norms_change_nothing(name: str) -> None:
    network = small_network(small_header(name)).double()
    planes = doubles(8, 1)
    with torch.no_grad():
        plain, fast = asked(network, planes), asked(folded(network), planes)
    for before, after in zip(plain, fast, strict=True):
        if before is not None:
            assert after is not None
            assert before.std() > 1e-3, "a constant answer would show nothing"
            assert torch.allclose(before, after, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_folded_network_is_made_of_ordinary_layers(name: str) -> None:
    network = folded(small_network(small_header(name)))
    owners = [m for m in network.modules() if list(m.parameters(recurse=False))]
    assert {type(m) for m in owners} == {nn.Conv2d, nn.Linear}


def test_weights_are_drawn_by_the_seed_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one = build_network("tower", SHAPE, NETWORKS["tower"], seed=1)
    assert torch.equal(torch.rand(3), expected), "torch's own generator was touched"
    same = build_network("tower", SHAPE, NETWORKS["tower"], seed=1)
    other = build_network("tower", SHAPE, NETWORKS["tower"], seed=2)
    pairs = list(zip(one.parameters(), same.parameters(), other.parameters(), strict=True))
    assert all(torch.equal(a, b) for a, b, _ in pairs)
    assert any(not torch.equal(a, c) for a, _, c in pairs)


def test_global_pooling_sees_the_far_corner() -> None:
    shape = NetworkShape(9, 4)
    planes = torch.zeros(1, 4, 9, 9, dtype=torch.float64)
    corner = planes.clone()
    corner[0, 0, 0, 0] = 1

    def effect(pooling: int) -> float:
        values = {"height": 1, "width": 32, "pooling": pooling}
        network = small_network(
            small_header("tower", **values).model_copy(update={"size": 9, "planes": 4})
        ).double()
        assert outputs_of(network, shape) == ("policy", "value")
        for name, parameter in network.named_parameters():
            if ".pool.spread." in name:  # which begin at zero
                torch.nn.init.constant_(parameter, 0.1)
        before, after = asked(network, planes).policy, asked(network, corner).policy
        assert before is not None
        assert after is not None
        return float((before - after)[0, 80].abs())

    assert effect(0) == 0
    assert effect(1) > 1e-6


class Constant(nn.Module):
    """A value head of a plugin."""

    def __init__(self, shape: NetworkShape, channels: int, parameters: Parameters) -> None:
        super().__init__()
        self.value = nn.Parameter(torch.full((1,), 0.25))

    def forward(self, features: Tensor) -> Tensor:
        return self.value.expand(len(features))


def test_a_plugin_brings_a_head() -> None:
    components = registry()
    if "test-constant" not in {c.name for c in components.components("go.value-head")}:
        components.add("go.value-head", "test-constant", Constant, summary="Of a test")
    values = {"height": 1, "width": 4, "value": "test-constant"}
    answers = asked(build_network("tower", SHAPE, values), doubles(2, 0).float())
    assert answers.value is not None
    assert answers.value.tolist() == [0.25, 0.25]


def test_wrong_names_and_parameters_are_reported() -> None:
    with pytest.raises(UnknownComponentError, match="Did you mean 'tower'"):
        build_network("towr", SHAPE, {})
    with pytest.raises(ParameterError, match="widht: unknown parameter"):
        build_network("tower", SHAPE, {"widht": 3})
    with pytest.raises(UnknownComponentError, match=r"go\.value-head"):
        build_network("tower", SHAPE, {"value": "dens"})
