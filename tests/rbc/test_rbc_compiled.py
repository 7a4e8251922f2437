"""`rbc-compiled`: the values of `rbc-minimax`, from a kernel."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from tests.rbc.test_rbc_belief_minimax import beliefs, problem, search, small_roots, some_roots
from tests.whole_texts import assert_expected

from miai.errors import UnsuitableGameError
from miai.plugins.kinds import BELIEF_SEARCH
from miai.plugins.loader import registry
from miai_rbc.kernels import belief_tree
from miai_rbc.rbc_parameters import CompiledBounds
from miai_rbc.search import compiled as module
from miai_rbc.search.compiled import RbcCompiledSearch
from miai_rbc.search.problem import RbcRoot

BOUNDS: tuple[CompiledBounds, ...] = ("none", "table", "cores")
SLOW = pytest.mark.soak


def roots(seed: int, max_boards: int, count: int) -> list[RbcRoot]:
    """Return beliefs, every third before a move instead of a sense."""
    found = islice(beliefs(seed, 1, max_boards), count)
    return [RbcRoot(boards, senses=number % 3 > 0) for number, boards in enumerate(found)]


@pytest.mark.parametrize("king_loss", [600, 0, None])
@pytest.mark.parametrize(
    ("depth", "max_boards", "count", "senses", "moves"),
    [
        (1, 60, 4, 4, 4),
        (2, 20, 2, 4, 4),
        (2, 6, 2, 4, 12),
        (3, 3, 1, 2, 2),
        pytest.param(2, 300, 20, 4, 4, marks=SLOW),
        pytest.param(3, 5, 12, 3, 3, marks=SLOW),
    ],
)
def test_values_are_those_of_the_recursion(
    depth: int, max_boards: int, count: int, senses: int, moves: int, king_loss: int | None
) -> None:
    """The recursion is compared with the definition in `test_rbc_belief_minimax`."""
    rules = problem(senses=senses, moves=moves, king_loss=king_loss)
    for root in roots(depth + max_boards, max_boards, count):
        judge = search(rules, "table")
        expected = judge.search(root, depth)
        for bounds in BOUNDS:
            result = RbcCompiledSearch(rules, bounds).search(root, depth)
            assert result.value == expected.value, (bounds, list(root.boards.boards()))
            assert result.complete
            assert judge.guarantees(root, result.action, depth) == expected.value, bounds


@SLOW
def test_arms_agree_on_beliefs_of_games() -> None:
    """Root 61 found a table in which a sense and a move shared an entry."""
    rules = problem(deep_boards=1000)
    for root in rules.roots("game", 70, depth=2, seed=1):
        values = {RbcCompiledSearch(rules, bounds).search(root, 2).value for bounds in BOUNDS}
        assert len(values) == 1, root.name


@pytest.mark.slow
def test_one_search_serves_many_roots_and_depths() -> None:
    """What is kept from one root to the next changes no value."""
    rules = problem(senses=3, moves=3)
    made = RbcCompiledSearch(rules)
    for root in small_roots(2):
        for depth in (2, 1, 2):
            fresh = RbcCompiledSearch(rules).search(root, depth)
            assert made.search(root, depth).value == fresh.value
        deepened = RbcCompiledSearch(rules).search(root, 2, deepening=True)
        assert deepened.value == made.search(root, 2).value
    small = RbcRoot(small_roots(2)[1].boards.sample(2, np.random.default_rng(1)))
    values = [made.search(small, depth).value for depth in (2, 3, 2)]
    assert values == [
        search(problem(senses=3, moves=3), "table").search(small, d).value for d in (2, 3, 2)
    ]


def test_arrays_grow_in_the_middle_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = problem(senses=3, moves=3)
    expected = [RbcCompiledSearch(rules).search(root, 2) for root in some_roots()[:6]]
    grown = 0

    def enlarge(arrays: belief_tree.BeliefTree) -> belief_tree.BeliefTree:
        nonlocal grown
        grown += 1
        return larger(arrays)

    larger = module.enlarge
    monkeypatch.setattr(module, "enlarge", enlarge)
    monkeypatch.setattr(module, "_FIRST_BOARDS", 16)
    monkeypatch.setattr(module, "_FIRST_LAYERS", 4)
    for root, result in zip(some_roots()[:6], expected, strict=True):
        small = RbcCompiledSearch(rules).search(root, 2)
        assert (small.value, small.action, small.statistics) == (
            result.value,
            result.action,
            result.statistics,
        )
    assert grown > 2 * len(expected)


def test_a_tree_that_is_too_large_ends_like_a_spent_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_BOARDS", 1 << 12)
    root = max(some_roots(), key=lambda root: root.size)
    made = RbcCompiledSearch(problem(senses=3, moves=3))
    result = made.search(root, 3, deepening=True)
    assert not result.complete
    assert result.depth < 3
    assert made.search(root, 1).complete
    assert not made.search(root, 2, seconds=0.0).complete


def test_bounds_value_fewer_boards_and_visit_fewer_nodes() -> None:
    rules = problem()
    counts: dict[str, list[int]] = {}
    lines = []
    for bounds in BOUNDS:
        results = [RbcCompiledSearch(rules, bounds).search(root, 2) for root in some_roots()]
        lines += [f"{bounds}: {r.action} {r.value} {dict(r.statistics)}" for r in results]
        keys = ("nodes", "valued")
        counts[bounds] = [sum(result.statistics[key] for result in results) for key in keys]
    assert counts["none"][0] > counts["table"][0] > 1.3 * counts["cores"][0]
    assert counts["none"][1] > counts["cores"][1]
    assert_expected("rbc/beliefs.txt", "\n".join([*lines, ""]))  # their signature, as an engine's


@pytest.mark.parametrize("nodes", [1, 50, 5000])
def test_a_node_budget_ends_with_the_last_complete_depth(nodes: int) -> None:
    rules = problem()
    for root in small_roots(3):
        whole = RbcCompiledSearch(rules).search(root, 2, deepening=True)
        part = RbcCompiledSearch(rules).search(root, 2, max_nodes=nodes)
        assert part.statistics["nodes"] <= nodes + rules.rules.moves * (2 + rules.rules.senses * 70)
        expected = search(rules, "table").search(root, part.depth).value if part.depth else -100_000
        assert part.value == expected
        if part.complete:
            assert part.value == whole.value


def test_other_problems_and_depths_are_refused() -> None:
    with pytest.raises(UnsuitableGameError, match="recursive"):
        RbcCompiledSearch(object())
    with pytest.raises(ValueError, match="1 to 3"):
        RbcCompiledSearch(problem()).search(some_roots()[0], 4)


def test_the_component_is_found_by_name() -> None:
    made = registry().build(BELIEF_SEARCH, "rbc-compiled", problem(), values={"bounds": "table"})
    assert isinstance(made, RbcCompiledSearch)
