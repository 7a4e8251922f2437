"""A network's advice changes what is looked at first, and nothing that is proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tsumego.tiny_zones import held_zone

from miai.errors import WeightsError
from miai.tensors import TrainingRecord, write_tensors
from miai_go.tsumego.data.growth import draw_fight_zone
from miai_go.tsumego.kernels import proof_search
from miai_go.tsumego.kernels.guide import OUTPUTS
from miai_go.tsumego.kernels.traits import ALWAYS, TRAITS
from miai_go.tsumego.shipped import ORDERING
from miai_go.tsumego.solver.ordering_net import OrderingHeader, OrderingNet, find_ordering
from miai_go.tsumego.solver.prover import Finding, Goal, Master, ProofVerdict, Prover
from miai_go.tsumego.zones import Zone


def random_net(seed: int, *, size: float) -> OrderingNet:
    rng = np.random.default_rng(seed)
    shapes = ((2, TRAITS, OUTPUTS), (2, TRAITS, 4), (2, 4, OUTPUTS))
    return OrderingNet(*(rng.normal(0, size, shape).astype(np.float32) for shape in shapes))


def enormous_net() -> OrderingNet:
    """Return a network that foretells the largest numbers everywhere, so that sums run over."""
    linear = np.zeros((2, TRAITS, OUTPUTS), np.float32)
    linear[:, ALWAYS] = 100.0
    return OrderingNet(linear, linear[:, :, :0], linear[:, :0])


def fight(seed: int, empty: int) -> Zone:
    zone = draw_fight_zone(np.random.default_rng([seed, empty]), empty=empty)
    assert zone is not None
    return zone


def ask(zone: Zone, side: int, network: OrderingNet | None = None) -> Finding:
    prover = Prover(zone, network=network)
    finding = prover.ask(prover.begin(side), nodes=20_000_000)
    assert finding.verdict != ProofVerdict.UNSOLVED, finding
    return finding


NETS = {
    "shipped": lambda: OrderingNet.read(ORDERING),
    "random": lambda: random_net(3, size=0.5),
    "enormous": enormous_net,
}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("master", list(Master))
def test_verdicts_are_the_same_with_advice(name: str, master: Master) -> None:
    network, rng = NETS[name](), np.random.default_rng(8)
    other = 0
    for _ in range(40):
        zone = held_zone(rng, most_points=20, most_empty=9)
        for side in (0, 1):
            alone = Prover(zone, master=master)
            advised = Prover(zone, master=master, network=network)
            first, second = (prover.ask(prover.begin(side)) for prover in (alone, advised))
            assert ProofVerdict.UNSOLVED not in (first.verdict, second.verdict)
            assert first.verdict == second.verdict
            other += first.nodes != second.nodes
    assert other > 8  # it is heeded


def test_sums_that_run_over_prove_nothing() -> None:
    """With sums that may reach infinity this one was held to be safe."""
    finding = ask(fight(18, 11), 0, random_net(18, size=1.0))
    assert finding.verdict == ask(fight(18, 11), 0).verdict == ProofVerdict.REACHED


def test_the_shipped_network_spares_most_positions() -> None:
    network, logs = OrderingNet.read(ORDERING), []
    for seed in range(100, 108):
        zone = fight(seed, 11)
        for side in (0, 1):
            logs.append(np.log(ask(zone, side).nodes / ask(zone, side, network).nodes))
    print(f"{np.exp(np.mean(logs)):.2f} times fewer")
    assert np.exp(np.mean(logs)) > 1.8


def test_advice_is_the_same_each_time_and_not_asked_about_life() -> None:
    zone, network = fight(3, 10), random_net(1, size=0.3)
    assert ask(zone, 0, network).nodes == ask(zone, 0, network).nodes != ask(zone, 0).nodes
    alone, advised = Prover(zone, goal=Goal.LIFE), Prover(zone, goal=Goal.LIFE, network=network)
    assert alone.ask(alone.begin(1)).nodes == advised.ask(advised.begin(1)).nodes


def test_the_search_is_compiled_once_for_provers_with_and_without_a_network() -> None:
    for network in (None, OrderingNet.read(ORDERING), random_net(4, size=0.3), enormous_net()):
        ask(fight(3, 6), 0, network)
    machine_code: Any = proof_search.search
    assert len(machine_code.signatures) == 1


def test_a_network_is_written_and_read(tmp_path: Path) -> None:
    network, path = random_net(2, size=1.0), tmp_path / "net.safetensors"
    network.write(path, history=(TrainingRecord(command="made here"),))
    again = find_ordering(str(path))
    assert again is not None
    assert np.array_equal(again.linear, network.linear)
    assert np.array_equal(again.inner, network.inner)
    assert np.array_equal(again.outer, network.outer)
    assert OrderingHeader.read(path).history[0].command == "made here"
    assert find_ordering("none") is None


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    linear = np.zeros((2, TRAITS, OUTPUTS), np.float32)
    good = {"linear": linear, "inner": linear[:, :, :0], "outer": linear[:, :0]}
    write_tensors(path, good, {})
    with pytest.raises(WeightsError, match="has no header of a search-ordering network"):
        OrderingNet.read(path)
    OrderingHeader().write(path, {**good, "linear": linear[:, 1:]})
    with pytest.raises(WeightsError, match=r"'linear' has the shape .*, not \(2, 26, 3\)"):
        OrderingNet.read(path)
    OrderingHeader().write(path, {"linear": linear})
    with pytest.raises(WeightsError, match="has the tensors linear, not inner, linear, outer"):
        OrderingNet.read(path)
    wide = np.zeros((2, TRAITS, 1025), np.float32)
    outer = np.zeros((2, 1025, 3), np.float32)
    OrderingHeader().write(path, {**good, "inner": wide, "outer": outer})
    with pytest.raises(WeightsError, match="has 1025 hidden units, more than 1024"):
        OrderingNet.read(path)
    with pytest.raises(WeightsError, match="is not a file; name shipped, none"):
        find_ordering(str(tmp_path / "nowhere"))
