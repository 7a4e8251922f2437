"""A network's advice changes what is looked at first, and nothing that is proved."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tsumego.small_nets import small_net
from tests.tsumego.tiny_zones import tiny_zone

from miai_go.tsumego.networks.files import save_net
from miai_go.tsumego.networks.reckoned import DenseArrays
from miai_go.tsumego.prover import Goal, Prover, Verdict

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", name="network")
def _network(tmp_path_factory: pytest.TempPathFactory) -> DenseArrays:
    """Return a network whose answers are drawn, and sure of themselves."""
    net = small_net("dense", planes="extended", width=16, blocks=1)
    with torch.no_grad():
        net.network.get_parameter("value.weight").mul_(20)
    path = tmp_path_factory.mktemp("net") / "net.safetensors"
    tensors = {name: tensor.numpy() for name, tensor in net.network.state_dict().items()}
    save_net(path, tensors, net.header)
    return DenseArrays.read(path)


@pytest.mark.parametrize("goal", list(Goal))
def test_verdicts_are_the_same_with_advice(network: DenseArrays, goal: Goal) -> None:
    rng = np.random.default_rng(8)
    other = 0
    for _ in range(60):
        zone = tiny_zone(rng, most_points=14, most_empty=8)
        for side in (0, 1):
            alone, advised = Prover(zone, goal=goal), Prover(zone, goal=goal, network=network)
            first, second = (prover.ask(prover.begin(side)) for prover in (alone, advised))
            assert Verdict.UNSOLVED not in (first.verdict, second.verdict)
            assert first.verdict == second.verdict
            other += first.nodes != second.nodes
    assert other > 20  # it is heeded


def test_advice_is_the_same_each_time(network: DenseArrays) -> None:
    zone = tiny_zone(np.random.default_rng(3), most_points=16, most_empty=9)
    found = [Prover(zone, network=network) for _ in range(2)]
    nodes = [prover.ask(prover.begin(0)).nodes for prover in found]
    assert nodes[0] == nodes[1]
