"""Replays of a tournament's games: pages in the folder ``replays`` beside the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from miai.errors import ConfigError, RecordError, StoreError, UnknownComponentError, near_matches
from miai.pages.replay_frames import WORLDS
from miai.pages.replay_page import replay_page
from miai.record import GameRecord
from miai_tournaments.store.database import damaged
from miai_tournaments.store.export import write_whole
from miai_tournaments.store.rows import GameRow
from miai_tournaments.store.run_tables import stored_record
from miai_tournaments.store.store import Store

FOLDER = "replays"
"""Folder of replays, beside the report's page."""

_MOST_MATCHED = 10_000


def replay_of(store: Store, game_id: str, *, worlds: int = WORLDS, report: str = "") -> str:
    """Return the page of a finished game; see `replay_page`.

    Raises:
      ConfigError: no finished game has that identity, or its game is not installed.
      StoreError: the store cannot be read, or the record contradicts the game.
    """
    record = record_of(store, game_id)
    try:
        return replay_page(record, game_id, worlds=worlds, report=report)
    except RecordError as error:
        if isinstance(error.__cause__, UnknownComponentError):
            remedy = "Install its plugin, or name the plugin's file: MIAI_PLUGIN_FILES=FILE.py"
            raise ConfigError(f"{store.path}: game '{game_id}': {error} {remedy}") from error
        raise damaged(store.path, f"table records, row '{game_id}': {error}") from error


def record_of(store: Store, game_id: str) -> GameRecord:
    """Return the record of a finished game.

    Raises:
      ConfigError: no finished game has that identity.
      StoreError: the store cannot be read, or this is not a record.
    """
    try:
        return stored_record(store, game_id)
    except StoreError:
        finished = store.scores()
        if game_id in finished:
            raise
        known = list(finished)[:_MOST_MATCHED]
    raise ConfigError(
        f"GAME_ID {game_id[:80]}: {store.folder} has no such finished game. "
        + near_matches(game_id, known)
    )


def write_replays(
    store: Store, rows: Sequence[GameRow], folder: Path, *, progress: TextIO | None
) -> None:
    """Write the pages of games to ``replays/`` in a folder that holds the report's page.

    Args:
      progress: where a line is printed after each page; None for none.

    Raises:
      StoreError: as `replay_of`, or a file cannot be written.
    """
    for index, row in enumerate(rows, start=1):
        page = replay_of(store, row.game_id, report="../index.html")
        write_whole(folder / FOLDER / f"{row.game_id}.html", page)
        if progress is not None:
            print(f"replay {index} of {len(rows)}: {row.game_id}", file=progress, flush=True)


def chosen(rows: Sequence[GameRow], count: int | None) -> list[GameRow]:
    """Return `count` of the finished games, all for None.

    The first game of each ordered pairing comes before the second of any.
    """
    games: Counter[tuple[str, ...]] = Counter()
    turns: list[tuple[int, GameRow]] = []
    for row in rows:
        if row.status == "done":
            turns.append((games[row.players], row))
            games[row.players] += 1
    if count is None:
        return [row for _, row in turns]
    picked = sorted(turns, key=lambda turn: turn[0])[:count]
    return [row for _, row in picked]


def present(rows: Sequence[GameRow], folder: Path) -> list[GameRow]:
    """Return the games whose replays are in ``replays/`` of a folder."""
    there = folder / FOLDER
    if not there.is_dir():
        return []
    names = {path.stem for path in there.glob("*.html")}
    return [row for row in rows if row.status == "done" and row.game_id in names]
