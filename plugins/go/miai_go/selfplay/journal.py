"""A journal: plain data, an entry a line, that outlives whoever writes it.

A line is a CRC-32 in eight hexadecimal digits, a blank and JSON. A line that was being written when
the power or the process went is known by its CRC, and dropped with what follows it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from miai.plain import dumps, loads
from miai_go.errors import DataError, WeightsError
from miai_go.networks.tensors import write_atomically


class Journal:
    """The journal in a file, which one process writes at a time.

    Attributes:
      path: the file; it need not be there.
      torn: bytes that `read` dropped from its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = 0

    def read(self) -> list[dict[str, Any]]:
        """Return the entries, and cut off what is torn at the end.

        Raises:
          DataError: the file cannot be read or cut.
        """
        entries: list[dict[str, Any]] = []
        whole = 0
        try:
            with self.path.open("ab+") as file:
                file.seek(0)
                for line in file:
                    entry = _entry(line)
                    if entry is None:
                        break
                    entries.append(entry)
                    whole += len(line)
                self.torn = file.seek(0, os.SEEK_END) - whole
                if self.torn:
                    file.truncate(whole)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from error
        return entries

    def append(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Add entries and bring them to the disk. Raises `DataError` where that fails."""
        try:
            with self.path.open("ab") as file:
                file.writelines(map(_line, entries))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror}") from error

    def replace(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Let these be all entries, whole or not at all. Raises `DataError` where that fails."""
        try:
            write_atomically(self.path, [_line(entry) for entry in entries])
        except WeightsError as error:
            raise DataError(str(error)) from error


def _line(entry: Mapping[str, Any]) -> bytes:
    body = dumps(entry).encode("ascii")
    return b"%08x %b\n" % (zlib.crc32(body), body)


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return the entry of a line, or None for a torn one."""
    checksum, _, body = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(body):
        return None
    entry = loads(body)
    return entry if isinstance(entry, dict) else None
