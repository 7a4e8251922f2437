"""`BoardSet`: a set of distinct boards in one array, and what a turn does to it.

The opponent's turn is expanded by one thread or several, in two alternating steps: all threads list
the successors of some boards, sorted by hash into parts; then each adds those of its own parts. No
two threads write the same memory. Without a limit the number of threads changes only the order of
the result; with one, it also decides which boards there is room for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Self, TypeVar

import chess
import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels import filters
from miai_rbc.kernels.bitboards import Int, Words
from miai_rbc.kernels.board import EP_SHIFT, NO_SQUARE, STATE, WORDS
from miai_rbc.kernels.expansion import (
    BLOCK,
    Listed,
    Parts,
    add_boards,
    add_listed,
    close_gaps,
    count_successors,
    list_successors,
    move_tables,
    shuffle,
)
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.scan import count_pieces
from miai_rbc.rules.buffers import POOL
from miai_rbc.rules.rows import board_of_row, row_of_board, row_of_fen

_T = TypeVar("_T")

NO_VIEW: Words = np.zeros(0, np.uint64)
"""In place of a view of `kernels.vision`: all boards show it."""

_LISTED = 1 << 18  # successors that a thread lists at a time
_PART = 1 << 14  # successors per part
_MAX_PARTS = 64
_WORTH_THREADS = 100_000  # successors; with fewer, threads cost more than they gain
_FULL = 0.7  # maximum load of a table
_SPARE = 1.1  # threads take blocks unevenly
_FEW = 1 << 20  # successors for which tables have room at once
_REPEATED = 4  # successors per distinct board, usually


def count_rows(rows: Words, captured: int, *, threads: int = 1) -> int:
    """Return the number of successors of boards, repetitions included; see `expand_rows`."""
    if len(rows) < _WORTH_THREADS // MAX_MOVES:
        return int(count_successors(rows, captured))
    parts = np.array_split(rows, threads)
    return sum(_each(lambda thread: int(count_successors(parts[thread], captured)), threads))


def expand_rows(
    rows: Words,
    captured: int,
    total: int,
    *,
    limit: int | None = None,
    threads: int = 1,
    view: Words = NO_VIEW,
) -> tuple[Words, list[slice]]:
    """Return the distinct successors of boards, and the boards that were not expanded.

    Args:
      rows: (n, 8) distinct boards, the opponent to move.
      captured: the square on which the opponent captured, -1 for none, or `NO_PASS`.
      total: the number of successors, repetitions included.
      view: of `kernels.vision`; successors that do not show it are left out.
      limit: maximum number of distinct successors; None for no limit. Each thread expands its own
        boards in order, until the successors of the next might be too many.
    """
    threads = threads if total > _WORTH_THREADS else 1
    expansion = Expansion(rows, captured, total, limit, threads, view)
    expansion.run()
    return expansion.result(), expansion.unexpanded()


class Expansion:
    """An expansion in progress.

    Attributes:
      threads: the number of threads.
    """

    def __init__(
        self,
        rows: Words,
        captured: int,
        total: int,
        limit: int | None,
        threads: int,
        view: Words,
    ) -> None:
        self._view = view
        self._rows, self._captured, self._limit, self.threads = rows, captured, limit, threads
        parts = 1 << max(0, min(_MAX_PARTS, total // _PART).bit_length() - 1)
        self._parts = max(parts, 1 << (threads - 1).bit_length())
        # The lists of every thread and part.
        batch = min(_LISTED, total)
        room = batch // self._parts + 4 * int((batch / self._parts) ** 0.5) + 2 * MAX_MOVES
        shape = (threads, self._parts, room)
        words = threads * self._parts * room
        self._heads = POOL.take(words).reshape(shape)
        self._changes = POOL.take((words + 1) // 2).view(np.int32)[:words].reshape(shape)
        self._counts = np.zeros((threads, self._parts), np.int64)
        # The distinct boards. Rows that are not reached are never touched and cost nothing.
        expected = total if limit is None else min(total, limit)
        self._lease = POOL.lease(WORDS * int(_SPARE * expected + self._ahead(batch)))
        self._out = self._lease.array().reshape(-1, WORDS)
        likely = expected if expected < _FEW else max(_FEW, expected // _REPEATED)
        self._tables = _tables(self._parts, likely / self._parts)
        self._sizes = np.zeros(self._parts, np.int64)
        self._ends = np.full(self._parts, -1, np.int64)
        self._free = BLOCK * np.arange(threads)  # the next block of each thread
        bounds = np.linspace(0, len(rows), threads + 1).astype(int).tolist()
        self._at, self._until = bounds[:-1], bounds[1:]

    # -- turns ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Expand all boards, or as many as the limit allows."""
        while self._at != self._until:
            _each(self._list, self.threads)
            if not self._counts.any() and self._limit is not None:
                break
            self._make_room()
            _each(self._add, self.threads)

    def _list(self, thread: int) -> None:
        room = _LISTED
        if self._limit is not None:
            room = min(room, (self._limit - int(self._sizes.sum())) // self.threads)
        self._at[thread] = int(
            list_successors(
                self._rows,
                self._at[thread],
                self._until[thread],
                self._captured,
                room,
                self._heads[thread],
                self._changes[thread],
                self._counts[thread],
            )
        )

    def _make_room(self) -> None:
        # Between rounds, when no thread writes: tables and rows may then move.
        counts = self._counts.sum(axis=0)
        need = int((self._sizes + counts).max())
        if need > _FULL * self._tables.shape[1]:
            larger = _tables(self._parts, need)
            move_tables(self._tables, larger)
            self._tables = larger
        rows = int(self._free.max()) + self._ahead(int(counts.sum()))
        if rows > len(self._out):
            lease = POOL.lease(WORDS * 2 * rows)
            larger = lease.array().reshape(-1, WORDS)
            larger[: len(self._out)] = self._out
            self._lease, self._out = lease, larger

    def _ahead(self, counts: int) -> int:
        """Return the maximum number of rows that adding listed successors may take."""
        return self.threads * (counts + 2 * BLOCK * (self._parts + 1))

    def _add(self, thread: int) -> None:
        add_listed(
            self._rows,
            Listed(self._heads, self._changes, self._counts),
            thread,
            self.threads,
            self._out,
            Parts(self._tables, self._sizes, self._ends, self._free),
            self._view,
        )

    # -- the end --------------------------------------------------------------------------------

    def result(self) -> Words:
        """Return the distinct successors, in contiguous rows."""
        top = int(self._free.max())
        free = (range(begin, top, BLOCK * self.threads) for begin in self._free.tolist())
        # Blocks that no part took, and the rest of the blocks in use.
        gaps = [(begin, begin + BLOCK) for blocks in free for begin in blocks]
        gaps += [(e, (e // BLOCK + 1) * BLOCK) for e in self._ends.tolist() if e >= 0]
        self._lease.used = WORDS * top
        return self._out[
            : int(close_gaps(self._out, np.array(sorted(gaps), np.int64).reshape(-1, 2), top))
        ]

    def unexpanded(self) -> list[slice]:
        """Return the ranges of boards that were not expanded."""
        ranges = zip(self._at, self._until, strict=True)
        return [slice(begin, until) for begin, until in ranges if begin < until]


def _each(call: Callable[[int], _T], threads: int) -> list[_T]:
    """Call once for each thread, the first in the caller's, which saves waking one up."""
    others = [_pool(threads - 1).submit(call, thread) for thread in range(1, threads)]
    return [call(0), *(other.result() for other in others)]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "miai-rbc-expansion")


def _tables(parts: int, boards: float) -> NDArray[np.uint64]:
    """Return empty tables with room for a number of boards in each part."""
    size = 1 << max(10, int(boards / _FULL).bit_length())
    tables = POOL.take(parts * size).reshape(parts, size)
    tables[:] = 0
    return tables


# -- the set --------------------------------------------------------------------------------------

BYTES_PER_BOARD = 8 * WORDS
_NO_WEIGHTS = np.zeros(0)
_MUCH_SMALLER = 16


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
        """Return the set of python-chess boards, without their clocks and histories."""
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
        view: Words = NO_VIEW,
    ) -> tuple[Self, Self]:
        """Return the possible boards after the opponent's turn, and the boards not expanded.

        Args:
          captured: the square on which the opponent captured, or None; or `NO_PASS`.
          limit: maximum number of resulting boards, at least `MAX_MOVES`. If there would be more,
            this set is put in random order, and only a uniform sample of it is expanded.
          rng: draws that order.
          view: of `kernels.vision`; other boards are left out, before they are counted.

        Raises:
          ValueError: the limit is too small.
        """
        if limit is not None and limit < MAX_MOVES:
            raise ValueError(f"the limit is at least {MAX_MOVES} boards, got {limit}")
        square = NO_SQUARE if captured is None else captured
        total = count_rows(self.rows, square, threads=threads)
        if limit is not None and total > limit:
            draw = np.random.default_rng(0) if rng is None else rng
            shuffle(self.rows, draw.integers(1 << 63, dtype=np.uint64))
        after, ranges = expand_rows(
            self.rows, square, total, limit=limit, threads=threads, view=view
        )
        unexpanded = np.concatenate([self.rows[:0], *(self.rows[part] for part in ranges)])
        return type(self)(after), type(self)(unexpanded)

    def sensed(self, window: int, pieces: Words) -> Self:
        """Return the boards that show a sensed window. This set is used up.

        Args:
          window: its squares, bit by bit.
          pieces: words 0 to 6 of a row, within the window.
        """
        return self._cut(filters.keep_sensed(self.rows, np.uint64(window), pieces))

    def moved(
        self, requested: int, taken: int, captured: int | None, *, ends: bool = False
    ) -> Self:
        """Return the boards on which a request has this outcome, after it. This set is used up.

        Args:
          requested, taken: moves of `miai_rbc.kernels.board`.
          captured: the square of the capture, or None.
          ends: whether that captured the king.
        """
        square = NO_SQUARE if captured is None else captured
        # Boards that differ in the captured piece, or in the en passant square, become the same.
        merges = square != NO_SQUARE or bool((self.rows[:, STATE] >> EP_SHIFT).any())
        result = self._cut(filters.keep_moved(self.rows, requested, taken, square, ends))
        return result.union() if merges else result

    def play(self, requested: int) -> list[tuple[int, int | None]]:
        """Play a requested move on every board as it turns out there, in place.

        Returns:
          The move taken and the square of the capture of each board.
        """
        results = np.empty((len(self), 2), np.int32)
        filters.play_requested(self.rows, requested, results)
        return [(t, None if c == NO_SQUARE else c) for t, c in results.tolist()]

    def _cut(self, count: Int) -> Self:
        rows = self.rows[: int(count)]
        # A few boards should not keep the memory of many.
        return type(self)(rows.copy() if len(rows) * _MUCH_SMALLER < len(self) else rows)

    # -- looking --------------------------------------------------------------------------------

    def requests(self) -> list[int]:
        """Return the moves that the side to move can request, the same on all boards."""
        moves = np.empty(MAX_MOVES, np.int64)
        count = filters.list_requests(self.rows[0], moves)
        return [int(move) for move in moves[:count]]

    def occupancy(self, weights: NDArray[np.float64] = _NO_WEIGHTS) -> NDArray[np.float64]:
        """Return the probability of every piece on every square.

        Args:
          weights: (n,) of the boards; without them all count the same.

        Returns:
          float64 of shape (8, 8, 13): rank, file, and White's pawn to king, Black's pawn to king,
          empty. Zeros for an empty set.
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
        """Return the boards as python-chess boards with empty histories."""
        return map(board_of_row, self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, row: Words) -> bool:
        return bool((self.rows == row).all(axis=1).any())
