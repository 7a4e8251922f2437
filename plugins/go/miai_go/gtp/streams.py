"""The pipes of an engine: written and read together, bounded, with its death in view."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NoReturn

from miai.errors import (
    AgentCrashedError,
    AgentFloodError,
    AgentProtocolError,
    AgentTimeoutError,
)
from miai_go.gtp.engine import EngineProcess
from miai_go.gtp.response import MAX_LINE_BYTES, clean

_CHUNK: Final = 1 << 16
_POLL: Final = 0.05  # seconds between looks at a process whose output may be held by another
_GRACE: Final = 1.0  # seconds that an engine which has closed its output is given to die of it
_LAST_LINES: Final = 5
_LAST_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLimits:
    """How much an engine may write in one game.

    Attributes:
      output_bytes: to standard output, all its responses.
      error_bytes: to standard error.
    """

    output_bytes: int = 16 << 20
    error_bytes: int = 16 << 20


class Streams:
    """Writes to an engine and reads all that it writes, whichever is possible.

    An engine that fills its standard error while it is spoken to, or stops reading, blocks
    nobody: every wait is on its input, both its outputs and its death at once.

    Args:
      engine: the process.
      limits: how much it may write.
      on_output: called with bytes of its standard output.
      on_complaint: called with lines of its standard error.
    """

    def __init__(
        self,
        engine: EngineProcess,
        limits: OutputLimits,
        *,
        on_output: Callable[[bytes], None],
        on_complaint: Callable[[str], None],
    ) -> None:
        self._engine, self._limits = engine, limits
        self._on_output, self._on_complaint = on_output, on_complaint
        self._waiting = memoryview(b"")
        self._tail: deque[str] = deque(maxlen=_LAST_LINES)
        self._partial = b""
        self._output_bytes = self._error_bytes = 0
        self._ended = False  # whether its standard output has ended
        self._selector = selectors.DefaultSelector()
        self._selector.register(engine.answers, selectors.EVENT_READ)
        self._selector.register(engine.complaints, selectors.EVENT_READ)

    def new_game(self) -> None:
        """Count from zero."""
        self._output_bytes = self._error_bytes = 0

    def send(self, data: bytes) -> None:
        """Write data, as far as the engine takes it now; `wait` writes the rest."""
        self._waiting = memoryview(data)
        self._write()

    def wait(self, until: float) -> None:
        """Wait for something to come, and take it in.

        Args:
          until: monotonic time.

        Raises:
          AgentTimeoutError: the time is over; without a message.
          AgentCrashedError: the engine died.
          AgentProtocolError: it closed its output.
          AgentFloodError: it wrote more than the limits allow.
        """
        left = until - time.monotonic()
        if left <= 0:
            raise AgentTimeoutError
        with self._writing():
            came = self._take_in(0.0 if self._ended else min(left, _POLL))
        # A child of a dead engine may still hold the pipe, so that it does not end.
        if not came and (self._ended or self._engine.is_dead()) and not self.drain():
            self._gone()

    def drain(self) -> bool:
        """Take in what is there already; return whether anything was. Raises as `wait`."""
        came = False
        while self._take_in(0.0):
            came = True
        return came

    def close(self) -> None:
        """Watch no more. The pipes are the engine's to close."""
        self._selector.close()

    # -- writing ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Watch the engine's input too, while something waits to be written."""
        if not self._waiting:
            yield
            return
        self._selector.register(self._engine.requests, selectors.EVENT_WRITE)
        try:
            yield
        finally:
            self._selector.unregister(self._engine.requests)

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                self._waiting = self._waiting[os.write(self._engine.requests, self._waiting) :]
            except BrokenPipeError:  # it reads no more; what it still says, or its death, follows
                self._waiting = memoryview(b"")

    # -- reading ------------------------------------------------------------------------------

    def _take_in(self, seconds: float) -> bool:
        """Read and write what is possible within `seconds`; return whether anything came."""
        came = False
        for key, _ in self._selector.select(seconds):
            if key.fd == self._engine.requests:
                self._write()
            elif key.fd == self._engine.complaints:
                came |= self._take_complaints()
            else:
                came |= self._take_output()
        return came

    def _take_output(self) -> bool:
        data = os.read(self._engine.answers, _CHUNK)
        if not data:  # what was read before may hold the answer, so this is no error yet
            self._ended = True
            self._selector.unregister(self._engine.answers)
            return False
        self._output_bytes += len(data)
        if self._output_bytes > self._limits.output_bytes:
            raise AgentFloodError(
                f"wrote more than {self._limits.output_bytes} bytes of output in one game"
            )
        self._on_output(data)
        return True

    def _take_complaints(self) -> bool:
        data = os.read(self._engine.complaints, _CHUNK)
        if not data:
            self._selector.unregister(self._engine.complaints)
        self._error_bytes += len(data)
        *lines, self._partial = (self._partial + data).split(b"\n")
        if self._partial and (not data or len(self._partial) > MAX_LINE_BYTES):
            lines.append(self._partial)
            self._partial = b""
        for line in map(clean, lines):
            if line.strip():
                self._tail.append(line.strip())
                self._on_complaint(line)
        if self._error_bytes > self._limits.error_bytes:
            raise AgentFloodError(
                f"wrote more than {self._limits.error_bytes} bytes to standard error in one game"
            )
        return bool(data)

    # -- its death ----------------------------------------------------------------------------

    def _gone(self) -> NoReturn:
        """Raise what the end of its output, or its death, means."""
        if not self._engine.await_death(_GRACE):
            raise AgentProtocolError("closed its output and went on running")
        with contextlib.suppress(AgentFloodError):
            self.drain()
        raise AgentCrashedError(f"{self._engine.exit_status()}{self._last_words()}")

    def _last_words(self) -> str:
        """Return the last lines of standard error as part of a message; empty without any."""
        words = " / ".join(self._tail)[-_LAST_CHARACTERS:]
        return f"; its last words on standard error: {words}" if words else ""
