"""ISMCTS and PIMC: actions beside OpenSpiel, legal, reproducible, blind to the true state."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from tests.framework.histories import at

import miai
from miai import Decision
from miai.clock import Clock, TimeControl
from miai.search.worlds import Ismcts, Pimc, WorldsAgent

pyspiel = pytest.importorskip("pyspiel", reason="needs the extra bench: open_spiel")

import numpy as np  # noqa: E402 - after the skip
from open_spiel.python.algorithms import ismcts, mcts  # noqa: E402

from miai import State  # noqa: E402
from miai.clock import ClockReading  # noqa: E402
from miai.search.worlds import InfoSetNode, IsmctsParameters  # noqa: E402
from miai_openspiel.games import OpenSpielGame  # noqa: E402

EXPLORATION = 1.4
"""In utilities, as OpenSpiel's ``uct_c``."""
AGENTS: list[tuple[str, dict[str, Any]]] = [
    ("ismcts", {"observers": "single"}),
    ("ismcts", {"observers": "multi"}),
    ("pimc", {"worlds": 8}),
]


def our_choices(
    game: OpenSpielGame, moves: tuple[int, ...], *, seeds: int, simulations: int
) -> Any:
    half = (game.info.max_utility - game.info.min_utility) / 2
    parameters = IsmctsParameters(simulations=simulations, exploration=EXPLORATION / half)
    agent = Ismcts(game, parameters)
    choices: Counter[int] = Counter()
    for seed in range(seeds):
        state = position(game, moves)
        at(agent, *state.history(), player=state.current_player(), seed=seed)
        choices[agent.act(ClockReading(control=TimeControl())).action] += 1
    return choices


def their_choices(
    game: OpenSpielGame, moves: tuple[int, ...], *, seeds: int, simulations: int
) -> Any:
    """Worlds are drawn from all histories that the player cannot tell from the true one."""
    state = position(game, moves).inner
    worlds = indistinguishable(game, state)
    choices: Counter[int] = Counter()
    for seed in range(seeds):
        generator, draw = np.random.RandomState(seed), random.Random(seed)
        bot = ismcts.ISMCTSBot(
            game.inner,
            mcts.RandomRolloutEvaluator(1, generator),
            EXPLORATION,
            simulations,
            final_policy_type=ismcts.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
            use_observation_string=False,
            allow_inconsistent_action_sets=False,
            random_state=generator,
        )
        bot.set_resampler(lambda *_, draw=draw: draw.choice(worlds).clone())
        choices[int(bot.step(state))] += 1
    return choices


def position(game: OpenSpielGame, moves: tuple[int, ...]) -> Any:
    state = game.new_initial_state()
    for move in moves:
        state.apply_action(numbered(state, move))
    return state


def numbered(state: State, move: int) -> int:
    """Return the number here of a move of OpenSpiel's, or of what chance does."""
    game = state.game
    assert isinstance(game, OpenSpielGame)
    return move + game.chance_offset if state.is_chance_node() else move


def indistinguishable(game: OpenSpielGame, state: Any) -> list[Any]:
    player, length = state.current_player(), len(state.history())
    text = state.information_state_string(player)
    layer = [game.inner.new_initial_state()]
    for _ in range(length):
        layer = [s.child(a) for s in layer if not s.is_terminal() for a in s.legal_actions()]
    return [
        s
        for s in layer
        if s.current_player() == player and s.information_state_string(player) == text
    ]


slow = partial(pytest.param, marks=pytest.mark.soak)
SITUATIONS = [
    # first and second card; pass 0, bet 1
    *(("kuhn_poker", moves, 60, 300) for moves in [(1, 2, 0), (0, 1, 0)]),
    *(slow("kuhn_poker", moves, 60, 300) for moves in [(1, 0), (2, 0)]),
    # six cards, two of a rank; fold 0, call 1, raise 2
    ("leduc_poker", (2, 0, 2), 50, 200),
    *(slow("leduc_poker", moves, 50, 200) for moves in [(0, 2), (2, 4, 1)]),
    # after the second round's card: opponents with one tree for all cards would choose otherwise
    *(("leduc_poker", moves, 50, 200) for moves in [(4, 2, 1, 1, 0), (0, 2, 1, 1, 4, 1)]),
    ("phantom_ttt", (4,), 50, 200),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moves", "seeds", "simulations"), SITUATIONS)
def test_choices_are_as_frequent_as_in_openspiel(
    name: str, moves: tuple[int, ...], seeds: int, simulations: int
) -> None:
    from scipy.stats import chi2_contingency  # half a second

    game = OpenSpielGame(name)
    ours = our_choices(game, moves, seeds=seeds, simulations=simulations)
    theirs = their_choices(game, moves, seeds=seeds, simulations=simulations)
    actions = sorted({*ours, *theirs})
    if len(actions) == 1:
        return
    table = [[choices[action] for action in actions] for choices in (ours, theirs)]
    assert chi2_contingency(table).pvalue > 0.001, (actions, table)


def test_exploration_counts_how_often_an_action_was_available() -> None:
    # 0.5 + sqrt(ln 10 / 10) = 0.98 for one, 0.5 + sqrt(ln 1000 / 10) = 1.33 for the other
    node = InfoSetNode(visited=True)
    for action, available in ((0, 9), (1, 999)):
        node.select([action], 1.0, random.Random(0))
        edge = node.edges[action]
        edge.available, edge.visits, edge.total = available, 10, 5.0
    assert node.select([0, 1], 1.0, random.Random(0)) == 1
    assert [node.edges[action].available for action in (0, 1)] == [10, 1000]
    node.select([0], 1.0, random.Random(0))
    assert [node.edges[action].available for action in (0, 1)] == [11, 1000]


def decide(agent: miai.Agent, actions: Sequence[int], *, player: int, seed: int) -> Decision:
    """Return what an agent decides after a history of which it observed its part."""
    return at(agent, *actions, player=player, seed=seed).act(Clock(TimeControl()).reading())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "given"), AGENTS)
def test_it_beats_random(name: str, given: dict[str, Any]) -> None:
    """40 games of phantom tic-tac-toe; by chance 28 points of 40 come once in 150 times."""
    game, points = miai.load_game("phantom_tic_tac_toe"), 0.0
    for number in range(40):
        ours = miai.make_agent(name, game, simulations=100, seed=number, **given)
        theirs = miai.make_agent("random", game, seed=number)
        agents = [ours, theirs] if number % 2 == 0 else [theirs, ours]
        returns = miai.play(game, agents, seed=number).returns
        points += (returns[number % 2] + 1) / 2
    assert points > 28


def test_pimc_searches_each_world_once_where_there_are_fewer_simulations_than_worlds() -> None:
    game = miai.load_game("kuhn_poker")
    agent = miai.make_agent("pimc", game, simulations=3, worlds=20)
    record = miai.play(game, [agent, miai.make_agent("random", game)], seed=1)
    first = next(move for move in record.moves if move.actor == 0)
    assert (first.statistics or {})["simulations"] == 20


@pytest.mark.parametrize(("name", "given"), AGENTS)
def test_the_same_worlds_give_the_same_choice(name: str, given: dict[str, Any]) -> None:
    """What it does depends on what it was told: the true card behind does not change it."""
    game = miai.load_game("kuhn_poker")
    chosen = []
    for card in (3, 4):
        agent = miai.make_agent(name, game, simulations=200, seed=7, **given)
        decision = decide(agent, [2, card], player=0, seed=7)
        chosen.append((decision.action, decision.statistics))
    assert chosen[0] == chosen[1]


def test_kuhn_poker_s_plain_decisions_are_found() -> None:
    """Second to act after a bet: with the highest card call, with the lowest fold. Any value of
    the game has these; they dominate."""
    game = miai.load_game("kuhn_poker")
    for cards, best in (((3, 4), 1), ((3, 2), 0)):
        for name in ("ismcts", "pimc"):
            agent = miai.make_agent(name, game, simulations=400, seed=3)
            decision = decide(agent, [*cards, 1], player=1, seed=3)
            assert decision.action == best, (name, cards)


@pytest.mark.parametrize(("observers", "bets"), [("single", True), ("multi", False)])
def test_opponents_know_their_cards_if_they_have_trees(observers: str, bets: bool) -> None:
    """The first player with the queen in Kuhn poker: bet or check?

    A single observer's opponent does not know its card. It calls a bet with the jack too, so a bet
    costs nothing. One that knows its card calls with the king only.
    """
    game, count = miai.load_game("kuhn_poker"), 0
    for seed in range(50):
        agent = miai.make_agent("ismcts", game, simulations=300, observers=observers)
        count += decide(agent, [3, 2], player=0, seed=seed).action == 1  # a bet
    assert count > 33 if bets else count < 25


@pytest.mark.parametrize(("kind", "given"), [(Ismcts, {}), (Pimc, {"worlds": 5})])
def test_budgets_are_kept(kind: type[WorldsAgent], given: dict[str, Any]) -> None:
    game = miai.load_game("phantom_tic_tac_toe")
    agent = miai.make_agent(kind.__name__.lower(), game, simulations=37, **given)
    assert decide(agent, [], player=0, seed=1).statistics["simulations"] == 37
    quick = miai.make_agent(kind.__name__.lower(), game, simulations=0, seconds=0.05, **given)
    decision = decide(quick, [], player=0, seed=1)
    assert decision.action in range(9)
    assert int(str(decision.statistics["simulations"])) > 5
