"""Atomic files and journals: what a crash, a full disk and a torn line leave behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from miai.errors import ConfigError
from miai.files import (
    DRAFT_PATTERN,
    Journal,
    atomic_file,
    removed_if_refused,
    write_bytes,
    write_text,
)


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """Let every write beyond `limit` bytes of a file fail."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- atomic writes --------------------------------------------------------------------------------


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "é\r\n")
    assert path.read_bytes() == "é\r\n".encode()
    path.chmod(0o640)
    write_bytes(path, b"one", b"two", sync=False)
    assert path.read_bytes() == b"onetwo"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_name_of_the_greatest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    write_text(path, "x")
    assert path.read_text() == "x"


def test_a_device_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "x")
        assert os.read(reader, 10) == b"x"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_an_error_in_the_block_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_text(path, "old")

    def write() -> None:
        with atomic_file(path) as file:
            file.write(b"new")
            raise ValueError("interrupted")

    with pytest.raises(ValueError, match="interrupted"):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_text(path, "old")
    with full_disk(10_000), pytest.raises(OSError, match="too large") as error:
        write_bytes(path, b"x" * 100_000)
    assert error.value.filename == str(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_errors_name_the_path_and_not_the_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path, kind in (
        (tmp_path / "missing" / "a", FileNotFoundError),
        (tmp_path / "file" / "a", NotADirectoryError),
        (tmp_path / "folder", IsADirectoryError),
    ):
        with pytest.raises(kind) as error:
            write_text(path, "x")
        assert error.value.filename == str(path)
    assert names(tmp_path) == ["file", "folder"]


def killed(code: str, path: Path, seconds: float) -> None:
    """Run code in a process that is killed some time after it has begun."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


WRITING = """
import sys
from pathlib import Path
from miai.files import write_bytes
print("begun", flush=True)
number = 0
while True:
    number = (number + 1) % 10
    write_bytes(Path(sys.argv[1]), *[b"%d" % number * 10_000] * 100)
"""


def test_a_kill_while_writing_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_bytes(path, b"0" * 1_000_000)
    killed(WRITING, path, 0.1)
    content = path.read_bytes()
    assert content == content[:1] * 1_000_000
    assert {*tmp_path.glob("*")} == {path, *tmp_path.glob(DRAFT_PATTERN)}


# -- journals -------------------------------------------------------------------------------------


def test_a_journal_cut_anywhere_has_the_entries_before(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    Journal(path).append([{"a": 1}, {"b": "é"}])
    whole = path.read_bytes()
    Journal(path).append([{"c": [1, 2]}])
    data = path.read_bytes()
    for end in range(len(whole), len(data) + 1):
        for rest in (b"", b"\0" * 20):
            path.write_bytes(data[:end] + rest)
            journal = Journal(path)
            entries = journal.read()
            complete = end == len(data)
            assert entries == [{"a": 1}, {"b": "é"}] + [{"c": [1, 2]}] * complete
            kept = len(data) if complete else len(whole)
            assert journal.torn == end + len(rest) - kept
            journal.append([{"d": 0}])
            assert Journal(path).read() == [*entries, {"d": 0}]


APPENDING = """
import sys
from pathlib import Path
from miai.files import Journal
journal = Journal(Path(sys.argv[1]), sync=False)
print("begun", flush=True)
for number in range(10**9):
    journal.append([{"number": number, "text": "x" * 5000}])
"""


def test_a_journal_survives_a_kill_while_appending(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    killed(APPENDING, path, 0.1)
    journal = Journal(path)
    entries = journal.read()
    assert [entry["number"] for entry in entries] == list(range(len(entries)))
    journal.append(["more"])
    assert Journal(path).read() == [*entries, "more"]


def test_a_full_disk_leaves_the_earlier_entries(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.append([1, 2])
    before = journal.path.read_bytes()
    with full_disk(1000), pytest.raises(OSError, match="too large") as error:
        journal.append(["x" * 400] * 5)
    assert error.value.filename == str(journal.path)
    assert journal.path.read_bytes() == before
    journal.append([3])
    assert Journal(journal.path).read() == [1, 2, 3]
    assert journal.torn == 0


def test_a_journal_is_replaced_whole(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    assert journal.read() == []
    assert names(tmp_path) == []
    journal.append([1, 2, 3])
    journal.replace([3])
    assert Journal(journal.path).read() == [3]
    assert names(tmp_path) == ["journal"]


SCAFFOLDING = {"config.toml"}


def write_and_fail(folder: Path, files: tuple[str, ...], error: BaseException) -> None:
    with removed_if_refused(folder, SCAFFOLDING):
        folder.mkdir(parents=True, exist_ok=True)
        for name in files:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("x")
        raise error


def refuse(folder: Path, *files: str, error: BaseException) -> None:
    """Write files into a folder and fail."""
    with pytest.raises(type(error)):
        write_and_fail(folder, files, error)


def test_a_refused_command_leaves_no_folder_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "deep" / "run"
    refuse(folder, "config.toml", error=ConfigError("no"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "runs").mkdir()
    refuse(folder, error=ConfigError("no"))
    assert [path.name for path in tmp_path.rglob("*")] == ["runs"]


@pytest.mark.parametrize(
    ("made_before", "files", "error"),
    [
        (True, ("config.toml",), ConfigError("it was there before")),
        (False, ("config.toml", "games/0.npy"), ConfigError("work was done")),
        (False, ("config.toml",), KeyboardInterrupt()),
    ],
)
def test_a_folder_with_something_in_it_stays(
    tmp_path: Path, made_before: bool, files: tuple[str, ...], error: BaseException
) -> None:
    folder = tmp_path / "run"
    if made_before:
        folder.mkdir()
    refuse(folder, *files, error=error)
    assert all((folder / name).exists() for name in files)
