"""The kinds of component that tournaments declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.kinds import Kind

if TYPE_CHECKING:
    from miai_tournaments.formats.format import Format
    from miai_tournaments.store.database import Database
    from miai_tournaments.workers.executor import Executor

FORMAT: Kind[Format] = Kind(
    "tournament-format",
    "miai_tournaments.formats.format:Format",
    ("entrants",),
    "Who meets whom in a tournament",
)
EXECUTOR: Kind[Executor] = Kind(
    "executor",
    "miai_tournaments.workers.executor:Executor",
    ("workload",),
    "Where the games of a tournament are played",
)
STORE: Kind[Database] = Kind(
    "store",
    "miai_tournaments.store.database:Database",
    ("folder",),
    "Where the results of a tournament are kept",
)
