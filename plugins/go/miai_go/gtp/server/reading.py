"""Lines of a controller, read by a thread, so that an analysis sees when the next one is there."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Final

from miai_go.gtp.server.wire import MAX_LINE_BYTES

_CHUNK: Final = 1 << 16
MAX_WAITING: Final = 256
"""Most lines that wait; the controller's pipe fills up then, which makes it wait too."""


class TooLong:
    """Stands for a line of more than `MAX_LINE_BYTES`, which was thrown away."""


class LineReader:
    """Reads lines from a descriptor until its end.

    Args:
      descriptor: read by the reader's own thread from now on, which ends with the process.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes | TooLong] = deque()
        self._over = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, name="gtp-input", daemon=True).start()

    def next(self) -> bytes | TooLong | None:
        """Wait for the next line and return it without its newline; None at the end of input."""
        with self._changed:
            # A wait without a limit could not be interrupted by Ctrl-C on every system.
            while not self._lines and not self._over:
                self._changed.wait(1.0)
            line = self._lines.popleft() if self._lines else None
            self._changed.notify_all()
            return line

    def pending(self, seconds: float) -> bool:
        """Wait up to so many seconds; return whether a line, or the end of input, is there."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._lines) or self._over, max(seconds, 0.0))
            return bool(self._lines) or self._over

    def _read(self) -> None:
        divider = LineDivider()
        try:
            while data := os.read(self._descriptor, _CHUNK):
                for line in divider.feed(data):
                    self._put(line)
        except OSError:
            pass  # the input was taken away: that is its end
        last = divider.rest()
        if last is not None:
            self._put(last)
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _put(self, line: bytes | TooLong) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._lines) < MAX_WAITING)
            self._lines.append(line)
            self._changed.notify_all()


class LineDivider:
    """Divides bytes into lines, however they come, and keeps none that is too long."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._too_long = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that end in `data`."""
        lines: list[bytes | TooLong] = []
        *ended, begun = data.split(b"\n")
        for part in ended:
            self._extend(part)
            lines.append(TooLong() if self._too_long else bytes(self._begun))
            self._begun.clear()
            self._too_long = False
        self._extend(begun)
        return lines

    def rest(self) -> bytes | TooLong | None:
        """Return the last line where no newline ended it; None without one."""
        if self._too_long:
            return TooLong()
        return bytes(self._begun) if self._begun else None

    def _extend(self, part: bytes) -> None:
        if len(self._begun) + len(part) > MAX_LINE_BYTES:
            self._too_long = True
            self._begun.clear()
        elif not self._too_long:
            self._begun += part
