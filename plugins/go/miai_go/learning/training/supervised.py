"""Supervised learning: train a network on the moves and results of recorded games.

Positions may stay on the device, each encoded once: a GPU learns from them faster than processors
encode them. The batches are those of `miai_go.learning.data.batches`: the same seed gives the same
lessons, whatever makes them.

A trained network may be a teacher, whose answers become part of the targets: a small network learns
more from the probabilities of a large one than from moves and results alone (Hinton, Vinyals and
Dean 2015, "Distilling the knowledge in a neural network").
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from miai.errors import WeightsError
from miai.parameters import StrictModel, parameter
from miai.process.processors import available_processors
from miai_go.errors import TrainingError
from miai_go.learning.data.batches import Batch, Rows, make_batch
from miai_go.learning.data.dataset import BatchStream, GoDataset, Prefetcher
from miai_go.learning.training.calibrating import scaled_values
from miai_go.learning.training.config_sections import (
    LessonSection,
    NetworkTraining,
    TrainingRunSection,
)
from miai_go.learning.training.initial_network import make_network
from miai_go.learning.training.learner import Batched, Learner, Lesson, prepare_torch
from miai_go.learning.training.measuring import PLIES_PER_ROW, GameMeasures, measure
from miai_go.learning.training.run_folder import TrainingJournal, TrainingPlan
from miai_go.learning.training.training_run import Checkpoint, TrainingResult, TrainingRun
from miai_go.nets.encoder import Encoders
from miai_go.nets.network import Outputs, WeightsHeader, load_weights
from miai_go.rules.sizes import sizes_of
from miai_go.rules.symmetry import INVERSES, point_tables
from miai_go.shipped import find_weights

_AT_ONCE: Final = 4096
"""Positions that a thread encodes at once."""
_BITS: Final = 8
_SEEN: Final = "seen"


# -- the teacher ----------------------------------------------------------------------------------


class TeacherSection(StrictModel):
    """A network to learn from beside the games."""

    weights: str = parameter("", help="Weights of the teacher; empty for none")
    share: float = parameter(
        0.5, gt=0, le=1, help="Weight of the teacher's answers beside the targets from the games"
    )


class Teacher:
    """Adds a network's answers to the targets of lessons.

    Attributes:
      digest: of the network's weights.

    Raises:
      MiaiError: the weights cannot be read, or are for another board size or encoder than `header`.
    """

    def __init__(
        self,
        section: TeacherSection,
        encoders: Encoders,
        header: WeightsHeader,
        run: TrainingRunSection,
    ) -> None:
        encoder = next(iter(encoders.values()))
        try:
            path = find_weights(section.weights)
            loaded = load_weights(path)
        except WeightsError as error:
            raise WeightsError(f"teacher.weights: {error}") from error
        loaded.header.check_encoder(
            header.encoder, header.encoder_parameters, encoder.planes, where="teacher.weights"
        )
        for size in encoders:
            loaded.header.board_size(size, where=f"teacher.weights: {path}")
        self.digest = loaded.header.sha256
        self._share = section.share
        self._device = torch.device(run.device)
        self._bf16 = run.precision == "bf16"
        network = loaded.network.eval().requires_grad_(False).to(self._device)
        self._network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._scales = torch.from_numpy(encoder.scales.copy()).to(self._device).view(1, -1, 1, 1)

    def taught(self, lesson: Lesson) -> Lesson:
        """Return the lesson with the teacher's answers in its targets.

        Where a target is unknown, the answer stands alone; a move without weight gets the weight of
        the teacher's share.
        """
        answers = self._answers(lesson)
        policy, weight = self._moves(lesson, answers)
        return replace(
            lesson,
            policy=policy,
            weight=weight,
            value=self._mixed(lesson.value, answers.value),
            ownership=self._owners(lesson, answers),
            score=self._mixed(lesson.score, answers.score),
        )

    def _answers(self, lesson: Lesson) -> Outputs:
        planes = self._tensor(lesson.planes).float() * self._scales
        with (
            torch.inference_mode(),
            torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._bf16),
        ):
            given: Outputs = self._network(planes.contiguous(memory_format=torch.channels_last))
        return Outputs(*(None if answer is None else answer.float() for answer in given))

    def _moves(self, lesson: Lesson, answers: Outputs) -> tuple[Batched | None, Batched | None]:
        """Return the targets of the policy, and their weights."""
        if answers.policy is None:
            return lesson.policy, lesson.weight
        answer = torch.softmax(answers.policy, 1)
        if lesson.policy is not None:
            target = self._tensor(lesson.policy).float()
        elif lesson.action is not None:
            actions = self._tensor(lesson.action)
            target = functional.one_hot(actions, answer.shape[1]).float()
        else:
            return answer, None
        known = torch.ones(len(answer), device=self._device)
        if lesson.weight is not None:
            known = self._tensor(lesson.weight)
        # A target without weight is from a search too fast to learn from: there the answer stands
        # alone.
        aimed = (known > 0)[:, None]
        mixed = torch.where(aimed, torch.lerp(target, answer, self._share), answer)
        return mixed, torch.where(known > 0, known, self._share)

    def _owners(self, lesson: Lesson, answers: Outputs) -> Batched | None:
        target = lesson.ownership
        if target is not None and answers.ownership is not None:
            owners = self._tensor(target).float()
            unknown = ~owners.flatten(1).any(1)[:, None, None]
            target = owners.masked_fill(unknown, torch.nan)
        return self._mixed(target, answers.ownership)

    def _mixed(self, column: Batched | None, answer: Tensor | None) -> Batched | None:
        """Return the targets, nan where unknown, with the answers' share."""
        if answer is None or column is None:
            return column if answer is None else answer
        target = self._tensor(column)
        return torch.where(target.isnan(), answer, torch.lerp(target, answer, self._share))

    def _tensor(self, column: Batched) -> Tensor:
        return torch.as_tensor(column).to(self._device)


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


# -- lessons that stay on the device --------------------------------------------------------------


class ResidentLessons:
    """The lessons of all positions of one size, on a device, in about 1 KB each on 9x9.

    Planes of zeros and ones are kept as bits. Policies are kept in half precision, that of shards.

    Args:
      data: the games; they need encoders.
      size: points on a side of the boards; default: the only size of the games.
      lesson: returns the lesson of a batch.
      device: where the positions are kept and lessons are made.
      taught: returns a lesson with better targets; called once for each position.

    Raises:
      DataError: a shard is damaged.
      TrainingError: the device has no room for the positions.
    """

    def __init__(
        self,
        data: GoDataset,
        lesson: Callable[[Batch], Lesson],
        *,
        size: int | None = None,
        device: torch.device,
        taught: Callable[[Lesson], Lesson] | None = None,
    ) -> None:
        self._size = data.size if size is None else size
        self._device = device
        self._planes = data.encoders[self._size].planes
        self._points = self._size**2
        # Games keep their numbers in the data set; those of other sizes have no positions here.
        self._lengths = np.where(data.board_sizes() == self._size, data.lengths(), 0)
        self._begins = np.cumsum(self._lengths) - self._lengths
        tables = point_tables(self._size).astype(np.int64)
        self._to = self._sent(tables)
        self._from = self._sent(tables[list(INVERSES)])
        self._wide = np.zeros(self._planes, np.bool_)
        try:
            self._columns = self._encoded(data, lesson)
            self._narrow_planes, self._wide_planes = (
                self._sent(np.flatnonzero(mask)) for mask in (~self._wide, self._wide)
            )
            if taught is not None:
                self._columns |= self._taught(taught)
        except (MemoryError, torch.OutOfMemoryError) as error:
            raise TrainingError(
                f"data.resident: {self._lengths.sum()} positions do not fit on '{device}'; lower "
                "data.games, or set data.resident to false"
            ) from error

    def lesson(self, rows: Rows) -> Lesson:
        """Return the lesson of some positions of its size, each turned by its symmetry."""
        here = self._sent(self._begins[rows.number] + rows.ply)
        return self._lesson(here, self._sent(rows.symmetry.astype(np.int64)))

    def _lesson(self, here: Tensor, turns: Tensor) -> Lesson:
        """Return the lesson of positions by number, int64 of shape (n,), turned by `turns`."""
        taken = {name: column[here] for name, column in self._columns.items()}
        to, back = self._to[turns], self._from[turns]
        planes = self._unpacked(taken.pop("bits"), taken.pop("wide"))
        lesson: dict[str, Any] = {"planes": self._turned(planes, back)}
        for name, values in taken.items():
            if name == "action":
                lesson[name] = to.gather(1, values.long()[:, None]).squeeze(1)
            elif name == "policy":
                lesson[name] = values.float().gather(1, back)
            elif name == "ownership":
                lesson[name] = self._turned(values[:, None], back).squeeze(1)
            else:
                lesson[name] = values
        return Lesson(**lesson)

    def _taught(self, taught: Callable[[Lesson], Lesson]) -> dict[str, Tensor]:
        """Return the columns of the targets that a teacher changes."""
        count = len(self._columns["bits"])
        columns: dict[str, Tensor] = {}
        for begin in range(0, count, _AT_ONCE):
            here = torch.arange(begin, min(begin + _AT_ONCE, count), device=self._device)
            lesson = taught(self._lesson(here, torch.zeros_like(here)))
            for name in ("policy", "weight", "value", "ownership", "score"):
                values = getattr(lesson, name)
                if values is None:
                    continue
                if name not in columns:
                    shape = (count, *values.shape[1:])
                    kind = torch.float16 if values.dim() > 1 else torch.float32
                    columns[name] = torch.empty(shape, dtype=kind, device=self._device)
                columns[name][here] = values.to(columns[name].dtype)
        return columns

    def _turned(self, planes: Tensor, back: Tensor) -> Tensor:
        """Return planes (n, planes, size, size), each row turned."""
        n, count, size, _ = planes.shape
        index = back[:, None, :-1].expand(-1, count, -1)
        return planes.reshape(n, count, -1).gather(2, index).reshape(n, count, size, size)

    def _unpacked(self, bits: Tensor, wide: Tensor) -> Tensor:
        """Return the planes, uint8 of shape (n, planes, size, size)."""
        n, size = len(bits), self._size
        shifts = torch.arange(_BITS, dtype=torch.uint8, device=self._device)
        flat = (bits[:, :, None] >> shifts & 1).reshape(n, -1)
        narrow = flat[:, : len(self._narrow_planes) * self._points]
        planes = torch.empty(n, self._planes, self._points, dtype=torch.uint8, device=self._device)
        planes[:, self._narrow_planes] = narrow.reshape(n, -1, self._points)
        planes[:, self._wide_planes] = wide.reshape(n, -1, self._points)
        return planes.reshape(n, self._planes, size, size)

    def _encoded(self, data: GoDataset, lesson: Callable[[Batch], Lesson]) -> dict[str, Tensor]:
        """Return the columns of all positions on the device, by the lesson's field.

        ``bits`` and ``wide`` hold the planes. Encoding begins again when a plane turns out to have
        more than zeros and ones.
        """
        while True:
            columns: dict[str, NDArray[Any]] = {}
            for begin, part in self._parts(data, lesson):
                seen = part.pop(_SEEN)
                if (seen & ~self._wide).any():
                    self._wide = self._wide | seen
                    break
                for name, values in part.items():
                    whole = columns.get(name)
                    if whole is None:
                        shape = (int(self._lengths.sum()), *values.shape[1:])
                        whole = columns[name] = np.empty(shape, values.dtype)
                    whole[begin : begin + len(values)] = values
            else:
                return {name: self._sent(values) for name, values in columns.items()}

    def _parts(
        self, data: GoDataset, lesson: Callable[[Batch], Lesson]
    ) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
        games = np.repeat(np.arange(len(self._lengths)), self._lengths)
        encoder = data.encoders[self._size]
        plies = np.arange(len(games)) - self._begins[games]

        def encoded(begin: int) -> tuple[int, dict[str, NDArray[Any]]]:
            here = slice(begin, begin + _AT_ONCE)
            shard, game = data.locate(games[here])
            unturned = np.zeros(len(shard), np.uint8)
            rows = Rows(self._size, shard, game, games[here], plies[here], unturned)
            return begin, self._packed(lesson(make_batch(data.shards, rows, encoder)))

        yield encoded(0)  # kernels are compiled once, and wide planes seen early
        with ThreadPoolExecutor(available_processors()) as pool:
            # In groups of a quarter of a million positions: `map` would otherwise run ahead and
            # keep all.
            for begin in range(0, len(games), _AT_ONCE * 64):
                several = range(begin, min(begin + _AT_ONCE * 64, len(games)), _AT_ONCE)
                yield from pool.map(encoded, several)

    def _packed(self, lesson: Lesson) -> dict[str, NDArray[Any]]:
        """Return the columns of a lesson, and which planes have more than zeros and ones."""
        planes = np.asarray(lesson.planes).reshape(len(lesson.planes), self._planes, -1)
        wide = self._wide
        columns: dict[str, NDArray[Any]] = {
            _SEEN: np.asarray((planes > 1).any((0, 2))),
            "bits": np.packbits(planes[:, ~wide].reshape(len(planes), -1), 1, bitorder="little"),
            "wide": planes[:, wide].reshape(len(planes), -1),
        }
        for field in fields(lesson):
            values = getattr(lesson, field.name)
            if field.name != "planes" and values is not None:
                columns[field.name] = np.asarray(values).astype(
                    _STORED.get(field.name, values.dtype)
                )
        return columns

    def _sent(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


_STORED: Final[dict[str, Any]] = {"action": np.int16, "policy": np.float16, "weight": np.float32}
