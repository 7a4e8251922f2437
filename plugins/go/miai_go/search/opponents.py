"""Opponents for people, weakest first."""

from __future__ import annotations

from miai.game import Game
from miai.parameters import Parameters
from miai.playing.opponents import Opponent, Opponents


def opponents(game: Game, parameters: Parameters) -> Opponents:
    """Return the opponents; benchmarks/opponents.py measures their ratings on 9x9."""
    return Opponents(
        (
            Opponent(name="random", agent="fast-random", elo=0, summary="random moves"),
            _mcts(20, elo=None),
            _mcts(200, elo=None),
            _mcts(2_000, elo=None),
            _mcts(20_000, elo=None),
            _alphago(50, elo=None),
            _alphago(400, elo=None),
        )
    )


def _mcts(simulations: int, *, elo: int | None) -> Opponent:
    return Opponent(
        name=f"mcts-{simulations}",
        agent="mcts",
        parameters={"simulations": simulations},
        elo=elo,
        summary=f"tree search, {simulations:,} playouts per move",
    )


def _alphago(simulations: int, *, elo: int | None) -> Opponent:
    return Opponent(
        name=f"alphago-{simulations}",
        agent="alphago",
        parameters={"simulations": simulations, "mix": 0.2},
        requires=("torch",),
        elo=elo,
        summary=f"tree search with networks, {simulations:,} simulations per move",
    )
