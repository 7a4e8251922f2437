"""How long to think: a share of the clock for each turn, most of it before the sense.

The share is a sixteenth of what is left, plus most of the increment, so that the clock never runs
out however long the game; within a turn 60 % go to the sense. The belief has a quarter of a turn:
on a short clock it is kept smaller. After G. Perrotta's rule
(https://github.com/ginoperrotta/reconchess-strangefish2), without its floor.
"""

from __future__ import annotations

import time

from miai import ClockReading, TimeControl

_SHARE = 1 / 16
_INCREMENT_SHARE = 0.8
_SENSE = 0.6
_PER_MOVE = 0.8
_LONGEST = 40.0
_BELIEF = 0.25  # of a turn, for the belief
_BOARDS_A_SECOND = 1_000_000.0  # that an expansion makes of many repetitions on a slow machine
_FEWEST = 512


class Budget:
    """Deadlines of one game's turns, on the monotonic clock."""

    def sense_deadline(self, clock: ClockReading) -> float | None:
        """Return until when to think about the sense; None for as long as it takes."""
        return _deadline(clock, _SENSE)

    def move_deadline(self, clock: ClockReading) -> float | None:
        """Return until when to think about the move; None for as long as it takes."""
        return _deadline(clock, 1 - _SENSE)

    def boards(self, clock: ClockReading, limit: int) -> int:
        """Return how many boards a belief may be, so that expanding it takes a share of a turn."""
        if clock.limit is None:
            return limit
        seconds = _BELIEF * _seconds(clock.limit, clock.control, 1.0)
        return min(limit, max(_FEWEST, int(_BOARDS_A_SECOND * seconds)))

    def patience(self, clock: ClockReading) -> float | None:
        """Return the seconds to look for boards in a stash; None for as long as it takes."""
        if clock.limit is None:
            return None
        return _BELIEF * _seconds(clock.limit, clock.control, 1.0)


def _deadline(clock: ClockReading, share: float) -> float | None:
    """Return until when to think about a share of a turn."""
    if clock.limit is None:
        return None
    return time.monotonic() + _seconds(clock.limit, clock.control, share)


def _seconds(limit: float, control: TimeControl, share: float) -> float:
    if control.kind == "per-move":  # sense and move have a limit each
        return _PER_MOVE * limit
    turn = limit * _SHARE + _INCREMENT_SHARE * control.increment
    return share * min(_LONGEST, turn, 0.5 * limit)
