"""The document of a tournament's report: its outline, and the sections on games, format and run.

It is built once for every medium. Sections that need the details of a report
(`miai_tournaments.report.details`) are for Markdown and pages, for which a terminal has no room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from miai.record import reason_text
from miai_tournaments.ratings.payoffs import Payoffs
from miai_tournaments.ratings.performance import PerformanceRow
from miai_tournaments.report.details import (
    MOST_OPENINGS,
    Details,
    TimeUse,
    game_of,
    parameter_series,
)
from miai_tournaments.report.head_to_head import head_to_head
from miai_tournaments.report.rating_tables import (
    DETAILED,
    LINE_WIDTH,
    NAME_WIDTH,
    PLAYER,
    RANK,
    by_colour,
    by_seat,
    count_cells,
    crosstables,
    interval_text,
    left_columns,
    parameter_list,
    percent,
    player_cell,
    player_name,
    ranked,
    remarks,
    results_tables,
    score_cell,
    seat_names,
    table_if_rows,
    teams,
    wdl_cell,
)
from miai_tournaments.report.standings import FORFEITS, Tally
from miai_tournaments.store.rows import GameRow

if TYPE_CHECKING:
    from miai.game import Game
    from miai_tournaments.report.details import ReportContents


_VERDICT_WIDTH = 400

_REASON_WIDTH = 400

_PARAMETERS_WIDTH = 600

_OPENING_WIDTH = 120

_MAX_LISTED_FORFEITS = 10

_MAX_FAILURES = 100

_MAX_RANKING = 200

_STANDINGS = {"points": "points", "buchholz": "Buchholz", "sonneborn_berger": "Sonneborn-Berger"}
"""Figures of a format's standings, with their headings."""

_WIDE_RANGE = 8  # highest over lowest value, from which an axis shows ratios


def report_document(report: ReportContents, *, replays: Sequence[GameRow] = ()) -> Document:
    """Return a report as a document, which links to the pages of games in ``replays/``."""
    title, lines = _heading(report)
    if not report.standings.players:
        empty = Section("ratings", "Standings", (Paragraph(("No games yet.",)),))
        return Document(title, lines, (empty,))
    facts = report.info.facts if report.info else {}
    table = _ranking(facts, media=PRINTED) if report.standings.first_player.games else ()
    blocks: list[Block] = [*results_tables(report), *verdict(report), *table, remarks(report)]
    heading, note = ("Ratings", _RATINGS_NOTE) if report.ratings else ("Payoffs", _PAYOFFS_NOTE)
    if report.standings.seats > 2:
        note = _RANKINGS_NOTE if report.ratings else _BLOCKS_NOTE
    if head_to_head(report) is not None:
        heading, note = "Match", _MATCH_NOTE
    sections = [
        Section("ratings", heading, tuple(blocks), note=note, wide=True),
        *_played(report),
        *_replays(replays, game_of(report.info) if replays else None),
        _about(report),
    ]
    return Document(title, lines, tuple(sections))


def _played(report: ReportContents) -> list[Section]:
    details, played = report.details, bool(report.standings.first_player.games)
    sections = [crosstables(report)]
    if played and details is not None:
        sections += [_format(details.facts), teams(details, payoffs=report.ratings is None)]
    if played and report.ratings is not None:
        sections.append(
            Section("colours", "By colour", (by_colour(report),))
            if report.standings.seats == 2
            else Section("colours", "By seat", (by_seat(report),))
        )
    if played:
        sections.append(_endings(report))
    sections += [_adjudication(report), _failures(report)]
    if played and details is not None:
        sections += [_parameter_lines(report), _times(details), _openings(details)]
    order = "format teams crosstable colours parameter endings adjudication time openings"
    ids = [*order.split(), "failures"]
    return sorted(sections, key=lambda section: ids.index(section.id))


def result_text(row: GameRow, game: Game | None) -> Markup:
    """Return who won a game and how."""
    how = row.termination
    if how not in FORFEITS and row.detail:
        how = f"{how}, {row.detail}"
    by_rules = row.termination == "terminal"
    reason = text(reason_text(row.detail, game) if by_rules else f" ({how})", 80)
    scores = zip(row.players, row.returns, strict=True)
    won = [name_markup(player) for player, value in scores if value == max(row.returns)]
    if len(won) == len(row.players):
        return Markup("drawn%s") % reason
    return Markup("%s won%s") % (Markup(" and ").join(won), reason)


def _seconds(value: float) -> str:
    """Return seconds with three significant digits."""
    return f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _duration(value: float) -> str:
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


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
    return "; ".join([*parts, *report.standings.gaps])


def verdict(report: ReportContents) -> list[Paragraph]:
    """Return the format's latest verdict, such as a winner; most formats have none."""
    line = report.info.facts.get("text") if report.info else None
    if not isinstance(line, str) or not line:
        return []
    return [Paragraph((printable(line, _VERDICT_WIDTH),), media=PRINTED)]


# -- games ----------------------------------------------------------------------------------------


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
        rows.append([str(rank), player_cell(name), *map(wdl_cell, tallies)])
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
            [printable(rule.rule, 40), *count_cells(rule, "ended", "held_out", "wrong")]
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
    return table_if_rows(f"{title}: {len(games)}{first}", left_columns("game", *heads), named)


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
    blocks = table_if_rows("Time use", columns, rows, keys=keys, media=DETAILED)
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
    return [*row, *count_cells(use, "lost_on_time")]


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
        span = interval_text(line.low, line.high)
        ends = line.score, line.low, line.high
        bar = charts.rating_bar(*ends, zero=0.5, extent=(0.0, 1.0), label=span)
        rows.append(
            [
                Cell(text(line.opening, _OPENING_WIDTH) if line.opening else "none", style="text"),
                score_cell(line.score),
                Cell(span, line.low, "low", title=span, markup=bar),
                *count_cells(line, "wins", "draws", "losses", "games"),
            ]
        )
    keys = [line.opening or "" for line in lines]
    return table_if_rows(title, columns, rows, keys=keys, media=DETAILED)


def _replays(rows: Sequence[GameRow], game: Game | None) -> list[Section]:
    from urllib.parse import quote

    columns = left_columns("game", *seat_names(len(rows[0].players) if rows else 2), "result")
    lines: list[Row] = []
    for row in rows:
        game_id = text(row.game_id, 80)
        link = tag("a", game_id, href=f"replays/{quote(row.game_id, safe='~')}.html")
        result = result_text(row, game)
        cells = [Cell(game_id, markup=link), *map(player_cell, row.players)]
        lines.append([*cells, Cell(result.striptags(), markup=result), *count_cells(row, "moves")])
    blocks = table_if_rows("Replays", [*columns, Column("moves")], lines)
    return [Section("replays", "Replays", blocks, wide=True)] if blocks else []


# -- strength over a parameter, the format --------------------------------------------------------


def _parameter_lines(report: ReportContents) -> Section:
    """Return the strength of players of one agent over the number in which they differ."""
    title, payoffs = "Strength over a parameter", report.standings.payoffs or Payoffs()
    figures: list[Block] = []
    for group in parameter_series(report.entered):
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
        columns.append(Column("parameters", align="left", media=DETAILED))
        for row, name in zip(cells, names, strict=True):
            of = parameters.get(name)
            shown = parameter_list(of) if isinstance(of, Mapping) else ""
            row.append(Cell(text(shown, 400), style="text"))
    return table_if_rows("The format's ranking", columns, cells, media=media)


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
        blocks += table_if_rows("Facts", left_columns("", ""), rows)
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
    blocks += table_if_rows("Players", left_columns("player", "agent", "parameters given"), players)
    versions: list[Row] = [
        [text(package, 60), text(", ".join(found), 200)]
        for package, found in report.standings.versions.items()
    ]
    blocks += table_if_rows("Versions", left_columns("package", "versions"), versions)
    if info is not None and info.config_text:
        config = tag("pre", printable_block(info.config_text), tabindex="0")
        blocks.append(Figure(tag("details", tag("summary", "The config file"), config)))
    return Section("about", "About this run", tuple(blocks), wide=True)
