"""Train life-and-death networks on a set of positions."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from miai.parameters import StrictModel, parameter
from miai_go.errors import TrainingError
from miai_go.learning.training.config_sections import LearningTables
from miai_go.learning.training.learner import Learner, Lesson, prepare_torch
from miai_go.learning.training.run_folder import TrainingPlan
from miai_go.learning.training.training_run import Checkpoint, TrainingResult, TrainingRun
from miai_go.nets.network import tensors_of
from miai_go.tsumego.data.labelled_positions import LabelledPositions, policy_targets
from miai_go.tsumego.networks.accuracy import LifeMeasures, measure, sampled_rows, split_rows
from miai_go.tsumego.networks.net_files import HeldOut, NetHeader, NetworkName, build_net, save_net
from miai_go.tsumego.networks.zone_planes import EXTENDED, MOST_WINDOW, WINDOW

MEASURED: Final = 20_000
"""Held-out positions of a measurement."""


class PositionSection(HeldOut):
    """The training data, and the held-out part."""

    folder: str = parameter(help="Folder of the position set, from `miai go tsumego data make`")


class PlanesSection(StrictModel):
    """The input planes of the network."""

    planes: Literal["reference", "extended"] = parameter(EXTENDED, help="Set of planes")
    window: int = parameter(
        WINDOW, ge=3, le=MOST_WINDOW, unit="points", help="Side of the square window; odd"
    )


class NetSection(StrictModel):
    """The network."""

    name: NetworkName = parameter("dense", help="Name of the network")
    parameters: dict[str, Any] = Field(default={})


class TsumegoConfig(LearningTables):
    """The config of ``miai go tsumego train``."""

    data: PositionSection
    planes: PlanesSection = Field(default=PlanesSection())
    network: NetSection = Field(default=NetSection())


def train_net(plan: TrainingPlan[TsumegoConfig]) -> TrainingResult[LifeMeasures]:
    """Train to the last step, from the newest checkpoint of the plan's folder if there is one.

    Raises:
      MiaiError: data or names are wrong, a loss is not finite, or a checkpoint cannot be written.
    """
    config = plan.config
    prepare_torch(config.run)
    positions = LabelledPositions.open(Path(config.data.folder))
    header = _header(config, positions)
    train, held_out = _split(positions, header, config.data.folder)
    network = build_net(header, seed=config.run.seed)
    # Planes are bits, and need no scale.
    scales = np.ones(header.shape.planes, np.float32)
    learner = Learner(network, scales, config)

    def restore(checkpoint: Checkpoint) -> None:
        if checkpoint.state.get("data") != positions.digest:
            raise TrainingError(
                f"{checkpoint.folder}: was trained on another set than {config.data.folder} is "
                "now, whose held-out positions may differ; restore the set, or start again in "
                "another folder with --out"
            )

    def save(path: Path) -> None:
        record = plan.record(
            data=f"{len(train)} positions, {positions.digest}",
            steps=learner.steps,
            seed=config.run.seed,
        )
        with learner.averaged_weights():
            trained = header.model_copy(update={"history": (record,)})
            save_net(path, tensors_of(learner.network), trained)

    training = TrainingRun(
        plan.folder,
        learner=learner,
        save=save,
        state=lambda: {"data": positions.digest},
        restore=restore,
    )
    weights = sum(p.numel() for p in network.parameters())
    measured = sampled_rows(held_out, MEASURED)
    return training.steps(
        lambda first: _lessons(config, positions, train, first=first),
        run=config.run,
        positions=min(config.optimiser.batch, len(train)),
        measure=lambda: measure(learner.answers, header, positions, measured),
        held_out="held out",
        greeting=f"{len(train)} positions, {len(held_out)} held out; {weights} weights",
    )


def _lessons(
    config: TsumegoConfig, positions: LabelledPositions, train: NDArray[np.int64], *, first: int
) -> Generator[Lesson, None, None]:
    """Yield lessons without end, from that of a step on; each depends on the step alone.

    Values are 1 for a safe target and -1 for another; centre and symmetry of each view are drawn.
    """
    size = min(config.optimiser.batch, len(train))
    per_epoch = max(len(train) // size, 1)
    for step in itertools.count(first):
        epoch, number = divmod(step, per_epoch)
        # All that is drawn follows from seed, epoch and number, so that a run that was resumed sees
        # what it would have seen.
        if step == first or number == 0:
            order = np.random.default_rng((config.run.seed, epoch)).permutation(train)
        rows = order[number * size : (number + 1) * size]
        views = positions.views(
            rows,
            planes=config.planes.planes,
            window=config.planes.window,
            rng=np.random.default_rng((config.run.seed, epoch, number)),
        )
        yield Lesson(
            planes=views.planes,
            policy=policy_targets(
                positions.columns["best"][rows], views.places, config.planes.window
            ),
            value=np.where(positions.safe(rows), 1.0, -1.0).astype(np.float32),
        )


def _split(
    positions: LabelledPositions, header: NetHeader, folder: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the training and the held-out positions. Raises `TrainingError`."""
    assert header.held_out is not None
    folds, fold = header.held_out.folds, header.held_out.fold
    if fold >= folds:
        raise TrainingError(f"data.fold = {fold}: there are folds 0 to {folds - 1}")
    train, test = split_rows(positions, header)
    if not len(train) or not len(test):
        raise TrainingError(f"{folder}: has too few problems for {folds} folds: one side is empty")
    return train, test


def _header(config: TsumegoConfig, positions: LabelledPositions) -> NetHeader:
    data, network = config.data, config.network
    return NetHeader(
        network=network.name,
        network_parameters=network.parameters,
        planes=config.planes.planes,
        window=config.planes.window,
        data=positions.digest,
        held_out=HeldOut(**data.model_dump(exclude={"folder"})),
        licence=config.run.licence,
    )
