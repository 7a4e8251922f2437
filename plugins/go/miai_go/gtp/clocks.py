"""The clocks of a session: the time settings that a controller sends, and what a move may spend.

Kinds of time settings, `m` the main time, in seconds:

===============  =========================================================================
none             no limit
absolute         m for the game
canadian         m, then periods of p seconds for n moves each
byoyomi          m, then n periods of p seconds, each renewed by a move made in it
fischer          m, and i more after every move
fischer-capped   the same, main time never above m', and never more than p for one move;
                 a negative number means no cap
===============  =========================================================================

``time_settings m p n`` of GTP is canadian; without overtime (p = 0) absolute; p > 0 with n = 0
means no limit. ``time_left`` overrides the session's own count of the time that moves took.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from miai_go.gtp.wire import GtpError, number, whole

ClockKind = Literal["none", "absolute", "canadian", "byoyomi", "fischer", "fischer-capped"]

_ARGUMENTS: Final[dict[ClockKind, int]] = {
    "none": 0,
    "absolute": 1,
    "canadian": 3,
    "byoyomi": 3,
    "fischer": 2,
    "fischer-capped": 4,
}
KINDS: Final = tuple(_ARGUMENTS)
KGS_KINDS: Final = KINDS[:4]

_MAX_SECONDS: Final = 1e7
_SHARE: Final = 0.9  # of the time left, spent at most
_LAG: Final = 0.05  # seconds a move for the way to the controller and back


@dataclass(frozen=True, slots=True)
class TimeSettings:
    """How much time a player has.

    Attributes:
      kind: how the other attributes count.
      main: seconds of main time.
      period: seconds of a period, or the increment.
      stones: moves of a Canadian period, or periods of byo-yomi.
      main_cap, move_cap: seconds, of fischer-capped; otherwise infinite.
    """

    kind: ClockKind = "none"
    main: float = 0.0
    period: float = 0.0
    stones: int = 0
    main_cap: float = math.inf
    move_cap: float = math.inf


def plain_settings(words: Sequence[str]) -> TimeSettings:
    """Return the settings of a ``time_settings`` command. Raises `GtpError`."""
    if len(words) != 3:
        raise GtpError("time_settings takes main time, byo yomi time and stones")
    main, period, stones = _seconds(words[0]), _seconds(words[1]), whole(words[2], "stones")
    if period > 0 and stones == 0:
        return TimeSettings()
    if period == 0:
        return TimeSettings("absolute", main)
    return TimeSettings("canadian", main, period, stones)


def named_settings(words: Sequence[str], kinds: Sequence[ClockKind] = KINDS) -> TimeSettings:
    """Return the settings of ``kgs-time_settings`` or ``kata-time_settings``. Raises `GtpError`."""
    kind = next((k for k in kinds if words and words[0].lower() == k), None)
    if kind is None:
        raise GtpError(f"time settings begin with one of {', '.join(kinds)}")
    arguments = words[1:]
    if len(arguments) != _ARGUMENTS[kind]:
        raise GtpError(f"{kind} takes {_ARGUMENTS[kind]} numbers, not {len(arguments)}")
    main, period = [*map(_seconds, arguments[:2]), 0.0, 0.0][:2]
    if kind in ("canadian", "byoyomi"):
        stones = whole(arguments[2], "stones")
        if stones == 0 or period == 0:
            return TimeSettings("absolute", main)
        return TimeSettings(kind, main, period, stones)
    caps = [_seconds(word, below=math.inf) for word in arguments[2:]]
    main_cap, move_cap = caps or (math.inf, math.inf)
    return TimeSettings(kind, min(main, main_cap), period, 0, main_cap, move_cap)


def time_left(words: Sequence[str]) -> tuple[float, int]:
    """Return the seconds and stones of ``time_left``. Raises `GtpError`."""
    # A controller may send a negative number for a clock that has run out.
    return _seconds(words[0], below=0.0), whole(words[1], "stones")


def _seconds(word: str, *, below: float | None = None) -> float:
    """Return a number of seconds; `below` is what a negative one means, if it is allowed."""
    low = 0.0 if below is None else -_MAX_SECONDS
    seconds = number(word, "seconds", low=low, high=_MAX_SECONDS)
    return below if below is not None and seconds < 0 else seconds


@dataclass(frozen=True, slots=True)
class MoveTime:
    """The time of a move, in seconds.

    Attributes:
      seconds: what a move may take.
      longest: what a difficult one may take, where main time is left.
    """

    seconds: float
    longest: float


class SessionClock:
    """The clock of one player, as far as the controller has sent it.

    Attributes:
      settings: the time control.
      left: seconds of main time, or of the period where `stones` is not 0.
      stones: moves left in a Canadian period, periods left of byo-yomi; 0 in main time.
    """

    def __init__(self, settings: TimeSettings | None = None) -> None:
        self.settings = settings or TimeSettings()
        self.left = self.settings.main
        self.stones = 0
        self._enter_overtime()

    def set_left(self, seconds: float, stones: int) -> None:
        """Set the time left, as ``time_left`` gives it."""
        if self.settings.kind == "none":
            # The controller sent no settings: assume this much time for this many stones.
            self.settings = TimeSettings("canadian" if stones else "absolute", seconds, seconds)
            self.settings = replace(self.settings, stones=stones)
        # More than a period is main time: bridges send a Fischer clock as Canadian periods.
        self.left, self.stones = seconds, stones if seconds <= self.settings.period else 0

    def charge(self, seconds: float) -> None:
        """Subtract the seconds of a move, for controllers that never send ``time_left``."""
        settings = self.settings
        if settings.kind == "none":
            return
        self.left -= seconds
        if settings.kind in ("fischer", "fischer-capped"):
            self.left = min(max(self.left, 0.0) + settings.period, settings.main_cap)
        elif settings.stones and (self.stones or self.left < 0):
            if not self.stones:  # main time ended during the move, which counts in overtime
                self.left, self.stones = self.left + settings.period, settings.stones
            if settings.kind == "canadian":
                self.stones -= 1
                if self.stones == 0:
                    self.left, self.stones = settings.period, settings.stones
            else:
                # The period of the move is renewed; the periods before it are lost.
                lost = math.ceil(max(-self.left, 0.0) / settings.period)
                self.left, self.stones = settings.period, max(1, self.stones - lost)
        self._enter_overtime()
        self.left = max(self.left, 0.0)

    def move_time(self, moves_left: float) -> MoveTime | None:
        """Return the time of the next move, or None for no limit.

        Main time is spread over `moves_left` moves of this player.
        """
        settings = self.settings
        if settings.kind == "none":
            return None
        if self.stones:
            share = self.left / (self.stones if settings.kind == "canadian" else 1)
            seconds = self._within(share, self.left)
            return MoveTime(seconds, seconds)
        # In main time: a share of it, and what overtime or the increment gives back for each move.
        renewed = settings.period
        if settings.kind == "canadian":
            renewed = settings.period / max(settings.stones, 1)
        limit = self.left
        if settings.kind in ("canadian", "byoyomi"):
            limit += settings.period
        wise = self.left / max(moves_left, 1.0) + renewed
        cap = settings.move_cap
        return MoveTime(self._within(min(wise, cap), limit), self._within(cap, limit))

    def _within(self, wise: float, limit: float) -> float:
        # A tenth is spared for what the clock does not see, and the way to the controller and back.
        return max(min(_SHARE * wise, _SHARE * limit, limit - _LAG), 0.001)

    def _enter_overtime(self) -> None:
        """Begin the first period when main time is over."""
        settings = self.settings
        over = settings.kind in ("canadian", "byoyomi") and not self.stones and self.left <= 0
        if over and settings.stones:
            self.left, self.stones = max(self.left + settings.period, 0.0), settings.stones
