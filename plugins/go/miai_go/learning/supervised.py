"""Supervised learning: a network learns the moves and results of recorded games.

Batches without an end, epoch after epoch, from any of them on.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import Field

from miai.parameters import StrictModel
from miai_go.errors import DivergedError, TrainingError
from miai_go.learning.batches import Batch, Prefetcher
from miai_go.learning.checkpoints import Checkpoint, Checkpoints
from miai_go.learning.dataset import GoDataset
from miai_go.learning.filters import GameFilters
from miai_go.learning.learner import Learner, Lesson
from miai_go.learning.making import grown, make_network, prepare_torch, save_learnt
from miai_go.learning.measuring import Measures, measure
from miai_go.learning.run_folder import TrainingJournal, TrainingPlan
from miai_go.learning.sections import (
    DataSection,
    EncoderSection,
    LossSection,
    NetworkSection,
    OptimiserSection,
    TrainingRunSection,
)
from miai_go.nets.encoder import Encoder


def endless(
    data: GoDataset,
    batch: int,
    *,
    seed: int,
    first: int = 0,
    symmetries: bool = True,
    targets_only: bool = False,
    ahead: int = 0,
) -> Generator[Batch, None, None]:
    """Yield batches for ever; the same seed gives the same ones, wherever it begins.

    Args:
      batch: positions of each; what is left at the end of an epoch is not served, unless the data
        is very small.
      first: number of the batch that comes first.
      symmetries: whether each position is turned by one of eight symmetries.
      targets_only: whether only positions that were marked as targets are served.
      ahead: batches that a thread makes ahead; 0 to make each when it is asked for.
    """
    epoch = 0
    while True:
        stream = data.batches(
            batch,
            seed=seed,
            epoch=epoch,
            symmetries=symmetries,
            targets_only=targets_only,
            drop_last=len(data) > batch,
        )
        if first < len(stream):
            stream.next_batch = first
            if ahead:
                with Prefetcher(stream, depth=ahead) as made:
                    yield from made
            else:
                yield from stream
            first = 0
        else:
            first -= len(stream)
        epoch += 1


AHEAD: Final = 4
"""Batches that are made ahead of the training."""


class SupervisedConfig(StrictModel):
    """The config of ``miai go train sl``."""

    data: DataSection
    encoder: EncoderSection = Field(default=EncoderSection())
    network: NetworkSection = Field(default=NetworkSection())
    optimiser: OptimiserSection = Field(default=OptimiserSection())
    loss: LossSection = Field(default=LossSection())
    run: TrainingRunSection = Field(default=TrainingRunSection())


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """How a run ended.

    Attributes:
      weights: the file of the last checkpoint.
      steps: optimiser steps made.
      measures: of the validation games.
      loading_share: share of the time that was spent waiting for data.
    """

    weights: Path
    steps: int
    measures: Measures
    loading_share: float


def train_supervised(
    plan: TrainingPlan[SupervisedConfig],
    *,
    journal: TrainingJournal | None = None,
    targets_only: bool = False,
    ahead: int = AHEAD,
) -> TrainingResult:
    """Train from the newest checkpoint of the plan's folder on, or from the beginning.

    Args:
      journal: where figures go; by default the folder's own.
      targets_only: learn only from positions that were marked as targets.
      ahead: batches that a thread makes ahead; 0 to make each when it is asked for. The batches
        are the same.

    Raises:
      MiaiError: data or names are wrong, a loss is not finite, or a checkpoint cannot be written.
    """
    return _Training(plan, targets_only=targets_only, ahead=ahead).run(journal)


class _Training:
    def __init__(
        self, plan: TrainingPlan[SupervisedConfig], *, targets_only: bool, ahead: int
    ) -> None:
        config = plan.config
        prepare_torch(config.run)
        self._plan = plan
        self._targets_only = targets_only
        self._ahead = ahead
        network, encoder, self._header = make_network(
            config.data.size, config.encoder, config.network, seed=config.run.seed
        )
        self._encoder = encoder
        self._train, self._validation = open_games(config.data, encoder)
        self._learner = Learner(
            network,
            encoder.scales,
            optimiser=config.optimiser,
            loss=config.loss,
            run=config.run,
        )
        self._checkpoints = Checkpoints(plan.folder / "checkpoints")

    def run(self, journal: TrainingJournal | None) -> TrainingResult:
        found = self._checkpoints.latest()
        if found is not None:
            self._check_games(found)
            self._learner.load_tensors(found.tensors(), steps=found.step)
        own = journal or TrainingJournal(self._plan.folder, step=self._learner.steps)
        with own:
            own.say(self._greeting(found))
            if left_out := self._train.left_out():
                own.say(left_out)
            with closing(self._batches(self._learner.steps)) as batches:
                return self._loop(own, found, batches)

    def _check_games(self, found: Checkpoint) -> None:
        told = found.state.get("games")
        if told != self._train.digest():
            raise TrainingError(
                f"{found.folder}: learnt from other games than there are now; put those back, or "
                "begin anew in another folder with --out"
            )

    def _loop(
        self,
        journal: TrainingJournal,
        found: Checkpoint | None,
        batches: Generator[Batch, None, None],
    ) -> TrainingResult:
        config, learner = self._plan.config, self._learner
        began, waited, measures, measured = time.perf_counter(), 0.0, None, 0
        sums: dict[str, float] = {}
        first = logged = learner.steps
        last = found
        while learner.steps < config.run.steps:
            before = time.perf_counter()
            batch = next(batches)
            waited += time.perf_counter() - before
            try:
                losses = learner.learn(lesson_of(batch))
            except DivergedError as error:
                raise TrainingError(f"{error}; {self._checkpoints.last_good()}") from error
            for name, value in losses.items():
                sums[name] = sums.get(name, 0.0) + value
            step = learner.steps
            if step % config.run.log_every == 0:
                means = {name: value / (step - logged) for name, value in sums.items()}
                rate = (step - first) * config.optimiser.batch / (time.perf_counter() - began)
                journal.note(step, means, line=self._line(step, means, rate))
                sums, logged = {}, step
            if step % config.run.measure_every == 0:
                measures = self._measure(journal)
                measured = step
            if step % config.run.checkpoint_every == 0 or step == config.run.steps:
                last = self._write()
        if measures is None or measured != learner.steps:
            measures = self._measure(journal)
        last = last or self._write()
        share = waited / max(time.perf_counter() - began, 1e-9)
        return TrainingResult(last.weights, learner.steps, measures, share)

    def _batches(self, step: int) -> Generator[Batch, None, None]:
        """Yield batches for ever, from the one of a step on."""
        config = self._plan.config
        return endless(
            self._train,
            config.optimiser.batch,
            seed=config.run.seed,
            first=step,
            symmetries=config.data.symmetries,
            targets_only=self._targets_only,
            ahead=self._ahead,
        )

    def _measure(self, journal: TrainingJournal) -> Measures:
        before = self._learner.use_averaged()
        measures = measure(
            self._learner.answers, self._validation, limit=20_000, targets_only=self._targets_only
        )
        self._learner.restore(before)
        figures = {f"validation_{name}": value for name, value in measures.figures().items()}
        journal.note(self._learner.steps, figures, line=f"  validation: {measures.line()}")
        return measures

    def _write(self) -> Checkpoint:
        plan, learner = self._plan, self._learner
        header = grown(
            self._header,
            command=plan.command,
            digest=plan.digest,
            data=f"{len(self._train)} games, {self._train.digest()}",
            run=plan.config.run,
            steps=learner.steps,
            komi=komi_range(self._train),
        )
        return self._checkpoints.write(
            learner.steps,
            memory=learner.tensors(),
            state={"step": learner.steps, "games": self._train.digest()},
            save_weights=lambda path: save_learnt(path, learner, header),
        )

    def _greeting(self, found: Checkpoint | None) -> str:
        numbers = sum(p.numel() for p in self._learner.network.parameters())
        going = f"; going on from step {found.step}" if found else ""
        return (
            f"{len(self._train)} games, {self._train.positions} positions; {numbers} weights; "
            f"{self._plan.config.run.steps} steps{going}"
        )

    def _line(self, step: int, means: dict[str, float], rate: float) -> str:
        told = "  ".join(f"{n} {v:.4g}" for n, v in means.items() if n != "rate")
        return f"[{step}/{self._plan.config.run.steps}] {told}  ({rate:.0f} positions/s)"


def open_games(data: DataSection, encoder: Encoder) -> tuple[GoDataset, GoDataset]:
    """Return the games that a config learns from, and those that measure progress.

    Raises:
      DataError: the games cannot be read, or a split of them is empty.
    """
    fractions = (1 - data.validation - data.test, data.validation, data.test)
    train = GoDataset(
        data.sources,
        encoder=encoder,
        games=data.games,
        split="train",
        fractions=fractions,
        filters=GameFilters(size=data.size, min_moves=data.min_moves),
    )
    held_out = GoDataset.of_shards(
        train.shards, encoder=encoder, split="validation", fractions=fractions
    )
    return train, held_out


def lesson_of(batch: Batch) -> Lesson:
    """Return what is to be learnt from a batch of recorded games."""
    assert batch.planes is not None
    return Lesson(
        planes=batch.planes,
        action=batch.action,
        policy=batch.policy,
        weight=batch.weight,
        value=batch.result,
        ownership=batch.ownership,
        score=batch.score,
    )


def komi_range(data: GoDataset) -> tuple[float, float]:
    """Return the least and the greatest komi of games, in points."""
    values = [shard.columns["half_komi"] for shard in data.shards]
    return (
        min(float(v.min()) for v in values) / 2,
        max(float(v.max()) for v in values) / 2,
    )
