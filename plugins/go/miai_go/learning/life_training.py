"""Training networks of life and death on a set of positions; resumed from checkpoints."""

from __future__ import annotations

import dataclasses
import datetime
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.parameters import StrictModel, parameter, read_toml
from miai_go.errors import DivergedError, TrainingError
from miai_go.kinds import LIFE_NETWORK
from miai_go.learning.checkpoints import Checkpoint, Checkpoints
from miai_go.learning.learner import Learner, Lesson
from miai_go.learning.life_dataset import LabelledPositions, folds_of, policy_targets
from miai_go.learning.life_measuring import LifeMeasures, measure
from miai_go.learning.making import prepare_torch
from miai_go.learning.run_folder import TrainingJournal, TrainingPlan, load_plan
from miai_go.learning.sections import LossSection, OptimiserSection, TrainingRunSection
from miai_go.nets.life_planes import EXTENDED, MOST_WINDOW, WINDOW
from miai_go.nets.life_weights import (
    HeldOut,
    NetHeader,
    save_net,
)
from miai_go.nets.network import build_network, filled_parameters
from miai_go.nets.weights import tensors_of
from miai_go.tensors import TrainingRecord

EXAMPLE: Final = "configs/tsumego-net.toml"
_MEASURED: Final = 20_000
"""Held-out positions that measure progress."""


class PositionSection(StrictModel):
    """What is learnt from, and what is held out."""

    folder: str = parameter(help="The set that `miai go tsumego data make` made")
    folds: int = parameter(5, ge=2, le=1000, help="Parts that the set is split into")
    fold: int = parameter(0, ge=0, help="The part that is held out")
    seed: int = parameter(0, ge=0, help="Of the split")
    by: Literal["problem", "position"] = parameter(
        "problem", help="What is kept together: problems, or nothing, which leaks"
    )
    views: bool = parameter(True, help="Any stone of the target in the middle, any of eight sides")


class PlanesSection(StrictModel):
    """What the network is fed."""

    planes: Literal["reference", "extended"] = parameter(EXTENDED, help="The set of planes")
    window: int = parameter(
        WINDOW, ge=3, le=MOST_WINDOW, unit="points", help="Side of the window, an odd number"
    )


class NetSection(StrictModel):
    """The network that is trained."""

    name: str = parameter("dense", help="Network, by name")
    parameters: dict[str, Any] = Field(default={})


class TsumegoConfig(StrictModel):
    """The config of ``miai go tsumego train``."""

    data: PositionSection
    planes: PlanesSection = Field(default=PlanesSection())
    network: NetSection = Field(default=NetSection())
    optimiser: OptimiserSection = Field(default=OptimiserSection())
    loss: LossSection = Field(default=LossSection())
    run: TrainingRunSection = Field(default=TrainingRunSection())


@dataclass(frozen=True, slots=True)
class LifeTrainingResult:
    """How a run ended.

    Attributes:
      weights: the file of the last checkpoint.
      steps: optimiser steps made.
      measures: of held-out positions.
    """

    weights: Path
    steps: int
    measures: LifeMeasures


def load_tsumego_plan(
    path: Path, *, assignments: tuple[str, ...] = (), out: Path | None = None
) -> TrainingPlan[TsumegoConfig]:
    """Read a config and settle the run's folder, ``runs/NAME`` by default.

    Raises:
      ConfigError: the config is wrong, or the folder holds a run of another config.
    """
    read_toml(path, example=EXAMPLE)
    plan = load_plan(path, TsumegoConfig, kind="tsumego", assignments=assignments, out=out)
    command = plan.command.replace("miai go train tsumego", "miai go tsumego train", 1)
    return dataclasses.replace(plan, command=command)


def train_net(
    plan: TrainingPlan[TsumegoConfig], *, journal: TrainingJournal | None = None
) -> LifeTrainingResult:
    """Train from the newest checkpoint of the plan's folder on, or from the beginning.

    Raises:
      MiaiError: data or names are wrong, a loss is not finite, or a checkpoint cannot be written.
    """
    return _Training(plan).run(journal)


def lesson_of(
    positions: LabelledPositions,
    rows: NDArray[np.int64],
    *,
    planes: str,
    window: int,
    rng: np.random.Generator | None,
) -> Lesson:
    """Return what is to be learnt from positions: value 1 for safe, -1 for not."""
    views = positions.views(rows, planes=planes, window=window, rng=rng)
    return Lesson(
        planes=views.planes,
        policy=policy_targets(positions.columns["best"][rows], views.places, window),
        value=np.where(positions.safe(rows), 1.0, -1.0).astype(np.float32),
    )


class _Training:
    def __init__(self, plan: TrainingPlan[TsumegoConfig]) -> None:
        config = plan.config
        prepare_torch(config.run)
        self._plan = plan
        self._positions = LabelledPositions.open(Path(config.data.folder))
        self._train, self._held_out = self._split()
        self._header = self._first_header()
        network = build_network(
            config.network.name,
            self._header.shape,
            config.network.parameters,
            seed=config.run.seed,
            kind=LIFE_NETWORK,
        )
        scales = np.ones(self._header.shape.planes, np.float32)
        self._learner = Learner(
            network, scales, optimiser=config.optimiser, loss=config.loss, run=config.run
        )
        self._checkpoints = Checkpoints(plan.folder / "checkpoints")

    def run(self, journal: TrainingJournal | None) -> LifeTrainingResult:
        found = self._checkpoints.latest()
        if found is not None:
            self._check_set(found)
            self._learner.load_tensors(found.tensors(), steps=found.step)
        with journal or TrainingJournal(self._plan.folder, step=self._learner.steps) as own:
            own.say(self._greeting(found))
            return self._loop(own, found)

    def _check_set(self, found: Checkpoint) -> None:
        if found.state.get("data") != self._positions.digest:
            raise TrainingError(
                f"{found.folder}: learnt from another set than "
                f"{self._plan.config.data.folder} is now, which may hold out what was learnt; give "
                "the set back as it was, or begin anew in another folder with --out"
            )

    def _loop(self, journal: TrainingJournal, found: Checkpoint | None) -> LifeTrainingResult:
        run, learner, last = self._plan.config.run, self._learner, found
        began, first = time.perf_counter(), learner.steps
        sums: dict[str, float] = {}
        measures, measured = None, -1
        batches = self._batches(learner.steps)
        while learner.steps < run.steps:
            try:
                losses = learner.learn(next(batches))
            except DivergedError as error:
                raise TrainingError(f"{error}; {self._checkpoints.last_good()}") from error
            for name, value in losses.items():
                sums[name] = sums.get(name, 0.0) + value
            step = learner.steps
            if step % run.log_every == 0:
                seconds = time.perf_counter() - began
                self._note(journal, sums, (step - first) / max(seconds, 1e-9))
                sums = {}
            if step % run.measure_every == 0:
                measures, measured = self._measure(journal), step
            if step % run.checkpoint_every == 0 or step == run.steps:
                last = self._write()
        if measures is None or measured != learner.steps:
            measures = self._measure(journal)
        return LifeTrainingResult((last or self._write()).weights, learner.steps, measures)

    def _batches(self, step: int) -> Iterator[Lesson]:
        """Yield lessons for ever, from the one of a step on; which comes depends on the step."""
        config = self._plan.config
        size = min(config.optimiser.batch, len(self._train))
        an_epoch = max(len(self._train) // size, 1)
        while True:
            epoch, first = divmod(step, an_epoch)
            order = np.random.default_rng((config.run.seed, epoch)).permutation(self._train)
            for number in range(first, an_epoch):
                views = np.random.default_rng((config.run.seed, epoch, number))
                yield lesson_of(
                    self._positions,
                    order[number * size : (number + 1) * size],
                    planes=config.planes.planes,
                    window=config.planes.window,
                    rng=views if config.data.views else None,
                )
            step = (epoch + 1) * an_epoch

    def _split(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        data = self._plan.config.data
        if data.fold >= data.folds:
            raise TrainingError(f"data.fold = {data.fold}: there are folds 0 to {data.folds - 1}")
        folds = folds_of(self._positions, folds=data.folds, seed=data.seed, by=data.by)
        held_out = folds == data.fold
        train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        if not len(train) or not len(test):
            raise TrainingError(
                f"{data.folder}: has too few problems for {data.folds} folds: one side is empty"
            )
        return train, test

    def _measure(self, journal: TrainingJournal) -> LifeMeasures:
        learner = self._learner
        rows = self._held_out
        if len(rows) > _MEASURED:
            rows = np.sort(np.random.default_rng(0).choice(rows, _MEASURED, replace=False))
        before = learner.use_averaged()
        measures = measure(learner.answers, self._header, self._positions, rows)
        learner.restore(before)
        figures = {f"held_out_{name}": value for name, value in measures.figures().items()}
        journal.note(learner.steps, figures, line=f"  held out: {measures.line()}")
        return measures

    def _write(self) -> Checkpoint:
        plan, learner = self._plan, self._learner
        record = TrainingRecord(
            command=plan.command,
            config=plan.digest,
            data=f"{len(self._train)} positions, {self._positions.digest}",
            steps=learner.steps,
            seed=plan.config.run.seed,
            date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        )
        header = self._header.model_copy(update={"history": (record,)})

        def save(path: Path) -> None:
            before = learner.use_averaged()
            try:
                save_net(path, tensors_of(learner.network), header)
            finally:
                learner.restore(before)

        return self._checkpoints.write(
            learner.steps,
            memory=learner.tensors(),
            state={"step": learner.steps, "data": self._positions.digest},
            save_weights=save,
        )

    def _first_header(self) -> NetHeader:
        config = self._plan.config
        data = config.data
        return NetHeader(
            network=config.network.name,
            network_parameters=filled_parameters(
                config.network.name, config.network.parameters, kind=LIFE_NETWORK
            ),
            planes=config.planes.planes,
            window=config.planes.window,
            data=self._positions.digest,
            held_out=HeldOut(folds=data.folds, fold=data.fold, seed=data.seed, by=data.by),
            licence=config.run.licence,
        )

    def _greeting(self, found: Checkpoint | None) -> str:
        weights = sum(p.numel() for p in self._learner.network.parameters())
        going = f"; going on from step {found.step}" if found else ""
        return (
            f"{len(self._train)} positions, {len(self._held_out)} held out; {weights} weights; "
            f"{self._plan.config.run.steps} steps{going}"
        )

    def _note(self, journal: TrainingJournal, sums: dict[str, float], rate: float) -> None:
        config, step = self._plan.config, self._learner.steps
        means = {name: value / config.run.log_every for name, value in sums.items()}
        told = "  ".join(f"{n} {v:.4g}" for n, v in means.items() if n != "rate")
        speed = rate * min(config.optimiser.batch, len(self._train))
        journal.note(step, means, line=f"[{step}/{config.run.steps}] {told}  ({speed:.0f}/s)")
