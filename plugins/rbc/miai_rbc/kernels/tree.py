"""The boards from the root of a search to the current node, one row for each ply.

A row is the eight words of a board, its hash with the side to move (`KEY`) and the packed values of
its pieces on their squares (`SQUARES`, an int64 kept as uint64). A *described* move is a taken move
with the piece that moves in bits 15 to 17 and the piece it captures, 6 for none, in bits 18 to 20.
"""

from __future__ import annotations

import numpy as np

from miai.kernels import spelt_out
from miai.kernels.bits import lowest
from miai_rbc.kernels import inlined, part
from miai_rbc.kernels.bits import (
    KING,
    KNIGHT,
    PAWN,
    U64,
    Int,
    Words,
    bishop_attacks,
    bit,
    rook_attacks,
)
from miai_rbc.kernels.board import (
    BISHOPS,
    EP_KEYS,
    EP_SHIFT,
    KEPT_RIGHTS,
    KINGS,
    KNIGHTS,
    PAWNS,
    PIECE_KEYS,
    QUEENS,
    RIGHTS_KEYS,
    RIGHTS_SHIFT,
    ROOKS,
    STATE,
    WHITE,
    WORDS,
    ep_after,
    ep_of,
    occupied,
    rights_of,
    turn_of,
    type_at,
)
from miai_rbc.kernels.evaluation import SQUARE_VALUES

KEY, SQUARES, ROW_WORDS = 8, 9, 10
MAX_PLY = 128
"""Rows of a tree, the maximum depth of a search."""
TAKEN = 0x7FFF
"""The bits of a described move that are the taken move."""
NO_CAPTURE = 6

TURN_KEY = np.uint64(0x9D39247E33776D41 ^ 0x5BF03635B5F7F1A3)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inlined
def describe(b: Words, move: Int) -> Int:
    """Return a taken move other than `NOTHING` with the pieces that move and are captured."""
    end = (move >> 6) & 63
    kind = type_at(b, bit(move & 63))
    captured = type_at(b, bit(end))
    if kind == PAWNS and end == ep_of(b):
        captured = PAWNS
    return move | kind << 15 | captured << 18


@spelt_out
def plant(tree: Words, board: Words, salt: np.uint64) -> None:
    """Make a board the root; `salt` is mixed into its key and so into all keys below it."""
    root = tree[0]
    for word in range(WORDS):
        root[word] = board[word]
    key = salt ^ RIGHTS_KEYS[rights_of(root)] ^ EP_KEYS[ep_of(root) + 1]
    if turn_of(root):
        key ^= TURN_KEY
    squares = np.int64(0)
    for kind in range(6):
        left = root[kind]
        while left:
            square = lowest(left)
            left &= left - _ONE
            colour = 0 if root[WHITE] & bit(square) else 1
            key ^= PIECE_KEYS[colour, kind, square]
            squares += SQUARE_VALUES[colour, kind, square]
    root[KEY], root[SQUARES] = key, U64(squares)


@inlined
def advance(tree: Words, ply: Int, move: Int) -> None:
    """Write the row after a described move to the next ply, as `board.play` would."""
    # bound once, as each mention of a constant array is compiled again
    keys, values, kept_by = PIECE_KEYS, SQUARE_VALUES, KEPT_RIGHTS
    ep_keys, rights_keys = EP_KEYS, RIGHTS_KEYS
    b, out = tree[ply], tree[ply + 1]
    turn, rights, ep = turn_of(b), rights_of(b), ep_of(b)
    start, end, becomes = move & 63, (move >> 6) & 63, (move >> 12) & 7
    kind, captured = (move >> 15) & 7, (move >> 18) & 7
    key = b[KEY] ^ TURN_KEY ^ ep_keys[ep + 1] ^ rights_keys[rights]
    squares = np.int64(b[SQUARES])
    for word in range(7):
        out[word] = b[word]
    if captured != NO_CAPTURE:
        square: Int = end
        if kind == PAWNS and end == ep:
            square = end + 8 if turn else end - 8
        out[captured] ^= bit(square)
        out[WHITE] &= ~bit(square)
        key ^= keys[turn ^ 1, captured, square]
        squares -= values[turn ^ 1, captured, square]
    placed = becomes if becomes else kind
    out[kind] ^= bit(start)
    out[placed] ^= bit(end)
    moved = bit(start) | bit(end)
    key ^= keys[turn, kind, start] ^ keys[turn, placed, end]
    squares += values[turn, placed, end] - values[turn, kind, start]
    new_ep: Int = 0
    if kind == PAWNS:
        if abs(end - start) == 16:
            new_ep = ep_after(b, turn, start, end)
    elif kind == KINGS and abs(end - start) == 2:
        rook, hop = end + 1 if end > start else end - 2, (start + end) // 2
        both = bit(rook) | bit(hop)
        out[ROOKS] ^= both
        moved |= both
        key ^= keys[turn, ROOKS, rook] ^ keys[turn, ROOKS, hop]
        squares += values[turn, ROOKS, hop] - values[turn, ROOKS, rook]
    if turn == 0:
        out[WHITE] ^= moved
    kept = U64(rights) & kept_by[start] & kept_by[end]
    out[STATE] = U64(turn ^ 1) | kept << RIGHTS_SHIFT | U64(new_ep) << EP_SHIFT
    out[KEY] = key ^ ep_keys[new_ep] ^ rights_keys[np.int64(kept)]
    out[SQUARES] = U64(squares)


@part
def attackers(b: Words, square: Int, colour: Int, occ: np.uint64) -> np.uint64:
    """Return the pieces of a colour that attack a square, if only `occ` is occupied."""
    side = (~b[WHITE] if colour else b[WHITE]) & occ
    pieces = PAWN[colour ^ 1, square] & b[PAWNS] | KNIGHT[square] & b[KNIGHTS]
    pieces |= KING[square] & b[KINGS]
    pieces |= bishop_attacks(square, occ) & (b[BISHOPS] | b[QUEENS])
    pieces |= rook_attacks(square, occ) & (b[ROOKS] | b[QUEENS])
    return U64(side & pieces)


@inlined
def king_attackers(b: Words, colour: Int) -> np.uint64:
    """Return the pieces of a colour that attack the other's king, which must be there."""
    king = b[KINGS] & (b[WHITE] if colour else ~b[WHITE])
    return attackers(b, lowest(king), colour, occupied(b))
