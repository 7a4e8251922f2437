"""Formats of tournaments: they pair players from the results so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.plugins.kinds import Kind

if TYPE_CHECKING:
    from miai_tournaments.formats.format import Format

FORMAT: Kind[Format] = Kind(
    "tournament-format",
    "miai_tournaments.formats.format:Format",
    ("entrants",),
    "Who meets whom in a tournament",
)
