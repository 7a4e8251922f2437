"""Tables of the players: ratings or payoffs, a match, crosstables, teams, results by seat.

And the names, figures and cells that all tables of a report share.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
    Medium,
    Paragraph,
    Row,
    Section,
    Table,
    counted,
    printable,
)
from miai.pages.layout import name as name_markup
from miai_tournaments.ratings.payoffs import Payoffs
from miai_tournaments.ratings.ratings import FitValue, Ratings
from miai_tournaments.report.details import Details
from miai_tournaments.report.head_to_head import HeadToHead, head_to_head
from miai_tournaments.report.standings import Mean, Tally

if TYPE_CHECKING:
    from miai_tournaments.report.details import ReportContents


NAME_WIDTH = 24
"""Maximum width of a player's name in the tables of a terminal, and in sentences."""

LINE_WIDTH = 160
"""Maximum width of a line with texts of foreign origin."""

RANK = Column("#", style="dim")

PLAYER = Column("player", align="left", min_width=8, max_width=NAME_WIDTH)

DETAILED: tuple[Medium, ...] = ("markdown", "page")

_SHADES = 9

_MAX_NAMES = 8  # of players in a sentence


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


_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)


def seat_names(count: int) -> tuple[str, ...]:
    """Return the names of the seats of a game: ``first``, ``second`` and so on."""
    return (*_ORDINALS, *map(str, range(len(_ORDINALS) + 1, count + 1)))[:count]


def margin_text(estimate: FitValue) -> str:
    """Return half the width of a 95 % interval."""
    return f"{estimate.high - estimate.value:.0f}"


def interval_text(low: float, high: float) -> str:
    """Return the ends of an interval of shares."""
    return f"{percent(low)} to {percent(high)}"


def wins_draws_losses(tally: Tally) -> str:
    """Return results as ``3-1-2``."""
    return f"{tally.wins}-{tally.draws}-{tally.losses}" if tally.games else NONE


def wdl_cell(tally: Tally) -> Cell:
    """Return the cell of `wins_draws_losses`, which sorts by the number of games."""
    return Cell(wins_draws_losses(tally), tally.games or None)


def score_cell(score: float | None) -> Cell:
    """Return the cell of a score from 0 to 1."""
    return Cell(percent(score), score, "score")


def count_cells(of: object, *keys: str) -> list[Cell]:
    """Return a cell for each number of an object, by its name."""
    return [Cell(str(getattr(of, key)), getattr(of, key), key) for key in keys]


def _groups(groups: Sequence[Sequence[str]]) -> str:
    shown = [", ".join(_shortened([player_name(name) for name in group])) for group in groups]
    return "; ".join(_shortened(shown))


def _shortened(items: Sequence[str]) -> list[str]:
    more = len(items) - _MAX_NAMES
    return [*items[:_MAX_NAMES], *([f"and {more} more"] if more > 0 else [])]


# -- ratings --------------------------------------------------------------------------------------


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
    columns = (
        Column("figure", align="left", min_width=8),
        Column("value", align="left", min_width=20),
    )
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
    estimate = [
        Column("Elo" if fit else "payoff", style="bold"),
        Column("\N{PLUS-MINUS SIGN}", title="half the width of the 95 % interval"),
        Column("95 % interval", align="left", media=PAGE),
    ]
    columns = [
        RANK,
        PLAYER,
        *([] if match else estimate),
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
    if report.nash_convs:
        columns.append(Column("NashConv", drop=2, title="as `miai exploit` has measured it"))
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
    report: ReportContents, rank: int, name: str, cells: Sequence[Cell | str], *, short: bool
) -> Row:
    standing = report.standings.players[name]
    total = standing.total
    row: list[Cell | str] = [Cell(str(rank), rank, "rank"), player_cell(name)]
    row += cells
    row += [] if report.ratings is None else [score_cell(standing.score)]
    row += [*count_cells(total, "wins", "draws", "losses", "games")]
    row += [_move_time(mean.value, short) for mean in (standing.seconds, standing.cpu_seconds)]
    if report.bootstrap is not None and head_to_head(report) is None:
        index = report.bootstrap.players.index(name)
        low, high = report.bootstrap.intervals()[index].tolist()
        row.append(Cell(f"{signed(low)} to {signed(high)}", low))
    if report.nash_convs:
        gain = report.nash_convs.get(name)
        row.append(NONE if gain is None else Cell(f"{gain:.4f}", gain, "nash_conv"))
    return row


def _move_time(seconds: float | None, short: bool) -> str:
    if seconds is None:
        return NONE
    if short:
        return f"{1000 * seconds:.2f}"
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:.1f}"


def remarks(report: ReportContents) -> Paragraph:
    """Return what holds for all games, and the limits of the ratings."""
    standings, ratings = report.standings, report.ratings
    first, lines = standings.first_player, []
    if ratings is not None and ratings.seats:
        lines += _seat_values(ratings)
    elif first.games and ratings is not None:
        elo = ""
        if worth := ratings.first_player_advantage:
            elo = (
                f" and is worth {signed(worth.value)} \N{PLUS-MINUS SIGN} {margin_text(worth)} Elo"
            )
        scored = f"{percent(first.score)} ({wins_draws_losses(first)})"
        lines.append(f"Moving first scored {scored}{elo}.")
    if draws := ratings and ratings.draw_probability:
        lines.append(
            f"{counted(first.draws, 'game')} drawn ({percent(first.draws / first.games)}); between "
            f"equals {percent(draws.value)} would be, 95% interval "
            f"{interval_text(draws.low, draws.high)}."
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
            f"{name} {signed(seat.value)} \N{PLUS-MINUS SIGN} {margin_text(seat)}"
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

_MOST_CROSSED = 100
"""Players in a table of players against players: of a thousand it would have a million cells."""

# -- players against players ----------------------------------------------------------------------


def crosstables(report: ReportContents) -> Section:
    """Return the section of the tables of players against players."""
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
        report, title, cells(lambda tally: f"{tally.points:g}/{tally.games}"), narrow=percentages
    )


def _payoff_crosstable(report: ReportContents, payoffs: Payoffs) -> Table:
    names = report.ranking()[:_MOST_CROSSED]
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
        return Cell(wins_draws_losses(report.standings.against(a, b)))

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
    """Return a table of the first players against each other, its columns headed by rank."""
    players = ranked(report)[:_MOST_CROSSED]
    total = len(report.standings.players)
    if total > len(players):
        title += f", the first {len(players)} of {total} players"
    columns = [Column(str(rank), title=player_name(name)) for rank, name in players]
    self = Cell("\N{MIDDLE DOT}", style="self")
    rows: list[Row] = [
        [str(rank), player_cell(a), *(self if a == b else cell(a, b) for _, b in players)]
        for rank, a in players
    ]
    if omission is None:
        start = title.split(":")[0]
        omission = f"{start}: left out for {total} players; the JSON report has it."
    return Table(
        title,
        (RANK, PLAYER, *columns),
        rows,
        keys=[name for _, name in players],
        style="heat",
        sortable=False,
        narrow=narrow,
        omission=omission,
        media=media,
    )


def teams(details: Details, *, payoffs: bool) -> Section:
    """Return the section of the teams."""
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
            row.append(Cell(margin_text(rating), rating.high - rating.value))
        else:
            row += [NONE, NONE]
        tally = team.against_others
        row += [] if payoffs else [score_cell(tally.score)]
        rows.append([*row, *count_cells(tally, "games")])
    note = "The mean rating of a team's members, with the error of that mean."
    if payoffs:
        note = "Mean payoff per game of a team's members against players of no team or another."
    keys = [team.name for team in details.teams]
    blocks = table_if_rows("Teams", columns, rows, keys=keys, media=DETAILED)
    return Section("teams", "Teams", blocks, note=note)


def table_if_rows(
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    keys: Sequence[str] = (),
    media: tuple[Medium, ...] = PAGE,
) -> tuple[Table, ...]:
    """Return a table; none without rows."""
    return (Table(title, tuple(columns), rows, keys=keys, media=media),) if rows else ()


def left_columns(*headers: str) -> list[Column]:
    """Return columns that are aligned left."""
    return [Column(header, align="left") for header in headers]


# -- results by seat ------------------------------------------------------------------------------


def by_colour(report: ReportContents) -> Table:
    """Return each player's results by who moved first."""
    score = Column("score", drop=1)
    rows: list[Row] = []
    for rank, name in ranked(report):
        standing = report.standings.players[name]
        sides = (standing.as_first, standing.as_second)
        results = (cell for side in sides for cell in (wdl_cell(side), percent(side.score)))
        rows.append([str(rank), player_cell(name), *results])
    title = "By colour: W-D-L and score when moving first and second"
    columns = (RANK, PLAYER, Column("first"), score, Column("second"), score)
    return Table(title, columns, rows, keys=report.ranking())


def by_seat(report: ReportContents) -> Table:
    """Return each player's score by seat."""
    count = report.standings.seats
    rows: list[Row] = []
    for rank, name in ranked(report):
        means = [*report.standings.players[name].ahead, *[Mean()] * count][:count]
        rows.append([str(rank), player_cell(name), *(score_cell(mean.value) for mean in means)])
    title = "By seat: share of the opponents that the player finished ahead of"
    columns = (RANK, PLAYER, *map(Column, seat_names(count)))
    return Table(title, columns, rows, keys=report.ranking())
