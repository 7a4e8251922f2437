"""Positions that the kernels of networks are asked about, and room for what they answer."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai_go.tsumego.kernels.planes import NEAREST
from miai_go.tsumego.planes import Layout


class Batch(NamedTuple):
    """n positions in the order in which kernels take them; see `miai_go.tsumego.planes.encode`.

    Attributes:
      words, diagonals, facts, boards: of the layout.
      problems: int64 of shape (n,), which problem of the layout each position is of.
      attackers, defenders: uint64 of shape (n,), their stones within the zone.
      sides: int64 of shape (n,), who moves.
      picks: int64 of shape (n,), which window is taken.
    """

    words: NDArray[np.uint64]
    diagonals: NDArray[np.uint64]
    facts: NDArray[np.int64]
    boards: NDArray[np.int64]
    problems: NDArray[np.int64]
    attackers: NDArray[np.uint64]
    defenders: NDArray[np.uint64]
    sides: NDArray[np.int64]
    picks: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        layout: Layout,
        problems: ArrayLike,
        attackers: ArrayLike,
        defenders: ArrayLike,
        sides: ArrayLike,
        picks: ArrayLike | None = None,
    ) -> Self:
        """Return positions of a layout; without `picks` the nearest window is taken of each."""
        numbers = np.ascontiguousarray(problems, np.int64)
        return cls(
            layout.words,
            layout.diagonals,
            layout.facts,
            layout.boards,
            numbers,
            np.ascontiguousarray(attackers, np.uint64),
            np.ascontiguousarray(defenders, np.uint64),
            np.ascontiguousarray(sides, np.int64),
            np.full(len(numbers), NEAREST)
            if picks is None
            else np.ascontiguousarray(picks, np.int64),
        )

    def room(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return arrays for values (n,) and logits (n, 64)."""
        count = len(self.problems)
        return np.empty(count, np.float32), np.empty((count, 64), np.float32)
