"""Training the policy of rollouts, a table of patterns, by softmax regression on recorded games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from miai.parameters import StrictModel, parameter
from miai.tensors import TrainingRecord
from miai_go.errors import DataError, TrainingError
from miai_go.kernels import FAMILY, rules, trail
from miai_go.kernels import patterns as kernels
from miai_go.kernels.patterns import PatternBuffers
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.importing import GameFilters
from miai_go.learning.data.stored_games import Split
from miai_go.learning.training.config_sections import DataSection
from miai_go.learning.training.run_folder import TrainingJournal, TrainingPlan
from miai_go.nets.patterns import PatternHeader, PatternPolicy, pattern_room
from miai_go.rules.sizes import only_size, sizes_of

GAMES_A_CALL = 500


@dataclass(frozen=True, slots=True)
class PatternReport:
    """Move prediction of a rollout policy on some games.

    Attributes:
      positions: moves of the games.
      top_1: share of the positions whose move has the greatest probability.
      cross_entropy: mean of minus the logarithm of the move's probability, in nats, over the
        positions whose move the policy considers.
      unseen: positions whose move it does not consider, as the move fills an own eye.
    """

    positions: int
    top_1: float
    cross_entropy: float
    unseen: int


def train(
    policy: PatternPolicy,
    games: Sequence[ArrayLike],
    *,
    size: int,
    epochs: int = 3,
    rate: float = 0.1,
    seed: int = 0,
    record: TrainingRecord | None = None,
    progress: Callable[[int, PatternReport], None] | None = None,
) -> PatternReport:
    """Train a policy in place and add to its header's history; return the last epoch's report.

    Every epoch takes all games in an order drawn by `seed`. The step is Adagrad's (Duchi, Hazan,
    Singer 2011), its sums of squares begin at one. The same arguments give the same weights.

    Args:
      games: actions of each, from the empty board, Black first.
      rate: of learning.
      record: what to note in the history; steps and seed are filled in.
      progress: called after each epoch with its number and its report, measured on the way.

    Raises:
      DataError: there are no games, or a game has an illegal move.
      TrainingError: the weights are no longer finite; the policy is as it was.
    """
    if rate <= 0 or epochs < 1:
        raise TrainingError(f"training needs a rate and epochs, not {rate} and {epochs}")
    learner = _Learner(games, size)
    weights = policy.weights.copy()
    # Sums that began at zero would make the first step of every weight as large as the rate.
    squares = np.ones_like(weights)
    rng = np.random.default_rng(seed)
    report = PatternReport(0, 0.0, 0.0, 0)
    for epoch in range(epochs):
        report = learner.run(weights, squares, rng.permutation(len(games)), rate)
        if not np.isfinite(weights).all():
            raise TrainingError(f"epoch {epoch}: the weights are not finite; lower the rate {rate}")
        if progress is not None:
            progress(epoch, report)
    policy.weights[:] = weights
    old = policy.header
    noted = record or TrainingRecord(command="miai_go.learning.training.rollout_policy.train")
    noted = noted.model_copy(update={"steps": report.positions * epochs, "seed": seed})
    fresh = not old.history
    sizes = (size, size) if fresh else (min(old.sizes[0], size), max(old.sizes[1], size))
    policy.header = old.model_copy(update={"history": (*old.history, noted), "sizes": sizes})
    return report


def measure(policy: PatternPolicy, games: Sequence[ArrayLike], *, size: int) -> PatternReport:
    """Return the move prediction of a policy on games.

    Raises:
      DataError: there are no games, or a game has an illegal move.
    """
    squares = np.empty(0, np.float32)
    return _Learner(games, size).run(policy.weights, squares, np.arange(len(games)), 0.0)


class _Learner:
    """Games, packed for the kernel, with work space."""

    def __init__(self, games: Sequence[ArrayLike], size: int) -> None:
        if not len(games):
            raise DataError("there are no games to learn from or to measure on")
        moves = [np.asarray(game, np.int16) for game in games]
        self._actions: NDArray[np.int16] = np.concatenate(moves)
        self._offsets = np.zeros(len(games) + 1, np.int64)
        np.cumsum([len(game) for game in moves], out=self._offsets[1:])
        self._empty = rules.empty_board(size)
        self._board = self._empty.copy()
        self._trail = np.zeros(trail.trail_words(size), np.int16)
        self._room: PatternBuffers = pattern_room(size)

    def run(
        self,
        weights: NDArray[np.float32],
        squares: NDArray[np.float32],
        order: NDArray[np.int64],
        rate: float,
    ) -> PatternReport:
        """Train on the games in the given order, or only measure with a rate of 0."""
        sums = np.zeros(4)
        for start in range(0, len(order), GAMES_A_CALL):  # so that an interrupt gets through
            part = np.ascontiguousarray(order[start : start + GAMES_A_CALL], np.int64)
            with FAMILY.compiling("pattern-learning"):
                bad = kernels.learn(
                    self._actions,
                    self._offsets,
                    part,
                    self._empty,
                    self._board,
                    self._trail,
                    kernels.LearningTable(weights, squares),
                    float(rate),
                    self._room,
                    sums,
                )
            if bad >= 0:
                raise DataError(f"game {bad} of those given has an illegal move; leave it out")
        positions, right, entropy, unseen = sums.tolist()
        seen = max(1.0, positions - unseen)
        return PatternReport(
            int(positions), right / max(1.0, positions), entropy / seen, int(unseen)
        )


WEIGHTS: Final = "weights.safetensors"


class PatternSection(StrictModel):
    """The training of the pattern table."""

    epochs: int = parameter(3, ge=1, le=1000, help="Passes over all games")
    rate: float = parameter(0.1, gt=0, le=10, help="Learning rate (Adagrad)")
    seed: int = parameter(0, ge=0, help="Seed of the order of games")
    licence: str = parameter("", help="Licence of the weights, an SPDX expression")


class RolloutConfig(StrictModel):
    """The config of ``miai go train rollout``."""

    data: DataSection
    patterns: PatternSection = Field(default=PatternSection())


@dataclass(frozen=True, slots=True)
class TrainedPatterns:
    """The result of training a rollout policy.

    Attributes:
      weights: the file.
      test: prediction accuracy on held-out games.
    """

    weights: Path
    test: PatternReport


def train_rollout(plan: TrainingPlan[RolloutConfig]) -> TrainedPatterns:
    """Train from scratch, which takes a minute for some thousands of games.

    Raises:
      MiaiError: the games cannot be read, or the weights cannot be written.
    """
    config = plan.config
    size = only_size(sizes_of(config.data.size), what="data.size: a rollout policy")
    held_out: Split = "test" if config.data.test else "validation"
    games, others = config.data.open(None, held_out=held_out)
    policy = PatternPolicy.untrained(size)
    policy.header = policy.header.model_copy(update={"licence": config.patterns.licence})
    record = plan.record(data=f"{len(games)} games, {games.digest()}")
    with TrainingJournal(plan.folder) as notes:
        if omissions := games.left_out():
            notes.say(omissions)
        train(
            policy,
            _moves(games),
            size=games.size,
            epochs=config.patterns.epochs,
            rate=config.patterns.rate,
            seed=config.patterns.seed,
            record=record,
            progress=lambda epoch, report: _note(notes, epoch + 1, report),
        )
        policy.save(plan.folder / WEIGHTS)
        report = measure(policy, _moves(others), size=games.size)
        figures = {"test_top1": report.top_1, "test_cross_entropy": report.cross_entropy}
        notes.note(config.patterns.epochs, figures, line=f"{held_out}: {_summary(report)}")
    return TrainedPatterns(plan.folder / WEIGHTS, report)


def evaluate_rollout(
    weights: Path, sources: Sequence[Path], *, split: Split = "all", limit: int | None = None
) -> PatternReport:
    """Return the move prediction of a rollout policy's file on games.

    Games with set-up stones, or in which White begins, are left out.

    Args:
      limit: positions after which no further game is taken, in random order.

    Raises:
      WeightsError, DataError: weights or games cannot be read, or are for another size of board.
    """
    filters = GameFilters(size=PatternHeader.read(weights).sizes[0])
    data = GoDataset(sources, split=split, filters=filters)
    policy = PatternPolicy.load(weights, size=data.size)
    games = _moves(data)
    if limit is not None:
        games = [games[g] for g in np.random.default_rng(data.seed).permutation(len(games))]
        lengths = np.cumsum([len(game) for game in games])
        games = games[: int(np.searchsorted(lengths, limit)) + 1]
    return measure(policy, games, size=data.size)


def _moves(games: GoDataset) -> list[list[int]]:
    """Return the moves of games that start on the empty board with Black to move."""
    stored = (games.game(index) for index in range(len(games)))
    return [g.moves.tolist() for g in stored if g.stones is None and g.first == 1]


def _note(journal: TrainingJournal, epoch: int, report: PatternReport) -> None:
    figures = {"top1": report.top_1, "cross_entropy": report.cross_entropy}
    journal.note(epoch, figures, line=f"epoch {epoch}: {_summary(report)}")


def _summary(report: PatternReport) -> str:
    return (
        f"{report.positions} positions, top-1 {report.top_1:.1%}, "
        f"cross-entropy {report.cross_entropy:.4f}"
    )
