"""A large file is in the system's memory soon after it was asked to read it ahead."""

from __future__ import annotations

import ctypes
import mmap
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from miai_tournaments.store import sqlite as ahead

LENGTH = 1 << 23


def in_memory(path: Path) -> int:
    """Return how many pages of a file the system holds in memory."""
    pages = LENGTH // mmap.PAGESIZE
    with path.open("r+b") as file, mmap.mmap(file.fileno(), LENGTH) as mapped:
        output = (ctypes.c_ubyte * pages)()
        first = ctypes.c_char.from_buffer(mapped)
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            status = libc.mincore(ctypes.byref(first), ctypes.c_size_t(LENGTH), output)
        finally:
            del first
        assert status == 0, os.strerror(ctypes.get_errno())
        return sum(page & 1 for page in output)


@pytest.fixture
def forgotten(tmp_path: Path) -> Path:
    """A file of which the system holds nothing in memory."""
    path = tmp_path / "large"
    path.write_bytes(os.urandom(LENGTH))
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the system cannot be asked")
def test_a_large_file_is_read_ahead(forgotten: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "LARGE", LENGTH)
    pages = LENGTH // mmap.PAGESIZE
    before = in_memory(forgotten)
    if before == pages:
        return  # its file system is in memory
    assert before < pages // 4
    thread = ahead.read_ahead(forgotten)
    assert thread is not None
    thread.join(10)
    with forgotten.open("rb") as file:  # what is on its way is waited for
        file.seek(LENGTH - 1)
        file.read(1)
    assert in_memory(forgotten) > pages * 3 // 4


def test_small_files_and_those_that_are_not_there_are_left_alone(forgotten: Path) -> None:
    assert ahead.read_ahead(forgotten) is None
    assert ahead.read_ahead(forgotten.with_name("none")) is None


COUNT = """
import sqlite3, sys
from contextlib import closing
with closing(sqlite3.connect(sys.argv[1])) as reader:
    print(reader.execute("SELECT count(*) FROM rows").fetchone()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system cannot be asked")
def test_reading_beside_a_writer_keeps_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer's locks outlast the reading ahead."""
    monkeypatch.setattr(ahead, "LARGE", 1)
    path = tmp_path / "store"

    def rows() -> int:
        command = [sys.executable, "-c", COUNT, str(path)]
        return int(subprocess.run(command, capture_output=True, check=True).stdout)

    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE rows (number)")
        thread = ahead.read_ahead(path)
        assert thread is not None
        thread.join(10)
        assert rows() == 0
        writer.execute("INSERT INTO rows VALUES (1)")
        assert rows() == 1
