"""The tables of a report: from counted games and ratings to rows of text.

What the tables of a report share: figures and names as texts, and the leading columns.

The tables of players against players; their columns are headed by rank.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from miai_tournaments.ratings.ratings import Estimate
from miai_tournaments.report.counting import Tally
from miai_tournaments.report.terminal import Block, Paragraph, TextColumn, TextTable, printable
from miai_tournaments.store.rows import GameRow

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport


NAME_WIDTH = 24
"""Most cells of a player's name in a table."""

NONE = "-"
"""Where there is nothing to tell."""

PLAYER = (TextColumn("#", style="dim"), TextColumn("player", align="left", least=8))
"""The columns that every table of players begins with."""

_MOST_NAMES = 8


def player_table(
    title: str, columns: Sequence[TextColumn], rows: Sequence[tuple[int, str, Sequence[str]]]
) -> TextTable:
    """Return a table of rows ``(rank, name, cells)`` with its leading columns."""
    cells = tuple((str(rank), player_name(name), *rest) for rank, name, rest in rows)
    return TextTable(title, (*PLAYER, *columns), cells)


def ranked(report: TournamentReport) -> list[tuple[int, str]]:
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


SAME = "\N{MIDDLE DOT}"
"""A player against itself."""

_MOST_PARTS = 2


def crosstable(report: TournamentReport, width: int) -> list[Block]:
    """Return points and games of each player against each; percentages where space is short."""
    standings = report.standings

    def points(a: str, b: str) -> str:
        tally = standings.against(a, b)
        return f"{tally.points:g}/{tally.games}" if tally.games else NONE

    def percentage(a: str, b: str) -> str:
        score = standings.against(a, b).score
        return NONE if score is None else f"{100 * score:.0f}"

    whole = _square(report, "Crosstable: points/games of the row against the column", points)
    if whole.fits(width):
        return [whole]
    short = _square(report, "Crosstable: score of the row against the column in %", percentage)
    return _in_parts(short, width)


def wins_draws_losses_table(report: TournamentReport, width: int) -> list[Block]:
    """Return wins, draws and losses against each player, where there are draws and space."""
    standings = report.standings

    def cell(a: str, b: str) -> str:
        return wins_draws_losses(standings.against(a, b))

    table = _square(report, "W-D-L of the row against the column", cell)
    return [table] if standings.first_player.draws and table.fits(width) else []


def superiority_table(report: TournamentReport, width: int) -> list[Block]:
    """Return the probability that the player of the row is stronger, by opponent."""
    chances = report.ratings.superiority()
    index = {name: i for i, name in enumerate(report.ratings.players)}

    def cell(a: str, b: str) -> str:
        percent = 100 * chances[index[a], index[b]]
        return ">99" if percent > 99.5 else "<1" if percent < 0.5 else f"{percent:.0f}"

    title = "Superiority: likelihood that the row is stronger than the column in %"
    return _in_parts(_square(report, title, cell), width)


def _square(report: TournamentReport, title: str, cell: Callable[[str, str], str]) -> TextTable:
    players = ranked(report)
    columns = [TextColumn(str(rank)) for rank, _ in players]
    rows = [(rank, a, [SAME if a == b else cell(a, b) for _, b in players]) for rank, a in players]
    return player_table(title, columns, rows)


def _in_parts(table: TextTable, width: int) -> list[Block]:
    """Return a square table as parts, each with some of the opponents, that fit into a width."""
    opponents = len(table.columns) - len(PLAYER)
    for parts in range(1, _MOST_PARTS + 1):
        size = -(-opponents // parts)
        pieces = [_part(table, at, at + size) for at in range(0, opponents, size)]
        if all(piece.fits(width) for piece in pieces):
            return list(pieces)
    title = table.title.split(":")[0]
    return [Paragraph((f"{title}: left out for {opponents} players; the JSON report has it.",))]


def _part(table: TextTable, start: int, end: int) -> TextTable:
    lead = len(PLAYER)

    def pick(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return row[:lead] + row[lead + start : lead + end]

    title = f"{table.title}, continued" if start else table.title
    return TextTable(title, pick(table.columns), tuple(pick(row) for row in table.rows))


LINE_WIDTH = 160
"""Most cells of a line with texts of foreign origin."""

VERDICT_WIDTH = 400
"""Most cells of what a format says."""

_MOST_FORFEITS = 10


def file_blocks(report: TournamentReport, width: int) -> list[Block]:
    """Return all of a report for a width in cells, in the order of a file: the ratings first."""
    if not report.standings.players:
        return _empty(report)
    parts: list[Block] = [ratings_table(report), *verdict(report), remarks(report)]
    return [heading(report), *parts, *_details(report, width), *players(report)]


def screen_blocks(report: TournamentReport, width: int) -> list[Block]:
    """Return all of a report in the order of a terminal: the ratings last, where they stay."""
    if not report.standings.players:
        return _empty(report)
    parts: list[Block] = [remarks(report), *verdict(report), ratings_table(report)]
    return [heading(report), *_details(report, width), *parts]


def _empty(report: TournamentReport) -> list[Block]:
    return [heading(report), Paragraph(("No games yet.",))]


def _details(report: TournamentReport, width: int) -> list[Block]:
    blocks = crosstable(report, width)
    blocks += wins_draws_losses_table(report, width)
    if report.superiority:
        blocks += superiority_table(report, width)
    if report.standings.first_player.games:
        blocks += [colour_table(report), endings_table(report, width)]
    if report.adjudications is not None:
        blocks.append(report.adjudications.table())
    if report.standings.forfeits:
        blocks.append(forfeits(report))
    return blocks


def heading(report: TournamentReport) -> Paragraph:
    """Return what was played, how much of it is done, and with which versions."""
    info, standings = report.info, report.standings
    progress = _progress(report)
    if info is None:
        return Paragraph((progress,))
    if info.created:
        progress += f"; begun {minute(info.created)}"
    lines = [_game_line(info.game, info.game_version, info.given_game_parameters()), progress]
    if standings.versions:
        told = (f"{name} {' and '.join(met)}" for name, met in standings.versions.items())
        lines.append(printable(", ".join(told), LINE_WIDTH))
    return Paragraph(tuple(lines), title=printable(info.name, LINE_WIDTH))


def ratings_table(report: TournamentReport) -> TextTable:
    """Return the players by rating, with their totals."""
    short = _short_moves(report)
    columns = [
        TextColumn("Elo", style="bold"),
        TextColumn("\N{PLUS-MINUS SIGN}"),
        TextColumn("score"),
        TextColumn("W", drop=1),
        TextColumn("D", drop=1),
        TextColumn("L", drop=1),
        TextColumn("games", drop=3),
        TextColumn("ms/move" if short else "s/move", drop=4),
        TextColumn("cpu ms" if short else "cpu s", drop=5),
    ]
    rows = []
    for rank, name in ranked(report):
        standing, total = report.standings.players[name], report.standings.players[name].total
        row = [*_rating_cells(report, name), percent(total.score)]
        row += [str(n) for n in (total.wins, total.draws, total.losses, total.games)]
        row += [_time(mean.value, short) for mean in (standing.seconds, standing.cpu_seconds)]
        rows.append((rank, name, row))
    _add_returns(report, columns, rows)
    _add_bootstrap(report, columns, rows)
    return player_table(_ratings_title(report), columns, rows)


def players(report: TournamentReport) -> list[Paragraph]:
    """Return what plays under each name, with the parameters that it was given.

    A player that has its agent's name and nothing more is left out.
    """
    lines = []
    for row in report.entered:
        if row.name == row.agent and not row.given:
            continue
        told = parameters_told(row.given)
        line = f"{row.name} is {row.agent}{': ' if told else ''}{told}"
        lines.append(printable(line, VERDICT_WIDTH))
    return [Paragraph(tuple(lines), title="Players")] if lines else []


def verdict(report: TournamentReport) -> list[Paragraph]:
    """Return what the format told last: a winner, a verdict, standings; nothing from most."""
    said = report.info.facts.get("text") if report.info else None
    return [Paragraph((printable(said, VERDICT_WIDTH),))] if isinstance(said, str) and said else []


def remarks(report: TournamentReport) -> Paragraph:
    """Return what holds for all games, and what the ratings do not tell."""
    standings, ratings = report.standings, report.ratings
    first, lines = standings.first_player, []
    if first.games:
        worth = ratings.first_player_advantage
        scored = f"{percent(first.score)} ({wins_draws_losses(first)})"
        elo = f" and is worth {plus_minus(worth)} Elo" if worth else ""
        lines.append(f"Moving first scored {scored}{elo}.")
    if ratings.draw_probability:
        draws, share = ratings.draw_probability, first.draws / first.games
        between = " to ".join(map(percent, (draws.low, draws.high)))
        lines.append(
            f"{counted(first.draws, 'game')} drawn ({percent(share)}); between equals "
            f"{percent(draws.value)} would be, 95% interval {between}."
        )
    if standings.lengths.value is not None:
        lines.append(f"Mean length {standings.lengths.value:.1f} moves.")
    if len(ratings.groups) > 1 and first.games:
        lines.append(
            "No games link these groups, so ratings compare within each only: "
            f"{groups(ratings.groups)}."
        )
    if ratings.one_sided:
        lines.append(
            "Between these groups all points went one way, so that their distance rests on the "
            f"prior: {groups(ratings.one_sided)}."
        )
    if ratings.hides_first_move:
        lines.append(
            "By who moved first in these games, strength and the worth of moving first cannot be "
            "told apart: both rest on the prior. Let players meet with both colours."
        )
    if report.info and (settings := report.info.pairing_settings()):
        told = "; ".join(
            ", ".join(f"{key} {_told(value)}" for key, value in given.items()) for given in settings
        )
        line = f"These ratings count games with parameters of their own, too: {told}"
        lines.append(f"{printable(line, LINE_WIDTH)}.")
    return Paragraph(tuple(lines))


def colour_table(report: TournamentReport) -> TextTable:
    """Return each player's results by who moved first."""
    score = TextColumn("score", drop=1)
    rows = []
    for rank, name in ranked(report):
        standing = report.standings.players[name]
        row = []
        for side in (standing.as_first, standing.as_second):
            row += [wins_draws_losses(side), percent(side.score)]
        rows.append((rank, name, row))
    title = "By colour: W-D-L and score when moving first and second"
    return player_table(title, [TextColumn("first"), score, TextColumn("second"), score], rows)


def endings_table(report: TournamentReport, width: int) -> TextTable:
    """Return each player's results by termination; the rarest share a column where need be."""
    kinds: dict[str, int] = {}
    for standing in report.standings.players.values():
        for kind, tally in standing.endings.items():
            kinds[kind] = kinds.get(kind, 0) + tally.games
    common = sorted(kinds, key=lambda kind: (-kinds[kind], kind))
    shown = len(common)
    while not (table := _endings(report, common[:shown], common[shown:])).fits(width) and shown:
        shown -= 1
    return table


def forfeits(report: TournamentReport) -> Paragraph:
    """Return the games that were lost by an agent's fault, the first of them named."""
    rows = report.standings.forfeits
    lines = [_forfeit_line(row) for row in rows[:_MOST_FORFEITS]]
    if len(rows) > _MOST_FORFEITS:
        lines.append(f"and {len(rows) - _MOST_FORFEITS} more; the JSON report has all of them")
    return Paragraph(tuple(lines), title=f"Forfeits: {len(rows)}")


def _progress(report: TournamentReport) -> str:
    statuses, attempts = report.standings.statuses, report.standings.void_attempts
    parts = [f"{statuses.get('done', 0)} of {sum(statuses.values())} games done"]
    if statuses.get("running"):
        parts.append(f"{statuses['running']} running")
    if waiting := statuses.get("pending", 0) + statuses.get("void", 0):
        parts.append(f"{waiting} pending")
    if attempts:
        parts.append(counted(attempts, "void attempt"))
    return "; ".join(parts)


def _game_line(game: str, version: int, parameters: Mapping[str, Any]) -> str:
    told = parameters_told(parameters)
    line = f"{game} (version {version}){': ' if told else ''}{told}"
    return printable(line, LINE_WIDTH)


def parameters_told(parameters: Mapping[str, Any]) -> str:
    """Return parameters in a line: ``simulations 50, playouts light``; empty for none."""
    return ", ".join(f"{key} {_told(value)}" for key, value in parameters.items())


def _told(value: Any) -> str:
    """Return a parameter's value; a text as it is, all else as a config has it."""
    return value if isinstance(value, str) else json.dumps(value)


def _ratings_title(report: TournamentReport) -> str:
    ratings = report.ratings
    held = "mean" if ratings.anchor is None else f"{player_name(ratings.anchor)} held at"
    return f"Ratings: Elo with 95% intervals, {held} {ratings.anchor_elo:g}"


def _rating_cells(report: TournamentReport, name: str) -> tuple[str, str]:
    if not report.standings.players[name].total.games:
        return NONE, NONE
    estimate = report.ratings.estimate(name)
    return signed(estimate.value), f"{estimate.high - estimate.value:.0f}"


def _short_moves(report: TournamentReport) -> bool:
    means = (standing.seconds.value or 0.0 for standing in report.standings.players.values())
    return max(means, default=0.0) < 0.1


def _time(seconds: float | None, short: bool) -> str:
    if seconds is None:
        return NONE
    if short:
        return f"{1000 * seconds:.2f}"
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:.1f}"


def _add_returns(
    report: TournamentReport, columns: list[TextColumn], rows: Sequence[tuple[int, str, list[str]]]
) -> None:
    """Add mean returns where they tell more than wins and losses."""
    if not report.standings.stakes:
        return
    columns.append(TextColumn("return", drop=2))
    for _, name, row in rows:
        mean = report.standings.players[name].returns.value
        row.append(NONE if mean is None else f"{mean:+.3f}")


def _add_bootstrap(
    report: TournamentReport, columns: list[TextColumn], rows: Sequence[tuple[int, str, list[str]]]
) -> None:
    if report.bootstrap is None:
        return
    columns.append(TextColumn("bootstrap"))
    intervals = report.bootstrap.intervals()
    for _, name, row in rows:
        low, high = intervals[report.bootstrap.players.index(name)]
        row.append(f"{signed(low)} to {signed(high)}")


def _endings(report: TournamentReport, shown: Sequence[str], merged: Sequence[str]) -> TextTable:
    headers = [printable(kind, NAME_WIDTH) for kind in shown] + ["other"] * bool(merged)
    rows = []
    for rank, name in ranked(report):
        endings = report.standings.players[name].endings
        tallies = [endings.get(kind, Tally()) for kind in shown]
        if merged:
            tallies.append(sum((endings.get(kind, Tally()) for kind in merged), Tally()))
        rows.append((rank, name, [wins_draws_losses(tally) for tally in tallies]))
    columns = [TextColumn(header) for header in headers]
    return player_table("How games ended, W-D-L", columns, rows)


def _forfeit_line(row: GameRow) -> str:
    detail = f": {row.detail}" if row.detail else ""
    if row.loser is None:
        return printable(f"{row.game_id}: {row.termination}{detail}", LINE_WIDTH)
    loser, winner = (player_name(row.players[i]) for i in (row.loser, 1 - row.loser))
    lost = f"{row.game_id}: {loser} lost to {winner} by {row.termination}{detail}"
    return printable(lost, LINE_WIDTH)
