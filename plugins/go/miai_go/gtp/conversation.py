"""The log of one conversation with an engine: readable, time-stamped, bounded.

::

       0.000 * started gnugo (process 4711): /usr/games/gnugo --mode gtp --level 1
       0.004 > 1 protocol_version
       0.051 < =1 2
       0.052 ! a line of its standard error

Times are seconds since the log began; ``>`` was sent, ``<`` received, ``!`` came on standard
error and ``*`` is what happened to the engine.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final, Literal, TextIO, TypeAlias

Mark: TypeAlias = Literal[">", "<", "!", "*"]

MAX_BYTES: Final = 4 << 20
"""Most bytes of one log; what comes after is left out, and a last line says so."""

MAX_LINE: Final = 2000
"""Most characters of one line of a log."""

_NOTES: Final = 1 << 14


class Conversation:
    """Appends a conversation to a file, one line at a time, so that a kill loses nothing.

    Args:
      path: the file, appended to; None to log nothing.
      max_bytes: most bytes written, 16 KiB for notes (``*``) aside.

    Raises:
      OSError: the file cannot be opened or written.
    """

    def __init__(self, path: Path | None = None, *, max_bytes: int = MAX_BYTES) -> None:
        self._began = time.monotonic()
        self._left = max_bytes
        self._notes_left = _NOTES
        # Surrogates cannot be encoded; unbuffered text is not to be had, so each line is flushed.
        self._file: TextIO | None = (
            None if path is None else path.open("a", encoding="utf-8", errors="replace")
        )

    def sent(self, text: str) -> None:
        """Log a line that was sent."""
        self._write(">", text)

    def received(self, text: str) -> None:
        """Log a line of a response."""
        self._write("<", text)

    def complained(self, text: str) -> None:
        """Log a line of the engine's standard error."""
        self._write("!", text)

    def note(self, text: str) -> None:
        """Log what happened to the engine; kept also when the log is full."""
        self._write("*", text)

    def close(self) -> None:
        """Close the file. May be repeated; what is said later is not logged."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _write(self, mark: Mark, text: str) -> None:
        if self._file is None:
            return
        line = f"{time.monotonic() - self._began:8.3f} {mark} {_shown(text)}\n"
        size = len(line.encode("utf-8", "replace"))
        if mark == "*":
            self._notes_left -= size
            if self._notes_left < 0:
                return
        elif self._left <= 0:
            return
        else:
            self._left -= size
            if self._left <= 0:
                line = f"{line[:8]} * the log is full; the rest of this game is left out\n"
        self._file.write(line)
        self._file.flush()


def _shown(text: str) -> str:
    """Return a line fit for a terminal: control characters escaped, the end cut."""
    cut = text[:MAX_LINE]
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    left = len(text) - MAX_LINE
    return f"{cut} ... ({left} more characters)" if left > 0 else cut
