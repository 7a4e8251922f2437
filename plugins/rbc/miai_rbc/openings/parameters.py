"""What the readers of openings can be told. Imports nothing heavy."""

from __future__ import annotations

from typing import Literal

from miai.plugins.parameters import Parameters, parameter


class PgnParameters(Parameters):
    """Which lines of a PGN file are openings, how long they are, and what players know of them."""

    plies: int | None = parameter(
        None, ge=1, le=10_000, unit="half-moves", help="Most moves taken of each; default: all"
    )
    variations: bool = parameter(
        False, help="Whether every variation is an opening, or the main line of each game only"
    )
    tell: Literal["moves", "position"] = parameter(
        "moves",
        help="moves: the referee plays them, senses see nothing, and players are told of their own "
        "moves and of captures; position: it is where the game starts, known to both",
    )
