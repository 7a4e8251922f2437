"""How much better a move turned out than was expected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def advantages(
    values: NDArray[np.float64],
    results: NDArray[np.float32],
    games: NDArray[np.int64],
    *,
    trace: float,
) -> NDArray[np.float64]:
    """Return the advantage of each move, for who made it (generalised, Schulman et al. 2016).

    The differences of values from one position to the next, the result after the last, are summed
    with weights 1, trace, trace squared and so on. With trace 1 that is result minus value, with 0
    the next value minus this one.

    Args:
      values: expected result of each position, for the player to move, shape (n,); the games one
        after another, each in order.
      results: of the game, for the player to move, shape (n,).
      games: the number of the game of each position, shape (n,).
      trace: lambda, from 0 to 1.
    """
    out = np.zeros(len(values))
    carried = 0.0
    for i in range(len(values) - 1, -1, -1):
        last = i + 1 == len(values) or games[i + 1] != games[i]
        if last:
            out[i] = carried = float(results[i]) - values[i]
        else:  # the opponent moves next, and its values have the other sign
            out[i] = carried = -values[i + 1] - values[i] - trace * carried
    return out
