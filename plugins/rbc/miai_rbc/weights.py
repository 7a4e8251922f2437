"""How probable the boards of a belief are: the opponent prefers positions that are good for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_rbc.engines.protocol import WIN
from miai_rbc.kernels.bits import Words
from miai_rbc.scoring import Scorer, squeeze


def by_opponent(
    rows: Words,
    scorer: Scorer,
    temperature: float,
    *,
    blind: float,
    deadline: float | None = None,
) -> NDArray[np.float64]:
    """Return weights of boards on which we are to move, that sum to one: float64 (n,).

    A board that is better for the opponent by `temperature` centipawns is e times as probable. The
    share `blind` of the weight is spread over all boards alike: the opponent does not see
    everything either.
    """
    ours = scorer.values(rows, deadline=deadline)
    theirs = -squeeze(np.where(ours > WIN - 1000, WIN, ours))
    weights = np.exp((theirs - theirs.max()) / temperature)
    share = weights / weights.sum()
    return np.asarray((1.0 - blind) * share + blind / len(rows), np.float64)
