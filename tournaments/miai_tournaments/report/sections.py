"""The document of a tournament's report: its sections, built once for every medium.

Sections that need the details of a report (`miai_tournaments.report.details`) are for Markdown and
pages, for which a terminal has no room.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from markupsafe import Markup

from miai.markup import tag
from miai.pages import charts
from miai.pages.document import (
    NONE,
    PAGE,
    PRINTED,
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Medium,
    Paragraph,
    Row,
    Section,
    Table,
    counted,
    printable,
    printable_block,
)
from miai.pages.layout import name as name_markup
from miai.pages.layout import text
from miai.plain import listed
from miai_tournaments.ratings.payoffs import Payoffs
from miai_tournaments.ratings.performance import PerformanceRow
from miai_tournaments.ratings.ratings import Estimate, Ratings
from miai_tournaments.report.counting import FORFEITS, Mean, Tally
from miai_tournaments.report.details import MOST_OPENINGS, Details, TimeUse, variants
from miai_tournaments.report.head_to_head import HeadToHead, head_to_head
from miai_tournaments.store.rows import GameRow

if TYPE_CHECKING:
    from miai_tournaments.report.details import ReportContents


NAME_WIDTH = 24
"""Maximum width of a player's name in the tables of a terminal, and in sentences."""

LINE_WIDTH = 160
"""Maximum width of a line with texts of foreign origin."""

_VERDICT_WIDTH = 400
_REASON_WIDTH = 400
_PARAMETERS_WIDTH = 600
_OPENING_WIDTH = 120

RANK = Column("#", style="dim")
PLAYER = Column("player", align="left", least=8, most=NAME_WIDTH)

_DETAILED: tuple[Medium, ...] = ("markdown", "page")
_SHADES = 9
_MAX_NAMES = 8  # of players in a sentence
_MAX_LISTED_FORFEITS = 10
_MAX_FAILURES = 100
_MAX_RANKING = 200
_STANDINGS = {
    "points": "points",
    "buchholz": "Buchholz",
    "sonneborn_berger": "Sonneborn-Berger",
}
"""Figures of a format's standings, with their headings."""
_WIDE_RANGE = 8  # highest over lowest value, from which an axis shows ratios


def report_document(
    report: ReportContents, *, replays: Sequence[GameRow] = (), replay_folder: str = "replays"
) -> Document:
    """Return a report as a document.

    Args:
      replays: games that a page links to, in `replay_folder`.
    """
    title, lines = _heading(report)
    if not report.standings.players:
        empty = Section("ratings", "Standings", (Paragraph(("No games yet.",)),))
        return Document(title, lines, (empty,))
    facts = report.info.facts if report.info else {}
    table = _ranking(facts, media=PRINTED) if report.standings.first_player.games else ()
    blocks: list[Block] = [*results_tables(report), *verdict(report), *table, _remarks(report)]
    heading, note = ("Ratings", _RATINGS_NOTE) if report.ratings else ("Payoffs", _PAYOFFS_NOTE)
    if report.standings.seats > 2:
        note = _RANKINGS_NOTE if report.ratings else _BLOCKS_NOTE
    if head_to_head(report) is not None:
        heading, note = "Match", _MATCH_NOTE
    sections = [
        Section("ratings", heading, tuple(blocks), note=note, wide=True),
        *_played(report),
        *_replays(replays, replay_folder),
        _about(report),
    ]
    return Document(title, lines, tuple(sections))


def _played(report: ReportContents) -> list[Section]:
    details, played = report.details, bool(report.standings.first_player.games)
    sections = [_crosstables(report)]
    if played and details is not None:
        sections += [_format(details.facts), _teams(details, payoffs=report.ratings is None)]
    if played and report.ratings is not None:
        sections.append(
            Section("colours", "By colour", (_colours(report),))
            if report.standings.seats == 2
            else Section("colours", "By seat", (_seats(report),))
        )
    if played:
        sections.append(_endings(report))
    sections += [_adjudication(report), _failures(report)]
    if played and details is not None:
        sections += [
            _parameter_lines(report),
            _times(details),
            _openings(details),
        ]
    order = "format teams crosstable colours parameter endings adjudication time openings"
    ids = [*order.split(), "failures"]
    return sorted(sections, key=lambda section: ids.index(section.id))


# -- figures and names as texts -----------------------------------------------------------------


def ranked(report: ReportContents) -> list[tuple[int, str]]:
    """Return ranks, from 1, and names."""
    return list(enumerate(report.ranking(), start=1))


def player_name(name: str) -> str:
    """Return a player's name for a sentence."""
    return printable(name, NAME_WIDTH)


def player_cell(name: str) -> Cell:
    """Return the cell with a player's name."""
    return Cell(printable(name, 40), markup=name_markup(name))


def signed(value: float) -> str:
    """Return a whole number with its sign."""
    whole = round(value)
    return f"{whole:+d}" if whole else "0"


def percent(share: float | None) -> str:
    """Return a share as a percentage with one decimal place."""
    return NONE if share is None else f"{100 * share:.1f}%"


def parameter_list(parameters: Mapping[str, Any]) -> str:
    """Return parameters in a line: ``simulations 50, playouts light``; empty for none."""
    return ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in parameters.items()
    )


def result_text(row: GameRow) -> Markup:
    """Return who won a game and how."""
    how = row.termination
    if how not in FORFEITS and row.detail:
        how = f"{how}, {row.detail}" if how != "terminal" else row.detail
    reason = text(how, 80)
    won = [name_markup(row.players[seat]) for seat in _winners(row)]
    if len(won) == len(row.players):
        return Markup("drawn (%s)") % reason
    return Markup("%s won (%s)") % (Markup(" and ").join(won), reason)


def _winners(row: GameRow) -> list[int]:
    """Return the seats of those who were first."""
    return [seat for seat, value in enumerate(row.returns) if value == max(row.returns)]


_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)


def seat_names(count: int) -> tuple[str, ...]:
    """Return the names of the seats of a game: ``first``, ``second`` and so on."""
    return (*_ORDINALS, *map(str, range(len(_ORDINALS) + 1, count + 1)))[:count]


def _margin(estimate: Estimate) -> str:
    """Return half the width of a 95 % interval."""
    return f"{estimate.high - estimate.value:.0f}"


def _interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def _wins_draws_losses(tally: Tally) -> str:
    return f"{tally.wins}-{tally.draws}-{tally.losses}" if tally.games else NONE


def _wdl_cell(tally: Tally) -> Cell:
    return Cell(_wins_draws_losses(tally), tally.games or None)


def _score_cell(score: float | None) -> Cell:
    return Cell(percent(score), score, "score")


def _counts(of: object, *keys: str) -> list[Cell]:
    """Return a cell for each number of an object, by its name."""
    return [Cell(str(getattr(of, key)), getattr(of, key), key) for key in keys]


def _groups(groups: Sequence[Sequence[str]]) -> str:
    shown = [", ".join(_shortened([player_name(name) for name in group])) for group in groups]
    return "; ".join(_shortened(shown))


def _shortened(items: Sequence[str]) -> list[str]:
    more = len(items) - _MAX_NAMES
    return [*items[:_MAX_NAMES], *([f"and {more} more"] if more > 0 else [])]


def _seconds(value: float) -> str:
    """Return seconds with three significant digits."""
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _duration(value: float) -> str:
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


# -- the heading and the ratings ----------------------------------------------------------------

_RATINGS_NOTE = (
    "Elo of a joint fit with draws and the advantage of moving first; bars span 95 % intervals. "
    "To compare two players, whose errors are correlated, use the likelihood of superiority rather "
    "than overlapping bars."
)


_RANKINGS_NOTE = (
    "Elo of a joint fit of all rankings with ties and the values of the seats; bars span 95 % "
    "intervals. The score is the share of opponents that a player finished ahead of; W counts the "
    "games in which it was first alone, D those in which it shared the first place. To compare two "
    "players, whose errors are correlated, use the likelihood of superiority rather than "
    "overlapping bars."
)


_MATCH_NOTE = (
    "Elo of a fit with draws and the advantage of moving first; the bar spans the 95 % interval. "
    "Pairs are two games of one opening with swapped colours."
)


_PAYOFFS_NOTE = (
    "Mean payoff per game; two games of the same deal with swapped seats count as one. Bars span "
    "95 % intervals. Players are ranked by the mean payoff, not by games won."
)

_BLOCKS_NOTE = (
    "Mean payoff per game; the games of a block, of the same deal with everybody once in each "
    "seat, count as one. Bars span 95 % intervals. Players are ranked by the mean payoff, not by "
    "games won."
)


def _heading(report: ReportContents) -> tuple[str, tuple[str, ...]]:
    """Return the run's name, and what is played, how much is done and with which versions."""
    info, standings = report.info, report.standings
    progress = _progress(report)
    if info is None:
        return "", (progress,)
    if info.created:
        progress += f"; begun {printable(info.created[:16].replace('T', ' '), 16)} UTC"
    parameters = parameter_list(info.given_game_parameters())
    game = f"{info.game} (version {info.game_version}){': ' if parameters else ''}{parameters}"
    lines = [printable(game, LINE_WIDTH), progress]
    if standings.versions:
        used = (f"{name} {' and '.join(found)}" for name, found in standings.versions.items())
        lines.append(printable(", ".join(used), LINE_WIDTH))
    return printable(info.name, LINE_WIDTH), tuple(lines)


def _progress(report: ReportContents) -> str:
    statuses, attempts = report.standings.statuses, report.standings.void_attempts
    parts = [f"{statuses.get('done', 0)} of {sum(statuses.values())} games done"]
    if statuses.get("running"):
        parts.append(f"{statuses['running']} running")
    if waiting := statuses.get("pending", 0) + statuses.get("void", 0):
        parts.append(f"{waiting} pending")
    if attempts:
        parts.append(counted(attempts, "void attempt"))
    return "; ".join(parts)


def results_tables(report: ReportContents) -> list[Table]:
    """Return the standings, before them the difference of the players of a match."""
    match = head_to_head(report)
    return [*([] if match is None else [_match_table(match)]), standings_table(report)]


def _match_table(match: HeadToHead) -> Table:
    one, other = map(player_name, match.players)
    gap, results = match.difference, match.results
    span = f"{signed(gap.value)} Elo, 95% interval {signed(gap.low)} to {signed(gap.high)}"
    extent = charts.widened([0.0, gap.low, gap.high])
    bar = charts.rating_bar(gap.value, gap.low, gap.high, zero=0.0, extent=extent, label=span)
    draws = f"{results.draws} of {counted(results.games, 'game')}, {percent(match.draw_ratio)}"
    score = f"{results.points:g}/{results.games}, {percent(results.score)}"
    rows: dict[str, Cell] = {
        "difference": Cell(span, gap.value, "elo", markup=tag("span", span) + bar),
        "superiority": Cell(
            f"{_chance(match.superiority)} likely that {one} is stronger",
            match.superiority,
            "superiority",
        ),
        "score": Cell(score, results.score, "score"),
        "draw ratio": Cell(draws, match.draw_ratio, "draw_ratio"),
        "pentanomial": Cell(
            f"{'-'.join(map(str, match.pentanomial))} pairs with 0, 0.5, 1, 1.5 and 2 points",
            title=f"pairs of games by points of {one}",
        ),
    }
    if match.bootstrap is not None:
        low, high = match.bootstrap
        rows["bootstrap"] = Cell(f"{signed(low)} to {signed(high)} Elo, 95% interval")
    if match.unpaired:
        rows["unpaired"] = Cell(counted(match.unpaired, "game"), match.unpaired, "unpaired")
    columns = (Column("figure", align="left", least=8), Column("value", align="left", least=20))
    title = f"Match: {one} against {other}"
    return Table(title, columns, list(rows.items()), keys=list(rows), sortable=False)


def _chance(chance: float) -> str:
    """Return a probability as a percentage that is neither 0 nor 100."""
    share = 100 * chance
    return ">99.9%" if share > 99.95 else "<0.1%" if share < 0.05 else f"{share:.1f}%"


def standings_table(report: ReportContents) -> Table:
    """Return the players by rating, or by mean payoff, with their totals.

    Those of a match have no ratings: `results_tables` has their difference.
    """
    standings, fit = report.standings, report.ratings
    match = head_to_head(report) is not None
    means = (standing.seconds.value or 0.0 for standing in standings.players.values())
    short = max(means, default=0.0) < 0.1  # moves in milliseconds
    columns = [
        RANK,
        PLAYER,
        *([] if match else _estimate_columns("Elo" if fit else "payoff")),
        *([Column("score")] if fit else []),
        Column("W", drop=1),
        Column("D", drop=1),
        Column("L", drop=1),
        Column("games", drop=3),
        Column("ms/move" if short else "s/move", drop=4, media=PRINTED),
        Column("cpu ms" if short else "cpu s", drop=5, media=PRINTED),
    ]
    if report.bootstrap is not None and not match:
        columns.append(Column("bootstrap", title="95 % interval, pairs resampled"))
    cells = _payoff_cells(report) if fit is None else _rating_cells(report, fit)
    without: list[Cell | str] = [NONE, NONE, ""]
    rows = [
        _standings_row(report, rank, name, [] if match else cells.get(name, without), short=short)
        for rank, name in ranked(report)
    ]
    title = "Mean payoff per game with 95% intervals"
    if match:
        title = "Standings"
    elif fit is not None:
        anchor = "mean" if fit.anchor is None else f"{player_name(fit.anchor)} held at"
        title = f"Ratings: Elo with 95% intervals, {anchor} {fit.anchor_elo:g}"
    return Table(title, tuple(columns), rows, keys=report.ranking())


def _estimate_columns(what: str) -> list[Column]:
    return [
        Column(what, style="bold"),
        Column("\N{PLUS-MINUS SIGN}", title="half the width of the 95 % interval"),
        Column("95 % interval", align="left", media=PAGE),
    ]


def _rating_cells(report: ReportContents, ratings: Ratings) -> dict[str, list[Cell | str]]:
    """Return rating, margin and bar of each player with games."""
    standings = report.standings.players
    estimates = {n: ratings.estimate(n) for n, player in standings.items() if player.total.games}
    numbers = {name: (e.value, e.high - e.value) for name, e in estimates.items()}
    return _estimate_cells(numbers, "elo", zero=ratings.anchor_elo, value=signed, end=".0f")


def _payoff_cells(report: ReportContents) -> dict[str, list[Cell | str]]:
    """Return mean payoff, margin and bar of each player with games."""
    payoffs = report.standings.payoffs or Payoffs()
    means = {name: mean for name in report.standings.players if (mean := payoffs.of(name))}
    numbers = {name: (mean.value, mean.margin) for name, mean in means.items()}
    return _estimate_cells(numbers, "mean_return", zero=0.0, value="{:+.3f}".format, end="+.3f")


def _estimate_cells(
    numbers: Mapping[str, tuple[float, float | None]],
    key: str,
    *,
    zero: float,
    value: Callable[[float], str],
    end: str,
) -> dict[str, list[Cell | str]]:
    """Return value, margin and bar of each player; all bars have the same axis.

    Args:
      numbers: values, and half the widths of their intervals.
      zero: the value at which the axis is marked.
      value, end: how to write values, and the format of the intervals' ends.
    """
    spread = [x + sign * (m or 0.0) for x, m in numbers.values() for sign in (-1, 1)]
    extent = charts.widened([zero, *spread])
    cells: dict[str, list[Cell | str]] = {}
    for name, (middle, margin) in numbers.items():
        cells[name] = [Cell(value(middle), middle, key), NONE, ""]
        if margin is not None:
            low, high = middle - margin, middle + margin
            span = f"{value(middle)}, {low:{end}} to {high:{end}}"
            bar = charts.rating_bar(middle, low, high, zero=zero, extent=extent, label=span)
            shown = f"{margin:{end.removeprefix('+')}}"
            cells[name][1:] = [Cell(shown, margin), Cell(span, low, "low", span, markup=bar)]
    return cells


def _standings_row(
    report: ReportContents,
    rank: int,
    name: str,
    cells: Sequence[Cell | str],
    *,
    short: bool,
) -> Row:
    standing = report.standings.players[name]
    total = standing.total
    row: list[Cell | str] = [Cell(str(rank), rank, "rank"), player_cell(name)]
    row += cells
    row += [] if report.ratings is None else [_score_cell(standing.score)]
    row += [*_counts(total, "wins", "draws", "losses", "games")]
    row += [_move_time(mean.value, short) for mean in (standing.seconds, standing.cpu_seconds)]
    if report.bootstrap is not None and head_to_head(report) is None:
        index = report.bootstrap.players.index(name)
        low, high = report.bootstrap.intervals()[index].tolist()
        row.append(Cell(f"{signed(low)} to {signed(high)}", low))
    return row


def _move_time(seconds: float | None, short: bool) -> str:
    if seconds is None:
        return NONE
    if short:
        return f"{1000 * seconds:.2f}"
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:.1f}"


def verdict(report: ReportContents) -> list[Paragraph]:
    """Return the format's latest verdict, such as a winner; most formats have none."""
    line = report.info.facts.get("text") if report.info else None
    if not isinstance(line, str) or not line:
        return []
    return [Paragraph((printable(line, _VERDICT_WIDTH),), media=PRINTED)]


def _remarks(report: ReportContents) -> Paragraph:
    """Return what holds for all games, and the limits of the ratings."""
    standings, ratings = report.standings, report.ratings
    first, lines = standings.first_player, []
    if ratings is not None and ratings.seats:
        lines += _seat_values(ratings)
    elif first.games and ratings is not None:
        elo = ""
        if worth := ratings.first_player_advantage:
            elo = f" and is worth {signed(worth.value)} \N{PLUS-MINUS SIGN} {_margin(worth)} Elo"
        scored = f"{percent(first.score)} ({_wins_draws_losses(first)})"
        lines.append(f"Moving first scored {scored}{elo}.")
    if draws := ratings and ratings.draw_probability:
        lines.append(
            f"{counted(first.draws, 'game')} drawn ({percent(first.draws / first.games)}); between "
            f"equals {percent(draws.value)} would be, 95% interval "
            f"{_interval(draws.low, draws.high)}."
        )
    if standings.lengths.value is not None:
        lines.append(f"Mean length {standings.lengths.value:.1f} moves.")
    if ratings is not None:
        lines += _limits(ratings, played=first.games > 0)
    if report.info and (settings := report.info.pairing_settings()):
        shown = "; ".join(map(parameter_list, settings))
        numbers = "means" if ratings is None else "ratings"
        line = f"These {numbers} count games with parameters of their own, too: {shown}"
        lines.append(f"{printable(line, LINE_WIDTH)}.")
    return Paragraph(tuple(lines))


def _seat_values(ratings: Ratings) -> list[str]:
    """Return a sentence on the value of the seats."""
    for seats in ratings.seats:
        worth = ", ".join(
            f"{name} {signed(seat.value)} \N{PLUS-MINUS SIGN} {_margin(seat)}"
            for name, seat in zip(seat_names(len(seats)), seats, strict=True)
        )
        return [f"The seats are worth, in Elo beyond their mean: {worth}."]
    return []


def _limits(ratings: Ratings, *, played: bool) -> list[str]:
    """Return sentences on what the ratings do not say."""
    lines = []
    if len(ratings.groups) > 1 and played:
        lines.append(
            "No games link these groups, so ratings compare within each only: "
            f"{_groups(ratings.groups)}."
        )
    if ratings.one_sided:
        lines.append(
            "Between these groups all points went one way, so that their distance rests on the "
            f"prior: {_groups(ratings.one_sided)}."
        )
    if ratings.hides_first_move:
        lines.append(
            "By who moved first in these games, strength and the worth of moving first cannot be "
            "told apart: both rest on the prior. Let players meet with both colours."
        )
    return lines


# -- players against players ---------------------------------------------------------------------

_CROSSTABLE_NOTE = (
    "Points of the row against the column over the number of games; blue is good for the row, "
    "orange for the column. Columns are headed by rank."
)


_RANKINGS_CROSSTABLE_NOTE = (
    "Games in which the row finished ahead of the column, ties counting half, over the games of "
    "both; blue is good for the row, orange for the column. Columns are headed by rank."
)


_PAYOFF_CROSSTABLE_NOTE = (
    "Mean payoff per game of the row against the column; blue is good for the row, orange for the "
    "column. Columns are headed by rank."
)


def _crosstables(report: ReportContents) -> Section:
    if report.ratings is None:
        table = (crosstable(report),)
        return Section("crosstable", "Crosstable", table, note=_PAYOFF_CROSSTABLE_NOTE, wide=True)
    blocks: list[Block] = [crosstable(report)]
    if report.standings.first_player.draws:
        blocks.append(_wins_draws_losses_table(report))
    if report.superiority and report.ratings is not None:
        blocks.append(_superiority(report, report.ratings))
    wide = len(report.standings.players) > 6
    note = _CROSSTABLE_NOTE if report.standings.seats == 2 else _RANKINGS_CROSSTABLE_NOTE
    return Section("crosstable", "Crosstable", tuple(blocks), note=note, wide=wide)


def crosstable(report: ReportContents) -> Table:
    """Return points and games of each player against each, or mean payoffs.

    Where space is short, percentages take the place of points.
    """
    if report.standings.payoffs is not None:
        return _payoff_crosstable(report, report.standings.payoffs)
    standings = report.standings
    names = {name: player_name(name) for name in standings.players}

    def cells(shown: Callable[[Tally], str]) -> Callable[[str, str], Cell]:
        def cell(a: str, b: str) -> Cell:
            tally = standings.against(a, b)
            if tally.score is None:
                return Cell(NONE, style="self")
            results = f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
            return Cell(
                shown(tally),
                tally.score,
                style=f"c{shade(tally.score)}",
                title=f"{names[a]} against {names[b]}: {results}",
                data={"opponent": b},
            )

        return cell

    def percentages() -> Table:
        title = "Crosstable: score of the row against the column in %"
        return _square(report, title, cells(lambda tally: f"{100 * (tally.score or 0):.0f}"))

    title = "Crosstable: points/games of the row against the column"
    if standings.seats > 2:
        title = "Crosstable: games in which the row finished ahead of the column"
    return _square(
        report,
        title,
        cells(lambda tally: f"{tally.points:g}/{tally.games}"),
        narrow=percentages,
    )


def _payoff_crosstable(report: ReportContents, payoffs: Payoffs) -> Table:
    names = report.ranking()
    means = {(a, b): payoffs.against(a, b) for a in names for b in names if a != b}
    extent = max((abs(mean.value) for mean in means.values() if mean), default=0.0) or 1.0

    def cell(a: str, b: str) -> Cell:
        mean = means[a, b]
        if mean is None:
            return Cell(NONE, style="self")
        margin = "" if mean.margin is None else f" \N{PLUS-MINUS SIGN} {mean.margin:.3f}"
        return Cell(
            f"{mean.value:+.2f}",
            mean.value,
            style=f"c{shade(0.5 + mean.value / extent / 2)}",
            title=f"{player_name(a)} against {player_name(b)}: {mean.value:+.3f}{margin} per game, "
            f"{counted(mean.pairs, 'pair')}",
            data={"opponent": b},
        )

    return _square(report, "Crosstable: mean payoff of the row against the column", cell)


def shade(score: float) -> int:
    """Return the colour class of a score from 0 to 1; the middle one is for a half."""
    return round(score * (_SHADES - 1))


def _wins_draws_losses_table(report: ReportContents) -> Table:
    def cell(a: str, b: str) -> Cell:
        return Cell(_wins_draws_losses(report.standings.against(a, b)))

    title = "W-D-L of the row against the column"
    return _square(report, title, cell, omission="", media=("terminal", "text"))


def _superiority(report: ReportContents, ratings: Ratings) -> Table:
    chances = ratings.superiority()
    index = {name: i for i, name in enumerate(ratings.players)}

    def cell(a: str, b: str) -> Cell:
        chance = float(chances[index[a], index[b]])
        share = 100 * chance
        shown = ">99" if share > 99.5 else "<1" if share < 0.5 else f"{share:.0f}"
        return Cell(shown, chance, style=f"c{shade(chance)}")

    title = "Superiority: likelihood that the row is stronger than the column in %"
    return _square(report, title, cell)


def _square(
    report: ReportContents,
    title: str,
    cell: Callable[[str, str], Cell],
    *,
    narrow: Callable[[], Table] | None = None,
    omission: str | None = None,
    media: tuple[Medium, ...] = (*PRINTED, "page"),
) -> Table:
    """Return a table of players against players, its columns headed by rank."""
    players = ranked(report)
    columns = [Column(str(rank), title=player_name(name)) for rank, name in players]
    self = Cell("\N{MIDDLE DOT}", style="self")
    rows: list[Row] = [
        [str(rank), player_cell(a), *(self if a == b else cell(a, b) for _, b in players)]
        for rank, a in players
    ]
    if omission is None:
        start = title.split(":")[0]
        omission = f"{start}: left out for {len(players)} players; the JSON report has it."
    return Table(
        title,
        (RANK, PLAYER, *columns),
        rows,
        keys=report.ranking(),
        style="heat",
        sortable=False,
        narrow=narrow,
        omission=omission,
        media=media,
    )


def _teams(details: Details, *, payoffs: bool) -> Section:
    against = "of members against players of no team or another"
    columns = (
        Column("team", align="left"),
        Column("members", align="left"),
        Column("payoff", title=f"mean {against}") if payoffs else Column("mean Elo"),
        Column("\N{PLUS-MINUS SIGN}"),
        *([] if payoffs else [Column("score", title=against)]),
        Column("games"),
    )
    rows: list[Row] = []
    for team in details.teams:
        members = ", ".join(map(player_name, team.members))
        links = Markup(", ").join(map(name_markup, team.members))
        row: list[Cell | str] = [player_cell(team.name), Cell(members, style="text", markup=links)]
        if mean := team.payoff:
            row.append(Cell(f"{mean.value:+.3f}", mean.value, "mean_return"))
            row.append(NONE if mean.margin is None else Cell(f"{mean.margin:.3f}", mean.margin))
        elif rating := team.rating:
            row.append(Cell(signed(rating.value), rating.value, "elo"))
            row.append(Cell(_margin(rating), rating.high - rating.value))
        else:
            row += [NONE, NONE]
        tally = team.against_others
        row += [] if payoffs else [_score_cell(tally.score)]
        rows.append([*row, *_counts(tally, "games")])
    note = "The mean rating of a team's members, with the error of that mean."
    if payoffs:
        note = "Mean payoff per game of a team's members against players of no team or another."
    keys = [team.name for team in details.teams]
    blocks = _tables("Teams", columns, rows, keys=keys, media=_DETAILED)
    return Section("teams", "Teams", blocks, note=note)


def _tables(
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    keys: Sequence[str] = (),
    media: tuple[Medium, ...] = PAGE,
) -> tuple[Table, ...]:
    """Return a table; none without rows."""
    return (Table(title, tuple(columns), rows, keys=keys, media=media),) if rows else ()


def _lefts(*headers: str) -> list[Column]:
    """Return columns that are aligned left."""
    return [Column(header, align="left") for header in headers]


# -- games ----------------------------------------------------------------------------------------


def _colours(report: ReportContents) -> Table:
    """Return each player's results by who moved first."""
    score = Column("score", drop=1)
    rows: list[Row] = []
    for rank, name in ranked(report):
        standing = report.standings.players[name]
        sides = (standing.as_first, standing.as_second)
        results = (cell for side in sides for cell in (_wdl_cell(side), percent(side.score)))
        rows.append([str(rank), player_cell(name), *results])
    title = "By colour: W-D-L and score when moving first and second"
    columns = (RANK, PLAYER, Column("first"), score, Column("second"), score)
    return Table(title, columns, rows, keys=report.ranking())


def _seats(report: ReportContents) -> Table:
    """Return each player's score by seat."""
    count = report.standings.seats
    rows: list[Row] = []
    for rank, name in ranked(report):
        means = [*report.standings.players[name].ahead, *[Mean()] * count][:count]
        rows.append([str(rank), player_cell(name), *(_score_cell(mean.value) for mean in means)])
    title = "By seat: share of the opponents that the player finished ahead of"
    columns = (RANK, PLAYER, *map(Column, seat_names(count)))
    return Table(title, columns, rows, keys=report.ranking())


def _endings(report: ReportContents) -> Section:
    games = report.standings.terminations()
    blocks: list[Block] = [_endings_table(report, list(games), len(games))]
    if report.details is not None:
        total = sum(games.values())
        shares: dict[str, tuple[int, Markup]] = {}
        for reason, count in games.items():
            share = f"{count} ({percent(count / total)})"
            shares[text(reason, NAME_WIDTH)] = count, tag("span", share, data_ending=text(reason))
        blocks.append(Figure(charts.stacked_bar(shares, label="Shares of terminations")))
    note = "Why games ended; by player won, drawn and lost games of each kind."
    return Section("endings", "Endings", tuple(blocks), note=note)


def _endings_table(report: ReportContents, reasons: Sequence[str], shown: int) -> Table:
    """Return each player's results by termination; the rarest share a column."""
    rare = reasons[shown:]
    rows: list[Row] = []
    for rank, name in ranked(report):
        endings = report.standings.players[name].endings
        tallies = [endings.get(reason, Tally()) for reason in reasons[:shown]]
        if rare:
            tallies.append(sum((endings.get(reason, Tally()) for reason in rare), Tally()))
        rows.append([str(rank), player_cell(name), *map(_wdl_cell, tallies)])
    headers = [printable(reason, NAME_WIDTH) for reason in reasons[:shown]] + ["other"] * bool(rare)
    return Table(
        "How games ended, W-D-L",
        (RANK, PLAYER, *map(Column, headers)),
        rows,
        keys=report.ranking(),
        narrow=(lambda: _endings_table(report, reasons, shown - 1)) if shown else None,
    )


def _adjudication(report: ReportContents) -> Section:
    columns = (Column("rule", align="left"), *map(Column, ("ended", "held out", "wrong")))
    blocks: tuple[Block, ...] = ()
    if report.adjudications is not None:
        rows: list[Row] = [
            [printable(rule.rule, 40), *_counts(rule, "ended", "held_out", "wrong")]
            for rule in report.adjudications.rules
        ]
        title = "Adjudication: games that rules ended, that were held out, and wrong verdicts"
        blocks = (Table(title, columns, rows),)
    note = (
        "Games that rules ended; games that were played on although a rule had decided them, and "
        "how many of these ended otherwise."
    )
    return Section("adjudication", "Adjudication", blocks, note=note)


def _failures(report: ReportContents) -> Section:
    """Return forfeits and void games with their reasons."""
    forfeits, voids = report.standings.forfeits, report.standings.voids
    blocks: list[Block] = []
    if forfeits:
        lines = [_forfeit_line(row) for row in forfeits[:_MAX_LISTED_FORFEITS]]
        if (more := len(forfeits) - len(lines)) > 0:
            lines.append(f"and {more} more; the JSON report has all of them")
        blocks.append(Paragraph(tuple(lines), f"Forfeits: {len(forfeits)}", PRINTED))
    losers: list[Row] = [
        [
            NONE if row.loser is None else player_cell(row.players[row.loser]),
            text(row.termination, NAME_WIDTH),
            Cell(text(row.detail, _REASON_WIDTH), style="text"),
        ]
        for row in forfeits[:_MAX_FAILURES]
    ]
    blocks += _failure_table("Forfeits", forfeits, ("player", "how", "reason"), losers)
    attempts: list[Row] = [
        [
            Cell(str(row.void_count), row.void_count),
            Cell(text(row.void_reason, _REASON_WIDTH), style="text"),
        ]
        for row in voids[:_MAX_FAILURES]
    ]
    blocks += _failure_table("Void attempts", voids, ("attempts", "reason"), attempts)
    return Section("failures", "Failures", tuple(blocks), wide=True)


def _failure_table(
    title: str, games: Sequence[GameRow], heads: Sequence[str], rows: Sequence[Row]
) -> tuple[Table, ...]:
    named: list[Row] = [
        [text(game.game_id, 80), *row] for game, row in zip(games, rows, strict=False)
    ]
    first = f", the first {len(rows)} (the JSON has all)" if len(games) > len(rows) else ""
    return _tables(f"{title}: {len(games)}{first}", _lefts("game", *heads), named)


def _forfeit_line(row: GameRow) -> str:
    detail = f": {row.detail}" if row.detail else ""
    if row.loser is None:
        return printable(f"{row.game_id}: {row.termination}{detail}", LINE_WIDTH)
    own = row.returns[row.loser]  # others may have forfeited too, at the same decision
    ahead = [player_name(n) for n, r in zip(row.players, row.returns, strict=True) if r > own]
    lost = f"lost to {listed(ahead)} by" if ahead else "forfeited by"
    loser = player_name(row.players[row.loser])
    return printable(f"{row.game_id}: {loser} {lost} {row.termination}{detail}", LINE_WIDTH)


def _times(details: Details) -> Section:
    uses = details.times if any(use.games for use in details.times) else ()
    extent = 0.0, charts.widened([0.0, *(q for use in uses for q in use.quantiles)], 0.02)[1]
    columns = (
        Column("player", align="left"),
        Column("s/move", title="mean wall time"),
        Column("cpu s", title="mean CPU time"),
        Column("median s", title="of the games' mean times per move"),
        Column("spread over games", align="left", title="5, 25, 50, 75 and 95 % of games"),
        Column("longest game s"),
        Column("total"),
        Column("lost on time"),
    )
    keys = [use.player for use in uses]
    rows = [_time_row(use, extent) for use in uses]
    note = (
        "Seconds per move. The boxes span half of the games, the whiskers 90 %, from 0 to "
        f"{_seconds(extent[1])} s."
    )
    blocks = _tables("Time use", columns, rows, keys=keys, media=_DETAILED)
    return Section("time", "Time", blocks, note=note, wide=True)


def _time_row(use: TimeUse, extent: tuple[float, float]) -> Row:
    row: list[Cell | str] = [player_cell(use.player)]
    for key, value in (("per_move", use.per_move), ("cpu_per_move", use.cpu_per_move)):
        row.append(NONE if value is None else Cell(_seconds(value), value, key))
    if use.quantiles:
        spread = ", ".join(map(_seconds, use.quantiles))
        middle = use.quantiles[2]
        box = charts.box(use.quantiles, extent=extent, label=spread)
        row += [Cell(_seconds(middle), middle), Cell(spread, middle, title=spread, markup=box)]
    else:
        row += [NONE, NONE]
    row.append(Cell(_seconds(use.longest_game), use.longest_game, "longest_game"))
    row.append(Cell(_duration(use.total), use.total, "total"))
    return [*row, *_counts(use, "lost_on_time")]


def _openings(details: Details) -> Section:
    """Return results by opening, and by the game's parameters where they vary."""
    note = "The first player's score, with 95 % intervals."
    if (more := details.opening_count - len(details.openings)) > 0:
        note += f" The {MOST_OPENINGS} openings of most games; {more} more."
    blocks = (
        *_performance("By opening, the first player's results", "opening", details.openings),
        *_performance("By parameters of the game", "parameters", details.settings),
    )
    return Section("openings", "Openings", blocks, note=note, wide=True)


def _performance(title: str, head: str, lines: Sequence[PerformanceRow]) -> tuple[Table, ...]:
    columns = (
        Column(head, align="left"),
        Column("score"),
        Column("95 % interval", align="left"),
        *map(Column, ("W", "D", "L", "games")),
    )
    rows: list[Row] = []
    for line in lines:
        span = _interval(line.low, line.high)
        ends = line.score, line.low, line.high
        bar = charts.rating_bar(*ends, zero=0.5, extent=(0.0, 1.0), label=span)
        rows.append(
            [
                Cell(text(line.opening, _OPENING_WIDTH) if line.opening else "none", style="text"),
                _score_cell(line.score),
                Cell(span, line.low, "low", title=span, markup=bar),
                *_counts(line, "wins", "draws", "losses", "games"),
            ]
        )
    keys = [line.opening or "" for line in lines]
    return _tables(title, columns, rows, keys=keys, media=_DETAILED)


def _replays(rows: Sequence[GameRow], folder: str) -> list[Section]:
    from urllib.parse import quote

    columns = _lefts("game", *seat_names(len(rows[0].players) if rows else 2), "result")
    lines: list[Row] = []
    for row in rows:
        game_id = text(row.game_id, 80)
        link = tag("a", game_id, href=f"{folder}/{quote(row.game_id, safe='~')}.html")
        result = result_text(row)
        cells = [Cell(game_id, markup=link), *map(player_cell, row.players)]
        lines.append([*cells, Cell(result.striptags(), markup=result), *_counts(row, "moves")])
    blocks = _tables("Replays", [*columns, Column("moves")], lines)
    return [Section("replays", "Replays", blocks, wide=True)] if blocks else []


# -- strength over a parameter, the format ---------------------------------------------------------


def _parameter_lines(report: ReportContents) -> Section:
    """Return the strength of players of one agent over the number in which they differ."""
    title, payoffs = "Strength over a parameter", report.standings.payoffs or Payoffs()
    figures: list[Block] = []
    for group in variants(report.entered):
        points: dict[float, tuple[float, float]] = {}
        for value, name in group.players.items():
            if report.ratings is None:
                if mean := payoffs.of(name):
                    points[value] = mean.value, mean.margin or 0.0
            elif name in report.standings.players and report.standings.players[name].total.games:
                estimate = report.ratings.estimate(name)
                points[value] = estimate.value, estimate.high - estimate.value
        if len(points) < 2:
            continue
        values, margins = zip(*points.values(), strict=True)
        parameter = text(group.parameter, NAME_WIDTH)
        label = f"{text(group.agent, NAME_WIDTH)}, {parameter}"
        line = charts.PlotLine(name_markup(label, 60), label, list(points), values, margins)
        figures.append(
            Figure(
                charts.line_chart(
                    [line],
                    x_label=parameter,
                    y_label="payoff" if report.ratings is None else "Elo",
                    label=f"{title}: {label}",
                    space=0.0,
                    ratios=min(points) > 0 and max(points) >= _WIDE_RANGE * min(points),
                )
            )
        )
    note = "Players of one agent whose parameters differ in one number; bands are 95 % intervals."
    return Section("parameter", title, tuple(figures), note=note)


def _format(facts: Mapping[str, Any]) -> Section:
    """Return the format's latest facts: a line, a ranking, the state of a sequential test."""
    blocks: list[Block] = []
    if isinstance(line := facts.get("text"), str) and line:
        blocks.append(Paragraph((printable(line, _VERDICT_WIDTH),), media=PAGE))
    if facts.get("kind") == "sprt":
        blocks += map(Figure, _sprt(facts))
    if facts.get("kind") == "payoff-test":
        blocks += map(Figure, _payoff_test(facts))
    blocks += _ranking(facts, media=PAGE)
    title = (
        "Sequential test"
        if facts.get("kind") in ("sprt", "payoff-test")
        else "The format's own ranking"
    )
    return Section("format", title, tuple(blocks))


def _ranking(facts: Mapping[str, Any], *, media: tuple[Medium, ...]) -> tuple[Table, ...]:
    """Return a format's ranking, with what its standings and its parameters say of each player."""
    ranking = facts.get("ranking")
    if not isinstance(ranking, (list, tuple)):
        return ()
    names = [str(name) for name in ranking[:_MAX_RANKING]]
    standings = facts.get("standings")
    listed = standings if isinstance(standings, (list, tuple)) else ()
    lines = {str(line.get("name")): line for line in listed if isinstance(line, Mapping)}
    given = facts.get("parameters")
    parameters = given if isinstance(given, Mapping) else {}
    columns = [RANK, PLAYER]
    cells: list[list[Cell | str]] = [
        [str(rank), player_cell(name)] for rank, name in enumerate(names, start=1)
    ]
    for key, header in _STANDINGS.items():
        values = [lines.get(name, {}).get(key) for name in names]
        if any(values):
            columns.append(Column(header, drop=len(columns)))
            for row, value in zip(cells, values, strict=True):
                number = value if isinstance(value, (int, float)) else None
                row.append(Cell(NONE if number is None else f"{number:g}", number, key))
    if parameters:
        columns.append(Column("parameters", align="left", media=_DETAILED))
        for row, name in zip(cells, names, strict=True):
            of = parameters.get(name)
            shown = parameter_list(of) if isinstance(of, Mapping) else ""
            row.append(Cell(text(shown, 400), style="text"))
    return _tables("The format's ranking", columns, cells, media=media)


def _sprt(facts: Mapping[str, Any]) -> list[Markup]:
    """Return the ratio of a sequential test between its bounds, and its course."""
    llr, lower, upper = (facts.get(key) for key in ("llr", "lower", "upper"))
    if not (_is_number(llr) and _is_number(lower) and _is_number(upper)):
        return []
    title = "log-likelihood ratio"
    levels = {"H1 is accepted": upper, "H0 is accepted": lower}
    course = _course(facts, {title: facts.get("curve")}, levels, y_label="LLR", label=title)
    return [charts.ratio_bar(llr, lower, upper), *course]


def _payoff_test(facts: Mapping[str, Any]) -> list[Markup]:
    """Return the course of the evidence against both hypotheses."""
    limits, curves = [facts.get(f"limit_h{n}") for n in (0, 1)], facts.get("curve")
    if not (all(map(_is_number, limits)) and isinstance(curves, (list, tuple))):
        return []
    levels = {f"H{n} is rejected": float(x) for n, x in enumerate(limits) if _is_number(x)}
    if len(set(levels.values())) == 1:
        levels = {"H0 or H1 is rejected": next(iter(levels.values()))}
    named = {f"evidence against H{n}": curve for n, curve in enumerate(curves[:2])}
    return _course(facts, named, levels, y_label="ln of the capital", label="evidence")


def _course(
    facts: Mapping[str, Any],
    curves: Mapping[str, Any],
    levels: Mapping[str, float],
    *,
    y_label: str,
    label: str,
) -> list[Markup]:
    """Return a chart of a test's curves; none where the facts have no curve of two points."""
    lines = []
    for title, curve in curves.items():
        if isinstance(curve, (list, tuple)) and len(curve) > 1 and all(map(_is_point, curve)):
            xs, ys = ([float(point[i]) for point in curve] for i in (0, 1))
            lines.append(charts.PlotLine(Markup.escape(title), title, xs, ys))
    if not lines:
        return []
    unit = "blocks" if facts.get("unit") == "block" else "pairs"
    return [
        charts.line_chart(
            lines,
            x_label=f"{unit} of games",
            y_label=y_label,
            label=f"the {label} over {lines[0].x[-1]:.0f} {unit}",
            space=0.3,
            levels=levels,
        )
    ]


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and abs(value) < 1e9


def _is_point(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_number, value))


# -- the run --------------------------------------------------------------------------------------


def _about(report: ReportContents) -> Section:
    """Return what was played by whom, with which versions, and the config."""
    info = report.info
    blocks: list[Block] = []
    if info is not None:
        facts = {
            "game": f"{info.game} (version {info.game_version})",
            "game parameters": json.dumps(dict(info.game_parameters)),
            "time control": json.dumps(dict(info.time_control)),
            "format": json.dumps(dict(info.format)) if info.format else "",
            "seed": str(info.seed),
            "isolation of agents": info.isolation(),
            "begun": info.created,
            "config": info.config_path,
        }
        rows: list[Row] = [
            [key, Cell(text(value, _PARAMETERS_WIDTH), style="text")]
            for key, value in facts.items()
            if value
        ]
        blocks += _tables("Facts", _lefts("", ""), rows)
    lines = []
    players: list[Row] = []
    for row in report.entered:
        parameters = parameter_list(row.given)
        if row.name != row.agent or row.given:  # otherwise the name says it all
            line = f"{row.name} is {row.agent}{': ' if parameters else ''}{parameters}"
            lines.append(printable(line, _VERDICT_WIDTH))
        cells = text(row.agent, 60), text(parameters, _PARAMETERS_WIDTH)
        players.append([player_cell(row.name), *cells])
    if lines:
        blocks.append(Paragraph(tuple(lines), "Players", ("text", "markdown")))
    blocks += _tables("Players", _lefts("player", "agent", "parameters given"), players)
    versions: list[Row] = [
        [text(package, 60), text(", ".join(found), 200)]
        for package, found in report.standings.versions.items()
    ]
    blocks += _tables("Versions", _lefts("package", "versions"), versions)
    if info is not None and info.config_text:
        config = tag("pre", printable_block(info.config_text), tabindex="0")
        blocks.append(Figure(tag("details", tag("summary", "The config file"), config)))
    return Section("about", "About this run", tuple(blocks), wide=True)
