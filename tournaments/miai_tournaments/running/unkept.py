"""Which limits of a config this machine cannot keep; the run goes on, and says so."""

from __future__ import annotations

from pathlib import Path

from miai.process.hiding import hindrance
from miai_tournaments.config.schema import LimitsSection, available_processors


def unkept_limits(limits: LimitsSection, folder: Path, *, executor: str) -> list[str]:
    """Return a line for each limit that agents on this machine are not kept within.

    Args:
      folder: of the run.
      executor: by name; with ``ray`` agents run on other machines, whose processors differ.
    """
    lines = []
    if limits.private and (reason := hindrance(folder)):
        lines.append(f"{reason}: agents could read the run's folder")
    asked, here = limits.processors, available_processors()
    if asked is not None and asked > here and executor != "ray":
        lines.append(f"limits.processors = {asked}: agents share the {here} of this machine")
    return lines
