"""A board as eight words, its hash, and the move that changes it.

A board is a row of eight uint64, one cache line:

=====  ===========================================================================================
word   holds
=====  ===========================================================================================
0-5    the squares of pawns, knights, bishops, rooks, queens and kings of both colours
6      the squares of white's pieces
7      the state: bit 0 the side to move (1 for black), bits 1 to 4 castling rights (K, Q, k, q),
       bits 8 to 14 the square behind a pawn that just moved two squares, plus one; 0 without
=====  ===========================================================================================

The en passant square is there only when a pawn could capture on it, so that boards with the same
future are the same row. Squares are those of `bitboards`. A *taken* move is an integer: bits 0 to 5
the square from, bits 6 to 11 the square to, bits 12 to 14 the piece that a pawn becomes (`KNIGHTS`
to `QUEENS`, else 0). `NOTHING`, a pass or a move that failed, is 0.
"""

from __future__ import annotations

import numpy as np

from miai.kernels.bits import lowest
from miai_rbc.kernels import inlined, part
from miai_rbc.kernels.bitboards import PAWN, U64, Int, Words, bit

PAWNS, KNIGHTS, BISHOPS, ROOKS, QUEENS, KINGS, WHITE, STATE = range(8)
WORDS = 8
NOTHING = 0
NO_SQUARE = -1

RIGHTS_SHIFT, EP_SHIFT = np.uint64(1), np.uint64(8)
_ONE, _ZERO = np.uint64(1), np.uint64(0)
_15, _127 = np.uint64(15), np.uint64(127)


def _kept_rights() -> Words:
    """Return, for each square, the castling rights that remain when a move touches it."""
    rights = np.full(64, 15, np.uint64)
    for square, lost in ((4, 3), (7, 1), (0, 2), (60, 12), (63, 4), (56, 8)):
        rights[square] = 15 ^ lost
    return rights


def _keys() -> tuple[Words, Words, Words]:
    """Return random words for the hash: (2, 6, 64) of pieces, (16,) of rights, (65,) en passant."""
    # A fixed seed: hashes decide the order of boards, and with it what a sample draws.
    rng = np.random.default_rng(0x52424331)
    words = rng.integers(0, 2**64, 2 * 6 * 64 + 16 + 65, np.uint64)
    pieces, rest = words[:768].reshape(2, 6, 64), words[768:]
    # No en passant square has no key, so that an absent one changes nothing.
    rest[16] = 0
    return pieces, rest[:16], rest[16:]


KEPT_RIGHTS = _kept_rights()
PIECE_KEYS, RIGHTS_KEYS, EP_KEYS = _keys()


@inlined
def turn_of(b: Words) -> Int:
    """Return the side to move: 0 for white, 1 for black."""
    return np.int64(b[STATE] & _ONE)


@inlined
def rights_of(b: Words) -> Int:
    """Return castling rights as four bits."""
    return np.int64((b[STATE] >> RIGHTS_SHIFT) & _15)


@inlined
def ep_of(b: Words) -> Int:
    """Return the en passant square, or -1."""
    return np.int64((b[STATE] >> EP_SHIFT) & _127) - 1


@inlined
def occupied(b: Words) -> np.uint64:
    """Return the squares that hold a piece."""
    every: np.uint64 = b[0] | b[1] | b[2] | b[3] | b[4] | b[5]
    return every


@inlined
def type_at(b: Words, squares: np.uint64) -> Int:
    """Return the piece type on a set of one square, 0 to 5; 6 if it is empty."""
    kind = 6
    for k in range(6):
        if b[k] & squares:
            kind = k
    return kind


@part
def board_hash(b: Words) -> np.uint64:
    """Return the 64-bit hash of a board, without the side to move."""
    key: np.uint64 = RIGHTS_KEYS[rights_of(b)] ^ EP_KEYS[ep_of(b) + 1]
    for kind in range(6):
        remaining = b[kind]
        while remaining:
            square = lowest(remaining)
            remaining &= remaining - _ONE
            colour = 1 - np.int64((b[WHITE] >> U64(square)) & _ONE)
            key ^= PIECE_KEYS[colour, kind, square]
    return key


@inlined
def ep_after(b: Words, turn: Int, start: Int, end: Int) -> Int:
    """Return the en passant square plus one after a pawn's two steps; 0 if none can capture."""
    behind = (start + end) // 2
    # A square on which nobody can capture would make two rows of one position.
    enemy = (b[WHITE] if turn else ~b[WHITE]) & b[PAWNS]
    return behind + 1 if PAWN[turn, behind] & enemy else 0


@inlined
def play(b: Words, move: Int, out: Words) -> None:
    """Write the board after a taken move to `out`, another row."""
    turn = turn_of(b)
    if move == NOTHING:
        for word in range(7):
            out[word] = b[word]
        out[STATE] = U64(turn ^ 1) | U64(rights_of(b)) << RIGHTS_SHIFT
        return
    start, end, becomes = move & 63, (move >> 6) & 63, move >> 12
    from_bit, to_bit = bit(start), bit(end)
    touched = ~(from_bit | to_bit)
    kind = type_at(b, from_bit)
    ep: Int = 0
    if kind == PAWNS:
        if end == ep_of(b):
            touched &= ~bit(end - 8 if turn == 0 else end + 8)
        elif abs(end - start) == 16:
            ep = ep_after(b, turn, start, end)
    # Clear both squares in all words, whatever stood there; then put the piece where it arrives.
    for word in range(7):
        out[word] = b[word] & touched
    final_kind = becomes if becomes else kind
    out[final_kind] |= to_bit
    arrivals = to_bit
    if kind == KINGS and abs(end - start) == 2:
        rook_from = bit(end + 1 if end > start else end - 2)
        rook_to = bit((start + end) // 2)
        out[ROOKS] = (out[ROOKS] & ~rook_from) | rook_to
        out[WHITE] &= ~rook_from
        arrivals |= rook_to
    if turn == 0:
        out[WHITE] |= arrivals
    rights = U64(rights_of(b)) & KEPT_RIGHTS[start] & KEPT_RIGHTS[end]
    out[STATE] = U64(turn ^ 1) | rights << RIGHTS_SHIFT | U64(ep) << EP_SHIFT
