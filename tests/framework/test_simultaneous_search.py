"""Searches where players act at once, against equilibria that linear programs find."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Self

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray
from tests.framework.histories import at
from tests.seeds import seed_of_test

import miai
from miai import Game, GameInfo, Parameters, Player, PlayerView, SimultaneousState, State
from miai.agent import Agent, Decision
from miai.api import renderer_for
from miai.cli.people import hint_text
from miai.clock import Clock, TimeControl
from miai.errors import GameError
from miai.playing.match import play
from miai.search.mcts import JointNode, Mcts, MctsParameters
from miai.search.protocol import SimultaneousSearch
from miai.search.regret_matching import RegretMatching
from miai.testing import check_game
from miai.web.analysis import thoughts_of

PENNIES = miai.load_game("matching_pennies", rounds=1)
BIASED = miai.load_game("rock_paper_scissors", rounds=1, rock=2.0)
DILEMMA = miai.load_game("prisoners_dilemma", rounds=1)
GOOFSPIEL = {"num_cards": 3, "returns_type": "point_difference"}


def mcts(game: Game, *, seed: int = 0, simulations: int = 2000, **values: Any) -> Mcts:
    search = Mcts(game, MctsParameters(simulations=simulations, **values))
    search.new_game(seed)
    return search


def strategy_of(statistics: Any) -> list[float]:
    return [probability for _, probability in statistics["strategy"]]


# -- one decision ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "equilibrium", "value"),
    [
        (PENNIES, [0.5, 0.5], 0.0),
        # A win with rock counts 2: each choice is as likely as the win that it is not part of.
        (BIASED, [0.25, 0.5, 0.25], 0.0),
        (DILEMMA, [0.0, 1.0], 1.0),
    ],
)
@pytest.mark.parametrize("player", [0, 1])
def test_the_mean_strategy_is_the_equilibrium(
    game: Game, equilibrium: list[float], value: float, player: int
) -> None:
    search = mcts(game, seed=seed_of_test(), simulations=4000)
    result = search.search_as(game.new_initial_state(), player)
    assert strategy_of(result.statistics) == pytest.approx(equilibrium, abs=0.08)
    assert result.value == pytest.approx(value, abs=0.25)
    assert sum(result.visits.values()) == 4000


def test_the_action_is_drawn_from_the_mean_strategy() -> None:
    state = PENNIES.new_initial_state()
    chosen = [
        mcts(PENNIES, seed=seed, simulations=50).search_as(state, 0).action for seed in range(60)
    ]
    assert 15 < sum(chosen) < 45
    result = mcts(PENNIES, seed=1, simulations=50).search_as(state, 0)
    assert list((result.policy or {}).values()) == pytest.approx(
        strategy_of(result.statistics), abs=1e-4
    )
    again = [mcts(PENNIES, seed=seed, simulations=50).search_as(state, 0).action for seed in (1, 2)]
    assert again == chosen[1:3]


@pytest.mark.parametrize(("name", "values"), [("ismcts", {}), ("pimc", {"worlds": 2})])
@pytest.mark.parametrize("player", [0, 1])
def test_searches_over_worlds_find_it_too(name: str, values: dict[str, Any], player: int) -> None:
    for game, equilibrium in ((PENNIES, [0.5, 0.5]), (DILEMMA, [0.0, 1.0])):
        decision = decide(name, game, player, simulations=2000, **values)
        assert strategy_of(decision.statistics) == pytest.approx(equilibrium, abs=0.12)


def decide(name: str, game: Game, player: int, **values: Any) -> Decision:
    agent = miai.make_agent(name, game, **values)
    return at(agent, player=player, seed=seed_of_test()).act(Clock(TimeControl()).reading())


@pytest.mark.parametrize("observers", ["single", "multi"])
def test_no_player_sees_what_another_chooses(observers: str) -> None:
    """The second player could win each time if it knew the first one's choice."""
    decision = decide("ismcts", PENNIES, 1, simulations=1000, observers=observers)
    assert decision.statistics["value"] == pytest.approx(0.0, abs=0.15)


# -- several decisions -----------------------------------------------------------------------------


@cache
def solved(text: str, order: str) -> tuple[float, list[float], list[float]]:
    """Return the value of a position of goofspiel to the first player, and both equilibria."""
    game = miai.load_game("goofspiel", **GOOFSPIEL, points_order=order)
    state = game.deserialize(text)
    if state.is_terminal():
        return state.returns()[0], [], []
    if state.is_chance_node():
        outcomes = state.chance_outcomes()
        return (sum(p * solved(state.child(a).serialize(), order)[0] for a, p in outcomes), [], [])
    rows, columns = state.legal_actions_of(0), state.legal_actions_of(1)
    matrix = np.array([[solved(after(state, a, b), order)[0] for b in columns] for a in rows])
    value, first = row_equilibrium(matrix)
    _, second = row_equilibrium(-matrix.T)
    return value, first, second


def after(state: State, first: int, second: int) -> str:
    child = state.clone()
    child.apply_actions({0: first, 1: second})
    return child.serialize()


def row_equilibrium(matrix: NDArray[np.float64]) -> tuple[float, list[float]]:
    """Return the value of a matrix game and an optimal strategy of its maximising row player."""
    rows, columns = matrix.shape
    program = scipy.optimize.linprog(
        [*[0.0] * rows, -1.0],
        A_ub=np.hstack([-matrix.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=[[*[1.0] * rows, 0.0]],
        b_eq=[1.0],
        bounds=[*[(0.0, 1.0)] * rows, (None, None)],
    )
    assert program.success
    return float(program.x[-1]), [float(p) for p in program.x[:-1]]


POSITIONS = [
    pytest.param("descending", "[]", marks=pytest.mark.slow),
    ("descending", "[1,2]"),  # the first player has lost the prize 3 to the card 3
    ("ascending", "[0,2]"),
    ("random", "[1]"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("order", "text"), POSITIONS)
def test_goofspiel_with_three_cards_is_solved(order: str, text: str) -> None:
    game = miai.load_game("goofspiel", **GOOFSPIEL, points_order=order)
    state = game.deserialize(text)
    value, *_ = solved(state.serialize(), order)
    columns = state.legal_actions_of(1)
    rows = state.legal_actions_of(0)
    matrix = np.array([[solved(after(state, a, b), order)[0] for b in columns] for a in rows])
    for player, payoffs in ((0, matrix), (1, -matrix.T)):
        search = mcts(game, seed=seed_of_test(), simulations=2000)
        result = search.search_as(state, player)
        guaranteed = float(min(np.array(strategy_of(result.statistics)) @ payoffs))
        sign = 1 if player == 0 else -1
        assert guaranteed >= sign * value - 0.35  # of 6 points
        assert result.value == pytest.approx(sign * value, abs=0.35)


# -- the tree --------------------------------------------------------------------------------------


def test_the_tree_is_kept_below_what_all_have_done() -> None:
    game = miai.load_game("goofspiel", num_cards=4, points_order="descending")
    search, state = mcts(game, simulations=800), game.new_initial_state()
    search.search_as(state, 0)
    root = search.root
    assert isinstance(root, JointNode)
    visits = dict(zip(root.combinations, root.edge_visits, strict=True))
    assert sum(visits.values()) == 800
    search.advance(3)
    assert search.root is root
    search.advance(2)
    state.apply_actions({0: 3, 1: 2})
    assert search.root is not root
    reused = search.search_as(state, 1).statistics["reused"]
    assert reused == visits[3, 2]


def test_an_agent_keeps_its_tree_and_loses_to_nobody_by_force() -> None:
    """Every simulation of the first move that saw the same actions is used for the second."""
    game = miai.load_game("goofspiel", num_cards=4, points_order="descending")
    agents: list[Agent] = [miai.make_agent("mcts", game, simulations=300) for _ in range(2)]
    record = play(game, agents, seed=seed_of_test())
    assert record.loser is None
    reused = [move.statistics["reused"] for move in record.moves]
    assert reused[:2] == [0, 0]
    assert all(isinstance(count, int) and count > 0 for count in reused[2:4])


@pytest.mark.parametrize("values", [{"selection": "puct"}, {"batch": 8}, {"solver": False}])
def test_every_way_of_searching_works(values: dict[str, Any]) -> None:
    game = miai.load_game("goofspiel", num_cards=4)
    state = game.new_initial_state()
    state.apply_action(2)
    results = [mcts(game, seed=3, simulations=200, **values).search_as(state, 1) for _ in range(2)]
    assert results[0] == results[1]
    assert results[0].action in state.legal_actions_of(1)


class PublicGoods(Game):
    """Three players keep 1 point or give it away, which is worth 0.5 to each of them."""

    info = GameInfo(
        name="public_goods",
        version=1,
        num_players=3,
        num_distinct_actions=2,
        max_game_length=3,
        player_names=("a", "b", "c"),
        min_utility=0.0,
        max_utility=2.0,
        utility_sum=None,
        payoffs=True,
        simultaneous=True,
    )

    def __init__(self) -> None:
        self.parameters = Parameters()

    def new_initial_state(self) -> PublicGoodsState:
        return PublicGoodsState(self)


class PublicGoodsState(SimultaneousState):
    gifts: tuple[int, ...] = ()

    def current_player(self) -> int:
        return Player.TERMINAL if self.gifts else Player.SIMULTANEOUS

    def legal_actions_of(self, player: int) -> list[int]:
        return [] if self.gifts else [0, 1]

    def _apply_actions(self, actions: Mapping[int, int]) -> None:
        self.gifts = tuple(actions[player] for player in range(3))

    def returns(self) -> tuple[float, ...]:
        common = 0.5 * sum(self.gifts)
        return tuple(1 - gift + common for gift in self.gifts) or (0.0,) * 3

    def _copy_to(self, other: Self) -> None:
        other.gifts = self.gifts

    def _key(self) -> str:
        return str(self.gifts)

    def __str__(self) -> str:
        return str(self.gifts)


def test_three_players_want_their_own_points() -> None:
    """To give dominates for the three together, to keep for each of them."""
    game = PublicGoods()
    assert check_game(game, games=5).positions == 5 * 4
    for player in range(3):
        result = mcts(game, simulations=1500).search_as(game.new_initial_state(), player)
        assert strategy_of(result.statistics)[0] > 0.85


def test_who_searches_must_be_said_and_must_act() -> None:
    search = mcts(PENNIES)
    assert isinstance(search, SimultaneousSearch)
    with pytest.raises(GameError, match=r"players \[0, 1\] act at once; search for one of them"):
        search.search(PENNIES.new_initial_state())
    with pytest.raises(GameError, match="player 2 does not act here"):
        search.search_as(PENNIES.new_initial_state(), 2)
    tic_tac_toe = miai.load_game("tic_tac_toe")
    with pytest.raises(GameError, match="player 1 does not act here"):
        mcts(tic_tac_toe).search_as(tic_tac_toe.new_initial_state(), 1)


def test_who_is_lost_resigns() -> None:
    game = miai.load_game("matching_pennies", rounds=2)
    state = game.new_initial_state()
    state.apply_actions({0: 0, 1: 1})  # the first player has lost a round: -1 and 1 on average
    for player, resigns in ((0, True), (1, False)):
        assert mcts(game, resign_below=-0.5).search_as(state, player).resign == resigns
    assert not mcts(game).search_as(state, 0).resign


def test_a_hint_names_the_probabilities_and_expects_nothing_of_the_others() -> None:
    state = BIASED.new_initial_state()
    result = mcts(BIASED, simulations=4000).search_as(state, 1)
    hint = hint_text(PlayerView.at(state, 1), result)
    shares = {name: int(p) for name, p in re.findall(r"(\w+): .*, probability (\d+) %", hint)}
    assert shares == pytest.approx({"rock": 25, "paper": 50, "scissors": 25}, abs=8)
    assert "Expected" not in hint
    statistics = {**result.statistics, "pv": list(result.pv)}
    assert thoughts_of(statistics, state, 1, renderer_for(BIASED))["line"] == []


# -- regret matching -------------------------------------------------------------------------------


def test_regret_matching_by_hand() -> None:
    """Two actions of probability 1/2 each: action 0 gives 1, then action 1 gives 0."""
    part = RegretMatching()
    part.learn([0, 1], 0, 1.0)
    # The estimates are 0 + 1 / 0.5 = 2 and 0; the strategy's value is 1: regrets 1 and -1 -> 0.
    assert part.strategy([0, 1]) == [0.5, 0.5]
    draws = [part.draw([0, 1], random.Random(seed)) for seed in range(300)]
    # Exploration is 2 / (2 + 1); the rest is all on action 0: 1/3 + 1/3.
    assert draws.count(0) / 300 == pytest.approx(2 / 3, abs=0.09)
    part.learn([0, 1], 1, 0.0)
    assert part.strategy([0, 1]) == [0.75, 0.25]
    assert (part.mean(0), part.mean(1), part.value(), part.visits) == (1.0, 0.0, 0.5, 2)
    part.learn([0, 1], 1, 3.0)
    # Exploration was 2 / (2 + sqrt 2), so action 1 had the probability 0.2929. It is estimated at
    # 3 / 0.2929 = 10.243 against 1: its regret is 9.243 now, that of action 0 is 1.
    part.learn([0, 1], 0, 1.0)
    assert part.strategy([0, 1]) == pytest.approx([2.5976 / 4, 1.4024 / 4], abs=1e-4)


def test_actions_that_are_not_legal_are_neither_drawn_nor_changed() -> None:
    part, rng = RegretMatching(), random.Random(0)
    for _ in range(50):
        action = part.draw([3, 5], rng)
        part.learn([3, 5], action, float(action == 3))
    assert {part.draw([5], rng) for _ in range(20)} == {5}
    assert part.strategy([3, 5])[0] > 0.6
    assert part.strategy([5]) == [1.0]
