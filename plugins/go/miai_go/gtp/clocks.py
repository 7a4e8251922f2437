"""The clocks of the two players, as a controller tells them, and what to spend on a move.

Kinds of time settings, `m` the main time, in seconds:

===============  =========================================================================
none             no limit
absolute         m for the game
canadian         m, then periods of p seconds for n moves each
byoyomi          m, then n periods of p seconds, each renewed by a move made in it
fischer          m, and i more after every move
fischer-capped   the same, of main time never more than m', and never more than p for one move;
                 a negative number caps nothing
===============  =========================================================================

``time_settings m p n`` of GTP is canadian; without overtime (p = 0) absolute; p > 0 with n = 0
means no limit. ``time_left`` counts most: where a controller does not send it, what the engine
itself took is taken off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from miai_go.gtp.wire import GtpError

Kind: TypeAlias = Literal["none", "absolute", "canadian", "byoyomi", "fischer", "fischer-capped"]

KINDS: Final[tuple[Kind, ...]] = (
    "none",
    "absolute",
    "canadian",
    "byoyomi",
    "fischer",
    "fischer-capped",
)
KGS_KINDS: Final = KINDS[:4]

_ARGUMENTS: Final[dict[Kind, int]] = {
    "none": 0,
    "absolute": 1,
    "canadian": 3,
    "byoyomi": 3,
    "fischer": 2,
    "fischer-capped": 4,
}
_MOST_SECONDS: Final = 1e7
_STONES_DIGITS: Final = 6
_SHARE: Final = 0.9  # of what is left that is ever spent
_LAG: Final = 0.05  # seconds a move that the way to the controller and back may take


@dataclass(frozen=True, slots=True)
class TimeSettings:
    """How much time a player has.

    Attributes:
      kind: what the rest means.
      main: seconds of main time.
      period: seconds of a period, or the increment.
      stones: moves of a Canadian period, or periods of byo-yomi.
      main_cap, move_cap: of fischer-capped, seconds; infinite without.
    """

    kind: Kind = "none"
    main: float = 0.0
    period: float = 0.0
    stones: int = 0
    main_cap: float = math.inf
    move_cap: float = math.inf


def plain_settings(words: Sequence[str]) -> TimeSettings:
    """Return what ``time_settings`` says. Raises `GtpError`."""
    if len(words) != 3:
        raise GtpError("time_settings takes main time, byo yomi time and stones")
    main, period, stones = seconds_of(words[0]), seconds_of(words[1]), stones_of(words[2])
    if period > 0 and stones == 0:
        return TimeSettings()
    if period == 0:
        return TimeSettings("absolute", main)
    return TimeSettings("canadian", main, period, stones)


def named_settings(words: Sequence[str], kinds: Sequence[Kind] = KINDS) -> TimeSettings:
    """Return what ``kgs-time_settings`` and ``kata-time_settings`` say. Raises `GtpError`."""
    kind = next((k for k in kinds if words and words[0].lower() == k), None)
    if kind is None:
        raise GtpError(f"time settings begin with one of {', '.join(kinds)}")
    given = words[1:]
    if len(given) != _ARGUMENTS[kind]:
        raise GtpError(f"{kind} takes {_ARGUMENTS[kind]} numbers, not {len(given)}")
    if kind in ("canadian", "byoyomi"):
        main, period, stones = seconds_of(given[0]), seconds_of(given[1]), stones_of(given[2])
        if stones == 0 or period == 0:
            return TimeSettings("absolute", main)
        return TimeSettings(kind, main, period, stones)
    numbers = [seconds_of(word) for word in given[:2]]
    caps = [math.inf if word.startswith("-") else seconds_of(word) for word in given[2:]]
    main, increment = [*numbers, 0.0, 0.0][:2]
    main_cap, move_cap = [*caps, math.inf, math.inf][:2]
    return TimeSettings(kind, min(main, main_cap), increment, 0, main_cap, move_cap)


def seconds_of(word: str) -> float:
    """Return seconds, 0 to ten million. Raises `GtpError`."""
    try:
        seconds = float(word)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _MOST_SECONDS:
        raise GtpError(f"'{word[:40]}' are no seconds")
    return seconds


def stones_of(word: str) -> int:
    """Return a number of stones or periods. Raises `GtpError`."""
    if not (word.isascii() and word.isdigit() and len(word) <= _STONES_DIGITS):
        raise GtpError(f"'{word[:40]}' is no number of stones")
    return int(word)


class EngineClock:
    """The clock of one player, as far as the engine knows it.

    Attributes:
      settings: its time control.
      left: seconds of main time, or of the period where `stones` is not 0.
      stones: moves left in a Canadian period, periods left of byo-yomi; 0 in main time.
    """

    def __init__(self, settings: TimeSettings | None = None) -> None:
        self.settings = settings or TimeSettings()
        self.left = self.settings.main
        self.stones = 0
        self._enter_overtime()

    def tell(self, seconds: float, stones: int) -> None:
        """Take in what the controller says is left."""
        if self.settings.kind == "none":
            # A controller that never sent settings: then this much, for so many stones.
            self.settings = TimeSettings("canadian" if stones else "absolute", seconds, seconds)
            self.settings = replace(self.settings, stones=stones)
        self.left, self.stones = seconds, stones

    def charge(self, seconds: float) -> None:
        """Take off what a move took, for controllers that never say what is left."""
        settings = self.settings
        if settings.kind == "none":
            return
        self.left -= seconds
        if settings.kind in ("fischer", "fischer-capped"):
            self.left = min(max(self.left, 0.0) + settings.period, settings.main_cap)
        elif settings.kind == "canadian" and self.stones:
            self.stones -= 1
            if self.stones == 0:
                self.left, self.stones = settings.period, settings.stones
        elif settings.kind == "byoyomi" and self.stones:
            self._charge_periods()
        self._enter_overtime()
        self.left = max(self.left, 0.0)

    def budget(self, moves_left: int) -> float | None:
        """Return the seconds to spend on a move at most; None for no limit.

        Main time is spread over `moves_left` moves of this player.
        """
        settings = self.settings
        if settings.kind == "none":
            return None
        if self.stones:
            share = self.left / (self.stones if settings.kind == "canadian" else 1)
            return self._within(share, self.left)
        renewed = settings.period
        if settings.kind == "canadian":
            renewed = settings.period / max(settings.stones, 1)
        limit = self.left
        if settings.kind in ("canadian", "byoyomi"):
            limit += settings.period
        wise = self.left / max(moves_left, 1) + renewed
        return self._within(min(wise, settings.move_cap), limit)

    def _within(self, wise: float, limit: float) -> float:
        return max(min(_SHARE * wise, _SHARE * limit, limit - _LAG), 0.001)

    def _enter_overtime(self) -> None:
        """Begin the first period where no main time is left."""
        settings = self.settings
        over = settings.kind in ("canadian", "byoyomi") and not self.stones and self.left <= 0
        if over and settings.stones:
            self.left, self.stones = max(self.left + settings.period, 0.0), settings.stones

    def _charge_periods(self) -> None:
        """Renew the period of byo-yomi in which a move was made; those before it are lost."""
        period = self.settings.period
        lost = math.ceil(max(-self.left, 0.0) / period)
        self.stones = max(1, self.stones - lost)
        self.left = period
