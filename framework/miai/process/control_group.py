"""Limits on all processes of an agent together, by control groups where this process may make them.

Both versions of control groups are used. In version 2 the group of this process must be delegated
to its user, with the controllers ``memory`` and ``pids``, as ``systemd-run --user --scope
--property=Delegate=yes`` does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/sys/fs/cgroup")
_OWN: Final = "miai-main"
"""Version 2 limits only groups beside which no process stands: this process moves to this one."""
_PATIENCE: Final = 1.0
_numbers = itertools.count()


class ControlGroup:
    """The processes of one agent.

    Args:
      memory: maximum mebibytes of all of them; None for no limit.
      processes: maximum number of their processes and threads.

    Attributes:
      folders: where the system shows the group; empty if this process may not make groups.
    """

    def __init__(self, *, memory: int | None, processes: int) -> None:
        self.folders: list[Path] = []
        name = f"miai-{os.getpid()}-{next(_numbers)}"
        bytes_allowed = None if memory is None else memory << 20
        for base, memory_file in _bases():
            limits = {"pids.max": processes, memory_file: bytes_allowed}
            _remove_abandoned(base)
            folder = base / name
            try:
                folder.mkdir()
            except OSError:
                continue
            self.folders.append(folder)
            for file, limit in limits.items():
                if limit is not None and (folder / file).exists():
                    with contextlib.suppress(OSError):
                        (folder / file).write_text(str(limit))

    def add(self, pids: Iterable[int]) -> None:
        """Add processes; what they start later belongs to the group too."""
        for folder in self.folders:
            for pid in pids:
                with contextlib.suppress(OSError):  # it is dead
                    (folder / "cgroup.procs").write_text(str(pid))

    def kill(self) -> None:
        """Kill all processes of the group and remove it."""
        folders, self.folders = self.folders, []
        until = time.monotonic() + _PATIENCE
        # A process may fork after the list was read, so it is read again until it is empty.
        while folders and time.monotonic() < until:
            for folder in tuple(folders):
                with contextlib.suppress(OSError, ValueError):
                    for line in (folder / "cgroup.procs").read_text().splitlines():
                        os.kill(int(line), signal.SIGKILL)
                with contextlib.suppress(OSError):
                    folder.rmdir()
                if not folder.exists():
                    folders.remove(folder)
            if folders:
                time.sleep(0.001)


def free_memory() -> int:
    """Return the bytes that processes can still take, on this machine and in its container."""
    import psutil

    free = int(psutil.virtual_memory().available)
    for limit, used in (("memory.max", "anon"), ("memory/memory.limit_in_bytes", "total_rss")):
        path = _ROOT / limit
        with contextlib.suppress(OSError, ValueError, KeyError):  # no such file, or no limit
            lines = path.with_name("memory.stat").read_text().splitlines()
            free = min(free, int(path.read_text()) - int(dict(map(str.split, lines))[used]))
    return free


def _remove_abandoned(base: Path) -> None:
    """Remove the empty groups of referees that were killed."""
    for folder in base.glob("miai-*-*"):
        pid = folder.name.split("-")[1]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):  # it has processes, or another referee removed it
                folder.rmdir()


def _bases() -> list[tuple[Path, str]]:
    """Return the folders in which this process may make groups, with the name of a memory limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    bases = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        # Version 1: each controller has a tree of groups of its own.
        for controller in {"memory", "pids"} & set(controllers.split(",")):
            folder = _ROOT / controller / path.strip("/")
            if os.access(folder, os.W_OK):
                bases.append((folder, "memory.limit_in_bytes"))
        # Version 2: one tree for all controllers, whose line names none.
        if not controllers and (_ROOT / "cgroup.controllers").exists():
            base = _delegated(_ROOT / path.strip("/"))
            bases += [(base, "memory.max")] if base else []
    return bases


def _delegated(own: Path) -> Path | None:
    """Return the group of version 2 below which limits can be set; None if there is none."""
    base = own.parent if own.name == _OWN else own
    try:
        if "pids" not in (base / "cgroup.subtree_control").read_text().split():
            # A group that has processes cannot pass controllers on to the groups below it.
            (base / _OWN).mkdir(exist_ok=True)
            (base / _OWN / "cgroup.procs").write_text(str(os.getpid()))
            (base / "cgroup.subtree_control").write_text("+memory +pids")
    except OSError:
        return None
    return base if os.access(base, os.W_OK) else None
