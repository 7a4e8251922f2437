"""Files: atomic writes and journals that survive a crash, and errors that name the path."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

from miai.errors import ConfigError, MiaiError
from miai.plain import dumps, loads

DRAFT_PATTERN = ".*.new"
"""Glob pattern of the temporary files that a killed process leaves behind."""

_SHOWN_NAME = 40
_FEW = 12


def user_cache() -> Path:
    """Return the folder for what miai can make again, such as the code of compiled kernels."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "miai"


def user_data() -> Path:
    """Return the folder for what the user makes with miai, such as games."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "miai"


# Atomic writes


@contextmanager
def atomic_file(path: Path, *, sync: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` when the block ends without an error.

    The temporary file lies in the same folder. After an error it is removed and `path` is
    unchanged. An existing file keeps its permissions; a device or a pipe is written directly. With
    `sync` the file and its name are then on the disk.

    Raises `OSError` with `path` as its `filename`. Errors of the block are passed on unchanged.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    # In the same folder, because renaming is atomic within one file system only.
    draft = path.with_name(f".{path.name[:_SHOWN_NAME]}.{secrets.token_hex(6)}.new")
    with _naming(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        mode = path.stat().st_mode & 0o777 if path.exists() else None
        file = draft.open("xb")
    try:
        with file:
            yield file
            with _naming(path):
                file.flush()
                if mode is not None:
                    draft.chmod(mode)
                if sync:
                    os.fsync(file.fileno())
        with _naming(path):
            # The content is on the disk by now: after a crash there is the old file or the new one.
            draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    if sync:
        sync_folder(path.parent)


def write_bytes(path: Path, *pieces: bytes, sync: bool = True) -> None:
    """Write a file atomically. Raises `OSError` with the path."""
    with _naming(path), atomic_file(path, sync=sync) as file:
        file.writelines(pieces)


def write_text(path: Path, text: str, *, sync: bool = True) -> None:
    """Write a text file in UTF-8 atomically. Raises `OSError` with the path."""
    write_bytes(path, text.encode("utf-8"), sync=sync)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, where the system can."""
    with contextlib.suppress(OSError):  # some file systems refuse; the files are complete by now
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raise each `OSError` of the block with `path` instead of a temporary file."""
    try:
        yield
    except OSError as error:
        if error.filename == str(path):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def open_plain(path: Path, flags: int) -> int:
    """Return a descriptor of a file in a folder that others may have made.

    Opening follows no link and waits for nobody at the other end of a pipe.

    Raises `OSError` if it is a link or not a regular file, or has a second hard link.
    """
    more = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags | more, 0o666)
    if not stat.S_ISREG((status := os.fstat(descriptor)).st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(path))
    return descriptor


# Paths that cannot be read or written


@contextmanager
def reading(path: object, error: Callable[[str], Exception], *, remedy: str = "") -> Iterator[None]:
    """Raise `error` in place of an `OSError` of the block: ``PATH: cannot be read: REASON``.

    The message ends with the remedy, if any, after a semicolon.
    """
    try:
        yield
    except OSError as reason:
        raise error(_refusal(path, "read", reason, remedy)) from reason


@contextmanager
def writing(path: object, error: Callable[[str], Exception], *, remedy: str = "") -> Iterator[None]:
    """As `reading`, of what the block writes: ``PATH: cannot be written: REASON``."""
    try:
        yield
    except OSError as reason:
        raise error(_refusal(path, "written", reason, remedy)) from reason


@contextmanager
def locked(path: Path, busy: MiaiError) -> Iterator[None]:
    """Keep other processes out while the block runs, by a lock on a file, which stays behind.

    The system releases the lock when the process ends, even if it is killed.

    Raises:
      MiaiError: `busy`, if another process has the lock.
      OSError: the file cannot be written or locked.
    """
    import fcntl

    with os.fdopen(open_plain(path, os.O_WRONLY | os.O_CREAT), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy from None
        yield


def removed_if_refused(
    folder: Path, scaffolding: Collection[str], *errors: type[BaseException]
) -> AbstractContextManager[None]:
    """Remove a folder that is absent now if the block raises `MiaiError` or `errors`.

    The folder stays if it contains a file whose name is not one of `scaffolding`: those that are
    written before the work begins.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    refusals: tuple[type[BaseException], ...] = (MiaiError, *errors)

    @contextmanager
    def removing() -> Iterator[None]:
        try:
            yield
        except refusals:
            files = {path.name for path in folder.rglob("*") if not path.is_dir()}
            if missing and files <= set(scaffolding):
                shutil.rmtree(folder, ignore_errors=True)
                with contextlib.suppress(OSError):
                    for parent in missing[1:]:
                        parent.rmdir()
            raise

    return removing()


def refuse_unwritable(path: Path, option: str) -> None:
    """Check, before the work begins, that the output file of a command-line option can be written.

    Raises `ConfigError` if the path is a folder, is in no folder, or is not writable.
    """
    if not path.parent.is_dir():
        raise ConfigError(f"{option} {path}: there is no folder '{path.parent}'; create it first")
    if path.is_dir():
        raise ConfigError(f"{option} {path}: is a folder; name a file in it")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"{option} {path}: no permission to write; name a file elsewhere")


def _refusal(path: object, verb: str, reason: OSError, remedy: str) -> str:
    message = f"{path}: cannot be {verb}: {reason.strerror or reason}"
    return f"{message}; {remedy}" if remedy else message


# Journals


class Journal:
    """An append-only file of JSON values, one per line, for one writer at a time.

    Each line begins with the CRC-32 of its JSON in eight hexadecimal digits, which reveals a line
    that was being written when the process or the power failed.

    Attributes:
      path: the file, which may be missing.
      sync: whether `append` waits until the entries are on the disk.
      torn: number of bytes that `read` cut off the end.
    """

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self.path = path
        self.sync = sync
        self.torn = 0

    def read(self) -> list[Any]:
        """Return the entries before the first torn one, and cut off the rest. Raises `OSError`."""
        entries: list[Any] = []
        self.torn = whole = 0
        if not self.path.exists():
            return entries
        with _naming(self.path), os.fdopen(open_plain(self.path, os.O_RDWR), "rb+") as file:
            for line in file:
                try:
                    entries.append(_entry(line))
                except ValueError:
                    break
                whole += len(line)
            self.torn = file.seek(0, os.SEEK_END) - whole
            if self.torn:
                file.truncate(whole)
        return entries

    def append(self, entries: Iterable[Any]) -> None:
        """Add entries of plain data. Raises `OSError`, and then adds none of them."""
        remaining = memoryview(b"".join(map(_line, entries)))
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with _naming(self.path), os.fdopen(open_plain(self.path, flags), "ab", 0) as file:
            size = file.tell()
            try:
                while remaining:
                    remaining = remaining[file.write(remaining) :]
                if self.sync:
                    os.fsync(file.fileno())
            except BaseException:
                # Half an entry would hide all that is appended later: reading stops at it.
                file.truncate(size)
                raise
        if self.sync and size == 0:
            sync_folder(self.path.parent)

    def replace(self, entries: Iterable[Any]) -> None:
        """Replace all entries atomically. Raises `OSError` with the path."""
        write_bytes(self.path, *map(_line, entries), sync=self.sync)


def _line(entry: Any) -> bytes:
    body = dumps(entry).encode("ascii")
    return b"%08x %b\n" % (zlib.crc32(body), body)


def _entry(line: bytes) -> Any:
    """Return the entry of a line. Raises `ValueError` for a torn one."""
    if not line.endswith(b"\n"):
        raise ValueError("the line is incomplete")
    checksum, _, body = line[:-1].partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        raise ValueError("the checksum is wrong")
    return loads(body)


# Missing paths


def absence(path: Path, beside: Iterable[str]) -> str:
    """Return the message that a path does not exist, with near matches.

    `beside` are valid names in its folder, listed if they are few and none is near.
    """
    missing = path
    while missing.parent != missing and not missing.parent.exists():
        missing = missing.parent
    if missing != path:
        return f"does not exist: there is no folder {missing}.{_other_folder(path, missing)}"
    names = sorted(beside)
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.7)
    if near:
        return f"does not exist. Did you mean {_either(path.parent / name for name in near)}?"
    listing = f" Known: {', '.join(names)}." if 0 < len(names) <= _FEW else ""
    return f"does not exist.{listing}"


def _other_folder(path: Path, missing: Path) -> str:
    """Suggest folders with names near the missing one, and the rest of the path if it exists."""
    try:
        folders = [p.name for p in missing.parent.iterdir() if p.is_dir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(missing.name, folders, n=3, cutoff=0.7)
    rest = path.relative_to(missing)
    folders_near = [missing.with_name(name) for name in near]
    paths = [folder / rest if (folder / rest).exists() else folder for folder in folders_near]
    return f" Did you mean {_either(paths)}?" if near else ""


def _either(paths: Iterable[Path]) -> str:
    return " or ".join(f"'{path}'" for path in paths)
