"""The opponent's move model: the features of moves, their probabilities, and weights of boards.

A move has up to `SLOTS` features, each a row of the model's table. The sum of their rows is the
input of one hidden layer: a linear unit and rectified ones. Each style of play weighs the units in
its own way; a softmax over all moves that can be taken, and passing, gives its probabilities.
Squares are seen from the mover's side: ranks are mirrored for Black.

Boards have a weight for each style, so that a game shows which the opponent's is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels.bits import lowest
from miai_rbc.kernels import allocating, inlined, part
from miai_rbc.kernels.bitboards import (
    KING,
    KNIGHT,
    NUMBER_0,
    PAWN,
    Int,
    Words,
    bishop_attacks,
    bit,
    rook_attacks,
)
from miai_rbc.kernels.board import (
    BISHOPS,
    EP_KEYS,
    KINGS,
    KNIGHTS,
    NO_SQUARE,
    NOTHING,
    PAWNS,
    ROOKS,
    WHITE,
    WORDS,
    ep_of,
    occupied,
    play,
    turn_of,
    type_at,
)
from miai_rbc.kernels.engine import attackers
from miai_rbc.kernels.expansion import change_of, hash_changed, read_board, row_of, write_changed
from miai_rbc.kernels.moves import MAX_MOVES, Moves, capture_of, taken_moves

_NONE, _ALL = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF)
_32 = np.uint64(32)
# A literal would compile a second version of what takes it.
_QUIET: bool = np.bool_(True)  # type: ignore[assignment]

# -- features --------------------------------------------------------------------------------------

SLOTS = 10
"""Features of a move at most."""

AGES = 5
"""What the opponent may know of our piece on a square: 0 it never moved, 1 it moved on our last
turn, 2 it captured on our last turn, 3 it moved on the turn before, 4 it moved earlier."""

PHASES = 5
"""Parts of a game: turns 0 to 3, 4 to 7, 8 to 15, 16 to 31, and later ones."""

_LEVELS = 7  # none, and the kind of the least attacker

# The first row of each group of features. Row 0 is the absent feature, all zeros.
_FROM = 1
_TO = _FROM + 6 * 64
_CAPTURE = _TO + 6 * 64
_ATTACKED = _CAPTURE + 6 * 6 * AGES
_LEFT = _ATTACKED + 6 * _LEVELS * 2
_CHECK = _LEFT + 6 * _LEVELS * 2
_ESCAPE = _CHECK + 6 * 2
_SPECIAL = _ESCAPE + 2
_DISTANCE = _SPECIAL + 9
_BOARD = _DISTANCE + 6 * 8
FEATURES = _BOARD + 2 * PHASES
"""Rows of the model's table."""

_PASS, _CASTLES_SHORT, _CASTLES_LONG, _EN_PASSANT, _DOUBLE = range(5)
_PROMOTES = 4  # plus the kind, 1 to 4


@inlined
def _level(b: Words, pieces: np.uint64) -> Int:
    """Return the kind of the least of some pieces plus one; 0 without any."""
    for kind in range(6):
        if b[kind] & pieces:
            return kind + 1
    return 0


@inlined
def _reach(kind: Int, turn: Int, square: Int, occ: np.uint64) -> np.uint64:
    """Return the squares that a piece attacks."""
    reach: np.uint64 = _NONE
    if kind == PAWNS:
        reach = PAWN[turn, square]
    elif kind == KNIGHTS:
        reach = KNIGHT[square]
    elif kind == KINGS:
        reach = KING[square]
    else:
        if kind != ROOKS:
            reach |= bishop_attacks(square, occ)
        if kind != BISHOPS:
            reach |= rook_attacks(square, occ)
    return reach


@inlined
def _special(b: Words, kind: Int, start: Int, end: Int, becomes: Int) -> Int:
    """Return the feature of a promotion, en passant capture, double step or castling; else 0."""
    feature: Int = 0
    if becomes:
        feature = _SPECIAL + _PROMOTES + becomes
    elif kind == PAWNS and end == ep_of(b):
        feature = _SPECIAL + _EN_PASSANT
    elif kind == PAWNS and abs(end - start) == 16:
        feature = _SPECIAL + _DOUBLE
    elif kind == KINGS and abs(end - start) == 2:
        feature = _SPECIAL + (_CASTLES_SHORT if end > start else _CASTLES_LONG)
    return feature


@part
def describe_move(
    b: Words,
    move: Int,
    ages: NDArray[np.uint8],
    checked: bool,
    row: Words,
    features: NDArray[np.int16],
) -> None:
    """Write the features of a taken move: (`SLOTS`,), 0 where a feature is absent.

    Args:
      b: (8,) the board before the move.
      ages: (64,) of the pieces of the side not to move; see `AGES`.
      checked: whether the mover's king is attacked.
      row: (8,) scratch.
    """
    # A slot for each kind of feature, so that an absent one is row 0 and needs no branch later.
    features[:] = 0
    if move == NOTHING:
        features[0] = _SPECIAL + _PASS
        if checked:
            features[1] = _ESCAPE
        return
    turn, occ = turn_of(b), occupied(b)
    # Ranks are mirrored for Black, so that one table serves both sides.
    flip = 56 * turn
    start, end, becomes = move & 63, (move >> 6) & 63, move >> 12
    kind = type_at(b, bit(start))
    final_kind = becomes if becomes else kind
    features[0] = _FROM + 64 * kind + (start ^ flip)
    features[1] = _TO + 64 * final_kind + (end ^ flip)
    captured = capture_of(b, move)
    if captured != NO_SQUARE:
        victim = type_at(b, bit(captured))
        features[2] = _CAPTURE + (6 * kind + victim) * AGES + ages[captured]
    # Attacks where the piece arrives and where it left, with its old square empty.
    gone = occ & ~bit(start)
    threats = attackers(b, end, turn ^ 1, gone)
    protected = attackers(b, end, turn, gone) != _NONE
    features[3] = _ATTACKED + 2 * (_LEVELS * kind + _level(b, threats)) + protected
    threats_before = attackers(b, start, turn ^ 1, occ)
    protected = attackers(b, start, turn, gone) != _NONE
    features[4] = _LEFT + 2 * (_LEVELS * kind + _level(b, threats_before)) + protected
    king = b[KINGS] & (b[WHITE] if turn else ~b[WHITE])
    if king:
        if _reach(final_kind, turn, end, gone | bit(end)) & king:
            features[5] = _CHECK + 2 * final_kind + (threats != _NONE)
        square = lowest(king)
        files, ranks = abs((square & 7) - (end & 7)), abs((square >> 3) - (end >> 3))
        features[6] = _DISTANCE + 8 * kind + max(files, ranks)
    features[7] = _special(b, kind, start, end, becomes)
    if checked:
        play(b, move, row)
        own = row[KINGS] & (~row[WHITE] if turn else row[WHITE])
        safe = attackers(row, lowest(own), turn ^ 1, occupied(row)) == _NONE
        features[8] = _ESCAPE + safe


@inlined
def _is_checked(b: Words) -> bool:
    """Return whether the king of the side to move is attacked."""
    turn = turn_of(b)
    king = b[KINGS] & (~b[WHITE] if turn else b[WHITE])
    if king == _NONE:
        return False
    threats = attackers(b, lowest(king), turn ^ 1, occupied(b))
    return bool(threats != _NONE)


@inlined
def _all_moves(b: Words, moves: Moves) -> Int:
    """List all moves that can be taken, `NOTHING` last; return their number."""
    n = taken_moves(b, _ALL, _QUIET, moves)
    moves[n] = NOTHING
    return n + 1


@allocating
def describe_moves(
    b: Words, ages: NDArray[np.uint8], phase: Int, moves: Moves, features: NDArray[np.int16]
) -> Int:
    """List the moves that can be taken on a board, passing included, with their features.

    Args:
      b: (8,).
      ages: as in `describe_move`.
      phase: the part of the game; see `PHASES`.
      moves: (`MAX_MOVES` + 1,) written.
      features: (`MAX_MOVES` + 1, `SLOTS`) written; the last slot describes the board.

    Returns:
      The number of moves.
    """
    row = np.empty(WORDS, np.uint64)
    n = _all_moves(b, moves)
    checked = _is_checked(b)
    for j in range(n):
        describe_move(b, moves[j], ages, checked, row, features[j])
        features[j, SLOTS - 1] = _BOARD + 2 * phase + checked
    return n


# -- probabilities ---------------------------------------------------------------------------------


class ModelTables(NamedTuple):
    """The numbers of a model.

    Attributes:
      table: (`FEATURES`, units) rows of the features; unit 0 is the linear one.
      styles: (styles, units) the weights of the units.
    """

    table: NDArray[np.float32]
    styles: NDArray[np.float32]


class _Scratch(NamedTuple):
    features: NDArray[np.int16]
    row: Words
    hidden: NDArray[np.float32]


@part
def _weigh_moves(
    b: Words,
    ages: NDArray[np.uint8],
    phase: Int,
    model: ModelTables,
    noise: float,
    moves: Moves,
    chances: NDArray[np.float64],
    scratch: _Scratch,
) -> Int:
    """List the moves of a board with their probabilities; return their number."""
    table, styles = model.table, model.styles
    features, hidden = scratch.features, scratch.hidden
    # What is the same for all moves of a board is summed once.
    n = _all_moves(b, moves)
    checked = _is_checked(b)
    board = table[_BOARD + 2 * phase + checked]
    count, units = styles.shape
    for j in range(n):
        describe_move(b, moves[j], ages, checked, scratch.row, features)
        # The hidden layer's input: a sum of rows, as all features are 0 or 1.
        for unit in range(units):
            hidden[unit] = board[unit]
        for slot in range(SLOTS - 1):
            if features[slot]:
                entry = table[features[slot]]
                for unit in range(units):
                    hidden[unit] += entry[unit]
        for unit in range(1, units):
            hidden[unit] = max(hidden[unit], np.float32(0.0))
        for style in range(count):
            logit = np.float32(0.0)
            for unit in range(units):
                logit += hidden[unit] * styles[style, unit]
            chances[style, j] = logit
    for style in range(count):
        _softmax(chances[style], n, noise)
    return n


@inlined
def _softmax(chances: NDArray[np.float64], n: Int, noise: float) -> None:
    """Turn logits into probabilities; `noise` is that of a move at random."""
    # Less the greatest, so that `exp` cannot overflow.
    greatest = chances[0]
    for j in range(1, n):
        greatest = max(greatest, chances[j])
    total = 0.0
    for j in range(n):
        chances[j] = np.exp(chances[j] - greatest)
        total += chances[j]
    for j in range(n):
        chances[j] = (1.0 - noise) * chances[j] / total + noise / n


@allocating
def weigh_moves(
    b: Words,
    ages: NDArray[np.uint8],
    phase: Int,
    model: ModelTables,
    moves: Moves,
    chances: NDArray[np.float64],
) -> Int:
    """List the moves of a board with their probabilities; return their number.

    Args:
      b, ages, phase: as in `describe_moves`.
      moves: (`MAX_MOVES` + 1,) written.
      chances: (styles, `MAX_MOVES` + 1) written.
    """
    units = model.table.shape[1]
    scratch = _Scratch(
        np.empty(SLOTS, np.int16), np.empty(WORDS, np.uint64), np.empty(units, np.float32)
    )
    return _weigh_moves(b, ages, phase, model, 0.0, moves, chances, scratch)


class Successors(NamedTuple):
    """Where `carry_weights` writes.

    Attributes:
      rows, weights: (m, 8), (m, styles); m exceeds the number of successors.
      slots: a table of zeros, its length a power of two greater than m.
    """

    rows: Words
    weights: NDArray[np.float64]
    slots: Words


@allocating
def carry_weights(
    boards: Words,
    weights: NDArray[np.float64],
    captured: Int,
    noise: float,
    ages: NDArray[np.uint8],
    phase: Int,
    model: ModelTables,
    successors: Successors,
) -> Int:
    """Expand weighted boards by the opponent's turn; return the number of distinct successors.

    A successor weighs the sum, over the boards that lead to it, of their weight times the
    probability of the move, for each style by itself.

    Args:
      boards, weights: (n, 8), (n, styles).
      captured: the square on which the opponent captured, -1 for none.
      noise: probability of a move at random, whatever the style.
      ages, phase, model: as in `weigh_moves`.
    """
    out, sums, slots = successors.rows, successors.weights, successors.slots
    styles, units = model.styles.shape
    moves = np.empty(MAX_MOVES + 1, np.int64)
    chances = np.empty((styles, MAX_MOVES + 1), np.float64)
    scratch = _Scratch(
        np.empty(SLOTS, np.int16), np.empty(WORDS, np.uint64), np.empty(units, np.float32)
    )
    mailbox = np.empty(64, np.uint8)
    count = NUMBER_0
    for i in range(len(boards)):
        b = boards[i]
        n = _weigh_moves(b, ages, phase, model, noise, moves, chances, scratch)
        # A turn ends the right to capture en passant, so all successors begin without its key.
        bare = read_board(b, mailbox) ^ EP_KEYS[ep_of(b) + 1]
        for j in range(n):
            # The observed capture rules most moves out, after their chances: these are shares of
            # all.
            if capture_of(b, moves[j]) != captured:
                continue
            change: Int = NOTHING
            key = bare
            if moves[j] != NOTHING:
                change = change_of(b, mailbox, moves[j])
                key = hash_changed(bare, b, change)
            # Write the successor behind the last, and keep it there if it is new.
            write_changed(b, change, out, count)
            row = row_of(key >> _32, slots, out, count)
            if row == count:
                for style in range(styles):
                    sums[row, style] = 0.0
                count += 1
            for style in range(styles):
                sums[row, style] += weights[i, style] * chances[style, j]
    return count
