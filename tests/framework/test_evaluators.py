"""Evaluators that serve any game: rollouts, zero, and which of several is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.framework.broken_games import in_states
from tests.framework.tree_games import Chance, Choice, End, Endless, EndlessState, Tree, TreeGame

import miai
from miai.plugins import builtin, loader
from miai.plugins.registry import Registry
from miai.search.evaluators import (
    Appraisal,
    Appraiser,
    RandomRollout,
    RandomRolloutParameters,
    ZeroEvaluator,
    make_evaluator,
    uniform_prior,
)
from miai.search.mcts import Mcts, MctsParameters
from miai.search.protocol import Evaluator, InPlaceEvaluator, Seedable

TREE = Choice(
    0,
    (
        End((1.0, -1.0)),
        Chance((1.0, 3.0), (End((1.0, -1.0)), Choice(1, (End((0.0, 0.0)), End((-1.0, 1.0)))))),
        Choice(0, (End((-1.0, 1.0)), End((0.5, -0.5)), End((-1.0, 1.0)))),
    ),
)


def at_random(tree: Tree) -> float:
    """Return what player 0 may expect when everybody plays at random."""
    if isinstance(tree, End):
        return tree.returns[0]
    weights = tree.weights if isinstance(tree, Chance) else (1.0,) * len(tree.children)
    values = [at_random(child) for child in tree.children]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


@pytest.mark.slow
def test_rollouts_tend_to_the_value_of_random_play() -> None:
    game = TreeGame(TREE)
    evaluator = RandomRollout(game, RandomRolloutParameters(rollouts=20_000))
    evaluator.seed(1)
    (value,) = evaluator.evaluate([game.new_initial_state()])
    # Three standard errors of utilities within 1 are at most 3 / sqrt(20000) = 0.021.
    assert value == pytest.approx([at_random(TREE), -at_random(TREE)], abs=0.022)


def test_a_batch_has_a_row_for_each_state_and_leaves_the_states_alone() -> None:
    game = TreeGame(TREE)
    start = game.new_initial_state()
    states = [start, start.child(2), start.child(1).child(1)]
    for evaluator in (RandomRollout(game), ZeroEvaluator(game)):
        values = evaluator.evaluate(states)
        assert values.shape == (3, 2)
        assert values.dtype == np.float64
        assert [state.history() for state in states] == [[], [2], [1, 1]]
        assert [list(prior) for prior in evaluator.prior(states)] == [
            pytest.approx([1 / 3] * 3),
            pytest.approx([1 / 3] * 3),
            [0.5, 0.5],
        ]
        assert isinstance(evaluator, Evaluator)


def test_a_seed_settles_the_rollouts_and_in_place_is_the_same() -> None:
    game = Endless()
    states = [game.new_initial_state().child(action) for action in range(4)]
    evaluator = RandomRollout(game, RandomRolloutParameters(rollouts=5))
    assert isinstance(evaluator, Seedable)
    assert isinstance(evaluator, InPlaceEvaluator)
    evaluator.seed(3)
    first = evaluator.evaluate(states)
    evaluator.seed(3)
    assert (evaluator.evaluate(states) == first).all()
    evaluator.seed(4)
    assert (evaluator.evaluate(states) != first).any()
    evaluator.seed(3)
    assert (evaluator.evaluate_in_place(states) == first).all()
    assert all(state.is_terminal() for state in states)


def test_rollouts_stop_at_the_limit_with_truncated_returns() -> None:
    class WatchedState(EndlessState):
        def truncated_returns(self) -> tuple[float, ...]:
            lengths.append(self.move_number())
            return (0.75, -0.75)

    lengths: list[int] = []
    game = in_states(Endless, lambda game: WatchedState(game))()
    evaluator = RandomRollout(game, RandomRolloutParameters(rollouts=2, max_plies=7))
    assert evaluator.evaluate([game.new_initial_state().child(0)]).tolist() == [[0.75, -0.75]]
    assert lengths == [8, 8]


def test_zero_shares_the_utility_sum() -> None:
    for total, expected in ((0.0, 0.0), (1.0, 0.5), (None, 0.0)):
        game = TreeGame(TREE, utility_sum=total)
        assert ZeroEvaluator(game).evaluate([game.new_initial_state()]).tolist() == [[expected] * 2]


class Own:
    """A game's own rollout, compiled as it were."""

    def __init__(self, game: miai.Game, parameters: Any) -> None:
        self.seeds: list[int] = []

    def seed(self, seed: int) -> None:
        self.seeds.append(seed)

    def evaluate(self, states: Sequence[miai.State]) -> NDArray[np.float64]:
        return np.zeros((len(states), 2))

    def prior(self, states: Sequence[miai.State]) -> list[NDArray[np.float64]]:
        return uniform_prior(states)


def test_a_game_may_bring_its_own_evaluator_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    builtin.miai_register(registry)
    registry.add("evaluator", "random-rollout", Own, summary="compiled", game="tree")
    monkeypatch.setattr(loader, "registry", lambda: registry)
    game = TreeGame(TREE)
    assert isinstance(make_evaluator("random-rollout", game, {}, search="mcts"), Own)
    assert isinstance(make_evaluator("random-rollout", Endless(), {}, search="mcts"), RandomRollout)
    assert isinstance(make_evaluator("zero", game, {}, search="mcts"), ZeroEvaluator)


def test_a_search_seeds_its_evaluator_for_each_game() -> None:
    game = TreeGame(TREE)
    evaluator = Own(game, None)
    search = Mcts(game, MctsParameters(), evaluator=evaluator)
    evaluator.seeds.clear()
    for seed in (1, 2, 1):
        search.new_game(seed)
    first, second, third = evaluator.seeds
    assert first == third != second


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [("search", "alpha-beta", {"nodes": 0}), ("evaluator", "random-rollout", {})],
)
@pytest.mark.parametrize("mover", [0, 1])
def test_an_advantage_is_the_first_player_s_whoever_moves(
    kind: Appraisal, name: str, values: dict[str, Any], mover: int
) -> None:
    """Every line gives 3 of 4 points to the first player, which is one more than half."""
    tree = Choice(mover, (End((3.0, 1.0)), Choice(1 - mover, (End((3.0, 1.0)),))))
    game = TreeGame(tree, utility_sum=4.0, bounds=(0.0, 4.0))
    appraiser = Appraiser(game, kind, name, values)
    assert appraiser.advantage(game.new_initial_state(), seed=1) == 1.0


@pytest.mark.parametrize("rollouts", [2, 3, 7])
def test_several_rollouts_are_the_mean_of_single_ones(rollouts: int) -> None:
    game = miai.load_game("tic_tac_toe")
    state = game.new_initial_state()
    single = RandomRollout(game, RandomRolloutParameters(rollouts=1))
    several = RandomRollout(game, RandomRolloutParameters(rollouts=rollouts))
    for seed in range(20):
        single.seed(seed)
        several.seed(seed)
        one_by_one = [single.evaluate([state])[0] for _ in range(rollouts)]
        assert np.allclose(several.evaluate([state])[0], np.mean(one_by_one, axis=0))
