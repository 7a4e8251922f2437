"""How long to think: a share of the clock for each turn, most of it before the sense.

The share is a sixteenth of what is left, plus most of the increment, so that the clock never runs
out however long the game; within a turn 60 % go to the sense. After L. StrangeFish's rule
(https://github.com/ginoperrotta/reconchess-strangefish2), without its floor.
"""

from __future__ import annotations

import time

from miai import ClockReading

_SHARE = 1 / 16
_INCREMENT_SHARE = 0.8
_SENSE = 0.6
_LONGEST = 40.0


class Budget:
    """Deadlines of one game's turns, on the monotonic clock."""

    def sense_deadline(self, clock: ClockReading) -> float | None:
        """Return until when to think about the sense; None for as long as it takes."""
        turn = self._turn(clock)
        return None if turn is None else time.monotonic() + _SENSE * turn

    def move_deadline(self, clock: ClockReading) -> float | None:
        """Return until when to think about the move; None for as long as it takes."""
        turn = self._turn(clock)
        return None if turn is None else time.monotonic() + (1 - _SENSE) * turn

    def _turn(self, clock: ClockReading) -> float | None:
        """Return seconds for a whole turn."""
        control = clock.control
        if clock.limit is None:
            return None
        if control.kind == "per-move":
            return 2 * 0.8 * clock.limit  # sense and move have a limit each
        share = clock.limit * _SHARE + _INCREMENT_SHARE * control.increment
        return min(_LONGEST, share, 0.5 * clock.limit)
