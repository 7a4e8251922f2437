"""Opponents for people, weakest first."""

from __future__ import annotations

from miai.game import Game
from miai.parameters import Parameters
from miai.playing.opponents import Opponent, Opponents


def opponents(game: Game, parameters: Parameters) -> Opponents:
    """Return the opponents; benchmarks/opponents.py plays them against each other on 9x9."""
    return Opponents(
        (
            Opponent(name="random", agent="fast-random", summary="random moves"),
            _mcts(20),
            _mcts(200),
            _mcts(2_000),
            _mcts(20_000),
            _alphago(50),
            _alphago(400),
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
        requires=("torch",),
        summary=f"tree search with networks, {simulations:,} simulations per move",
    )
