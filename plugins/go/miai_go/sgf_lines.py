"""Following one line of an SGF game: set-up and moves on a board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from miai_go.board import BLACK, BLACK_STONE, EMPTY, WHITE, WHITE_STONE, Board, BoardError
from miai_go.coordinates import vertex
from miai_go.parameters import MAX_MOVES
from miai_go.phases import Start
from miai_go.sgf_check import SgfError

_COLORS: Final = {"b": BLACK, "w": WHITE}


@dataclass(frozen=True, slots=True)
class SgfLine:
    """A line of play.

    SGF may put stones on the board, or let one player move twice, in the midst of a game; actions
    of Go cannot. Then the line starts after it, and `start` is the position reached there.

    Attributes:
      start: where the line starts.
      actions: the moves after it, the players in turn.
      place: the node where the line ends, for errors.
    """

    start: Start
    actions: tuple[int, ...]
    place: str


class Follower:
    """Follows a line from node to node.

    Args:
      handicap: of the game: then White is expected to move first.
    """

    def __init__(self, size: int, source: str, place: str, *, handicap: int = 0) -> None:
        self._size = size
        self._source = source
        self._game = place
        self._place = place
        self._handicap = handicap
        self._board = Board(size)
        self._to_move = WHITE if handicap > 1 else BLACK
        self._start = Start((), (), self._to_move)
        self._actions: list[int] = []

    def copy(self) -> Follower:
        """Return an independent follower at the same node."""
        other = object.__new__(Follower)
        other.__dict__.update(self.__dict__)
        other._board = self._board.copy()
        other._actions = self._actions.copy()
        return other

    def line(self) -> SgfLine:
        """Return the line followed so far."""
        return SgfLine(self._start, tuple(self._actions), self._place)

    def take(self, node: Any, number: int) -> None:
        """Take in a node of sgfmill's: its set-up first, then its move.

        Raises:
          SgfError: the node is malformed, or no board allows what it does.
        """
        self._place = ", ".join(part for part in (self._game, f"node {number}") if part)
        try:
            if node.has_setup_stones():
                self._set_up(node)
            if node.has_property("PL"):
                self._turn(_COLORS[node.get("PL")])
            color, move = node.get_move()
        except (ValueError, BoardError) as error:
            if isinstance(error, SgfError):
                raise
            raise self._refuse(_malformed(node, error)) from error
        if color is not None:
            self._check_single(node)
            self._move(_COLORS[color], move)

    def _set_up(self, node: Any) -> None:
        black, white, empty = node.get_setup_stones()
        if black & white or black & empty or white & empty:
            raise self._refuse("AB, AW and AE name one point twice")
        stones = self._board.stones()
        for points, stone in ((black, BLACK_STONE), (white, WHITE_STONE), (empty, EMPTY)):
            for row, column in points:
                stones[row, column] = stone
        self._board = Board.from_stones(stones)
        self._restart(self._to_move)

    def _turn(self, color: int) -> None:
        if color != self._to_move:
            self._restart(color)

    def _move(self, color: int, move: tuple[int, int] | None) -> None:
        self._turn(color)
        if color == WHITE and self._handicap_was_moved():
            self._restart(WHITE)
        if len(self._actions) >= MAX_MOVES:
            raise self._refuse(f"more than {MAX_MOVES} moves in one line")
        size = self._size
        action = size * size if move is None else move[0] * size + move[1]
        if move is not None and self._board.color_at(action) != EMPTY:
            raise self._refuse(f"a move at {vertex(action, size)}, which is occupied")
        self._board.play_unchecked(color, action)
        self._actions.append(action)
        self._to_move = 1 - color

    def _handicap_was_moved(self) -> bool:
        """Return whether Black's moves so far were just the handicap, as old files write it."""
        placed = len(self._start.black) + 1
        alone = len(self._actions) == 1 and not self._start.white
        return alone and placed == self._handicap and self._handicap > 1

    def _restart(self, color: int) -> None:
        flat = self._board.stones().reshape(-1)
        black = tuple(np.flatnonzero(flat == BLACK_STONE).tolist())
        white = tuple(np.flatnonzero(flat == WHITE_STONE).tolist())
        # Stones by hand forget ko and prisoners: those belong to what was played before.
        self._board = Board.from_stones(flat.reshape(self._size, self._size))
        self._start = Start(black, white, color)
        self._actions = []
        self._to_move = color

    def _check_single(self, node: Any) -> None:
        both = node.has_property("B") and node.has_property("W")
        name = "B" if node.has_property("B") else "W"
        if both or len(node.get_raw_list(name)) > 1:
            raise self._refuse("more than one move in a node")

    def _refuse(self, cause: str) -> SgfError:
        return SgfError(cause, source=self._source, place=self._place)


def _malformed(node: Any, error: Exception) -> str:
    """Return which of the properties that are read here is malformed."""
    if isinstance(error, BoardError):
        return str(error)
    for name in ("AB", "AW", "AE", "PL", "B", "W"):
        if node.has_property(name):
            try:
                node.get(name)
            except ValueError:
                shown = node.get_raw(name)[:40].decode("ascii", "replace")
                return f"{name}[{shown}] is malformed, or off the board"
    return f"is malformed: {error}"
