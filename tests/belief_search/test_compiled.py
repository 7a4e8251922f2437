"""The compiled search: its values are those of the definition and of the search in Python.

Its tests are slow ones: the kernel, which no others call, compiles for a quarter of a minute.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief_search.random_problems import STATES, RandomProblem, value_by_definition
from tests.seeds import seed_of_test
from tests.slow import with_slow

from miai.api import load_game
from miai.beliefs import BeliefSearch, GameProblem, Reply, Root, named_bounds
from miai.beliefs.compiled_search import RULES, CompiledSearch
from miai.beliefs.deepening import Window
from miai.beliefs.kernels.layout import CHUNK_SIZE
from miai.beliefs.problem import SymmetricProblem
from miai.errors import ParameterError, UnsuitableGameError
from miai.plugins.loader import registry
from miai_miniblind.mini_rbc import MiniRbcProblem
from miai_miniblind.phantom_lines import PhantomLinesProblem, PhantomPublic
from miai_miniblind.sub_hunt import SubHuntProblem

RIGHT = ("none", "table", "singles", "exact", "cores", "minhash")
beliefs = st.sets(st.integers(0, STATES - 1), min_size=1).map(lambda found: tuple(sorted(found)))


def compiled(problem: Any, arm: str, **more: Any) -> CompiledSearch[Any]:
    """Return the compiled search by its registered names."""
    component = registry().get("belief-search", "compiled")
    found: CompiledSearch[Any] = component.build(problem, values={"bounds": arm, **more})
    return found


def interpreted(problem: Any, arm: str, **more: Any) -> BeliefSearch[Any]:
    return BeliefSearch(problem, named_bounds(arm), **more)


OTHERS: list[tuple[Any, str]] = [(compiled, arm) for arm in RIGHT]
OTHERS += [(interpreted, arm) for arm in ("none", "table", "minhash", "reference-minhash")]


@pytest.mark.parametrize("window", ["alpha-beta", "null"])
@pytest.mark.parametrize(
    ("make", "arm"),
    [
        *((interpreted, arm) for arm in ("singles", "exact", "cores")),
        *with_slow(OTHERS, *OTHERS),
    ],
)
@given(st.integers(0, 10**6), st.booleans(), st.lists(beliefs, min_size=1, max_size=5), st.data())
@settings(max_examples=10, deadline=None)
def test_every_arm_finds_the_value_of_the_definition(
    make: Callable[..., Any],
    arm: str,
    window: Window,
    seed: int,
    reachability: bool,
    roots: list[tuple[int, ...]],
    data: st.DataObject,
) -> None:
    """Several roots share what is remembered; the action guarantees the value."""
    problem = RandomProblem(seed, reachability=reachability)
    search = make(problem, arm, window=window, adaptive=data.draw(st.booleans()))
    deepening = data.draw(st.booleans())
    for hidden in roots:
        depth = data.draw(st.integers(1, 3))
        root = Root((data.draw(st.integers(0, 1)), 0), hidden)
        found = search.search(root, depth, deepening=deepening)
        depths = range(1 if deepening else depth, depth + 1)
        values = [value_by_definition(problem, root.public, frozenset(hidden), d) for d in depths]
        won = problem.greatest if reachability else float("inf")
        assert found.value == values[-1]
        wins = [d for d, value in zip(depths, values, strict=True) if value >= won]
        assert found.depth == [*wins, depth][0]
        assert found.complete
        assert found.line[0][0] == found.action in problem.actions(root.public)
        exact: BeliefSearch[Any] = BeliefSearch(problem, named_bounds("none"))
        assert exact.guarantees(root, found.action, found.depth) == found.value
        assert search.guarantees(root, found.action, found.depth) == found.value


SMALL: dict[str, tuple[Any, str, int]] = {
    "krk4": (MiniRbcProblem(4, 2), "hard", 3),
    "krk5": (MiniRbcProblem(5, 3), "hard", 3),
    "krk5 random": (MiniRbcProblem(5, 3), "random", 2),
    "krk4 graded": (MiniRbcProblem(4, 2, graded=True), "random", 2),
    "krk4 with a decoy": (MiniRbcProblem(4, 2, decoy=True), "random", 2),
    "krk4 with a decoy, graded": (MiniRbcProblem(4, 2, decoy=True, graded=True), "random", 1),
    "phantom": (PhantomLinesProblem(), "random", 2),
    "phantom 3x4": (PhantomLinesProblem(4), "random", 1),
    "hunt": (SubHuntProblem(6, 1, 2), "hard", 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("game", SMALL)
def test_small_games_have_the_values_of_plain_alpha_beta_in_python(game: str) -> None:
    problem, kind, depth = SMALL[game]
    roots = problem.roots(kind, 1, depth=depth, seed=5)
    plain = [BeliefSearch(problem, named_bounds("table")).search(root, depth) for root in roots]
    for arm, window in zip(RIGHT[1:], itertools.cycle(("alpha-beta", "null")), strict=False):
        warm = compiled(problem, arm, window=window)
        for root, expected in zip(roots, plain, strict=True):
            assert warm.search(root, depth).value == expected.value
            cold = compiled(problem, arm, window=window)
            found = cold.search(root, depth)
            assert found.value == expected.value
            assert cold.guarantees(root, found.action, depth) == expected.value


@pytest.mark.slow
@pytest.mark.parametrize("game", SMALL)
@pytest.mark.parametrize("kind", ["random", "hard"])
@pytest.mark.parametrize("count", [5, pytest.param(30, marks=pytest.mark.soak)])
def test_every_right_arm_equals_alpha_beta_on_every_root(game: str, kind: str, count: int) -> None:
    """Some roots of each class; what one root left is used, rightly, by the next."""
    problem, _, depth = SMALL[game]
    seed = seed_of_test()
    roots = problem.roots(kind, count, depth=depth, seed=seed)
    warm = {arm: compiled(problem, arm) for arm in RIGHT[1:]}
    together = {"bounds_parameters": {"singles": False}, "adaptive": True}
    warm["cores, together"] = compiled(problem, "cores", **together)
    for root in roots:
        plain = compiled(problem, "none", window="alpha-beta").search(root, depth)
        for arm, search in warm.items():
            found = search.search(root, depth)
            assert found.value == plain.value, (arm, root)
            assert search.guarantees(root, found.action, depth) == plain.value, (arm, root)


@pytest.mark.slow
def test_cores_save_what_they_are_made_for() -> None:
    """Nodes of hard roots, the same in every run: 26 thousand for `cores`, 319 for `exact`."""
    problem = MiniRbcProblem(5, 3)
    roots = problem.roots("hard", 6, depth=4, seed=5)
    nodes = {
        arm: sum(compiled(problem, arm).search(root, 4).statistics["nodes"] for root in roots)
        for arm in ("table", "exact", "cores")
    }
    assert nodes["cores"] * 10 < nodes["exact"]
    assert nodes["exact"] * 2 < nodes["table"]


@pytest.mark.slow
@pytest.mark.parametrize("arm", RIGHT[1:])
def test_what_is_remembered_is_found_again(arm: str) -> None:
    problem = PhantomLinesProblem()
    search, root = compiled(problem, arm), problem.roots("random", 1, depth=2, seed=5)[0]
    first, again = (search.search(root, 2).statistics for _ in range(2))
    assert 2 * again["nodes"] < first["nodes"]


@pytest.mark.slow
@pytest.mark.parametrize("verified", [True, False])
def test_a_limit_without_room_is_refused_with_one_that_has_room(*, verified: bool) -> None:
    problem = PhantomLinesProblem()
    root = problem.roots("random", 1, depth=2, seed=2)[0]

    def search(limit: int) -> float:
        given_room = {"limit": limit, "retention": "none", "k": 256, "verified": verified}
        return compiled(problem, "minhash", bounds_parameters=given_room).search(root, 2).value

    with pytest.raises(ParameterError, match="use at least") as refusal:
        search(4096)
    enough = int(str(refusal.value).split()[-1])
    assert search(enough) == compiled(problem, "none").search(root, 2).value
    with pytest.raises(ParameterError, match=f"use at least {enough}"):
        search(enough - 1)


@pytest.mark.slow
def test_phantom_tic_tac_toe_is_the_draw_that_tic_tac_toe_is() -> None:
    """Hiding marks gives nothing, so the known draw bounds it; a sense each turn holds it."""
    problem, root = PhantomLinesProblem(), Root(PhantomPublic(), (0,))
    for arm in RIGHT[1:]:
        assert compiled(problem, arm).search(root, 5).value == 0.0


@pytest.mark.soak
def test_phantom_tic_tac_toe_of_three_by_four_is_the_win_that_the_open_game_is() -> None:
    """The (4, 3, 3) game is won by the first player; with a sense each turn so is this one."""
    problem, root = PhantomLinesProblem(4), Root(PhantomPublic(), (0,))
    assert compiled(problem, "cores").search(root, 3).value == 0.0
    assert compiled(problem, "cores").search(root, 4).value == 1.0


def entries(search: CompiledSearch[Any]) -> Iterator[tuple[Root[Any], int, int, float]]:
    """Yield every remembered belief, its depth, 0 for a lower or 1 for an upper bound, and it."""
    tables, memory = search.tables, search.memory
    assert memory is not None
    size = int(memory.traits[CHUNK_SIZE])
    for public, remaining in np.argwhere(memory.spots > 0).tolist():
        heads = memory.heads[memory.spots[public, remaining] - 1]
        for side, chunk in enumerate(heads.tolist()):
            while chunk >= 0:
                for entry in range(chunk * size, chunk * size + int(memory.counts[chunk])):
                    belief = tables.root(public, memory.masks[entry])
                    yield belief, remaining, side, float(memory.values[entry, 0])
                chunk = int(memory.nexts[chunk])


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["exact", "cores", "minhash"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_remembered_result_is_true(arm: str, seed: int) -> None:
    """Every bound of every chain, proved again by a search that remembers nothing."""
    problem = MiniRbcProblem(4, 2, graded=seed == 2)
    depth = 3 if problem.reachability else 2
    search = compiled(problem, arm, window="null")
    for root in problem.roots("random" if seed == 2 else "hard", 4, depth=depth, seed=seed):
        search.search(root, depth)
    assert check_entries(search, problem, every=5) > 20


def check_entries(search: CompiledSearch[Any], problem: Any, *, every: int) -> int:
    """Prove some remembered bounds again; return how many."""
    proofs: BeliefSearch[Any] = BeliefSearch(problem, named_bounds("table"))
    remembered = list(entries(search))[::every]
    for belief, remaining, side, bound in remembered:
        true = proofs.search(belief, remaining).value
        assert true >= bound if side == 0 else true <= bound
    return len(remembered)


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["table", "exact", "cores", "minhash"])
def test_a_memory_that_is_full_loses_speed_alone(arm: str) -> None:
    problem = PhantomLinesProblem()
    root = problem.roots("random", 2, depth=3, seed=3)[1]
    free = compiled(problem, arm).search(root, 3)
    given_room = {"limit": 16384, "retention": "none"}
    full = compiled(problem, arm, bounds_parameters=given_room).search(root, 3)
    assert full.value == free.value
    assert full.statistics["bounds_lost"] > 0
    assert full.statistics["bounds_bytes"] <= 16384
    assert full.statistics["nodes"] > free.statistics["nodes"]


@pytest.mark.slow
def test_a_budget_ends_a_search_with_what_the_last_whole_depth_said() -> None:
    problem = MiniRbcProblem(5, 3, graded=True)
    root = problem.roots("random", 1, depth=1, seed=2)[0]
    search = compiled(problem, "table")
    first = compiled(problem, "table").search(root, 1)
    cut = search.search(root, 5, max_nodes=first.statistics["nodes"] + 5)
    assert (cut.depth, cut.complete, cut.value) == (1, False, first.value)
    timed = compiled(problem, "none").search(root, 5, seconds=0.2)
    assert timed.complete is False
    assert timed.depth < 5
    again = search.search(root, 2)
    assert again.value == compiled(problem, "exact").search(root, 2).value


@pytest.mark.slow
def test_problems_and_policies_that_the_kernel_lacks_are_refused() -> None:
    kuhn = GameProblem(load_game("kuhn_poker"), 0)
    with pytest.raises(UnsuitableGameError, match="use the search 'recursive'"):
        compiled(kuhn, "cores").search(Root((0, 1), (0,)), 1)
    problem = MiniRbcProblem(4, 2)
    with pytest.raises(ParameterError, match="and none of a table"):
        compiled(problem, "table", bounds_parameters={"limit": 10**6})
    small = CompiledSearch(problem, replace(RULES["minhash"], k=10_000), limit=4096)
    with pytest.raises(ParameterError, match="no room"):
        small.search(problem.roots("random", 1, depth=1, seed=1)[0], 1)
    for arm, retention in (("exact", "lru"), ("table", "count-sketch"), ("exact", "space-saving")):
        with pytest.raises(ParameterError, match="'count-sketch' only"):
            compiled(problem, arm, bounds_parameters={"limit": 10**6, "retention": retention})


# -- enumeration ----------------------------------------------------------------------------------


class CountedProblem(PhantomLinesProblem):
    """Counts what a search asks of the problem, and can take its time to answer."""

    def __init__(self, columns: int = 3, *, pause: float = 0.0) -> None:
        super().__init__(columns)
        self.asked: Counter[tuple[object, ...]] = Counter()
        self.pause = pause

    def replies(self, public: PhantomPublic, hidden: int, action: int) -> Sequence[Reply]:
        """Count the question."""
        self.asked[public, hidden, action] += 1
        time.sleep(self.pause)
        return super().replies(public, hidden, action)

    def evaluate(self, public: PhantomPublic, hidden: int) -> float:
        """Count the question."""
        self.asked[public, hidden] += 1
        return super().evaluate(public, hidden)


@pytest.mark.slow
def test_the_deadline_holds_while_the_game_is_enumerated() -> None:
    """Each answer takes a millisecond, so the whole game would take minutes."""
    problem = CountedProblem(4, pause=0.001)
    root = problem.roots("random", 1, depth=4, seed=1)[0]
    compiled(PhantomLinesProblem(), "cores").search(Root(PhantomPublic(), (0,)), 1)  # compiles
    began = time.monotonic()
    found = compiled(problem, "cores").search(root, 6, seconds=0.3)
    assert not found.complete
    assert time.monotonic() - began < 20.0


@pytest.mark.slow
@given(
    st.integers(0, 10**6),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(RIGHT), beliefs, st.integers(1, 3)), max_size=4),
    st.sampled_from(RIGHT),
    beliefs,
)
@settings(max_examples=25, deadline=None)
def test_what_was_enumerated_before_changes_no_search(
    seed: int,
    reachability: bool,
    earlier: list[tuple[str, tuple[int, ...], int]],
    arm: str,
    hidden: tuple[int, ...],
) -> None:
    root = Root((0, 0), hidden)
    fresh = RandomProblem(seed, reachability=reachability)
    expected = compiled(fresh, arm).search(root, 3)
    assert expected.value == value_by_definition(fresh, (0, 0), frozenset(hidden), 3)
    used = RandomProblem(seed, reachability=reachability)
    for other, states, depth in earlier:
        compiled(used, other).search(Root((0, 0), states), depth)
    found = compiled(used, arm).search(root, 3)
    assert (found.value, found.action) == (expected.value, expected.action)
    left_out = {"enumerated": 0}
    assert {**found.statistics, **left_out} == {**expected.statistics, **left_out}
    assert compiled(used, arm).search(root, 3).statistics["enumerated"] == 0


@pytest.mark.slow
def test_a_budget_of_nodes_that_ends_between_enumerations_leaves_the_search_usable() -> None:
    problem = MiniRbcProblem(4, 2)
    root = problem.roots("hard", 1, depth=3, seed=1)[0]
    search = compiled(problem, "cores")
    for nodes in range(1, 60, 7):
        assert search.search(root, 3, max_nodes=nodes).statistics["nodes"] <= nodes + 1
    expected = BeliefSearch(problem, named_bounds("table")).search(root, 3)
    assert search.search(root, 3).value == expected.value


# -- symmetries -----------------------------------------------------------------------------------

SYMMETRIC = [name for name in SMALL if name != "hunt"]


@pytest.mark.slow
@pytest.mark.parametrize("game", SYMMETRIC)
def test_symmetries_change_no_value(game: str) -> None:
    problem, kind, depth = SMALL[game]
    for root in problem.roots(kind, 4, depth=depth, seed=seed_of_test()):
        expected = compiled(problem, "table").search(root, depth).value
        for arm in ("table", "cores", "minhash"):
            search = compiled(problem, arm, symmetries=True)
            found = search.search(root, depth)
            assert found.value == expected
            assert compiled(problem, "table").guarantees(root, found.action, depth) == expected


@pytest.mark.slow
@pytest.mark.parametrize("game", SYMMETRIC)
def test_a_canonical_form_has_the_same_states_actions_and_outcomes(game: str) -> None:
    problem, kind, depth = SMALL[game]
    assert isinstance(SMALL[game][0], SymmetricProblem)
    rng = random.Random(seed_of_test())
    for root in problem.roots(kind, 10, depth=depth, seed=rng.randrange(10**6)):
        public = root.public
        for _ in range(4):
            whole, image = problem.canonical(public)
            assert problem.canonical(whole)[0] == whole
            states = sorted(problem.universe(public))
            assert sorted(map(image, states)) == sorted(problem.universe(whole))
            assert len(problem.actions(public)) == len(problem.actions(whole))
            hidden = rng.choice(states)
            assert problem.evaluate(public, hidden) == problem.evaluate(whole, image(hidden))
            assert outcomes(problem, public, hidden) == outcomes(problem, whole, image(hidden))
            replies = [
                (action, reply)
                for action in problem.actions(public)
                for reply in problem.replies(public, hidden, action)
                if not reply.ends
            ]
            if not replies:
                break
            action, reply = rng.choice(replies)
            public = problem.after(public, action, reply.observation)


def outcomes(problem: Any, public: Any, hidden: int) -> Counter[object]:
    """Return what each action can lead to, up to symmetry, however actions are numbered."""
    found: Counter[object] = Counter()
    for action in problem.actions(public):
        ends, states = [], []
        for reply in problem.replies(public, hidden, action):
            if reply.ends:
                ends.append(reply.value)
            else:
                after = problem.after(public, action, reply.observation)
                states.append(problem.canonical(after)[0])
        found[tuple(sorted(ends)), tuple(sorted(states))] += 1
    return found


# -- retention ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arm", "parameters"),
    [("exact", {}), ("cores", {}), ("minhash", {}), ("minhash", {"verified": False})],
    ids=["exact", "cores", "minhash", "sketches alone"],
)
def test_rare_entries_are_forgotten_the_rest_is_true(arm: str, parameters: dict[str, Any]) -> None:
    """Fewer nodes are needed than if the first entries are kept."""
    problem = PhantomLinesProblem()
    roots = problem.roots("random", 4, depth=3, seed=3)
    nodes = {}
    for retention in ("none", "count-sketch"):
        given_room = {"limit": 16384, "retention": retention, **parameters}
        search = compiled(problem, arm, bounds_parameters=given_room)
        counts = [search.search(root, 3).statistics for root in roots]
        nodes[retention] = sum(count["nodes"] for count in counts)
        assert counts[-1]["bounds_bytes"] <= 16384
    assert counts[-1]["bounds_forgotten"] > 100
    assert counts[-1]["bounds_lost"] == 0
    assert nodes["count-sketch"] < nodes["none"]
    if not parameters:
        check_entries(search, problem, every=20)


@pytest.mark.slow
def test_the_pair_of_sketches_needs_no_sets() -> None:
    """Resemblance decides what bounds what, and a Count-Sketch what is retained."""
    problem = MiniRbcProblem(4, 2)
    roots = problem.roots("hard", 12, depth=3, seed=1)
    given_room: dict[str, Any] = {"k": 4, "threshold": 0.7, "verified": False}
    given_room |= {"limit": 16384, "retention": "count-sketch"}
    wrong = 0
    for root in roots:
        found = compiled(problem, "minhash", bounds_parameters=given_room).search(root, 3)
        wrong += found.value != compiled(problem, "table").search(root, 3).value
        assert 0 < found.statistics["bounds_bytes"] <= 16384
        assert found.statistics["bounds_bytes"] == found.statistics["bounds_entries"] * 8 * (4 + 4)
    assert wrong > 0
