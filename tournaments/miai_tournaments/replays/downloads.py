"""A game in its record formats, as links that hold the file."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from miai.errors import MiaiError
from miai.plugins.loader import registry
from miai.record import GameRecord
from miai_tournaments.store.export import format_for

LARGEST = 1_000_000
"""Bytes of the largest file that a page holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file.

    Attributes:
      format: the record format.
      file: what it is called.
      uri: a ``data:`` address that holds it; empty where there is none.
      why: why there is none.
    """

    format: str
    file: str
    uri: str = ""
    why: str = ""


def downloads(record: GameRecord, stem: str) -> list[Download]:
    """Return a game in every record format for it, the framework's own last.

    Args:
      stem: the files' name without suffix.
    """
    components = registry().components("record-format", game=record.game)
    names = sorted({c.name for c in components}, key=lambda name: (name == "jsonl", name))
    return [_download(record, name, stem) for name in names]


def _download(record: GameRecord, name: str, stem: str) -> Download:
    written = format_for(name, record.game)
    file = f"{stem}{written.suffix}"
    try:
        content = written.write(record).encode("utf-8")
    except MiaiError as error:  # what a format cannot say, such as a game in which black begins
        return Download(format=name, file=file, why=str(error))
    if len(content) > LARGEST:
        return Download(format=name, file=file, why=f"{len(content)} bytes, more than {LARGEST}")
    coded = base64.b64encode(content).decode("ascii")
    return Download(format=name, file=file, uri=f"data:application/octet-stream;base64,{coded}")
