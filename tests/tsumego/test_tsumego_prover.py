"""The prover against exhaustion, and against what players have long known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tsumego.brute_force import ATTACKER, DEFENDER
from tests.tsumego.drawn import drawn, empty_corner
from tests.tsumego.exhaustion import MASTERS, Exhausted, place_of, roots
from tests.tsumego.tiny_zones import tiny_zone

from miai_go.tsumego.solver.prover import _FIRST_BYTES, Goal, ProofVerdict, Prover
from miai_go.tsumego.zones import Zone, find_zone


def check_life(zone: Zone, *, max_states: int, places: int, rng: np.random.Generator) -> int:
    """Compare with exhaustion whether two eyes can be forced: at the root and at other places."""
    compared = 0
    for number, master in MASTERS.items():
        exhausted = Exhausted.of(zone, number, max_states=max_states)
        if exhausted is None:
            continue
        sure, standing = exhausted.sure_of_two_eyes(), exhausted.standing
        for root in roots(zone):
            prover = Prover(zone, goal=Goal.LIFE, master=master, table_bytes=1 << 16)
            drawn = rng.choice(len(standing), min(places, len(standing)), replace=False)
            for state in [root, *(standing[i] for i in drawn)]:
                verdict = prover.ask(place_of(zone, state)).verdict
                expected = ProofVerdict.REACHED if state in sure else ProofVerdict.PREVENTED
                assert verdict == expected, (zone, master, state)
                compared += 1
    return compared


@pytest.mark.parametrize("seed", range(40))
def test_forcing_two_eyes_agrees_with_exhaustion(seed: int) -> None:
    print(f"seed {seed}")
    rng = np.random.default_rng(1_000 + seed)
    zone = tiny_zone(rng, most_points=9, most_empty=4)
    assert check_life(zone, max_states=5_000, places=4, rng=rng) > 0


def corner_fight(text: str) -> Prover:
    problem = drawn(text)
    return Prover(find_zone(problem.stones, problem.target))


def test_a_capture_on_the_board_needs_no_search() -> None:
    prover = corner_fight("""
        X X X
        T . X
    """)
    begin = prover.begin(ATTACKER)
    place = dict(prover.moves(begin))[prover.zone.number(1)]
    assert prover.settled(place) == ProofVerdict.REACHED


def test_two_eyes_on_the_board_need_no_search() -> None:
    problem = drawn("""
        X X X X X
        O O O O X
        . T . O X
    """)
    prover = Prover(find_zone(problem.stones, problem.target), goal=Goal.LIFE)
    for side in (ATTACKER, DEFENDER):
        finding = prover.ask(prover.begin(side))
        assert (finding.verdict, finding.nodes) == (ProofVerdict.REACHED, 0)


def test_the_table_grows_up_to_its_limit_and_no_further() -> None:
    problem = empty_corner()
    sizes = []
    for limit in (_FIRST_BYTES, 4 * _FIRST_BYTES):
        prover = Prover(find_zone(problem.stones, problem.target), table_bytes=limit)
        first = prover._work.arrays.table.nbytes
        prover.ask(prover.begin(ATTACKER), nodes=40_000)
        prover.ask(prover.begin(DEFENDER), nodes=40_000)
        sizes.append(prover._work.arrays.table.nbytes / first)
    assert sizes == [1, 4]
