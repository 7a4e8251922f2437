"""The value that an agent gives a position: a number with its unit.

A value is from the point of view of the player who acts. It travels in the statistics of a
decision, through messages and records, as ``value`` and ``value_unit``. A value without a unit, as
in older records, is a utility. `Evaluation` is the one place that words values for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from miai.game import GameInfo
from miai.plain import Json

_LARGEST = 1e100
"""Maximum size of a value. No axis shows larger ones, and huge integers are not floats."""

_MOST_PAWNS = 20.0
"""Maximum evaluation in pawns of material and position; beyond it, it stands for a king."""


class ValueUnit(StrEnum):
    """What a value measures; it is displayed accordingly.

    Attributes:
      UTILITY: a utility of the game that is not an expectation: a guarantee, a bound, or the
        estimate of a heuristic.
      EXPECTED_UTILITY: the mean utility of the outcomes that the agent expects, as of playouts or
        a network trained on results. In a game that is won or lost it is shown as a win rate.
      PROBABILITY: the probability of winning, from 0 to 1; a draw counts half.
      CENTIPAWNS: hundredths of a pawn, unbounded.
      SCORE: a number on a scale of the agent's own.
    """

    UTILITY = "utility"
    EXPECTED_UTILITY = "expected-utility"
    PROBABILITY = "probability"
    CENTIPAWNS = "centipawns"
    SCORE = "score"

    @classmethod
    def of(cls, statistics: Mapping[str, object]) -> ValueUnit:
        """Return the unit of the values in a decision's statistics; without one, utility.

        An unknown unit, as of a newer version, is read as a score.
        """
        name = statistics.get("value_unit", cls.UTILITY)
        return cls(name) if isinstance(name, str) and name in set(cls) else cls.SCORE


_UTILITIES = (ValueUnit.UTILITY, ValueUnit.EXPECTED_UTILITY)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A value with its unit, for the player who acts."""

    value: float
    unit: ValueUnit = ValueUnit.UTILITY

    @classmethod
    def from_statistics(cls, statistics: Mapping[str, object]) -> Self | None:
        """Return the evaluation in the statistics of a decision; None without a valid value."""
        value = statistics.get("value")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not abs(value) <= _LARGEST:  # nor is nan
            return None
        return cls(float(value), ValueUnit.of(statistics))

    def statistics(self) -> dict[str, Json]:
        """Return the entries for the statistics of a decision."""
        return {"value": self.value, "value_unit": self.unit.value}

    def utility(self, info: GameInfo) -> float | None:
        """Return the value as a utility of the game; None if it is not one, or out of bounds."""
        low, high = info.min_utility, info.max_utility
        value = self.value
        if self.unit is ValueUnit.PROBABILITY and is_win_or_loss(info):
            value = low + value * (high - low)
        elif self.unit not in _UTILITIES:
            return None
        return value if low <= value <= high else None

    def of_first_player(self, player: int, info: GameInfo) -> Evaluation:
        """Return the value of `player` as the first player's, in two-player constant-sum games."""
        if player == 0 or info.num_players != 2 or info.utility_sum is None:
            return self
        total = {ValueUnit.PROBABILITY: 1.0, ValueUnit.CENTIPAWNS: 0.0, ValueUnit.SCORE: 0.0}
        return Evaluation(total.get(self.unit, info.utility_sum) - self.value, self.unit)

    def scale(self, info: GameInfo) -> ValueScale:
        """Return how the value is shown. Nothing is clipped: no rate exceeds 100 %."""
        scale = scale_of(self.unit, info)
        if scale.suffix == " %" and not 0.0 <= scale.number(self.value) <= 100.0:
            expected = self.unit is ValueUnit.EXPECTED_UTILITY
            return scale_of(ValueUnit.UTILITY if expected else ValueUnit.SCORE, info)
        return scale

    def text(self, info: GameInfo) -> str:
        """Return the value for people: ``win rate 62.3 %``, ``evaluation +0.42 pawns``."""
        return f"{self.scale(info).name} {self.number_text(info)}"

    def number_text(self, info: GameInfo) -> str:
        """Return the value as a number with its unit: ``62.3 %``, ``+0.42 pawns``, ``+0.35``."""
        scale = self.scale(info)
        number = scale.number(self.value)
        if scale.suffix == " %":
            return f"{number:.1f} %"
        return f"{round(number, 2) + 0.0:+.2f}{scale.suffix}"  # -0.0 + 0.0 is 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueScale:
    """How values of one unit are shown: times `factor`, plus `offset`.

    Attributes:
      name: the quantity, such as ``win rate``.
      suffix: the unit after a number, with a space before it; may be empty.
      low, high: the bounds of the numbers shown; None without bounds.
      ordinary: the magnitude beyond which numbers stand for a win or a loss, such as those of a
        captured king; None if all numbers are of one kind.
    """

    name: str
    factor: float = 1.0
    offset: float = 0.0
    suffix: str = ""
    low: float | None = None
    high: float | None = None
    ordinary: float | None = None

    def number(self, value: float) -> float:
        """Return the number that is shown for a value."""
        return value * self.factor + self.offset


def scale_of(unit: ValueUnit, info: GameInfo) -> ValueScale:
    """Return how values of a unit are shown in a game."""
    low, high = info.min_utility, info.max_utility
    if unit is ValueUnit.CENTIPAWNS:
        return ValueScale(name="evaluation", factor=0.01, suffix=" pawns", ordinary=_MOST_PAWNS)
    if unit is ValueUnit.SCORE:
        return ValueScale(name="score")
    if unit is ValueUnit.EXPECTED_UTILITY and is_win_or_loss(info):
        return _percent(low, high)
    if unit is ValueUnit.PROBABILITY:
        return _percent(0.0, 1.0)
    return ValueScale(name="utility", low=low, high=high)


def _percent(low: float, high: float) -> ValueScale:
    """Return the scale that shows `low` as 0 % and `high` as 100 %."""
    factor = 100.0 / (high - low)
    return ValueScale(
        name="win rate", factor=factor, offset=-low * factor, suffix=" %", low=0.0, high=100.0
    )


def is_win_or_loss(info: GameInfo) -> bool:
    """Return whether two players win or lose, a draw counting half: utilities -1 to 1, or 0 to 1.

    Payoffs are not: half of the highest payoff is no draw.

    Only there a mean utility is a win rate.
    """
    bounds = (info.min_utility, info.max_utility, info.utility_sum)
    return (
        not info.payoffs and info.num_players == 2 and bounds in ((-1.0, 1.0, 0.0), (0.0, 1.0, 1.0))
    )
