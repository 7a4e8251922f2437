"""Values of `rbc-minimax`: by definition, the same with all bounds, and never more for more."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rbc.games import follow, rbc
from tests.rbc.minimax_oracle import WIN, Oracle, material
from tests.slow import with_slow
from tests.whole_texts import assert_expected

from miai.beliefs import Root, named_bounds
from miai.beliefs.protocol import BoundEntry
from miai.beliefs.recursion import Recursion
from miai.errors import UnsuitableGameError
from miai.plugins.kinds import BELIEF_SEARCH
from miai.plugins.loader import registry
from miai_rbc.engines.kernel import KernelEngine, KernelParameters
from miai_rbc.kernels import belief_tree
from miai_rbc.rbc_parameters import CompiledBounds, MinimaxProblemParameters
from miai_rbc.rules.actions import action_of
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.rows import row_of_board
from miai_rbc.search import compiled as module
from miai_rbc.search.candidates import Valuer, own_pieces
from miai_rbc.search.compiled import RbcCompiledSearch
from miai_rbc.search.minimax import RbcMinimaxSearch
from miai_rbc.search.problem import RbcProblem, RbcRoot

EXACT: dict[str, dict[str, Any]] = {name: {} for name in ("table", "singles", "exact", "cores")}
EXACT["minhash"] = {"k": 16}
"""Bounds that make no errors, with parameters."""
SLOW = pytest.mark.soak


def problem(**rules: Any) -> RbcProblem:
    return RbcProblem(MinimaxProblemParameters(**rules))


def search(rules: RbcProblem, arm: str = "none", **more: Any) -> RbcMinimaxSearch:
    bounds = named_bounds(arm, **EXACT.get(arm, {}))
    return RbcMinimaxSearch(rules, bounds, **more)


def beliefs(seed: int, least: int, max_boards: int) -> Iterator[BoardSet]:
    """Yield parts of what a player held possible before its turns in random games."""
    print("seed", seed)
    rng = random.Random(seed)
    while True:
        for played in follow(rbc(), rng, 40, limit=100_000):
            if not played.state.senses:
                continue
            boards = played.beliefs[int(played.state.current_player())].boards
            if len(boards) >= least and rng.random() < 0.4:
                count = rng.randint(least, max_boards)
                yield boards.sample(count, np.random.default_rng(rng.randrange(1 << 30)))


@cache
def some_roots() -> tuple[RbcRoot, ...]:
    """A dozen beliefs, some before a sense and some before a move."""
    return tuple(roots(8, 60, 12, least=5))


# -- by the definition ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("king_loss", [600, 0, None])
@pytest.mark.parametrize(
    ("depth", "max_boards", "count"),
    [(1, 12, 1), (2, 3, 1), pytest.param(1, 12, 25, marks=SLOW), pytest.param(2, 3, 9, marks=SLOW)],
)
def test_values_are_those_of_the_definition(
    depth: int, max_boards: int, count: int, king_loss: int | None
) -> None:
    rules = problem(senses=2, moves=3 if depth == 1 else 2, king_loss=king_loss)
    valuer = Valuer(rules.rules.king_loss)
    for number, boards in enumerate(islice(beliefs(depth, 1, max_boards), count)):
        root = RbcRoot(boards, senses=number % 3 > 0)
        made = search(rules)
        found = made.search(root, depth)
        candidates = made.below(root, depth)[0].candidates
        own = own_pieces(boards.rows[0], root.player)

        def leaf(board: Any, player: int = root.player) -> float:
            return float(valuer.values(row_of_board(board)[None], player)[0])

        oracle = Oracle(root.player, candidates, leaf, king_loss)
        phase = oracle.sense if root.senses else oracle.move
        assert found.value == phase(boards.boards(), depth, own), [b.fen() for b in boards.boards()]
        assert made.guarantees(root, found.action, depth) == found.value
        for action in made.candidates(root):
            assert made.guarantees(root, action, depth) <= found.value
        if not root.senses:
            for request in boards.requests()[:: 5 * depth]:  # also those that are not tried
                guaranteed = made.guarantees(root, action_of(request), depth)
                assert guaranteed == oracle.request(list(boards.boards()), request, depth)


def test_a_leaf_is_worth_what_the_engine_finds_with_captures_alone() -> None:
    """A board's value one ply deep is the best of its moves, each followed by captures alone."""
    valuer = Valuer(None)
    engine = KernelEngine(KernelParameters(depth=1))
    compared = 0
    for boards in islice(beliefs(4, 1, 10), 12):
        player = int(boards.rows[0, 7]) & 1
        result = engine.evaluate(boards.rows, top=200)
        for row, moves, scores in zip(boards.rows, result.moves, result.move_scores, strict=True):
            for move, score in zip(moves.tolist(), scores.tolist(), strict=True):
                if move < 0 or abs(score) > WIN - 1000:
                    continue
                after = BoardSet(row[None].copy())
                after.play(move)
                assert valuer.values(after.rows, player)[0] == score
                compared += 1
    assert compared > 500


def test_a_lost_king_costs_the_material_and_what_was_asked_for() -> None:
    fen = "4k3/8/8/8/8/3n4/8/R3K3 b Q - 0 1"  # the knight takes the king
    boards = BoardSet.of_fens([fen])
    assert material(next(boards.boards()), 0) == 180
    for king_loss, value in ((0, 180), (600, -420), (5000, -4820), (None, -WIN)):
        assert Valuer(king_loss).values(boards.rows, 0)[0] == value


def test_the_king_is_captured_where_it_can_be_on_all_boards() -> None:
    fens = ["k7/8/8/8/8/8/8/R3K3 w - - 0 1", "8/k7/8/8/8/8/8/R3K3 w - - 0 1"]
    root = RbcRoot(BoardSet.of_fens(fens), senses=False)
    for depth in (1, 2):
        found = search(problem()).search(root, depth)
        assert found.value == WIN
        assert rbc().new_initial_state().action_to_string(found.action) == "a1a8"


# -- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", ["alpha-beta", "null"])
@pytest.mark.parametrize("arm", EXACT)
@pytest.mark.parametrize("count", [1, pytest.param(5, marks=SLOW)])
def test_every_exact_arm_finds_the_value_without_bounds(arm: str, window: Any, count: int) -> None:
    rules = problem(senses=3, moves=3)
    for root in small_roots(count):
        for depth in (1, 2):
            made = search(rules, arm, window=window)
            found = made.search(root, depth)
            assert found.value == true_value(root, depth), root
            assert found.complete
            assert made.guarantees(root, found.action, depth) == found.value


def small_roots(count: int) -> list[RbcRoot]:
    return sorted(some_roots(), key=lambda root: root.size)[:count]


@cache
def true_value(root: RbcRoot, depth: int) -> float:
    return search(problem(senses=3, moves=3)).search(root, depth).value


@pytest.mark.slow
def test_bounds_that_know_less_search_more() -> None:
    nodes = {}
    for arm in ("none", "table", "exact"):
        results = [search(problem(), arm).search(root, 2) for root in small_roots(2)]
        nodes[arm] = sum(result.statistics["nodes"] for result in results)
    print(nodes)
    assert nodes["none"] > nodes["table"] > nodes["exact"]


@pytest.mark.parametrize("king_loss", [600, None])
@given(st.data())
@settings(max_examples=12, deadline=None)
def test_more_boards_are_never_worth_more(king_loss: int | None, data: st.DataObject) -> None:
    """B1, of parts of a root, by searches that know nothing of each other."""
    root = data.draw(st.sampled_from(some_roots()))
    numbers = st.integers(0, root.size - 1)
    larger = data.draw(st.sets(numbers, min_size=1, max_size=12))
    smaller = data.draw(st.sets(st.sampled_from(sorted(larger)), min_size=1))
    depth = data.draw(st.sampled_from([1, 1, 2]))
    rules = problem(senses=2, moves=2, king_loss=king_loss)
    values = [value_of_part(search(rules), root, part, depth) for part in (smaller, larger)]
    assert values[0] >= values[1]


def value_of_part(searcher: RbcMinimaxSearch, root: RbcRoot, part: set[int], depth: int) -> float:
    """Return the value of some boards of a root, with the candidates of the root."""
    tree, recursion = searcher.below(root, depth)
    belief = tree.root(senses=root.senses)
    part_of_it = Root(belief.public, tuple(sorted(part)))
    return recursion.root(part_of_it, depth, tree.least, tree.greatest).value


def test_every_recorded_result_is_true() -> None:
    """Cores among them, proved again by searches without bounds."""
    rules = problem(senses=2, moves=2)
    for root in small_roots(2):
        made = search(rules, "cores")
        tree, recursion = made.below(root, 2)
        output: list[tuple[BoundEntry, float]] = []
        spy(recursion.bounds, output)
        made.search(root, 2)
        plain = Recursion(tree, named_bounds("none"))
        chosen = random.Random(1).sample(output, min(len(output), 40))
        assert len(chosen) >= 10
        for (lower, public, depth, belief), value in chosen:
            part: Any = Root(public, tuple(recursion.universe.parts(belief)))
            true = plain.root(part, depth, tree.least, tree.greatest).value
            assert true >= value if lower else true <= value


def spy(bounds: Any, output: list[tuple[BoundEntry, float]]) -> None:
    """Have bounds note what they record."""
    record = bounds.record

    def noting(entry: BoundEntry, value: float) -> Any:
        output.append((entry, value))
        return record(entry, value)

    bounds.record = noting


# -- candidates and samples -----------------------------------------------------------------------


def test_candidates_are_chosen_by_the_root_and_what_is_public() -> None:
    """Whichever beliefs were searched, and in which order they were asked for."""
    rules = problem(senses=3, moves=3)
    for root in small_roots(1):
        asked: list[dict[Any, Any]] = []
        for arm in ("none", "cores"):
            made = search(rules, arm)
            made.search(root, 2)
            tried = made.below(root, 2)[0].candidates
            asked.append({key: (tried.senses(*key), moves) for key, moves in tried.moves.items()})
        common = asked[0].keys() & asked[1].keys()
        assert len(common) > 1
        backwards = search(rules).below(root, 2)[0].candidates
        for own, output in sorted(common, reverse=True):
            expected = asked[0][own, output]
            assert asked[1][own, output] == expected
            assert (backwards.senses(own, output), backwards.requests(own, output)) == expected
            assert len(expected[0]) == 3
            assert 1 <= len(expected[1]) <= 3


def test_a_belief_that_is_too_large_is_sampled_once_and_says_so() -> None:
    root = max(some_roots(), key=lambda r: r.size)
    rules = problem(deep_boards=5, senses=2, moves=2)
    found = [search(rules).search(root, 2) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].statistics["boards"] == 5
    assert found[0].statistics["root_boards"] == root.size > 5
    assert search(rules).search(root, 1).statistics["boards"] == root.size
    shuffled = RbcRoot(BoardSet(root.boards.rows[::-1].copy()), senses=root.senses)
    assert search(rules).search(shuffled, 2) == found[0]


def test_a_budget_ends_with_what_the_last_complete_depth_said() -> None:
    root = small_roots(3)[-1]
    made = search(problem())
    full = made.search(root, 2, deepening=True)
    first = made.search(root, 1)
    cut = made.search(root, 2, max_nodes=first.statistics["nodes"] + 5)
    assert (cut.depth, cut.value, cut.action) == (1, first.value, first.action)
    assert not cut.complete
    assert full.complete
    nothing = made.search(root, 2, seconds=0.0)
    assert (nothing.depth, nothing.action) == (0, -1)


# -- roots, components, bad input -----------------------------------------------------------------


@pytest.mark.slow
def test_roots_are_beliefs_of_games_and_the_first_of_more() -> None:
    rules = problem(min_boards=10, max_boards=300)
    roots = rules.roots("game", 5, depth=2, seed=3)
    again = rules.roots("game", 3, depth=1, seed=3)
    others = rules.roots("game", 3, depth=1, seed=4)
    contents = [[r.boards.rows.tobytes() for r in found] for found in (roots[:3], again, others)]
    assert contents[0] == contents[1] != contents[2]
    assert [(root.name.removeprefix("seed 3, "), root.size, root.player) for root in roots] == [
        *(("game 0, turn 1", 21, 0), ("game 0, turn 2", 229, 0), ("game 1, turn 0", 21, 1)),
        *(("game 1, turn 1", 235, 1), ("game 2, turn 1", 21, 0)),
    ]
    assert all(root.senses for root in roots)


def test_too_few_beliefs_of_a_size_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miai_rbc.search.problem._BARREN_GAMES", 1)
    with pytest.raises(ValueError, match=r"beliefs of 2 to 3 boards, not 99; lower min_boards"):
        problem(min_boards=2, max_boards=3).roots("game", 99, depth=1, seed=1)


def test_the_components_are_found_by_name() -> None:
    made = registry().get("belief-problem", "rbc").build(values={"senses": 2})
    assert made.rules.senses == 2
    component = registry().get("belief-search", "rbc-minimax")
    searcher = component.build(made, values={"bounds": "exact", "window": "null"})
    assert searcher.search(some_roots()[0], 1).depth == 1


def test_unsearchable_games_are_refused() -> None:
    with pytest.raises(UnsuitableGameError, match="'rbc'"):
        RbcMinimaxSearch(object(), named_bounds("none"))
    with pytest.raises(ValueError, match="at least one board"):
        RbcRoot(BoardSet(np.zeros((0, 8), np.uint64)))
    with pytest.raises(ValueError, match="no root"):
        problem().roots("hard", 1, depth=1, seed=1)
    with pytest.raises(ValueError, match="min_boards 50, max_boards 20"):
        problem(min_boards=50, max_boards=20)
    root = next(root for root in some_roots() if root.senses)
    for depth in (0, 4):
        with pytest.raises(ValueError, match="deep"):
            search(problem()).search(root, depth)
    with pytest.raises(ValueError, match="not the centre"):
        search(problem()).guarantees(root, 0, 1)
    with pytest.raises(ValueError, match="not a request"):
        search(problem()).guarantees(RbcRoot(root.boards, senses=False), 5, 1)


# -- `rbc-compiled`: the values of `rbc-minimax`, from a kernel ------------------------------------


BOUNDS: tuple[CompiledBounds, ...] = ("none", "table", "cores")


def roots(seed: int, max_boards: int, count: int, *, least: int = 1) -> list[RbcRoot]:
    """Return beliefs, every third before a move instead of a sense."""
    found = islice(beliefs(seed, least, max_boards), count)
    return [RbcRoot(boards, senses=number % 3 > 0) for number, boards in enumerate(found)]


@pytest.mark.parametrize("king_loss", [600, 0, None])
@pytest.mark.parametrize(
    ("depth", "max_boards", "count", "senses", "moves"),
    [
        (1, 60, 4, 4, 4),
        (2, 20, 2, 4, 4),
        (2, 6, 2, 4, 12),
        pytest.param(3, 3, 1, 2, 2, marks=pytest.mark.slow),
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
    for depth in (2, 3, 2):
        assert made.search(small, depth).value == search(rules, "table").search(small, depth).value


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
        assert (small.value, small.action) == (result.value, result.action)
        assert small.statistics == result.statistics
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


@pytest.mark.slow
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


@pytest.mark.parametrize("nodes", with_slow([1, 50, 5000], 5000))
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


def test_it_is_found_by_name_and_refuses_other_problems_and_depths() -> None:
    made = registry().build(BELIEF_SEARCH, "rbc-compiled", problem(), values={"bounds": "table"})
    assert isinstance(made, RbcCompiledSearch)
    with pytest.raises(UnsuitableGameError, match="recursive"):
        RbcCompiledSearch(object())
    with pytest.raises(ValueError, match="1 to 3"):
        made.search(some_roots()[0], 4)
