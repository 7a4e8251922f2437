"""Supervised learning: train a network on the moves and results of recorded games."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from miai_go.errors import TrainingError
from miai_go.learning.data.batches import Batch
from miai_go.learning.data.dataset import BatchStream, GoDataset, Prefetcher
from miai_go.learning.training.calibrating import scaled_values
from miai_go.learning.training.config_sections import LessonSection, NetworkTraining
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Learner, Lesson, prepare_torch
from miai_go.learning.training.measuring import PLIES_PER_ROW, GameMeasures, measure
from miai_go.learning.training.resident import ResidentLessons
from miai_go.learning.training.run_folder import TrainingJournal, TrainingPlan
from miai_go.learning.training.teacher import Teacher, TeacherSection
from miai_go.learning.training.training_run import Checkpoint, TrainingResult, TrainingRun
from miai_go.rules.sizes import sizes_of


def endless(
    data: GoDataset, batch: int, *, seed: int, first: int = 0, targets_only: bool = False
) -> Generator[Batch, None, None]:
    """Yield batches without end, epoch after epoch; arguments as of `endless_streams`."""
    streams = endless_streams(data, batch, seed=seed, first=first, targets_only=targets_only)
    yield from batches_of(streams)


def batches_of(streams: Iterable[BatchStream], *, ahead: int = 0) -> Generator[Batch, None, None]:
    """Yield the batches of streams; a thread prepares `ahead` of them in advance."""
    for stream in streams:
        if ahead:
            with Prefetcher(stream, depth=ahead) as batches:
                yield from batches
        else:
            yield from stream


def endless_streams(
    data: GoDataset,
    batch: int,
    *,
    seed: int,
    first: int = 0,
    symmetries: bool = True,
    targets_only: bool = False,
) -> Iterator[BatchStream]:
    """Yield the batches of each epoch; the same seed gives the same batches.

    Args:
      batch: positions per batch; the remainder of an epoch is dropped, except of boards of a size
        that fill no batch.
      first: number of the first batch, counted through the epochs.
      symmetries: apply a random one of the eight symmetries to each position.
      targets_only: serve only positions marked as targets.
    """
    for epoch in count():
        stream = data.batches(
            batch,
            seed=seed,
            epoch=epoch,
            symmetries=symmetries,
            targets_only=targets_only,
            drop_last=True,
        )
        # Skip whole epochs and batches by their numbers: nothing of them is made.
        stream.next_batch = min(first, len(stream))
        first -= stream.next_batch
        if stream.next_batch < len(stream):
            yield stream


AHEAD: Final = 4
"""Batches prepared in advance by default."""
_MEASURED: Final = 20_000
"""Validation positions of a measurement."""


class SupervisedConfig(NetworkTraining):
    """The config of ``miai go train sl``."""

    data: LessonSection
    teacher: TeacherSection = Field(default=TeacherSection())


def train_supervised(
    plan: TrainingPlan[SupervisedConfig],
    *,
    journal: TrainingJournal | None = None,
    ahead: int = AHEAD,
) -> TrainingResult[GameMeasures]:
    """Train to the last step, from the newest checkpoint of the plan's folder if there is one.

    Args:
      journal: receives the figures; by default the folder's own.
      ahead: batches that a thread prepares in advance; 0 makes each on demand. The batches are the
        same.

    Raises:
      MiaiError: data or names are wrong, a loss is not finite, or a checkpoint cannot be written.
    """
    return _Supervised(plan, journal, ahead=ahead).run()


class _Supervised:
    def __init__(
        self, plan: TrainingPlan[SupervisedConfig], journal: TrainingJournal | None, *, ahead: int
    ) -> None:
        config = plan.config
        prepare_torch(config.run)
        self._plan = plan
        self._config = config
        network, encoders, self._header = make_network(
            sizes_of(config.data.size), config.encoder, config.network, seed=config.run.seed
        )
        self._train, self._validation = config.data.open(encoders)
        teacher = None
        if config.teacher.weights:
            teacher = Teacher(config.teacher, encoders, self._header, config.run)
        self._lessons = _Lessons(config, self._train, teacher, ahead=ahead)
        self._learnt_from = {"games": self._train.digest(), "teachers": self._lessons.teacher}
        scales = next(iter(encoders.values())).scales
        self._learner = Learner(network, scales, config, norms=config.network.norms)
        self._training = TrainingRun(
            plan.folder,
            learner=self._learner,
            save=self._save,
            state=lambda: dict(self._learnt_from),
            restore=self._restore,
            journal=journal,
        )

    def run(self) -> TrainingResult[GameMeasures]:
        config, lessons, train = self._config, self._lessons, self._train
        weights = sum(parameter.numel() for parameter in self._learner.network.parameters())
        return self._training.steps(
            lessons.resident if config.data.resident else lessons.made,
            run=config.run,
            positions=config.optimiser.batch,
            measure=lambda: measure(
                self._learner.answers,
                self._validation,
                limit=_MEASURED,
                targets_only=config.data.targets_only,
            ),
            held_out="validation",
            greeting=f"{len(train)} games, {train.positions} positions; {weights} weights",
            notes=lessons.notes,
        )

    def _restore(self, checkpoint: Checkpoint) -> None:
        for name, now in self._learnt_from.items():
            if checkpoint.state.get(name, "") != now:
                raise TrainingError(
                    f"{checkpoint.folder}: was trained on other {name} than there are now; restore "
                    "them, or start again in another folder with --out"
                )

    def _save(self, path: Path) -> None:
        train, run = self._train, self._config.run
        record = self._plan.record(
            data=f"{len(train)} games, {train.digest()}{self._lessons.teacher}",
            steps=self._learner.steps,
            seed=run.seed,
        )
        header = self._header.trained(record, komi=train.komi_range(), licence=run.licence)
        self._learner.save(path, header)


class _Lessons:
    """The lessons of a config, from that of any step.

    Attributes:
      teacher: what the training record says of the teacher; empty without one.
      notes: lines about the lessons for the log.
    """

    def __init__(
        self,
        config: SupervisedConfig,
        train: GoDataset,
        teacher: Teacher | None = None,
        *,
        ahead: int,
    ) -> None:
        self._config = config
        self._train = train
        self._ahead = ahead
        self._sharpness: dict[int, NDArray[np.float64]] = {}
        if config.data.root_share:
            self._sharpness = {
                size: root_sharpness(*train.of_size(size).searched()) for size in train.sizes
            }
        omissions = train.left_out()
        self.notes = [omissions] if omissions else []
        if self._sharpness:
            factors = np.concatenate(list(self._sharpness.values()))
            self.notes.append(
                f"  values of searches are sharpened, by ply, by {factors.min():.2f} to "
                f"{factors.max():.2f}, to fit the results"
            )
        self._taught = None if teacher is None else teacher.taught
        self.teacher = "" if teacher is None else f"; teacher {teacher.digest[:32]}"
        self._streams = partial(
            endless_streams,
            train,
            config.optimiser.batch,
            seed=config.run.seed,
            symmetries=config.data.symmetries,
            targets_only=config.data.targets_only,
        )

    def made(self, first: int) -> Generator[Lesson, None, None]:
        """Yield lessons that processors make."""
        with closing(batches_of(self._streams(first=first), ahead=self._ahead)) as batches:
            for lesson in map(self._lesson, batches):
                yield self._taught(lesson) if self._taught else lesson

    def resident(self, first: int) -> Generator[Lesson, None, None]:
        """Yield lessons that the device makes."""
        device = torch.device(self._config.run.device)
        resident = {
            size: ResidentLessons(
                self._train, self._lesson, size=size, device=device, taught=self._taught
            )
            for size in self._train.sizes
        }
        for stream in self._streams(first=first):
            for number in range(stream.next_batch, len(stream)):
                rows = stream.rows(number)
                yield resident[rows.size].lesson(rows)

    def _lesson(self, batch: Batch) -> Lesson:
        share = self._config.data.root_share
        return lesson_of(batch, root_share=share, sharpness=self._sharpness.get(batch.size))


def lesson_of(
    batch: Batch, *, root_share: float = 0.0, sharpness: NDArray[np.float64] | None = None
) -> Lesson:
    """Return the lesson of a batch.

    Args:
      root_share: weight of the search's value, where it is known, beside the result.
      sharpness: of the search's values by ply, see `root_sharpness`; None leaves them.
    """
    assert batch.planes is not None
    value = batch.result
    if root_share and batch.root_value is not None:
        root = batch.root_value
        if sharpness is not None:
            root = sharpened(root, sharpness[np.minimum(batch.ply, len(sharpness) - 1)])
        result = np.where(np.isnan(value), root, value)
        expected = np.where(np.isnan(root), value, root)
        value = ((1 - root_share) * result + root_share * expected).astype(np.float32)
    return Lesson(
        planes=batch.planes,
        action=batch.action,
        policy=batch.policy,
        weight=batch.weight,
        value=value,
        ownership=batch.ownership,
        score=batch.score,
    )


def sharpened(
    values: NDArray[np.floating], sharpness: NDArray[np.float64] | float
) -> NDArray[np.float32]:
    """Return values, from -1 to 1, with their log odds multiplied."""
    sharp = scaled_values(np.clip(values, -_SURE, _SURE), sharpness)
    return sharp.astype(np.float32)


_SURE: Final = 0.999
_SHARPEST: Final = 4.0
_ENOUGH: Final = 1000
"""Positions that tell a factor."""


def root_sharpness(
    values: NDArray[np.float64], results: NDArray[np.float64], plies: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return by ply the factor of the log odds with which the values of searches fit results best.

    A short search averages over lines that nobody would play, so its values are too near to 0, in
    the middle of a game more than at its ends. Every ten plies have a factor, from 1/4 to 4, that
    has the least mean square error over all positions with a value and a result; where these are
    few, that of the plies before; without any it is 1.

    Args:
      values, results, plies: of positions, as of `GoDataset.searched`.
    """
    rows = plies // PLIES_PER_ROW
    factors = [best_sharpness(values, results)]
    for row in range(int(rows.max(initial=-1)) + 1):
        here = rows == row
        enough = here.sum() >= _ENOUGH
        factors.append(best_sharpness(values[here], results[here]) if enough else factors[-1])
    return np.repeat(factors[1:] or factors, PLIES_PER_ROW)


def best_sharpness(values: NDArray[np.float64], results: NDArray[np.float64]) -> float:
    """Return the factor of the log odds with which values fit results best; 1 without any."""
    if not len(values):
        return 1.0
    odds = np.arctanh(np.clip(values, -_SURE, _SURE))
    low, high = -np.log(_SHARPEST), np.log(_SHARPEST)
    for _ in range(3):  # the error has one minimum: look closer around the best of a row
        row = np.linspace(low, high, 17)
        errors = [float(((np.tanh(np.exp(x) * odds) - results) ** 2).mean()) for x in row]
        best, step = row[int(np.argmin(errors))], row[1] - row[0]
        low, high = max(best - step, -np.log(_SHARPEST)), min(best + step, np.log(_SHARPEST))
    return float(np.exp(best))
