"""What an agent's process may read, and which processors it runs on.

With Landlock (Linux 5.13), a process gives up rights, for itself and all that it starts, for good.
The kernel accepts only lists of what is allowed, so everything beside the hidden folders is
allowed, folder by folder: a file created later, directly in a folder above a hidden one, cannot be
read either. The process cannot trace processes outside, nor, from Linux 6.12 on, send them signals.
Nothing that it starts gains rights (``sudo``) or mounts file systems.

Processors are claimed by locks on files, one for each processor, because the agents of one machine
may belong to several workers and tournaments. The system releases the locks when the process ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Final

SHARED_FOLDER: Final = "MIAI_SHARED_TMPDIR"
"""Variable that names to an agent, which has a temporary folder of its own, the folder for what
processes share, such as a server's socket."""

HIDDEN_FOLDERS: Final = "MIAI_HIDDEN_FOLDERS"
"""Variable that names to an agent the folders hidden from it and from what it starts. It shares a
server only with processes from which the same folders are hidden."""

SCRATCH: Final = "miai-agent-"
"""Prefix of the names of agents' temporary folders; the referee's process id follows."""

_CREATE: Final = 444  # the same numbers on every processor
_ADD_RULE: Final = 445
_RESTRICT: Final = 446
_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_READ_FILE: Final = 1 << 2
_REFER: Final = 1 << 13
"""Moving or linking files between folders, which every ruleset forbids unless it allows it."""
_FIRST_WITH_REFER: Final = 2
_SCOPE_SIGNAL: Final = 1 << 1
_FIRST_WITH_SCOPES: Final = 6
_NO_NEW_PRIVILEGES: Final = 38


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def landlock_version() -> int:
    """Return the version of Landlock in the kernel; 0 without Landlock."""
    if sys.platform != "linux":
        return 0
    version: int = _libc().syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    return max(0, version)


def hindrance(folder: Path) -> str | None:
    """Return why the contents of a folder cannot be hidden; None if they can."""
    if not landlock_version():
        return "this system has no Landlock"
    above = [path for path in folder.resolve().parents if os.access(path, os.F_OK)]
    closed = [path for path in above if not os.access(path, os.R_OK | os.X_OK)]
    return f"{closed[0]} cannot be listed" if closed else None


def hide(folders: Iterable[Path], *, own: Path, others: str = "") -> bool:
    """Keep this process, and all that it starts, from reading files in some folders.

    Names in them can still be listed, and open files stay open. It applies to this thread and those
    that it starts, so call it before there are others.

    Args:
      folders: what is hidden; it need not exist.
      own: a folder that stays readable; nothing that is created beside it later is.
      others: prefix of the names of folders beside `own` that are hidden too; "" for none.

    Returns whether it was done: not without Landlock, or if a folder above one of these cannot be
    listed. Raises `OSError` if the kernel refused.
    """
    version = landlock_version()
    if not version:
        return False
    places = _Places({folder.resolve() for folder in folders}, own.resolve(), others)
    try:
        allowed = list(places.beside(Path("/")))
    except PermissionError:
        return False
    scoped = version >= _FIRST_WITH_SCOPES
    rights = _READ_FILE | (_REFER if version >= _FIRST_WITH_REFER else 0)
    ruleset = _Ruleset(files=rights, scoped=_SCOPE_SIGNAL if scoped else 0)
    size = ctypes.sizeof(ruleset) if scoped else ctypes.sizeof(ctypes.c_uint64)
    rules = _call(_CREATE, ctypes.byref(ruleset), ctypes.c_size_t(size), 0)
    try:
        for path in allowed:
            _allow(rules, path, rights)
        if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl: PR_SET_NO_NEW_PRIVS")
        _call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)
    return True


class _Places:
    """The hidden and the readable folders, as resolved paths."""

    def __init__(self, hidden: Set[Path], own: Path, others: str) -> None:
        self.hidden, self.own, self.others = hidden, own, others
        self.above = {parent for path in (*hidden, own) for parent in path.parents}

    def beside(self, path: Path) -> Iterator[Path]:
        """Yield the largest files and folders at or below a path without hidden contents."""
        if self._is_hidden(path):
            if path in self.own.parents:
                yield self.own
        elif path not in self.above or not path.is_dir():
            yield path
        else:
            for child in sorted(path.iterdir()):
                if not child.is_symlink():  # its target is visited at its own path
                    yield from self.beside(child)

    def _is_hidden(self, path: Path) -> bool:
        # By name: folders created meanwhile are hidden too.
        other = self.others and path.name.startswith(self.others) and path != self.own
        return path in self.hidden or bool(other and path.parent == self.own.parent)


def _allow(rules: int, path: Path, rights: int) -> None:
    """Give rights to files at or below a path, unless it has vanished meanwhile."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind) or stat.S_ISREG(kind) or stat.S_ISCHR(kind):
            allowed = rights if stat.S_ISDIR(kind) else _READ_FILE
            rule = _PathBeneath(allowed=allowed, parent=descriptor)
            _call(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc().syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return result


_LOCKS: Final[list[int]] = []
"""Descriptors of the locks on processors, open until this process ends."""


def take_processors(count: int) -> list[int]:
    """Return `count` processors for this process and claim them.

    When too few are unclaimed, or no locks can be made, the process id decides, and processors are
    shared.
    """
    available = sorted(os.sched_getaffinity(0))
    locks: dict[int, int] = {}
    with contextlib.suppress(OSError):
        folder = _folder()
        for processor in available:
            lock = _lock(folder / str(processor))
            if lock is not None:
                locks[processor] = lock
            if len(locks) == count:
                _LOCKS.extend(locks.values())
                return list(locks)
    for lock in locks.values():
        os.close(lock)
    first = os.getpid() % len(available)
    return (available[first:] + available[:first])[:count]


def _folder() -> Path:
    """Return this user's folder of locks. Raises `OSError` if it cannot be made or trusted."""
    shared = os.environ.get(SHARED_FOLDER) or tempfile.gettempdir()
    folder = Path(shared, f"miai-processors-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder


def _lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock, or None if another process holds it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
