"""A run watched from another process: ``miai tournament watch``.

It only reads: the store, which SQLite allows while the runner writes, and the boards that workers
leave in the folder of logs (`miai_tournaments.workers.game_runner`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from miai.pages.document import Block, cut, printable, printable_block
from miai.progress import clock_text
from miai_tournaments.report.printing import renderable
from miai_tournaments.report.report import TournamentReport, build_report
from miai_tournaments.report.sections import crosstable, results_tables, verdict
from miai_tournaments.store.folder import has_store, runner_of
from miai_tournaments.store.rows import GameRow
from miai_tournaments.store.store import Store
from miai_tournaments.workers.game_runner import LiveSnapshot, read_boards

REFRESH_SECONDS: Final = 0.5
"""Time between two updates of the view."""

TABLE_SHARE: Final = 0.1
"""Maximum share of the time that is spent on reading games and building tables."""

WINDOW: Final = timedelta(minutes=5)
"""Time over which the rate of games is measured."""

_MOST_BOARDS = 6
_BAR = 40
_BOARD_WIDTH = 60


class RunView:
    """The view of one run, updated again and again.

    Attributes:
      over: whether the run has ended.
    """

    def __init__(self, store: Store, console: Console) -> None:
        self._store, self._console = store, console
        self._info = store.info()
        self._rows: list[GameRow] = []
        self._report: TournamentReport | None = None
        self._due = 0.0
        self.over = False

    def view(self) -> RenderableType:
        """Return the current view."""
        runner = runner_of(self._store.folder)
        counts = self._store.counts()
        done, total = counts["done"], sum(counts.values())
        self.over = runner is None
        if self.over or time.monotonic() >= self._due:
            self._read()
        return Group(
            Text(printable(f"{self._info.name} ({self._info.game})", 100), style="bold"),
            _progress(done, total, self._rows, growing=self._growing()),
            Text(self._state(runner, done, total), style="dim"),
            *self._boards(runner),
            Text(),
            self._tables(),
        )

    def _read(self) -> None:
        began = time.monotonic()
        self._info, self._rows = self._store.info(), self._store.results()
        names = [player.name for player in self._store.players()]
        self._report = build_report(self._rows, info=self._info, players=names)
        ended = time.monotonic()
        self._due = ended + max(REFRESH_SECONDS, (ended - began) / TABLE_SHARE)

    def _tables(self) -> RenderableType:
        if self._report is None or not self._rows:
            return Text("No games yet.")
        report = self._report
        blocks: list[Block] = [*results_tables(report), *verdict(report), crosstable(report)]
        return renderable(blocks, self._console.width)

    def _state(self, runner: str | None, done: int, total: int) -> str:
        if runner is None and done == total and not self._growing():
            return "the run is complete"
        if runner is None:
            return f"not running; continue with: miai tournament resume {self._store.folder}"
        return f"run by {runner}; Ctrl-C ends this view, not the run"

    def _growing(self) -> bool:
        """Return whether the format may add games."""
        return self._info.facts.get("open") is True

    def _boards(self, runner: str | None) -> list[RenderableType]:
        if runner is None:
            return []
        finished = {row.game_id for row in self._rows}
        boards = [b for b in read_boards(self._store.folder) if b.game_id not in finished]
        shown = [_board(board) for board in boards[:_MOST_BOARDS]]
        more = len(boards) - len(shown)
        if more > 0:
            shown.append(Text(f"and {more} more", style="dim"))
        return [Text(), Columns(shown, padding=(0, 4))] if shown else []


def watch(folder: Path, *, once: bool = False, console: Console | None = None) -> None:
    """Show a run until it ends; on a terminal, first wait until it has begun.

    Args:
      once: whether to print the view once and return.

    Raises:
      StoreError: there is no run in the folder, or it cannot be read.
    """
    console = console or Console(highlight=False)
    if not once and console.is_terminal and not _await_run(folder, console):
        return
    with Store.read(folder) as store:
        shown = RunView(store, console)
        if once or not console.is_terminal or console.is_dumb_terminal:
            console.print(shown.view())
            return
        try:
            with Live(console=console, auto_refresh=False) as live:
                while True:
                    live.update(shown.view(), refresh=True)
                    if shown.over:
                        return
                    time.sleep(REFRESH_SECONDS)
        except KeyboardInterrupt:
            return


def _await_run(folder: Path, console: Console) -> bool:
    """Wait until there is a run in a folder, or something else; return False if interrupted."""
    if has_store(folder) or (folder.exists() and not folder.is_dir()):
        return True
    console.print(Text(f"no run in {folder} yet; waiting for one, Ctrl-C ends this view"))
    try:
        while not has_store(folder):
            time.sleep(REFRESH_SECONDS)
    except KeyboardInterrupt:
        return False
    return True


def rate(rows: Sequence[GameRow], now: datetime, window: timedelta = WINDOW) -> float:
    """Return games a minute that ended in the last minutes before `now`; 0 for none.

    The span begins when the first of these games began, if that was less than a window ago.
    """
    spans = [span for row in rows if (span := _span(row)) is not None]
    recent = [(begin, end) for begin, end in spans if now - window <= end <= now]
    if not recent:
        return 0.0
    first = max(now - window, min(begin for begin, _ in recent))
    minutes = (now - first).total_seconds() / 60
    return len(recent) / minutes if minutes > 0 else 0.0


def _span(row: GameRow) -> tuple[datetime, datetime] | None:
    """Return when a game began and ended; None if unknown."""
    try:
        begin = datetime.fromisoformat(row.started)
        end = begin + timedelta(seconds=row.wall_seconds)
    except (ValueError, OverflowError):
        return None
    return None if begin.tzinfo is None else (begin, end)


def _progress(done: int, total: int, rows: Sequence[GameRow], *, growing: bool) -> RenderableType:
    """Return the bar, the rate and, if all games are scheduled, the expected end."""
    facts = f"  {done}/{total} games" + (" scheduled so far" if growing else "")
    a_minute = rate(rows, datetime.now(UTC))
    if a_minute > 0 and (growing or done < total):
        facts += f"  {a_minute:{',.0f' if a_minute >= 100 else '.3g'}} games/min"
    if a_minute > 0 and done < total and not growing:
        left = 60 * (total - done) / a_minute
        end = datetime.now().astimezone() + timedelta(seconds=min(left, 1e8))
        facts += f"  {clock_text(left)} left, until about {end:%Y-%m-%d %H:%M}"
    bar = ProgressBar(total=max(1, total), completed=done, width=_BAR)
    return Columns([bar, Text(facts)], padding=0)


def _board(board: LiveSnapshot) -> RenderableType:
    players = " - ".join(printable(player, 20) for player in board.players)
    lines = [Text(f"{players}, ply {board.ply}", style="bold")]
    lines += [Text(cut(printable_block(line), _BOARD_WIDTH)) for line in board.lines]
    return Group(*lines)
