"""A sitting of self-play: orders to workers, their games into the folder, until all are there."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from miai_go.data.games import BLACK_WON, DRAWN, WHITE_WON, StoredGame
from miai_go.errors import DataError
from miai_go.selfplay.agent_games import PlayedGame
from miai_go.selfplay.crew import Crew, Failed, Finished
from miai_go.selfplay.game_folder import GameFolder

ATTEMPTS: Final = 3
"""How often a game is begun before it is given up."""

_WINDOW: Final = 8
"""Games a worker that may be ahead of the first unfinished one; they wait in memory."""
_LOOK_EVERY: Final = 0.25  # seconds between two looks whether to stop
_RESULTS: Final = {BLACK_WON: "black", WHITE_WON: "white", DRAWN: "draw"}


@dataclass(slots=True)
class Tally:
    """What a sitting did.

    Attributes:
      games, moves: played to the end.
      targets: moves with a policy target.
      results: how many games ended how: black, white, draw, unknown.
      names: the different games, symmetries aside.
      lost: games that were given up, with the reason of the last failure.
      failures: attempts that failed.
      began: on the monotonic clock.
    """

    games: int = 0
    moves: int = 0
    targets: int = 0
    results: Counter[str] = field(default_factory=Counter)
    names: set[bytes] = field(default_factory=set)
    lost: dict[int, str] = field(default_factory=dict)
    failures: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Wall time since it began."""
        return time.monotonic() - self.began

    def note(self, game: StoredGame) -> None:
        """Count a game."""
        self.games += 1
        self.moves += len(game.moves)
        self.targets += 0 if game.weight is None else int((game.weight > 0).sum())
        self.results[_RESULTS.get(game.result, "unknown")] += 1
        self.names.add(game.name())

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        seconds = self.seconds
        return {
            "games": self.games,
            "moves": self.moves,
            "moves_with_policy_targets": self.targets,
            "different_games": len(self.names),
            "results": dict(self.results),
            "lost": {str(number): reason for number, reason in self.lost.items()},
            "failed_attempts": self.failures,
            "seconds": round(seconds, 3),
            "games_per_hour": round(3600 * self.games / seconds, 1) if seconds else 0.0,
        }


class Sitting:
    """Plays the games that a folder lacks.

    Args:
      games: how many the folder is to have.
      workers: how many the crew has.
      tell: called with a line on each failure.

    Attributes:
      tally: what was done so far.
    """

    def __init__(
        self,
        folder: GameFolder,
        crew: Crew,
        *,
        games: int,
        workers: int,
        tell: Callable[[str], None],
    ) -> None:
        self.tally = Tally()
        self._folder, self._crew, self._tell = folder, crew, tell
        self._window = _WINDOW * workers
        self._patience = ATTEMPTS * (workers + 2)
        self._numbers: Iterator[int] = folder.missing(games)
        self._waiting: deque[int] = deque()
        self._failures: Counter[int] = Counter()
        self._barren = 0

    def play(self, *, stop: Callable[[], bool], progress: Callable[[], None]) -> None:
        """Play until all games are there or `stop` says so.

        Args:
          progress: called several times a second.

        Raises:
          RefusedError: the players cannot be had.
          DataError: games cannot be written, or attempt after attempt fails.
        """
        while not stop():
            self._give_orders()
            if not self._crew.busy:
                return
            events = self._crew.wait(_LOOK_EVERY)
            self._take({e.number: e.played for e in events if isinstance(e, Finished)})
            for event in events:
                if isinstance(event, Failed):
                    self._fail(event)
            progress()

    def _give_orders(self) -> None:
        while self._crew.idle:
            if not self._waiting:
                self._waiting.extend(n for n in [next(self._numbers, None)] if n is not None)
            if not self._waiting or self._waiting[0] >= self._folder.turn + self._window:
                return
            self._crew.play(self._waiting.popleft())

    def _take(self, games: dict[int, PlayedGame]) -> None:
        if not games:
            return
        self._folder.add(games)
        for played in games.values():
            self.tally.note(played.game)
        self._barren = 0

    def _fail(self, event: Failed) -> None:
        self.tally.failures += 1
        self._barren += 1
        if self._barren >= self._patience:
            raise DataError(
                f"{self._barren} attempts failed one after another, the last by: {event.reason}"
            )
        number = event.number
        if number is None:
            self._tell(f"before any game, {event.reason}; another one is started")
            return
        self._failures[number] += 1
        times = self._failures[number]
        if times < ATTEMPTS:
            self._tell(f"game {number}: {event.reason}; it is played again")
            self._waiting.appendleft(number)
            return
        self._tell(f"game {number}: given up after {times} attempts: {event.reason}")
        self.tally.lost[number] = event.reason
        self._folder.lose(number, event.reason)
