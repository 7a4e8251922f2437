"""Playouts from a position: results, scores and ownership."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import FAMILY, rules
from miai_go.kernels import playouts as kernels
from miai_go.kernels.tactical import tactical_playouts
from miai_go.rules.board import BLACK, Board, KoRule, check_size


@dataclass(frozen=True, slots=True)
class PlayoutResult:
    """Result of a batch of `count` playouts.

    Attributes:
      black_wins, draws: playouts that Black won, and that were even, komi included.
      mean_score: Black's area minus White's minus komi, points.
      mean_moves: moves per playout, passes included.
      ownership: float64 of shape (size, size): the share of playouts in which Black owned the
        point minus that of White, from -1 to 1.
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
    """Plays seeded playouts on boards of one size.

    A light playout draws uniformly among the legal moves (simple ko, no suicide) that do not fill
    an own eye, and passes only if there is none. It ends after two passes or `limit` moves
    (default: three per point). An eye is a point whose neighbours are all own stones, with at most
    one diagonal point the opponent's; at the edge, none. Scoring is by area. A tactical playout
    answers atari first; see `miai_go.kernels.tactical`.

    The same seed and calls give the same results. Not thread-safe.
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
        self._space = kernels.PlayoutSpace(
            board=np.empty(rules.board_words(size), np.uint32),
            record=np.zeros(limit, np.uint32),
            owner=np.zeros(points, np.int8),
            stack=np.zeros(points, np.int32),
        )
        self._rng = np.array([seed % 2**64], np.uint64)
        self._kernel = tactical_playouts if tactical else kernels.playouts
        self._moves = 0

    def run(
        self, board: Board, color: int, count: int, *, komi: float, passes: int = 0
    ) -> PlayoutResult:
        """Play `count` playouts from `board`, `color` to move after `passes` passes.

        Raises `ValueError` if the board has another size, or `count` is below 1.
        """
        if board.size != self.size:
            raise ValueError(f"these playouts are for boards of size {self.size}, not {board.size}")
        if count < 1:
            raise ValueError(f"the number of playouts must be at least 1, not {count}")
        owned = np.zeros(self.size * self.size, np.int64)
        wins, draws, total, moves = self._kernel(
            board.words, color + 1, passes, count, float(komi), self._rng, self._space, owned
        )
        self._moves = moves if count == 1 else 0
        ownership = (owned / count).reshape(self.size, self.size)
        return PlayoutResult(count, wins, draws, total / count - komi, moves / count, ownership)

    def play(self, board: Board, color: int) -> list[tuple[int, int]]:
        """Play one playout and return its moves as (color, point); `size * size` is the pass."""
        self.run(board, color, 1, komi=0.0)
        played = self._space.record[: self._moves]
        return [(int(move & 3) - 1, self._point(board, int(move) & ~3)) for move in played]

    def _point(self, board: Board, index: int) -> int:
        if index == 0:
            return self.size * self.size
        return int(board.words[index + rules.ACTION])


WARM_UP_SIZE: Final = 3
"""Board size of the calls that load or compile kernels."""
_CENTRE: Final = 4


@cache
def load_rules() -> None:
    """Load the kernels that a game's moves call."""
    with FAMILY.compiling("rules"):
        board = Board(WARM_UP_SIZE)
        # Each kernel is called once, on types that games use: numba compiles for types, not for
        # sizes.
        points = board.legal_points(BLACK)
        board.without_repeats(BLACK, points, np.zeros(1, np.uint64), KoRule.POSITIONAL)
        board.is_legal(BLACK, _CENTRE)
        board.hash_after(BLACK, _CENTRE)
        board.play(BLACK, _CENTRE)
        board.owners()
        board.stones()


@cache
def load_playouts() -> None:
    """Load the kernels of playouts, and of judging dead stones by them."""
    load_rules()
    with FAMILY.compiling("playouts"):
        board = Board(WARM_UP_SIZE)
        board.play(BLACK, _CENTRE)
        board.group_at(_CENTRE)
        Board.from_stones(board.stones())  # counting without the dead stones calls it
        Playouts(WARM_UP_SIZE, 0).run(board, BLACK, 1, komi=0.0)
