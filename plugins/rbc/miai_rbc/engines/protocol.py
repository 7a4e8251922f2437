"""`ChessEvaluator`: batches of boards in, centipawns and best moves out.

Making the engine that an agent's parameters name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from miai_rbc.kernels.bits import Words
from miai_rbc.parameters import DEEPEST, ChessEngineParameters


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an engine says of a batch of boards.

    Attributes:
      scores: int32 (n,), centipawns from the point of view of the side to move.
      moves: int32 (n, top), best first, moves of `kernels.board`; `NO_MOVE` where there are fewer.
      move_scores: int32 (n, top), centipawns from the same point of view; of no meaning where
        there is no move.
    """

    scores: NDArray[np.int32]
    moves: NDArray[np.int32]
    move_scores: NDArray[np.int32]


class ChessEvaluator(Protocol):
    """Values boards as positions of chess in which capturing the king wins.

    With limits in depth or nodes the same batches since `new_game` give the same values.
    """

    def new_game(self) -> None:
        """Forget whatever could make a value depend on earlier games."""

    def evaluate(self, rows: Words, *, top: int = 1, deadline: float | None = None) -> Evaluation:
        """Value boards, each by itself.

        Args:
          rows: uint64 (n, 8).
          top: best moves wanted for each board.
          deadline: on the monotonic clock. What is not valued by then is given a quick value
            without search; a list of best moves may be shorter, but each board that has a move
            gets one.

        Raises:
          EngineError: the engine died, hung or answered nonsense, and so did the one started after
            it, within the deadline.
        """

    def close(self) -> None:
        """End what the engine runs."""


def make_engine(given: ChessEngineParameters) -> ChessEvaluator:
    """Return the engine.

    Raises:
      AgentUnavailableError: its program is missing.
    """
    if given.engine == "stockfish":
        from miai_rbc.engines.stockfish import StockfishEngine, StockfishParameters

        return StockfishEngine(
            StockfishParameters(
                command=given.command,
                depth=given.search_depth,
                nodes=given.nodes,
                seconds=given.movetime,
                processes=given.processes,
                hash_mb=given.hash_mb,
                threads=given.engine_threads,
                longest=given.longest,
            )
        )
    from miai_rbc.engines.kernel import KernelEngine, KernelParameters

    depth = DEEPEST if given.search_depth is None else given.search_depth
    return KernelEngine(KernelParameters(depth=depth, nodes=given.nodes, table_mb=given.hash_mb))
