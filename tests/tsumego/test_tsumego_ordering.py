"""Learning from searches how hard positions are to prove, and the command that does it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from tests.tsumego.drawn import second_line
from tests.tsumego.tiny_zones import held_zone
from typer.testing import CliRunner

from miai.errors import WeightsError
from miai_go.rules.chains import chain_at, liberties_of
from miai_go.tsumego.commands import network_commands, problem_commands, solve_command
from miai_go.tsumego.kernels.traits import (
    ALWAYS,
    BANNED,
    EMPTY,
    LIBERTIES,
    ONE_LIBERTY,
    OTHER_STONES,
    SIZE,
    THREE_LIBERTIES,
    TRAITS,
    TWO_LIBERTIES,
    traits_of_all,
)
from miai_go.tsumego.networks.ordering_training import Samples, sample
from miai_go.tsumego.problem_sgf import collection_sgf
from miai_go.tsumego.shipped import ORDERING
from miai_go.tsumego.solver.ordering_net import OrderingNet
from miai_go.tsumego.solver.prover import ProofVerdict, Prover, ZonePosition

torch = pytest.importorskip("torch")
torch.set_num_threads(1)


def made_up(count: int, seed: int) -> Samples:
    """Return samples of which the traits tell the answer: sizes grow with one, odds with another.

    The target is captured where it has more stones than others; proofs take two to the power of
    the empty points, for the attacker, and twice as many for the defender.
    """
    rng = np.random.default_rng(seed)
    traits = np.zeros((count, TRAITS), np.float32)
    traits[:, ALWAYS] = 1
    traits[:, EMPTY] = rng.integers(1, 12, count)
    traits[:, SIZE], traits[:, OTHER_STONES] = rng.integers(0, 9, (2, count))
    sides = rng.integers(0, 2, count)
    return Samples(
        traits=traits,
        sides=sides,
        captured=traits[:, SIZE] > traits[:, OTHER_STONES],
        powers=traits[:, EMPTY] + sides.astype(np.float32),
        zones=np.arange(count),
    )


@pytest.mark.slow
def test_traits_are_learnt_and_noted_in_the_weights() -> None:
    from miai_go.tsumego.networks.ordering_training import learn

    network, fit = learn(made_up(6_000, 1), seed=1, width=4, steps=1_300)
    print(fit)
    assert (fit.samples, fit.held_out) == (5_400, 600)
    assert fit.right > 0.95 > 0.7 > fit.commoner
    assert min(fit.proof, fit.disproof) > 0.95
    new = made_up(500, 2)
    for side in (0, 1):
        x = new.traits[new.sides == side]
        out = x @ network.linear[side]
        out += np.maximum(x @ network.inner[side], 0) @ network.outer[side]
        assert np.mean((out[:, 0] > 0) == new.captured[new.sides == side]) > 0.95
        assert np.abs(out[:, 1] - new.powers[new.sides == side])[out[:, 0] > 0].mean() < 0.5


@pytest.mark.slow
def test_samples_are_the_same_each_time_and_hold_what_searches_say() -> None:
    first, again, other = (sample(300, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(first.traits, again.traits)
    assert np.array_equal(first.powers, again.powers)
    assert not np.array_equal(first.traits[:100], other.traits[:100])
    assert len(first) >= 300
    assert len(np.unique(first.zones)) > 4
    assert set(np.unique(first.sides)) == {0, 1}
    assert 0.1 < first.captured.mean() < 0.9
    assert 0 <= first.powers.min() < first.powers.max() <= np.log2(60_000)


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
        out = np.zeros((1, TRAITS), np.float32)
        attackers, defenders = np.array([[zone.attackers], [zone.defenders]], np.uint64)
        traits_of_all(zone.words, attackers, defenders, np.full(1, -1), out)
        block = chain_at(zone.stones, zone.target, zone.size)
        liberties = set(liberties_of(zone.stones, block, zone.size))
        within = set(zone.points)
        assert out[0, LIBERTIES] == len(liberties & within)
        assert out[0, SIZE] == len(block)
        assert out[0, OTHER_STONES] == zone.defenders.bit_count() - len(block)
        assert out[0, EMPTY] == zone.empty
        assert out[0, BANNED] == 0
        named = {1: ONE_LIBERTY, 2: TWO_LIBERTIES, 3: THREE_LIBERTIES}
        for count, trait in named.items():
            assert out[0, trait] == (len(liberties & within) == count)


@pytest.mark.slow
def test_the_command_makes_a_network_that_can_be_read(tmp_path: Path) -> None:
    app = typer.Typer()
    network_commands.add_commands(app)
    path = tmp_path / "net.safetensors"
    words = ["ordering", "--rounds", "2", "--positions", "1000", "--steps", "50"]
    done = CliRunner().invoke(app, [*words, "--width", "4", "--json", "--out", str(path)])
    assert done.exit_code == 0, done.output
    message = json.loads(done.stdout)
    assert [fit["samples"] > 500 for fit in message["rounds"]] == [True, True]
    assert OrderingNet.read(path).inner.shape == (2, TRAITS, 4)


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
