"""A tournament's report as one page.

Sections of a report's page: ratings with bars, teams, and who beat whom.

Sections of a report's page on the games themselves: endings, time, openings, failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from miai_tournaments.ratings.performance import PerformanceRow
from miai_tournaments.report import charts
from miai_tournaments.report import tables as cells
from miai_tournaments.report import theory_page as theory_sections
from miai_tournaments.report.counting import FORFEITS, Tally
from miai_tournaments.report.details import MOST_OPENINGS, TimeUse
from miai_tournaments.report.html import (
    NONE,
    Cell,
    Head,
    Markup,
    PageSection,
    contents,
    document,
    framed,
    join,
    name,
    section,
    table,
    tag,
    text,
)
from miai_tournaments.store.rows import GameRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from miai_tournaments.report.report import TournamentReport


_SHADES = 9
_WIDEST_NUMBERS = 24  # players of a crosstable whose cells still say the numbers of games


def ratings(report: TournamentReport) -> PageSection:
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
    report: TournamentReport, rank: int, player: str, extent: tuple[float, float]
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


def _held(report: TournamentReport) -> Markup:
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


def _remarks(report: TournamentReport) -> Markup:
    from miai_tournaments.report.tables import remarks

    return join(tag("p", line, class_="note") for line in remarks(report).lines)


def teams(report: TournamentReport) -> PageSection | None:
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


def crosstable(report: TournamentReport) -> PageSection:
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


def _meeting(report: TournamentReport, player: str, other: str) -> Markup:
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
        title=f"{cells.player_name(player)} against {cells.player_name(other)}: "
        f"{_wdl_title(tally)}",
    )


def shade(score: float) -> int:
    """Return which of the map's colours a score from 0 to 1 has; the middle one is for a half."""
    return round(score * (_SHADES - 1))


def _wdl_title(tally: Tally) -> str:
    return f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"


def _superiority(report: TournamentReport) -> Markup:
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


_MOST_NAMED = 100


def endings(report: TournamentReport) -> PageSection:
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


def adjudication(report: TournamentReport) -> PageSection | None:
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


def times(report: TournamentReport) -> PageSection | None:
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


def openings(report: TournamentReport) -> PageSection | None:
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


def _lines(label: str, head: str, lines: Sequence[PerformanceRow]) -> Markup:
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


def failures(report: TournamentReport) -> PageSection | None:
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


def replay_links(rows: Sequence[GameRow], folder: str) -> PageSection | None:
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


def report_page(
    report: TournamentReport, *, replays: Sequence[GameRow] = (), replay_folder: str = "replays"
) -> str:
    """Return a report, which has details, as a page of HTML.

    Args:
      replays: games whose replays lie in `replay_folder`, as the page sees it.
    """
    title = report.info.name if report.info else "tournament"
    sections = _sections(report, replays, replay_folder) if report.standings.players else []
    main = [part.markup for part in sections] or [tag("p", "No games yet.")]
    return document(
        f"{text(title, 80)} \N{EN DASH} tournament report",
        tag("header", tag("h1", name(title, 80)), *_heading(report), contents(sections)),
        tag("main", *main),
        tag("footer", "Made by miai. This page needs no network; its tables sort by their heads."),
        styles=("page.css",),
        scripts=("sort.js",),
    )


def _sections(
    report: TournamentReport, replays: Sequence[GameRow], folder: str
) -> list[PageSection]:
    played = bool(report.standings.first_player.games)
    parts = [ratings(report)]
    if not played:
        return [*parts, theory_sections.about(report)]
    found = [
        theory_sections.format_state(report),
        teams(report),
        crosstable(report),
        theory_sections.curves(report),
        endings(report),
        adjudication(report),
        theory_sections.transitivity(report),
        times(report),
        openings(report),
        failures(report),
        replay_links(replays, folder),
        theory_sections.about(report),
    ]
    return [*parts, *(part for part in found if part is not None)]


def _heading(report: TournamentReport) -> list[Markup]:
    from miai_tournaments.report.tables import heading

    lines = heading(report).lines[:2]
    return [tag("p", line, class_="dim") for line in lines]
