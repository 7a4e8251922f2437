"""What a run shows while it goes on, and its state when it is looked at from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console

from miai.pages.document import counted
from miai.plain import listed, one_line
from miai.progress import LiveProgress, Progress, is_live_terminal
from miai_tournaments.ratings.rankings import ranks_of
from miai_tournaments.report.printing import renderable
from miai_tournaments.report.rating_tables import crosstable, results_tables
from miai_tournaments.report.report import build_report
from miai_tournaments.report.standings import FORFEITS, Standings, count_games
from miai_tournaments.running.stored_run import expect_games
from miai_tournaments.store.folder import is_paused, runner_of
from miai_tournaments.store.rows import GameResult, GameRow, GameStatus, ScheduledGame
from miai_tournaments.store.store import Store

_REASON_LENGTH = 200
_MAX_RUNNING = 4  # games that the live view names

TABLE_SECONDS = 1.0
"""Minimum time between two updates of the tables."""

TABLE_SHARE = 0.05
"""Maximum share of the time that is spent on them."""


def describe(game: ScheduledGame, result: GameResult) -> str:
    """Return a line that describes how a game ended."""
    reason = result.termination
    if result.termination == "terminal":
        reason = result.detail
    elif result.termination in FORFEITS or result.termination == "adjudication":
        reason = f"{reason}: {one_line(result.detail, limit=_REASON_LENGTH)}"
    about = f" ({reason})" if reason else ""
    facts = f"{result.moves} moves, {result.wall_seconds:.1f} s"
    if len(game.players) > 2:
        return f"{ranking_text(game.players, result.returns)}{about}, {facts}"
    one, other = game.players
    own, theirs = result.returns
    if own == theirs:
        return f"{one} (first) and {other} draw{about}, {facts}"
    if own > theirs:
        return f"{one} (first) beats {other}{about}, {facts}"
    return f"{other} (second) beats {one}{about}, {facts}"


def ranking_text(players: Sequence[str], returns: Sequence[float]) -> str:
    """Return players from the first to the last: ``ann > bob = cid``."""
    ranks = ranks_of(returns)
    order = sorted(range(len(players)), key=ranks.__getitem__)
    text = players[order[0]]
    for before, seat in pairwise(order):
        text += f" {'=' if ranks[before] == ranks[seat] else '>'} {players[seat]}"
    return text


class Reporter:
    """Shows a run's progress as lines; all methods are called in the runner's thread."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress or Progress()
        self._void_reason = ""
        self._ending = ""

    def begin(self, *, done: int, total: int, standings: Callable[[], Standings]) -> None:
        """Called before the first game.

        Args:
          done, total: numbers of games.
          standings: counts the games that are done, which takes seconds where they are many.
        """
        self._progress.begin(done=done, total=total)

    def scheduled(self, total: int) -> None:
        """Called when the format has added or dropped games."""
        self._progress.total = total

    def finished(self, game: ScheduledGame, result: GameResult) -> None:
        """Called after a result is committed."""
        self._progress.advance(describe(game, result))

    def voided(self, game: ScheduledGame, reason: str) -> None:
        """Called after a game was void; a repeated reason is not printed again."""
        repeated, self._void_reason = reason == self._void_reason, reason
        shown = "the same again" if repeated else one_line(reason, limit=_REASON_LENGTH)
        self.note(f"void: {game.game_id}: {shown}")

    def note(self, text: str) -> None:
        """Show a line."""
        self._progress.note(text)

    def ending(self, reason: str, running: int) -> None:
        """Called when no more games are begun, with the number of games still running.

        Only the first reason is shown, without the reason of a void game that was just shown.
        """
        if not self._ending:
            cause = f": {self._void_reason}"
            short = reason.removesuffix(cause)
            line = one_line(short, limit=_REASON_LENGTH).rstrip(" .;:")
            line += ", as above" if short != reason else ""
            waiting = f"finishing {counted(running, 'running game')}" if running else "ending"
            self._ending = f"{line}; {waiting}"
            self._show_ending(self._ending)

    def pause(self, running: int | None) -> None:
        """Called when a pause begins, with the number of running games, and with None at its end.

        Running games are finished.
        """
        if running is None:
            self._show_ending("")
            self.note("the run goes on")
            return
        waiting = f"; finishing {counted(running, 'running game')}" if running else ""
        self._show_ending(f"paused{waiting}; `miai tournament resume` lets it go on")

    def tick(self, running: Sequence[str]) -> None:
        """Called a few times a second with the ids of the running games."""

    def close(self) -> None:
        """Remove what is updated in place."""
        self._progress.close()

    def _show_ending(self, line: str) -> None:
        if line:
            self.note(line)


class LiveReporter(Reporter):
    """Shows a run in place, with its tables; only exceptional lines scroll away above it."""

    _progress: LiveProgress

    def __init__(self, title: str, console: Console | None = None) -> None:
        hint = "Ctrl-C stops; the run can be resumed"
        super().__init__(LiveProgress(title, unit="games", hint=hint, console=console))
        self._standings = count_games(())
        self._tables_due = 0.0

    def begin(self, *, done: int, total: int, standings: Callable[[], Standings]) -> None:
        """Count the games that are done and show the view."""
        self._standings = standings()
        super().begin(done=done, total=total, standings=standings)

    def finished(self, game: ScheduledGame, result: GameResult) -> None:
        """Count a game; a forfeit is shown above the view."""
        scheduled = {name: getattr(game, name) for name in ScheduledGame.__dataclass_fields__}
        self._standings.note(GameRow(status="done", **scheduled, **asdict(result)))
        super().finished(game, result)
        if result.termination in FORFEITS:
            self.note(describe(game, result))

    def tick(self, running: Sequence[str]) -> None:
        """Update the view."""
        playing = listed(running, limit=_MAX_RUNNING)
        self._progress.status = f"playing {playing}" if playing else ""
        if self._progress.done and time.monotonic() >= self._tables_due:
            self._update_tables()
        self._progress.refresh()

    def _show_ending(self, line: str) -> None:
        self._progress.hint = line
        self._progress.refresh(now=True)

    def _update_tables(self) -> None:
        began = time.monotonic()
        report = build_report(self._standings)
        blocks = [*results_tables(report), crosstable(report)]
        self._progress.body = renderable(blocks, self._progress.console.width)
        ended = time.monotonic()
        # A fit of a thousand players takes long; the wait grows with it, so that the display never
        # slows the games.
        self._tables_due = ended + max(TABLE_SECONDS, (ended - began) / TABLE_SHARE)


def make_reporter(title: str) -> Reporter:
    """Return a live view where standard output is a terminal that can show one, else lines."""
    return LiveReporter(title) if is_live_terminal() else Reporter()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """The state of a run.

    Attributes:
      folder, name, game: its folder, its name and its game.
      counts: games by status.
      runner: process that runs it now, in words; None for none.
      open: whether the format may add games after these.
      paused: whether the process begins no game for now.
      voids: (game, void attempts, latest reason).
      gaps: see `Store.gaps`.
    """

    folder: str
    name: str
    game: str
    counts: Mapping[GameStatus, int]
    runner: str | None
    voids: tuple[tuple[str, int, str], ...]
    gaps: tuple[str, ...] = ()
    open: bool
    paused: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {**asdict(self), "total": self.total}

    @property
    def total(self) -> int:
        """Number of scheduled games."""
        return sum(self.counts.values())

    def to_text(self) -> str:
        """Return the state in a few lines."""
        counts = self.counts
        so_far = " scheduled so far" if self.open else ""
        done = f"{counts['done']} of {self.total} games{so_far} are done"
        others = [f"{counts[s]} {s}" for s in ("running", "void", "pending") if counts[s]]
        lines = [f"{self.name} ({self.game}) in {self.folder}", ", ".join([done, *others])]
        lines += self.gaps
        for game, n, reason in self.voids:
            lines.append(f"void {n}x: {game}: {one_line(reason, limit=_REASON_LENGTH)}")
        if self.runner:
            lines.append(f"{'paused' if self.paused else 'running'}: {self.runner}")
        elif counts["done"] < self.total or self.open:
            lines.append(f"not running; continue with: miai tournament resume {self.folder}")
        return "\n".join(lines)


def read_status(folder: Path) -> RunStatus:
    """Return the state of the run in a folder. Raises `StoreError` if there is none."""
    runner = runner_of(folder)
    with Store.read(folder) as store:
        expect_games(store)
        info, counts = store.info(), store.counts()
        voids = [(row.game_id, row.void_count, row.void_reason) for row in store.voided()]
        gaps = tuple(store.gaps())
    if runner is None:  # games that a killed runner left marked as running
        counts["pending"] += counts["running"]
        counts["running"] = 0
    return RunStatus(
        folder=str(folder),
        name=info.name,
        game=info.game,
        counts=counts,
        runner=runner,
        paused=runner is not None and is_paused(folder),
        voids=tuple(voids),
        gaps=gaps,
        open=info.facts.get("open") is True,
    )
