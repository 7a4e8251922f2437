"""`BoardSet`: a set of distinct boards in one array, and what a turn does to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

import chess
import numpy as np
from numpy.typing import NDArray

from miai.errors import InvalidStateError
from miai_rbc.expansion import count_rows, expand_rows, rows_of
from miai_rbc.kernels import filters
from miai_rbc.kernels.bits import Int, Words
from miai_rbc.kernels.board import EP_SHIFT, KINGS, NO_SQUARE, PAWNS, STATE, WHITE, WORDS
from miai_rbc.kernels.expand import shuffle
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.scan import count_pieces
from miai_rbc.kernels.table import add_boards
from miai_rbc.rows import board_of_row, row_of_board, row_of_fen

BYTES_PER_BOARD = 8 * WORDS
_NO_WEIGHTS = np.zeros(0)
_END_RANKS = np.uint64(0xFF000000000000FF)
_MUCH_SMALLER = 16
_MAX_BOARDS = 1 << 31  # their numbers are 32 bits wide


class BoardSet:
    """Distinct boards, all with the same side to move; 64 bytes each.

    Attributes:
      rows: (n, 8) uint64; a row is described in `miai_rbc.kernels.board`.
    """

    def __init__(self, rows: Words) -> None:
        if rows.ndim != 2 or rows.shape[1] != WORDS or rows.dtype != np.uint64:
            raise ValueError(f"rows are uint64 (n, {WORDS}), got {rows.dtype} {rows.shape}")
        self.rows = np.ascontiguousarray(rows)

    # -- making ---------------------------------------------------------------------------------

    @classmethod
    def of_boards(cls, boards: Iterable[chess.Board]) -> Self:
        """Return the set of python-chess boards; their clocks and histories are left out."""
        return cls._distinct([row_of_board(board) for board in boards])

    @classmethod
    def of_fens(cls, fens: Iterable[str]) -> Self:
        """Return the set of the positions of FENs. Raises `InvalidStateError` for a bad one."""
        return cls._distinct([row_of_fen(fen) for fen in fens])

    @classmethod
    def _distinct(cls, rows: list[Words]) -> Self:
        return cls(np.array(rows, np.uint64).reshape(-1, WORDS)).union()

    def union(self, *others: Self) -> Self:
        """Return the boards of this set and of others, each once."""
        every = [self.rows, *(other.rows for other in others)]
        total = sum(map(len, every))
        out = np.empty((total, WORDS), np.uint64)
        table = np.zeros(1 << max(4, (2 * total).bit_length()), np.uint64)
        count = 0
        for rows in every:
            count = int(add_boards(rows, out, count, table))
        out.resize((count, WORDS), refcheck=False)
        return type(self)(out)

    def copy(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.rows.copy())

    # -- a turn ---------------------------------------------------------------------------------

    def after_opponent(
        self,
        captured: int | None,
        *,
        limit: int | None = None,
        threads: int = 1,
        rng: np.random.Generator | None = None,
    ) -> tuple[Self, Self]:
        """Return what the boards may have become by the opponent's turn, and the boards left over.

        Args:
          captured: the square on which the opponent captured, None where it captured nothing.
          limit: most boards that may come out. Past it this set is put in a random order, a
            uniform sample of it is expanded and the others are left over, as they are. At least
            `MAX_MOVES`.
          rng: draws that order.

        Raises:
          ValueError: the limit is less than what one board may become.
        """
        if limit is not None and limit < MAX_MOVES:
            raise ValueError(f"the limit is at least {MAX_MOVES} boards, got {limit}")
        told = NO_SQUARE if captured is None else captured
        total = count_rows(self.rows, told, threads=threads)
        if limit is not None and total > limit:
            draw = np.random.default_rng(0) if rng is None else rng
            shuffle(self.rows, draw.integers(1 << 63, dtype=np.uint64))
        found, left = expand_rows(self.rows, told, total, limit=limit, threads=threads)
        return type(self)(found), type(self)(rows_of(self.rows, left))

    def sensed(self, window: int, pieces: Words) -> Self:
        """Return the boards that look as was sensed. This set is used up.

        Args:
          window: the squares sensed, bit by bit.
          pieces: words 0 to 6 of a row, within the window.
        """
        return self._cut(filters.keep_sensed(self.rows, np.uint64(window), pieces))

    def moved(
        self, requested: int, taken: int, captured: int | None, *, ends: bool = False
    ) -> Self:
        """Return the boards after one's own move, where it turns out so. This set is used up.

        Args:
          requested, taken: moves of `miai_rbc.kernels.board`.
          captured: the square of the capture, or None.
          ends: whether that captured the king.
        """
        square = NO_SQUARE if captured is None else captured
        # Boards that differ in the piece captured, or in a pawn that might have been taken in
        # passing, become the same.
        merges = square != NO_SQUARE or bool((self.rows[:, STATE] >> EP_SHIFT).any())
        result = self._cut(filters.keep_moved(self.rows, requested, taken, square, ends))
        return result.union() if merges else result

    def play(self, requested: int) -> list[tuple[int, int | None]]:
        """Play a requested move on every board as it turns out there, in place.

        Returns:
          for each board the move taken and the square of the capture.
        """
        results = np.empty((len(self), 2), np.int32)
        filters.play_requested(self.rows, requested, results)
        return [(t, None if c == NO_SQUARE else c) for t, c in results.tolist()]

    def _cut(self, count: Int) -> Self:
        rows = self.rows[: int(count)]
        # A few boards do not hold the memory of many.
        return type(self)(rows.copy() if len(rows) * _MUCH_SMALLER < len(self) else rows)

    # -- looking --------------------------------------------------------------------------------

    def requests(self) -> list[int]:
        """Return the moves that the side to move can ask for, which are the same on all boards."""
        moves = np.empty(MAX_MOVES, np.int64)
        count = filters.list_requests(self.rows[0], moves)
        return [int(move) for move in moves[:count]]

    def occupancy(self, weights: NDArray[np.float64] = _NO_WEIGHTS) -> NDArray[np.float64]:
        """Return the probability of every piece on every square.

        Args:
          weights: (n,) of the boards; without them all count the same.

        Returns:
          float64 of shape (8, 8, 13): rank, file, and white's pawn to king, black's pawn to king,
          empty. Zeros for a set without boards.
        """
        counts = np.zeros((64, 13))
        count_pieces(self.rows, weights, counts)
        total = weights.sum() if len(weights) else len(self)
        return (counts / total if total else counts).reshape(8, 8, 13)

    def sample(self, count: int, rng: np.random.Generator) -> Self:
        """Return at most `count` boards, drawn uniformly without repetition."""
        if count >= len(self):
            return self.copy()
        return type(self)(self.rows[rng.choice(len(self), count, replace=False)])

    def boards(self) -> Iterator[chess.Board]:
        """Return the boards as those of python-chess, with empty histories."""
        return map(board_of_row, self.rows)

    def fens(self) -> Iterator[str]:
        """Return the boards as FENs with clocks at the start."""
        return (board.fen() for board in self.boards())

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: Words) -> bool:
        return bool((self.rows == row).all(axis=1).any())

    @property
    def nbytes(self) -> int:
        """Return the bytes of the rows."""
        return len(self.rows) * BYTES_PER_BOARD

    # -- files ----------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Write the boards to a file in numpy's format."""
        with path.open("wb") as file:
            np.save(file, self.rows, allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the boards of a file that `save` wrote.

        Raises:
          InvalidStateError: it holds something else.
        """
        try:
            rows = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InvalidStateError(f"{path}: not a set of boards: {error}") from None
        found = (rows.dtype, rows.shape[1:]) if isinstance(rows, np.ndarray) else None
        if found != (np.uint64, (WORDS,)):
            raise InvalidStateError(f"{path}: not a set of boards")
        problem = _problem(rows)
        if problem:
            raise InvalidStateError(f"{path}: {problem}")
        return cls(rows).union()  # each once, whatever the file repeats


def _problem(rows: Words) -> str:
    """Return why rows from a file are no boards; empty when they are."""
    if len(rows) >= _MAX_BOARDS:
        return f"{len(rows)} boards, more than {_MAX_BOARDS}"
    occupied = np.zeros(len(rows), np.uint64)
    for word in range(WHITE):
        if (occupied & rows[:, word]).any():
            return "two pieces stand on one square"
        occupied |= rows[:, word]
    if (rows[:, WHITE] & ~occupied).any():
        return "an empty square is white's"
    return _side_problem(rows, occupied) or _state_problem(rows[:, STATE])


def _side_problem(rows: Words, occupied: Words) -> str:
    white = rows[:, WHITE]
    for side in (white, ~white):
        if (np.bitwise_count(rows[:, KINGS] & side) != 1).any():
            return "a side has not one king"
        if (np.bitwise_count(occupied & side) > 16).any():
            return "a side has more than sixteen pieces"
    if (rows[:, PAWNS] & _END_RANKS).any():
        return "a pawn stands on the first or last rank"
    return ""


def _state_problem(state: Words) -> str:
    if (state >> np.uint64(15)).any() or ((state >> np.uint64(8)) > 64).any():
        return "a state word is out of range"
    if len(state) and ((state ^ state[0]) & np.uint64(1)).any():
        return "both sides are to move"
    return ""
