"""The openings of a run that was begun, from its store; every value is checked where it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from miai.errors import StoreError
from miai.game import Game
from miai_tournaments.config.balance import check_balance
from miai_tournaments.config.openings import Openings, told_lines
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.store.database import damaged
from miai_tournaments.store.reading import is_int, is_list, is_number
from miai_tournaments.store.store import FILE_NAME, RunInfo

JUDGED: Final = "openings"
"""The key of `RunInfo.resolved` that tells which lines of a file were found to be balanced."""


def stored_openings(info: RunInfo, config: TournamentConfig, game: Game, folder: Path) -> Openings:
    """Return the openings of a run.

    Raises:
      StoreError: the store does not tell them.
      MiaiError: what balances them is not there any more.
    """
    results: Any = info.resolved.get("results")
    told = results.get("openings") if isinstance(results, Mapping) else None
    lines = told_lines(told) if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or lines is None or not is_int(told.get("random_plies")):
        raise _damaged(folder, "value has no openings")
    found = Openings(game, told["random_plies"], lines)
    if config.openings.balance is not None:
        found = replace(found, balance=check_balance(config.openings.balance, game))
    return with_judgement(found, info, folder)


def with_judgement(openings: Openings, info: RunInfo, folder: Path) -> Openings:
    """Return openings with what a store tells of the balance of their lines.

    Raises:
      StoreError: it tells of other lines, or of none where they are balanced.
    """
    if openings.balance is None or not openings.lines:
        return openings
    told = info.resolved.get(JUDGED, {})
    kept, values = told.get("kept"), told.get("values")
    if not is_list(kept, is_int) or not is_list(values, is_number) or len(kept) != len(values):
        raise _damaged(folder, "value does not tell which openings are balanced")
    if not kept or max(kept) >= len(openings.lines):
        raise _damaged(folder, "value tells of other openings")
    return replace(openings, kept=tuple(kept), values=tuple(values))


def _damaged(folder: Path, what: str) -> StoreError:
    return damaged(folder / FILE_NAME, f"table run, row 'resolved': {what}")
