"""Reading a store ahead keeps the locks of a process that writes it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from miai_tournaments.store import sqlite as ahead

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
