"""Choosing moves and windows by an engine's scores on sampled boards.

The candidates are all requests, or the engine's best moves on sampled boards. Each is scored on
sampled boards as it would turn out there, and a mixture of mean and low scores decides. A king of
either side counts `king` centipawns on the share of the weight on which it is captured. A move that
captures the king on enough of the weight is played without further comparison.

A window is worth what the move after it is expected to be worth. After G. Perrotta's StrangeFish
(https://github.com/ginoperrotta/reconchess-strangefish).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from miai_rbc.belief.scans import CENTRES
from miai_rbc.engines.protocol import ChessEvaluator
from miai_rbc.kernels.bitboards import NO_MOVE, WIN, Words
from miai_rbc.kernels.board import NOTHING, PAWNS, WHITE, WORDS
from miai_rbc.kernels.filters import count_king_captures, find_checks, play_requests
from miai_rbc.rbc_parameters import MAX_DEPTH, SamplingParameters, UciEngine
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import window
from miai_rbc.rules.observations import Event, Moved, Sensed

# -- scores of moves on many boards ----------------------------------------------------------------

Scores = NDArray[np.float64]

_BATCH = 64  # positions between two checks of the clock
_MAX_CACHED = 200_000
_TINY = 1e-300  # avoids division by zero

CHECK: Final = 300.0
"""Centipawns that the opponent gains by an attack on our king, which may go unseen."""

_MODERATE = 1000.0  # centipawns, beyond which scores are compressed
_DECISIVE = 400.0  # centipawns, as in Elo's formula, when hardly a piece is left
_UNBOUNDED = 1e9  # centipawns: all count the same
_LEAST_KING = 1300.0  # centipawns that a king counts in endings
_TEMPERATURE = 150.0  # centipawns by which a board is better and e times as probable
_BLIND = 0.4  # share of the weight spread evenly, as the opponent does not see everything either


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveSettings:
    """How moves are compared.

    Attributes:
      samples: boards on which moves are scored.
      depth: plies of the engine's searches at first.
      decisive: see `squeeze`.
      low: weight of the low end of a move's scores; the mean has the rest.
      quantile: share of the weight that is the low end; 0: the worst board.
      king: centipawns that a captured king counts, of either side, with 24 pieces or more.
      capture: share of the weight on which a move must capture the king to be played without
        comparison; 0: any board. At least a half for a request that failed.
      top, widest: best moves of each board that become candidates, and their maximum number.
      evaluations: by which all moves are compared; None: the candidates are compared, each on all
        samples.
      deeper: maximum plies beyond the depth, for time or evaluations that remain.
      danger: how many times likelier a board is examined early if our king is attacked there.
    """

    samples: int = 50
    depth: int = MAX_DEPTH
    low: float = 1.0
    decisive: float = _UNBOUNDED
    quantile: float = 0.0
    king: float = 2000.0
    capture: float = 0.0
    top: int = 3
    widest: int = 30
    evaluations: int | None = None
    deeper: int = MAX_DEPTH
    danger: float = 1.0


class GameProgress:
    """What waiting is worth, so that a player who is ahead goes on.

    A board that was possible after an own move before is worth a draw at most; so is a move without
    capture or pawn move, the nearer such moves have come to drawing the game. A request that failed
    is a pass, until it cannot fail or another move was taken. An opponent who passed on three
    turns may pass again, and lose a king that is attacked.

    Attributes:
      reached, failed, passes: the boards with their numbers, requests, and passes in a row.
    """

    def __init__(self) -> None:
        self.reached, self.failed = Counter[bytes](), set[int]()
        self.passes, self._spent, self._standing = 0, 0.0, b""

    def follow(self, event: Event, boards: BoardSet, spent: float) -> None:
        """Update by an event, the belief after it, and the spent share of quiet half-moves."""
        # A hundredth after a tenth of them. The opponent's pawn moves are not seen, so there may be
        # more of them than the game allows.
        self._spent = min(1.0, spent) ** 2
        rows = boards.rows[:1000]
        known = rows[0, : WHITE + 1].tobytes() if len(boards) == 1 else b""
        if isinstance(event, Sensed):
            self.passes = self.passes + 1 if known and known == self._standing else 0
            nothing = outcomes(rows, [NOTHING])
            self.failed = {m for m in self.failed if (outcomes(rows, [m]) == nothing).all(2).any()}
        elif isinstance(event, Moved):
            self._standing = known
            self.failed = self.failed | {event.requested} if event.taken == NOTHING else set()
            self.reached.update(row.tobytes() for row in rows)
        if spent == 0.0:  # no board from before comes back
            self.reached, self.failed = Counter(), set()

    def tried(self, requests: Iterable[int]) -> list[int]:
        """Return distinct requests in order, the pass in place of those that failed."""
        return list(dict.fromkeys(NOTHING if m in self.failed else m for m in requests))

    def adjusted(self, scores: Scores, rows: Words, after: Words) -> Scores:
        """Return the scores of requests, float64 (n, requests), given the boards after them."""
        before, flat = rows[:, None], after.reshape(-1, WORDS)
        waits = (after[..., PAWNS] == before[..., PAWNS]) & (_count(after) == _count(before))
        waits &= (scores > 0) & (scores < WIN - 1000)
        scores = np.where(waits, scores * (1 - self._spent), scores)
        times = np.array([self.reached[row.tobytes()] for row in flat]).reshape(scores.shape)
        scores = np.where(times > 0, np.minimum(scores, 1.0 - times), scores)
        checks = np.empty(len(flat), np.bool_)
        find_checks(flat, checks)
        # By Laplace's rule of succession; one or two passes may be requests that failed.
        stays = (self.passes + 1) / (self.passes + 2) if self.passes > 2 else 0.0
        return scores + stays * checks.reshape(scores.shape) * (WIN - scores)


def outcomes(rows: Words, requests: Sequence[int]) -> Words:
    """Return each board after each request: uint64 (n, requests, 8)."""
    after = np.empty((len(rows), len(requests), WORDS), np.uint64)
    play_requests(rows, np.array(requests, np.int32), after)
    return after


def _count(rows: Words) -> NDArray[np.uint8]:
    return np.asarray(np.bitwise_count(rows[..., :WHITE]).sum(axis=-1))


class Scorer:
    """Values positions with an engine, each once.

    Attributes:
      engine: values the positions.
      progress: adjusts the scores of requests.
      lookups, hits: positions asked for, and those of them that were cached.
    """

    def __init__(self, engine: ChessEvaluator) -> None:
        self.engine, self.progress = engine, GameProgress()
        self.lookups = self.hits = 0
        self._cache: dict[bytes, int] = {}

    def new_game(self, progress: GameProgress | None = None) -> None:
        """Forget everything; begin with the progress of a new game."""
        self._cache.clear()
        self.lookups, self.hits, self.progress = 0, 0, progress or GameProgress()
        self.engine.new_game()

    def matrix(
        self,
        boards: Words,
        requests: Sequence[int],
        *,
        depth: int | None = None,
        deadline: float | None = None,
    ) -> Scores:
        """Return the score of each request on each board, for the side to move.

        Args:
          boards: (n, 8).
          depth: plies that the engine searches after the request; None for its own depth.
          deadline: on the monotonic clock; boards not reached by then are missing.

        Returns:
          float64 (k, len(requests)) of the first k boards, centipawns; k is at least one.
        """
        scores: list[Scores] = []
        step = max(1, _BATCH // max(1, len(requests)))
        for begin in range(0, len(boards), step):
            if scores and deadline is not None and time.monotonic() >= deadline:
                break
            part = boards[begin : begin + step]
            after = outcomes(part, requests)
            values = self.values(after.reshape(-1, WORDS), depth=depth, deadline=deadline)
            scores.append(self.progress.adjusted(-values.reshape(after.shape[:2]), part, after))
        return np.concatenate(scores)

    def values(
        self, rows: Words, *, depth: int | None = None, deadline: float | None = None
    ) -> Scores:
        """Return the values of positions for their side to move, in centipawns: float64 (n,)."""
        suffix = b"" if depth is None else bytes([depth])
        keys = [row.tobytes() + suffix for row in rows]
        # Each position once: boards of a belief often become the same after a request.
        missing = {key: i for i, key in enumerate(keys) if key not in self._cache}
        self.lookups += len(keys)
        self.hits += len(keys) - len(missing)
        fresh: dict[bytes, int] = {}
        if missing:
            places = np.fromiter(missing.values(), np.int64, len(missing))
            evaluations = self.engine.evaluate(rows[places], depth=depth, deadline=deadline)
            scores = evaluations.scores.tolist()
            fresh = dict(zip(missing, scores, strict=True))
        values = np.array([fresh[k] if k in fresh else self._cache[k] for k in keys], np.float64)
        # Values that the deadline cut short are not cached.
        if deadline is None or time.monotonic() < deadline:
            # All at once: an order of use would cost more than the few positions valued twice.
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


def make_engine(parameters: SamplingParameters) -> ChessEvaluator:
    """Return the engine.

    Raises:
      AgentUnavailableError: its program is missing.
    """
    engine, depth = parameters.engine, parameters.search_depth
    if isinstance(engine, UciEngine):
        from miai_rbc.engines.stockfish import StockfishEngine

        return StockfishEngine(engine, depth=depth)
    from miai_rbc.engines.kernel import KernelEngine, KernelParameters

    depth = MAX_DEPTH if depth is None else depth
    return KernelEngine(KernelParameters(depth=depth, nodes=engine.nodes, table_mb=engine.hash_mb))


def combine(scores: Scores, weights: Scores, settings: MoveSettings) -> Scores:
    """Return one value for each request, from its scores on all boards.

    Args:
      scores: (boards, requests), centipawns; see `squeeze`.
      weights: (boards,). If all are zero, because time did not reach the boards that have weight,
        all boards count the same.
      settings: shares of the mean and the low end, and what kings are worth.
    """
    moderate = squeeze(scores, settings.king, settings.decisive)
    total = weights.sum()
    shares = weights / total if total > 0 else np.full(len(scores), 1 / len(scores))
    average = shares @ moderate
    low_end = _low_end(moderate, shares, settings.quantile)
    return np.asarray((1.0 - settings.low) * average + settings.low * low_end)


def _low_end(moderate: Scores, shares: Scores, quantile: float) -> Scores:
    """Return the quantile of each request's scores."""
    if quantile <= 0.0:
        return np.asarray(moderate.min(axis=0))
    order = np.argsort(moderate, axis=0)
    columns = np.arange(moderate.shape[1])
    upto = np.cumsum(shares[order], axis=0)
    rows = (upto < quantile).sum(axis=0).clip(max=len(moderate) - 1)
    return np.asarray(moderate[order, columns][rows, columns])


def squeeze(scores: Scores, king: float = 2000.0, decisive: float = _UNBOUNDED) -> Scores:
    """Return scores with the part beyond ten pawns compressed: WIN becomes `king`.

    Otherwise one lost board would drown all others in a mean.

    Args:
      scores: centipawns.
      king: what kings count, centipawns above 1000, without `decisive`.
      decisive: centipawns that nearly win: the more there are, the less one counts.
    """
    small = np.clip(scores, -_MODERATE, _MODERATE)
    beyond = (scores - small) * ((king - _MODERATE) / (WIN - _MODERATE))
    return np.asarray(decisive * np.tanh(small / decisive) + beyond)


def opponent_weights(
    rows: Words, scorer: Scorer, *, check: float, deadline: float | None = None
) -> Scores:
    """Return how probable boards are, as the opponent prefers those that are good for it.

    Args:
      rows: (n, 8), the player to move.
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
    weights = np.exp((theirs - theirs.max()) / _TEMPERATURE)
    share = weights / weights.sum()
    return np.asarray((1.0 - _BLIND) * share + _BLIND / len(rows), np.float64)


# -- choosing --------------------------------------------------------------------------------------

_SEARCHED_FOR_KINGS = 20_000  # boards
_CANDIDATE_TIME = 0.35  # share of the time
_FIRST_ROUND = 0.6  # share of the time or evaluations for all moves
_FINALISTS = 6
_DEEPER = 4  # evaluations that one counts for each ply beyond the usual depth


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen move and the reason for it.

    Attributes:
      request: a move of `kernels.board`.
      value: its combined score in centipawns, for the player; None if it was not scored.
      boards, candidates: the numbers of boards and moves compared.
      why: ``king``, ``minimax``, ``known``, ``only``.
      depth: maximum plies that boards were searched beyond the usual depth.
    """

    request: int
    value: float | None
    boards: int
    candidates: int
    why: str
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """Boards drawn without repetition by priority sampling, most urgent first.

    Every prefix is a fair sample of all boards when weighed by `shares` (Duffield, Lund and Thorup
    2007): the expected weight of any group of boards is its true one.

    Attributes:
      rows: (n, 8).
      weights, sizes: (n,) of the boards, and what made them likely to be drawn.
      keys: (n,) or (n + 1,) their random priorities in descending order; the last may belong to a
        board that was not drawn.
    """

    rows: Words
    weights: Scores
    sizes: Scores
    keys: Scores

    def shares(self, count: int) -> Scores:
        """Return the weights of the first `count` boards: float64 (count,)."""
        threshold = self.keys[count] if count < len(self.keys) else 0.0
        sizes = self.sizes[:count]
        chances = np.where(sizes >= threshold, 1.0, sizes / max(threshold, _TINY))
        return np.asarray(self.weights[:count] / np.maximum(chances, _TINY))


def draw_boards(
    rows: Words,
    weights: Scores,
    count: int,
    rng: np.random.Generator,
    *,
    urgency: Scores | None = None,
) -> Sample:
    """Return at most `count` boards, each likelier to come early the more weight it has.

    Args:
      rows, weights: (n, 8), (n,).
      urgency: (n,) factors by which boards are likelier to be drawn than by their weight.
    """
    sizes = weights if urgency is None else weights * urgency
    # A uniform number in (0, 1], so that no key is infinite.
    keys = sizes / (1.0 - rng.random(len(rows)))
    order = np.argsort(-keys, kind="stable")
    # The key after the last drawn is the threshold of the estimate.
    drawn = order[:count]
    return Sample(rows[drawn], weights[drawn], sizes[drawn], keys[order[: count + 1]])


def choose_move(
    boards: BoardSet,
    requests: Sequence[int],
    scorer: Scorer,
    rng: np.random.Generator,
    settings: MoveSettings,
    *,
    weights: Scores | None = None,
    deadline: float | None = None,
) -> Choice:
    """Return the move to request.

    Args:
      boards: the belief before the move.
      requests: the possible moves, without `NOTHING`.
      weights: (n,) of the boards; without them all count the same.
      deadline: on the monotonic clock. There is always an answer, a better one with more time.
    """
    if not requests:
        return Choice(NOTHING, None, 0, 0, "only")
    # Weighted boards are few; of a whole belief some thousands tell whether a king is there.
    pool = boards if weights is not None else boards.sample(_SEARCHED_FOR_KINGS, rng)
    shares = np.ones(len(pool)) if weights is None else weights
    moves = np.array(requests, np.int32)
    captures, failed = np.empty(len(moves)), [m in scorer.progress.failed for m in requests]
    count_king_captures(pool.rows, moves, shares, captures)
    needed = np.where(failed, max(0.5, settings.capture), settings.capture) * shares.sum()
    captures[captures < needed] = 0.0
    # Before anything is searched: an engine would see the capture too, on the boards it is asked
    # about only.
    best = int(np.argmax(captures))
    if captures[best] > 0:
        return Choice(int(moves[best]), float(WIN), len(pool), len(moves), "king")
    if settings.evaluations is None:
        sample = draw_boards(pool.rows, shares, settings.samples, rng)
        candidates = _candidates(sample, scorer, settings, deadline) or [NOTHING]
        scores = scorer.matrix(sample.rows, candidates, deadline=deadline)
        values = combine(scores, sample.shares(len(scores)), settings)
        winner = int(np.argmax(values))
        return Choice(
            candidates[winner], float(values[winner]), len(scores), len(candidates), "minimax"
        )
    if len(boards) == 1:
        return _choose_known(boards.rows, len(requests), scorer, settings, deadline)
    checks = np.empty(len(pool), np.bool_)
    find_checks(pool.rows, checks)
    urgency = np.where(checks, settings.danger, 1.0)
    settings = with_pieces(settings, pool.rows)
    sample = draw_boards(pool.rows, shares, settings.samples, rng, urgency=urgency)
    tried = scorer.progress.tried([*requests, NOTHING])
    return Race(sample, tried, scorer, settings, deadline).run()


def _choose_known(
    rows: Words, moves: int, scorer: Scorer, settings: MoveSettings, deadline: float | None
) -> Choice:
    """Return the best move on the only board, as deep as time or a race's evaluations allow."""
    # A race would value each of the `moves` once a ply; the fewer pieces, the less a ply costs.
    affordable = (settings.evaluations or 0) / moves
    factor = min(_DEEPER, 2 + int(_count(rows).item()) / 15)
    extra = min(_most_extra(settings), int(np.log(max(1.0, affordable)) / np.log(factor)))
    depth, progress = min(MAX_DEPTH, settings.depth + 1 + extra), scorer.progress
    top = moves if progress.passes > 2 else _FINALISTS if progress.reached else 1
    result = scorer.engine.evaluate(rows, top=top, depth=depth, deadline=deadline)
    best = result.moves[result.moves != NO_MOVE].tolist()
    # A pass keeps a king that every move would lose. Out of check a move may be unseen.
    checks = np.empty(1, np.bool_)
    find_checks(rows, checks)
    score = result.scores.item()
    if not best or (score <= 2 - WIN and not checks.item()):
        return Choice(NOTHING, float(score), 1, moves, "known", extra)
    scores = result.move_scores[:, : len(best)].astype(np.float64)
    (values,) = progress.adjusted(scores, rows, outcomes(rows, best))
    place = int(np.argmax(values))
    return Choice(best[place], float(values[place]), 1, moves, "known", extra)


def with_pieces(settings: MoveSettings, rows: Words) -> MoveSettings:
    """Return the settings for as many pieces as there are.

    With fewer of them depth tells more than breadth, and a few pawns decide almost as a king does:
    a sure loss of material does not avoid a small risk for the king, nor is a won game risked.
    """
    pieces = min(24, int(_count(rows[:1]).item()))
    king = min(settings.king, max(_LEAST_KING, settings.king * pieces / 24))
    decisive = _DECISIVE / max(_DECISIVE / _UNBOUNDED, 1.0 - pieces / 24)
    samples = max(1, settings.samples * pieces // 24)
    return replace(settings, samples=samples, king=king, decisive=decisive)


def _most_extra(settings: MoveSettings) -> int:
    if settings.evaluations is None:
        return 0
    return min(settings.deeper, MAX_DEPTH - settings.depth)


class Race:
    """Compares moves on sampled boards in two rounds: all of them, then the best few.

    A round ends when its part of the time or of the evaluations is used up. When all boards are
    scored, they are scored again one ply deeper, from the first on. All remaining moves are always
    scored on the same boards at the same depths, so that their difference is fair.

    Halving in five rounds chose worse moves with as many evaluations: the first halves were dropped
    after too few boards.

    Args:
      sample: boards with their weights.
      moves: at least one.

    Attributes:
      scores: (boards, moves) centipawns of the moves that remain.
    """

    def __init__(
        self,
        sample: Sample,
        moves: Sequence[int],
        scorer: Scorer,
        settings: MoveSettings,
        deadline: float | None,
    ) -> None:
        self._sample, self._scorer, self._settings = sample, scorer, settings
        self._moves, self._deadline = list(moves), deadline
        self._began = time.monotonic()
        self.scores: Scores = np.empty((0, len(moves)))
        self._extra = self._at = self._spent = 0  # plies; boards scored at them; evaluations

    def run(self) -> Choice:
        """Return the winner."""
        count = len(self._moves)
        self.score(_FIRST_ROUND)
        # The first round finds the few moves that matter; the rest of the time tells them apart.
        self._keep(np.argsort(-self._values(), kind="stable")[:_FINALISTS])
        self.score(1.0)
        values = self._values()
        best = int(np.argmax(values))
        request, boards = self._moves[best], len(self.scores)
        return Choice(request, float(values[best]), boards, count, "minimax", self._extra)

    def _values(self) -> Scores:
        return combine(self.scores, self._sample.shares(len(self.scores)), self._settings)

    def _used(self) -> float:
        """Return the share of the time or of the evaluations that is used, the greater."""
        evaluations = self._settings.evaluations
        spent = 0.0 if evaluations is None else self._spent / evaluations
        if self._deadline is None:
            return spent
        length = max(self._deadline - self._began, _TINY)
        return max(spent, (time.monotonic() - self._began) / length)

    def _keep(self, places: NDArray[np.int64]) -> None:
        """Drop all moves but those at some places."""
        places = np.sort(places)
        self._moves = [self._moves[place] for place in places]
        self.scores = self.scores[:, places]

    def score(self, share: float) -> None:
        """Score boards until a share of the time or evaluations is used; at least one."""
        while not len(self.scores) or self._used() < share:
            if self._at == len(self._sample.rows):
                if self._extra == _most_extra(self._settings):
                    return
                self._extra, self._at = self._extra + 1, 0
            # In small batches as searches become dear, so that a deadline is met.
            price = len(self._moves) * _DEEPER**self._extra
            part = self._sample.rows[self._at : self._at + max(1, _BATCH // price)]
            depth = self._settings.depth + self._extra if self._extra else None
            # The boards come in order of urgency, so what is scored first matters most.
            scores = self._scorer.matrix(part, self._moves, depth=depth, deadline=self._deadline)
            self._spent += price * len(scores)
            late = self._deadline is not None and time.monotonic() >= self._deadline
            if late and len(self.scores):
                return  # the deadline cut these searches short
            reach = self._at + len(scores)
            self.scores = np.concatenate([self.scores[: self._at], scores, self.scores[reach:]])
            self._at = reach


def window_values(
    boards: BoardSet,
    weights: Scores,
    player: int,
    scorer: Scorer,
    requests: Sequence[int],
    rng: np.random.Generator,
    settings: MoveSettings,
    *,
    deadline: float | None,
) -> Scores:
    """Return for each of the 36 windows the expected value of the move after it: float64 (36,).

    A window splits the sampled boards by what it would show; each part has its own best move. The
    arguments are those of `choose_move`, with the boards before the sense.
    """
    settings = with_pieces(settings, boards.rows)
    sample = draw_boards(boards.rows, weights, settings.samples, rng)
    order, legal = _candidates(sample, scorer, settings, deadline), {*requests, NOTHING}
    candidates = [move for move in order if move in legal]
    if not candidates:
        return np.zeros(len(CENTRES))
    race = Race(sample, candidates, scorer, settings, deadline)
    race.score(1.0)
    rows, shares = sample.rows[: len(race.scores)], sample.shares(len(race.scores))
    return np.array([_window_value(rows, shares, race.scores, c, settings) for c in CENTRES])


def _window_value(
    rows: Words, shares: Scores, scores: Scores, centre: int, settings: MoveSettings
) -> float:
    squares = sum(1 << square for square in window(centre))
    visible = rows[:, : WHITE + 1] & np.uint64(squares)
    _, parts = np.unique(visible, axis=0, return_inverse=True)
    # Releases of numpy differ in the shape of the inverse.
    parts = parts.ravel()
    total = 0.0
    for part in range(int(parts.max()) + 1):
        members = parts == part
        values = combine(scores[members], shares[members], settings)
        total += float(values.max()) * float(shares[members].sum())
    return total / float(shares.sum())


def _candidates(
    sample: Sample, scorer: Scorer, settings: MoveSettings, deadline: float | None
) -> list[int]:
    """Return the engine's best moves on sampled boards, most often named first."""
    now = time.monotonic()
    until = None if deadline is None else now + _CANDIDATE_TIME * (deadline - now)
    best_moves = scorer.best_moves(sample.rows, settings.top, deadline=until)
    shares = sample.shares(len(best_moves))
    return scorer.progress.tried(rank_candidates(best_moves, shares, settings.widest))


def rank_candidates(best_moves: Sequence[Sequence[int]], weights: Scores, widest: int) -> list[int]:
    """Return the moves named for most boards, those with the greatest weight first."""
    votes: Counter[int] = Counter()
    for moves, weight in zip(best_moves, weights, strict=False):
        for rank, move in enumerate(moves):
            votes[move] += weight / (1 + rank)
    order = sorted(votes, key=lambda move: (-votes[move], move))
    return order[:widest]
