"""Min-max moves over sampled boards: the seed's move choice, with its mixture as a parameter.

On each sampled board the engine's best moves become candidates; every candidate is scored on every
sampled board, as it would turn out there; the best mixture of mean and worst score is played.
Before that, a king that can be captured is captured, and where some board has our king attacked
only candidates that end the attack count.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai_rbc.agents.scoring import Scorer, mixed
from miai_rbc.kernels.bits import WIN, Words
from miai_rbc.kernels.board import NOTHING
from miai_rbc.kernels.choice import count_king_captures, find_checks, find_escapes
from miai_rbc.rules.board_set import BoardSet

_LOOKED_AT = 20_000  # boards of a belief that kings and checks are looked for on
_FIRST_SHARE = 0.35  # of the time for finding candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """How the scores of a move on many boards become one.

    Attributes:
      mean, low: shares of the weighted mean, and of the worst score or a low quantile.
      quantile: 0 for the worst score, else the weight that lies below the low end.
    """

    mean: float = 0.0
    low: float = 1.0
    quantile: float = 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """A move that was chosen, and what was known of it.

    Attributes:
      request: a move of `kernels.board`.
      value: the mixture of its scores, centipawns from our point of view; None when not scored.
      boards, candidates: how many were scored against each other.
      why: ``king``, ``minimax``, ``only``.
    """

    request: int
    value: float | None
    boards: int
    candidates: int
    why: str


def choose_move(
    boards: BoardSet,
    requests: Sequence[int],
    scorer: Scorer,
    rng: np.random.Generator,
    *,
    samples: int,
    top: int,
    widest: int,
    mixture: Mixture,
    weights: NDArray[np.float64] | None = None,
    deadline: float | None = None,
) -> Choice:
    """Return the move to ask for.

    Args:
      boards: the belief, before our move.
      requests: the moves that can be asked for, `NOTHING` left out.
      samples: boards drawn to score moves on.
      top: of the engine's moves on each board become candidates.
      widest: most candidates; the ones named on most boards.
      weights: (n,) how probable each board is; without them all are the same.
      deadline: on the monotonic clock. There is always an answer, a better one with more time.
    """
    if not requests:
        return Choice(NOTHING, None, 0, 0, "only")
    known = np.array(requests, np.int32)
    looked, looked_weights = draw_boards(boards, weights, _LOOKED_AT, rng)
    captures = np.empty(len(known))
    count_king_captures(looked.rows, known, looked_weights, captures)
    best = int(np.argmax(captures))
    if captures[best] > 0:
        return Choice(int(known[best]), float(WIN), len(looked), len(known), "king")
    sample, sample_weights = draw_boards(looked, looked_weights, samples, rng)
    begun = time.monotonic()
    first = None if deadline is None else begun + _FIRST_SHARE * (deadline - begun)
    named = scorer.best_moves(sample.rows, top, deadline=first)
    candidates = rank_candidates(named, sample_weights, widest)
    if not candidates:
        candidates = [NOTHING]
    scores = scorer.matrix(sample.rows, candidates, deadline=deadline)
    used = sample_weights[: len(scores)]
    open_to = _out_of_check(sample.rows, candidates)
    values = mixed(scores, used, mean=mixture.mean, low=mixture.low, quantile=mixture.quantile)
    values[~open_to] -= 10 * WIN
    at = int(np.argmax(values))
    value = float(values[at]) if open_to[at] else None
    return Choice(candidates[at], value, len(scores), len(candidates), "minimax")


def rank_candidates(
    named: Sequence[Sequence[int]], weights: NDArray[np.float64], widest: int
) -> list[int]:
    """Return the moves named for most boards, those with the greatest weight first."""
    votes: Counter[int] = Counter()
    for moves, weight in zip(named, weights, strict=False):
        for rank, move in enumerate(moves):
            votes[move] += weight / (1 + rank)
    ranked = sorted(votes, key=lambda move: (-votes[move], move))
    return ranked[:widest]


def _out_of_check(rows: Words, candidates: Sequence[int]) -> NDArray[np.bool_]:
    """Return which candidates end the check on all boards that have our king attacked.

    All of them when none does on every such board, or when there is no such board. All boards
    drawn are looked at, also those that there is no time to score.
    """
    checks = np.empty(len(rows), np.bool_)
    find_checks(rows, checks)
    escapes = np.empty((int(checks.sum()), len(candidates)), np.bool_)
    find_escapes(rows[checks], np.array(candidates, np.int32), escapes)
    ends = np.asarray(escapes.all(axis=0))
    return ends if ends.any() else np.ones(len(candidates), np.bool_)


def draw_boards(
    boards: BoardSet,
    weights: NDArray[np.float64] | None,
    count: int,
    rng: np.random.Generator,
) -> tuple[BoardSet, NDArray[np.float64]]:
    """Return at most `count` boards with their weights, in an order drawn too.

    So the boards that time allows to score are a fair sample of them.
    """
    own = np.ones(len(boards)) if weights is None else weights
    if len(boards) <= count:
        order = rng.permutation(len(boards))
        return BoardSet(boards.rows[order]), own[order]
    if weights is None:
        return boards.sample(count, rng), np.ones(count)
    shares = own / own.sum()
    # Drawn by weight, with repetition: then each counts the same.
    drawn, times = np.unique(rng.choice(len(boards), count, p=shares), return_counts=True)
    order = rng.permutation(len(drawn))
    return BoardSet(boards.rows[drawn[order]]), times[order].astype(np.float64)
