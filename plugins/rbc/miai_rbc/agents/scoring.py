"""Scores of candidate moves on sampled boards: batched, cached by position, as time allows."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miai_rbc.engines.protocol import ChessEvaluator
from miai_rbc.kernels.bits import NO_MOVE, WIN, Words
from miai_rbc.kernels.board import WORDS
from miai_rbc.kernels.choice import play_requests

Scores = NDArray[np.float64]

_BATCH = 64  # positions between two looks at the clock
_MAX_CACHED = 200_000


class Scorer:
    """Values positions with an engine, each once.

    Attributes:
      engine: what values them.
      asked, found: positions asked for, and of those the ones that were cached.
    """

    def __init__(self, engine: ChessEvaluator) -> None:
        self.engine = engine
        self.asked = self.found = 0
        self._cache: dict[bytes, int] = {}

    def new_game(self) -> None:
        """Forget everything."""
        self._cache.clear()
        self.asked = self.found = 0
        self.engine.new_game()

    def matrix(
        self, boards: Words, requests: Sequence[int], *, deadline: float | None = None
    ) -> Scores:
        """Return what each request is worth on each board, to who makes it.

        Args:
          boards: (n, 8), the side that makes the request to move.
          deadline: on the monotonic clock; boards not reached by then are missing.

        Returns:
          float64 (k, len(requests)) of the first k boards, centipawns; k is at least one.
        """
        wanted = np.array(requests, np.int32)
        done: list[Scores] = []
        step = max(1, _BATCH // max(1, len(requests)))
        for begin in range(0, len(boards), step):
            if done and deadline is not None and time.monotonic() >= deadline:
                break
            part = boards[begin : begin + step]
            after = np.empty((len(part), len(wanted), WORDS), np.uint64)
            play_requests(part, wanted, after)
            values = self.values(after.reshape(-1, WORDS), deadline=deadline)
            done.append(-values.reshape(len(part), len(wanted)))
        return np.concatenate(done)

    def values(self, rows: Words, *, deadline: float | None = None) -> Scores:
        """Return what positions are worth to their side to move: float64 (n,)."""
        keys = [row.tobytes() for row in rows]
        missing = {key: i for i, key in enumerate(keys) if key not in self._cache}
        self.asked += len(keys)
        self.found += len(keys) - len(missing)
        fresh: dict[bytes, int] = {}
        if missing:
            places = np.fromiter(missing.values(), np.int64, len(missing))
            scores = self.engine.evaluate(rows[places], deadline=deadline).scores.tolist()
            fresh = dict(zip(missing, scores, strict=True))
        found = np.array([fresh[k] if k in fresh else self._cache[k] for k in keys], np.float64)
        # Values that the deadline cut short are not kept for later.
        if deadline is None or time.monotonic() < deadline:
            if len(self._cache) + len(fresh) > _MAX_CACHED:
                self._cache.clear()
            self._cache.update(fresh)
        return found

    def best_moves(
        self, boards: Words, top: int, *, deadline: float | None = None
    ) -> list[list[int]]:
        """Return the engine's best moves on each board, best first; fewer when time is up."""
        found: list[list[int]] = []
        for begin in range(0, len(boards), _BATCH):
            if found and deadline is not None and time.monotonic() >= deadline:
                break
            part = boards[begin : begin + _BATCH]
            moves = self.engine.evaluate(part, top=top, deadline=deadline).moves.tolist()
            found += [[move for move in row if move != NO_MOVE] for row in moves]
        return found


def mixed(
    scores: Scores, weights: Scores, *, mean: float, low: float, quantile: float = 0.0
) -> Scores:
    """Return one value a request, from its scores on all boards.

    Args:
      scores: (boards, requests), centipawns; beyond ten pawns they are squeezed together, so
        that a lost board does not drown all others in a mean.
      weights: (boards,) of the boards, for the mean and the quantile; where none has any, as
        when all weight lies on boards that time did not reach, all count the same.
      mean, low: shares of the weighted mean and of the low end.
      quantile: the low end is the score that this share of the weight lies below; 0 for the worst
        of all boards.
    """
    squeezed = squeeze(scores)
    total = weights.sum()
    shares = weights / total if total > 0 else np.full(len(scores), 1 / len(scores))
    average = shares @ squeezed
    if quantile <= 0.0:
        return np.asarray(mean * average + low * squeezed.min(axis=0))
    order = np.argsort(squeezed, axis=0)
    below = np.cumsum(shares[order], axis=0)
    rows = (below < quantile).sum(axis=0).clip(max=len(scores) - 1)
    columns = np.arange(scores.shape[1])
    return np.asarray(mean * average + low * squeezed[order[rows, columns], columns])


def squeeze(scores: Scores) -> Scores:
    """Return scores with those beyond ten pawns brought near: WIN becomes twenty pawns."""
    small = np.clip(scores, -1000, 1000)
    return np.asarray(small + (scores - small) * (1000 / (WIN - 1000)))
