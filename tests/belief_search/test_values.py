"""Every arm finds the value that the definition gives, whatever it knew before."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from tests.belief_search.random_problems import STATES, RandomProblem

from miai.beliefs import BeliefSearch, Reply, Root, goes_on, named_bounds, over
from miai.errors import UnsuitableGameError

ARMS = ("none", "table", "singles", "exact", "cores", "minhash", "reference-minhash")
"""Those that make no errors."""


# -- means --------------------------------------------------------------------------------------


class AveragingProblem(RandomProblem):
    """The same with means where the depth ends."""

    averages = True


def test_means_are_valued_by_what_infers_nothing_and_refused_by_what_does() -> None:
    """A state more may raise a mean, which no worst case does."""
    problem, rose = AveragingProblem(5), 0
    for name in ("none", "table"):
        search = BeliefSearch(problem, named_bounds(name))
        for first, second in itertools.combinations(range(STATES), 2):
            values = [problem.evaluate((0, 0), state) for state in (first, second)]
            recursion = search.recursion
            mask = search.recursion.universe.mask((first, second))
            found = recursion.value((0, 0), mask, 0, problem.least, problem.greatest).value
            assert found == sum(values) / 2
            rose += found > values[0]
            assert search.search(Root((0, 0), (first, second)), 2).complete
    assert rose > 0
    for arm in ARMS[2:]:
        with pytest.raises(UnsuitableGameError, match="no belief bounds another"):
            BeliefSearch(problem, named_bounds(arm))


# -- what contradicts itself ----------------------------------------------------------------------


class WonLeaves(RandomProblem):
    """Of reachability, and yet won where the depth ends."""

    def evaluate(self, public: tuple[int, int], hidden: int) -> float:
        return self.greatest


def test_a_win_at_the_depth_limit_is_reported() -> None:
    search = BeliefSearch(WonLeaves(1, reachability=True), named_bounds("table"))
    with pytest.raises(UnsuitableGameError, match=r"evaluate\(\) returned 1.0"):
        search.search(Root((0, 0), tuple(range(STATES))), 2)


def test_roots_and_depths_that_cannot_be_are_refused() -> None:
    search = BeliefSearch(RandomProblem(1), named_bounds("none"))
    with pytest.raises(ValueError, match="does not allow"):
        search.search(Root((0, 0), (STATES,)), 1)
    with pytest.raises(ValueError, match="from 0 on"):
        Root((0, 0), (-1, 2))
    deep = BeliefSearch(RandomProblem(1, reachability=True), named_bounds("table"))
    with pytest.raises(UnsuitableGameError, match="exceeds Python's recursion limit"):
        deep.search(Root((0, 0), (0,)), 5000)


class OneMove(RandomProblem):
    """One move, which ends the game in the first of two states, and leads to the second."""

    def actions(self, public: tuple[int, int]) -> Sequence[int]:
        return [0]

    def cost(self, public: tuple[int, int], action: int) -> int:
        return 1

    def replies(self, public: tuple[int, int], hidden: int, action: int) -> Sequence[Reply]:
        return [over(0.5)] if hidden == 0 else [goes_on("on", 1)]

    def evaluate(self, public: tuple[int, int], hidden: int) -> float:
        return 0.25


@pytest.mark.parametrize(
    ("hidden", "depth", "nodes", "leaves"), [((0,), 1, 1, 0), ((0, 1), 1, 2, 1), ((0, 1), 2, 3, 1)]
)
def test_nodes_and_leaves_are_counted_by_hand(
    hidden: tuple[int, ...], depth: int, nodes: int, leaves: int
) -> None:
    """The root, then the belief after the move, unless the game is over in every state."""
    found = BeliefSearch(OneMove(1), named_bounds("none")).search(Root((0, 1), hidden), depth)
    assert (found.statistics["nodes"], found.statistics["leaves"]) == (nodes, leaves)
    assert found.value == (0.25 if 1 in hidden else 0.5)
