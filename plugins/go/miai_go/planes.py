"""A position as planes for a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from miai_go.board import BLACK, EMPTY
from miai_go.phases import Phase

if TYPE_CHECKING:
    from miai_go.state import GoState

PLANES: Final = 7


def planes_of(state: GoState, player: int) -> NDArray[np.float32]:
    """Return the board as `player` sees it, float32 of shape (7, size, size), row 0 the lowest.

    Planes: 0 own stones, 1 the opponent's, 2 empty points, 3 points where the player to move may
    play, 4 the last stone played, 5 ones when it is `player`'s turn, 6 ones when `player` is Black.
    """
    size = state.game.size
    planes = np.zeros((PLANES, size, size), np.float32)
    stones = state.board.stones()
    planes[0] = stones == player + 1
    planes[1] = stones == 2 - player
    planes[2] = stones == EMPTY
    if state.phase == Phase.PLAY:
        planes[3].reshape(-1)[state.legal_actions()[:-1]] = 1
    last = state.last_action
    if last is not None and last < state.game.pass_action:
        planes[4].reshape(-1)[last] = 1
    planes[5] = state.current_player() == player
    planes[6] = player == BLACK
    return planes
