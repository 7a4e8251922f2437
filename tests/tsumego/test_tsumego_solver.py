"""The solver: known groups, seki and ko, moves that solve, and limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.tsumego.brute_force import ATTACKER, DEFENDER, State
from tests.tsumego.drawn import drawn, empty_corner, named, second_line
from tests.tsumego.exhaustion import MASTERS, Exhausted, roots
from tests.tsumego.known_seki import (
    BENT_FOUR_IN_THE_CORNER,
    DOUBLE_KO,
    EYE_AND_KO,
    FOUR_IN_SIX_AND_A_LIBERTY,
    RACE,
    SEKI,
    TAKEN,
    TWO_EYES,
)
from tests.tsumego.tiny_zones import tiny_zone

from miai_go.errors import ProblemError
from miai_go.tsumego.solver.answer_keys import KeyMoves, compare_key
from miai_go.tsumego.solver.prover import Master
from miai_go.tsumego.solver.solver import Solver, Status, solve
from miai_go.tsumego.zones import Zone

MOST = 8_000


def test_all_moves_that_solve_a_row_are_listed() -> None:
    corner = second_line(5, corner=True)
    report = solve(corner)
    for answer in report.answers.values():
        assert answer.needs_move
        assert named(answer.moves, corner) == ["B1", "E1"]
    # Seven on the side begin at E: both ends kill; the point in the middle only saves.
    side = second_line(7, corner=False)
    answers = solve(side).answers
    assert named(answers[ATTACKER].moves, side) == ["E1", "L1"]
    assert named(answers[DEFENDER].moves, side) == ["E1", "H1", "L1"]


@pytest.mark.parametrize("name", SEKI | TWO_EYES | TAKEN)
def test_seki_is_reported_where_it_is_one(name: str) -> None:
    report = solve(drawn((SEKI | TWO_EYES | TAKEN)[name]))
    assert report.status == (Status.DEAD if name in TAKEN else Status.ALIVE)
    assert [answer.seki for answer in report.answers.values()] == [name in SEKI] * 2


def test_who_moves_first_may_decide_between_seki_and_two_eyes() -> None:
    report = solve(drawn(FOUR_IN_SIX_AND_A_LIBERTY))
    assert report.status == Status.ALIVE
    assert report.answers[ATTACKER].seki is True
    assert report.answers[DEFENDER].seki is False


@pytest.mark.parametrize("text", [BENT_FOUR_IN_THE_CORNER, EYE_AND_KO])
def test_a_ko_decides(text: str) -> None:
    report = solve(drawn(text))
    assert report.status == Status.KO
    defended = report.answers[DEFENDER]
    assert defended.safe[Master.ATTACKER] is False
    assert defended.safe[Master.DEFENDER] is True
    assert solve(drawn(text), ko_masters=(Master.DEFENDER,)).answers[DEFENDER].is_safe


def test_a_double_ko_lives_though_the_attacker_takes_every_ko() -> None:
    report = solve(drawn(DOUBLE_KO))
    assert report.status == Status.ALIVE
    # What never ends is no life by two eyes; whoever may connect has them.
    assert report.answers[ATTACKER].seki is True
    assert report.answers[DEFENDER].seki is False


def test_a_race_with_a_block_inside_the_zone() -> None:
    problem = drawn(RACE)
    report = solve(problem)
    assert report.status == Status.CRITICAL
    assert named(report.answers[ATTACKER].moves, problem) == ["F1", "F3"]
    assert named(report.answers[DEFENDER].moves, problem) == ["D1"]


def status_of(zone: Zone, by_master: dict[int, Exhausted]) -> Status:
    safe = {
        master: [root not in exhausted.captured for root in roots(zone)]
        for master, exhausted in by_master.items()
    }
    if safe[ATTACKER] != safe[DEFENDER]:
        return Status.KO
    if safe[ATTACKER][ATTACKER]:
        return Status.ALIVE
    return Status.CRITICAL if safe[ATTACKER][DEFENDER] else Status.DEAD


def placed(before: State, after: State) -> frozenset[int]:
    """Return the stone that a move placed, as a set; empty for a pass."""
    attackers, defenders = after[0] - before[0], after[1] - before[1]
    return attackers if before[2] == ATTACKER else defenders


@pytest.mark.parametrize("seed", range(40))
def test_a_report_is_what_exhaustion_says(seed: int) -> None:
    print(f"seed {seed}")
    zone = tiny_zone(np.random.default_rng(2_000 + seed), most_points=9, most_empty=5)
    by_master = {}
    for number in MASTERS:
        exhausted = Exhausted.of(zone, number, max_states=MOST)
        if exhausted is None:
            pytest.skip("too many positions for exhaustion")
        by_master[number] = exhausted
    graph, falls = by_master[ATTACKER].graph, by_master[ATTACKER].captured
    lives = by_master[ATTACKER].sure_of_two_eyes()
    report = solve(zone)
    assert report.status == status_of(zone, by_master)
    for side, answer in report.answers.items():
        root = roots(zone)[side]
        assert answer.is_safe == (root not in falls)
        assert answer.seki == (root not in falls and root not in lives)
        for master, safe in answer.safe.items():
            assert safe == (root not in by_master[master.value].captured)
        if not answer.succeeds:
            assert (answer.moves, answer.needs_move) == ((), None)
            continue
        good = [state for state in graph[root] if (state in falls) == (side == ATTACKER)]
        points = {next(iter(placed(root, after)), None) for after in good}
        assert answer.needs_move == (None not in points)
        assert set(answer.moves) == (points if answer.needs_move else set())


def test_a_limit_of_nodes_leaves_it_unsolved_and_is_the_same_each_time() -> None:
    first, second = (solve(empty_corner(), nodes=3_000, seconds=None) for _ in range(2))
    assert first.status == Status.UNSOLVED
    assert first.why == "3,000 positions were searched"
    assert 3_000 <= first.nodes < 4_000
    assert all(answer.is_safe is None and not answer.moves for answer in first.answers.values())
    assert first.nodes == second.nodes


def test_a_limit_of_time_leaves_it_unsolved() -> None:
    report = solve(empty_corner(), seconds=0.2)
    assert report.status == Status.UNSOLVED
    assert report.why == "0.2 s have passed"
    assert report.seconds < 10.0


def test_no_limit_is_overdrawn_by_guessing() -> None:
    problem = second_line(7, corner=False)
    whole = solve(problem)
    for nodes in (1, 100, 1_000, 3_000, 10_000):
        part = solve(problem, nodes=nodes, seconds=None)
        assert part.status in (whole.status, Status.UNSOLVED)
        for side, answer in part.answers.items():
            full = whole.answers[side]
            assert answer.is_safe in (full.is_safe, None)
            assert set(answer.moves) <= set(full.moves)
            assert answer.seki in (full.seki, None)


def test_a_solver_goes_on_from_what_it_knows() -> None:
    solver = Solver(second_line(7, corner=False))
    assert solver.solve(nodes=200, seconds=None).status == Status.UNSOLVED
    assert solver.solve().status == Status.CRITICAL
    assert solver.solve().nodes == 0


def test_moves_that_were_not_searched_for_are_not_compared_with_the_key() -> None:
    row = dataclasses.replace(second_line(5, corner=True), to_play=2, solutions=(1, 4))
    assert compare_key(row, solve(row, first=DEFENDER)).moves == KeyMoves.ALL
    others_first = solve(row, first=ATTACKER)
    assert compare_key(row, others_first).to_play is True
    assert compare_key(row, others_first).moves is None
    dead = dataclasses.replace(second_line(6, corner=False), to_play=2, solutions=(1,))
    assert compare_key(dead, solve(dead, first=ATTACKER)).moves == KeyMoves.WRONG


def test_a_board_without_a_zone_is_refused() -> None:
    with pytest.raises(ProblemError, match="wall"):
        solve(drawn("T . O\n. . ."))
