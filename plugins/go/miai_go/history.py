"""The positions that a game has been through, for superko and the rule of repetition."""

from __future__ import annotations

from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

_ROOM: Final = 64


class PositionHistory:
    """Keys of positions (`miai_go.board.history_key`), in the order in which they occurred."""

    __slots__ = ("_count", "_keys")

    def __init__(self) -> None:
        self._keys = np.empty(_ROOM, np.uint64)
        self._count = 0

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys, uint64 of shape (positions,); a view, not to be changed."""
        return self._keys[: self._count]

    def add(self, key: int) -> None:
        """Add the key of the position that has just arisen."""
        if self._count == len(self._keys):
            grown = np.empty(2 * self._count, np.uint64)
            grown[: self._count] = self._keys
            self._keys = grown
        self._keys[self._count] = key
        self._count += 1

    def __contains__(self, key: int) -> bool:
        return bool((self._keys[: self._count] == np.uint64(key)).any())

    def copy(self) -> Self:
        """Return an independent copy."""
        other = object.__new__(type(self))
        other._keys = self._keys.copy()
        other._count = self._count
        return other
