"""A client of one engine: it sends commands, waits for responses and logs the conversation."""

from __future__ import annotations

import contextlib
import math
import os
import re
import selectors
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NoReturn, TextIO

from miai.errors import (
    AgentCrashedError,
    AgentError,
    AgentFloodError,
    AgentProtocolError,
    AgentTimeoutError,
)
from miai.process.programs import ProgramProcess, find_program
from miai_go.gtp.wire import MAX_LINE_BYTES, clean, one_line

ADVICE: Final[Mapping[str, str]] = {
    "gnugo": "GNU Go: `apt install gnugo` on Debian and Ubuntu, `brew install gnu-go` on macOS",
    "leelaz": "Leela Zero: `apt install leela-zero` on Debian and Ubuntu; its network has to be "
    "fetched separately and named with --weights",
    "katago": "KataGo: download a release or build it; it needs a network (-model) and a "
    "configuration (-config)",
    "pachi": "Pachi: build it from its sources; the Debian package called pachi is a platform "
    "game, not the Go engine",
    "fuego": "Fuego: build it from its sources",
    "michi-c2": "michi-c2: build it from its sources",
}
"""How to install well-known engines, by the name of the program."""


def find_engine(program: str) -> Path:
    """Return the path of an engine's program. Raises as `miai.process.programs.find_program`."""
    return find_program(program, advice=ADVICE)


# The log of a conversation.

MAX_LOG_BYTES: Final = 4 << 20
MAX_LOG_LINE: Final = 2000
"""Maximum characters of one line of a log."""

_NOTE_BYTES: Final = 1 << 14


class EngineLog:
    """The log of a conversation with an engine: readable, time-stamped, bounded.

    ::

           0.000 * started gnugo (process 4711): /usr/games/gnugo --mode gtp --level 1
           0.004 > 1 protocol_version
           0.051 < =1 2
           0.052 ! a line of its standard error

    Times are seconds since the log began; ``>`` was sent, ``<`` received, ``!`` came on standard
    error and ``*`` is an event of the process. Each line is flushed, so that a kill loses nothing.

    Args:
      path: the file, appended to; None to log nothing.
      max_bytes: maximum size, beyond which only notes (``*``) are written, 16 KiB of them.

    Raises:
      OSError: the file cannot be opened or written.
    """

    def __init__(self, path: Path | None = None, *, max_bytes: int = MAX_LOG_BYTES) -> None:
        self._began = time.monotonic()
        self._left = max_bytes
        self._notes_left = _NOTE_BYTES
        self._file: TextIO | None = (
            None if path is None else path.open("a", encoding="utf-8", errors="replace")
        )

    def note(self, text: str) -> None:
        """Log an event of the process, even if the log is full."""
        self.log("*", text)

    def close(self) -> None:
        """Close the file and log nothing more. May be repeated."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def log(self, mark: Literal[">", "<", "!", "*"], text: str) -> None:
        """Log a line with its mark."""
        if self._file is None:
            return
        line = f"{time.monotonic() - self._began:8.3f} {mark} {_printable(text)}\n"
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


def _printable(text: str) -> str:
    """Return a line fit for a terminal: control characters escaped, long lines cut."""
    cut = text[:MAX_LOG_LINE]
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    rest = len(text) - MAX_LOG_LINE
    return f"{cut} ... ({rest} more characters)" if rest > 0 else cut


# Responses.

MAX_RESPONSE_BYTES: Final = 1 << 20

_HEAD: Final = re.compile(r"([=?])(?:(\d{1,10})(?= |$))? *(.*)", re.DOTALL)
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Response:
    """An engine's response to a command: success or not, the number that it repeats, its text."""

    ok: bool
    id: int | None
    text: str


class ResponseReader:
    """Divides an engine's output into responses.

    A response begins with ``=`` or ``?`` and ends with an empty line. Empty lines and comments
    before a response are skipped; any other line is an error. `on_line` is called with every line
    that is not empty, after `clean`.
    """

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._buffer = bytearray()
        self._scanned = 0  # bytes of the buffer without an end of line
        self._head: re.Match[str] | None = None
        self._lines: list[str] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Append output."""
        self._buffer += data

    def next(self) -> Response | None:
        """Return the next complete response, or None.

        Raises `AgentProtocolError` for a line outside a response, `AgentFloodError` beyond limits.
        """
        while (line := self._next_line()) is not None:
            response = self._take(line)
            if response is not None:
                return response
        return None

    def is_idle(self) -> bool:
        """Return whether no response and no line has begun."""
        return self._head is None and not bytes(self._buffer).strip()

    def _next_line(self) -> str | None:
        # What was searched before is not searched again, or a long line in small pieces would take
        # time that grows with its square.
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(self._buffer)
        if (self._scanned if end < 0 else end) > MAX_LINE_BYTES:
            raise AgentFloodError(f"a line of more than {MAX_LINE_BYTES} bytes")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._scanned = 0
        return clean(line)

    def _take(self, line: str) -> Response | None:
        if line.strip():
            self._on_line(line)
        if self._head is not None:
            return self._continue(line)
        if line.strip() and not line.startswith("#"):
            self._head = _HEAD.fullmatch(line)
            if self._head is None:
                raise AgentProtocolError(
                    f"a response begins with '=' or '?', not {line[:_SHOWN]!r}"
                )
            self._lines, self._size = [self._head[3]], len(line)
        return None

    def _continue(self, line: str) -> Response | None:
        assert self._head is not None
        if line:
            self._lines.append(line)
            self._size += len(line)
            if self._size > MAX_RESPONSE_BYTES:
                raise AgentFloodError(f"a response of more than {MAX_RESPONSE_BYTES} bytes")
            return None
        sign, number, _ = self._head.groups()
        self._head = None
        text = "\n".join(self._lines).strip(" ")
        return Response(sign == "=", int(number) if number else None, text)


# The pipes of the engine.

_CHUNK: Final = 1 << 16
_POLL: Final = 0.05  # seconds between looks at a process whose output may be held by another
_GRACE: Final = 1.0  # seconds that an engine which has closed its output is given to die of it
_LAST_LINES: Final = 5
_LAST_CHARACTERS: Final = 500


MAX_OUTPUT_BYTES: Final = 16 << 20
"""How much an engine may write in one game, to standard output and to standard error each."""


class Streams:
    """Writes to an engine and reads its output, as each becomes possible.

    An engine that fills its standard error while it is spoken to, or stops reading, blocks
    nobody: every wait is on its input, both its outputs and its death at once.

    Args:
      limit: bytes that it may write in one game, to each of its outputs.
      on_output: called with bytes of its standard output.
      on_complaint: called with lines of its standard error.
    """

    def __init__(
        self,
        engine: ProgramProcess,
        limit: int,
        *,
        on_output: Callable[[bytes], None],
        on_complaint: Callable[[str], None],
    ) -> None:
        self._engine, self._limit = engine, limit
        self._on_output, self._on_complaint = on_output, on_complaint
        self._waiting = memoryview(b"")
        self._tail: deque[str] = deque(maxlen=_LAST_LINES)
        self._partial = b""
        self._output_bytes = self._error_bytes = 0
        self._ended = False  # whether its standard output has ended
        self._deaf_after = math.inf  # when an engine that has closed its input has said its last
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
        """Wait for something to come, at most `until` (monotonic), and take it in.

        Raises:
          AgentTimeoutError: the time is over; without a message.
          AgentCrashedError: the engine died.
          AgentProtocolError: it closed its output or its input.
          AgentFloodError: it wrote more than the limits allow.
        """
        remaining = until - time.monotonic()
        if remaining <= 0:
            raise AgentTimeoutError
        with self._writing():
            activity = self._take_in(0.0 if self._ended else min(remaining, _POLL))
        # A child of a dead engine may still hold the pipe, so that it does not end.
        if not activity and (self._ended or self._engine.is_dead()) and not self.drain():
            self._gone("output")
        if not activity and time.monotonic() > self._deaf_after:
            self._gone("input")

    def drain(self) -> bool:
        """Take in what is there already; return whether anything was. Raises as `wait`."""
        activity = False
        while self._take_in(0.0):
            activity = True
        return activity

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
                self._deaf_after = time.monotonic() + _GRACE

    # -- reading ------------------------------------------------------------------------------

    def _take_in(self, seconds: float) -> bool:
        """Read and write what is possible within `seconds`; return whether anything came."""
        activity = False
        for key, _ in self._selector.select(seconds):
            if key.fd == self._engine.requests:
                self._write()
            elif key.fd == self._engine.complaints:
                activity |= self._take_complaints()
            else:
                activity |= self._take_output()
        return activity

    def _take_output(self) -> bool:
        data = os.read(self._engine.answers, _CHUNK)
        if not data:  # not an error yet: the answer may be in the text read before
            self._ended = True
            self._selector.unregister(self._engine.answers)
            return False
        self._output_bytes += len(data)
        if self._output_bytes > self._limit:
            raise AgentFloodError(f"wrote more than {self._limit} bytes of output in one game")
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
        if self._error_bytes > self._limit:
            raise AgentFloodError(
                f"wrote more than {self._limit} bytes to standard error in one game"
            )
        return bool(data)

    # -- its death ----------------------------------------------------------------------------

    def _gone(self, closed: str) -> NoReturn:
        """Raise what the end of its input or output, or its death, means."""
        if not self._engine.await_death(_GRACE):
            raise AgentProtocolError(f"closed its {closed} and went on running")
        with contextlib.suppress(AgentFloodError):
            self.drain()
        words = " / ".join(self._tail)[-_LAST_CHARACTERS:]
        ending = f"; its last words on standard error: {words}" if words else ""
        raise AgentCrashedError(f"{self._engine.exit_status()}{ending}")


# Commands.

_QUIT_SECONDS: Final = 0.7  # to answer `quit`
_PATIENCE: Final = 0.5  # from there to SIGTERM
_MERCY: Final = 0.3  # from SIGTERM to SIGKILL
_EXCERPT: Final = 100


class GtpClient:
    """Speaks GTP version 2 to an engine, one command at a time.

    After any `AgentError` except a refused command, the engine and its descendants have been
    killed. Commands carry identity numbers, which detect stale responses, unless the engine's first
    response does not repeat its number.

    Attributes:
      who: the engine in messages: ``engine 'gnugo'``.
      commands: the answer to ``list_commands``; empty before `handshake`.
      name, version: as the engine reports them; empty before `handshake`.
    """

    def __init__(
        self,
        engine: ProgramProcess,
        conversation: EngineLog,
        *,
        who: str,
        limit: int = MAX_OUTPUT_BYTES,
    ) -> None:
        self.who = who
        self.commands: frozenset[str] = frozenset()
        self.name = self.version = ""
        self._engine, self._conversation = engine, conversation
        self._reader = ResponseReader(lambda line: self._conversation.log("<", line))
        self._streams = Streams(
            engine,
            limit,
            on_output=self._reader.feed,
            on_complaint=lambda line: self._conversation.log("!", line),
        )
        self._numbered = True
        self._count = 0
        self._open = True

    # -- commands -----------------------------------------------------------------------------

    def handshake(self, *, seconds: float) -> None:
        """Ask for the engine's name, version and commands, within `seconds` that include its start.

        Raises `AgentProtocolError` if it does not speak version 2, otherwise as `command`.
        """
        until = time.monotonic() + seconds
        protocol = self.command("protocol_version", seconds=seconds)
        if protocol.id is None:
            self._numbered = False
            if not protocol.ok:  # it read the number as the command
                protocol = self.command("protocol_version", seconds=until - time.monotonic())
        if protocol.ok and protocol.text != "2":
            self._fail(AgentProtocolError(f"speaks version {protocol.text[:20]!r} of GTP, not 2"))
        self.name = self._describe("name", until)
        self.version = self._describe("version", until)
        commands = self.command("list_commands", seconds=until - time.monotonic())
        self.commands = frozenset(commands.text.split() if commands.ok else ())

    def knows(self, command: str) -> bool:
        """Return whether the engine listed a command."""
        return command in self.commands

    def ask(self, command: str, *, seconds: float) -> str:
        """Send a command and return its result.

        Raises:
          AgentProtocolError: the engine refused it; it still runs.
          AgentError: as `command`.
        """
        response = self.command(command, seconds=seconds)
        if not response.ok:
            raise AgentProtocolError(f"{self.who} refused '{command}': {excerpt(response.text)}")
        return response.text

    def command(self, command: str, *, seconds: float) -> Response:
        """Send a command and return its response, a success or a failure.

        Args:
          command: one line, without an identity number.
          seconds: wall time for the response; the engine is killed after it.

        Raises:
          AgentTimeoutError: no response in time.
          AgentCrashedError: it died, now or earlier.
          AgentProtocolError: it wrote something other than a response to this command.
          AgentFloodError: it wrote more than the limits allow.
        """
        if not self._open:
            raise AgentCrashedError(f"{self.who} is not running; it died or was killed before")
        try:
            return self._converse(command, time.monotonic() + seconds)
        except AgentTimeoutError:
            limit = f"{max(seconds, 0.0):.3g} s"
            self._fail(AgentTimeoutError(f"gave no answer to '{command}' within {limit}"))
        except AgentError as error:
            self._fail(type(error)(f"{error} (asked '{command}')"))
        except BaseException:  # interrupted: the next response would be a stale one
            self.kill("interrupted")
            raise

    def _describe(self, question: str, until: float) -> str:
        response = self.command(question, seconds=until - time.monotonic())
        return excerpt(response.text) if response.ok else ""

    def _converse(self, command: str, until: float) -> Response:
        self._streams.drain()
        # Output that was there before the command cannot be its answer.
        if self._reader.next() is not None or not self._reader.is_idle():
            raise AgentProtocolError("wrote a response that nobody asked for")
        self._count += 1
        line = f"{self._count} {command}" if self._numbered else command
        self._conversation.log(">", line)
        self._streams.send(f"{line}\n".encode())
        while (response := self._reader.next()) is None:
            self._streams.wait(until)
        if response.id not in (self._count, None):
            raise AgentProtocolError(f"answered command {response.id} instead of {self._count}")
        return response

    # -- games and the end --------------------------------------------------------------------

    def new_game(self, conversation: EngineLog) -> None:
        """Reset the limits on output, and log to another conversation."""
        self._conversation = conversation
        self._streams.new_game()

    def is_alive(self) -> bool:
        """Return whether the engine is running."""
        return self._open and not self._engine.is_dead()

    def cpu_seconds(self) -> float:
        """Return CPU seconds used by the engine and its descendants."""
        return self._engine.cpu_seconds()

    def close(self) -> None:
        """Send ``quit``, then end the engine in any case, within 1.5 s. May be repeated."""
        if not self._open:
            return
        with contextlib.suppress(AgentError):  # it is ended below in any case
            self.command("quit", seconds=_QUIT_SECONDS)
        if self._open:
            self._open = False
            self._streams.close()
            self._engine.stop(patience=_PATIENCE, mercy=_MERCY)
            self._conversation.note(f"after quit it {self._engine.exit_status()}")

    def kill(self, reason: str) -> None:
        """Kill the engine and its descendants. May be repeated."""
        if not self._open:
            return
        self._open = False
        self._streams.close()
        self._engine.kill()
        self._conversation.note(f"{reason}; it {self._engine.exit_status()}")

    def _fail(self, error: AgentError) -> NoReturn:
        """Kill the engine and raise the error, with the engine's name."""
        self.kill(str(error))
        raise type(error)(f"{self.who} {error}") from None


def excerpt(text: str) -> str:
    """Return the beginning of an engine's response as one line."""
    return one_line(text)[:_EXCERPT]
