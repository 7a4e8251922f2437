"""How near a held-out position is to what is trained on, and what its neighbour would say of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai_go.learning.life_dataset import LabelledPositions
from miai_go.life.kernels import planes as kernels
from miai_go.nets.life_planes import REFERENCE, WINDOW, encode


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest training positions of a sample.

    Attributes:
      rows: the sample, int64 of shape (n,).
      distances: points that differ from the nearest training position of the same first mover,
        seen from any stone of the target and any of the eight sides; int64 of shape (n,).
      neighbours: those positions, int64 of shape (n,).
    """

    rows: NDArray[np.int64]
    distances: NDArray[np.int64]
    neighbours: NDArray[np.int64]

    def table(self, most: int = 8) -> list[tuple[str, int]]:
        """Return how many positions have each distance; the last row holds all beyond."""
        counts = [(str(d), int((self.distances == d).sum())) for d in range(most)]
        return [*counts, (f"{most}+", int((self.distances >= most).sum()))]


def find_neighbours(
    positions: LabelledPositions,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    *,
    sample: int = 300,
    seed: int = 0,
    window: int = WINDOW,
) -> Neighbours:
    """Return the nearest neighbours in `train` of a random sample of `test`.

    Training positions are seen from the stone nearest to the target's middle, the sample from all.
    """
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(test, min(sample, len(test)), replace=False))
    pictures = _pictures(positions, train, window)
    sides = np.ascontiguousarray(positions.columns["side"][train])
    distances = np.zeros(len(rows), np.int64)
    neighbours = np.zeros(len(rows), np.int64)
    found = np.zeros(1, np.int64)
    for i, row in enumerate(rows.tolist()):
        side = int(positions.columns["side"][row])
        distances[i] = kernels.nearest(
            _all_views(positions, row, window), pictures, sides, side, found
        )
        neighbours[i] = train[found[0]]
    return Neighbours(rows, distances, neighbours)


def _all_views(positions: LabelledPositions, row: int, window: int) -> NDArray[np.uint64]:
    """Return the different pictures of a position, of every stone of the target and side."""
    c = positions.columns
    block = np.zeros(1, np.uint64)
    one = np.array([row])
    kernels.target_blocks(
        positions.layout.words,
        c["problem"][one].astype(np.int64),
        c["attackers"][one],
        c["defenders"][one],
        block,
    )
    count = int(block[0]).bit_count()
    picks, turns = np.divmod(np.arange(8 * count), 8)
    pictures = _pictures(positions, np.repeat(one, 8 * count), window, picks, turns)
    return np.unique(pictures, axis=0)


def _pictures(
    positions: LabelledPositions,
    rows: NDArray[np.int64],
    window: int,
    picks: NDArray[np.int64] | None = None,
    turns: NDArray[np.int64] | None = None,
) -> NDArray[np.uint64]:
    """Return what is in the windows, two bits a point, uint64 of shape (n, words)."""
    out = []
    c = positions.columns
    for at in range(0, len(rows), 4096):
        here = slice(at, at + 4096)
        part = rows[here]
        planes = encode(
            positions.layout,
            c["problem"][part],
            c["attackers"][part],
            c["defenders"][part],
            c["side"][part],
            planes=REFERENCE,
            window=window,
            picks=None if picks is None else picks[here],
            turns=None if turns is None else turns[here],
        ).planes.reshape(len(part), -1, window**2)
        board = planes[:, kernels.ATTACKER_FIRST] | planes[:, kernels.DEFENDER_FIRST]
        # Empty 00, attacker 10, defender 01, beyond the edge 11.
        first = planes[:, kernels.OPPOSITE] | (1 - board)
        second = planes[:, kernels.OWN] | (1 - board)
        out.append(np.concatenate((_packed(first), _packed(second)), 1))
    return np.concatenate(out)


def _packed(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    words = -(-bits.shape[1] // 64)
    padded = np.zeros((len(bits), words * 64), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, 1).view(np.uint64)
