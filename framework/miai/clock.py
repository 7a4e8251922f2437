"""Time controls and the clock of one player.

All times are wall-clock seconds. A clock runs from the referee's question to the answer. The
margin, granted on every move, covers the communication.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from miai.errors import ConfigError, near_matches

_LONGEST = 1_000_000_000  # seconds or periods; arithmetic with more overflows

ControlKind = Literal["none", "per-move", "absolute", "fischer", "byo-yomi"]
IncrementPer = Literal["action", "turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeControl:
    """How much time a player has.

    Attributes:
      kind: ``none``; ``per-move``: `seconds` for each move; ``absolute``: `seconds` for the game;
        ``fischer``: `seconds`, and `increment` more, see `increment_per`; ``byo-yomi``: `seconds`,
        then `periods` periods of `period_seconds`, each renewed by a move within it (Japanese
        byo-yomi, as in GTP's kgs-time_settings).
      seconds: time per move, or main time of the game.
      increment: Fischer increment in seconds.
      increment_per: when the increment is added: after every ``action``, or after a ``turn``, the
        actions of one player in a row. A turn of Reconnaissance Blind Chess is a sense and a move.
      periods, period_seconds: number and length of byo-yomi periods.
      margin: seconds by which a move may exceed the clock before the flag falls.
      move_deadline: hard limit of every move in seconds, also without a clock; None for none. It
        keeps a hung agent from stopping a tournament.
      ponder: whether players in processes of their own may think while others do, off their clocks.

    Raises:
      ConfigError: the kind is unknown, or a value is missing, negative, not finite or unused by the
        kind.
    """

    kind: ControlKind = "none"
    seconds: float = 0.0
    increment: float = 0.0
    increment_per: IncrementPer = "action"
    periods: int = 0
    period_seconds: float = 0.0
    margin: float = 0.1
    move_deadline: float | None = None
    ponder: bool = False

    def __post_init__(self) -> None:
        if self.kind not in _FIELDS:
            raise ConfigError(
                f"time control: unknown kind '{self.kind}'. {near_matches(self.kind, _FIELDS)}"
            )
        self._check_numbers()
        for name in ("seconds", "increment", "periods", "period_seconds"):
            if getattr(self, name) and name not in _FIELDS[self.kind]:
                takes = " and ".join(_FIELDS[self.kind]) or "no time"
                raise ConfigError(
                    f"time control: kind '{self.kind}' has no {name}; it takes {takes}"
                )
        if self.increment_per not in get_args(IncrementPer):
            raise ConfigError(
                f"time control: increment_per is '{self.increment_per}'; give 'action' or 'turn'"
            )
        if self.increment_per != "action" and self.kind != "fischer":
            raise ConfigError(f"time control: kind '{self.kind}' has no increment_per")
        if self.kind in ("per-move", "absolute") and self.seconds == 0:
            raise ConfigError(f"time control: kind '{self.kind}' needs seconds")
        if self.kind == "fischer" and self.seconds == 0 and self.increment == 0:
            raise ConfigError("time control: kind 'fischer' needs seconds or an increment")
        if self.kind == "byo-yomi" and not (self.periods and self.period_seconds):
            raise ConfigError("time control: kind 'byo-yomi' needs periods and period_seconds")

    def _check_numbers(self) -> None:
        for name in ("seconds", "increment", "period_seconds", "margin"):
            value = getattr(self, name)
            if not 0 <= value <= _LONGEST:
                raise ConfigError(f"time control: {name} is {value}; give 0 to {_LONGEST} seconds")
        if not 0 <= self.periods <= _LONGEST:
            raise ConfigError(f"time control: periods must be from 0 to {_LONGEST}")
        deadline = self.move_deadline
        if deadline is not None and not (math.isfinite(deadline) and deadline > 0):
            raise ConfigError(
                f"time control: move_deadline is {deadline}; give more than 0 seconds, or none"
            )


_FIELDS: dict[str, tuple[str, ...]] = {
    "none": (),
    "per-move": ("seconds",),
    "absolute": ("seconds",),
    "fischer": ("seconds", "increment"),
    "byo-yomi": ("seconds", "periods", "period_seconds"),
}
assert set(_FIELDS) == set(get_args(ControlKind))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """What a player sees on its clock on its turn; plain data.

    Attributes:
      control: the time control.
      main: remaining main time in seconds (per-move: for this move); None without a clock.
      periods: remaining byo-yomi periods.
      limit: seconds until the flag falls, the margin excluded; None for never.
    """

    control: TimeControl
    main: float | None = None
    periods: int = 0
    limit: float | None = None

    def allotment(self, *, moves_left: float = 30) -> float | None:
        """Return a reasonable time for this move in seconds; None without a limit.

        It is the main time spread over `moves_left` moves plus nine tenths of the increment or
        period, but at most nine tenths of the time until the flag falls.
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
      main: remaining main time in seconds.
      periods: remaining byo-yomi periods.
      spent: wall time used so far in seconds.
    """

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.main = control.seconds
        self.periods = control.periods
        self.spent = 0.0

    def limit(self) -> float | None:
        """Return the seconds until the flag falls, the margin excluded; None for never."""
        control = self.control
        if control.kind == "none":
            return control.move_deadline
        remaining = self.main
        if control.kind == "byo-yomi":
            remaining += self.periods * control.period_seconds
        deadline = control.move_deadline
        return remaining if deadline is None else min(remaining, deadline)

    def deadline(self) -> float | None:
        """Return the seconds until the player is stopped: the limit plus the margin."""
        limit = self.limit()
        return None if limit is None else limit + self.control.margin

    def reading(self) -> ClockReading:
        """Return what the player sees."""
        timed = self.control.kind != "none"
        return ClockReading(
            control=self.control,
            main=self.main if timed else None,
            periods=self.periods,
            limit=self.limit(),
        )

    def charge(self, seconds: float) -> bool:
        """Charge a move of `seconds` wall time; return False if the flag has fallen.

        The flag falls if the move took longer than `deadline`; the remaining time is then
        undefined. A move within the margin leaves no main time.
        """
        deadline = self.deadline()
        self.spent += seconds
        if deadline is not None and seconds > deadline:
            return False
        control = self.control
        if control.kind == "absolute":
            self.main = max(0.0, self.main - seconds)
        elif control.kind == "fischer":
            self.main = max(0.0, self.main - seconds)
            if control.increment_per == "action":
                self.main += control.increment
        elif control.kind == "byo-yomi":
            self._charge_byo_yomi(seconds)
        return True

    def end_turn(self) -> None:
        """Add an increment per turn: the next action is not this player's."""
        if self.control.increment_per == "turn":
            self.main += self.control.increment

    def _charge_byo_yomi(self, seconds: float) -> None:
        over = seconds - self.main
        self.main = max(0.0, -over)
        if over > 0:
            # The period of the move is renewed, and those before it are lost. A move at the very
            # end of a period belongs to it, as a move at the very end of the last period is in
            # time. A move within the margin after the last period does not lose it.
            periods = math.ceil(over / self.control.period_seconds) - 1
            self.periods = max(1, self.periods - periods)
