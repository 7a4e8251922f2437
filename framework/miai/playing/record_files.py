"""Files of recorded games in any installed format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from miai.errors import ConfigError, MiaiError, RecordError
from miai.plain import one_line
from miai.playing.replay import replay
from miai.plugins.kinds import RECORD_FORMAT
from miai.plugins.loader import registry
from miai.record import GameRecord, ReadableFormat, RecordFormat, refuse_long


def formats() -> list[ReadableFormat]:
    """Return the installed formats that can be read; broken ones are left out."""
    found = []
    for component in registry().components(RECORD_FORMAT):
        try:
            built = component.build(values={})
        except MiaiError:
            continue
        if isinstance(built, ReadableFormat):
            found.append(built)
    return found


def format_of(suffix: str, game: str, *, where: str) -> RecordFormat:
    """Return the format for a game's files with this suffix.

    Raises `ConfigError`, which begins with `where`, if there is none.
    """
    components = registry().components(RECORD_FORMAT, game=game)
    known = {built.suffix: built for built in (each.build(values={}) for each in components)}
    if suffix not in known:
        raise ConfigError(f"{where}: records of {game} are written as {', '.join(sorted(known))}")
    return known[suffix]


def read_records(
    name: str,
    data: bytes,
    *,
    shown: str = "",
    check: Callable[[GameRecord], None] | None = None,
) -> list[GameRecord]:
    """Return the games of a file, each of which its rules allow.

    Args:
      name: the file's name, which chooses the format by its suffix.
      shown: the name in messages; by default `name`.
      check: called with each record before it is played again; may raise `MiaiError`.

    Raises `RecordError`, which names the file and what is wrong.
    """
    shown = shown or name
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    known = formats()
    chosen = [format_ for format_ in known if format_.suffix == suffix]
    if not chosen:
        suffixes = ", ".join(sorted({format_.suffix for format_ in known}))
        raise RecordError(f"{shown}: files are opened whose names end in {suffixes}")
    reasons = []
    for format_ in chosen:
        try:
            records = format_.read(data, source=shown)
            break
        except MiaiError as error:
            reasons.append(one_line(str(error)))
    else:
        raise RecordError("; ".join(reasons))
    refuse_long(shown, moves=sum(len(record.moves) for record in records))
    for number, record in enumerate(records, start=1):
        place = shown if len(records) == 1 else f"{shown}, game {number}"
        try:
            if check is not None:
                check(record)
            replay(record)
        except MiaiError as error:
            raise RecordError(f"{place}: {one_line(str(error))}") from error
    return records
