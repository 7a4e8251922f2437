"""ISMCTS and PIMC: legal, reproducible, blind to the true state, and better than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.framework.histories import at

import miai
from miai import Decision
from miai.clock import Clock, TimeControl
from miai.search.worlds import Ismcts, Pimc, WorldsAgent

AGENTS: list[tuple[str, dict[str, Any]]] = [
    ("ismcts", {"observers": "single"}),
    ("ismcts", {"observers": "multi"}),
    ("pimc", {"worlds": 8}),
]


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
