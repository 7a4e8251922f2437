"""What a finished game of self-play is kept as."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_go.board import Board
from miai_go.data.games import BLACK_WON, DRAWN, WHITE_WON, StoredGame


def finished_game(
    board: Board,
    moves: NDArray[np.int16],
    *,
    half_komi: int,
    loser: int | None = None,
    policy: NDArray[np.float16] | None = None,
    weight: NDArray[np.float16] | None = None,
    root_value: NDArray[np.float16] | None = None,
) -> StoredGame:
    """Return a game that began on the empty board, counted by area as it stands.

    Args:
      board: the last position.
      loser: who resigned, 0 Black, 1 White; then nobody's area is known.
      policy, weight, root_value: see `StoredGame`.
    """
    margin = board.area_score() - half_komi / 2
    result = BLACK_WON if margin > 0 else WHITE_WON if margin < 0 else DRAWN
    ownership: NDArray[np.int8] | None = board.owners().reshape(-1)
    if loser is not None:
        result = WHITE_WON if loser == 0 else BLACK_WON
        margin, ownership = float("nan"), None
    return StoredGame(
        size=board.size,
        moves=moves,
        half_komi=half_komi,
        result=result,
        margin=margin,
        policy=policy,
        weight=weight,
        root_value=root_value,
        ownership=ownership,
    )
