"""Move ordering: moves are listed in stages and the most promising tried first.

A list of moves is a row of int64: a described move (`tree`) in bits 0 to 20 and, above, its weight.
The heaviest is tried next; of equal weights the larger number.

The memory of a search is an int64 array: its counters and switches, two killer moves for each ply,
and a history of how often a piece's move to a square caused a cut-off.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai.kernels import spelt_out
from miai.kernels.bits import lowest
from miai_rbc.kernels import inlined, part
from miai_rbc.kernels.bits import Int, Words, bit
from miai_rbc.kernels.board import PAWNS, QUEENS, WHITE, occupied, turn_of
from miai_rbc.kernels.moves import MAX_MOVES, taken_moves
from miai_rbc.kernels.tree import MAX_PLY, NO_CAPTURE, attackers, describe

List: TypeAlias = NDArray[Any]
Memory: TypeAlias = NDArray[np.int64]

NODES, LIMIT, STOPPED, QUIESCENCE = range(4)
"""Indices of a memory: nodes so far, the node limit, whether the search stopped, and whether
captures are searched beyond the depth."""
_KILLERS = 8
_HISTORY = _KILLERS + 2 * MAX_PLY
MEMORY = _HISTORY + 2 * 6 * 64

LIST = MAX_MOVES + 8
"""Length of a list; not a multiple of the cache's stride."""
DESCRIBED = 0x1FFFFF
"""The bits of an entry that are the described move."""

CAPTURES, QUIETS, FORCING = np.int64(1), np.int64(2), np.int64(4)
"""The kinds of moves; see `list_moves`."""

_WEIGHT = 21
_SLIGHT = 50  # centipawns; pieces that differ by no more count as equal
_PROMOTION, _FIRST_KILLER, _SECOND_KILLER = 1 << 22, (1 << 21) + 1, 1 << 21
_MAX_HISTORY = 1 << 20

VALUES = np.array([100, 320, 330, 500, 950, 20_000, 0], np.int64)
"""Centipawns of a piece in exchanges."""

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_8, _ALL = np.uint64(8), np.uint64(0xFFFFFFFFFFFFFFFF)
_RANK_7, _RANK_2 = np.uint64(0xFF << 48), np.uint64(0xFF << 8)


@inlined
def heaviest(moves: List, i: Int, n: Int) -> Int:
    """Swap the heaviest entry of `moves[i:n]` to index `i`; return its described move."""
    best, top = i, moves[i]
    for j in range(i + 1, n):
        if moves[j] > top:
            best, top = j, moves[j]
    moves[best] = moves[i]
    moves[i] = top
    move: Int = top & DESCRIBED
    return move


@part
def list_moves(b: Words, what: Int, moves: List, memory: Memory, ply: Int) -> Int:
    """List moves with their weights; return their number.

    `CAPTURES`: the most valuable victim first, then the least valuable attacker. `QUIETS`, which
    capture nothing: promotions, killers, then by history. `FORCING`: captures and promotions that
    may win material, without captures of defended lesser pieces and underpromotions.
    """
    turn, occ = turn_of(b), occupied(b)
    n = taken_moves(b, _ZERO if what == QUIETS else _ALL, what == QUIETS, moves)
    first, second = memory[_KILLERS + 2 * ply], memory[_KILLERS + 2 * ply + 1]
    kept: Int = 0
    for i in range(n):
        move = describe(b, np.int64(moves[i]))
        start, end, becomes = move & 63, (move >> 6) & 63, (move >> 12) & 7
        kind, captured = (move >> 15) & 7, (move >> 18) & 7
        if what == QUIETS:
            weight: Int = memory[_place(turn, move)]
            if becomes == QUEENS:
                weight = _PROMOTION
            elif move == first:
                weight = _FIRST_KILLER
            elif move == second:
                weight = _SECOND_KILLER
        else:
            weight = 16 * VALUES[captured] + VALUES[becomes] - kind
            if what == FORCING:
                if becomes != 0 and becomes != QUEENS:
                    continue
                if VALUES[kind] > VALUES[captured] + _SLIGHT and attackers(
                    b, end, turn ^ 1, occ & ~bit(start)
                ):
                    continue
        moves[kept] = move | weight << _WEIGHT
        kept += 1
    if what == FORCING:
        kept = _add_promotions(b, turn, occ, moves, kept)
    return kept


@spelt_out
def _add_promotions(b: Words, turn: Int, occ: np.uint64, moves: List, n: Int) -> Int:
    """Add the promotions to a queen that capture nothing."""
    pawns = b[PAWNS] & (~b[WHITE] & _RANK_2 if turn else b[WHITE] & _RANK_7)
    pawns &= ~(occ << _8 if turn else occ >> _8)
    while pawns:
        start = lowest(pawns)
        pawns &= pawns - _ONE
        end = start - 8 if turn else start + 8
        moves[n] = start | end << 6 | QUEENS << 12 | NO_CAPTURE << 18 | 16 * 800 << _WEIGHT
        n += 1
    return n


@inlined
def _place(turn: Int, move: Int) -> Int:
    return _HISTORY + (6 * turn + ((move >> 15) & 7)) * 64 + ((move >> 6) & 63)


@spelt_out
def credit(memory: Memory, ply: Int, turn: Int, move: Int, depth: Int) -> None:
    """Record that a move without capture caused a cut-off."""
    if memory[_KILLERS + 2 * ply] != move:
        memory[_KILLERS + 2 * ply + 1] = memory[_KILLERS + 2 * ply]
        memory[_KILLERS + 2 * ply] = move
    at = _place(turn, move)
    memory[at] = min(memory[at] + depth * depth, _MAX_HISTORY)


@spelt_out
def forget(memory: Memory) -> None:
    """Forget killers and history."""
    for i in range(_KILLERS, MEMORY):
        memory[i] = 0
