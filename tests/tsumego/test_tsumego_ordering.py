"""Learning from searches how hard positions are to prove, and the command that does it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer
from tests.tsumego.drawn import second_line
from tests.tsumego.tiny_zones import held_zone
from tests.whole_texts import assert_expected
from typer.testing import CliRunner

from miai.errors import WeightsError
from miai.tensors import TrainingRecord, write_tensors
from miai_go.rules.chains import chain_at, liberties_of
from miai_go.tsumego.commands import network_commands, problem_commands, solve_command
from miai_go.tsumego.components import OrderingPlan
from miai_go.tsumego.data.growth import draw_fight_zone
from miai_go.tsumego.kernels import proof_search
from miai_go.tsumego.kernels import traits as features
from miai_go.tsumego.kernels.guide import OUTPUTS
from miai_go.tsumego.kernels.traits import ALWAYS, TRAITS
from miai_go.tsumego.networks import ordering_training
from miai_go.tsumego.networks.ordering_training import OrderingFit, Samples, learn, sample
from miai_go.tsumego.problem_sgf import collection_sgf
from miai_go.tsumego.shipped import ORDERING
from miai_go.tsumego.solver.ordering_net import OrderingHeader, OrderingNet, find_ordering
from miai_go.tsumego.solver.prover import Finding, Goal, Master, ProofVerdict, Prover, ZonePosition
from miai_go.tsumego.zones import Zone

torch.set_num_threads(1)


def made_up(count: int, seed: int) -> Samples:
    """Return samples of which the traits tell the answer: sizes grow with one, odds with another.

    The target is captured where it has more stones than others; proofs take two to the power of
    the empty points, for the attacker, and twice as many for the defender.
    """
    rng = np.random.default_rng(seed)
    traits = np.zeros((count, features.TRAITS), np.float32)
    traits[:, features.ALWAYS] = 1
    traits[:, features.EMPTY] = rng.integers(1, 12, count)
    traits[:, features.SIZE], traits[:, features.OTHER_STONES] = rng.integers(0, 9, (2, count))
    sides = rng.integers(0, 2, count)
    return Samples(
        traits=traits,
        sides=sides,
        captured=traits[:, features.SIZE] > traits[:, features.OTHER_STONES],
        powers=traits[:, features.EMPTY] + sides.astype(np.float32),
        zones=np.arange(count),
    )


def test_traits_are_learnt_and_noted_in_the_weights() -> None:
    samples = made_up(600, 1)
    network, fit = learn(samples, seed=1, width=2, steps=60)
    told = samples.zones % 10 == 0
    outputs = np.empty((60, 3))
    for side in (0, 1):
        rows = samples.sides[told] == side
        x = samples.traits[told][rows].astype(float)
        inner = np.maximum(x @ network.inner[side], 0)
        outputs[rows] = x @ network.linear[side] + inner @ network.outer[side]
    captured, powers = samples.captured[told], samples.powers[told]
    explained = [
        1 - np.mean((outputs[rows, column] - powers[rows]) ** 2) / np.var(powers[rows])
        for rows, column in ((captured, 1), (~captured, 2))
    ]
    right = np.mean((outputs[:, 0] > 0) == captured)
    expected = OrderingFit(540, 60, right, 32 / 60, *explained)
    assert asdict(fit) == pytest.approx(asdict(expected), rel=1e-3)
    assert [fit.right, fit.proof, fit.disproof] == pytest.approx([0.9167, 0.1036, 0.067], abs=0.01)


def test_samples_hold_what_searches_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering_training, "LEAST_EMPTY", 6)
    monkeypatch.setattr(ordering_training, "MOST_EMPTY", 7)
    done: list[int] = []
    drawn = sample(200, seed=5, progress=done.append)
    assert done == [60, 120, 180, 240]
    columns = (drawn.zones, drawn.sides, drawn.captured, drawn.powers.round(3), drawn.traits)
    rows = np.column_stack(columns)
    lines = [" ".join(f"{value:.4g}" for value in row) for row in rows.tolist()]
    assert_expected("tsumego/samples.txt", "\n".join(lines) + "\n")
    advised = sample(200, seed=5, network=OrderingNet.read(ORDERING))
    assert advised.powers.sum() < drawn.powers.sum()


def test_positions_that_a_search_met_are_of_the_zone_and_the_root_is_among_them() -> None:
    zone = held_zone(np.random.default_rng(4), most_points=18, most_empty=9)
    prover = Prover(zone)
    root = prover.begin(0)
    verdict = prover.ask(root).verdict
    met = prover.table_positions()
    columns = (met.attackers, met.defenders, met.sides, met.bans)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert (root.attackers, root.defenders, 0, -1) in rows
    assert verdict != ProofVerdict.UNSOLVED
    within = (1 << len(zone.points)) - 1
    for attackers, defenders, side, ban in rows:
        assert attackers & defenders == 0
        assert (attackers | defenders) & ~within == 0
        assert Prover(zone).ask(ZonePosition(attackers, defenders, side, ban)).nodes >= 0
    assert (met.work >= 0).all()


def test_traits_are_counted_as_on_the_board() -> None:
    rng = np.random.default_rng(12)
    for _ in range(200):
        zone = held_zone(rng, most_points=20, most_empty=12)
        out = np.zeros((1, features.TRAITS), np.float32)
        attackers, defenders = np.array([[zone.attackers], [zone.defenders]], np.uint64)
        features.traits_of_all(zone.words, attackers, defenders, np.full(1, -1), out)
        block = chain_at(zone.stones, zone.target, zone.size)
        liberties = set(liberties_of(zone.stones, block, zone.size))
        within = set(zone.points)
        assert out[0, features.LIBERTIES] == len(liberties & within)
        assert out[0, features.SIZE] == len(block)
        assert out[0, features.OTHER_STONES] == zone.defenders.bit_count() - len(block)
        assert out[0, features.EMPTY] == zone.empty
        assert out[0, features.BANNED] == 0
        named = {1: features.ONE_LIBERTY, 2: features.TWO_LIBERTIES, 3: features.THREE_LIBERTIES}
        for count, trait in named.items():
            assert out[0, trait] == (len(liberties & within) == count)


def test_the_command_learns_from_the_last_two_rounds_with_a_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int, bool]] = []

    def sampled(count: int, *, seed: int, network: Any, progress: Any) -> Samples:
        asked.append((count, seed, network is not None))
        progress(count)
        return made_up(600, seed)

    monkeypatch.setattr(ordering_training, "sample", sampled)
    plan = OrderingPlan(rounds=4, positions=1000, width=2, steps=20, seed=2)
    path = tmp_path / "net.safetensors"
    for as_json in (False, True):
        network_commands.ordering(plan, path, as_json=as_json)
    assert asked == 2 * [(1000, 2000 + number, number > 1) for number in (1, 2, 3, 4)]
    text, _, message = capsys.readouterr().out.partition("{")
    assert_expected("tsumego/ordering.txt", text.replace(str(tmp_path), ""))
    fits = json.loads("{" + message)["rounds"]
    assert [fit["samples"] for fit in fits] == [540, 540, 1080, 1080]
    (record,) = OrderingHeader.read_all(path)[0].history
    command = "miai go tsumego ordering --rounds 4 --positions 1000 --width 2 --steps 20 --seed 2"
    assert (record.command, record.seed) == (command, 2)


def test_solve_asks_the_network_that_is_named(tmp_path: Path) -> None:
    app = typer.Typer()
    solve_command.add_commands(app)
    problem_commands.add_commands(app)
    path = tmp_path / "five.sgf"
    path.write_bytes(collection_sgf([second_line(7, corner=False)]))
    message = {}
    for name in ("shipped", str(ORDERING), "none"):
        done = CliRunner().invoke(app, ["solve", str(path), "--network", name, "--json"])
        assert done.exit_code == 0, done.output
        (message[name],) = json.loads(done.stdout)["problems"]
    shipped = message["shipped"]
    assert shipped["nodes"] == message[str(ORDERING)]["nodes"] != message["none"]["nodes"]
    assert message["shipped"]["status"] == message["none"]["status"] == "critical"
    done = CliRunner().invoke(app, ["solve", str(path), "--network", "elsewhere"])
    assert isinstance(done.exception, WeightsError)


# -- advice changes what is looked at first, and nothing that is proved ---------------------------


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
