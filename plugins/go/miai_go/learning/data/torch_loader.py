"""Batches as a PyTorch data set, for training loops with a `DataLoader`.

>>> loader = DataLoader(TorchBatches(data, 256), batch_size=None)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from miai_go.learning.data.batches import Batch, Prefetcher
from miai_go.learning.data.dataset import GoDataset

Tensors = dict[str, torch.Tensor]


class TorchBatches(IterableDataset[Tensors]):
    """Batches of a data set, prefetched by a thread; each iteration is the next epoch.

    Items are whole batches, so the `DataLoader` needs ``batch_size=None``. Each of n workers
    serves every n-th batch.

    Args:
      data: the games.
      batch_size: positions of a batch.
      depth: number of batches to prefetch.
      epoch: epoch of the first iteration.
      options: as of `GoDataset.batches`.
    """

    def __init__(
        self, data: GoDataset, batch_size: int, *, depth: int = 4, epoch: int = 0, **options: Any
    ) -> None:
        self.data = data
        self.batch_size = batch_size
        self.depth = depth
        self.epoch = epoch
        self.options = options

    def __iter__(self) -> Iterator[Tensors]:
        """Yield the batches of the current epoch."""
        stream = self.data.batches(self.batch_size, epoch=self.epoch, **self.options)
        self.epoch += 1
        worker = get_worker_info()
        if worker is not None and worker.num_workers > 1:
            for number in range(stream.next_batch + worker.id, len(stream), worker.num_workers):
                yield tensors(stream.batch(number))
            return
        with Prefetcher(stream, depth=self.depth) as batches:
            yield from map(tensors, batches)


def tensors(batch: Batch) -> Tensors:
    """Return the arrays of a batch as tensors by name."""
    arrays = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return {
        name: torch.from_numpy(array)
        for name, array in arrays.items()
        if isinstance(array, np.ndarray)
    }
