"""What is tried below a root of `RbcProblem`, and what a board is worth where the depth ends.

`Candidates` chooses the senses and moves to try, `Valuer` values boards; both searches use them.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from miai_rbc.agents.choice import rank_candidates
from miai_rbc.belief import scans
from miai_rbc.engines.kernel import KernelEngine, KernelParameters, work_space
from miai_rbc.kernels.belief_search import (
    count_replies,
    hash_boards,
    material,
    quiet_values,
    remove_pieces,
    replace_own_pieces,
    write_replies,
)
from miai_rbc.kernels.bitboards import NO_MOVE, WIN, Words
from miai_rbc.kernels.board import NOTHING, RIGHTS_SHIFT, STATE, WHITE, WORDS
from miai_rbc.rbc_parameters import MinimaxRules
from miai_rbc.rules.board_set import BoardSet

Values = NDArray[np.float64]

# -- values of boards where the depth ends ---------------------------------------------------------

DECIDED = WIN - 1000
"""Scores beyond it mean a forced king capture."""

_TABLE_MB = 4
_TOP = 3  # best moves of a board that become candidates
SAMPLE = 32
"""Boards of the root from which windows and moves are chosen."""


def hashes_of(rows: Words) -> Words:
    """Return a 64-bit hash of each board: (n,)."""
    hashes = np.empty(len(rows), np.uint64)
    hash_boards(np.ascontiguousarray(rows), hashes)
    return hashes


def digest_of(hashes: Words) -> int:
    """Return a 128-bit digest of sorted hashes, the same in every process."""
    content = np.ascontiguousarray(hashes).data
    return int.from_bytes(blake2b(content, digest_size=16).digest(), "little")


class Valuer:
    """Values boards after the player's move, from the player's point of view.

    A value is what the embedded engine finds by captures alone, a function of the board. Where the
    player's king is lost by force it is the material minus `king_loss` centipawns; None: that of a
    lost game.

    Attributes:
      valued: the number of boards that the engine valued.
    """

    def __init__(self, king_loss: int | None) -> None:
        self._king_loss = king_loss
        self.valued = 0
        self._engine = KernelEngine(KernelParameters(depth=1, table_mb=_TABLE_MB))
        self._space, self._table = work_space(), np.zeros(4, np.uint64)

    def values(self, rows: Words, player: int) -> Values:
        """Return the values of boards, uint64 (n, 8): float64 (n,) centipawns."""
        self.valued += len(rows)
        theirs = np.empty(len(rows))
        quiet_values(rows, *self._space, self._table, theirs)
        ours = 0.0 - theirs
        # What a lost king costs depends on the board alone, not on the plies until its capture.
        lost = np.flatnonzero(ours < -DECIDED)
        ours[lost] = self.lost(rows[lost], player)
        return ours

    def lost(self, rows: Words, player: int) -> Values:
        """Return the values of boards on which the player's king is captured: float64 (n,)."""
        if self._king_loss is None:
            return np.full(len(rows), -float(WIN))
        worth = np.empty(len(rows))
        material(rows, player, worth)
        return worth - self._king_loss

    def best_moves(self, rows: Words) -> tuple[list[list[int]], int]:
        """Return the best moves on each board, best first, and the lowest of the best scores."""
        result = self._engine.evaluate(rows, top=_TOP)
        moves = [[move for move in row if move != NO_MOVE] for row in result.moves.tolist()]
        return moves, int(result.scores.min())


# -- senses and moves to try -----------------------------------------------------------------------

AT_ROOT = -3
"""The code of the observation before the root."""


def own_pieces(row: Words, player: int) -> bytes:
    """Return a player's pieces by kind and its castling rights, which decide what it can move."""
    mine = ~row[WHITE] if player else row[WHITE]
    own = np.zeros(7, np.uint64)
    own[:6] = row[:6] & mine
    own[6] = (row[STATE] >> RIGHTS_SHIFT) & np.uint64(12 if player else 3)
    return own.tobytes()


class Candidates:
    """Chooses the senses and moves to try in the tree of one root.

    At the root they come from boards drawn there. Later the same boards are adapted: the player's
    pieces move to their current squares, and the opponent makes every move that fits the
    observation. So actions depend on the drawn boards and the public part, not on a belief.

    Args:
      drawn: (n, 8) boards drawn at the root, the player to move.

    Attributes:
      barred: requests that are passes at the root.
      windows, moves: windows and requests, by own pieces and observation.
      lowest: the lowest score among the best moves of the boards from which moves were chosen last.
    """

    def __init__(self, rules: MinimaxRules, valuer: Valuer, drawn: Words, player: int) -> None:
        self._rules, self._valuer, self._drawn, self._player = rules, valuer, drawn, player
        self.barred: AbstractSet[int] = frozenset()
        self.windows: dict[tuple[bytes, int], list[int]] = {}
        self.moves: dict[tuple[bytes, int], list[int]] = {}
        self._boards: dict[tuple[bytes, int], Words] = {}
        self.lowest = 0

    def senses(self, own: bytes, capture: int) -> list[int]:
        """Return the centres of windows to sense, best first."""
        key = (own, capture)
        if key not in self.windows:
            self.windows[key] = self._windows(self._rows(own, capture))
        return self.windows[key]

    def requests(self, own: bytes, capture: int) -> list[int]:
        """Return the moves to request, best first."""
        key = (own, capture)
        if key not in self.moves:
            self.moves[key] = self._moves(self._rows(own, capture), capture == AT_ROOT)
        return self.moves[key]

    def _rows(self, own: bytes, capture: int) -> Words:
        # Below the root the drawn boards are adapted, once for each public part.
        if capture == AT_ROOT:
            return self._drawn
        key = (own, capture)
        if key not in self._boards:
            self._boards[key] = self._adapted(own, capture)
        return self._boards[key]

    def _windows(self, rows: Words) -> list[int]:
        values = scans.entropy(BoardSet(rows), self._player)
        order = np.argsort(-values, kind="stable")[: self._rules.senses]
        return [scans.CENTRES[window] for window in order.tolist()]

    def _moves(self, rows: Words, at_root: bool) -> list[int]:
        best_moves, self.lowest = self._valuer.best_moves(rows)
        if at_root and self.barred:
            best_moves = [[NOTHING if m in self.barred else m for m in b] for b in best_moves]
        return rank_candidates(best_moves, np.ones(len(rows)), self._rules.moves) or [NOTHING]

    def _adapted(self, own: bytes, capture: int) -> Words:
        """Return boards of the root with these own pieces, after moves that fit an observation."""
        words = np.frombuffer(own, np.uint64)
        rows = np.empty_like(self._drawn)
        pieces, rights = words[:6].copy(), int(words[6])
        # The kernel leaves out boards on which the player's pieces took the king.
        rows = rows[: int(replace_own_pieces(self._drawn, pieces, self._player, rights, rows))]
        starts = np.empty(len(rows) + 1, np.int64)
        count_replies(rows, starts)
        after = np.empty((int(starts[-1]), WORDS), np.uint64)
        captures = np.empty(len(after), np.int64)
        write_replies(rows, starts, after, captures)
        fit = after[captures == capture]
        if len(fit) == 0:  # no move fits the observation: remove the captured piece
            fit = rows if len(rows) else self._drawn[:1].copy()
            remove_pieces(fit, np.uint64(1 << capture if capture >= 0 else 0), self._player)
        # In the order of hashes, which is the same however the boards were met.
        _, first = np.unique(hashes_of(fit), return_index=True)
        return np.ascontiguousarray(fit[first[:SAMPLE]])


def sample(rng: np.random.Generator, size: int, count: int) -> NDArray[np.int64]:
    """Return increasing numbers below a size: all, or a sample without repetition."""
    if count >= size:
        return np.arange(size)
    return np.sort(rng.choice(size, count, replace=False))


def load_rare() -> None:
    """Load the kernel for captures that no drawn board allows; few searches meet one."""
    remove_pieces(np.empty((0, WORDS), np.uint64), np.uint64(0), 0)
