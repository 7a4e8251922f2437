"""Values, best responses and regret minimisation on a game of two players in sequence form.

A player's sequence is the last action that it took, a slot: an information set with one of its
actions. The two empty sequences follow the slots, so arrays over sequences have two entries more
than policies. Information sets are sorted by player, and a player's later ones follow the earlier
(von Stengel 1996, "Efficient computation of behavior strategies").
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.equilibria.kernels import inlined, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Int = int | np.signedinteger[Any]

CFR: Final = 0
PREDICTIVE: Final = 2


class Form(NamedTuple):
    """A game: s slots, n information sets, m pairs of sequences that end it together.

    Attributes:
      starts: (n + 1,) the first slot of each information set.
      parents: (n,) the sequence that leads to each information set.
      bounds: (3,) the information sets of a player are those from its bound to the next.
      offsets: (s + 3,) the first entry of each sequence in what follows.
      columns: (2 m,) the other player's sequence, once from either player's side; empty where they
        are too many, so that histories are walked instead.
      payoffs: (2 m,) the return of the sequence's player less half of the constant sum, times the
        probability of chance.
    """

    starts: Ints
    parents: Ints
    bounds: Ints
    offsets: Ints
    columns: NDArray[np.int32]
    payoffs: Floats


@inlined
def _reach(form: Form, policy: Floats, player: Int, reach: Floats) -> None:
    """Set the probabilities with which a player plays each of its sequences."""
    starts, parents, bounds = form.starts, form.parents, form.bounds
    reach[len(policy) + player] = 1.0
    for i in range(bounds[player], bounds[player + 1]):
        above = reach[parents[i]]
        for slot in range(starts[i], starts[i + 1]):
            reach[slot] = above * policy[slot]


@inlined
def _gradient(form: Form, player: Int, reach: Floats, values: Floats) -> None:
    """Set the values of a player's sequences where they end the game, by what the other reaches."""
    starts, bounds = form.starts, form.bounds
    end, empty = starts[bounds[player + 1]], starts[bounds[2]] + player
    for slot in range(starts[bounds[player]], end + 1):
        sequence = slot if slot < end else empty
        total = 0.0
        for entry in range(form.offsets[sequence], form.offsets[sequence + 1]):
            total += form.payoffs[entry] * reach[form.columns[entry]]
        values[sequence] = total


@kernel
def gradient(packed: tuple[Any, ...], policy: Floats, reach: Floats, values: Floats) -> None:
    """Write what each sequence earns its player, against the other's policy, as the game ends.

    Args:
      packed: a `Form`.
      policy: (s,) probabilities.
      reach: (s + 2,) written: how probable the policy makes each sequence of its player.
      values: (s + 2,) written: returns less half of the constant sum.
    """
    form = Form(*packed)
    for player in range(2):
        _reach(form, policy, player, reach)
    for player in range(2):
        _gradient(form, player, reach, values)


@kernel
def fold(
    packed: tuple[Any, ...], policy: Floats, values: Floats, player: Int, respond: bool
) -> float:
    """Return the value of a policy for a player, less half of the constant sum.

    Args:
      packed: a `Form`.
      policy: (s,) probabilities.
      values: (s + 2,) those of `gradient`; a player's later sequences are added to its earlier.
      respond: whether the player's part of the policy is first replaced by a best response; of
        equally good actions that takes the first.
    """
    form = Form(*packed)
    starts, bounds = form.starts, form.bounds
    for i in range(bounds[player + 1] - 1, bounds[player] - 1, -1):
        best, value = starts[i], 0.0
        for slot in range(starts[i], starts[i + 1]):
            value += policy[slot] * values[slot]
            if values[slot] > values[best]:
                best = slot
        if respond:
            value = values[best]
            policy[starts[i] : starts[i + 1]] = 0.0
            policy[best] = 1.0
        values[form.parents[i]] += value
    return float(values[len(policy) + player])


@inlined
def _decide(
    tables: Floats, algorithm: Int, start: Int, end: Int, values: Floats, predictions: Floats
) -> tuple[float, float]:
    """Learn from the values of an information set's actions, and set its next policy.

    Returns the value of the information set under the policy so far, and what is predicted of the
    next: the same values, but under the next policy.
    """
    regrets, policy = tables[0], tables[2]
    value, guess = 0.0, 0.0
    for slot in range(start, end):
        value += policy[slot] * values[slot]
        guess += policy[slot] * predictions[slot]
    total = 0.0
    for slot in range(start, end):
        regret = regrets[slot] + values[slot] - value
        regrets[slot] = regret if algorithm == CFR else max(0.0, regret)
        ahead = predictions[slot] - guess if algorithm == PREDICTIVE else 0.0
        policy[slot] = max(0.0, regrets[slot] + ahead)
        total += policy[slot]
    guess = 0.0
    for slot in range(start, end):
        policy[slot] = policy[slot] / total if total > 0.0 else 1.0 / (end - start)
        guess += policy[slot] * predictions[slot]
    return value, guess


@kernel
def iterate(
    packed: tuple[Any, ...], tables: Floats, algorithm: Int, done: Ints, count: Int, work: Floats
) -> None:
    """Run some iterations, the players in turn.

    CFR (Zinkevich et al. 2007), CFR+ (Tammelin 2014) and PCFR+ (Farina, Kroer, Sandholm 2021);
    their sums weigh the policies of iteration t = 1, 2, ... by 1, t and t**2.

    Args:
      packed: a `Form`.
      tables: (3, s) regrets, summed policies and the current policy; at first 0, 0 and uniform.
      algorithm: `CFR`, 1 for CFR+, or `PREDICTIVE`; also the exponent of t.
      done: (1,) the number of iterations so far. It is counted here: a signal to the process is
        handled when the kernel has returned, and must find a number that fits the tables.
      work: (3, s + 2) work space.
    """
    form = Form(*packed)
    sums, policy = tables[1], tables[2]
    reach, values, predictions = work[0], work[1], work[2]
    starts, parents, bounds = form.starts, form.parents, form.bounds
    for player in range(2):
        _reach(form, policy, player, reach)
    for _ in range(count):
        done[0] += 1
        weight = float(done[0]) ** algorithm
        for player in range(2):
            _gradient(form, player, reach, values)
            for slot in range(starts[bounds[player]], starts[bounds[player + 1]]):
                sums[slot] += weight * reach[slot]
                predictions[slot] = values[slot]
            # Last sets first: the values of a set's actions are complete when it is met.
            for i in range(bounds[player + 1] - 1, bounds[player] - 1, -1):
                start, end = starts[i], starts[i + 1]
                value, guess = _decide(tables, algorithm, start, end, values, predictions)
                values[parents[i]] += value
                predictions[parents[i]] += guess
            _reach(form, policy, player, reach)
