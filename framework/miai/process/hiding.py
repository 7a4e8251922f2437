"""Files that an agent's process cannot read: the run's folder, other agents' temporary files.

By Landlock (Linux 5.13), a process gives up rights, for itself and all that it starts, for good.
The kernel knows lists of what is allowed only, so everything beside what is hidden is allowed,
folder by folder: a file that is made later, straight in a folder above a hidden one, cannot be read
either. Processes outside can then not be traced, nor, from Linux 6.12 on, be sent signals.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Final

_CREATE: Final = 444  # the same numbers on every processor
_ADD_RULE: Final = 445
_RESTRICT: Final = 446
_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_READ_FILE: Final = 1 << 2
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


def hide(folders: Iterable[Path], *, own: Path) -> bool:
    """Keep this process, and all that it starts, from reading files in some folders.

    Names in them can still be listed, and files that are open stay so. It holds for this thread and
    those that it starts, so no other should be there yet.

    Args:
      folders: what is hidden, there or not.
      own: a folder that stays readable; nothing that is made beside it later is.

    Returns:
      whether that was done; it is not where there is no Landlock, or a folder above one of these
      cannot be listed.

    Raises:
      OSError: the kernel refused.
    """
    version = landlock_version()
    if not version:
        return False
    hidden = {folder.resolve() for folder in folders}
    try:
        allowed = list(_beside(Path("/"), hidden, own.resolve()))
    except PermissionError:
        return False
    scoped = version >= _FIRST_WITH_SCOPES
    wish = _Ruleset(files=_READ_FILE, scoped=_SCOPE_SIGNAL if scoped else 0)
    size = ctypes.sizeof(wish) if scoped else ctypes.sizeof(ctypes.c_uint64)
    rules = _call(_CREATE, ctypes.byref(wish), ctypes.c_size_t(size), 0)
    try:
        for path in allowed:
            _allow(rules, path)
        if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl: PR_SET_NO_NEW_PRIVS")
        _call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)
    return True


def _beside(path: Path, hidden: Set[Path], own: Path) -> Iterator[Path]:
    """Yield the largest files and folders at or below a path that hold nothing hidden."""
    if path in hidden:
        return
    if path not in own.parents and not any(path in below.parents for below in hidden):
        yield path
        return
    for child in sorted(path.iterdir()):
        if not child.is_symlink():  # what it leads to is looked at where it lies
            yield from _beside(child, hidden, own)


def _allow(rules: int, path: Path) -> None:
    """Allow files at or below a path to be read. What vanishes meanwhile is left out."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        kind = os.fstat(opened).st_mode
        if stat.S_ISDIR(kind) or stat.S_ISREG(kind) or stat.S_ISCHR(kind):
            rule = _PathBeneath(allowed=_READ_FILE, parent=opened)
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
