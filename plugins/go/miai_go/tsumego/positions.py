"""Boards from SGF files, for questions about all blocks on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miai_go.game import GoGame
from miai_go.parameters import GoParameters
from miai_go.sgf import SgfError, read_file


def board_of(file: Path, *, moves: int = 0) -> NDArray[np.int8]:
    """Return the board of the first game of a file, after so many moves of its main line.

    Returns:
      int8 of shape (size, size), row 0 lowest, 0 empty, 1 black, 2 white.

    Raises:
      SgfError: it cannot be read, or has fewer moves.
    """
    game = read_file(file)[0]
    line = game.main_line()
    if moves > len(line.actions):
        raise SgfError(
            f"has {len(line.actions)} moves, not {moves}: give fewer with --moves",
            source=str(file),
        )
    played = GoGame(GoParameters.model_validate(game.parameters(line, komi=0.5)))
    return game.replay(played, line, plies=moves).board.stones()
