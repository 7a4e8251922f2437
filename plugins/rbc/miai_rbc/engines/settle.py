"""Positions that Reconnaissance Blind Chess allows and chess does not: settled without an engine.

A chess engine may crash on, or misunderstand, a position in which a king can be captured, and has
no word for one without legal moves, in which a player of this game simply passes.
"""

from __future__ import annotations

from dataclasses import dataclass

import chess

from miai_rbc.engines.protocol import WIN


@dataclass(frozen=True, slots=True)
class Settled:
    """The value of a position that no engine is asked for.

    Attributes:
      score: centipawns from the point of view of the side to move.
      move: the move that captures the king; None when there is none.
    """

    score: int
    move: chess.Move | None = None


def settle(board: chess.Board) -> Settled | None:
    """Return the value of a position without a meaning in chess; None when it has one."""
    mine, theirs = board.king(board.turn), board.king(not board.turn)
    if mine is None:
        return Settled(-WIN)
    if theirs is None:
        return Settled(WIN)
    takers = board.attackers_mask(board.turn, theirs)
    if takers:
        start = min(chess.SquareSet(takers), key=lambda s: (board.piece_type_at(s) or 0, s))
        promotes = board.piece_type_at(start) == chess.PAWN and theirs in chess.SquareSet(
            chess.BB_BACKRANKS
        )
        return Settled(WIN - 1, chess.Move(start, theirs, chess.QUEEN if promotes else None))
    if not any(board.legal_moves):
        return Settled(2 - WIN if board.is_check() else 0)
    return None
