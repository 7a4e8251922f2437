"""The two levels at which an agent's process is isolated.

``process``: a process of its own, killed as a group. On Linux it gives up the rights to act on
other processes (`miai.process.seccomp`) and to read or change what is hidden from it
(`miai.process.landlock`), as far as the kernel supports that.

``sandbox``: in addition, namespaces of its own, made by bubblewrap: it sees no other process, has
no network and no inter-process communication with others, the system is read-only, and the only
place where it can write is a temporary folder in memory that vanishes with it. When its first
process dies, the kernel kills all others, however they were started.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

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
    """How an agent's process is isolated; docs/isolation.md says what each level prevents."""

    PROCESS = "process"
    SANDBOX = "sandbox"


@functools.cache
def sandbox_hindrance() -> str | None:
    """Return why this machine has no sandbox; None if it has one."""
    if sys.platform != "linux":
        return "bubblewrap, which makes the sandbox, needs Linux"
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap is not installed (Debian: apt install bubblewrap)"
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
    packages = (*sys.path, *os.environ.get("PYTHONPATH", "").split(os.pathsep))
    texts: Iterable[str] = (sys.prefix, sys.base_prefix, *packages, *_texts(parameters))
    for text in (".", *filter(None, texts)):
        path = Path(text).expanduser()
        if path.is_dir() or path.is_file():  # not a socket
            yield path.resolve()


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in plain data that may name a file."""
    if isinstance(value, str):
        if 0 < len(value) < 1024 and "\0" not in value:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
