"""What a run shows while it goes on: plain lines, or a table that is updated in place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from miai_tournaments.report.standings import FORFEITS, Standings
from miai_tournaments.store.store import GameResult, ScheduledGame

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
    if sys.stdout.isatty():
        from miai_tournaments.live.live import LiveReporter, capable

        if capable():
            return LiveReporter(title)
    return PlainReporter()
