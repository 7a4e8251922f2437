"""Writing games of `miai play` to files, the suffix naming the format."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from miai.game import Game
    from miai.record import GameRecord


def save_unfinished(game: Game, record: GameRecord, file: str) -> str:
    """Write a game that is going on; return what to say of it. Raises `ConfigError`."""
    if Path(file).suffix != ".jsonl":
        record.returns = ()  # only the whole record says that nobody has won yet
    writer_to(game, file, option="save")(record)
    return f"written to {file}"


def writer_to(game: Game, file: str, *, option: str = "--record") -> Callable[[GameRecord], None]:
    """Return what writes a record to `file`; the format is settled before the game begins.

    Args:
      option: what errors name the file by.

    Raises:
      ConfigError: the suffix names no format, or the file could not be written.
    """
    from miai.errors import ConfigError, UnknownComponentError
    from miai.plugins.loader import registry

    path = Path(file)
    try:
        component = registry().get(
            "record-format", path.suffix.removeprefix("."), game=game.info.name
        )
    except UnknownComponentError as error:
        raise ConfigError(f"{option} {file}: {error}") from error
    _refuse_unwritable(path, option)
    format_ = component.build(values={})

    def write(record: GameRecord) -> None:
        text = format_.write(record)
        try:
            _write_whole(path, text)
        except OSError as error:
            raise ConfigError(
                f"{option} {file}: cannot be written: {error.strerror}; the same command with "
                "another file "
                + ("plays the game again" if option == "--record" else "may do better")
            ) from error

    return write


def _refuse_unwritable(path: Path, option: str) -> None:
    """Raise `ConfigError` for a file that could not be written after the game."""
    from miai.errors import ConfigError

    if not path.parent.is_dir():
        raise ConfigError(f"{option} {path}: no folder '{path.parent}'; create it first")
    if path.is_dir():
        raise ConfigError(f"{option} {path}: is a folder; name a file in it")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"{option} {path}: may not be written; name a file where you may")


def _write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises `OSError`."""
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_text(text, encoding="utf-8")
        return
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(mode)
        Path(draft).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(draft).unlink()
        raise
