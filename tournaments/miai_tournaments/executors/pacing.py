"""How many jobs are sent to a worker ahead of time: more the shorter they are."""

from __future__ import annotations

AHEAD_SECONDS = 0.1
"""Work that is sent to a worker ahead of time, so that short games do not wait for the runner."""

MAX_AHEAD = 16
"""Most jobs that a worker has at once."""

_WEIGHT = 0.2


class Pace:
    """The mean duration of jobs, the latest weighing most."""

    def __init__(self) -> None:
        self._mean: float | None = None

    def add(self, seconds: float) -> None:
        """Count a job."""
        mean = seconds if self._mean is None else self._mean
        self._mean = mean + _WEIGHT * (seconds - mean)

    @property
    def depth(self) -> int:
        """Jobs that a worker is to have, the one it is at included."""
        if self._mean is None:
            return 1
        return min(MAX_AHEAD, 1 + int(AHEAD_SECONDS / max(self._mean, 1e-6)))
