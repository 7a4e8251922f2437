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
from miai_tournaments.report.outline import verdict
from miai_tournaments.report.printing import renderable
from miai_tournaments.report.rating_tables import crosstable, results_tables
from miai_tournaments.report.report import TournamentReport, build_report
from miai_tournaments.store.folder import has_store, is_paused, runner_of
from miai_tournaments.store.rows import GameRow
from miai_tournaments.store.store import Store
from miai_tournaments.workers.game_runner import LiveSnapshot, read_boards

REFRESH_SECONDS: Final = 0.5
"""Time between two updates of the view."""

TABLE_SHARE: Final = 0.1
"""Maximum share of the time that is spent on reading games and building tables."""

WINDOW: Final = timedelta(minutes=5)
"""Time over which the rate of games is measured."""

MOST_BOARDS: Final = 6
"""Maximum number of boards that are shown."""

_BAR = 40
_BOARD_WIDTH = 60


class RunReading:
    """A run that is read again and again from outside.

    Attributes:
      info: facts of the run.
      rows: the games that are done.
      report: the report on them; None before the first reading.
      runner: the process that runs it, in words; None for none.
      paused: whether the runner begins no game for now.
      done, total: numbers of games.
    """

    def __init__(self, store: Store) -> None:
        self._folder = store.folder
        self.info = store.info()
        self.rows: list[GameRow] = []
        self.report: TournamentReport | None = None
        self.runner: str | None = None
        self.paused = False
        self.done = self.total = 0
        self._due = 0.0

    def update(self, store: Store) -> None:
        """Read the counts, and the games if enough time has passed or the run is over.

        Raises `StoreError` if the store cannot be read.
        """
        self.runner = runner_of(self._folder)
        self.paused = self.runner is not None and is_paused(self._folder)
        counts = store.counts()
        self.done, self.total = counts["done"], sum(counts.values())
        if self.report is None or self.over or time.monotonic() >= self._due:
            self._read(store)

    def _read(self, store: Store) -> None:
        if self.report is not None and len(self.rows) == self.done:
            return
        began = time.monotonic()
        self.info, self.rows = store.info(), store.results()
        names = [player.name for player in store.players()]
        self.report = build_report(self.rows, info=self.info, players=names)
        ended = time.monotonic()
        self._due = ended + max(REFRESH_SECONDS, (ended - began) / TABLE_SHARE)

    @property
    def over(self) -> bool:
        """Whether nobody runs it."""
        return self.runner is None

    @property
    def growing(self) -> bool:
        """Whether the format may add games."""
        return self.info.facts.get("open") is True

    @property
    def complete(self) -> bool:
        """Whether all games are done and there will be no more."""
        return self.over and self.done == self.total and not self.growing

    def boards(self) -> list[LiveSnapshot]:
        """Return the boards of running games; those that hide something as each player sees it."""
        if self.over:
            return []
        finished = {row.game_id for row in self.rows}
        return [b for b in read_boards(self._folder) if b.game_id not in finished]

    def progress_text(self) -> str:
        """Return the number of games, the rate and, if all are scheduled, the expected end."""
        facts = f"{self.done}/{self.total} games" + (" scheduled so far" if self.growing else "")
        if self.over:
            return facts
        a_minute = rate(self.rows, datetime.now(UTC))
        if a_minute > 0 and (self.growing or self.done < self.total):
            facts += f", {a_minute:{',.0f' if a_minute >= 100 else '.3g'}} games/min"
        if a_minute > 0 and self.done < self.total and not self.growing:
            left = 60 * (self.total - self.done) / a_minute
            end = datetime.now().astimezone() + timedelta(seconds=min(left, 1e8))
            facts += f", {clock_text(left)} left, until about {end:%Y-%m-%d %H:%M}"
        return facts


class RunView:
    """The view of one run in a terminal, updated again and again.

    Attributes:
      over: whether the run has ended.
    """

    def __init__(self, store: Store, console: Console) -> None:
        self._store, self._console = store, console
        self._reading = RunReading(store)
        self.over = False

    def view(self) -> RenderableType:
        """Return the current view."""
        reading = self._reading
        reading.update(self._store)
        self.over = reading.over
        bar = ProgressBar(total=max(1, reading.total), completed=reading.done, width=_BAR)
        return Group(
            Text(printable(f"{reading.info.name} ({reading.info.game})", 100), style="bold"),
            Columns([bar, Text(f"  {reading.progress_text()}")], padding=0),
            Text(self._state(), style="dim"),
            *self._boards(),
            Text(),
            self._tables(),
        )

    def _tables(self) -> RenderableType:
        report = self._reading.report
        if report is None or not self._reading.rows:
            return Text("No games yet.")
        blocks: list[Block] = [*results_tables(report), *verdict(report), crosstable(report)]
        return renderable(blocks, self._console.width)

    def _state(self) -> str:
        if self._reading.complete:
            return "the run is complete"
        if self._reading.over:
            return f"not running; continue with: miai tournament resume {self._store.folder}"
        if self._reading.paused:
            return f"paused; go on with: miai tournament resume {self._store.folder}"
        return f"run by {self._reading.runner}; Ctrl-C ends this view, not the run"

    def _boards(self) -> list[RenderableType]:
        boards = self._reading.boards()
        shown = [_board(board) for board in boards[:MOST_BOARDS]]
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


def _board(board: LiveSnapshot) -> RenderableType:
    players = " - ".join(printable(player, 20) for player in board.players)
    lines = [Text(f"{players}, ply {board.ply}", style="bold")]
    lines += [Text(cut(printable_block(line), _BOARD_WIDTH)) for line in board.lines]
    return Group(*lines)
