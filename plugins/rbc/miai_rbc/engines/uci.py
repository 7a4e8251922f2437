"""One process of a UCI engine: positions in, scores and best moves out. Every wait ends.

A position and its search are one write and one wait. On the short questions of agents, the clients
of `chess.engine` take 1.8 to 2.5 times the processor time, the engine's included:
`benchmarks/uci_client.py`, 2026-11-23, python-chess 1.11.2.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from miai.errors import MiaiError
from miai.plain import one_line
from miai.process.child import Child, harmless_environment

_CHUNK = 1 << 16
_MAX_ANSWER = 1 << 22  # bytes of output between a question and its answer
_QUIT_SECONDS = 1.0


class EngineError(MiaiError):
    """A chess engine died, hung or gave an invalid answer."""


@dataclass(frozen=True, slots=True)
class UciLine:
    """One of the best moves that an engine names.

    Attributes:
      move: in UCI notation.
      centipawns: its score for the side to move; None for a mate.
      mate: moves to the mate, negative if the side to move is mated; None without one.
    """

    move: str
    centipawns: int | None
    mate: int | None


class UciProcess:
    """A running engine.

    Ctrl-C at the terminal does not reach it. On Linux the kernel kills it when this object is
    dropped and when this process dies, even while the engine hangs.

    Args:
      command: program and arguments.
      options: set before the first search.
      seconds: limit for the start.

    Raises:
      EngineError: it does not start, or does not speak UCI.
    """

    def __init__(
        self, command: Sequence[str], options: Mapping[str, str | int], *, seconds: float
    ) -> None:
        self._command = command
        self._buffer = b""
        self._lines = 1
        try:
            self._process = Child(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                environment=harmless_environment(),
            )
        except OSError as error:
            raise EngineError(f"{self.name} cannot be started: {error}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._out, False)
        began = time.monotonic()
        try:
            self._send("uci")
            self._read_until("uciok", seconds)
            for name, value in options.items():
                self._send(f"setoption name {name} value {value}")
            self._wait_ready(seconds - (time.monotonic() - began))
        except BaseException:
            self.kill()
            raise

    @property
    def name(self) -> str:
        """The engine's name in messages."""
        return f"engine '{one_line(self._command[0], limit=80)}'"

    def new_game(self, *, seconds: float) -> None:
        """Forget all earlier positions.

        Args:
          seconds: limit for the answer.

        Raises:
          EngineError: it took longer or died.
        """
        self._send("ucinewgame")
        self._wait_ready(seconds)

    def set_lines(self, count: int) -> None:
        """Set the number of best moves that searches name."""
        if count != self._lines:
            self._send(f"setoption name MultiPV value {count}")
            self._lines = count

    def search(self, fen: str, limits: str, *, seconds: float) -> list[UciLine]:
        """Return the engine's best moves, best first; empty when it names none.

        Only the syntax is checked; whether moves are legal is for the caller to check.

        Args:
          limits: the words after ``go``.
          seconds: limit for the answer.

        Raises:
          EngineError: it took longer, died, or wrote what is not UCI.
        """
        self._send(f"position fen {fen}\ngo {limits}")
        return _parse(self._read_until("bestmove", seconds))

    def interrupt(self) -> None:
        """Kill the process; a thread that waits for its answer gets an `EngineError`."""
        self._process.kill_group()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def close(self) -> None:
        """Ask the engine to quit, and end it."""
        with contextlib.suppress(EngineError):
            self._send("quit")
            self._process.await_death(_QUIT_SECONDS)
        self.kill()

    def _wait_ready(self, seconds: float) -> None:
        """Wait until the engine has carried out its commands."""
        self._send("isready")
        self._read_until("readyok", seconds)

    # -- lines ----------------------------------------------------------------------------------

    def _send(self, text: str) -> None:
        try:
            data = memoryview(text.encode() + b"\n")
            while data:
                data = data[os.write(self._in, data) :]
        except (OSError, ValueError):
            raise EngineError(self._death("closed its input")) from None

    def _read_until(self, word: str, seconds: float) -> list[str]:
        """Return the lines up to the one that begins with `word`, included."""
        until = time.monotonic() + seconds
        lines: list[str] = []
        size = 0
        while not lines or lines[-1].split(" ", 1)[0] != word:
            end = self._buffer.find(b"\n")
            if end >= 0:
                lines.append(self._buffer[:end].decode("utf-8", "replace").strip())
                self._buffer = self._buffer[end + 1 :]
                continue
            if not select.select([self._out], [], [], max(0.0, until - time.monotonic()))[0]:
                waited = f"{max(0.0, seconds):.3g} s"
                raise EngineError(f"{self.name} did not answer '{word}' within {waited}")
            data = os.read(self._out, _CHUNK)
            if not data:
                raise EngineError(self._death("closed its output"))
            self._buffer += data
            size += len(data)
            if size > _MAX_ANSWER:
                raise EngineError(f"{self.name} wrote {size} bytes without '{word}'")
        return lines

    def _death(self, closed: str) -> str:
        if not self._process.await_death(_QUIT_SECONDS):
            return f"{self.name} {closed} and went on running"
        return f"{self.name} {self._process.exit_status()}"


def _parse(lines: Sequence[str]) -> list[UciLine]:
    """Return the last line of each rank of the best moves; empty without a best move.

    Raises:
      EngineError: the answer is not UCI.
    """
    latest: dict[int, UciLine] = {}
    for line in lines:
        words = line.split()
        info = words[:1] == ["info"] and words[1:2] != ["string"]
        if not info or "score" not in words or "pv" not in words:
            continue
        try:
            rank = int(words[words.index("multipv") + 1]) if "multipv" in words else 1
            score = words.index("score")
            kind, value = words[score + 1], int(words[score + 2])
            move = words[words.index("pv") + 1]
        except (ValueError, IndexError):
            raise EngineError(f"the engine wrote {line[:200]!r}, which is not UCI") from None
        if kind not in ("cp", "mate"):
            raise EngineError(f"the engine wrote {line[:200]!r}, which is not UCI")
        latest[rank] = UciLine(
            move, value if kind == "cp" else None, value if kind == "mate" else None
        )
    best = lines[-1].split()
    if len(best) < 2:
        raise EngineError(f"the engine wrote {lines[-1][:200]!r}, which names no move")
    if best[1] in ("(none)", "0000"):
        return []
    return [latest[rank] for rank in sorted(latest)] or [UciLine(best[1], 0, None)]
