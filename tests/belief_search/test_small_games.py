"""Searches of small games: roots that are claimed to be won are won, and budgets are kept."""

from __future__ import annotations

import pytest

import miai
from miai.beliefs import BeliefSearch, Root, named_bounds
from miai_miniblind.mini_rbc import MiniRbc, MiniRbcProblem
from miai_miniblind.roots import random_roots, won_roots


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
