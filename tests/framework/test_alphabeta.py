"""Alpha-beta against brute force, on whole games and on random trees."""

from __future__ import annotations

import time
from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.framework.histories import TTT
from tests.framework.tree_games import (
    LOSS,
    WIN,
    Chance,
    Choice,
    DiceRace,
    End,
    Endless,
    EstimateEvaluator,
    TreeGame,
    TreeState,
    estimate,
    expectiminimax,
    minimax,
    states_of,
    zero_sum_trees,
)

import miai
from miai.errors import UnsuitableGameError
from miai.search.alphabeta import (
    AlphaBeta,
    AlphaBetaParameters,
    Bound,
    TableEntry,
    TranspositionTable,
)
from miai.search.evaluators import RandomRollout
from miai.search.protocol import SearchResult


def for_mover(value: float, state: miai.State, total: float = 0.0) -> float:
    return value if state.current_player() == 0 else total - value


def solve(game: miai.Game, *, table_size: int = 100_000) -> tuple[SearchResult, miai.State]:
    state = game.new_initial_state()
    search = AlphaBeta(game, AlphaBetaParameters(nodes=0), table_size=table_size)
    return search.search(state), state


# -- exact values ---------------------------------------------------------------------------------


def test_every_position_of_tic_tac_toe_has_its_exact_value() -> None:
    states, memory = states_of(TTT), dict[Hashable, float]()
    assert len(states) == 5478  # the published number of reachable positions
    search = AlphaBeta(TTT, AlphaBetaParameters(nodes=0))
    for state in states:
        if state.is_terminal():
            continue
        found = search.search(state)
        expected = for_mover(expectiminimax(state, memory), state)
        assert (found.value, found.statistics["solved"]) == (expected, True), str(state)
        assert for_mover(expectiminimax(state.child(found.action), memory), state) == expected


@pytest.mark.parametrize("bounds", [(-0.5, 1.0), (-1.0, 0.5)])
def test_a_win_is_as_large_as_the_other_player_s_loss(bounds: tuple[float, float]) -> None:
    """Whichever of the two the game bounds more tightly."""
    tree = Choice(0, (End((0.6, -0.6)), End((1.0, -1.0)), End((-1.0, 1.0))))
    found, _ = solve(TreeGame(tree, bounds=bounds))
    assert (found.action, found.value) == (1, 1.0)


def test_after_a_certain_win_no_other_move_is_searched() -> None:
    bush = Choice(1, tuple(Choice(0, (LOSS, LOSS)) for _ in range(20)))
    game = TreeGame(Choice(0, (WIN, bush)), merge=False)
    found, _ = solve(game)
    assert (found.action, found.value) == (0, 1.0)
    assert found.statistics["nodes"] == 1


def test_the_principal_variation_of_tic_tac_toe_is_best_play() -> None:
    found, state = solve(TTT)
    memory: dict[Hashable, float] = {}
    assert found.pv[0] == found.action
    for action in found.pv:
        state.apply_action(action)
        assert expectiminimax(state, memory) == 0
    assert state.is_terminal()


def test_an_immediate_win_is_taken_even_where_slower_wins_are_known() -> None:
    slow = Choice(1, (Choice(0, (WIN, LOSS)),))
    game = TreeGame(Choice(0, (slow, WIN)))
    search = AlphaBeta(game)
    search.search(game.new_initial_state().child(0).child(0))
    search.search(game.new_initial_state().child(0))
    assert search.search(game.new_initial_state()).action == 1


def test_a_lost_game_is_drawn_out() -> None:
    soon, late = Choice(1, (LOSS,)), Choice(1, (Choice(0, (Choice(1, (LOSS,)),)),))
    found, _ = solve(TreeGame(Choice(0, (soon, late))))
    assert (found.action, found.value) == (1, -1.0)


def test_every_state_of_the_dice_race_has_its_expectiminimax_value() -> None:
    game = DiceRace()
    memory: dict[Hashable, float] = {}
    search = AlphaBeta(game, AlphaBetaParameters(nodes=0))
    for state in states_of(game):
        if state.current_player() < 0:
            continue
        expected = for_mover(expectiminimax(state, memory), state)
        found = search.search(state)
        assert found.value == pytest.approx(expected, abs=1e-12), str(state)
        after = for_mover(expectiminimax(state.child(found.action), memory), state)
        assert after == pytest.approx(expected, abs=1e-12), str(state)
    assert 0 < memory[game.new_initial_state().key()] < 1  # the dice matter


@settings(max_examples=60, deadline=None)
@given(tree=zero_sum_trees(total=1.0), size=st.sampled_from([2, 8, 1000]))
def test_utilities_may_sum_to_any_constant(tree: Choice, size: int) -> None:
    game = TreeGame(tree, utility_sum=1.0, bounds=(-1.0, 2.0))
    found, state = solve(game, table_size=size)
    for part in (tree, tree.children[found.action]):
        assert found.value == pytest.approx(for_mover(minimax(part), state, 1.0), abs=1e-12)
    assert found.statistics["solved"]


# -- the horizon ----------------------------------------------------------------------------------


def looking_ahead(state: TreeState, depth: int) -> float:
    """Return the value for player 0 of looking so many plies ahead, by brute force."""
    if isinstance(state.tree, End):
        return state.tree.returns[0]
    if isinstance(state.tree, Chance):
        values = [looking_ahead(state.child(a), depth) for a in state.legal_actions()]
        weighted = zip(state.tree.weights, values, strict=True)
        return sum(w * v for w, v in weighted) / sum(state.tree.weights)
    if depth == 0:
        return estimate(state)[0]
    values = [looking_ahead(state.child(a), depth - 1) for a in state.legal_actions()]
    return max(values) if state.tree.player == 0 else min(values)


@settings(max_examples=100, deadline=None)
@given(tree=zero_sum_trees(), depth=st.integers(1, 4))
def test_a_depth_limit_gives_the_value_of_looking_so_far_ahead(tree: Choice, depth: int) -> None:
    game = TreeGame(tree, merge=False)
    state = game.new_initial_state()
    parameters = AlphaBetaParameters(nodes=0, depth=depth)
    found = AlphaBeta(game, parameters, evaluator=EstimateEvaluator()).search(state)
    expected = for_mover(looking_ahead(state, depth), state)
    assert found.value == pytest.approx(expected, abs=1e-12)


class Boaster:
    """Claims that player 0 has won, and more."""

    def evaluate(self, states: list[miai.State]) -> NDArray[np.float64]:
        return np.array([(5.0, -5.0) for _ in states])


def test_estimates_are_never_treated_as_proofs() -> None:
    game = TreeGame(Choice(0, (Choice(1, (Choice(0, (LOSS,)),)), LOSS)))
    state = game.new_initial_state()
    shallow = AlphaBeta(game, AlphaBetaParameters(depth=1), evaluator=Boaster())  # type: ignore[arg-type]
    found = shallow.search(state)
    assert not found.statistics["solved"]
    assert 0.99 < found.value < 1.0
    deep = AlphaBeta(game, evaluator=Boaster())  # type: ignore[arg-type] # no prior, none is asked for
    assert deep.search(state).value == -1.0


# -- budgets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [1, 4, 100, 1000])
def test_the_budget_of_nodes_is_kept_and_an_answer_is_there(nodes: int) -> None:
    game = Endless()
    search = AlphaBeta(game, AlphaBetaParameters(nodes=nodes), evaluator=RandomRollout(game))
    found = search.search(game.new_initial_state())
    assert found.action in range(4)
    assert int(str(found.statistics["nodes"])) <= nodes + 1  # the one that broke the budget
    assert not found.statistics["solved"]


def test_alpha_beta_looks_at_few_of_the_549946_nodes_of_tic_tac_toe() -> None:
    found, _ = solve(miai.load_game("tic_tac_toe"))
    assert int(str(found.statistics["nodes"])) < 20_000
    assert int(str(found.statistics["table_hits"])) > 100


@pytest.mark.parametrize("given", [None, 0.2])
def test_the_deadline_is_kept(given: float | None) -> None:
    game = Endless()
    search = AlphaBeta(game, AlphaBetaParameters(nodes=0, seconds=given))
    began = time.monotonic()
    found = search.search(game.new_initial_state(), seconds=0.2 if given is None else 60.0)
    assert 0.1 < time.monotonic() - began < 3.0
    assert int(str(found.statistics["depth"])) >= 2


# -- what it refuses ------------------------------------------------------------------------------


def test_games_not_two_player_constant_sum_are_refused() -> None:
    with pytest.raises(UnsuitableGameError, match="3 players"):
        AlphaBeta(Endless(players=3))
    with pytest.raises(UnsuitableGameError, match="no constant sum"):
        AlphaBeta(TreeGame(Choice(0, (End((1.0, 1.0)),)), utility_sum=None))


# -- the table ------------------------------------------------------------------------------------


@given(size=st.integers(2, 12), keys=st.lists(st.integers(0, 30), max_size=200))
def test_the_table_is_bounded_and_keeps_what_is_used(size: int, keys: list[int]) -> None:
    table = TranspositionTable(size)
    for number, key in enumerate(keys):
        table.store(key, TableEntry(number, Bound.EXACT, 0.0, None))
        assert len(table) <= size
        kept = table.get(key)
        assert kept is not None
        assert kept.depth == number
    recent = list(dict.fromkeys(reversed(keys)))[: size // 2]
    assert all(table.get(key) is not None for key in recent[:1])


def test_the_table_drops_the_longest_unused_first() -> None:
    table = TranspositionTable(4)
    for key in range(4):
        table.store(key, TableEntry(1, Bound.EXACT, 0.0, None))
    assert table.get(0) is not None  # used, so it moves up
    for key in (10, 11):
        table.store(key, TableEntry(1, Bound.EXACT, 0.0, None))
    assert table.get(0) is not None
    assert table.get(1) is None
