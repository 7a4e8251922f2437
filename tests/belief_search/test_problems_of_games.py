"""Any game as a problem: against alpha-beta, and against enumeration where something is hidden."""

from __future__ import annotations

import random
from collections.abc import Hashable

import pytest
from tests.framework.broken_games import in_states
from tests.framework.histories import state_after

import miai
from miai import Game, State
from miai.beliefs import BeliefSearch, GameProblem, Root, named_bounds, search_belief
from miai.errors import UnsuitableGameError
from miai.information import EnumeratedBelief
from miai.search.alphabeta import AlphaBeta, AlphaBetaParameters
from miai_classics.kuhn_poker import KuhnPoker, KuhnPokerState


def root_of(problem: GameProblem, states: list[State]) -> Root[tuple[int, ...]]:
    return Root(problem.public(states), tuple(sorted({problem.number(s) for s in states})))


@pytest.mark.parametrize("seed", range(6))
def test_where_nothing_is_hidden_the_value_is_the_minimax_value(seed: int) -> None:
    game = miai.load_game("tic_tac_toe")
    rng, state = random.Random(seed), game.new_initial_state()
    for _ in range(3 + seed % 3):
        state.apply_action(rng.choice(state.legal_actions()))
    if state.is_terminal():
        pytest.skip("over")
    player = state.current_player()
    problem = GameProblem(game, player)
    found = search_belief(problem, root_of(problem, [state]), 9, named_bounds("table"))
    expected = AlphaBeta(game, AlphaBetaParameters(nodes=0)).search(state)
    assert found.value == expected.value


def worst_of_strategies(states: list[State], player: int, depth: int) -> float:
    """Return V_depth of a set of states of a game, from the State interface alone."""
    if depth == 0:
        return 0.0  # the middle of both games' utilities
    best = -float("inf")
    for action in states[0].legal_actions():
        worst, parts = states[0].game.max_utility(), dict[Hashable, dict[Hashable, State]]()
        stack = [(state.child(action), str(_told(state.child(action), player))) for state in states]
        while stack:
            state, output = stack.pop()
            if state.is_terminal():
                worst = min(worst, state.returns()[player])
            elif state.current_player() == player:
                parts.setdefault(output, {})[state.key()] = state
            else:
                for reply in state.legal_actions():
                    child = state.child(reply)
                    stack.append((child, output + str(_told(child, player))))
        for part in parts.values():
            worst = min(worst, worst_of_strategies(list(part.values()), player, depth - 1))
        best = max(best, worst)
    return best


def _told(state: State, player: int) -> object:
    observation = state.observation(player)
    if observation is None:
        return None
    return (observation.actor, observation.action, observation.data, observation.legal_actions)


@pytest.mark.parametrize("arm", ["none", "table", "singles", "exact", "cores", "minhash"])
@pytest.mark.parametrize("name", ["phantom_tic_tac_toe", "kuhn_poker"])
def test_where_something_is_hidden_it_is_the_value_of_the_definition(name: str, arm: str) -> None:
    game, compared = miai.load_game(name), 0
    for seed in range(5):
        rng, state = random.Random(seed), game.new_initial_state()
        beliefs = [EnumeratedBelief(game, player) for player in (0, 1)]
        for ply in range(9):
            for player, belief in enumerate(beliefs):
                if (observation := state.observation(player)) is not None:
                    belief.observe(observation)
            if state.is_terminal():
                break
            player = state.current_player()
            if player >= 0 and (name == "kuhn_poker" or len(beliefs[player]) > 1 < ply):
                worlds = list(beliefs[player])
                states = rng.sample(worlds, min(4, len(worlds)))  # any worlds are a belief
                problem = GameProblem(game, player)
                search = BeliefSearch(problem, named_bounds(arm))
                for depth in (1, 2) if name == "kuhn_poker" else (1,):
                    found = search.search(root_of(problem, states), depth)
                    assert found.value == worst_of_strategies(states, player, depth)
                    compared += 1
            state.apply_action(rng.choice(state.legal_actions()))
    assert compared > 4


class _Peeking(KuhnPokerState):
    """With the lowest card of the opponent's one may not bet: the actions tell what it holds."""

    def legal_actions(self) -> list[int]:
        legal = super().legal_actions()
        return legal[:1] if self.current_player() == 0 and self.history()[1] == 2 else legal


def test_a_game_whose_actions_depend_on_what_is_hidden_is_refused() -> None:
    game: Game = in_states(KuhnPoker, lambda game: _Peeking(game))()
    state, other = (state_after(game, 4, card) for card in (2, 3))
    problem = GameProblem(game, 0)
    with pytest.raises(UnsuitableGameError, match="depend on hidden state"):
        root_of(problem, [state, other])
