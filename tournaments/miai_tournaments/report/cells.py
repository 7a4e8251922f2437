"""What the tables of a report share: figures and names as texts, and the leading columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from miai_tournaments.ratings.ratings import Estimate
from miai_tournaments.report.layout import Column, Table, printable
from miai_tournaments.report.standings import Tally

if TYPE_CHECKING:
    from miai_tournaments.report.report import Report

NAME_WIDTH = 24
"""Most cells of a player's name in a table."""

NONE = "-"
"""Where there is nothing to tell."""

PLAYER = (Column("#", style="dim"), Column("player", align="left", least=8))
"""The columns that every table of players begins with."""

_MOST_NAMES = 8


def player_table(
    title: str, columns: Sequence[Column], rows: Sequence[tuple[int, str, Sequence[str]]]
) -> Table:
    """Return a table of rows ``(rank, name, cells)`` with its leading columns."""
    cells = tuple((str(rank), player_name(name), *rest) for rank, name, rest in rows)
    return Table(title, (*PLAYER, *columns), cells)


def ranked(report: Report) -> list[tuple[int, str]]:
    """Return ranks, from 1, and names."""
    return list(enumerate(report.ranking(), start=1))


def player_name(name: str) -> str:
    """Return a player's name as it may be printed."""
    return printable(name, NAME_WIDTH)


def groups(groups: Sequence[Sequence[str]]) -> str:
    """Return groups of players by name, the first of each and of all."""
    shown = [", ".join(_first([player_name(name) for name in group])) for group in groups]
    return "; ".join(_first(shown))


def signed(value: float) -> str:
    """Return a whole number with its sign."""
    whole = round(value)
    return f"{whole:+d}" if whole else "0"


def plus_minus(estimate: Estimate) -> str:
    """Return a number with half the width of its 95 % interval."""
    margin = estimate.high - estimate.value
    return f"{signed(estimate.value)} \N{PLUS-MINUS SIGN} {margin:.0f}"


def percent(share: float | None) -> str:
    """Return a share as a percentage with one decimal place."""
    return NONE if share is None else f"{100 * share:.1f}%"


def wins_draws_losses(tally: Tally) -> str:
    """Return a tally as W-D-L."""
    return f"{tally.wins}-{tally.draws}-{tally.losses}" if tally.games else NONE


def counted(number: int, noun: str) -> str:
    """Return a number of things, their noun in the plural where there is not one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def minute(moment: str) -> str:
    """Return an ISO 8601 moment in UTC to the minute."""
    return f"{printable(moment[:16].replace('T', ' '), 16)} UTC"


def _first(items: Sequence[str]) -> list[str]:
    more = len(items) - _MOST_NAMES
    return [*items[:_MOST_NAMES], *([f"and {more} more"] if more > 0 else [])]
