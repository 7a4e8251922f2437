"""Roots of the three classes are what they are said to be, and come from their seed alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief_search.random_problems import value_by_definition
from tests.miniblind.twins import mini_rbc
from tests.whole_texts import assert_expected

from miai.beliefs.problem import Root
from miai_miniblind.mini_rbc import MiniRbc, MiniRbcProblem
from miai_miniblind.phantom_lines import PhantomLinesProblem
from miai_miniblind.roots import ROOT_CLASSES, hard_roots, random_roots, won_roots
from miai_miniblind.sub_hunt import SubHuntProblem

PROBLEMS: dict[str, Any] = {
    "mini_rbc": MiniRbcProblem(4, 2),
    "mini_rbc decoy": MiniRbcProblem(4, 2, decoy=True, graded=True),
    "phantom_lines": PhantomLinesProblem(3),
    "sub_hunt": SubHuntProblem(5, 1, 2),
}
problems = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def apart(n: int, a: int, b: int) -> int:
    (row, column), (row_b, column_b) = divmod(a, n), divmod(b, n)
    return max(abs(row - row_b), abs(column - column_b))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_random_roots_are_the_states_nearest_to_one(seed: int) -> None:
    problem = MiniRbcProblem(5, 3)
    for root in random_roots(problem, 3, seed=seed):
        king, rook = root.public.king, root.public.rook
        possible = {s for s in range(25) if s != rook and apart(5, s, king) > 1}
        assert root.public.senses
        assert king != rook
        chosen, others = set(root.hidden), possible - set(root.hidden)
        assert chosen <= possible
        assert len(possible) <= 10 * len(chosen)
        assert any(
            max(apart(5, c, s) for s in chosen) <= min((apart(5, c, s) for s in others), default=9)
            for c in chosen
        )


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_random_roots_of_marks_are_a_fifth_of_them_at_least(seed: int) -> None:
    for root in random_roots(PhantomLinesProblem(3), 3, seed=seed):
        marks = root.public.own.bit_count()
        assert marks in (1, 2)
        assert all(h.bit_count() == marks and not h & root.public.own for h in root.hidden)
        possible = 8 if marks == 1 else 21
        assert possible <= 5 * len(root.hidden) <= 5 * possible


def test_all_sizes_of_random_roots_occur() -> None:
    roots = random_roots(SubHuntProblem(3, 1, 1), 400, seed=3)
    assert {len(root.hidden) for root in roots} == set(range(4, 37))


@pytest.mark.parametrize(
    "problem", [*PROBLEMS.values(), PhantomLinesProblem(4)], ids=[*PROBLEMS, "phantom_lines 3x4"]
)
def test_hard_roots_have_states_that_are_won_alone(problem: Any) -> None:
    """By the definition of the value, without bounds."""
    for root in hard_roots(problem, 3, depth=1, seed=8):
        assert 3 <= len(root.hidden) <= 12
        assert set(root.hidden) <= set(problem.consistent(root.public))
        for hidden in root.hidden:
            alone = value_by_definition(problem, root.public, frozenset([hidden]), 1)
            assert alone == problem.greatest


@problems
def test_won_roots_are_the_hard_ones_that_are_won(problem: Any) -> None:
    hard = hard_roots(problem, 6, depth=1, seed=2)
    won = [
        root
        for root in hard
        if value_by_definition(problem, root.public, frozenset(root.hidden), 1) == problem.greatest
    ]
    assert won_roots(problem, len(won), depth=1, seed=2) == won
    assert won


@pytest.mark.parametrize(
    ("problem", "depth"), [(MiniRbcProblem(4, 2), 3), (PhantomLinesProblem(3), 2)]
)
def test_not_all_hard_roots_are_won(problem: Any, depth: int) -> None:
    """The information problem is real."""
    hard = hard_roots(problem, 12, depth=depth, seed=1)
    won = won_roots(problem, 12, depth=depth, seed=1)
    assert won[0] in hard
    assert won != hard


@problems
def test_seeds_reproduce_roots_and_fewer_are_the_first_of_more(problem: Any) -> None:
    draws: list[Callable[[int, int], list[Root[Any]]]] = [
        lambda count, seed: random_roots(problem, count, seed=seed),
        lambda count, seed: hard_roots(problem, count, depth=1, seed=seed),
        lambda count, seed: won_roots(problem, count, depth=1, seed=seed),
    ]
    for draw in draws:
        roots = draw(3, 1)
        assert roots == draw(3, 1)
        assert roots[:2] == draw(2, 1)
        assert roots != draw(3, 2)


@pytest.mark.slow
def test_roots_and_what_actions_lead_to_are_as_they_were_read() -> None:
    """Seeds stay good; the replies are those of the first state of each root."""
    lines = []
    for name, problem in [*PROBLEMS.items(), ("phantom_lines 4", PhantomLinesProblem(4))]:
        for kind in ROOT_CLASSES:
            for root in problem.roots(kind, 2, depth=1, seed=1):
                public, hidden = root.public, root.hidden
                lines.append(f"{name} {kind}: {public} {hidden}\n")
                for action in problem.actions(public):
                    replies = problem.replies(public, hidden[0], action)
                    after = {problem.after(public, action, r.observation) for r in replies[:1]}
                    cost = problem.cost(public, action)
                    told = [(r.ends, r.value, r.observation, r.hidden) for r in replies]
                    lines.append(f"  {action} costs {cost}: {told} {after}\n")
    assert_expected("miniblind/roots.txt", "".join(lines))


def test_drawing_is_given_up_where_there_is_nothing_to_find() -> None:
    with pytest.raises(ValueError, match="choose a greater depth"):
        hard_roots(MiniRbcProblem(4, 2), 1, depth=0, seed=1)
    with pytest.raises(ValueError, match="none of 1000 draws is won within depth 1"):
        won_roots(SubHuntProblem(6, 0, 1), 1, depth=1, seed=1)


def test_a_game_begins_at_a_root() -> None:
    for twin in (mini_rbc(5, 3), mini_rbc(4, 2, decoy=True)):
        for root in random_roots(twin.problem, 3, seed=5):
            state = MiniRbc.from_root(twin.problem, root).new_initial_state()
            ends = [state.child(action) for action in state.legal_actions()]
            assert {end.public for end in ends} == {root.public}
            assert Root(root.public, tuple(end.hidden for end in ends)) == root
