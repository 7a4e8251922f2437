"""Observations of a player, as masks and moves for the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import chess
import numpy as np

from miai import Observation
from miai.errors import GameError
from miai_rbc.kernels.bitboards import Words
from miai_rbc.kernels.board import KINGS, NOTHING, PAWNS, QUEENS, WHITE

KING_CAPTURED = "king captured"
"""The reason for the end in a game's result."""

_KINDS = "pnbrqk"
_BECOMES = "nbrq"
_ENDS = 0xFF000000000000FF  # the first and the last rank


class BadObservationError(GameError):
    """Not an observation of the game, or not in this order."""


@dataclass(frozen=True, slots=True)
class OpponentMoved:
    """The opponent's turn is over.

    Attributes:
      captured: the square on which it captured the player's piece, or None.
      ends: whether that was the king.
    """

    captured: int | None
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Sensed:
    """The player sensed.

    Attributes:
      window: its squares, bit by bit; 0 for none.
      pieces: uint64 (7,), words 0 to 6 of a row within the window.
    """

    window: int
    pieces: Words


@dataclass(frozen=True, slots=True)
class Moved:
    """The player moved.

    Attributes:
      requested, taken: moves of `miai_rbc.kernels.board`.
      captured: the square of the capture, or None.
      ends: whether that captured the king.
    """

    requested: int
    taken: int
    captured: int | None
    ends: bool = False


Event = OpponentMoved | Sensed | Moved


def event_of(observation: Observation, *, pawns: int) -> Event:
    """Return an observation of `RbcState` as an event.

    Args:
      pawns: the squares of the player's pawns before its move, bit by bit. They show which requests
        are promotions to a queen.

    Raises:
      BadObservationError: not an observation of the game.
    """
    data = observation.data
    try:
        if not isinstance(data, Mapping):
            raise TypeError("no data")
        if "sensed" in data:
            return _sensed(data["sensed"])
        ends = KING_CAPTURED in str(data.get("result", ""))
        if "requested" in data:
            requested = move_of_name(data["requested"])
            promotes = pawns >> (requested & 63) & 1 and not 8 <= requested >> 6 & 63 < 56
            if requested != NOTHING and promotes and requested >> 12 == 0:
                requested |= QUEENS << 12
            taken = move_of_name(data["taken"])
            return Moved(requested, taken, square_of_name(data["captured"]), ends)
        return OpponentMoved(square_of_name(data["captured"]), ends)
    except (KeyError, TypeError, ValueError) as error:
        raise BadObservationError(
            f"rbc: {str(observation)[:200]} is not an observation of the game: {error}"
        ) from None


def _sensed(squares: Any) -> Sensed:
    if not isinstance(squares, Sequence) or len(squares) > 9:
        raise TypeError("a sense shows at most nine squares")
    window = 0
    pieces = np.zeros(WHITE + 1, np.uint64)
    for name, piece in squares:
        square = square_of_name(name)
        if square is None or window >> square & 1:
            raise ValueError("a sense names its squares, each once")
        window |= 1 << square
        if piece is not None:
            put_piece(pieces, piece, square)
    check_pieces(pieces)
    return Sensed(window, pieces)


def check_pieces(pieces: Words) -> None:
    """Raise `ValueError` for pieces that no board has, in words 0 to 6 of a row."""
    white, kings = int(pieces[WHITE]), int(pieces[KINGS])
    if (kings & white).bit_count() > 1 or (kings & ~white).bit_count() > 1:
        raise ValueError("a side has two kings")
    if int(pieces[PAWNS]) & _ENDS:
        raise ValueError("a pawn stands on the first or last rank")


def put_piece(pieces: Words, piece: Any, square: int) -> None:
    """Put a piece, such as ``P`` for White's pawn, on a square of words 0 to 6 of a row.

    Raises:
      ValueError: not a piece.
    """
    if not isinstance(piece, str) or len(piece) != 1 or not piece.isascii():
        raise ValueError(f"{piece!r} is not a piece")
    bit = np.uint64(1 << square)
    pieces[_KINDS.index(piece.lower())] |= bit
    if piece.isupper():
        pieces[WHITE] |= bit


def square_of_name(name: Any) -> int | None:
    """Return a square, None for None. Raises `ValueError` if it is not one."""
    return None if name is None else chess.parse_square(name)


def move_of_name(name: Any) -> int:
    """Return a move in UCI notation as one of the kernels; None is `NOTHING`.

    Raises:
      ValueError: not a move.
    """
    if name is None:
        return NOTHING
    if not isinstance(name, str) or len(name) not in (4, 5):
        raise ValueError(f"{name!r} is not a move")
    start, end = chess.parse_square(name[:2]), chess.parse_square(name[2:4])
    becomes = _BECOMES.index(name[4]) + 1 if len(name) == 5 else 0
    return start | end << 6 | becomes << 12
