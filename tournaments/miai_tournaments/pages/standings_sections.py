"""Sections of a report's page: ratings with bars, teams, and who beat whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai_tournaments.pages import charts
from miai_tournaments.pages.document import Section, section
from miai_tournaments.pages.markup import Markup, join, name, tag
from miai_tournaments.pages.tables import NONE, Cell, Head, framed, table
from miai_tournaments.report import cells
from miai_tournaments.report.standings import Tally

if TYPE_CHECKING:
    from miai_tournaments.report.report import Report

_SHADES = 9
_WIDEST_NUMBERS = 24  # players of a crosstable whose cells still say the numbers of games


def ratings(report: Report) -> Section:
    """Return the players by rating, each with its interval as a bar."""
    fit = report.ratings
    played = [n for n in report.ranking() if report.standings.players[n].total.games]
    estimates = [fit.estimate(player) for player in played]
    ends = [fit.anchor_elo, *(e.low for e in estimates), *(e.high for e in estimates)]
    extent = charts.widened(ends)
    heads = [
        Head("#"),
        Head("player", "left"),
        Head("Elo"),
        Head("\N{PLUS-MINUS SIGN}", title="half the width of the 95 % interval"),
        Head("95 % interval", "left"),
        Head("score"),
        Head("W"),
        Head("D"),
        Head("L"),
        Head("games"),
        *([Head("return", title="mean utility a game")] if report.standings.stakes else []),
        *([Head("bootstrap", title="95 % interval, pairs resampled")] if report.bootstrap else []),
    ]
    rows = [
        _rating_row(report, rank, player, extent)
        for rank, player in enumerate(report.ranking(), start=1)
    ]
    made = table("Ratings", heads, rows, keys=report.ranking())
    return section("Ratings", made, _remarks(report), id="ratings", note=_held(report), wide=True)


def _rating_row(
    report: Report, rank: int, player: str, extent: tuple[float, float]
) -> list[Cell | str]:
    standing = report.standings.players[player]
    total = standing.total
    row: list[Cell | str] = [Cell(str(rank), rank, "rank"), Cell(name(player))]
    if total.games:
        found = report.ratings.estimate(player)
        margin = found.high - found.value
        told = f"{cells.signed(found.value)}, {found.low:.0f} to {found.high:.0f}"
        bar = charts.rating_bar(
            found.value,
            found.low,
            found.high,
            zero=report.ratings.anchor_elo,
            extent=extent,
            label=told,
        )
        row += [
            Cell(cells.signed(found.value), found.value, "elo"),
            Cell(f"{margin:.0f}", margin),
            Cell(bar, found.low, "low", title=told),
        ]
    else:
        row += [NONE, NONE, ""]
    score = total.score
    row.append(NONE if score is None else Cell(cells.percent(score), score, "score"))
    for key in ("wins", "draws", "losses", "games"):
        row.append(Cell(str(getattr(total, key)), getattr(total, key), key))
    if report.standings.stakes:
        mean = standing.returns.value
        row.append(NONE if mean is None else Cell(f"{mean:+.3f}", mean, "mean_return"))
    if report.bootstrap is not None:
        low, high = report.bootstrap.intervals()[report.bootstrap.players.index(player)].tolist()
        row.append(Cell(f"{cells.signed(low)} to {cells.signed(high)}", low))
    return row


def _held(report: Report) -> Markup:
    fit = report.ratings
    held = Markup("The mean") if fit.anchor is None else name(fit.anchor)
    return join(
        (
            "Elo of a joint fit with draws and the advantage of moving first; bars span 95 % "
            "intervals. ",
            held,
            f" is held at {fit.anchor_elo:g}. To compare two players, their errors being "
            "correlated, take the likelihood of superiority rather than overlapping bars.",
        )
    )


def _remarks(report: Report) -> Markup:
    from miai_tournaments.report.tables import remarks

    return join(tag("p", line, class_="note") for line in remarks(report).lines)


def teams(report: Report) -> Section | None:
    """Return the teams' ratings; None where there are none."""
    found = report.details.teams if report.details else ()
    if not found:
        return None
    heads = [
        Head("team", "left"),
        Head("members", "left"),
        Head("mean Elo"),
        Head("\N{PLUS-MINUS SIGN}"),
        Head("score", title="of members against players of no team or another"),
        Head("games"),
    ]
    rows: list[list[Cell | str]] = []
    for team in found:
        members = Cell(join(map(name, team.members), ", "), style="text")
        tally, rating = team.against_others, team.rating
        score = tally.score
        rows.append(
            [
                Cell(name(team.name)),
                members,
                NONE if rating is None else Cell(cells.signed(rating.value), rating.value, "elo"),
                NONE
                if rating is None
                else Cell(f"{rating.high - rating.value:.0f}", rating.high - rating.value),
                NONE if score is None else Cell(cells.percent(score), score, "score"),
                Cell(str(tally.games), tally.games, "games"),
            ]
        )
    made = table("Teams", heads, rows, keys=[team.name for team in found])
    note = "The mean rating of a team's members, with the error of that mean."
    return section("Teams", made, id="teams", note=note)


def crosstable(report: Report) -> Section:
    """Return the score of everybody against everybody as a map of colours."""
    players = report.ranking()
    corner = [tag("th", "#", scope="col"), tag("th", "player", scope="col", class_="left")]
    heads = [
        tag("th", str(rank), scope="col", title=cells.player_name(player))
        for rank, player in enumerate(players, start=1)
    ]
    rows = [
        tag(
            "tr",
            tag("td", str(rank)),
            tag("th", name(player, 24), scope="row", class_="left"),
            *(_meeting(report, player, other) for other in players),
            data_row=player,
        )
        for rank, player in enumerate(players, start=1)
    ]
    made = tag(
        "table",
        tag("thead", tag("tr", *corner, *heads)),
        tag("tbody", *rows),
        class_="heat",
    )
    note = (
        "Points of the row against the column, in percent, over the number of games; blue is good "
        "for the row, orange for the column. Columns are headed by rank."
    )
    parts = [framed("Crosstable", made)]
    if report.superiority:
        parts.append(_superiority(report))
    return section("Crosstable", *parts, id="crosstable", note=note, wide=len(players) > 6)


def _meeting(report: Report, player: str, other: str) -> Markup:
    if player == other:
        return tag("td", "\N{MIDDLE DOT}", class_="self")
    tally = report.standings.against(player, other)
    if not tally.games or tally.score is None:
        return tag("td", NONE, class_="self")
    told = f"{100 * tally.score:.0f}"
    if len(report.standings.players) <= _WIDEST_NUMBERS:
        told += f"/{tally.games}"
    return tag(
        "td",
        told,
        class_=f"c{shade(tally.score)}",
        data_value=repr(tally.score),
        data_opponent=other,
        title=f"{cells.player_name(player)} against {cells.player_name(other)}: {_wdl(tally)}",
    )


def shade(score: float) -> int:
    """Return which of the map's colours a score from 0 to 1 has; the middle one is for a half."""
    return round(score * (_SHADES - 1))


def _wdl(tally: Tally) -> str:
    return f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"


def _superiority(report: Report) -> Markup:
    players, order = report.ranking(), report.ratings.ranking()
    chances = report.ratings.superiority()
    heads = [Head("#"), Head("player", "left"), *(Head(str(r + 1)) for r in range(len(players)))]
    rows: list[list[Cell | str]] = []
    for rank, (player, i) in enumerate(zip(players, order, strict=True), start=1):
        row: list[Cell | str] = [str(rank), Cell(name(player, 24))]
        for j in order:
            chance = float(chances[i, j])
            style = "self" if i == j else f"c{shade(chance)}"
            row.append("\N{MIDDLE DOT}" if i == j else Cell(_chance(chance), chance, style=style))
        rows.append(row)
    title = tag("h3", "Likelihood that the row is stronger than the column, in percent")
    return join((title, table("Superiority", heads, rows, sortable=False, style="heat")))


def _chance(chance: float) -> str:
    percent = 100 * chance
    return ">99" if percent > 99.5 else "<1" if percent < 0.5 else f"{percent:.0f}"
