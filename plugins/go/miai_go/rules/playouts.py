"""Playouts from a position: results, scores and ownership."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import FAMILY, rules
from miai_go.kernels import playouts as kernels
from miai_go.kernels.tactical import tactical_playouts
from miai_go.rules.board import BLACK, Board, KoRule, check_size


@dataclass(frozen=True, slots=True)
class PlayoutResult:
    """What a batch of playouts came to.

    `count`       playouts played
    `black_wins`  how many of them Black won, komi counted
    `draws`       how many were even, komi counted
    `mean_score`  Black's area minus White's minus komi, in points
    `mean_moves`  moves per playout, passes included
    `ownership`   (size, size) `float64`: how often Black minus how often White owned the point,
                  from -1 to 1
    """

    count: int
    black_wins: int
    draws: int
    mean_score: float
    mean_moves: float
    ownership: NDArray[np.float64]

    def value(self, color: int) -> float:
        """Return the mean result for a player, from -1 (lost) to 1 (won)."""
        black = (2 * self.black_wins + self.draws) / self.count - 1
        return black if color == 0 else -black


class Playouts:
    """A seeded player of playouts on boards of one size.

    A light playout draws uniformly among the legal moves (simple ko, no suicide) that do not fill
    an own eye, and passes only if there is none; it ends after two passes, or is broken off after
    `limit` moves (default: three for every point). An eye is a point whose neighbours are all own
    stones, with at most one hostile diagonal, none at the edge. Scoring is by area.

    A tactical one answers atari first, see `miai_go.kernels.tactical`.

    The same seed and calls give the same results. Not safe for use by two threads at once.
    """

    def __init__(
        self, size: int, seed: int, *, limit: int | None = None, tactical: bool = False
    ) -> None:
        check_size(size)
        if limit is None:
            limit = 3 * size * size
        if limit < 1:
            raise ValueError(f"a playout's limit must be at least one move, not {limit}")
        self.size = size
        points = size * size
        self._words = np.empty(rules.board_words(size), np.uint32)
        self._record = np.zeros(limit, np.uint32)
        self._owner = np.zeros(points, np.int8)
        self._stack = np.zeros(points, np.int32)
        self._rng = np.array([seed % 2**64], np.uint64)
        self._kernel = tactical_playouts if tactical else kernels.playouts
        self._moves = 0

    def run(
        self, board: Board, color: int, count: int, *, komi: float, passes: int = 0
    ) -> PlayoutResult:
        """Play `count` playouts from `board` with `color` to move, `passes` passes made before.

        Raises `ValueError` for a board of another size or a count below one.
        """
        if board.size != self.size:
            raise ValueError(f"made for boards of size {self.size}, not {board.size}")
        if count < 1:
            raise ValueError(f"the number of playouts must be at least 1, not {count}")
        owned = np.zeros(self.size * self.size, np.int64)
        wins, draws, total, moves = self._kernel(
            board.words,
            self._words,
            color + 1,
            passes,
            count,
            float(komi),
            self._record,
            self._rng,
            self._owner,
            self._stack,
            owned,
        )
        self._moves = moves if count == 1 else 0
        ownership = (owned / count).reshape(self.size, self.size)
        return PlayoutResult(count, wins, draws, total / count - komi, moves / count, ownership)

    def play(self, board: Board, color: int, *, passes: int = 0) -> list[tuple[int, int]]:
        """Play one playout and return its moves as (color, point); `size * size` is the pass."""
        self.run(board, color, 1, komi=0.0, passes=passes)
        played = self._record[: self._moves]
        return [(int(move & 3) - 1, self._point(board, int(move) & ~3)) for move in played]

    def _point(self, board: Board, index: int) -> int:
        if index == 0:
            return self.size * self.size
        return int(board.words[index + rules.ACTION])


WARM_UP_SIZE = 3


_CENTRE = 4


@cache
def load_rules() -> None:
    """Load what the moves of a game call."""
    with FAMILY.compiling("rules"):
        board = Board(WARM_UP_SIZE)
        points = board.legal_points(BLACK)
        board.without_repeats(BLACK, points, np.zeros(1, np.uint64), KoRule.POSITIONAL)
        board.is_legal(BLACK, _CENTRE)
        board.hash_after(BLACK, _CENTRE)
        board.play(BLACK, _CENTRE)
        board.owners()
        board.stones()


@cache
def load_playouts() -> None:
    """Load playouts, and what else judging dead stones by them calls."""
    load_rules()
    with FAMILY.compiling("playouts"):
        board = Board(WARM_UP_SIZE)
        board.play(BLACK, _CENTRE)
        board.group_at(_CENTRE)
        Board.from_stones(board.stones())  # as counting without the dead stones does
        Playouts(WARM_UP_SIZE, 0).run(board, BLACK, 1, komi=0.0)
