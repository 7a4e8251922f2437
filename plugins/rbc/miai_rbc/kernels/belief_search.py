"""What the searches over beliefs of boards share: hashes, senses, moves, replies and values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import popcount
from miai.kernels.shared import hash_of
from miai_rbc.kernels import allocating, inlined, kernel, part
from miai_rbc.kernels.bitboards import NUMBER_0, U64, WIN, Int, Words, bit
from miai_rbc.kernels.board import KINGS, NOTHING, STATE, WHITE, play, turn_of
from miai_rbc.kernels.engine import (
    ALPHA,
    BETA,
    DEPTH,
    INFINITE,
    LIMIT,
    NODES,
    QUIESCENCE,
    UNKNOWN,
    Frames,
    List,
    Memory,
    close_node,
    descend,
    fold_value,
    forget,
    next_move,
    open_node,
    plant,
)
from miai_rbc.kernels.moves import MAX_MOVES, capture_of, revise, taken_moves

# -- boards and their outcomes ---------------------------------------------------------------------

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]

OVER = -2
"""The code of an observation that a king was captured, which ends the game."""

_ALL, _NONE, _ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0), np.uint64(1)
_PIECES = np.array([100, 320, 330, 500, 950, 0], np.int64)


@kernel
def hash_boards(boards: Words, out: Words) -> None:
    """Write a 64-bit hash of each board: (n,)."""
    for i in range(len(boards)):
        out[i] = hash_of(boards[i], _NONE)


@inlined
def takes_king(b: Words, square: Int) -> bool:
    """Return whether a capture on a square, -1 for none, is of the king not to move."""
    king = b[KINGS] & (b[WHITE] if turn_of(b) else ~b[WHITE])
    return bool(square >= 0 and king & bit(square) != _NONE)


@inlined
def seen_on(b: Words, player: Int, centre: Int) -> np.uint64:
    """Return the outcome of a sense on a board: nine codes of four bits.

    The player's own pieces are the same on all boards of a belief and left out, so that the outcome
    is 0 if no piece of the opponent is seen.
    """
    # Of the opponent's pieces, by kind: a belief has few kinds in a window, and most are skipped.
    theirs = b[WHITE] if player else ~b[WHITE]
    code = _NONE
    for k in range(6):
        pieces = b[k] & theirs
        if pieces == _NONE:
            continue
        for i in range(9):
            if pieces & bit(centre + 8 * (i // 3 - 1) + i % 3 - 1):
                code |= U64(k + 1) << U64(4 * i)
    return code


@kernel
def sense_outcomes(boards: Words, player: int, centre: int, out: Words) -> None:
    """Write the outcome of a sense on each board, see `seen_on`: (n,)."""
    for i in range(len(boards)):
        out[i] = seen_on(boards[i], player, centre)


@allocating
def count_replies(boards: Words, starts: Numbers) -> None:
    """Write the index of each board's first reply, a pass included: (n + 1,)."""
    moves = np.empty(MAX_MOVES, np.int64)
    starts[0] = 0
    for i in range(len(boards)):
        starts[i + 1] = starts[i] + taken_moves(boards[i], _ALL, True, moves) + 1


@allocating
def write_replies(boards: Words, starts: Numbers, out: Words, captures: Numbers) -> None:
    """Write every board after every move that its side to move can take, and after a pass.

    Args:
      boards, starts: (n, 8), (n + 1,) as `count_replies` wrote it.
      out: (starts[n], 8) written.
      captures: (starts[n],) written: the square of the capture, -1 for none, or `OVER`.
    """
    moves = np.empty(MAX_MOVES, np.int64)
    for i in range(len(boards)):
        b = boards[i]
        n = taken_moves(b, _ALL, True, moves)
        moves[n] = NOTHING
        for j in range(n + 1):
            index = starts[i] + j
            captures[index] = capture_of(b, moves[j])
            if takes_king(b, captures[index]):
                captures[index] = OVER
            play(b, moves[j], out[index])


@inlined
def material_of(b: Words, player: Int) -> Int:
    """Return the material of a board in centipawns, for a player."""
    mine = ~b[WHITE] if player else b[WHITE]
    total = np.int64(0)
    for k in range(5):
        total += _PIECES[k] * (popcount(b[k] & mine) - popcount(b[k] & ~mine))
    return total


@kernel
def material(boards: Words, player: int, out: NDArray[np.float64]) -> None:
    """Write the material of each board in centipawns, for a player: (n,)."""
    for i in range(len(boards)):
        out[i] = material_of(boards[i], player)


@kernel
def play_request(boards: Words, request: int, out: Words, codes: Numbers) -> None:
    """Write every board after a request as it turns out there.

    Args:
      out: (n, 8) written.
      codes: (n,) written: 128 times the move taken, plus the square of the capture or 64 for none;
        `OVER` if it captures the king.
    """
    for i in range(len(boards)):
        b = boards[i]
        taken = revise(b, request)
        square = capture_of(b, taken)
        codes[i] = 128 * taken + (64 if square < 0 else square)
        if takes_king(b, square):
            codes[i] = OVER
        play(b, taken, out[i])


@kernel
def replace_own_pieces(boards: Words, own: Words, player: int, rights: int, out: Words) -> int:
    """Write boards with other own pieces, the opponent to move; return their number.

    Pieces of the opponent on the same squares are removed; boards without its king are left out.

    Args:
      own: (6,) the player's pieces by kind.
      rights: the player's castling rights, four bits.
      out: (n, 8) written.
    """
    mine = _NONE
    for k in range(6):
        mine |= own[k]
    castling_rights = U64(rights)
    theirs_mask = U64(3 if player else 12)
    count = 0
    # The opponent's pieces stay, unless the player stands there now.
    for i in range(len(boards)):
        b = boards[i]
        theirs = (b[WHITE] if player else ~b[WHITE]) & ~mine
        if b[KINGS] & theirs == _NONE:
            continue
        white = b[WHITE] & theirs if player else mine
        for k in range(6):
            out[count, k] = (b[k] & theirs) | own[k]
        out[count, WHITE] = white
        castling = (b[STATE] >> _ONE) & theirs_mask | castling_rights
        out[count, STATE] = U64(player ^ 1) | castling << _ONE
        count += 1
    return count


@kernel
def remove_pieces(boards: Words, squares: np.uint64, turn: int) -> None:
    """Remove the pieces on some squares from all boards, and set the side to move, in place."""
    for i in range(len(boards)):
        for word in range(7):
            boards[i, word] &= ~squares
        boards[i, STATE] = (boards[i, STATE] & ~_ONE) & U64(0x1F) | U64(turn)


# -- values where the depth ends ------------------------------------------------------------------

_NO_LIMIT = 1 << 60


@part
def quiet_value(
    b: Words,
    alpha: Int,
    beta: Int,
    tree: Words,
    frames: Frames,
    lists: List,
    memory: Memory,
    table: Words,
) -> Int:
    """Return the value of a board by quiescence alone, for its side to move.

    A value inside the window is exact; at or beyond its ends it is a bound.

    Args:
      tree, frames, lists, memory, table: work space, as for `miai_rbc.kernels.engine`; memory has
        quiescence and no limit in nodes.
    """
    mine = ~b[WHITE] if turn_of(b) else b[WHITE]
    if b[KINGS] & mine == _NONE:
        return -WIN
    # As a search of depth 0, whose frames go through captures only.
    memory[NODES] = 0
    plant(tree, b, _NONE)
    frames[0, DEPTH], frames[0, ALPHA], frames[0, BETA] = 0, alpha, beta
    ply = NUMBER_0
    value = open_node(tree, frames, memory, table, ply)
    while True:
        while value != UNKNOWN or next_move(tree, frames, lists, memory, ply) == 0:
            if value == UNKNOWN:
                value = close_node(tree, frames, table, ply)
            if ply == 0:
                return value
            ply -= 1
            fold_value(tree, frames, memory, ply, -value)
            value = UNKNOWN
        descend(tree, frames, table, ply)
        ply += 1
        value = open_node(tree, frames, memory, table, ply)


@kernel
def quiet_values(
    boards: Words,
    tree: Words,
    frames: Frames,
    lists: List,
    memory: Memory,
    table: Words,
    values: Values,
) -> None:
    """Write the values of boards by quiescence alone, for their side to move: (n,).

    This is the quiescence of `miai_rbc.kernels.engine` at the root: stand pat or capture; if the
    king is attacked, try all moves; a king that can be captured is lost.

    Args:
      tree, frames, lists, memory, table: work space, as for `miai_rbc.kernels.engine`.
    """
    settle(memory)
    lost = -INFINITE
    for i in range(len(boards)):
        # A constant as the upper end has a type of its own: everything would be compiled again.
        values[i] = quiet_value(boards[i], lost, -lost, tree, frames, lists, memory, table)


@part
def settle(memory: Memory) -> None:
    """Prepare the memory of an engine for `quiet_value`."""
    forget(memory)
    memory[QUIESCENCE], memory[LIMIT] = 1, _NO_LIMIT
