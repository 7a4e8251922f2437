"""The levels at which an agent is isolated, and the limits of its process.

``none``: no process of its own; see `miai.playing.match.InProcessSeat`.

``process``: a process of its own, killed as a group. On Linux it gives up the rights to act on
other processes (`miai.process.seccomp`), to read what is hidden from it and to change files that
are not its own (`miai.process.landlock`), as far as the kernel supports that.

``sandbox``: in addition, namespaces of its own, made by bubblewrap: it sees no other process, has
no network and no inter-process communication with others, the system is read-only, and the only
place where it can write is a temporary folder in memory that vanishes with it. When its first
process dies, the kernel kills all others, however they were started.
"""

from __future__ import annotations

import functools
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from miai.errors import ConfigError
from miai.plugins.file_modules import FILES
from miai.process.programs import named_paths

SCRATCH: Final = "miai-agent-"
"""Prefix of the names of agents' temporary folders; the referee's process id follows."""

_PROBE_SECONDS: Final = 10.0
_PRIVATE: Final = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 - mounted anew, never used
"""Folders replaced by empty ones; sockets in them lead to servers outside."""
_DEVICES: Final = ("nvidia*", "dri", "kfd")
_NAMESPACES: Final = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--hostname",
    "agent",
    "--cap-drop",
    "ALL",
)


class Isolation(StrEnum):
    """How an agent is isolated; docs/isolation.md says what each level prevents."""

    NONE = "none"
    PROCESS = "process"
    SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Limits of an agent's process; an agent that exceeds one loses the game.

    Attributes:
      output_bytes: maximum bytes written to standard output and error in one game, also by engines
        that the agent runs.
      frame_bytes: maximum bytes of one answer.
      answer_bytes: maximum bytes of all answers of one game.
      new_game_seconds: maximum wall time to prepare for a game, once started.
      end_seconds: maximum wall time to handle the end of a game; exceeding it costs no game, but
        the process is killed and restarted.
      close_seconds: maximum wall time to exit when asked to, before it is killed.
      memory: maximum mebibytes of private memory of each process, the agent's own and those that
        it starts (``RLIMIT_DATA``), and of all of them together where control groups can be made;
        None for three quarters of the machine's.
      processes: maximum number of processes and threads, in a sandbox.
      disk: maximum mebibytes of a file, and in a sandbox of each private folder.
      processors: how many of the referee's processors the agent may run on; None for all.
      hidden: folders and files that the agent's processes can neither read nor change; if there
        are any, the temporary files of other agents are hidden too. See `sandbox_command`.
      free: whether, without a sandbox, the agent's processes may change files outside their
        temporary folder.
      fixed: files and folders that they may not change even then.
      environment: variables of this process that the agent has, beside those of
        `miai.process.child.harmless_environment`.
      isolation: level of isolation; None for the strongest that the machine offers.

    Raises:
      ConfigError: a limit is not a positive number.
    """

    output_bytes: int = 1 << 20
    frame_bytes: int = 1 << 18
    answer_bytes: int = 1 << 24
    new_game_seconds: float = 60.0
    end_seconds: float = 10.0
    close_seconds: float = 2.0
    memory: int | None = None
    processors: int | None = None
    processes: int = 1024
    disk: int = 1024
    hidden: tuple[str, ...] = ()
    free: bool = False
    fixed: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    isolation: Isolation | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool | tuple | list | str) or value is field.default is None:
                continue
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"process limit {field.name} is {value}; give more than 0")


@functools.cache
def sandbox_hindrance() -> str | None:
    """Return why this machine has no sandbox; None if it has one."""
    if sys.platform != "linux":
        return "bubblewrap, which makes the sandbox, needs Linux"
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed (Debian: apt install bubblewrap)"
    # Tried, not looked up: systems forbid unprivileged namespaces in several ways.
    command = [program, *_NAMESPACES, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    try:
        result = subprocess.run(
            [*command, sys.executable, "-S", "-c", ""],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap failed: {error}"
    if result.returncode:
        reason = result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"bubblewrap failed: {reason or f'status {result.returncode}'}"
    return None


def strongest_isolation() -> Isolation:
    """Return the strongest level that this machine offers."""
    return Isolation.PROCESS if sandbox_hindrance() else Isolation.SANDBOX


def sandbox_command(
    *,
    hidden: Sequence[Path],
    parameters: Mapping[str, Any],
    disk: int,
    tied: bool,
) -> list[str]:
    """Return bubblewrap and its options.

    Inside, ``/tmp`` is the agent's temporary folder.

    Args:
      hidden: folders and files that are empty inside.
      parameters: of agent and game; a file or folder that one of them names stays readable.
      disk: maximum mebibytes of each private folder.
      tied: whether it dies with the thread that starts it.
    """
    program = shutil.which("bwrap") or "bwrap"
    command = [program, *_NAMESPACES, *(["--die-with-parent"] if tied else [])]
    # Options apply in their order, and a later mount covers an earlier one: first the whole system,
    # read-only; over it the private folders; in these what Python and the agent need; and last of
    # all, so that nothing uncovers it, what is hidden.
    command += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for device in sorted(path for pattern in _DEVICES for path in Path("/dev").glob(pattern)):
        command += ["--dev-bind", str(device), str(device)]
    private = {Path(folder).resolve() for folder in (*_PRIVATE, tempfile.gettempdir())}
    for folder in sorted(private):
        if folder.is_dir():
            command += ["--size", str(disk << 20), "--perms", "1777", "--tmpfs", str(folder)]
    for path in sorted({*_needed(parameters)}):
        if not private.isdisjoint(path.parents):
            command += ["--ro-bind", str(path), str(path)]
    for path in hidden:
        command += _mask(path.resolve())
    return [*command, "--chdir", str(Path.cwd())]


def _mask(path: Path) -> list[str]:
    """Return the options that put something empty in the place of a folder or file."""
    if path.is_dir():
        return ["--size", "4096", "--perms", "555", "--tmpfs", str(path)]
    return ["--ro-bind", "/dev/null", str(path)] if path.exists() else []


def _needed(parameters: Mapping[str, Any]) -> Iterator[Path]:
    """Yield what Python and the agent read, as resolved paths."""
    listed = (os.environ.get(name, "") for name in ("PYTHONPATH", FILES))
    packages = (*sys.path, *(path for paths in listed for path in paths.split(os.pathsep)))
    named = [".", sys.prefix, sys.base_prefix, *packages, parameters]
    for _, _, path in named_paths(named):
        with suppress(OSError, RuntimeError):  # links in a circle
            yield path.resolve()
