"""The schedule of sequential halving at the root."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def halving_schedule(considered: int, simulations: int) -> NDArray[np.int32]:
    """Return how often the move that each simulation goes to was visited before.

    Sequential halving (Karnin et al. 2013) as Danihelka et al. 2022 use it: all `considered` moves
    are visited equally often, then the better half of them, and so on; each phase has the same
    share of the simulations. Which moves are meant follows from the visits alone.

    Returns:
      int32 of shape (simulations,), not to be changed.
    """
    if considered <= 1 or simulations == 0:
        plan = np.arange(simulations, dtype=np.int32)
    else:
        plan = _halved(considered, simulations)
    plan.flags.writeable = False
    return plan


def _halved(considered: int, simulations: int) -> NDArray[np.int32]:
    phases = int(np.ceil(np.log2(considered)))
    visits = np.zeros(considered, np.int32)
    parts: list[NDArray[np.int32]] = []
    left, alive = simulations, considered
    while left > 0:
        for _ in range(max(1, simulations // (phases * alive))):
            parts.append(visits[:alive].copy())
            visits[:alive] += 1
            left -= alive
        alive = max(2, alive // 2)
    return np.concatenate(parts)[:simulations]
