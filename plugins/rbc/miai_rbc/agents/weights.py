"""How probable the boards of a belief are: the opponent prefers positions that are good for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miai_rbc.agents.scoring import Scorer, squeeze
from miai_rbc.kernels.bits import WIN, Words
from miai_rbc.kernels.choice import find_checks


def by_opponent(
    rows: Words,
    scorer: Scorer,
    temperature: float,
    *,
    blind: float,
    check: float = 0.0,
    deadline: float | None = None,
) -> NDArray[np.float64]:
    """Return weights of boards on which we are to move, that sum to one: float64 (n,).

    A board that is better for the opponent by `temperature` centipawns is e times as probable. The
    share `blind` of the weight is spread over all boards alike: the opponent does not see
    everything either. A board on which our king is attacked is worth `check` centipawns more to
    it: who does not know where we look hopes that an attack goes unseen, which an engine that
    sees everything counts for nothing.
    """
    ours = scorer.values(rows, deadline=deadline)
    theirs = -squeeze(np.where(ours > WIN - 1000, WIN, ours))
    checks = np.empty(len(rows), np.bool_)
    find_checks(rows, checks)
    theirs = theirs + check * checks
    weights = np.exp((theirs - theirs.max()) / temperature)
    share = weights / weights.sum()
    return np.asarray((1.0 - blind) * share + blind / len(rows), np.float64)
