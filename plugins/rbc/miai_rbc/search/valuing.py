"""Values boards where the depth ends, each board once, and ranks an engine's moves."""

from __future__ import annotations

import numpy as np

from miai_rbc.engines.kernel import KernelEngine, KernelParameters, work_space
from miai_rbc.kernels.belief_boards import hash_boards, material
from miai_rbc.kernels.belief_leaves import Values, enter, look_up, quiet_values
from miai_rbc.kernels.bits import NO_MOVE, WIN, Words
from miai_rbc.parameters import MinimaxRules

DECIDED = WIN - 1000
"""Scores beyond it mean a forced king capture."""

_TABLE_MB = 4
_FIRST_ROOM = 1 << 12


def hashes_of(rows: Words) -> Words:
    """Return a 64-bit hash of each board: (n,)."""
    hashes = np.empty(len(rows), np.uint64)
    hash_boards(np.ascontiguousarray(rows), hashes)
    return hashes


class Valuer:
    """Values boards after the player's move, from the player's point of view.

    A value is the engine's score, a function of the board alone. Where the player's king is lost by
    force it is the material minus `MinimaxRules.king_loss`.

    Attributes:
      valued: the number of boards that the engine valued.
    """

    def __init__(self, rules: MinimaxRules) -> None:
        self._rules = rules
        self.valued = 0
        depth = max(1, rules.leaf_depth)
        self._engine = KernelEngine(KernelParameters(depth=depth, table_mb=_TABLE_MB))
        self._space, self._table = work_space(), np.zeros(4, np.uint64)
        self.forget()

    def forget(self) -> None:
        """Forget all boards."""
        self._keys = np.zeros(_FIRST_ROOM, np.uint64)
        self._known = np.zeros(_FIRST_ROOM)
        self._count = 0

    def values(self, rows: Words, player: int) -> Values:
        """Return the values of boards, uint64 (n, 8): float64 (n,) centipawns."""
        hashes, values = hashes_of(rows), np.empty(len(rows))
        if look_up(self._keys, self._known, hashes, values):
            missing = np.flatnonzero(np.isnan(values))
            fresh = self._fresh(rows[missing], player)
            values[missing] = fresh
            self._keep(hashes[missing], fresh)
        return values

    def lost(self, rows: Words, player: int) -> Values:
        """Return the values of boards on which the player's king is captured: float64 (n,)."""
        if self._rules.king_loss is None:
            return np.full(len(rows), -float(WIN))
        worth = np.empty(len(rows))
        material(rows, player, worth)
        return worth - self._rules.king_loss

    def best_moves(self, rows: Words, top: int) -> list[list[int]]:
        """Return the best moves on each board, best first."""
        moves = self._engine.evaluate(rows, top=top).moves.tolist()
        return [[move for move in row if move != NO_MOVE] for row in moves]

    def _fresh(self, rows: Words, player: int) -> Values:
        self.valued += len(rows)
        theirs = np.empty(len(rows))
        if self._rules.leaf_depth:
            theirs[:] = self._engine.evaluate(rows).scores
        else:
            quiet_values(rows, *self._space, self._table, theirs)
        ours = 0.0 - theirs
        lost = np.flatnonzero(ours < -DECIDED)
        ours[lost] = self.lost(rows[lost], player)
        return ours

    def _keep(self, hashes: Words, values: Values) -> None:
        if 2 * (self._count + len(hashes)) > len(self._keys):
            keys, known = self._keys, self._known
            room = 1 << (4 * (self._count + len(hashes))).bit_length()
            self._keys, self._known = np.zeros(room, np.uint64), np.zeros(room)
            held = np.flatnonzero(keys)
            self._count = 0
            self._enter(keys[held], known[held])
        self._enter(hashes, values)

    def _enter(self, hashes: Words, values: Values) -> None:
        self._count += int(enter(self._keys, self._known, hashes, values))
