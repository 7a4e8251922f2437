"""The live view of a run on a terminal: progress, ratings and crosstable, updated in place."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from miai_tournaments.live.progress import Voids, describe
from miai_tournaments.report.crosstables import crosstable
from miai_tournaments.report.layout import to_rich
from miai_tournaments.report.report import build_report
from miai_tournaments.report.standings import FORFEITS, Standings, count_games
from miai_tournaments.report.tables import ratings_table
from miai_tournaments.store.store import GameResult, GameRow, ScheduledGame

REFRESH_SECONDS = 0.25
TABLE_SECONDS = 1.0
"""How often the tables are made anew, at most."""

TABLE_SHARE = 0.05
"""Most of the time that is spent on making them."""

_MOST_RUNNING = 4
_RATE_WINDOW = 60.0


def capable() -> bool:
    """Return whether the terminal can move its cursor."""
    console = Console()
    return console.is_terminal and not console.is_dumb_terminal


class LiveReporter:
    """Shows a run in place; only what is out of the ordinary scrolls away above it.

    See `miai_tournaments.live.progress.Reporter`.
    """

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console(highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._standings = count_games(())
        self._done = 0
        self._tables: RenderableType = Text()
        self._tables_due = 0.0
        self._shown = 0.0
        self._total = 0
        self._finish_times: deque[float] = deque()
        self._began = time.monotonic()
        self._running: Sequence[str] = ()
        self._ending = ""
        self._voids = Voids()

    def begin(self, *, done: int, total: int, standings: Callable[[], Standings]) -> None:
        """Count what was done before and show the view."""
        self._standings, self._total = standings(), total
        self._done = done
        self._began = time.monotonic()
        self._live.start()
        self._show()

    def scheduled(self, total: int) -> None:
        """Note what to count up to."""
        self._total = total

    def finished(self, game: ScheduledGame, result: GameResult) -> None:
        """Count a game; a forfeit is told above the view."""
        scheduled = {name: getattr(game, name) for name in ScheduledGame.__dataclass_fields__}
        self._standings.note(GameRow(status="done", **scheduled, **asdict(result)))
        self._done += 1
        self._finish_times.append(time.monotonic())
        if result.termination in FORFEITS:
            self.note(describe(game, result))

    def voided(self, game: ScheduledGame, reason: str) -> None:
        """Tell why a game was void, above the view."""
        self.note(self._voids.line(game, reason))

    def note(self, text: str) -> None:
        """Show a line above the view."""
        self._console.print(Text(text))

    def ending(self, reason: str, running: int) -> None:
        """Show that the run is ending, and why: for the first reason that there was."""
        self._ending = self._ending or self._voids.ending(reason, running)
        self._show()

    def tick(self, running: Sequence[str]) -> None:
        """Update the view, not more often than eyes can follow."""
        self._running = running
        if time.monotonic() - self._shown >= REFRESH_SECONDS:
            self._show()

    def close(self) -> None:
        """Take the view away."""
        self._live.stop()

    def _show(self) -> None:
        if self._done and time.monotonic() >= self._tables_due:
            self._make_tables()
        self._live.update(self._view(), refresh=True)
        self._shown = time.monotonic()

    def _make_tables(self) -> None:
        began = time.monotonic()
        width = self._console.width
        report = build_report(self._standings)
        self._tables = to_rich([ratings_table(report), *crosstable(report, width)], width)
        ended = time.monotonic()
        self._tables_due = ended + max(TABLE_SECONDS, (ended - began) / TABLE_SHARE)

    def _view(self) -> RenderableType:
        shown = self._running[:_MOST_RUNNING]
        more = len(self._running) - len(shown)
        playing = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        return Group(
            Text(self._title, style="bold"),
            self._bar(),
            Text(f"playing {playing}" if playing else "", style="dim"),
            Text(self._ending or "Ctrl-C stops; the run can be resumed", style="dim"),
            Text(),
            self._tables,
        )

    def _bar(self) -> RenderableType:
        done = self._done
        facts = f"{done}/{self._total} games"
        rate = self._rate()
        if rate > 0:
            left = (self._total - done) / rate
            facts += f"  {rate:.1f} games/s  {clock_text(left)} left"
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(ratio=1)
        grid.add_column(no_wrap=True)
        grid.add_row(ProgressBar(total=max(1, self._total), completed=done), Text(facts))
        return grid

    def _rate(self) -> float:
        """Return games a second over the last minute."""
        now = time.monotonic()
        while self._finish_times and now - self._finish_times[0] > _RATE_WINDOW:
            self._finish_times.popleft()
        seconds = min(_RATE_WINDOW, now - self._began)
        return len(self._finish_times) / seconds if seconds > 0 else 0.0


def clock_text(seconds: float) -> str:
    """Return a duration as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
