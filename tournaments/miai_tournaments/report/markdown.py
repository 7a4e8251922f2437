"""A report as Markdown: its tables, for pages and issues that show them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from miai_tournaments.report import tables
from miai_tournaments.report import tables as cells
from miai_tournaments.report.tables import crosstable, superiority_table
from miai_tournaments.report.terminal import Paragraph, TextTable, printable

if TYPE_CHECKING:
    from miai_tournaments.ratings.performance import PerformanceRow
    from miai_tournaments.report.details import Details
    from miai_tournaments.report.report import TournamentReport


_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~&$])")
_WIDE = 100_000  # cells: nothing is left out
_LONGEST = 120


def to_markdown(report: TournamentReport) -> str:
    """Return a report as Markdown with tables (GitHub's); names are escaped."""
    heading = tables.heading(report)
    parts = [f"# {escaped(heading.title or 'Tournament')}", *map(escaped, heading.lines)]
    if not report.standings.players:
        return "\n\n".join([*parts, "No games yet.", ""])
    parts.append(_table(tables.ratings_table(report)))
    parts += [escaped(line) for said in tables.verdict(report) for line in said.lines]
    parts.append(_paragraph(tables.remarks(report)))
    for block in crosstable(report, _WIDE):
        parts.append(_table(block) if isinstance(block, TextTable) else _paragraph(block))
    if report.superiority:
        parts += [_table(b) for b in superiority_table(report, _WIDE) if isinstance(b, TextTable)]
    if report.standings.first_player.games:
        parts.append(_table(tables.colour_table(report)))
        parts.append(_table(tables.endings_table(report, _WIDE)))
        parts += _details(report.details)
    if report.adjudications is not None:
        parts.append(_table(report.adjudications.table()))
    if report.standings.forfeits:
        parts.append(_paragraph(tables.forfeits(report)))
    parts += map(_paragraph, tables.players(report))
    return "\n\n".join([*filter(None, parts), ""])


def escaped(text: str) -> str:
    """Return a printable text as Markdown that shows just that."""
    return _SPECIAL.sub(r"\\\1", text)


def _table(table: TextTable) -> str:
    rows = [[escaped(cell) for cell in row] for row in table.rows]
    heads = [escaped(column.header) or " " for column in table.columns]
    aligns = [":--" if column.align == "left" else "--:" for column in table.columns]
    return f"## {escaped(table.title)}\n\n{_lines(heads, aligns, rows)}"


def _lines(heads: Sequence[str], aligns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, aligns, *rows])


def _paragraph(paragraph: Paragraph) -> str:
    lines = "\n".join(f"- {escaped(line)}" for line in paragraph.lines)
    return f"## {escaped(paragraph.title)}\n\n{lines}" if paragraph.title else lines


def _details(details: Details | None) -> list[str]:
    if details is None:
        return []
    parts = []
    if details.teams:
        parts.append(_teams(details))
    if details.openings:
        parts.append(_openings("By opening, the first player's results", details.openings))
    if details.settings:
        parts.append(_openings("By parameters of the game", details.settings))
    if details.transitivity and details.alpha_rank:
        parts.append(_transitivity(details))
    return parts


def _teams(details: Details) -> str:
    rows = [
        [
            escaped(cells.player_name(team.name)),
            str(len(team.members)),
            cells.plus_minus(team.rating) if team.rating else cells.NONE,
            cells.percent(team.against_others.score),
        ]
        for team in details.teams
    ]
    lines = _lines(["team", "members", "mean Elo", "score"], [":--", "--:", "--:", "--:"], rows)
    return f"## Teams\n\n{lines}"


def _openings(title: str, lines: Sequence[PerformanceRow]) -> str:
    rows = [
        [
            escaped(printable(line.opening, _LONGEST)) if line.opening else "none",
            f"{line.wins}-{line.draws}-{line.losses}",
            cells.percent(line.score),
            f"{cells.percent(line.low)} to {cells.percent(line.high)}",
        ]
        for line in lines
    ]
    heads = ["opening", "W-D-L", "score", "95% interval"]
    return f"## {title}\n\n{_lines(heads, [':--', '--:', '--:', '--:'], rows)}"


def _transitivity(details: Details) -> str:
    found: Any = details.transitivity
    shares = details.alpha_rank or {}
    rows = [
        [escaped(cells.player_name(name)), cells.percent(share)]
        for name, share in sorted(shares.items(), key=lambda item: -item[1])
    ]
    told = (
        f"{found.cycles} of {found.triples} triples of players are cycles "
        f"({cells.percent(found.share)}; ratings alone lead to {cells.percent(found.expected)})."
        if found.triples
        else "There are no triples of players that met and did not share their points exactly."
    )
    told = " ".join(filter(None, (told, details.alpha_rank_rests_on())))
    lines = _lines(["player", "alpha-rank"], [":--", "--:"], rows)
    return f"## Non-transitivity\n\n{told}\n\n{lines}"
