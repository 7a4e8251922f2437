"""What a player of dark chess sees, and which boards would show the same."""

from __future__ import annotations

import numpy as np

from miai.kernels.bits import lowest
from miai_rbc.kernels import inlined, kernel
from miai_rbc.kernels.bitboards import (
    KING,
    KNIGHT,
    PAWN,
    Int,
    Words,
    bishop_attacks,
    bit,
    rook_attacks,
)
from miai_rbc.kernels.board import (
    BISHOPS,
    KINGS,
    KNIGHTS,
    PAWNS,
    QUEENS,
    ROOKS,
    STATE,
    WHITE,
    WORDS,
    ep_of,
    occupied,
    turn_of,
)
from miai_rbc.kernels.moves import Moves, taken_moves

VIEW = 12
"""Words of a view: 0 to 6 the words of a row within the visible squares; the visible squares; the
unseen squares that are occupied; those that are empty; and the bits of the state that are known,
with their values."""

_ONE, _ZERO, _8, _16 = np.uint64(1), np.uint64(0), np.uint64(8), np.uint64(16)
_EVERYWHERE = ~_ZERO
_RANK_3, _RANK_6 = np.uint64(0xFF0000), np.uint64(0xFF0000000000)


@kernel
def list_taken(b: Words, moves: Moves) -> Int:
    """List the moves that the side to move can take; return their number."""
    return taken_moves(b, _EVERYWHERE, True, moves)


@kernel
def visible_squares(b: Words, player: Int) -> np.uint64:
    """Return the squares of a player's pieces and those that they can move to or capture on.

    Both count as if it were the player's turn, but a capture en passant, which also shows the pawn
    to be captured, is seen in its turn only.
    """
    occ = occupied(b)
    own = occ & ~b[WHITE] if player else b[WHITE] & occ
    seen: np.uint64 = own
    remaining = own & ~b[PAWNS]
    while remaining:
        square = lowest(remaining)
        remaining &= remaining - _ONE
        piece = bit(square)
        if piece & b[KNIGHTS]:
            seen |= KNIGHT[square]
        elif piece & b[KINGS]:
            seen |= KING[square]
        if piece & (b[BISHOPS] | b[QUEENS]):
            seen |= bishop_attacks(square, occ)
        if piece & (b[ROOKS] | b[QUEENS]):
            seen |= rook_attacks(square, occ)
    # Pawns see what they can capture, and the free squares ahead; a blocked pawn does not see by
    # what. Castling shows nothing that king and rook do not see.
    remaining = own & b[PAWNS]
    targets = occ & ~own
    ep = ep_of(b)
    if ep >= 0 and turn_of(b) == player:
        targets |= bit(ep)
        seen |= bit(ep + 8 if player else ep - 8)
    steps = (remaining >> _8 if player else remaining << _8) & ~occ
    leaps = (steps & _RANK_6) >> _8 if player else (steps & _RANK_3) << _8
    seen |= steps | (leaps & ~occ)
    while remaining:
        square = lowest(remaining)
        remaining &= remaining - _ONE
        seen |= PAWN[player, square] & targets
    return seen


@inlined
def shows(b: Words, view: Words) -> bool:
    """Return whether a board shows a view."""
    differs = _ZERO
    occ = occupied(b)
    for word in range(STATE):
        differs |= (b[word] & view[7]) ^ view[word]
    differs |= (occ & view[8]) ^ view[8]
    differs |= occ & view[9]
    differs |= (b[STATE] & view[10]) ^ view[11]
    same: bool = differs == _ZERO
    return same


@kernel
def keep_seen(boards: Words, view: Words) -> Int:
    """Keep the boards that show a view; return their number.

    Args:
      boards: (n, 8); those kept are moved to the front, in order.
      view: (VIEW,).
    """
    count = 0
    for i in range(len(boards)):
        seen = shows(boards[i], view)
        for word in range(WORDS):
            boards[count, word] = boards[i, word]
        count += seen
    return count
