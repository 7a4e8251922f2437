"""The tables of players against players; their columns are headed by rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from miai_tournaments.report import cells
from miai_tournaments.report.layout import Block, Column, Paragraph, Table

if TYPE_CHECKING:
    from miai_tournaments.report.report import Report

SAME = "\N{MIDDLE DOT}"
"""A player against itself."""

_MOST_PARTS = 2


def crosstable(report: Report, width: int) -> list[Block]:
    """Return points and games of each player against each; percentages where space is short."""
    standings = report.standings

    def points(a: str, b: str) -> str:
        tally = standings.against(a, b)
        return f"{tally.points:g}/{tally.games}" if tally.games else cells.NONE

    def percentage(a: str, b: str) -> str:
        score = standings.against(a, b).score
        return cells.NONE if score is None else f"{100 * score:.0f}"

    whole = _square(report, "Crosstable: points/games of the row against the column", points)
    if whole.fits(width):
        return [whole]
    short = _square(report, "Crosstable: score of the row against the column in %", percentage)
    return _in_parts(short, width)


def wins_draws_losses(report: Report, width: int) -> list[Block]:
    """Return wins, draws and losses against each player, where there are draws and space."""
    standings = report.standings

    def cell(a: str, b: str) -> str:
        return cells.wins_draws_losses(standings.against(a, b))

    table = _square(report, "W-D-L of the row against the column", cell)
    return [table] if standings.first_player.draws and table.fits(width) else []


def superiority_table(report: Report, width: int) -> list[Block]:
    """Return the probability that the player of the row is stronger, by opponent."""
    chances = report.ratings.superiority()
    index = {name: i for i, name in enumerate(report.ratings.players)}

    def cell(a: str, b: str) -> str:
        percent = 100 * chances[index[a], index[b]]
        return ">99" if percent > 99.5 else "<1" if percent < 0.5 else f"{percent:.0f}"

    title = "Superiority: likelihood that the row is stronger than the column in %"
    return _in_parts(_square(report, title, cell), width)


def _square(report: Report, title: str, cell: Callable[[str, str], str]) -> Table:
    players = cells.ranked(report)
    columns = [Column(str(rank)) for rank, _ in players]
    rows = [(rank, a, [SAME if a == b else cell(a, b) for _, b in players]) for rank, a in players]
    return cells.player_table(title, columns, rows)


def _in_parts(table: Table, width: int) -> list[Block]:
    """Return a square table as parts, each with some of the opponents, that fit into a width."""
    opponents = len(table.columns) - len(cells.PLAYER)
    for parts in range(1, _MOST_PARTS + 1):
        size = -(-opponents // parts)
        pieces = [_part(table, at, at + size) for at in range(0, opponents, size)]
        if all(piece.fits(width) for piece in pieces):
            return list(pieces)
    title = table.title.split(":")[0]
    return [Paragraph((f"{title}: left out for {opponents} players; the JSON report has it.",))]


def _part(table: Table, start: int, end: int) -> Table:
    lead = len(cells.PLAYER)

    def pick(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return row[:lead] + row[lead + start : lead + end]

    title = f"{table.title}, continued" if start else table.title
    return Table(title, pick(table.columns), tuple(pick(row) for row in table.rows))
