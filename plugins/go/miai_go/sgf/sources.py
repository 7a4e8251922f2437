"""Files of games of folders and archives, one after another.

Nothing is unpacked to disk, and names in an archive are not used as paths. An archive is read once
from its beginning in bounded memory; files of other kinds are skipped.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from miai_go.errors import DataError
from miai_go.sgf.check import MAX_FILE_BYTES, SgfError

_OPENERS: Final[dict[str, Callable[[Path], Any]]] = {
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tbz2": bz2.open,
    ".tar.xz": lzma.open,
    ".txz": lzma.open,
    ".tar": lambda path: path.open("rb"),
}
_BROKEN: Final = (
    OSError,
    EOFError,
    ValueError,
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    NotImplementedError,
    RuntimeError,
)
SGF: Final = ".sgf"
SUFFIXES: Final = (SGF, ".sgf.gz", ".zip", *_OPENERS)
"""Suffixes of the files that can be read."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one archive.

    Attributes:
      members: maximum number of files.
      total: maximum size unpacked, bytes.
      skipped: maximum unpacked bytes between one file of games and the next, so that a false tar
        header cannot exhaust memory.
    """

    members: int = 5_000_000
    total: int = 64 * 1024**3
    skipped: int = 256 * 1024**2


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of games.

    Attributes:
      name: its place, for reports: ``games.zip: 2020/a.sgf``.
      data: its bytes; None if it could not be read.
      error: why it could not be read; otherwise empty.
    """

    name: str
    data: bytes | None
    error: str = ""


def files_of(
    source: Path, *, limits: Limits | None = None, kinds: tuple[str, ...] = (SGF,)
) -> Iterator[SourceFile]:
    """Yield the files of games of a folder and all below it, of an archive, or one file.

    Args:
      kinds: suffixes of files of games.

    Folders are read in the order of names. Archives, and gzipped files, inside folders or archives
    are skipped.

    Raises:
      DataError: the source does not exist or is of an unknown kind, or the archive is damaged or
        exceeds a limit; earlier files have been yielded.
    """
    if source.is_dir():
        yield from _of_folder(source, kinds)
        return
    if not source.exists():
        raise DataError(
            f"{source}: there is no such file or folder; name an SGF file, a folder or an archive"
        )
    name = source.name.lower()
    opener = next((o for suffix, o in _OPENERS.items() if name.endswith(suffix)), None)
    if name.endswith(kinds):
        yield _file(source)
    elif name.endswith(".sgf.gz"):
        yield _packed(source)
    elif opener or name.endswith(".zip"):
        archive = partial(_of_tar, opener=opener) if opener else _of_zip
        try:
            yield from archive(source, limits=limits or Limits(), kinds=kinds)
        except _BROKEN as error:
            raise DataError(
                f"{source}: is damaged or not an archive: {error}; download it again, or unpack it "
                "and name the folder"
            ) from error
    else:
        known = ", ".join((*kinds, *SUFFIXES[1:]))
        raise DataError(f"{source}: is not a folder or a file of the kinds {known}")


def _of_folder(folder: Path, kinds: tuple[str, ...]) -> Iterator[SourceFile]:
    def refuse(error: OSError) -> None:
        raise DataError(f"{error.filename}: cannot be read: {error.strerror}") from error

    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted(names):
            if name.lower().endswith(kinds):
                yield _file(Path(parent, name))


def _file(path: Path) -> SourceFile:
    try:
        return SourceFile(str(path), read_bytes_of(path))
    except SgfError as error:
        return SourceFile(str(path), None, str(error).removeprefix(f"{path}: "))


def read_bytes_of(path: Path) -> bytes:
    """Return the bytes of a file of at most `MAX_FILE_BYTES`. Raises `SgfError`."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SgfError(f"cannot be read: {error.strerror}", source=str(path)) from error


def _packed(path: Path) -> SourceFile:
    try:
        with gzip.open(path) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except _BROKEN as error:
        return SourceFile(str(path), None, f"is damaged or not a gzip file: {error}")
    if len(data) > MAX_FILE_BYTES:
        mebibytes = MAX_FILE_BYTES // 2**20
        return SourceFile(str(path), None, f"unpacks to more than {mebibytes} MiB; split the file")
    return SourceFile(str(path), data)


class _Metered:
    """A stream that raises an error beyond a budget, which each member refills."""

    def __init__(self, stream: IO[bytes], limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._total = 0
        self._budget = 0

    def refill(self) -> None:
        self._budget = self._total + self._limits.skipped

    def read(self, count: int) -> bytes:
        data = self._stream.read(count)
        self._total += len(data)
        if self._total > self._limits.total:
            raise DataError(f"contains more than {self._limits.total} bytes unpacked; split it")
        if self._total > self._budget:
            raise DataError(
                f"contains more than {self._limits.skipped} bytes in one member; remove it"
            )
        return data


def _of_tar(
    path: Path, *, opener: Callable[[Path], Any], limits: Limits, kinds: tuple[str, ...]
) -> Iterator[SourceFile]:
    with opener(path) as stream:
        metered = _Metered(stream, limits)
        metered.refill()
        try:
            # The type of a stream that is only read is narrower than its stub says.
            with tarfile.open(fileobj=metered, mode="r|") as archive:  # type: ignore[call-overload]
                for count, member in enumerate(iter(archive.next, None), 1):
                    if count > limits.members:
                        raise DataError(f"contains more than {limits.members} files; split it")
                    metered.refill()
                    if member.isreg() and member.name.lower().endswith(kinds):
                        yield _member(path, member.name, member.size, archive, member)
                    archive.members.clear()  # or it keeps all of them
        except DataError as error:
            raise DataError(f"{path}: {error}") from error


def _of_zip(path: Path, *, limits: Limits, kinds: tuple[str, ...]) -> Iterator[SourceFile]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        if len(members) > limits.members or total > limits.total:
            raise DataError(
                f"{path}: contains more than {limits.members} files or {limits.total} bytes"
            )
        for member in members:
            if member.filename.lower().endswith(kinds) and not member.is_dir():
                yield _member(path, member.filename, member.file_size, archive, member)


def _member(path: Path, inner: str, size: int, archive: Any, member: Any) -> SourceFile:
    """Return a member of an archive of either kind, read up to the limit."""
    # A name in an archive may hold anything; it is shown, never opened.
    shown = "".join(c if c.isprintable() else "?" for c in inner[-200:])
    name = f"{path}: {shown}"
    if size > MAX_FILE_BYTES:
        return SourceFile(name, None, f"larger than {MAX_FILE_BYTES} bytes; split the file")
    if getattr(member, "flag_bits", 0) & 1:
        return SourceFile(name, None, "is encrypted; unpack the archive and name the folder")
    is_tar = isinstance(archive, tarfile.TarFile)
    with archive.extractfile(member) if is_tar else archive.open(member) as file:
        return SourceFile(name, file.read(MAX_FILE_BYTES + 1))
