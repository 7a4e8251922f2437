"""The process of an engine that speaks GTP: found, started, measured and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import psutil

from miai.errors import AgentUnavailableError
from miai.process.child import Child
from miai.process.programs import find_program, installing

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


_RELIST_SECONDS: Final = 1.0
"""Seconds between two listings of the processes below an engine."""


class EngineProcess(Child):
    """An engine's process, found by `find_engine`, its pipes and its descendants.

    Attributes:
      requests, answers, complaints: descriptors of its standard input, output and error; they do
        not block.

    Raises:
      AgentUnavailableError: it cannot be found or started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        program = find_engine(command[0])
        try:
            super().__init__(
                [str(program.absolute()), *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                environment={**os.environ, **(environment or {})},
            )
        except OSError as error:
            raise AgentUnavailableError(
                f"the engine {program} cannot be started: {error}{installing(command[0], ADVICE)}"
            ) from error
        assert self.stdin is not None
        assert self.stdout is not None
        assert self.stderr is not None
        pipes = (self.stdin, self.stdout, self.stderr)
        self.requests, self.answers, self.complaints = (pipe.fileno() for pipe in pipes)
        for pipe in pipes:
            os.set_blocking(pipe.fileno(), False)
        self._usage = 0.0
        self._listed = float("-inf")

    def stop(self, *, patience: float, mercy: float) -> None:
        """End it gently: close its input; after `patience` s SIGTERM, after `mercy` s SIGKILL."""
        if not self.reaped and self.stdin is not None:
            self.descendants()
            self.stdin.close()
            if not self.await_death(patience):
                os.kill(self.pid, signal.SIGTERM)
                self.await_death(mercy)
        self.kill()

    def kill(self) -> None:
        """Kill it with all that it started, reap it and close its pipes. May be repeated."""
        self.cpu_seconds()  # a last reading, with its children's
        super().kill()
        self._usage = max(self._usage, self.cpu_at_exit)

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far by it and what it started; it never goes down.

        The system counts a living process in steps of a hundredth of a second.
        """
        if not self.reaped:
            if time.monotonic() - self._listed > _RELIST_SECONDS:
                self._listed = time.monotonic()
                self.descendants()
            with contextlib.suppress(psutil.Error):
                own = _cpu(psutil.Process(self.pid))
                self._usage = max(self._usage, own + sum(map(_cpu_or_none, self._below)))
        return self._usage


def _cpu(process: psutil.Process) -> float:
    """Return CPU seconds of a process and of its reaped children."""
    times = process.cpu_times()
    reaped = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return float(times.user + times.system + reaped)


def _cpu_or_none(process: psutil.Process) -> float:
    try:
        return _cpu(process)
    except psutil.Error:  # dead: its parent's count of reaped children has it, or it is lost
        return 0.0
