"""Rollouts from the leaves of a forest, by light playouts or by the pattern policy."""

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.patterns import PatternBuffers, Weights, pattern_playout
from miai_go.kernels.playouts import copy_words, playout_score
from miai_go.kernels.rules import SIZE, Int, Words, area, reset_unread
from miai_go.kernels.trail import COLOR, LAST, Trail


@part
def passes_before(b: Words, trail: Trail) -> int:
    """Return 1 after a pass, else 0; a position after two is not a leaf."""
    return int(trail[LAST] == b[SIZE] * b[SIZE])


@part
def result_for(score: int, komi: float, mover: Int) -> float:
    """Return the result for the player to move from Black's area minus White's."""
    result = float((score > komi) - (score < komi))
    return result if mover == 1 else -result


@kernel
def light_rollouts(
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    games: NDArray[np.int32],
    counts: NDArray[np.int64],
    limits: NDArray[np.int64],
    komi: NDArray[np.float64],
    rng: NDArray[np.uint64],
    b: Words,
    record: Words,
    owner: NDArray[np.int8],
    stack: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None:
    """Write the mean result of light playouts from each leaf, for the player to move there.

    Args:
      games: the game of each leaf; `counts` (number of playouts), `limits` (moves after which one
        is stopped), `komi` and `rng` have an entry for each game.
      b, record, owner, stack: work space.
    """
    for n in range(len(words)):
        g = np.int64(games[n])
        c = np.int64(trails[n, COLOR])
        passes = passes_before(words[n], trails[n])
        total = 0.0
        for _ in range(counts[g]):
            copy_words(b, words[n])
            reset_unread(b)
            score, _moves = playout_score(
                b, c, passes, record[: limits[g]], rng[g : g + 1], owner, stack
            )
            total += result_for(score, komi[g], c)
        out[n] = total / max(counts[g], 1)


@kernel
def pattern_rollouts(
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    games: NDArray[np.int32],
    counts: NDArray[np.int64],
    limits: NDArray[np.int64],
    komi: NDArray[np.float64],
    rng: NDArray[np.uint64],
    table: Weights,
    room: PatternBuffers,
    b: Words,
    trail: Trail,
    record: Words,
    owner: NDArray[np.int8],
    stack: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None:
    """As `light_rollouts`, with moves drawn by the pattern policy of `table`."""
    for n in range(len(words)):
        g = np.int64(games[n])
        c = np.int64(trails[n, COLOR])
        passes = np.int64(passes_before(words[n], trails[n]))
        total = 0.0
        for _ in range(counts[g]):
            copy_words(b, words[n])
            reset_unread(b)
            for k in range(len(trail)):
                trail[k] = trails[n, k]
            pattern_playout(b, trail, passes, table, record, rng[g : g + 1], limits[g], room)
            total += result_for(area(b, owner, stack), komi[g], c)
        out[n] = total / max(counts[g], 1)
