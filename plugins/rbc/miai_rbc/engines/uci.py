"""One process of a UCI engine: boards in, scores and best moves out.

The protocol is spoken directly: a position and its search are one write and one wait, which at the
shallow depths used here leaves the engine busy; see `benchmarks/rbc_engine.py`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from miai.errors import MiaiError
from miai.plain import one_line

_CHUNK = 1 << 16
_MAX_ANSWER = 1 << 22  # bytes of output between a question and its answer
_QUIT_SECONDS = 1.0


class EngineError(MiaiError):
    """A chess engine died, hung or answered nonsense."""


@dataclass(frozen=True, slots=True)
class Line:
    """One of the best moves that an engine names.

    Attributes:
      move: in UCI notation.
      centipawns: its score from the point of view of the side to move; None for a mate.
      mate: moves to the mate, negative when the side to move is mated; None without one.
    """

    move: str
    centipawns: int | None
    mate: int | None


class UciProcess:
    """A running engine.

    Args:
      command: program and arguments.
      options: set before the first search.
      patience: seconds that the engine may take beyond what a search was given, and to start.

    Raises:
      EngineError: it does not start, or does not speak UCI.
    """

    def __init__(
        self, command: Sequence[str], options: Mapping[str, str | int], *, patience: float
    ) -> None:
        self._command, self._patience = command, patience
        self._buffer = b""
        self._lines = 1
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(f"engine '{command[0]}' cannot be started: {error}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._out, False)
        try:
            self._send("uci")
            self._read_until("uciok", patience)
            for name, value in options.items():
                self._send(f"setoption name {name} value {value}")
            self.wait_ready()
        except BaseException:
            self.kill()
            raise

    def new_game(self) -> None:
        """Forget all earlier positions."""
        self._send("ucinewgame")
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until the engine has done what it was told."""
        self._send("isready")
        self._read_until("readyok", self._patience)

    def set_lines(self, count: int) -> None:
        """Have searches name so many best moves."""
        if count != self._lines:
            self._send(f"setoption name MultiPV value {count}")
            self._lines = count

    def search(self, fen: str, limits: str, seconds: float | None) -> list[Line]:
        """Return the engine's best moves, best first; empty when it names none.

        Args:
          limits: what follows ``go``.
          seconds: that the search was given, None for as long as it takes.
        """
        self._send(f"position fen {fen}\ngo {limits}")
        wait = None if seconds is None else seconds + self._patience
        return _parse(self._read_until("bestmove", wait))

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()

    def close(self) -> None:
        """Ask the engine to quit, and end it."""
        with contextlib.suppress(EngineError, subprocess.TimeoutExpired):
            self._send("quit")
            self._process.wait(_QUIT_SECONDS)
        self.kill()

    # -- lines ----------------------------------------------------------------------------------

    def _send(self, text: str) -> None:
        try:
            data = memoryview(text.encode() + b"\n")
            while data:
                data = data[os.write(self._in, data) :]
        except (OSError, ValueError):
            raise EngineError(self._death()) from None

    def _read_until(self, word: str, seconds: float | None) -> list[str]:
        """Return the lines up to the one that begins with `word`, included."""
        until = None if seconds is None else time.monotonic() + seconds
        lines: list[str] = []
        taken = 0
        while not lines or lines[-1].split(" ", 1)[0] != word:
            end = self._buffer.find(b"\n")
            if end >= 0:
                lines.append(self._buffer[:end].decode("utf-8", "replace").strip())
                self._buffer = self._buffer[end + 1 :]
                continue
            taken += self._fill(until, word)
            if taken > _MAX_ANSWER:
                raise EngineError(f"{self._name} wrote {taken} bytes without '{word}'")
        return lines

    def _fill(self, until: float | None, word: str) -> int:
        left = None if until is None else max(0.0, until - time.monotonic())
        if not select.select([self._out], [], [], left)[0]:
            raise EngineError(f"{self._name} did not answer '{word}' in time and was killed")
        data = os.read(self._out, _CHUNK)
        if not data:
            raise EngineError(self._death())
        self._buffer += data
        return len(data)

    @property
    def _name(self) -> str:
        return f"engine '{one_line(self._command[0], limit=80)}'"

    def _death(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_QUIT_SECONDS)
        code = self._process.returncode
        if code is None:
            return f"{self._name} closed its output"
        how = f"was killed by signal {-code}" if code < 0 else f"exited with status {code}"
        return f"{self._name} {how}"


def _parse(lines: Sequence[str]) -> list[Line]:
    """Return the last line told for each rank of the best moves.

    Raises:
      EngineError: an answer that UCI does not have.
    """
    found: dict[int, Line] = {}
    for line in lines:
        words = line.split()
        if words[:1] != ["info"] or "score" not in words or "pv" not in words:
            continue
        try:
            rank = int(words[words.index("multipv") + 1]) if "multipv" in words else 1
            at = words.index("score")
            kind, value = words[at + 1], int(words[at + 2])
            move = words[words.index("pv") + 1]
        except (ValueError, IndexError):
            raise EngineError(f"the engine wrote {line[:200]!r}, which is not UCI") from None
        if kind not in ("cp", "mate"):
            raise EngineError(f"the engine wrote {line[:200]!r}, which is not UCI")
        found[rank] = Line(move, value if kind == "cp" else None, value if kind == "mate" else None)
    best = lines[-1].split()
    if len(best) < 2:
        raise EngineError(f"the engine wrote {lines[-1][:200]!r}, which names no move")
    if not found and best[1] not in ("(none)", "0000"):
        return [Line(best[1], 0, None)]
    return [found[rank] for rank in sorted(found)]
