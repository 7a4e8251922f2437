"""Sensing for the move that follows: what would each window's outcome be worth?

After G. Perrotta's StrangeFish (https://github.com/ginoperrotta/reconchess-strangefish): candidate
moves are scored on sampled boards once; for each window the boards fall apart by what would be
seen, each part has its own best move, and the window's value is the expected value of that move.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from miai_rbc.agents.minimax import Mixture, draw_boards, rank_candidates
from miai_rbc.agents.scoring import Scorer, Scores, mixed
from miai_rbc.belief.scans import CENTRES
from miai_rbc.kernels.bits import Words
from miai_rbc.kernels.board import WHITE
from miai_rbc.rules.board_set import BoardSet

Values = NDArray[np.float64]


def outcome_values(
    boards: BoardSet,
    weights: Values,
    player: int,
    scorer: Scorer,
    requests: Sequence[int],
    rng: np.random.Generator,
    *,
    samples: int,
    top: int,
    widest: int,
    mixture: Mixture,
    deadline: float | None,
) -> Values:
    """Return for each of the 36 windows the expected value of the move after it: float64 (36,).

    Args: as `miai_rbc.agents.minimax.choose_move`; the boards are those before the sense.
    """
    sample, shares = draw_boards(boards, weights, samples, rng)
    now = time.monotonic()
    first = None if deadline is None else now + 0.35 * (deadline - now)
    named = scorer.best_moves(sample.rows, top, deadline=first)
    legal = set(requests)
    candidates = [move for move in rank_candidates(named, shares, widest) if move in legal]
    if not candidates:
        return np.zeros(len(CENTRES))
    scores = scorer.matrix(sample.rows, candidates, deadline=deadline)
    rows, shares = sample.rows[: len(scores)], shares[: len(scores)]
    return np.array([_value(rows, shares, scores, centre, mixture) for centre in CENTRES])


def _value(rows: Words, shares: Values, scores: Scores, centre: int, mixture: Mixture) -> float:
    seen = rows[:, : WHITE + 1] & np.uint64(_window(centre))
    _, parts = np.unique(seen, axis=0, return_inverse=True)
    parts = parts.reshape(-1)
    total = 0.0
    for part in range(int(parts.max()) + 1):
        chosen = parts == part
        values = mixed(
            scores[chosen],
            shares[chosen],
            mean=mixture.mean,
            low=mixture.low,
            quantile=mixture.quantile,
        )
        total += float(values.max()) * float(shares[chosen].sum())
    return total / float(shares.sum())


def _window(centre: int) -> int:
    """Return the squares of a window, bit by bit."""
    rank, file = divmod(centre, 8)
    return sum(
        1 << (8 * r + f) for r in range(rank - 1, rank + 2) for f in range(file - 1, file + 2)
    )
