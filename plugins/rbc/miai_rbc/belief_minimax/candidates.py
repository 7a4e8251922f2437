"""Which senses and moves are tried: chosen by what is public and by boards drawn at the root."""

from __future__ import annotations

import numpy as np

from miai_rbc import scans
from miai_rbc.belief_minimax.kernels.boards import (
    count_replies,
    dress,
    hash_boards,
    without,
    write_replies,
)
from miai_rbc.belief_minimax.parameters import Rules
from miai_rbc.belief_minimax.valuing import Valuer
from miai_rbc.board_set import BoardSet
from miai_rbc.kernels.bits import Words
from miai_rbc.kernels.board import NOTHING, RIGHTS_SHIFT, STATE, WHITE, WORDS
from miai_rbc.minimax import rank_candidates

AT_ROOT = -3
"""In place of what was told of the opponent's move."""


def own_pieces(row: Words, player: int) -> bytes:
    """Return a player's own pieces by kind and its castling rights: all that it can move."""
    mine = ~row[WHITE] if player else row[WHITE]
    own = np.zeros(7, np.uint64)
    own[:6] = row[:6] & mine
    own[6] = (row[STATE] >> RIGHTS_SHIFT) & np.uint64(12 if player else 3)
    return own.tobytes()


class Candidates:
    """The actions of one root's tree.

    At the root they come from boards drawn there. Later the same boards are *dressed*: the own
    pieces are put where they are by then, and the opponent makes each of its moves that is told in
    the same way. So actions depend on those boards and on what is public, and on no belief.

    Args:
      drawn: (n, 8) boards drawn at the root, our side to move.

    Attributes:
      found: the windows and the requests, by own pieces and what was told.
    """

    def __init__(self, rules: Rules, valuer: Valuer, drawn: Words, player: int) -> None:
        self._rules, self._valuer, self._drawn, self._player = rules, valuer, drawn, player
        self.found: dict[tuple[bytes, int], tuple[list[int], list[int]]] = {}

    def senses(self, own: bytes, told: int) -> list[int]:
        """Return the centres of windows to sense, the best first."""
        return self._of(own, told)[0]

    def requests(self, own: bytes, told: int) -> list[int]:
        """Return the moves to ask for, the best first."""
        return self._of(own, told)[1]

    def _of(self, own: bytes, told: int) -> tuple[list[int], list[int]]:
        key = (own, told)
        if key not in self.found:
            rows = self._drawn if told == AT_ROOT else self._dressed(own, told)
            self.found[key] = (self._windows(rows), self._moves(rows))
        return self.found[key]

    def _windows(self, rows: Words) -> list[int]:
        values = scans.entropy(BoardSet(rows), self._player)
        order = np.argsort(-values, kind="stable")[: self._rules.senses]
        return [scans.CENTRES[window] for window in order.tolist()]

    def _moves(self, rows: Words) -> list[int]:
        named = self._valuer.best_moves(rows, self._rules.top)
        return rank_candidates(named, np.ones(len(rows)), self._rules.moves) or [NOTHING]

    def _dressed(self, own: bytes, told: int) -> Words:
        """Return boards of the root with other own pieces, after a move that is told like this."""
        words = np.frombuffer(own, np.uint64)
        rows = np.empty_like(self._drawn)
        rows = rows[: int(dress(self._drawn, words[:6].copy(), self._player, int(words[6]), rows))]
        starts = np.empty(len(rows) + 1, np.int64)
        count_replies(rows, starts)
        after = np.empty((int(starts[-1]), WORDS), np.uint64)
        captures = np.empty(len(after), np.int64)
        write_replies(rows, starts, after, captures)
        fit = after[captures == told]
        if len(fit) == 0:  # what was told surprises: as if the piece had vanished
            fit = rows if len(rows) else self._drawn[:1].copy()
            without(fit, np.uint64(1 << told if told >= 0 else 0), self._player)
        hashes = np.empty(len(fit), np.uint64)
        hash_boards(fit, hashes)
        _, first = np.unique(hashes, return_index=True)
        return np.ascontiguousarray(fit[first[: self._rules.sample]])
