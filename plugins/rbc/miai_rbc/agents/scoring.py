"""Scores of moves on many boards, batched and cached by position; how probable the boards are."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miai_rbc.engines.protocol import ChessEvaluator
from miai_rbc.kernels.bits import NO_MOVE, WIN, Words
from miai_rbc.kernels.board import WORDS
from miai_rbc.kernels.choice import find_checks, play_requests

Scores = NDArray[np.float64]

_BATCH = 64  # positions between two checks of the clock
_MAX_CACHED = 200_000


class Scorer:
    """Values positions with an engine, each once.

    Attributes:
      engine: values the positions.
      lookups, hits: positions asked for, and those of them that were cached.
    """

    def __init__(self, engine: ChessEvaluator) -> None:
        self.engine = engine
        self.lookups = self.hits = 0
        self._cache: dict[bytes, int] = {}

    def new_game(self) -> None:
        """Forget everything."""
        self._cache.clear()
        self.lookups = self.hits = 0
        self.engine.new_game()

    def matrix(
        self, boards: Words, requests: Sequence[int], *, deadline: float | None = None
    ) -> Scores:
        """Return the score of each request on each board, for the side to move.

        Args:
          boards: (n, 8).
          deadline: on the monotonic clock; boards not reached by then are missing.

        Returns:
          float64 (k, len(requests)) of the first k boards, centipawns; k is at least one.
        """
        moves = np.array(requests, np.int32)
        scores: list[Scores] = []
        step = max(1, _BATCH // max(1, len(requests)))
        for begin in range(0, len(boards), step):
            if scores and deadline is not None and time.monotonic() >= deadline:
                break
            part = boards[begin : begin + step]
            after = np.empty((len(part), len(moves), WORDS), np.uint64)
            play_requests(part, moves, after)
            values = self.values(after.reshape(-1, WORDS), deadline=deadline)
            scores.append(-values.reshape(len(part), len(moves)))
        return np.concatenate(scores)

    def values(self, rows: Words, *, deadline: float | None = None) -> Scores:
        """Return the values of positions for their side to move, in centipawns: float64 (n,)."""
        keys = [row.tobytes() for row in rows]
        missing = {key: i for i, key in enumerate(keys) if key not in self._cache}
        self.lookups += len(keys)
        self.hits += len(keys) - len(missing)
        fresh: dict[bytes, int] = {}
        if missing:
            places = np.fromiter(missing.values(), np.int64, len(missing))
            scores = self.engine.evaluate(rows[places], deadline=deadline).scores.tolist()
            fresh = dict(zip(missing, scores, strict=True))
        values = np.array([fresh[k] if k in fresh else self._cache[k] for k in keys], np.float64)
        # Values that the deadline cut short are not cached.
        if deadline is None or time.monotonic() < deadline:
            if len(self._cache) + len(fresh) > _MAX_CACHED:
                self._cache.clear()
            self._cache.update(fresh)
        return values

    def best_moves(
        self, boards: Words, top: int, *, deadline: float | None = None
    ) -> list[list[int]]:
        """Return the engine's best moves on each board, best first; of fewer boards on timeout."""
        best: list[list[int]] = []
        for begin in range(0, len(boards), _BATCH):
            if best and deadline is not None and time.monotonic() >= deadline:
                break
            part = boards[begin : begin + _BATCH]
            moves = self.engine.evaluate(part, top=top, deadline=deadline).moves.tolist()
            best += [[move for move in row if move != NO_MOVE] for row in moves]
        return best


def combine(
    scores: Scores, weights: Scores, *, mean: float, low: float, quantile: float = 0.0
) -> Scores:
    """Return one value for each request, from its scores on all boards.

    Args:
      scores: (boards, requests), centipawns; see `squeeze`.
      weights: (boards,). If all are zero, because time did not reach the boards that have weight,
        all boards count the same.
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
    """Return scores with the part beyond ten pawns compressed, so that WIN becomes twenty pawns.

    Otherwise one lost board would drown all others in a mean.
    """
    small = np.clip(scores, -1000, 1000)
    return np.asarray(small + (scores - small) * (1000 / (WIN - 1000)))


def opponent_weights(
    rows: Words,
    scorer: Scorer,
    temperature: float,
    *,
    blind: float,
    check: float = 0.0,
    deadline: float | None = None,
) -> Scores:
    """Return how probable boards are, as the opponent prefers those that are good for it.

    Args:
      rows: (n, 8), the player to move.
      temperature: centipawns by which a board is better for the opponent and e times as probable.
      blind: share of the weight spread evenly, as the opponent does not see everything either.
      check: centipawns that an attack on the player's king is worth to the opponent, who hopes it
        goes unseen. An engine that sees the whole board gives nothing for it.

    Returns:
      float64 (n,), summing to one.
    """
    ours = scorer.values(rows, deadline=deadline)
    theirs = -squeeze(np.where(ours > WIN - 1000, WIN, ours))
    checks = np.empty(len(rows), np.bool_)
    find_checks(rows, checks)
    theirs = theirs + check * checks
    weights = np.exp((theirs - theirs.max()) / temperature)
    share = weights / weights.sum()
    return np.asarray((1.0 - blind) * share + blind / len(rows), np.float64)
