"""The agent `equilibrium`: its kernels, its gadget, and what its policies leave to exploit."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from tests.framework.histories import at, seen_by
from tests.framework.tree_games import Chance, Choice, End, TreeGame

import miai
from miai import Game
from miai.equilibria import exploitability, extract
from miai.equilibria.tree import InformationSet
from miai.errors import ParameterError, UnsuitableGameError
from miai.search.equilibrium import Equilibrium, EquilibriumParameters
from miai.search.growing_tree import GrowingTree, RootWorld, Sequences, complete_tree
from miai_openspiel.games import OpenSpielGame

ABRUPT_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"


def tree_of(game: Game, iterations: int, numbers: Sequences | None = None) -> GrowingTree:
    tree = complete_tree(game, numbers or Sequences(), 5000)
    assert tree is not None
    tree.iterate(iterations)
    return tree


def nash_conv_of(game: Game, policy_at: Callable[[InformationSet], Any]) -> float:
    """Return the NashConv of what is played at all information sets of a game."""
    tree = extract(game)
    return exploitability(tree, tree.policy_from(policy_at)).nash_conv


def nash_conv_of_agent(game: Game, **parameters: Any) -> float:
    agent = Equilibrium(game, EquilibriumParameters(iterations=200, **parameters))
    return nash_conv_of(game, lambda it: at(agent, *it.history, player=it.player).policy())


@pytest.mark.parametrize("text", ["kuhn_poker", ABRUPT_HEX])
def test_best_responses_are_those_of_the_sequence_form(text: str) -> None:
    """To policies far from an equilibrium, so that a wrong sign, player or chance weight shows."""
    game, numbers = OpenSpielGame(text), Sequences()
    tree = tree_of(game, 3, numbers)

    def policy_at(it: InformationSet) -> dict[int, float]:
        seen = seen_by(game, it.player, it.history)
        return tree.solution(it.player, reduce(numbers.extended, seen, numbers.start(it.player)))[0]

    ours = tree.best_response(0) + tree.best_response(1)
    assert ours == pytest.approx(nash_conv_of(game, policy_at), abs=1e-12)
    assert ours > 0.1


def test_the_first_iteration_is_that_of_a_calculation_by_hand() -> None:
    """The first player with the queen has passed, by 1/2, and is bet at, by 1/2, with probability
    1/12 by a jack and by a king. To fold loses 1; to call wins 2 or loses 2."""
    tree = tree_of(miai.load_game("kuhn_poker"), 1)
    node = next(n for n, state in enumerate(tree.states) if state and state.key() == "QJpb")
    edge = tree.arrays.edge[tree.arrays.member[node]]
    assert tree.arrays.total[edge : edge + 2] == pytest.approx([1 / 4, 1 / 4])
    assert tree.arrays.regret[edge : edge + 2] == pytest.approx([0, 1 / 12])


@pytest.mark.parametrize("name", ["kuhn_poker", "matching_pennies"])
def test_its_policies_are_an_equilibrium(name: str) -> None:
    """Also of players who act at once: none knows what another chooses."""
    game = miai.load_game(name, **({} if name == "kuhn_poker" else {"rounds": 1}))
    assert nash_conv_of_agent(game) < 1e-5


@pytest.mark.slow
def test_a_subgame_is_less_exploitable_than_its_evaluator_suggests() -> None:
    """Abrupt Dark Hex 2 does not fit into 300 nodes; uniform play has 0.83, `ismcts` 0.72."""
    assert nash_conv_of_agent(OpenSpielGame(ABRUPT_HEX), nodes=300) < 0.2


@pytest.mark.parametrize(("belief", "given"), [(0.9, True), (0.1, True), (0.9, False)])
def test_the_gadget_keeps_a_subgame_safe(belief: float, given: bool) -> None:
    """Kuhn poker, the second player with the queen after a bet, of a jack or a king.

    To pass instead is worth -1 to a jack and 7/6 to a king (Kuhn 1950). So only a call with
    probability 1/3 is safe, whatever the belief. Without alternatives it calls a likely jack.
    """
    numbers, start = Sequences(), miai.load_game("kuhn_poker").new_initial_state()
    roots = []
    for first, second in ((2, 3), (4, 3), (2, 4), (4, 2)):
        state = start.child(first).child(second).child(1)
        known = tuple(numbers.start(p, state.information_state_string(p)) for p in (0, 1))
        mine = (belief if first == 2 else 1 - belief) if second == 3 else 0.0
        pays = (-1.0 if first == 2 else 7 / 6) if given else None
        roots.append(RootWorld(state, (known[0], known[1]), mine, share=2.0, alternative=pays))
    tree = GrowingTree(numbers)
    tree.begin_subgame(roots, opponent=0)
    while tree.grow(np.full(8, 0.3), 0, 1.0):
        tree.iterate(1)
    likely = [(belief + 0.5) / 4, (1.5 - belief) / 4]
    assert tree.arrays.chance[1:5].tolist() == pytest.approx(likely * 2)
    tree.iterate(3000)
    calls = tree.solution(1, roots[0].sequences[1])[0][1]
    assert calls == pytest.approx(1 / 3 if given else 1, abs=0.02)


def test_chance_has_its_probabilities() -> None:
    risk = Chance((0.8, 0.2), (End((1.0, -1.0)), End((-1.0, 1.0))))
    tree = tree_of(TreeGame(Choice(0, (risk, End((0.5, -0.5))))), 300)
    assert tree.best_response(0) == pytest.approx(0.6) == -tree.best_response(1)


def test_alternatives_are_values_of_best_responses() -> None:
    """Given each card in Kuhn poker; their mean is the value of the best response."""
    tree = tree_of(miai.load_game("kuhn_poker"), 5)
    for player in (0, 1):
        values = tree.response_values(player)
        cards = {
            int(tree.sequences[node, player])
            for node, state in enumerate(tree.states)
            if state is not None and len(state.history()) == 2
        }
        assert len(cards) == 3
        mean = sum(values[number] for number in cards) / 3
        assert mean == pytest.approx(tree.best_response(player), abs=1e-12)


def test_a_subgame_has_the_worlds_that_the_opponent_considers_possible() -> None:
    """All histories of two moves which it cannot tell from one of ours, by our policy."""
    game = miai.load_game("phantom_tic_tac_toe")
    agent = Equilibrium(game, EquilibriumParameters(iterations=300))
    policy = at(agent, player=0).policy() or {}
    at(agent, 4, 0, player=0)
    roots = list(agent.roots(math.inf))
    ours = {r.state.information_state_string(1) for r in roots if r.belief > 0}
    start, expected = game.new_initial_state(), {}
    for first in range(9):
        stack = [start.child(first)]
        while stack:
            state = stack.pop()
            if state.current_player() == 1:
                stack += [state.child(action) for action in state.legal_actions()]
            elif state.information_state_string(1) in ours:
                expected[state.key()] = 0.98 * policy.get(first, 0.0) + 0.02 / 9
    assert {r.state.key() for r in roots} == set(expected)
    assert len(roots) > len({r.state.key() for r in roots if r.belief > 0}) == 16
    for text in ours:
        group = [r for r in roots if r.state.information_state_string(1) == text]
        total = sum(expected[r.state.key()] for r in group)
        for root in group:
            assert root.share == pytest.approx(expected[root.state.key()] / total)
        assert len({root.alternative for root in group}) == 1
    assert sum(root.alternative is not None for root in roots) > len(roots) / 2


def test_a_tree_from_a_sample_of_worlds_is_not_used_again() -> None:
    """Here no world of it explains the next observation, and others are drawn."""
    game, few = miai.load_game("phantom_tic_tac_toe"), {"limit": 2, "attempts": 9}
    agent = miai.make_agent(
        "equilibrium", game, iterations=1, belief="sampled", belief_parameters=few
    )
    record = miai.play(game, [agent, miai.make_agent("random", game)], seed=17)
    assert record.detail == "draw"


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsuitableGameError, match="3 players"):
        Equilibrium(miai.load_game("goofspiel", players=3))
    with pytest.raises(ParameterError, match="iterations = 0 needs a budget in seconds"):
        miai.make_agent("equilibrium", miai.load_game("kuhn_poker"), iterations=0)
