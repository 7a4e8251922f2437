"""Records as files: one for each finished game, in any record format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from miai.errors import RecordError, StoreError
from miai.files import atomic_file, writing
from miai.record import RecordFormat
from miai.record_reader import read_record
from miai_tournaments.store.database import damaged
from miai_tournaments.store.store import Store


class RecordFiles:
    """Writes records to ``records/`` in a tournament's folder; `complete` restores missing ones."""

    def __init__(self, folder: Path, formats: Iterable[RecordFormat]) -> None:
        self.folder = folder / "records"
        self.formats = tuple(formats)

    def write(self, game_id: str, record: str) -> None:
        """Write one record, as JSON lines, in every format. Raises `StoreError`."""
        if not self.formats:
            return
        parsed = read_record(record)
        for format_ in self.formats:
            write_whole(self._path(game_id, format_), format_.write(parsed))

    def complete(self, store: Store) -> None:
        """Write the files of finished games that are missing. Raises `StoreError`."""
        if not self.formats:
            return
        for row in store.results():
            paths = [self._path(row.game_id, format_) for format_ in self.formats]
            if not all(path.exists() for path in paths):
                record = store.record(row.game_id)
                try:
                    self.write(row.game_id, record)
                except RecordError as error:
                    what = f"table records, row '{row.game_id}': {error}"
                    raise damaged(store.path, what) from error

    def _path(self, game_id: str, format_: RecordFormat) -> Path:
        return self.folder / f"{game_id}{format_.suffix}"


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears, with the folders above it, when the block ends without an error.

    Raises:
      StoreError: it cannot be written.
    """
    if not path.name or path.is_dir():
        raise StoreError(f"{path}: is a folder; name a file")
    if path.is_symlink() and path.exists() and not path.is_file() and path.parent != Path("/dev"):
        raise StoreError(f"{path}: is a link to a device or a pipe; remove it")
    with writing(path, StoreError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            yield file


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically, a text as UTF-8, and the folders above it.

    Raises:
      StoreError: it cannot be written.
    """
    with whole_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
