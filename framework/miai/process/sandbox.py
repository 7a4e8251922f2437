"""Files that an agent's process cannot read: the run's folder, other agents' temporary files.

By Landlock (Linux 5.13), a process gives up rights, for itself and all that it starts, for good.
The kernel knows lists of what is allowed only, so everything beside what is hidden is allowed,
folder by folder: what is made later, straight in a folder above a hidden one, cannot be read
either. Processes outside can then not be traced, nor, from Linux 6.12 on, be sent signals. Nothing
that the process starts gains rights (``sudo``) or mounts file systems.

Which processors an agent's process may run on, so that agents stay out of each other's way.

Processes of one machine know nothing of each other: they may belong to several workers, executors
or tournaments. So each takes locks on files, one for each processor; the system gives them back
when the process has ended, however that came.
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

from miai.process.child import SHARED_FOLDER

_CREATE: Final = 444  # the same numbers on every processor
_ADD_RULE: Final = 445
_RESTRICT: Final = 446
_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_READ_FILE: Final = 1 << 2
_REFER: Final = 1 << 13
"""To move or link files between folders, which every ruleset forbids where it is not allowed."""
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
    """Return the version of Landlock that the kernel offers; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    found: int = _libc().syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION)
    return max(0, found)


def hindrance(folder: Path) -> str | None:
    """Return why what a folder holds, there or not yet, cannot be hidden; None where it can be."""
    if not landlock_version():
        return "this system has no Landlock"
    above = [path for path in folder.resolve().parents if os.access(path, os.F_OK)]
    closed = [path for path in above if not os.access(path, os.R_OK | os.X_OK)]
    return f"{closed[0]} cannot be listed" if closed else None


def hide(folders: Iterable[Path], *, own: Path, others: str = "") -> bool:
    """Keep this process, and all that it starts, from reading files in some folders.

    Names in them can still be listed, and files that are open stay so. It holds for this thread and
    those that it starts, so no other should be there yet.

    Args:
      folders: what is hidden, there or not.
      own: a folder that stays readable; nothing that is made beside it later is.
      others: how the names begin of what is hidden of the folders beside `own`; "" for none.

    Returns:
      whether that was done; it is not where there is no Landlock, or a folder above one of these
      cannot be listed.

    Raises:
      OSError: the kernel refused.
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
    wish = _Ruleset(files=rights, scoped=_SCOPE_SIGNAL if scoped else 0)
    size = ctypes.sizeof(wish) if scoped else ctypes.sizeof(ctypes.c_uint64)
    rules = _call(_CREATE, ctypes.byref(wish), ctypes.c_size_t(size), 0)
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
    """What is hidden and what stays readable; all paths are resolved."""

    def __init__(self, hidden: Set[Path], own: Path, others: str) -> None:
        self.hidden, self.own, self.others = hidden, own, others
        self.above = {parent for path in (*hidden, own) for parent in path.parents}

    def beside(self, path: Path) -> Iterator[Path]:
        """Yield the largest files and folders at or below a path that hold nothing hidden."""
        if self._is_hidden(path):
            if path in self.own.parents:
                yield self.own
        elif path not in self.above or not path.is_dir():
            yield path
        else:
            for child in sorted(path.iterdir()):
                if not child.is_symlink():  # what it leads to is looked at where it lies
                    yield from self.beside(child)

    def _is_hidden(self, path: Path) -> bool:
        # By name, not by a list: one that is made while this goes on is hidden too.
        other = self.others and path.name.startswith(self.others) and path != self.own
        return path in self.hidden or bool(other and path.parent == self.own.parent)


def _allow(rules: int, path: Path, rights: int) -> None:
    """Give rights to files at or below a path. What vanishes meanwhile is left out."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        kind = os.fstat(opened).st_mode
        if stat.S_ISDIR(kind) or stat.S_ISREG(kind) or stat.S_ISCHR(kind):
            given = rights if stat.S_ISDIR(kind) else _READ_FILE
            rule = _PathBeneath(allowed=given, parent=opened)
            _call(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    found: int = _libc().syscall(number, *arguments)
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return found


_KEPT: Final[list[int]] = []
"""Descriptors of the locks that this process holds until it ends."""


def take_processors(count: int) -> list[int]:
    """Return `count` processors for this process, and keep others from being given the same.

    When all are taken, or nobody can keep account of them, the process id decides, and processors
    are shared.
    """
    given = sorted(os.sched_getaffinity(0))
    locks: dict[int, int] = {}
    with contextlib.suppress(OSError):
        folder = _folder()
        for processor in given:
            lock = _lock(folder / str(processor))
            if lock is not None:
                locks[processor] = lock
            if len(locks) == count:
                _KEPT.extend(locks.values())
                return list(locks)
    for lock in locks.values():
        os.close(lock)
    first = os.getpid() % len(given)
    return (given[first:] + given[:first])[:count]


def _folder() -> Path:
    """Return this user's folder of locks. Raises `OSError` where there can be none of its own."""
    shared = os.environ.get(SHARED_FOLDER) or tempfile.gettempdir()
    folder = Path(shared, f"miai-processors-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"{folder} is somebody else's")
    return folder


def _lock(path: Path) -> int | None:
    """Return what holds the lock, None where another does. Raises `OSError` without a file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
