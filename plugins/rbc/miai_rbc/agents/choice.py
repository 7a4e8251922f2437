"""Choosing moves and windows by an engine's scores on sampled boards.

The engine's best moves on each sampled board become candidates. Every candidate is scored on every
sampled board as it would turn out there, and a mixture of mean and low scores decides. Before that,
a king that can be captured is captured, and if a sampled board has the player's king attacked, only
candidates that end the attack count.

A window is worth what the move after it is expected to be worth. After G. Perrotta's StrangeFish
(https://github.com/ginoperrotta/reconchess-strangefish).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai_rbc.belief.scans import CENTRES
from miai_rbc.engines.protocol import ChessEvaluator
from miai_rbc.kernels.bits import NO_MOVE, WIN, Words
from miai_rbc.kernels.board import NOTHING, WHITE, WORDS
from miai_rbc.kernels.choice import count_king_captures, find_checks, find_escapes, play_requests
from miai_rbc.parameters import MoveParameters
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import window

# -- scores of moves on many boards ----------------------------------------------------------------

Scores = NDArray[np.float64]

_BATCH = 64  # positions between two checks of the clock
_MAX_CACHED = 200_000


class Scorer:
    """Values positions with an engine, each once.

    Attributes:
      engine: values the positions.
      lookups, hits: positions asked for, and those of them that were cached.
    """

    def __init__(self, engine: ChessEvaluator) -> None:
        self.engine = engine
        self.lookups = self.hits = 0
        self._cache: dict[bytes, int] = {}

    def new_game(self) -> None:
        """Forget everything."""
        self._cache.clear()
        self.lookups = self.hits = 0
        self.engine.new_game()

    def matrix(
        self, boards: Words, requests: Sequence[int], *, deadline: float | None = None
    ) -> Scores:
        """Return the score of each request on each board, for the side to move.

        Args:
          boards: (n, 8).
          deadline: on the monotonic clock; boards not reached by then are missing.

        Returns:
          float64 (k, len(requests)) of the first k boards, centipawns; k is at least one.
        """
        moves = np.array(requests, np.int32)
        scores: list[Scores] = []
        step = max(1, _BATCH // max(1, len(requests)))
        for begin in range(0, len(boards), step):
            if scores and deadline is not None and time.monotonic() >= deadline:
                break
            part = boards[begin : begin + step]
            after = np.empty((len(part), len(moves), WORDS), np.uint64)
            play_requests(part, moves, after)
            values = self.values(after.reshape(-1, WORDS), deadline=deadline)
            scores.append(-values.reshape(len(part), len(moves)))
        return np.concatenate(scores)

    def values(self, rows: Words, *, deadline: float | None = None) -> Scores:
        """Return the values of positions for their side to move, in centipawns: float64 (n,)."""
        keys = [row.tobytes() for row in rows]
        missing = {key: i for i, key in enumerate(keys) if key not in self._cache}
        self.lookups += len(keys)
        self.hits += len(keys) - len(missing)
        fresh: dict[bytes, int] = {}
        if missing:
            places = np.fromiter(missing.values(), np.int64, len(missing))
            scores = self.engine.evaluate(rows[places], deadline=deadline).scores.tolist()
            fresh = dict(zip(missing, scores, strict=True))
        values = np.array([fresh[k] if k in fresh else self._cache[k] for k in keys], np.float64)
        # Values that the deadline cut short are not cached.
        if deadline is None or time.monotonic() < deadline:
            if len(self._cache) + len(fresh) > _MAX_CACHED:
                self._cache.clear()
            self._cache.update(fresh)
        return values

    def best_moves(
        self, boards: Words, top: int, *, deadline: float | None = None
    ) -> list[list[int]]:
        """Return the engine's best moves on each board, best first; of fewer boards on timeout."""
        best: list[list[int]] = []
        for begin in range(0, len(boards), _BATCH):
            if best and deadline is not None and time.monotonic() >= deadline:
                break
            part = boards[begin : begin + _BATCH]
            moves = self.engine.evaluate(part, top=top, deadline=deadline).moves.tolist()
            best += [[move for move in row if move != NO_MOVE] for row in moves]
        return best


def combine(
    scores: Scores, weights: Scores, *, mean: float, low: float, quantile: float = 0.0
) -> Scores:
    """Return one value for each request, from its scores on all boards.

    Args:
      scores: (boards, requests), centipawns; see `squeeze`.
      weights: (boards,). If all are zero, because time did not reach the boards that have weight,
        all boards count the same.
      mean, low: shares of the weighted mean and of the low end.
      quantile: the low end is the score that this share of the weight lies below; 0 for the worst
        of all boards.
    """
    moderate = squeeze(scores)
    total = weights.sum()
    shares = weights / total if total > 0 else np.full(len(scores), 1 / len(scores))
    average = shares @ moderate
    if quantile <= 0.0:
        return np.asarray(mean * average + low * moderate.min(axis=0))
    order = np.argsort(moderate, axis=0)
    below = np.cumsum(shares[order], axis=0)
    rows = (below < quantile).sum(axis=0).clip(max=len(scores) - 1)
    columns = np.arange(scores.shape[1])
    return np.asarray(mean * average + low * moderate[order[rows, columns], columns])


def squeeze(scores: Scores) -> Scores:
    """Return scores with the part beyond ten pawns compressed, so that WIN becomes twenty pawns.

    Otherwise one lost board would drown all others in a mean.
    """
    small = np.clip(scores, -1000, 1000)
    return np.asarray(small + (scores - small) * (1000 / (WIN - 1000)))


def opponent_weights(
    rows: Words,
    scorer: Scorer,
    temperature: float,
    *,
    blind: float,
    check: float = 0.0,
    deadline: float | None = None,
) -> Scores:
    """Return how probable boards are, as the opponent prefers those that are good for it.

    Args:
      rows: (n, 8), the player to move.
      temperature: centipawns by which a board is better for the opponent and e times as probable.
      blind: share of the weight spread evenly, as the opponent does not see everything either.
      check: centipawns that an attack on the player's king is worth to the opponent, who hopes it
        goes unseen. An engine that sees the whole board gives nothing for it.

    Returns:
      float64 (n,), summing to one.
    """
    ours = scorer.values(rows, deadline=deadline)
    theirs = -squeeze(np.where(ours > WIN - 1000, WIN, ours))
    checks = np.empty(len(rows), np.bool_)
    find_checks(rows, checks)
    theirs = theirs + check * checks
    weights = np.exp((theirs - theirs.max()) / temperature)
    share = weights / weights.sum()
    return np.asarray((1.0 - blind) * share + blind / len(rows), np.float64)


# -- choosing --------------------------------------------------------------------------------------

_SEARCHED_FOR_KINGS = 20_000  # boards
_CANDIDATE_TIME = 0.35  # share of the time


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen move and the reason for it.

    Attributes:
      request: a move of `kernels.board`.
      value: its combined score in centipawns, for the player; None if it was not scored.
      boards, candidates: the numbers of boards and moves compared.
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
    parameters: MoveParameters,
    *,
    weights: Scores | None = None,
    deadline: float | None = None,
) -> Choice:
    """Return the move to request.

    Args:
      boards: the belief before the move.
      requests: the possible moves, without `NOTHING`.
      parameters: samples, candidates and mixture.
      weights: (n,) of the boards; without them all count the same.
      deadline: on the monotonic clock. There is always an answer, a better one with more time.
    """
    if not requests:
        return Choice(NOTHING, None, 0, 0, "only")
    moves = np.array(requests, np.int32)
    pool, pool_weights = draw_boards(boards, weights, _SEARCHED_FOR_KINGS, rng)
    captures = np.empty(len(moves))
    count_king_captures(pool.rows, moves, pool_weights, captures)
    best = int(np.argmax(captures))
    if captures[best] > 0:
        return Choice(int(moves[best]), float(WIN), len(pool), len(moves), "king")
    sample, shares = draw_boards(pool, pool_weights, parameters.samples, rng)
    candidates = _candidates(sample.rows, shares, scorer, parameters, deadline) or [NOTHING]
    scores = scorer.matrix(sample.rows, candidates, deadline=deadline)
    values = _combine(scores, shares[: len(scores)], parameters)
    safe = _out_of_check(sample.rows, candidates)
    values[~safe] -= 10 * WIN
    at = int(np.argmax(values))
    value = float(values[at]) if safe[at] else None
    return Choice(candidates[at], value, len(scores), len(candidates), "minimax")


def window_values(
    boards: BoardSet,
    weights: Scores,
    player: int,
    scorer: Scorer,
    requests: Sequence[int],
    rng: np.random.Generator,
    parameters: MoveParameters,
    *,
    deadline: float | None,
) -> Scores:
    """Return for each of the 36 windows the expected value of the move after it: float64 (36,).

    A window splits the sampled boards by what it would show; each part has its own best move. The
    arguments are those of `choose_move`, with the boards before the sense.
    """
    sample, shares = draw_boards(boards, weights, parameters.samples, rng)
    legal = set(requests)
    order = _candidates(sample.rows, shares, scorer, parameters, deadline)
    candidates = [move for move in order if move in legal]
    if not candidates:
        return np.zeros(len(CENTRES))
    scores = scorer.matrix(sample.rows, candidates, deadline=deadline)
    rows, shares = sample.rows[: len(scores)], shares[: len(scores)]
    return np.array([_window_value(rows, shares, scores, c, parameters) for c in CENTRES])


def _window_value(
    rows: Words, shares: Scores, scores: Scores, centre: int, parameters: MoveParameters
) -> float:
    squares = sum(1 << square for square in window(centre))
    visible = rows[:, : WHITE + 1] & np.uint64(squares)
    _, parts = np.unique(visible, axis=0, return_inverse=True)
    parts = parts.reshape(-1)
    total = 0.0
    for part in range(int(parts.max()) + 1):
        members = parts == part
        values = _combine(scores[members], shares[members], parameters)
        total += float(values.max()) * float(shares[members].sum())
    return total / float(shares.sum())


def _combine(scores: Scores, shares: Scores, parameters: MoveParameters) -> Scores:
    return combine(
        scores, shares, mean=parameters.mean, low=parameters.low, quantile=parameters.quantile
    )


def _candidates(
    rows: Words,
    weights: Scores,
    scorer: Scorer,
    parameters: MoveParameters,
    deadline: float | None,
) -> list[int]:
    """Return the engine's best moves on sampled boards, most often named first."""
    now = time.monotonic()
    until = None if deadline is None else now + _CANDIDATE_TIME * (deadline - now)
    best_moves = scorer.best_moves(rows, parameters.top, deadline=until)
    return rank_candidates(best_moves, weights, parameters.widest)


def rank_candidates(best_moves: Sequence[Sequence[int]], weights: Scores, widest: int) -> list[int]:
    """Return the moves named for most boards, those with the greatest weight first."""
    votes: Counter[int] = Counter()
    for moves, weight in zip(best_moves, weights, strict=False):
        for rank, move in enumerate(moves):
            votes[move] += weight / (1 + rank)
    order = sorted(votes, key=lambda move: (-votes[move], move))
    return order[:widest]


def _out_of_check(rows: Words, candidates: Sequence[int]) -> NDArray[np.bool_]:
    """Return which candidates end every attack on the player's king, or all if none does.

    All sampled boards count, also those that there is no time to score.
    """
    checks = np.empty(len(rows), np.bool_)
    find_checks(rows, checks)
    escapes = np.empty((int(checks.sum()), len(candidates)), np.bool_)
    find_escapes(rows[checks], np.array(candidates, np.int32), escapes)
    ends = np.asarray(escapes.all(axis=0))
    return ends if ends.any() else np.ones(len(candidates), np.bool_)


def draw_boards(
    boards: BoardSet, weights: Scores | None, count: int, rng: np.random.Generator
) -> tuple[BoardSet, Scores]:
    """Return at most `count` boards with their weights, in random order.

    So the boards that time allows to score are a fair sample.
    """
    own = np.ones(len(boards)) if weights is None else weights
    if len(boards) <= count:
        order = rng.permutation(len(boards))
        return BoardSet(boards.rows[order]), own[order]
    if weights is None:
        return boards.sample(count, rng), np.ones(count)
    shares = own / own.sum()
    # Drawn by weight with replacement: each draw counts the same.
    indices, times = np.unique(rng.choice(len(boards), count, p=shares), return_counts=True)
    order = rng.permutation(len(indices))
    return BoardSet(boards.rows[indices[order]]), times[order].astype(np.float64)
