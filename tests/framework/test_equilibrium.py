"""The agent `equilibrium`: its kernels, its gadget, and what its policies leave to exploit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
import pytest
from tests.framework.histories import seen_by

import miai
from miai import Game, GameInfo, Observation, Player, State
from miai.equilibria import exploitability, extract
from miai.errors import ParameterError, UnsuitableGameError
from miai.search.equilibrium import Equilibrium, EquilibriumParameters
from miai.search.growing_tree import GrowingTree, RootWorld, Sequences, complete_tree
from miai.testing import check_agent

pyspiel = pytest.importorskip("pyspiel", reason="needs the extra bench: open_spiel")

from open_spiel.python.algorithms.exploitability import nash_conv  # noqa: E402 - after the skip
from open_spiel.python.policy import TabularPolicy  # noqa: E402

from miai_openspiel.games import OpenSpielGame  # noqa: E402

ABRUPT_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"


def told(agent: Equilibrium, player: int, actions: Sequence[int]) -> Equilibrium:
    """Return the agent after it observed its part of a history."""
    agent.new_game(3, player=player)
    for observation in seen_by(agent.game, player, actions):
        agent.observe(observation)
    return agent


def text_at(tree: GrowingTree, player: int, group: int) -> str:
    """Return OpenSpiel's text of an information set."""
    node = tree.arrays.member[: tree.nodes].tolist().index(group)
    state: Any = tree.states[node]
    return str(state.inner.information_state_string(player))


def tree_of(game: Game, iterations: int) -> GrowingTree:
    tree = complete_tree(game, Sequences(), 5000)
    assert tree is not None
    tree.iterate(iterations)
    return tree


def nash_conv_of(game: Game, agent: Equilibrium) -> float:
    """Return the NashConv of the policies that an agent states at all information sets."""
    tree = extract(game)

    def stated(at: Any) -> dict[int, float]:
        agent.new_game(3, player=at.player)
        for observation in tree.observations_at(at.number):
            agent.observe(observation)
        return dict(agent.policy() or {})

    return exploitability(tree, tree.policy_from(stated)).nash_conv


@pytest.mark.parametrize("text", ["kuhn_poker", ABRUPT_HEX])
def test_best_responses_are_those_of_openspiel(text: str) -> None:
    """To policies far from an equilibrium, so that a wrong sign, player or chance weight shows."""
    game = pyspiel.load_game(text)
    tree = tree_of(OpenSpielGame(text), 3)
    policy = TabularPolicy(game)
    for (player, number), group in tree.index.items():
        row = policy.policy_for_key(text_at(tree, player, group))
        row[:] = 0
        for action, probability in tree.solution(player, number)[0].items():
            row[action] = probability
    ours = tree.best_response(0) + tree.best_response(1)
    assert ours == pytest.approx(nash_conv(game, policy), abs=1e-12)
    assert ours > 0.1


def test_iterations_are_those_of_predictive_cfr_plus() -> None:
    """Kuhn poker beside a plain recursion over OpenSpiel's states (Farina et al. 2021)."""
    regrets: dict[str, list[float]] = {}
    advice: dict[str, list[float]] = {}
    totals: dict[str, list[float]] = {}

    def strategy(key: str) -> list[float]:
        promises = [
            max(0.0, r + a)
            for r, a in zip(regrets.setdefault(key, [0, 0]), advice.get(key, [0, 0]), strict=True)
        ]
        total = sum(promises)
        return [p / total for p in promises] if total else [0.5, 0.5]

    def walk(state: Any, player: int, own: float, other: float, gains: dict[str, Any]) -> float:
        if state.is_terminal():
            return float(state.returns()[player])
        if state.is_chance_node():
            outcomes = state.chance_outcomes()
            return sum(
                (p * walk(state.child(a), player, own, other * p, gains) for a, p in outcomes), 0.0
            )
        key, mine = state.information_state_string(), state.current_player() == player
        policy = strategy(key)
        reach = [(own * p, other) if mine else (own, other * p) for p in policy]
        values = [walk(state.child(a), player, *reach[a], gains) for a in (0, 1)]
        if mine:
            sums = gains.setdefault(key, [own, 0.0, 0.0])
            sums[1:] = [s + other * v for s, v in zip(sums[1:], values, strict=True)]
        return float(sum(p * v for p, v in zip(policy, values, strict=True)))

    for iteration in range(1, 21):
        for player in (0, 1):
            gains: dict[str, Any] = {}
            walk(pyspiel.load_game("kuhn_poker").new_initial_state(), player, 1.0, 1.0, gains)
            for key, (own, *values) in gains.items():
                policy = strategy(key)
                mean = sum(p * v for p, v in zip(policy, values, strict=True))
                advice[key] = [v - mean for v in values]
                regrets[key] = [
                    max(0.0, r + a) for r, a in zip(regrets[key], advice[key], strict=True)
                ]
                total = totals.get(key, [0.0, 0.0])
                totals[key] = [
                    t + iteration**2 * own * p for t, p in zip(total, policy, strict=True)
                ]
    tree = tree_of(OpenSpielGame("kuhn_poker"), 20)
    for (player, number), group in tree.index.items():
        sums = totals[text_at(tree, player, group)]
        ours = list(tree.solution(player, number)[0].values())
        assert ours == pytest.approx([total / sum(sums) for total in sums], abs=1e-12)


def test_its_policies_in_kuhn_poker_are_an_equilibrium() -> None:
    game = miai.load_game("kuhn_poker")
    agent = Equilibrium(game, EquilibriumParameters(iterations=200))
    assert nash_conv_of(game, agent) < 2e-5
    tree = tree_of(game, 200)
    assert -tree.best_response(1) <= -1 / 18 <= tree.best_response(0)


@pytest.mark.slow
def test_a_subgame_is_less_exploitable_than_its_evaluator_suggests() -> None:
    """Abrupt Dark Hex 2 does not fit into 300 nodes; uniform play has 0.83, `ismcts` 0.72."""
    game = OpenSpielGame(ABRUPT_HEX)
    agent = Equilibrium(game, EquilibriumParameters(iterations=200, nodes=300))
    assert nash_conv_of(game, agent) < 0.2


class CoinToss(Game):
    """The first player sees a coin and sells it, for 0.5 or -0.5, or lets the second one guess.

    The example of Brown, Sandholm 2017, "Safe and nested subgame solving": only a guess of heads
    with probability 1/4 leaves the first player nothing to gain. The value is that of selling.

    Args:
      heads: probability of heads.
    """

    info = GameInfo(
        name="coin_toss",
        version=1,
        num_players=2,
        num_distinct_actions=2,
        max_game_length=2,
        player_names=("first", "second"),
        max_chance_outcomes=2,
        perfect_information=False,
        payoffs=True,
    )

    def __init__(self, heads: float = 0.5) -> None:
        super().__init__()
        self.heads = heads

    def new_initial_state(self) -> CoinTossState:
        return CoinTossState(self)


class CoinTossState(State):
    game: CoinToss

    def current_player(self) -> int:
        if not self._history:
            return Player.CHANCE
        if len(self._history) == 1:
            return 0
        return Player.TERMINAL if self._history[1] == 0 or len(self._history) == 3 else 1

    def legal_actions(self) -> list[int]:
        return [] if self.is_terminal() else [0, 1]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        heads = self.game.heads
        return [] if self._history else [(0, heads), (1, 1 - heads)]

    def _apply(self, action: int) -> None:
        pass

    def observation(self, player: int) -> Observation | None:
        if not self._history or (len(self._history) == 1 and player == 1):
            return None
        actor, action = self._actors[-1], self._history[-1]
        return Observation(player, actor, action, None, self._legal_for(player))

    def information_state_string(self, player: int) -> str:
        return " ".join(map(str, self._history[player:]))

    def returns(self) -> tuple[float, ...]:
        if not self.is_terminal():
            return (0.0, 0.0)
        coin, plays, *guess = self._history
        first = (-1.0 if guess == [coin] else 1.0) if plays else 0.5 - coin
        return (first, -first)

    def key(self) -> Hashable:
        return tuple(self._history)

    def _copy_to(self, other: Self) -> None:
        pass

    def __str__(self) -> str:
        return str(self._history)


@pytest.mark.parametrize("belief", [0.5, 0.9])
@pytest.mark.parametrize("given", [True, False])
def test_the_gadget_keeps_a_subgame_safe(belief: float, given: bool) -> None:
    """Whatever the belief; without alternatives the second player guesses what is likely."""
    game, numbers = CoinToss(), Sequences()
    tree = GrowingTree(numbers)
    roots = [
        RootWorld(
            game.new_initial_state().child(coin).child(1),
            (numbers.start(0, f"{coin} 1"), numbers.start(1)),
            belief=(belief, 1 - belief)[coin],
            share=0.5 + coin,
            alternative=0.5 - coin if given else None,
        )
        for coin in (0, 1)
    ]
    tree.begin_subgame(roots, opponent=0)
    while tree.grow(np.full(8, 0.3), 0, 1.0):
        tree.iterate(1)
    likely = [(belief + 0.5) / 2, (1.5 - belief) / 2]
    assert tree.arrays.chance[1:3].tolist() == pytest.approx(likely)
    tree.iterate(2000)
    heads = tree.solution(1, numbers.start(1))[0][0]
    if given:
        assert heads == pytest.approx(0.25, abs=0.02)
    elif belief > 0.5:
        assert heads == pytest.approx(1.0, abs=0.01)


def test_chance_has_its_probabilities() -> None:
    tree = tree_of(CoinToss(heads=0.8), 2000)
    assert tree.best_response(0) == pytest.approx(0.8 - 0.5, abs=1e-3)
    assert tree.best_response(1) == pytest.approx(0.5 - 0.8, abs=1e-3)


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
    agent = told(Equilibrium(game, EquilibriumParameters(iterations=300)), 0, [])
    policy = agent.policy()
    assert policy is not None
    agent = told(agent, 0, [4, 0])
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


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("kuhn_poker", {}),
        ("goofspiel", {"num_cards": 3}),
        pytest.param("phantom_tic_tac_toe", {}, marks=pytest.mark.slow),
    ],
)
def test_it_keeps_the_contract_of_agents(name: str, given: dict[str, Any]) -> None:
    """Its policy, too, is the same whether it was asked at earlier turns or not."""
    game = miai.load_game(name, **given)

    def make(loaded: Game) -> miai.Agent:
        return miai.make_agent("equilibrium", loaded, iterations=10)

    assert check_agent(make, game, games=1).games >= 1


def test_players_who_act_at_once_do_not_see_each_other() -> None:
    game = miai.load_game("matching_pennies", rounds=1)
    agent = told(Equilibrium(game, EquilibriumParameters(iterations=500)), 1, [])
    assert agent.policy() == pytest.approx({0: 0.5, 1: 0.5}, abs=0.01)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(UnsuitableGameError, match="3 players"):
        Equilibrium(miai.load_game("goofspiel", players=3))
    with pytest.raises(ParameterError, match="iterations = 0 needs a budget in seconds"):
        miai.make_agent("equilibrium", miai.load_game("kuhn_poker"), iterations=0)
