"""`ChessEvaluator`: batches of boards in, centipawns and best moves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels.bitboards import NO_MOVE, Words


@dataclass(frozen=True, slots=True)
class BoardEvaluations:
    """An engine's values of a batch of boards.

    Attributes:
      scores: int32 (n,), centipawns for the side to move.
      moves: int32 (n, top), moves of `kernels.board`, best first; `NO_MOVE` where there are fewer.
      move_scores: int32 (n, top), centipawns for the side to move; meaningless without a move.
    """

    scores: NDArray[np.int32]
    moves: NDArray[np.int32]
    move_scores: NDArray[np.int32]

    @classmethod
    def empty(cls, count: int, top: int) -> Self:
        """Return an evaluation to fill in, without moves."""
        moves = np.full((count, top), NO_MOVE, np.int32)
        return cls(np.zeros(count, np.int32), moves, np.zeros((count, top), np.int32))


class ChessEvaluator(Protocol):
    """Values boards as positions of chess in which capturing the king wins.

    With limits in depth or nodes the same batches since `new_game` give the same values.
    """

    def new_game(self) -> None:
        """Forget all that could make values depend on earlier games."""

    def evaluate(
        self, rows: Words, *, top: int = 1, depth: int | None = None, deadline: float | None = None
    ) -> BoardEvaluations:
        """Value boards, each by itself.

        Args:
          rows: uint64 (n, 8).
          top: number of best moves of each board.
          depth: plies of each search, at most 30; None for the engine's own.
          deadline: on the monotonic clock. Boards not valued by then get a quick value without
            search. Their list of best moves may be shorter, but a board with moves gets one.

        Raises:
          EngineError: the engine died, hung or gave an invalid answer, and so did its replacement,
            before the deadline.
        """

    def close(self) -> None:
        """End the engine's processes."""
