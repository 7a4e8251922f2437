"""The board: stones, chains, captures, ko, hashes and area, on one flat array.

Points are numbered `row * size + column` from the lower left corner: A1 is 0, as in OpenSpiel and
in sgfmill's (row, column). `size * size` is the pass. Players are `BLACK` and `WHITE`. A point
holds `EMPTY`, `BLACK_STONE` or `WHITE_STONE`; a stone is its player plus one.

The player to move, passes and earlier positions belong to `GoState`, not to the board.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.kernels import rules
from miai_go.rules.coordinates import COLUMNS, MAX_SIZE, vertex

BLACK: Final = 0
WHITE: Final = 1

EMPTY: Final = 0
BLACK_STONE: Final = 1
WHITE_STONE: Final = 2

COLOR_NAMES: Final = ("Empty", "Black", "White")
"""By what lies on a point."""


class KoRule(IntEnum):
    """Which repetitions of a position are forbidden.

    `SIMPLE`: retaking at once a stone that has just captured a single stone. `POSITIONAL`: any
    earlier position of stones. `SITUATIONAL`: any earlier position with the same player to move.
    Passes are always legal.
    """

    SIMPLE = 0
    POSITIONAL = 1
    SITUATIONAL = 2


class BoardError(ValueError):
    """A size, point, colour or set-up that is impossible on a board."""


class IllegalPointError(BoardError):
    """A move that the rules forbid: `color` at `point` on `board`."""

    def __init__(self, board: Board, color: int, point: int, reason: str) -> None:
        self.board = board.copy()
        self.color = color
        self.point = point
        name = vertex(point, board.size)
        super().__init__(f"{COLOR_NAMES[color + 1]} may not play at {name}: {reason}, on\n{board}")


def check_size(size: int) -> None:
    """Raise `BoardError` unless `size` is 1 to 25."""
    if not 1 <= size <= MAX_SIZE:
        raise BoardError(f"board size {size} is outside 1 to {MAX_SIZE}")


def history_key(key: int, to_move: int, ko_rule: KoRule) -> int:
    """Return the key of a position in a history: its board hash under a ko rule.

    Situational superko mixes in the player to move.
    """
    if ko_rule == KoRule.SITUATIONAL and to_move == WHITE:
        return key ^ int(rules.WHITE_TO_MOVE)
    return key


class Board:
    """Stones, simple ko and prisoners.

    Attributes:
      size: points on a side, 1 to 25.
      words: the position for kernels, one-dimensional uint32; `miai_go.kernels.rules` has the
        layout.
    """

    __slots__ = ("size", "words")

    def __init__(self, size: int) -> None:
        check_size(size)
        self.size = size
        self.words: NDArray[np.uint32] = _empty_words(size).copy()

    @classmethod
    def from_stones(cls, stones: ArrayLike) -> Self:
        """Set up a position from an array (size, size) of `EMPTY`, `BLACK_STONE`, `WHITE_STONE`.

        There is no ko, and there are no prisoners. Raises `BoardError` if the shape or a value is
        wrong, or a chain has no liberty.
        """
        array = np.asarray(stones)
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise BoardError(f"stones have shape {array.shape}, not (size, size)")
        if not np.isin(array, (EMPTY, BLACK_STONE, WHITE_STONE)).all():
            raise BoardError("stones must be 0 (empty), 1 (black) or 2 (white)")
        board = cls(array.shape[0])
        captured = rules.set_up(board.words, array.astype(np.int8).ravel())
        if captured >= 0:
            name = vertex(captured, board.size)
            raise BoardError(f"the stone at {name} leaves a chain without a liberty")
        return board

    def copy(self) -> Self:
        """Return an independent board in the same position."""
        # Without `__init__`, which would set up an empty board first: searches copy boards all the
        # time.
        twin = object.__new__(type(self))
        twin.size = self.size
        twin.words = self.words.copy()
        return twin

    def play(self, color: int, point: int, *, suicide: bool = False) -> int:
        """Play a move under simple ko; return the number of stones removed.

        A pass only lifts the ko. Raises `IllegalPointError`; the board is then unchanged.
        """
        if not self.is_legal(color, point, suicide=suicide):
            raise IllegalPointError(self, color, point, self._why_illegal(color, point))
        return self.play_unchecked(color, point)

    def play_unchecked(self, color: int, point: int) -> int:
        """Play a legal move, which may be suicide; return the number of stones removed.

        After an illegal move the board is undefined.
        """
        if point == self.size * self.size:
            self.words[rules.KO] = 0
            return 0
        return int(rules.play(self.words, point, color + 1))

    def forget_ko(self) -> None:
        """Let the point that may not be retaken now be a point like others."""
        self.words[rules.KO] = 0

    def is_legal(self, color: int, point: int, *, suicide: bool = False) -> bool:
        """Return whether a move, or the pass, is legal under simple ko. Raises `BoardError`."""
        self._check(color, point)
        if point == self.size * self.size:
            return True
        return rules.is_legal(self.words, point, color + 1, suicide)

    def legal_points(
        self, color: int, *, suicide: bool = False, ko: bool = True
    ) -> NDArray[np.int16]:
        """Return the points where a player may play, ascending, without the pass.

        `ko=False` ignores simple ko.
        """
        points = np.empty(self.size * self.size, np.int16)
        return points[: rules.legal_points(self.words, color + 1, suicide, ko, points)]

    def without_repeats(
        self, color: int, points: NDArray[np.int16], history: NDArray[np.uint64], ko_rule: KoRule
    ) -> NDArray[np.int16]:
        """Return the legal `points` that do not repeat a position of `history`.

        `history` holds the `history_key` of every earlier position and of the present one, which
        forbids the suicide of a single stone under positional superko. Under `KoRule.SIMPLE` all
        points are returned.
        """
        out = points.copy()
        if ko_rule == KoRule.SIMPLE:
            return out
        mark = np.uint64(history_key(0, 1 - color, ko_rule))
        return out[: rules.drop_repeats(self.words, color + 1, out, len(out), history, mark)]

    def hash_after(self, color: int, point: int) -> int:
        """Return the hash after a legal move, captures included, without playing it."""
        if point == self.size * self.size:
            return self.hash
        return int(rules.hash_after(self.words, point, color + 1))

    @property
    def hash(self) -> int:
        """The 64-bit Zobrist hash of the stones, the same in every process and version."""
        return int(self.words[rules.HASH_HIGH]) << 32 | int(self.words[rules.HASH_LOW])

    @property
    def ko_point(self) -> int | None:
        """The point that may not be retaken now, or None."""
        ko = int(self.words[rules.KO])
        return int(self.words[(ko & ~3) + rules.ACTION]) if ko else None

    @property
    def captures(self) -> tuple[int, int]:
        """Prisoners taken by Black and by White; a suicide counts for the opponent."""
        return int(self.words[rules.PRISONERS + 2]), int(self.words[rules.PRISONERS + 1])

    def stones(self) -> NDArray[np.int8]:
        """Return what lies on each point, (size, size), row 0 being the lowest."""
        flat = np.empty(self.size * self.size, np.int8)
        rules.read_stones(self.words, flat)
        return flat.reshape(self.size, self.size)

    def color_at(self, point: int) -> int:
        """Return what lies on a point. Raises `BoardError` off the board."""
        return int(self.words[self._index(point)]) & 3

    def group_at(self, point: int) -> NDArray[np.int16]:
        """Return the points of the chain on `point`, ascending; none if the point is empty."""
        return self._chain(point)[0]

    def chains(self) -> list[list[int]]:
        """Return the points of each chain, ascending; the chains by their lowest point."""
        chains, remaining = [], set(np.flatnonzero(self.stones()).tolist())
        while remaining:
            chains.append(self.group_at(min(remaining)).tolist())
            remaining -= set(chains[-1])
        return chains

    def liberties(self, point: int) -> NDArray[np.int16]:
        """Return the liberties of the chain on `point`, ascending; none if the point is empty."""
        return self._chain(point)[1]

    def area_score(self) -> int:
        """Return Black's area minus White's, with every stone alive and without komi."""
        return self._area()[1]

    def owners(self) -> NDArray[np.int8]:
        """Return the owner of each point: 1 Black, -1 White, 0 neither; shape (size, size).

        A player owns their stones and the empty regions that touch only them (Tromp-Taylor).
        """
        return self._area()[0].reshape(self.size, self.size)

    def __str__(self) -> str:
        """Draw the position, highest row first, with X for Black and O for White."""
        letters = " ".join(COLUMNS[: self.size])
        rows = [
            f"{number:2} " + " ".join(".XO"[stone] for stone in row)
            for number, row in enumerate(self.stones(), start=1)
        ]
        return "\n".join([*reversed(rows), f"   {letters}"])

    def __repr__(self) -> str:
        return f"<Board {self.size}x{self.size} {self.hash:016x}>"

    def _area(self) -> tuple[NDArray[np.int8], int]:
        points = self.size * self.size
        owner = np.empty(points, np.int8)
        return owner, rules.area(self.words, owner, np.empty(points, np.int32))

    def _chain(self, point: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        room = np.empty((2, self.size * self.size), np.int16)
        if self.color_at(point) == EMPTY:
            return room[0, :0], room[1, :0]
        counts = rules.chain_at(self.words, point, room[0], room[1])
        stones, free = divmod(counts, rules.LIBERTY)
        return np.sort(room[0, :stones]), np.sort(room[1, :free])

    def _index(self, point: int) -> int:
        if not 0 <= point < self.size * self.size:
            raise BoardError(f"there is no point {point} on a {self.size}x{self.size} board")
        row, column = divmod(point, self.size)
        return rules.HEADER + rules.RECORD * ((row + 1) * (self.size + 1) + column + 1)

    def _check(self, color: int, point: int) -> None:
        if color not in (BLACK, WHITE):
            raise BoardError(f"there is no player {color}: Black is {BLACK}, White {WHITE}")
        if point != self.size * self.size:
            self._index(point)

    def _why_illegal(self, color: int, point: int) -> str:
        if self.color_at(point) != EMPTY:
            return "the point is occupied"
        if int(self.words[rules.KO]) == self._index(point) + color + 1:
            return "it would retake the ko at once"
        return "it would be suicide"


@cache
def _empty_words(size: int) -> NDArray[np.uint32]:
    return rules.empty_board(size)
