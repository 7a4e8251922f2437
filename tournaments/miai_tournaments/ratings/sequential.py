"""Sequential tests, which look at a match after every pair of games and may end it.

In a game of more than two players a block of games takes the place of the pair.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

from miai.errors import ConfigError

Hypothesis = Literal["H0", "H1"]

_ERRORS: Final = (1e-6, 0.5)
_CURVE: Final = 200
"""Maximum number of points of a test's curve, for reports."""


class TestState(Protocol):
    """What a test says after some pairs."""

    @property
    def verdict(self) -> Hypothesis | None:
        """The accepted hypothesis; None if undecided."""

    @property
    def pairs(self) -> int:
        """Number of pairs up to the verdict; without a verdict, of all pairs."""


class SequentialTest(ABC):
    """A test of two hypotheses about the first player of a match.

    Attributes:
      seats: number of players of a game.
    """

    seats: int

    @property
    def unit(self) -> str:
        """What the games of one seed are called: a pair, or a block of more than two."""
        return unit_name(self.seats)

    @abstractmethod
    def title(self) -> str:
        """Return a short description."""

    @abstractmethod
    def decide(self, pairs: Sequence[float]) -> TestState:
        """Return the verdict at the first pair that allows one; later pairs change nothing.

        Args:
          pairs: points of the first player in all games of each pair or block, in the order of
            the schedule.
        """

    @abstractmethod
    def facts(
        self, state: Any, pairs: Sequence[float], players: Sequence[str]
    ) -> Mapping[str, Any]:
        """Return a state as plain data for reports.

        It has ``kind``, ``verdict``, ``pairs``, the ``unit`` of these, a ``curve`` and ``text``, a
        line for people.

        Args:
          pairs: as in `decide`, up to the verdict.
          players: the names, that of the player whom the test is about first.
        """


def unit_name(seats: int) -> str:
    """Return "pair" for games of two players, else "block"."""
    return "pair" if seats == 2 else "block"


def versus(players: Sequence[str]) -> str:
    """Return the players of a match as text: ``new against old and older``."""
    first, *others = players
    return f"{first} against {' and '.join(others)}"


def check_errors(alpha: float, beta: float) -> None:
    """Raise `ConfigError` unless both are sensible probabilities of an error."""
    for name, chance in (("alpha", alpha), ("beta", beta)):
        if not _ERRORS[0] <= chance < _ERRORS[1]:
            raise ConfigError(
                f"{name}: is {chance}; give a chance of error from {_ERRORS[0]:g} to below "
                f"{_ERRORS[1]:g}"
            )


def finite_or_none(numbers: Mapping[str, float]) -> dict[str, float | None]:
    """Return numbers for JSON, None in place of those that are not finite."""
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def curve_points(values: Sequence[float]) -> list[list[float]]:
    """Return up to 200 points (pairs, value), including the last one.

    Values that are not finite, which may happen after the first pairs, are left out.
    """
    step = -(-len(values) // _CURVE) or 1
    places = sorted({*range(step, len(values) + 1, step), len(values)} - {0})
    return [[n, round(float(r), 4)] for n in places if math.isfinite(r := values[n - 1])]
