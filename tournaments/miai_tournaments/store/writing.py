"""Rows of a tournament's store on their way in, within a transaction that the store has begun."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from miai_tournaments.store.connection import Writer
from miai_tournaments.store.rows import PlayerRow, RunInfo, ScheduledGame

REPLACE: Final = (
    "INSERT INTO run (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = "
    "excluded.value"
)
"""The statement that replaces what is told of the run under one key."""

_SCHEDULED: Final = ("game_id", "pair_id", "round", "players", "seed", "opening", "settings")


def extend_run(
    writer: Writer, info: RunInfo, players: Iterable[PlayerRow], games: Iterable[ScheduledGame]
) -> None:
    """Add players and games, and replace what is told of the run. Present rows stay as is."""
    told = [(key, as_json(getattr(info, key))) for key in RunInfo.__dataclass_fields__]
    writer.executemany(REPLACE, told)
    writer.executemany(
        "INSERT INTO players (name, agent, given, parameters, team) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [(p.name, p.agent, as_json(p.given), as_json(p.parameters), p.team) for p in players],
    )
    insert_games(writer, games)


def insert_games(writer: Writer, games: Iterable[ScheduledGame]) -> None:
    """Add games that are not played yet. Present rows stay as is."""
    marks = ", ".join("?" * len(_SCHEDULED))
    writer.executemany(
        f"INSERT INTO games ({', '.join(_SCHEDULED)}, status) "  # noqa: S608 - own names
        f"VALUES ({marks}, 'pending') ON CONFLICT DO NOTHING",
        ([cell(getattr(game, name)) for name in _SCHEDULED] for game in games),
    )


def as_json(value: Any) -> str:
    """Return plain data as a cell of text."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def cell(value: Any) -> Any:
    """Return a value as a cell: collections as JSON, others as they are."""
    return as_json(value) if isinstance(value, (tuple, Mapping)) else value
