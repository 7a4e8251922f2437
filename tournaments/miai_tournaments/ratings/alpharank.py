"""Alpha-rank: how often evolution would play each agent, for results that no rating explains.

Omidshafiei et al., alpha-Rank: Multi-Agent Evaluation by Evolution, Scientific Reports 9 (2019),
for symmetric zero-sum games of two players: one population, whose payoffs are the points between
agents. The population plays one agent; a mutant takes over with a probability that depends on the
points between the two and on the ranking intensity alpha. The ranking is the share of time that
the population plays each agent in the long run.

The probabilities of the chain span hundreds of orders of magnitude, and for infinite alpha some
vanish. The elimination of Grassmann, Taksar and Heyman (Operations Research 33, 1985) never
subtracts, so it loses no precision on logarithms (finite alpha) or leading terms (the limit).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_tournaments.ratings.model import Floats, check_range

POPULATION: Final = 50
"""Default size of the population: 50, as in the paper."""

_TIED: Final = 1e-12
_MOST_AGENTS: Final = 1000


def alpha_rank(
    payoffs: ArrayLike, *, alpha: float | None = None, population: int = POPULATION
) -> Floats:
    """Return the share of time ``(K,)`` of each agent; the sum is 1.

    Args:
      payoffs: ``(K, K)`` mean points of the agent of the row against that of the column; all pairs
        have the same sum. The diagonal is ignored.
      alpha: ranking intensity; None for the exact limit of infinite intensity, where a better
        mutant always takes over, an equal one with probability one half, and a worse one with a
        probability that tends to zero (section 2.5 of the paper).
      population: size of the population; irrelevant in the limit.

    Raises:
      ConfigError: alpha or population is out of range.
      ValueError: the payoffs are not square, finite and constant-sum.
    """
    gaps = _gaps(payoffs)
    if len(gaps) == 1:
        return np.ones(1)
    advantage = gaps.T  # of a mutant, the column, in a population of the row
    if alpha is None:
        order = np.where(advantage < 0, 1, 0)
        return _stationary(order, np.where(advantage == 0, np.log(0.5), 0.0))
    check_range("alpha", alpha, 1e-6, 1e9)
    check_range("population", population, 2, 10**6)
    drive = alpha * advantage
    steep = np.where(drive == 0, 1.0, np.abs(drive))
    # (1 - exp(-u)) / (1 - exp(-m u)), with the greater power taken out where u < 0.
    log_chance = np.log(-np.expm1(-steep)) - np.log(-np.expm1(-population * steep))
    log_chance -= np.where(drive < 0, (population - 1) * steep, 0.0)
    log_chance = np.where(drive == 0, -np.log(population), log_chance)
    return _stationary(np.zeros_like(drive, dtype=np.int64), log_chance)


def _gaps(payoffs: ArrayLike) -> Floats:
    """Return the advantage of the agent of the row over that of the column, ``(K, K)``."""
    table = np.array(payoffs, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not 1 <= len(table) <= _MOST_AGENTS:
        raise ValueError(f"payoffs must be a square matrix of 1 to {_MOST_AGENTS} agents")
    apart = ~np.eye(len(table), dtype=np.bool_)
    sums = (table + table.T)[apart]
    if not np.isfinite(table[apart]).all() or (sums.size and np.ptp(sums) > 1e-9):
        raise ValueError("payoffs must be finite, with the same sum for every two agents")
    gaps = np.where(apart, table - table.T, 0.0)
    return np.where(np.abs(gaps) <= _TIED, 0.0, gaps)


def _stationary(order: NDArray[np.int64], value: Floats) -> Floats:
    """Return the stationary distribution of a chain with transition probabilities c eps^k.

    Sums keep the terms of the lowest order k. Both arrays, ``(K, K)``, are overwritten.

    Args:
      order: the orders k.
      value: the logarithms of the coefficients c.
    """
    size = len(order)
    leaving_order, leaving_value = np.zeros(size, dtype=np.int64), np.zeros(size)
    for last in range(size - 1, 0, -1):
        leaving_order[last], leaving_value[last] = _total(order[last, :last], value[last, :last])
        through = order[:last, last, None] + order[None, last, :last] - leaving_order[last]
        weight = value[:last, last, None] + value[None, last, :last] - leaving_value[last]
        direct = order[:last, :last]
        lowest = np.minimum(direct, through)
        value[:last, :last] = np.logaddexp(
            np.where(direct == lowest, value[:last, :last], -np.inf),
            np.where(through == lowest, weight, -np.inf),
        )
        order[:last, :last] = lowest
    orders, weights = np.zeros(size, dtype=np.int64), np.zeros(size)
    for state in range(1, size):
        into = orders[:state] + order[:state, state]
        lowest_order, total = _total(into, weights[:state] + value[:state, state])
        orders[state] = lowest_order - leaving_order[state]
        weights[state] = total - leaving_value[state]
    lasting = orders == orders.min()
    shares = np.where(lasting, np.exp(weights - weights[lasting].max()), 0.0)
    return np.asarray(shares / shares.sum())


def _total(orders: NDArray[np.int64], values: Floats) -> tuple[int, float]:
    """Return the leading term of a sum of terms."""
    lowest = int(orders.min())
    return lowest, float(np.logaddexp.reduce(values[orders == lowest]))
