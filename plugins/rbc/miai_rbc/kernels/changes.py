"""A taken move and all that it changes in one integer, so that nothing is looked up twice.

When a belief is expanded, a successor is hashed first, and written later if it is new. A *change*
holds what both need: bits 0 to 5 the square from, 6 to 11 the square to, 12 to 14 the piece placed
there, 15 to 17 the piece that leaves, 18 to 20 the piece captured (6 for none), bit 21 for castling
and en passant, bit 22 for a pawn's double step. `NOTHING` is 0, which no move makes: a pawn on a1
that captures a pawn on a1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest
from miai_rbc.kernels import inlined
from miai_rbc.kernels.bits import U64, Int, Words, bit
from miai_rbc.kernels.board import (
    EP_KEYS,
    EP_SHIFT,
    KEPT_RIGHTS,
    KINGS,
    NOTHING,
    PAWNS,
    PIECE_KEYS,
    RIGHTS_KEYS,
    RIGHTS_SHIFT,
    ROOKS,
    STATE,
    WHITE,
    ep_after,
    ep_of,
    rights_of,
    turn_of,
)

EMPTY = 6
"""The type of an empty square on a mailbox."""

Mailbox = NDArray[np.uint8]

_ONE = np.uint64(1)
_SPECIAL, _DOUBLE = 1 << 21, 1 << 22
_KEYS = np.concatenate([PIECE_KEYS, np.zeros((2, 1, 64), np.uint64)], axis=1)  # nothing is 0


@inlined
def read_board(b: Words, mailbox: Mailbox) -> np.uint64:
    """Write the piece type on each square, 0 to 5 or `EMPTY`; return the board's hash."""
    mailbox[:] = EMPTY
    key: np.uint64 = RIGHTS_KEYS[rights_of(b)] ^ EP_KEYS[ep_of(b) + 1]
    white = b[WHITE]
    for kind in range(6):
        left = b[kind]
        while left:
            square = lowest(left)
            left &= left - _ONE
            mailbox[square] = kind
            key ^= PIECE_KEYS[1 - np.int64((white >> U64(square)) & _ONE), kind, square]
    return key


@inlined
def change_of(b: Words, mailbox: Mailbox, move: Int) -> Int:
    """Return the change of a taken move other than `NOTHING`."""
    start, end, becomes = move & 63, (move >> 6) & 63, move >> 12
    kind, captured = np.int64(mailbox[start]), np.int64(mailbox[end])
    placed = becomes if becomes else kind
    change = (move & 4095) | placed << 12 | kind << 15 | captured << 18
    if kind == PAWNS:
        if end == ep_of(b):
            change |= _SPECIAL
        elif abs(end - start) == 16:
            change |= _DOUBLE
    elif kind == KINGS and abs(end - start) == 2:
        change |= _SPECIAL
    return change


@inlined
def hash_changed(key: np.uint64, b: Words, change: Int) -> np.uint64:
    """Return the hash after a change other than `NOTHING`.

    Args:
      key: the hash of the board before, without its en passant square.
    """
    turn, rights = turn_of(b), rights_of(b)
    start, end, placed = change & 63, (change >> 6) & 63, (change >> 12) & 7
    kind, captured = (change >> 15) & 7, (change >> 18) & 7
    key ^= _KEYS[turn, kind, start] ^ _KEYS[turn, placed, end] ^ _KEYS[turn ^ 1, captured, end]
    if rights:
        kept = np.int64(U64(rights) & KEPT_RIGHTS[start] & KEPT_RIGHTS[end])
        key ^= RIGHTS_KEYS[rights] ^ RIGHTS_KEYS[kept]
    if change >= _SPECIAL:
        if change & _DOUBLE:
            key ^= EP_KEYS[ep_after(b, turn, start, end)]
        elif kind == PAWNS:
            key ^= PIECE_KEYS[turn ^ 1, PAWNS, end - 8 if turn == 0 else end + 8]
        else:
            rook_from = end + 1 if end > start else end - 2
            key ^= PIECE_KEYS[turn, ROOKS, rook_from] ^ PIECE_KEYS[turn, ROOKS, (start + end) // 2]
    return key


@inlined
def write_changed(b: Words, change: Int, out: Words, at: Int) -> None:
    """Write the board after a change to ``out[at]``."""
    turn = turn_of(b)
    for word in range(STATE):
        out[at, word] = b[word]
    if change == NOTHING:
        out[at, STATE] = U64(turn ^ 1) | U64(rights_of(b)) << RIGHTS_SHIFT
        return
    start, end, placed = change & 63, (change >> 6) & 63, (change >> 12) & 7
    kind, captured = (change >> 15) & 7, (change >> 18) & 7
    from_bit, to_bit = bit(start), bit(end)
    out[at, captured] &= ~to_bit  # without a capture this is White's word, set below
    out[at, kind] &= ~from_bit
    out[at, placed] |= to_bit
    white = b[WHITE] & ~(from_bit | to_bit)
    if turn == 0:
        white |= to_bit
    ep: Int = 0
    if change >= _SPECIAL:
        if change & _DOUBLE:
            ep = ep_after(b, turn, start, end)
        elif kind == PAWNS:
            gone = bit(end - 8 if turn == 0 else end + 8)
            out[at, PAWNS] &= ~gone
            white &= ~gone
        else:
            rook_from = bit(end + 1 if end > start else end - 2)
            rook_to = bit((start + end) // 2)
            out[at, ROOKS] = (out[at, ROOKS] & ~rook_from) | rook_to
            if turn == 0:
                white = (white & ~rook_from) | rook_to
    out[at, WHITE] = white
    rights = U64(rights_of(b)) & KEPT_RIGHTS[start] & KEPT_RIGHTS[end]
    out[at, STATE] = U64(turn ^ 1) | rights << RIGHTS_SHIFT | U64(ep) << EP_SHIFT
