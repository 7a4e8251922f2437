"""The prover against exhaustion, and against what players have long known."""

from __future__ import annotations

from tests.tsumego.brute_force import ATTACKER, DEFENDER
from tests.tsumego.drawn import drawn, empty_corner

from miai_go.tsumego.solver.prover import _FIRST_BYTES, Goal, ProofVerdict, Prover
from miai_go.tsumego.zones import find_zone


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
        assert first == 1024 * 4 * 5 * 8  # buckets of four entries
        prover.ask(prover.begin(ATTACKER), nodes=40_000)
        prover.ask(prover.begin(DEFENDER), nodes=40_000)
        sizes.append(prover._work.arrays.table.nbytes / first)
    assert sizes == [1, 4]
