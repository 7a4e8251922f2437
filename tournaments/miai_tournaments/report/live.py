"""What one sees while a run goes on.

The live view of a run on a terminal: progress, ratings and crosstable, updated in place.

How far a tournament is.

What a run shows while it goes on: plain lines, or a table that is updated in place.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from miai_tournaments.report.counting import FORFEITS, Standings, count_games
from miai_tournaments.report.report import build_report
from miai_tournaments.report.tables import crosstable, ratings_table
from miai_tournaments.report.terminal import to_rich
from miai_tournaments.store.folder import runner_of
from miai_tournaments.store.rows import GameResult, GameRow, ScheduledGame, Status
from miai_tournaments.store.store import Store

_REASON_LENGTH = 200


class Reporter(Protocol):
    """Is told of a run's progress. All of it is called in the runner's thread."""

    def begin(self, *, done: int, total: int, standings: Callable[[], Standings]) -> None:
        """Be told of the games that are done before the first one is played.

        Args:
          standings: counts them, which takes seconds where they are very many.
        """

    def scheduled(self, total: int) -> None:
        """Be told that the format has added games or dropped some, and how many there are now."""

    def finished(self, game: ScheduledGame, result: GameResult) -> None:
        """Be told of a result that was committed."""

    def voided(self, game: ScheduledGame, reason: str) -> None:
        """Be told of a game that was void."""

    def note(self, text: str) -> None:
        """Be given a line to show."""

    def ending(self, reason: str, running: int) -> None:
        """Be told that no more games are begun, and how many are still running."""

    def tick(self, running: Sequence[str]) -> None:
        """Be told the ids of the running games, a few times a second."""

    def close(self) -> None:
        """Show nothing more."""


def describe(game: ScheduledGame, result: GameResult) -> str:
    """Return one line that says how a game ended."""
    one, other = game.players
    own, theirs = result.returns
    reason = result.termination
    if result.termination == "terminal":
        reason = result.detail
    elif result.termination in FORFEITS or result.termination == "adjudication":
        reason = f"{reason}: {one_line(result.detail)}"
    about = f" ({reason})" if reason else ""
    facts = f"{result.moves} moves, {result.wall_seconds:.1f} s"
    if own == theirs:
        return f"{one} (first) and {other} draw{about}, {facts}"
    if own > theirs:
        return f"{one} (first) beats {other}{about}, {facts}"
    return f"{other} (second) beats {one}{about}, {facts}"


def one_line(text: str) -> str:
    """Return a text of any origin as one printable line of bounded length."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _REASON_LENGTH else line[: _REASON_LENGTH - 3] + "..."


class PlainReporter:
    """A line for each finished game: for files, pipes and terminals that cannot do more."""

    def __init__(self) -> None:
        self._done = 0
        self._total = 0
        self._voids = Voids()
        self._ending = False

    def begin(self, *, done: int, total: int, standings: Callable[[], Standings]) -> None:
        """Note where the count begins."""
        self._done, self._total = done, total

    def scheduled(self, total: int) -> None:
        """Note what to count up to."""
        self._total = total

    def finished(self, game: ScheduledGame, result: GameResult) -> None:
        """Print who beat whom."""
        self._done += 1
        width = len(str(self._total))
        self.note(f"[{self._done:{width}}/{self._total}] {describe(game, result)}")

    def voided(self, game: ScheduledGame, reason: str) -> None:
        """Print why a game was void."""
        self.note(self._voids.line(game, reason))

    def note(self, text: str) -> None:
        """Print a line."""
        print(text, flush=True)

    def ending(self, reason: str, running: int) -> None:
        """Print that the run is ending, and why: for the first reason that there was."""
        if not self._ending:
            self._ending = True
            self.note(self._voids.ending(reason, running))

    def tick(self, running: Sequence[str]) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Nothing is open."""


class Voids:
    """Words for void games and for what they end, in which no reason is told twice in a row."""

    def __init__(self) -> None:
        self._told = ""

    def line(self, game: ScheduledGame, reason: str) -> str:
        """Return a line that tells of a void game."""
        again, self._told = reason == self._told, reason
        return f"void: {game.game_id}: {'the same again' if again else one_line(reason)}"

    def ending(self, reason: str, running: int) -> str:
        """Return a line that tells why a run is ending; see `Reporter.ending`."""
        cause = f": {self._told}"
        short = f"{reason.removesuffix(cause)}, as told" if reason.endswith(cause) else reason
        return f"{one_line(short).rstrip(' .;:')}; {waiting_for(running)}"


def waiting_for(running: int) -> str:
    """Return what the run still waits for, in words."""
    return f"finishing {running} running game{'s' * (running != 1)}" if running else "ending"


def make_reporter(title: str) -> Reporter:
    """Return a live table where standard output is a terminal that can show one, else lines."""
    if sys.stdout.isatty() and capable():
        return LiveReporter(title)
    return PlainReporter()


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

    See `miai_tournaments.report.live.Reporter`.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """The state of a tournament.

    Attributes:
      folder, name, game: which one.
      counts: games by status.
      runner: who runs it now, in words; None when nobody does.
      open: whether the format may add games when these are played.
      voids: (game, attempts that were void, reason of the last).
    """

    folder: str
    name: str
    game: str
    counts: Mapping[Status, int]
    runner: str | None
    voids: tuple[tuple[str, int, str], ...]
    open: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "total": self.total}

    @property
    def total(self) -> int:
        """Number of scheduled games."""
        return sum(self.counts.values())

    def to_text(self) -> str:
        """Return it in a few lines."""
        counts = self.counts
        so_far = " scheduled so far" if self.open else ""
        done = f"{counts['done']} of {self.total} games{so_far} are done"
        others = [f"{counts[s]} {s}" for s in ("running", "void", "pending") if counts[s]]
        lines = [f"{self.name} ({self.game}) in {self.folder}", ", ".join([done, *others])]
        lines += [f"void {n}x: {game}: {one_line(reason)}" for game, n, reason in self.voids]
        if self.runner:
            lines.append(f"running: {self.runner}")
        elif counts["done"] < self.total or self.open:
            lines.append(f"not running; continue with: miai tournament resume {self.folder}")
        return "\n".join(lines)


def read_status(folder: Path) -> RunStatus:
    """Return the state of the tournament in a folder. Raises `StoreError` when there is none."""
    runner = runner_of(folder)
    with Store.read(folder) as store:
        info, counts = store.info(), store.counts()
        voids = [(row.game_id, row.void_count, row.void_reason) for row in store.voided()]
    if runner is None:  # what a runner that died left marked as running is not
        counts["pending"] += counts["running"]
        counts["running"] = 0
    return RunStatus(
        folder=str(folder),
        name=info.name,
        game=info.game,
        counts=counts,
        runner=runner,
        voids=tuple(voids),
        open=info.facts.get("open") is True,
    )
