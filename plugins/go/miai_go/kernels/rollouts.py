"""Rollouts from the leaves of a forest, by light playouts or by the pattern policy."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.patterns import PatternBuffers, Weights, pattern_playout
from miai_go.kernels.playouts import PlayoutSpace, copy_words, playout_score
from miai_go.kernels.rules import SIZE, Int, Words, area, reset_unread
from miai_go.kernels.trail import COLOR, LAST, Trail


@part
def passes_before(b: Words, trail: Trail) -> int:
    """Return 1 after a pass, else 0; a position after two is not a leaf."""
    return int(trail[LAST] == b[SIZE] * b[SIZE])


@part
def outcome(margin: float, share: float, size: Int) -> float:
    """Return the worth of a margin in points, from -1 to 1: its sign, and a `share` for its size.

    A margin as large as the side of the board counts three quarters of that share.
    """
    sign = float((margin > 0) - (margin < 0))
    if share == 0.0:
        return sign
    return (1.0 - share) * sign + share * math.tanh(margin / float(size))


@part
def worth(score: int, komi: float, share: float, mover: Int, b: Words) -> float:
    """Return the worth of Black's area minus White's for the player to move."""
    black = outcome(float(score) - komi, share, np.int64(b[SIZE]))
    return black if mover == 1 else -black


class RolloutGames(NamedTuple):
    """How leaves of each game are played to the end; every array has an entry for each game.

    Attributes:
      counts: playouts from a leaf.
      limits: moves after which a playout is stopped.
      komi: in points.
      shares: of the score in the worth of an end, see `outcome`.
      rng: states of the generator.
    """

    counts: NDArray[np.int64]
    limits: NDArray[np.int64]
    komi: NDArray[np.float64]
    shares: NDArray[np.float64]
    rng: NDArray[np.uint64]


@kernel
def light_rollouts(
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    owners: NDArray[np.int32],
    settings: RolloutGames,
    work: PlayoutSpace,
    out: NDArray[np.float64],
) -> None:
    """Write the mean worth of light playouts from each leaf, for the player to move there.

    Args:
      owners: the game of each leaf.
    """
    games, space = RolloutGames(*settings), PlayoutSpace(*work)
    counts, komi, shares, rng = games.counts, games.komi, games.shares, games.rng
    b = space.board
    for n in range(len(words)):
        g = np.int64(owners[n])
        c = np.int64(trails[n, COLOR])
        passes = passes_before(words[n], trails[n])
        room = PlayoutSpace(b, space.record[: games.limits[g]], space.owner, space.stack)
        total = 0.0
        for _ in range(counts[g]):
            copy_words(b, words[n])
            reset_unread(b)
            score, _moves = playout_score(c, passes, rng[g : g + 1], room)
            total += worth(score, komi[g], shares[g], c, b)
        out[n] = total / max(counts[g], 1)


@kernel
def pattern_rollouts(
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    owners: NDArray[np.int32],
    settings: RolloutGames,
    work: PlayoutSpace,
    trail: Trail,
    table: Weights,
    room: PatternBuffers,
    out: NDArray[np.float64],
) -> None:
    """As `light_rollouts`, with moves drawn by the pattern policy of `table`."""
    games, space = RolloutGames(*settings), PlayoutSpace(*work)
    counts, limits, komi, shares = games.counts, games.limits, games.komi, games.shares
    b = space.board
    for n in range(len(words)):
        g = np.int64(owners[n])
        c = np.int64(trails[n, COLOR])
        passes = np.int64(passes_before(words[n], trails[n]))
        rng = games.rng[g : g + 1]
        total = 0.0
        for _ in range(counts[g]):
            copy_words(b, words[n])
            reset_unread(b)
            for k in range(len(trail)):
                trail[k] = trails[n, k]
            pattern_playout(b, trail, passes, table, space.record, rng, limits[g], room)
            total += worth(area(b, space.owner, space.stack), komi[g], shares[g], c, b)
        out[n] = total / max(counts[g], 1)
