"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Column(Generic[_Scalar]):
    """Rows of one type, of which more can be appended.

    Args:
      dtype: of an element.
      width: elements of a row; 0 for a column of single ones.
    """

    def __init__(self, dtype: type[_Scalar], width: int = 0) -> None:
        self._rows: NDArray[_Scalar] = np.zeros((64, width) if width else 64, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[_Scalar]:
        """All rows; those of the same memory as before until more are appended."""
        return self._rows[: self._count]

    def append(self, row: Any) -> int:
        """Append one row; return its number."""
        if self._count == len(self._rows):
            self._reserve(self._count + 1)
        self._rows[self._count] = row
        self._count += 1
        return self._count - 1

    def extend(self, rows: NDArray[_Scalar]) -> int:
        """Append rows; return the number of the first."""
        first, self._count = self._count, self._count + len(rows)
        if self._count > len(self._rows):
            self._reserve(self._count)
        self._rows[first : self._count] = rows
        return first

    def widen(self, width: int) -> None:
        """Make rows wider; what is new is zero."""
        more = width - self._rows.shape[1]
        self._rows = np.pad(self._rows, ((0, 0), (0, more)))

    def _reserve(self, count: int) -> None:
        room = max(count, 2 * len(self._rows))
        larger = np.zeros((room, *self._rows.shape[1:]), self._rows.dtype)
        larger[: len(self._rows)] = self._rows
        self._rows = larger
