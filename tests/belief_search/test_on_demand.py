"""The compiled search enumerates a game as it meets it, within its deadline, once for all searches.

Symmetries, and the retention of entries by a Count-Sketch, are tested here too.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief_search.random_problems import RandomProblem, value_by_definition
from tests.belief_search.test_compiled import SMALL, beliefs, compiled, entries
from tests.seeds import seed_of_test

from miai.beliefs import BeliefSearch, Reply, Root, named_bounds
from miai.beliefs.problem import SymmetricProblem
from miai.errors import ParameterError
from miai_miniblind.mini_rbc import MiniRbcProblem
from miai_miniblind.phantom_lines import PhantomLinesProblem, PhantomPublic

ARMS = ("none", "table", "singles", "exact", "cores", "minhash")

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
    st.lists(st.tuples(st.sampled_from(ARMS), beliefs, st.integers(1, 3)), max_size=4),
    st.sampled_from(ARMS),
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
def test_the_rarest_entries_are_forgotten_and_the_rest_stays_true(
    arm: str, parameters: dict[str, Any]
) -> None:
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
    if parameters:
        return
    remembered = list(entries(search))
    proofs: BeliefSearch[Any] = BeliefSearch(problem, named_bounds("table"))
    for belief, remaining, side, bound in remembered[::20]:
        true = proofs.search(belief, remaining).value
        assert true >= bound if side == 0 else true <= bound


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


def test_a_policy_that_the_kernel_lacks_is_refused() -> None:
    problem = PhantomLinesProblem()
    for arm, retention in (("exact", "lru"), ("table", "count-sketch"), ("exact", "space-saving")):
        with pytest.raises(ParameterError, match="'count-sketch' only"):
            compiled(problem, arm, bounds_parameters={"limit": 10**6, "retention": retention})
