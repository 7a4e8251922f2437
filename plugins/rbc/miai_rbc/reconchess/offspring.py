"""The processes that a bot starts, such as its engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil


class Offspring:
    """Processes that were started while `noting`.

    They are looked for only there, since looking takes milliseconds: bots start their engines when
    they are made and when a game begins.
    """

    def __init__(self) -> None:
        self._processes: set[psutil.Process] = set()

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Take note of what is started within."""
        before = _descendants()
        try:
            yield
        finally:
            self._processes |= _descendants() - before

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far by those that are still there."""
        total = 0.0
        for process in self._processes:
            with suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def kill(self) -> None:
        """End those that are still there."""
        for process in self._processes:
            with suppress(psutil.Error):  # a process that took over a pid is not the same one
                process.kill()
        self._processes.clear()


def _descendants() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))
