"""Opponents for people, weakest first."""

from __future__ import annotations

from miai.game import Game
from miai.parameters import Parameters
from miai.playing.opponents import Opponent, Opponents


def opponents(game: Game, parameters: Parameters) -> Opponents:
    """Return the opponents; benchmarks/opponents.py plays them against each other."""
    quick = {"samples": 20, "considered": 100, "evaluations": 500, "deeper": 0}
    return Opponents(
        (
            Opponent(name="random", agent="rbc-random", summary="random senses and moves"),
            Opponent(
                name="attacker",
                agent="attacker",
                summary="a rush at your king, without a look at your moves",
            ),
            Opponent(
                name="minimax",
                agent="rbc-minimax",
                parameters={"depth": 1},
                summary="the best guaranteed value, one move deep",
            ),
            Opponent(
                name="quick",
                agent="rbc-strong",
                parameters=quick,
                summary="sampled boards, one ply deep",
            ),
            Opponent(
                name="strong",
                agent="rbc-strong",
                summary="all moves on 200 sampled boards, as deep as time allows",
            ),
        )
    )
