"""Ctrl-C and SIGTERM: the first lets running games finish, the second abandons them."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self


class Stopped(BaseException):
    """The run ends now, without waiting for anything. Not an error, and not to be caught as one."""


class StopSignals:
    """Catches the signals that end a run; a context manager for the main thread.

    After the first SIGINT or SIGTERM `asked` gives the reason and the runner finishes its games;
    after a second one, or when `grace` seconds have passed, `Stopped` is raised wherever the
    program is. Outside the main thread, where Python delivers no signals, it does nothing.
    """

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._reason: str | None = None
        self._done = False
        self._before: dict[signal.Signals, Any] = {}

    def asked(self) -> str | None:
        """Return why the run is to end; None while it is not."""
        return self._reason

    def finish(self) -> None:
        """Let nothing be raised any more; a signal from now on is ignored."""
        self._done = True
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        self.finish()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._done:
            return
        first = self._reason is None
        if number != signal.SIGALRM:
            self._reason = f"stopped by {signal.Signals(number).name}"
        # The alarm arrives as another signal, so games that outlast the grace period end like a
        # second Ctrl-C.
        if first and self._grace > 0:
            signal.setitimer(signal.ITIMER_REAL, self._grace)
        else:
            self._done = True  # what the exception winds up is not to be interrupted again
            raise Stopped(self._reason)
