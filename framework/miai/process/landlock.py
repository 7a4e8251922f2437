"""Files that a process may not read or change.

With Landlock (Linux 5.13), a process gives up rights, for itself and all that it starts, for good.
The kernel accepts only lists of what is allowed. What may be changed is few folders. What may be
read is everything beside the hidden folders, folder by folder: a file created later, directly in a
folder above a hidden one, cannot be read either. The process cannot trace processes outside, nor,
from Linux 6.12 on, send them signals. Nothing that it starts gains rights (``sudo``) or mounts file
systems.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

_CREATE: Final = 444  # the same numbers on every processor
_ADD_RULE: Final = 445
_RESTRICT: Final = 446
_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_WRITE_FILE: Final = 1 << 1
_READ_FILE: Final = 1 << 2
_REMOVE_AND_MAKE: Final = sum(1 << bit for bit in range(4, 13))
_REFER: Final = 1 << 13
"""Moving or linking files between folders, which every ruleset forbids unless it allows it."""
_TRUNCATE: Final = 1 << 14
_OF_A_FILE: Final = _READ_FILE | _WRITE_FILE | _TRUNCATE
_FIRST_WITH_REFER: Final = 2
_FIRST_WITH_TRUNCATE: Final = 3
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
    above = [path for path in sorted(_leading_to(folder)) if os.access(path, os.F_OK)]
    closed = [path for path in above if not os.access(path, os.R_OK | os.X_OK)]
    return f"{closed[0]} cannot be listed" if closed else None


def hide(
    paths: Iterable[Path],
    *,
    own: Path,
    others: str = "",
    free: bool = False,
    fixed: Iterable[Path] = (),
) -> bool:
    """Keep this process, and all that it starts, from reading some files and changing most.

    Names in hidden folders can still be listed, and open files stay open. It applies to this thread
    and those that it starts, so call it before there are others.

    Args:
      paths: hidden folders and files; they need not exist.
      own: a folder that stays usable. With `others`, nothing created beside it later can be read.
      others: prefix of the names of folders beside `own` that are hidden too; "" for none.
      free: whether files anywhere may be changed, and not only those in `own` and ``/dev``.
      fixed: files and folders that may not, nor any file directly in a folder above them.

    Returns:
      whether files are hidden: not if a folder above one of these cannot be listed, and without
      Landlock nothing is done at all.

    Raises:
      OSError: the kernel refused.
    """
    version = landlock_version()
    if not version:
        return False
    hidden, own = list(paths), own.resolve()
    # Without devices and shared memory much does not start.
    top, is_hidden = Path("/" if free else "/dev"), True
    try:
        readable = list(_Places(hidden, own, others).beside(Path("/")))
        changeable = [own, *_Places([*hidden, *fixed], own, others).beside(top)]
    except PermissionError:
        readable, changeable, is_hidden = [Path("/")], [own, top], False
    # From this version on signals to processes outside are refused; a seccomp filter cannot tell
    # whom a signal is for.
    scoped = version >= _FIRST_WITH_SCOPES
    rights = _READ_FILE | _WRITE_FILE | _REMOVE_AND_MAKE
    if version >= _FIRST_WITH_REFER:
        rights |= _REFER
    if version >= _FIRST_WITH_TRUNCATE:
        rights |= _TRUNCATE
    ruleset = _Ruleset(files=rights, scoped=_SCOPE_SIGNAL if scoped else 0)
    # Older kernels refuse a structure with fields that they do not know.
    size = ctypes.sizeof(ruleset) if scoped else ctypes.sizeof(ctypes.c_uint64)
    rules = _call(_CREATE, ctypes.byref(ruleset), ctypes.c_size_t(size), 0)
    try:
        for paths, allowed in ((readable, _READ_FILE), (changeable, rights)):
            for path in paths:
                _allow(rules, path, allowed)
        if _libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl: PR_SET_NO_NEW_PRIVS")
        _call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)
    return is_hidden


class _Places:
    """The hidden folders and those that have others beside them, as resolved paths."""

    def __init__(self, hidden: Sequence[Path], own: Path, others: str) -> None:
        self.hidden = {path.resolve() for path in hidden}
        self.own, self.others = own, others
        self.above = {*own.parents} if others else set[Path]()
        for path in hidden:
            self.above |= _leading_to(path)

    def beside(self, path: Path) -> Iterator[Path]:
        """Yield the largest files and folders at or below a path without hidden contents."""
        if self._is_hidden(path):
            if path in self.own.parents:
                yield self.own
        elif path not in self.above or not path.is_dir():
            yield path
        else:
            # Landlock only grants: to hide one folder, everything beside it is allowed by name.
            for child in sorted(path.iterdir()):
                if not child.is_symlink():  # its target is visited at its own path
                    yield from self.beside(child)

    def _is_hidden(self, path: Path) -> bool:
        # By name: folders created meanwhile are hidden too.
        other = self.others and path.name.startswith(self.others) and path != self.own
        return path in self.hidden or bool(other and path.parent == self.own.parent)


def _leading_to(path: Path) -> set[Path]:
    """Return the folders in which a name could be replaced so that a path leads elsewhere.

    They are those above it and, if symbolic links are on its way, those above the links.
    """
    above, ways, seen = set(path.resolve().parents), [path.absolute()], set[Path]()
    while ways:
        way = ways.pop()
        for step in (way, *way.parents):
            if step.is_symlink() and step not in seen:
                seen.add(step)
                folder = step.parent.resolve()
                above |= {folder, *folder.parents}
                ways.append(step.parent / step.readlink())
    return above


def _allow(rules: int, path: Path, rights: int) -> None:
    """Give rights to files at or below a path, unless it has vanished meanwhile."""
    try:
        # The rule is for the file that is open, so that nobody can swap the path meanwhile.
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        kind = os.fstat(opened).st_mode
        if stat.S_ISDIR(kind) or stat.S_ISREG(kind) or stat.S_ISCHR(kind):
            # The kernel refuses a rule that gives a file rights that only folders have.
            allowed = rights if stat.S_ISDIR(kind) else rights & _OF_A_FILE
            rule = _PathBeneath(allowed=allowed, parent=opened)
            _call(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    result: int = _libc().syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return result
