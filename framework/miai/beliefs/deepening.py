"""Searching a root depth by depth.

`DeepeningSearch` finds the value of a root at a depth by windows. A subclass searches a window: the
recursion of `miai.beliefs.recursion`, the compiled search, or that of a plugin.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from miai.beliefs.protocol import BeliefResult, Line
from miai.errors import UnsuitableGameError

RootType = TypeVar("RootType")

Window = Literal["alpha-beta", "null"]


class BudgetSpentError(Exception):
    """The node or time budget is spent; the search unwinds."""


class WindowResult(NamedTuple):
    """The result of a search of a root in one window.

    Attributes:
      value: exact within the window; an upper bound at or below alpha, a lower bound at or above
        beta.
      line: the expected actions and observations, up to where a bound settled the value.
    """

    value: float
    line: Line = ()


class ValueRange(Protocol):
    """The possible values of a problem; see `BeliefProblem`."""

    @property
    def least(self) -> float:
        """The lowest value."""

    @property
    def greatest(self) -> float:
        """The highest value."""

    @property
    def reachability(self) -> bool:
        """Whether every value is one of these two."""


class DeepeningSearch(ABC, Generic[RootType]):
    """Searches roots of one problem, depth by depth; bounds recorded at one root serve the next.

    Args:
      window: ``alpha-beta`` searches with a full window; ``null`` with null windows, from the top
        of the range down (MTD, Plaat et al. 1996).

    Attributes:
      values: the range of the problem's values.
      enumeration_seconds: see `BeliefResult`; of the last search.
    """

    enumeration_seconds = 0.0

    def __init__(self, values: ValueRange, window: Window) -> None:
        self.values, self.window = values, window

    def search(
        self,
        root: RootType,
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Return the value of a root at a depth, and the best action.

        Args:
          depth: the depth, in units of `BeliefProblem.cost`; at least 1.
          deepening: whether to search depths 1, 2, ... first; a budget implies it.
          max_nodes, seconds: the budget. When it is spent, the last complete depth counts.

        Raises:
          ValueError: the depth or the root is not valid.
          UnsuitableGameError: the depth exceeds Python's recursion limit.
        """
        step_by_step = deepening or max_nodes is not None or seconds is not None
        result: WindowResult = WindowResult(self.values.least)
        last_depth, won = 0, False
        try:
            with self._limited(root, depth, max_nodes=max_nodes, seconds=seconds):
                for current in range(1 if step_by_step else depth, depth + 1):
                    result = self._at_depth(root, current, result.value if last_depth else None)
                    last_depth = current
                    won = self.values.reachability and result.value >= self.values.greatest
                    if won:
                        break  # this is the shortest win; a longer line need not make progress
        except BudgetSpentError:
            pass  # the last complete depth counts
        except RecursionError as error:
            raise UnsuitableGameError(
                f"a search of depth {depth} exceeds Python's recursion limit; reduce the depth, or "
                "use the search 'compiled'"
            ) from error
        return BeliefResult(
            value=result.value,
            action=result.line[0][0] if result.line else -1,
            depth=last_depth,
            line=result.line,
            complete=last_depth == depth or won,
            statistics=self._counts_of(root),
            enumeration_seconds=self.enumeration_seconds,
        )

    def _at_depth(self, root: RootType, depth: int, guess: float | None) -> WindowResult:
        """Return the exact value at one depth, and the line.

        Args:
          guess: the value at the depth before; None at first.
        """
        least, greatest = self.values.least, self.values.greatest
        if self.window == "alpha-beta":
            # Values at the ends of the range are exact although they lie outside the open window.
            return self._in_window(root, depth, least, greatest)
        line: Line = ()
        beta = greatest if guess is None or guess <= least else guess
        while least < greatest:
            result = self._in_window(root, depth, math.nextafter(beta, -math.inf), beta)
            if result.value >= beta:
                least, line = beta, result.line or line
            else:
                greatest, line = result.value, line or result.line
            # Go down: an upper bound is a value that occurs, a lower bound only the one tested.
            beta = greatest
        return WindowResult(least, line=line)

    @abstractmethod
    def _limited(
        self, root: RootType, depth: int, *, max_nodes: int | None, seconds: float | None
    ) -> AbstractContextManager[None]:
        """Prepare a search and limit its budget; raise ValueError for a bad root or depth."""

    @abstractmethod
    def _in_window(self, root: RootType, depth: int, alpha: float, beta: float) -> WindowResult:
        """Return the value of a root in a window; raise `BudgetSpentError` without budget."""

    @abstractmethod
    def _counts_of(self, root: RootType) -> Mapping[str, int]:
        """Return the counts of the last search, which was of this root."""
