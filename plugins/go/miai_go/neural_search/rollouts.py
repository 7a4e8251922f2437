"""Who plays the rollouts from leaves: light playouts, or the pattern policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_go.encoders.positions import Positions
from miai_go.kernels import rollouts as kernels
from miai_go.kernels import rules, trail
from miai_go.patterns.policy import PatternPolicy
from miai_go.patterns.room import pattern_room


class Rollouts:
    """Plays games to their end from leaves of one board size; not for two threads at once.

    Args:
      policy: draws the moves; None plays uniformly over legal moves that fill no own eye.
    """

    def __init__(self, size: int, policy: PatternPolicy | None = None) -> None:
        points = size * size
        self.longest = 4 * points + 8
        self._policy = policy
        self._board = np.zeros(rules.board_words(size), np.uint32)
        self._trail = np.zeros(trail.trail_words(size), np.int16)
        self._record = np.zeros(self.longest, np.uint32)
        self._owner = np.zeros(points, np.int8)
        self._stack = np.zeros(points, np.int32)
        self._room = pattern_room(size) if policy is not None else None

    def results(
        self,
        leaves: Positions,
        games: NDArray[np.int32],
        *,
        counts: NDArray[np.int64],
        limits: NDArray[np.int64],
        komi: NDArray[np.float64],
        rng: NDArray[np.uint64],
    ) -> NDArray[np.float64]:
        """Return the mean result from each leaf for the player to move, float64 of shape (leaves,).

        Args:
          games: of each leaf.
          counts: rollouts of each leaf of a game, 0 for none; the mean is 0 then.
          limits: moves after which a rollout of a game is counted as it stands.
          komi: of each game, points.
          rng: random states of the games; changed.
        """
        out = np.zeros(len(leaves))
        limits = np.minimum(limits, self.longest)
        given = (leaves.words, leaves.trails, games, counts, limits, komi, rng)
        space = (self._record, self._owner, self._stack, out)
        if self._policy is None or self._room is None:
            kernels.light_rollouts(*given, self._board, *space)
        else:
            table = self._policy.weights
            kernels.pattern_rollouts(*given, table, self._room, self._board, self._trail, *space)
        return out
