"""Positions that stay on the device that trains on them, each encoded once.

A GPU learns from positions faster than processors encode them. The batches are those of
`miai_go.learning.data.batches`: the same seed gives the same lessons, whatever makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from miai.process.processors import available_processors
from miai_go.errors import TrainingError
from miai_go.learning.data.batches import Batch, Rows, make_batch
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.training.learner import Lesson
from miai_go.rules.symmetry import INVERSES, point_tables

_AT_ONCE: Final = 4096
"""Positions that a thread encodes at once."""
_BITS: Final = 8
_SEEN: Final = "seen"


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
