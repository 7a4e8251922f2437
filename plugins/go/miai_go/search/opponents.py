"""Opponents for people, weakest first."""

from __future__ import annotations

from contextlib import suppress

from miai.errors import WeightsError
from miai.game import Game
from miai.parameters import Parameters
from miai.playing.opponents import Opponent, Opponents
from miai_go.nets.inference import can_run
from miai_go.rules.game import GoGame
from miai_go.shipped import find_weights


def opponents(game: Game, parameters: Parameters) -> Opponents:
    """Return the opponents; benchmarks/opponents.py plays them against each other on 9x9.

    Those with networks play where one for the board's size is shipped and can be run here.
    """
    assert isinstance(game, GoGame)
    networks = False
    with suppress(WeightsError):
        networks = can_run(find_weights("", size=game.size))
    return Opponents(
        (
            Opponent(name="random", agent="fast-random", summary="random moves"),
            _mcts(20),
            _mcts(200),
            _mcts(2_000),
            _mcts(20_000),
            *([_alphago(50), _alphago(400)] if networks else []),
        )
    )


def _mcts(simulations: int) -> Opponent:
    return Opponent(
        name=f"mcts-{simulations}",
        agent="mcts",
        parameters={"simulations": simulations},
        summary=f"tree search, {simulations:,} playouts per move",
    )


def _alphago(simulations: int) -> Opponent:
    return Opponent(
        name=f"alphago-{simulations}",
        agent="alphago",
        parameters={"simulations": simulations},
        summary=f"tree search with networks, {simulations:,} simulations per move",
    )
