"""Batches without an end, epoch after epoch, from any of them on."""

from __future__ import annotations

from collections.abc import Generator

from miai_go.data.batch import Batch
from miai_go.data.dataset import GoDataset
from miai_go.data.prefetch import Prefetcher


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
