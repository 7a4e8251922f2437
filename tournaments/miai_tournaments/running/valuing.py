"""Openings are valued before the first game: how far it is, and that it can be stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

from miai_tournaments.running.signals import Stopped

_SECONDS = 5.0
"""Between two lines about the openings."""


class Watch:
    """Is called before each valuation of an opening.

    Args:
      say: shows a line.
      stop_asked: returns why to end; None while there is no reason.
    """

    def __init__(self, say: Callable[[str], None], stop_asked: Callable[[], str | None]) -> None:
        self._say, self._stop_asked = say, stop_asked
        self._count = 0
        self._told = time.monotonic()

    def __call__(self) -> None:
        """Tell how many openings were valued, now and then. Raises `Stopped` when asked to."""
        if (reason := self._stop_asked()) is not None:
            raise Stopped(reason)
        if time.monotonic() - self._told >= _SECONDS:
            self._told = time.monotonic()
            self._say(f"{self._count} openings were valued ...")
        self._count += 1
