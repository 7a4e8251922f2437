"""Self-play with any two agents: workers play the games that a folder lacks."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from miai.errors import WorkerError
from miai.files import writing
from miai.process.workers import ATTEMPTS, Failed, Finished, Job, WorkerPool
from miai_go.errors import DataError
from miai_go.learning.agent_games import AgentGames, GamesPlan, PlayedGame, pack, unpack
from miai_go.learning.game_folder import GameFolder
from miai_go.learning.games import BLACK_WON, DRAWN, WHITE_WON, StoredGame

_WINDOW: Final = 8
"""Games per worker that may finish ahead of the first unfinished one; they wait in memory."""
_CHECK_SECONDS: Final = 0.25  # between two checks whether to stop
_RESULTS: Final = {BLACK_WON: "black", WHITE_WON: "white", DRAWN: "draw"}


def selfplay_pool(plan: GamesPlan, *, workers: int, logs: Path, sgf: bool = True) -> WorkerPool:
    """Return workers that play games by their numbers.

    Args:
      logs: folder for what the workers print; created if missing.
      sgf: whether to write game records.

    Raises:
      DataError: the folder cannot be created.
    """
    with writing(logs, DataError):
        logs.mkdir(parents=True, exist_ok=True)
    return WorkerPool(
        "miai_go.learning.selfplay:serve_selfplay",
        {"plan": plan.model_dump(mode="json"), "sgf": sgf},
        workers=workers,
        threads=1,
        logs=logs,
    )


@contextmanager
def serve_selfplay(setup: Mapping[str, Any]) -> Iterator[Callable[[int], Any]]:
    """Give the function with which a worker plays the game of a number."""
    games = AgentGames(GamesPlan.model_validate(setup["plan"]), sgf=setup["sgf"])
    try:
        yield lambda number: pack(games.play(number))
    finally:
        games.close()


@dataclass(slots=True)
class SelfPlayTally:
    """Counts of a run.

    Attributes:
      games, moves: in finished games.
      targets: moves with a policy target.
      results: games by result: black, white, draw, unknown.
      names: of the games, equal for games that are equal under symmetry.
      lost: abandoned games, with the reason of the last failure.
      failures: failed attempts.
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
        """Wall time so far."""
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
      pool: from `selfplay_pool`.
      games: number of games that the folder should have.
      workers: of the pool.
      tell: called with a line on each failure.

    Attributes:
      tally: counts so far.
    """

    def __init__(
        self,
        folder: GameFolder,
        pool: WorkerPool,
        *,
        games: int,
        workers: int,
        tell: Callable[[str], None],
    ) -> None:
        self.tally = SelfPlayTally()
        self._folder, self._pool, self._tell = folder, pool, tell
        self._workers = workers
        self._patience = ATTEMPTS * (workers + 2)
        self._numbers: Iterator[int] = folder.missing(games)
        self._waiting: deque[int] = deque()
        self._playing: set[int] = set()
        self._attempts: Counter[int] = Counter()
        self._failures_in_a_row = 0

    def play(self, *, stop: Callable[[], bool], progress: Callable[[], None]) -> None:
        """Play until the folder has all games or `stop` returns true.

        Args:
          progress: called several times a second.

        Raises:
          WorkerError: the players cannot begin, or no worker can be started.
          DataError: games cannot be written, or too many attempts fail in a row.
        """
        while not stop():
            self._submit()
            if not self._playing:
                return
            events = self._pool.wait(_CHECK_SECONDS)
            self._playing.difference_update(e.job.name for e in events if e.job is not None)
            self._add({e.job.data: unpack(e.result) for e in events if isinstance(e, Finished)})
            for event in events:
                if isinstance(event, Failed):
                    self._fail(event)
            progress()

    def _submit(self) -> None:
        while len(self._playing) < self._workers:
            if not self._waiting:
                self._waiting.extend(n for n in [next(self._numbers, None)] if n is not None)
            end = self._folder.turn + _WINDOW * self._workers
            if not self._waiting or self._waiting[0] >= end:
                return
            number = self._waiting.popleft()
            self._playing.add(number)
            self._pool.submit(Job(number, number))

    def _add(self, games: Mapping[int, PlayedGame]) -> None:
        if not games:
            return
        self._folder.add(games)
        for played in games.values():
            self.tally.note(played.game)
        self._failures_in_a_row = 0

    def _fail(self, event: Failed) -> None:
        if event.kind == "refusal":
            raise WorkerError(event.reason)
        self.tally.failures += 1
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= self._patience:
            raise DataError(
                f"{self._failures_in_a_row} attempts failed in a row, the last one because "
                f"{event.reason}"
            )
        if event.job is None:
            self._tell(f"between two games, {event.reason}; it is replaced")
            return
        number: int = event.job.data
        self._attempts[number] += 1
        if self._attempts[number] < ATTEMPTS:
            self._tell(f"game {number}: {event.reason}; it is played again")
            self._waiting.appendleft(number)
            return
        self._tell(f"game {number}: given up after {ATTEMPTS} attempts: {event.reason}")
        self.tally.lost[number] = event.reason
        self._folder.lose(number, event.reason)


_COUNTED: Final = ("requests", "positions", "batches", "seconds", "waited")


class ServerWatch:
    """Measures what the inference server does during a run, also for other clients."""

    def __init__(self) -> None:
        self._before = _figures()

    def since(self) -> list[dict[str, Any]]:
        """Return a row for each network with requests since the start of the run.

        Each has its path; the requests, positions and batches; the seconds of evaluation; the mean
        batch in positions; and the mean wait of a request in the queue, in seconds.
        """
        rows = []
        for key, after in _figures().items():
            before = self._before.get(key, {})
            done = {name: after[name] - before.get(name, 0.0) for name in _COUNTED}
            if done["requests"] > 0:
                waited = done.pop("waited")
                rows.append(
                    {
                        "path": key[1],
                        **{name: round(figure, 3) for name, figure in done.items()},
                        "mean_batch": round(done["positions"] / max(done["batches"], 1), 2),
                        "queue_wait": round(waited / done["requests"], 6),
                    }
                )
        return rows


def _figures() -> dict[tuple[int, str], dict[str, float]]:
    """Return the counts of the running server, by server and network file."""
    from miai_go.nets.client import server_status

    status = server_status()
    counts: dict[tuple[int, str], dict[str, float]] = {}
    networks: list[dict[str, Any]] = status["networks"] if status else []
    pid = status["pid"] if status else 0
    for network in networks:
        if "requests" not in network:  # not loaded
            continue
        # The server may run one file in several ways; the rows add them up.
        row = counts.setdefault((pid, network["path"]), dict.fromkeys(_COUNTED, 0.0))
        for name in _COUNTED[:-1]:
            row[name] += network[name]
        row["waited"] += network["queue_wait"] * network["requests"]
    return counts
