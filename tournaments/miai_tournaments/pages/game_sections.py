"""Sections of a report's page on the games themselves: endings, time, openings, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai_tournaments.pages import charts
from miai_tournaments.pages.document import Section, section
from miai_tournaments.pages.markup import Markup, join, name, tag, text
from miai_tournaments.pages.tables import NONE, Cell, Head, table
from miai_tournaments.ratings.performance import Line
from miai_tournaments.report import cells
from miai_tournaments.report.details import MOST_OPENINGS
from miai_tournaments.report.standings import FORFEITS, Tally
from miai_tournaments.report.timing import TimeUse
from miai_tournaments.store.rows import GameRow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from miai_tournaments.report.report import Report

_MOST_NAMED = 100


def endings(report: Report) -> Section:
    """Return why games ended, for all and by player."""
    details = report.details
    assert details is not None
    counts = details.terminations
    total = sum(counts.values())
    parts: list[Markup] = []
    at = 0.0
    for i, count in enumerate(counts.values()):
        share = 480 * count / total
        bar = tag("rect", x=at, y=0, width=share, height=20)
        parts.append(tag("g", bar, class_=charts.series_class(i)))
        at += share
    stack = tag(
        "svg",
        *parts,
        class_="stack",
        viewBox="0 0 480 20",
        preserveAspectRatio="none",
        role="img",
        aria_label="Shares of terminations",
    )
    legend = tag(
        "ul",
        *(_share(i, reason, n, total) for i, (reason, n) in enumerate(counts.items())),
        class_="legend",
    )
    heads = [Head("player", "left"), *(Head(text(reason, 24)) for reason in counts)]
    rows: list[list[Cell | str]] = []
    for player in report.ranking():
        found = report.standings.players[player].endings
        rows.append([Cell(name(player)), *(_wdl(found.get(r, Tally())) for r in counts)])
    made = table("Results by termination", heads, rows, keys=report.ranking())
    note = "Why games ended; by player won, drawn and lost games of each kind."
    return section("Endings", stack, legend, made, id="endings", note=note)


def adjudication(report: Report) -> Section | None:
    """Return what rules of adjudication have done; None where there are none."""
    told = report.adjudications
    if told is None:
        return None
    heads = [Head("rule", "left"), Head("ended"), Head("held out"), Head("wrong")]
    rows: list[list[Cell | str]] = [
        [
            Cell(text(rule.rule, 80)),
            *(Cell(str(count), count) for count in (rule.ended, rule.held_out, rule.wrong)),
        ]
        for rule in told.rules
    ]
    note = (
        "Games that rules ended before their end; games that were played on although a rule had "
        "decided them, and how many of these ended otherwise."
    )
    return section("Adjudication", table("By rule", heads, rows), id="adjudication", note=note)


def _share(index: int, reason: str, count: int, total: int) -> Markup:
    swatch = tag("rect", class_="fill", width=34, height=12)
    sign = tag(
        "svg", swatch, viewBox="0 0 34 12", class_=charts.series_class(index), aria_hidden="true"
    )
    told = tag("span", f"{count} ({cells.percent(count / total)})", data_ending=text(reason))
    return tag("li", sign, f"{text(reason, 24)} ", told)


def _wdl(tally: Tally) -> Cell | str:
    return Cell(cells.wins_draws_losses(tally), tally.games) if tally.games else NONE


def times(report: Report) -> Section | None:
    """Return the players' use of time; None where none was measured."""
    details = report.details
    assert details is not None
    if not any(use.games for use in details.times):
        return None
    spans = [q for use in details.times for q in use.quantiles]
    extent = charts.widened([0.0, *spans], 0.02)
    heads = [
        Head("player", "left"),
        Head("s/move", title="mean wall time"),
        Head("cpu s", title="mean CPU time"),
        Head("median s", title="of the games' mean times of a move"),
        Head("spread over games", "left", title="5, 25, 50, 75 and 95 % of games"),
        Head("longest game s"),
        Head("total"),
        Head("lost on time"),
    ]
    rows = [_time_row(use, (0.0, extent[1])) for use in details.times]
    made = table("Time use", heads, rows, keys=[use.player for use in details.times])
    note = (
        f"Seconds a move. The boxes span half of the games, the whiskers 90 %, from 0 to "
        f"{seconds(extent[1])} s."
    )
    return section("Time", made, id="time", note=note, wide=True)


def _time_row(use: TimeUse, extent: tuple[float, float]) -> list[Cell | str]:
    row: list[Cell | str] = [Cell(name(use.player))]
    for key, value in (("per_move", use.per_move), ("cpu_per_move", use.cpu_per_move)):
        row.append(NONE if value is None else Cell(seconds(value), value, key))
    if use.quantiles:
        told = ", ".join(map(seconds, use.quantiles))
        middle = use.quantiles[2]
        row.append(Cell(seconds(middle), middle))
        row.append(Cell(charts.box(use.quantiles, extent=extent, label=told), middle, title=told))
    else:
        row += [NONE, NONE]
    row.append(Cell(seconds(use.longest_game), use.longest_game, "longest_game"))
    row.append(Cell(_duration(use.total), use.total, "total"))
    row.append(Cell(str(use.lost_on_time), use.lost_on_time, "lost_on_time"))
    return row


def seconds(value: float) -> str:
    """Return a number of seconds with three digits that matter."""
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _duration(value: float) -> str:
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def openings(report: Report) -> Section | None:
    """Return results by opening, and by settings; None where all games have the same."""
    details = report.details
    assert details is not None
    parts: list[Markup] = []
    if details.openings:
        more = details.opening_count - len(details.openings)
        if more > 0:
            parts.append(
                tag("p", f"The {MOST_OPENINGS} of most games; {more} more.", class_="note")
            )
        parts.append(_lines("Openings", "opening", details.openings))
    if details.settings:
        parts.append(tag("h3", "Parameters of the game"))
        parts.append(_lines("Settings", "parameters", details.settings))
    if not parts:
        return None
    note = "The score of whoever moved first, with 95 % intervals."
    if test := details.opening_test:
        note += (
            f" If openings made no difference, results as uneven as these would come up with "
            f"probability {test.p_value:.2g} ({test.replicates} shufflings)."
        )
    return section("Openings", *parts, id="openings", note=note, wide=True)


def _lines(label: str, head: str, lines: Sequence[Line]) -> Markup:
    heads = [
        Head(head, "left"),
        Head("first player"),
        Head("95 % interval", "left"),
        Head("W"),
        Head("D"),
        Head("L"),
        Head("games"),
    ]
    rows: list[list[Cell | str]] = []
    for line in lines:
        told = f"{cells.percent(line.low)} to {cells.percent(line.high)}"
        bar = charts.rating_bar(
            line.score, line.low, line.high, zero=0.5, extent=(0.0, 1.0), label=told
        )
        rows.append(
            [
                Cell(text(line.opening, 120) if line.opening else "none", style="text"),
                Cell(cells.percent(line.score), line.score, "score"),
                Cell(bar, line.low, "low", title=told),
                *(
                    Cell(str(getattr(line, key)), getattr(line, key), key)
                    for key in ("wins", "draws", "losses", "games")
                ),
            ]
        )
    return table(label, heads, rows, keys=[line.opening or "" for line in lines])


def failures(report: Report) -> Section | None:
    """Return forfeits and void games with their reasons; None where there are none."""
    standings = report.standings
    parts: list[Markup] = []
    if standings.forfeits:
        parts += _named("Forfeits", standings.forfeits, _forfeit, ("player", "how", "reason"))
    if standings.voids:
        parts += _named("Void attempts", standings.voids, _void, ("attempts", "reason"))
    if not parts:
        return None
    return section("Failures", *parts, id="failures", wide=True)


def _named(
    title: str,
    rows: Sequence[GameRow],
    cells_of: Callable[[GameRow], list[Cell | str]],
    heads: Sequence[str],
) -> list[Markup]:
    shown = rows[:_MOST_NAMED]
    parts = [tag("h3", f"{title}: {len(rows)}")]
    if len(rows) > len(shown):
        parts.append(tag("p", f"The first {len(shown)}; the JSON has all.", class_="note"))
    columns = [Head("game", "left"), *(Head(head, "left") for head in heads)]
    made = [[Cell(text(row.game_id, 80)), *cells_of(row)] for row in shown]
    return [*parts, table(title, columns, made)]


def _forfeit(row: GameRow) -> list[Cell | str]:
    loser = Cell(NONE) if row.loser is None else Cell(name(row.players[row.loser]))
    return [loser, text(row.termination, 24), Cell(text(row.detail, 400), style="text")]


def _void(row: GameRow) -> list[Cell | str]:
    count = Cell(str(row.void_count), row.void_count)
    return [count, Cell(text(row.void_reason, 400), style="text")]


def replays(rows: Sequence[GameRow], folder: str) -> Section | None:
    """Return links to games' replays; None where there are none.

    Args:
      rows: games whose replays were written.
      folder: where they lie, as the page sees it.
    """
    if not rows:
        return None
    heads = [
        Head("game", "left"),
        Head("first", "left"),
        Head("second", "left"),
        Head("result", "left"),
        Head("moves"),
    ]
    made: list[list[Cell | str]] = []
    for row in rows:
        link = tag("a", text(row.game_id, 80), href=f"{folder}/{quoted(row.game_id)}.html")
        first, second = row.players
        made.append(
            [
                Cell(link),
                Cell(name(first)),
                Cell(name(second)),
                Cell(result_text(row)),
                Cell(str(row.moves), row.moves),
            ]
        )
    return section("Replays", table("Replays", heads, made), id="replays", wide=True)


def quoted(file: str) -> str:
    """Return a file's name for a link."""
    from urllib.parse import quote

    return quote(file, safe="~")


def result_text(row: GameRow) -> Markup:
    """Return who won a game and how."""
    first, second = row.returns
    how = row.termination
    if how not in FORFEITS and row.detail:
        how = f"{how}, {row.detail}" if how != "terminal" else row.detail
    told = text(how, 80)
    if first == second:
        return join(("drawn (", told, ")"))
    return join((name(row.players[0] if first > second else row.players[1]), f" won ({told})"))
