"""The programs that agents run: found, started, measured and ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from miai.errors import AgentUnavailableError
from miai.process.child import Child, harmless_environment

if TYPE_CHECKING:
    import psutil

MORE_FOLDERS: Final = (
    "/usr/games",
    "/usr/local/games",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/opt/local/bin",
    "/snap/bin",
    "~/.local/bin",
    "~/bin",
)
"""Folders searched after PATH. Debian installs games and engines in ``/usr/games``."""


_LONGEST_PATH: Final = 4096


def find_program(program: str, *, advice: Mapping[str, str]) -> Path:
    """Return the path of an engine's program.

    The program is a name, searched on PATH and in `MORE_FOLDERS`, or a path, relative to the
    working directory or to the home directory (``~``). `advice` says how known engines are
    installed, by the name of the program.

    Raises `AgentUnavailableError`, with that advice, if it is missing or not executable.
    """
    if os.sep in program:
        path = Path(program).expanduser()
        if path.is_file() and os.access(path, os.X_OK):
            return path
        if path.exists():
            why = (
                "is a folder" if path.is_dir() else "may not be run: make it executable (chmod +x)"
            )
            raise AgentUnavailableError(f"the {_kind(advice)} '{program}' {why}")
        raise AgentUnavailableError(_explain(program, f"{path} is missing", advice))
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders += [str(Path(folder).expanduser()) for folder in MORE_FOLDERS]
    location = shutil.which(program, path=os.pathsep.join(filter(None, folders)))
    if location is None:
        where = f"looked on PATH and in {len(MORE_FOLDERS)} usual folders"
        if Path(program).is_file():
            where += f"; for the file in the working folder write ./{program}"
        raise AgentUnavailableError(_explain(program, where, advice))
    return Path(location)


def named_paths(value: Any, key: str = "", folder: str = "") -> Iterator[tuple[str, str, Path]]:
    """Yield (key, text, path) of each file and folder that parameters name, as they exist.

    A file is named by a text, a part of one (``--weights=FILE``, ``FILE.py:CLASS``), relative to
    the `folder` that is its ``cwd``, too; a program by the first word of a ``command``, too.
    """
    if isinstance(value, Mapping):
        for name, item in value.items():
            beside = "" if name == "cwd" else str(value.get("cwd") or "")
            yield from named_paths(item, str(name), beside)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            program = key == "command" and number > 0
            yield from named_paths(item, "argument" if program else key, folder)
    elif isinstance(value, str) and 0 < len(value) < _LONGEST_PATH and "\0" not in value:
        texts = {value, value.partition("=")[2], value.rpartition(":")[0]} - {""}
        for text in sorted(texts | {str(Path(folder, text)) for text in texts if folder}):
            with contextlib.suppress(OSError, RuntimeError):  # no path, or in the home of nobody
                path = Path(text).expanduser()
                if path.is_dir() or path.is_file():  # not a socket
                    yield key, text, path
        if key == "command" and os.sep not in value:
            with contextlib.suppress(AgentUnavailableError):
                yield key, value, find_program(value, advice={})


def installing(program: str, advice: Mapping[str, str]) -> str:
    """Return how to install a known program, as the end of a message; empty if unknown."""
    how = advice.get(Path(program).name)
    return f" ({how})" if how else ""


def _explain(program: str, where: str, advice: Mapping[str, str]) -> str:
    how = installing(program, advice) or ": install it, or give its whole path"
    return f"the {_kind(advice)} '{program}' was not found{how}; {where}"


def _kind(advice: Mapping[str, str]) -> str:
    """Return what to call a program in messages: engines are known by their advice."""
    return "engine" if advice else "program"


# The list is made from all processes of the machine, which takes longer than many a move.
_RELIST_SECONDS: Final = 1.0
"""Seconds between two listings of the processes below a program."""


class ProgramProcess(Child):
    """A program's process, found by `find_program`, its pipes and its descendants.

    Args:
      command: program and arguments; no shell.
      advice: how known programs are installed, by name.
      launcher: a command that becomes the program, which is its argument.
      cwd: working directory; None for this process's.
      environment: variables added to those of `harmless_environment`.

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
        advice: Mapping[str, str] | None = None,
        launcher: Sequence[str] = (),
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        advice = advice or {}
        program = find_program(command[0], advice=advice)
        try:
            super().__init__(
                [*launcher, str(program.absolute()), *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=cwd,
                environment={**harmless_environment(), **(environment or {})},
            )
        except OSError as error:
            raise AgentUnavailableError(
                f"the {_kind(advice)} {program} cannot be started: {error}"
                f"{installing(command[0], advice)}"
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
            # Before it ends: what it started has another parent as soon as it is dead.
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
            import psutil  # most agents' processes run no program

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
    import psutil

    try:
        return _cpu(process)
    except psutil.Error:  # dead: its parent's count of reaped children has it, or it is lost
        return 0.0
