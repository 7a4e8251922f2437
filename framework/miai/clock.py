"""Time controls and the clock of one player.

All times are wall-clock seconds. A clock is charged from the moment the referee asks until the
answer is there; the margin covers the way between the two and is given on every move.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from miai.errors import ConfigError, near_matches

ControlKind = Literal["none", "per-move", "absolute", "fischer", "byo-yomi"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeControl:
    """How much time a player has.

    Attributes:
      kind: ``none``; ``per-move``: `seconds` for each move; ``absolute``: `seconds` for the
        game; ``fischer``: `seconds` and `increment` more after every move; ``byo-yomi``:
        `seconds`, then `periods` periods of `period_seconds`, each renewed by a move made in it
        (Japanese byo-yomi, as in GTP's kgs-time_settings).
      seconds: per move, or main time of the game.
      increment: Fischer increment.
      periods, period_seconds: byo-yomi.
      margin: seconds that a move may exceed the clock before the flag falls.
      move_deadline: hard limit of any one move, also without a clock; None for none. It keeps a
        hung agent from stopping a tournament.

    Raises:
      ConfigError: the kind is unknown, or a value is missing, negative, not finite or of no
        meaning to the kind.
    """

    kind: ControlKind = "none"
    seconds: float = 0.0
    increment: float = 0.0
    periods: int = 0
    period_seconds: float = 0.0
    margin: float = 0.1
    move_deadline: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in _USED:
            raise ConfigError(
                f"time control: no kind is called '{self.kind}'. {near_matches(self.kind, _USED)}"
            )
        self._check_numbers()
        for name in ("seconds", "increment", "periods", "period_seconds"):
            if getattr(self, name) and name not in _USED[self.kind]:
                takes = " and ".join(_USED[self.kind]) or "no time at all"
                raise ConfigError(
                    f"time control: kind '{self.kind}' has no {name}; it takes {takes}"
                )
        if self.kind in ("per-move", "absolute") and self.seconds == 0:
            raise ConfigError(f"time control: kind '{self.kind}' needs seconds")
        if self.kind == "fischer" and self.seconds == 0 and self.increment == 0:
            raise ConfigError("time control: kind 'fischer' needs seconds or an increment")
        if self.kind == "byo-yomi" and not (self.periods and self.period_seconds):
            raise ConfigError("time control: kind 'byo-yomi' needs periods and period_seconds")

    def _check_numbers(self) -> None:
        for name in ("seconds", "increment", "period_seconds", "margin"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(f"time control: {name} is {value}; give seconds of 0 or more")
        if self.periods < 0:
            raise ConfigError(f"time control: periods is {self.periods}; give 0 or more")
        deadline = self.move_deadline
        if deadline is not None and not (math.isfinite(deadline) and deadline > 0):
            raise ConfigError(
                f"time control: move_deadline is {deadline}; give more than 0 seconds, or none"
            )


_USED: dict[str, tuple[str, ...]] = {
    "none": (),
    "per-move": ("seconds",),
    "absolute": ("seconds",),
    "fischer": ("seconds", "increment"),
    "byo-yomi": ("seconds", "periods", "period_seconds"),
}
assert set(_USED) == set(get_args(ControlKind))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """What a player sees on its clock when it is asked to act; plain data.

    Attributes:
      control: the time control.
      main: seconds of main time left (per-move: of this move); None without a clock.
      periods: byo-yomi periods left.
      limit: seconds until the flag falls if no move is made, the margin excluded; None for never.
    """

    control: TimeControl
    main: float | None = None
    periods: int = 0
    limit: float | None = None

    def allotment(self, *, moves_left: int = 30) -> float | None:
        """Return seconds that are wise to spend on this move; None without a limit.

        Main time is spread over `moves_left` moves, the increment or the period used up to nine
        tenths; never more than nine tenths of what is left before the flag.
        """
        if self.limit is None:
            return None
        control, main = self.control, self.main or 0.0
        if control.kind in ("none", "per-move"):
            return 0.9 * self.limit
        renewed = control.increment if control.kind == "fischer" else 0.0
        if control.kind == "byo-yomi" and self.periods:
            renewed = control.period_seconds
        return min(0.9 * self.limit, main / moves_left + 0.9 * renewed)


class Clock:
    """The clock of one player in one game.

    Attributes:
      control: the time control.
      main: main time left, seconds.
      periods: byo-yomi periods left.
      spent: wall time used so far, seconds.
    """

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.main = control.seconds
        self.periods = control.periods
        self.spent = 0.0

    def limit(self) -> float | None:
        """Return seconds until the flag falls if no move is made; None for never."""
        control = self.control
        if control.kind == "none":
            return control.move_deadline
        left = self.main
        if control.kind == "byo-yomi":
            left += self.periods * control.period_seconds
        return left if control.move_deadline is None else min(left, control.move_deadline)

    def deadline(self) -> float | None:
        """Return seconds after which the player is stopped: the limit plus the margin."""
        limit = self.limit()
        return None if limit is None else limit + self.control.margin

    def reading(self) -> ClockReading:
        """Return what the player is shown."""
        timed = self.control.kind != "none"
        return ClockReading(
            control=self.control,
            main=self.main if timed else None,
            periods=self.periods,
            limit=self.limit(),
        )

    def charge(self, seconds: float) -> bool:
        """Charge one move of `seconds` wall time; return False when the flag has fallen.

        The flag falls when the move took more than `deadline`; the time left is then of no
        meaning any more. A move that the margin alone saved leaves no main time.
        """
        deadline = self.deadline()
        self.spent += seconds
        if deadline is not None and seconds > deadline:
            return False
        control = self.control
        if control.kind == "absolute":
            self.main = max(0.0, self.main - seconds)
        elif control.kind == "fischer":
            self.main = max(0.0, self.main - seconds) + control.increment
        elif control.kind == "byo-yomi":
            self._charge_byo_yomi(seconds)
        return True

    def _charge_byo_yomi(self, seconds: float) -> None:
        over = seconds - self.main
        self.main = max(0.0, -over)
        if over > 0:
            # The period in which the move is made is renewed; only those before it are lost. A
            # move made at the very end of a period is made in it, as one at the very end of the
            # last one is in time. The margin may carry a move past the last period, which stays.
            lost = math.ceil(over / self.control.period_seconds) - 1
            self.periods = max(1, self.periods - lost)
