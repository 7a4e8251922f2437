"""The fixed numbering of actions: the integers of a record.

======================  ===========================================================================
action                  means
======================  ===========================================================================
0 to 63                 sense round this square (a1 is 0, b1 is 1, h8 is 63)
64                      sense nothing
65                      pass
66 + 64 * from + to     request the move; a pawn that reaches the last rank becomes a queen
4162 + 9 * file + ...   request an underpromotion of white's pawn on this file (a is 0): plus three
                        times the step (0 towards the a-file, 1 straight, 2 towards the h-file),
                        plus 0 for a knight, 1 for a bishop, 2 for a rook
4234 + 9 * file + ...   the same for black's pawn
======================  ===========================================================================
"""

from __future__ import annotations

from miai_rbc.kernels.board import KNIGHTS, NOTHING, QUEENS

SENSE_NOTHING = 64
PASS = 65
FIRST_MOVE = 66
FIRST_UNDERPROMOTION = FIRST_MOVE + 64 * 64
NUM_ACTIONS = FIRST_UNDERPROMOTION + 2 * 72

_PIECES = "nbrq"


def action_of(move: int) -> int:
    """Return the action that requests a move of the kernels (`miai_rbc.kernels.board`)."""
    if move == NOTHING:
        return PASS
    start, end, becomes = move & 63, move >> 6 & 63, move >> 12
    if becomes in (0, QUEENS):
        return FIRST_MOVE + 64 * start + end
    step = (end & 7) - (start & 7) + 1
    black = end < 8
    return FIRST_UNDERPROMOTION + 72 * black + 9 * (start & 7) + 3 * step + becomes - KNIGHTS


def move_of(action: int, *, pawn: bool) -> int:
    """Return the kernels' move that an action requests, from `PASS` on.

    Args:
      pawn: whether the piece that moves is a pawn, which promotes on the last rank.
    """
    if action == PASS:
        return NOTHING
    if action < FIRST_UNDERPROMOTION:
        start, end = divmod(action - FIRST_MOVE, 64)
        promotes = pawn and not 8 <= end < 56
        return start | end << 6 | (QUEENS << 12 if promotes else 0)
    black, rest = divmod(action - FIRST_UNDERPROMOTION, 72)
    file, rest = divmod(rest, 9)
    step, piece = divmod(rest, 3)
    start = (8 if black else 48) + file
    end = (0 if black else 56) + file + step - 1
    return start | end << 6 | (piece + KNIGHTS) << 12


def move_of_action(action: int, *, pawns: int) -> int:
    """Return the kernels' move that an action requests, given the squares of pawns, bit by bit."""
    start = (action - FIRST_MOVE) >> 6
    pawn = PASS < action < FIRST_UNDERPROMOTION and bool(pawns >> start & 1)
    return move_of(action, pawn=pawn)


def square_name(square: int) -> str:
    """Return a square as ``e4``."""
    return "abcdefgh"[square & 7] + "12345678"[square >> 3]


def move_name(move: int) -> str:
    """Return a move of the kernels in UCI notation; ``0000`` for none."""
    if move == NOTHING:
        return "0000"
    becomes = move >> 12
    suffix = _PIECES[becomes - KNIGHTS] if becomes else ""
    return square_name(move & 63) + square_name(move >> 6 & 63) + suffix


def action_name(action: int) -> str:
    """Return an action as text: ``sense e4``, ``sense -``, ``pass``, ``e2e4``, ``e7e8n``.

    A promotion to a queen is written without its piece: the action does not say that a pawn moves.
    """
    if action < SENSE_NOTHING:
        return f"sense {square_name(action)}"
    if action == SENSE_NOTHING:
        return "sense -"
    return "pass" if action == PASS else move_name(move_of(action, pawn=False))
