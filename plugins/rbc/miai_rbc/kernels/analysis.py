"""The best moves of whole batches of boards: iterative deepening at the root of each."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai.kernels import spelt_out
from miai_rbc.kernels import kernel
from miai_rbc.kernels.bits import NUMBER_0, U64, WIN, Int, Words, bit
from miai_rbc.kernels.board import KINGS, WHITE, occupied, turn_of
from miai_rbc.kernels.evaluation import static_value
from miai_rbc.kernels.ordering import (
    CAPTURES,
    DESCRIBED,
    LIMIT,
    NODES,
    QUIESCENCE,
    QUIETS,
    STOPPED,
    List,
    Memory,
    forget,
    heaviest,
    list_moves,
)
from miai_rbc.kernels.search import AGAIN, BETA, DEPTH, INFINITE, LOW, MOVE, Frames, search
from miai_rbc.kernels.tree import SQUARES, TAKEN, king_attackers, plant

Scores: TypeAlias = NDArray[np.int32]
Settings: TypeAlias = NDArray[np.int64]

PLIES, NODES_A_BOARD, NODES_AT_ONCE, NODES_AT_MOST, QUIET, SALTED, BOARDS = range(7)
"""Indices of the settings: plies; nodes of one board, 0 for no limit; nodes after which the call
returns once the current board is done; nodes after which that board is cut short; whether there is
quiescence; whether each board has a table of its own; the number of boards before this batch."""

_ZERO = np.uint64(0)
_SALT = np.uint64(0x9E3779B97F4A7C15)


@spelt_out
def _list_all(b: Words, moves: List, memory: Memory) -> Int:
    """List all moves, most promising first, in an order that depends on the board only."""
    captures = list_moves(b, CAPTURES, moves, memory, NUMBER_0)
    n = captures + list_moves(b, QUIETS, moves[captures:], memory, NUMBER_0)
    for i in range(n):
        heaviest(moves, i, captures if i < captures else n)
    for i in range(n):
        moves[i] &= DESCRIBED
    return n


@spelt_out
def _enter(move: Int, value: Int, count: Int, best: Scores, values: Scores) -> Int:
    """Insert a move into the list of the best ones, behind its equals; return their number."""
    top = len(best)
    at = count if count < top else top - 1
    while at > 0 and values[at - 1] < value:
        best[at], values[at] = best[at - 1], values[at - 1]
        at -= 1
    best[at], values[at] = move, value
    return min(count + 1, top)


@spelt_out
def _iterate(
    tree: Words,
    frames: Frames,
    lists: List,
    memory: Memory,
    table: Words,
    n: Int,
    depth: Int,
    best: Scores,
    values: Scores,
) -> Int:
    """Search the root's `n` moves to a depth and list the best; return their number."""
    moves, f = lists[0], frames[0]
    count: Int = 0
    for i in range(n):
        low = -INFINITE if count < len(best) else np.int64(values[len(best) - 1])
        f[MOVE], f[DEPTH], f[LOW] = moves[i], depth, low
        f[BETA] = INFINITE if count < len(best) else low + 1
        f[AGAIN] = 1
        value = search(tree, frames, lists, memory, table)
        if f[BETA] <= value < INFINITE and not memory[STOPPED]:
            f[BETA], f[AGAIN] = INFINITE, 1
            value = search(tree, frames, lists, memory, table)
        if memory[STOPPED]:
            return 0
        if value > low:
            count = _enter(moves[i], value, count, best, values)
    return count


@spelt_out
def _to_front(moves: List, n: Int, best: Scores, count: Int) -> None:
    """Move the best moves to the front of the list; the others keep their order."""
    for rank in range(count):
        at = rank
        while moves[at] != best[rank]:
            at += 1
        while at > rank:
            moves[at] = moves[at - 1]
            at -= 1
        moves[rank] = best[rank]


@spelt_out
def _captures_of_king(b: Words, moves: List, n: Int) -> Int:
    """Keep only the moves that capture the king; return their number."""
    king = b[KINGS] & (b[WHITE] if turn_of(b) else ~b[WHITE])
    kept = 0
    for i in range(n):
        if bit((np.int64(moves[i]) >> 6) & 63) & king:
            moves[kept] = moves[i]
            kept += 1
    return kept


@spelt_out
def _write(best: Scores, values: Scores, count: Int, out: Scores, out_values: Scores) -> None:
    for rank in range(count):
        out[rank] = best[rank] & TAKEN
        out_values[rank] = values[rank]


@spelt_out
def _first_look(
    b: Words, lists: List, memory: Memory, out: Scores, out_values: Scores
) -> tuple[Int, Int, bool]:
    """List the root's moves and value it without search.

    Returns:
      Value, number of moves and whether the value is final.
    """
    turn, occ = turn_of(b), occupied(b)
    mine = b[WHITE] if turn == 0 else occ & ~b[WHITE]
    if not b[KINGS] & mine:
        return -WIN, 0, True
    if not b[KINGS] & occ & ~mine:
        return WIN, 0, True
    moves = lists[0]
    n = _list_all(b, moves, memory)
    value = static_value(b, np.int64(b[SQUARES]))
    wins = king_attackers(b, turn) != _ZERO
    if wins:
        n, value = _captures_of_king(b, moves, n), WIN - 1
    for rank in range(min(n, len(out) if wins else 1)):
        out[rank] = np.int64(moves[rank]) & TAKEN
        out_values[rank] = value
    return value, n, wins or n == 0


@kernel
def value_boards(
    boards: Words,
    first: Int,
    settings: Settings,
    tree: Words,
    frames: Frames,
    lists: List,
    memory: Memory,
    table: Words,
    best: Scores,
    values: Scores,
    scores: Scores,
    moves: Scores,
    move_scores: Scores,
) -> Int:
    """Value boards from number `first` on; return the number of the first one left.

    `memory[NODES]` is set to the number of nodes searched.

    Args:
      boards: uint64 (n, 8).
      settings: int64 (7,), see `PLIES`. A depth of 0 is a value without search.
      tree, frames, lists, memory, table: work space, see `tree`, `ordering` and `search`.
      best, values: int32 (top,), work space too.
      scores, moves, move_scores: int32 (n,), (n, top), (n, top), as in `protocol.Evaluation`;
        entries without a move are unchanged.
    """
    spent = np.int64(0)
    memory[QUIESCENCE] = settings[QUIET]
    done = first
    while done < len(boards) and spent < settings[NODES_AT_ONCE]:
        forget(memory)
        memory[NODES], memory[STOPPED] = 0, 0
        left = settings[NODES_AT_MOST] - spent
        memory[LIMIT] = min(left, settings[NODES_A_BOARD]) if settings[NODES_A_BOARD] else left
        salt = U64(settings[BOARDS] + done + 1) * _SALT if settings[SALTED] else _ZERO
        plant(tree, boards[done], salt)
        out, out_values = moves[done], move_scores[done]
        value, n, settled = _first_look(tree[0], lists, memory, out, out_values)
        scores[done] = value
        for depth in range(1, 1 if settled else settings[PLIES] + 1):
            count = _iterate(tree, frames, lists, memory, table, n, depth, best, values)
            if count == 0:
                break
            _to_front(lists[0], n, best, count)
            _write(best, values, count, out, out_values)
            scores[done] = values[0]
        spent += memory[NODES]
        done += 1
    memory[NODES] = spent
    return done
