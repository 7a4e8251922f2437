"""Searches of small games: all arms agree, and what is claimed to be won is won."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

import miai
from miai.beliefs import BeliefSearch, Root, named_bounds
from miai.testing import check_agent
from miai_miniblind.mini_rbc import MiniRbc, MiniRbcProblem
from miai_miniblind.roots import random_roots, won_roots
from miai_miniblind.sub_hunt import SubHuntProblem


def wins(search: BeliefSearch[Any], public: Any, hidden: frozenset[int], depth: int) -> bool:
    """Return whether the actions that a search names win against every reply there is."""
    if depth == 0:
        return False
    result = search.search(Root(public, tuple(sorted(hidden))), depth, deepening=True)
    if result.value < search.problem.greatest:
        return False
    parts: dict[Hashable, set[int]] = {}
    for state in hidden:
        for reply in search.problem.replies(public, state, result.action):
            if not reply.ends:
                parts.setdefault(reply.observation, set()).add(reply.hidden)
            elif reply.value < search.problem.greatest:
                return False
    left = result.depth - search.problem.cost(public, result.action)
    return all(
        wins(search, search.problem.after(public, result.action, output), frozenset(part), left)
        for output, part in parts.items()
    )


@pytest.mark.parametrize("arm", ["table", "cores"])
def test_every_root_that_is_claimed_is_won_against_an_omniscient_opponent(arm: str) -> None:
    cases: list[tuple[Any, int]] = [(MiniRbcProblem(4, 2), 3), (SubHuntProblem(5, 1, 1), 2)]
    for problem, depth in cases:
        search: BeliefSearch[Any] = BeliefSearch(problem, named_bounds(arm))
        for root in won_roots(problem, 4, depth=depth, seed=2):
            assert wins(search, root.public, frozenset(root.hidden), depth)


@pytest.mark.slow
def test_the_agent_wins_won_roots_whatever_the_opponent_does() -> None:
    problem = MiniRbcProblem(4, 2)
    for number, root in enumerate(won_roots(problem, 3, depth=3, seed=2)):
        game = MiniRbc.from_root(problem, root)
        for seed in range(4):
            ours = miai.make_agent("belief-minimax", game, depth=3, nodes=None)
            theirs = miai.make_agent("random", game, seed=seed)
            record = miai.play(game, [ours, theirs], seed=10 * number + seed)
            assert record.returns[0] == 1.0
            assert sum(m.actor == 0 and not m.text.startswith("sense") for m in record.moves) <= 3


@pytest.mark.parametrize(
    ("game", "given"), [("mini_rbc", {"size": 4, "window": 2}), ("kuhn_poker", {})]
)
def test_the_agent_keeps_the_contract_of_agents(game: str, given: dict[str, Any]) -> None:
    def make(loaded: miai.Game) -> miai.Agent:
        return miai.make_agent("belief-minimax", loaded, depth=1, nodes=300)

    assert check_agent(make, miai.load_game(game, **given), games=2).games >= 2


def test_a_budget_of_nodes_is_kept_and_deepens() -> None:
    problem = MiniRbcProblem(4, 2, graded=True)
    root = random_roots(problem, 1, seed=4)[0]
    search = BeliefSearch(problem, named_bounds("cores"))
    little = search.search(root, 4, max_nodes=500)
    assert 0 < little.depth < 4
    assert not little.complete
    assert little.statistics["nodes"] <= 501
    none_at_all = BeliefSearch(problem, named_bounds("none")).search(root, 3, max_nodes=1)
    assert (none_at_all.depth, none_at_all.action, none_at_all.complete) == (0, -1, False)


def test_an_empty_belief_has_no_root() -> None:
    problem = MiniRbcProblem(4, 2)
    public = random_roots(problem, 1, seed=4)[0].public
    with pytest.raises(ValueError, match="at least one state"):
        Root(public, ())
    with pytest.raises(ValueError, match="strictly increasing"):
        Root(public, (3, 3))
    with pytest.raises(ValueError, match="at least 1"):
        BeliefSearch(problem, named_bounds("none")).search(Root(public, (3,)), 0)
