"""miai as an engine on standard input and output, from the controller's first line to its last."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Final

from miai_go.gtp.engine_session import Session
from miai_go.gtp.players import player_maker
from miai_go.gtp.session_commands import answer
from miai_go.gtp.wire import MAX_LINE_BYTES, TooLong

_CHUNK: Final = 1 << 16
MAX_WAITING: Final = 256
"""Maximum lines that wait; beyond it the controller's pipe fills up, and the controller waits."""

_SCRIPT_SECONDS: Final = 0.25
"""Input that ends this soon after its last command is a script, whose commands are all answered."""


class ControllerLeft(BaseException):
    """Ends the command that runs when the input ends. Not an error, and not to be caught as one."""


class LineReader:
    """Reads lines from a descriptor until its end, in a thread that ends with the process.

    So an analysis notices the next line while it searches. When the controller has left, the thread
    calls `on_departure` again and again: when the input ends, but not at once after a command, as
    that of a script does; or when nobody can read `output` any more.
    """

    def __init__(self, descriptor: int, output: int, on_departure: Callable[[], None]) -> None:
        self._stream = os.fdopen(descriptor, "rb", closefd=False)
        self._output = output
        self._on_departure = on_departure
        self._last_command = time.monotonic()
        self._lines: deque[bytes | TooLong] = deque()
        self._over = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, name="gtp-input", daemon=True).start()

    def next(self) -> bytes | TooLong | None:
        """Wait for the next line and return it without its newline; None at the end of input."""
        with self._changed:
            # On some systems Ctrl-C cannot interrupt a wait without a limit.
            while not self._lines and not self._over:
                self._changed.wait(1.0)
            line = self._lines.popleft() if self._lines else None
            self._changed.notify_all()
            return line

    def pending(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether a line, or the end of input, has come."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._lines) or self._over, max(seconds, 0.0))
            return bool(self._lines) or self._over

    def _read(self) -> None:
        with suppress(OSError):  # a closed descriptor ends the input, too
            for line in divide_lines(self._stream):
                self._put(line)
        with self._changed:
            self._over = True
            self._changed.notify_all()
        if time.monotonic() - self._last_command <= _SCRIPT_SECONDS:
            _await_no_reader(self._output)
        while True:  # a command that begins just now does not notice the first call
            self._on_departure()
            time.sleep(_SCRIPT_SECONDS)

    def _put(self, line: bytes | TooLong) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._lines) < MAX_WAITING)
            self._lines.append(line)
            self._changed.notify_all()
        if isinstance(line, TooLong) or line.strip() != b"quit":
            self._last_command = time.monotonic()


def _await_no_reader(descriptor: int) -> None:
    """Wait until the other end of a pipe or socket is closed; for ever on a file or a terminal."""
    poll = select.poll()
    poll.register(descriptor, 0)
    while not any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(1000)):
        pass


def divide_lines(stream: BinaryIO) -> Iterator[bytes | TooLong]:
    """Yield the lines of a stream without their newlines, which the last one may lack."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        if len(line) <= MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line.removesuffix(b"\n")
            continue
        while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
            pass
        yield TooLong()


def serve(agent: str, values: Mapping[str, Any], game: Mapping[str, Any], *, seed: int = 0) -> None:
    """Play for the controller at standard input and output until it sends ``quit`` or leaves.

    The end of the input stops a running search, too. Other writes to standard output go to standard
    error. Only for the main thread, where Python handles signals.

    Raises:
      MiaiError: agent or game are unknown or their parameters are wrong. Nothing was written.
    """
    maker = player_maker(agent, values)
    output = _private_output()
    main = threading.get_ident()
    # The signal reaches the handler, in this thread, between two slices of a compiled search.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    reader = LineReader(
        sys.stdin.fileno(), output.fileno(), lambda: signal.pthread_kill(main, signal.SIGUSR1)
    )

    def write(text: str) -> None:
        output.write(text.encode("utf-8", "replace"))
        output.flush()

    session = Session(maker, game, write=write, pending=reader.pending, seed=seed, agent=agent)

    def stop(*_: object) -> None:
        if session.running and not session.running.endswith("-analyze"):  # these end by themselves
            raise ControllerLeft

    signal.signal(signal.SIGUSR1, stop)
    try:
        while not session.ended:
            line = reader.next()
            if line is None:
                break
            answer(session, line)
    except (BrokenPipeError, ControllerLeft):
        pass  # the controller left during a response
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        session.player.close()


def _private_output() -> BinaryIO:
    """Return standard output for responses alone, and redirect all other prints to stderr."""
    sys.stdout.flush()
    private = os.dup(sys.stdout.fileno())
    # At the level of descriptors, as libraries of C print too.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private, "wb", buffering=0)
