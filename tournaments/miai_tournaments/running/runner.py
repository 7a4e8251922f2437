"""The runner: hands the games that are not done to an executor and commits what comes back.

It is the only one that writes to the store while games are played. After each commit it hears from
the director whether games are added, or not needed any more. It ends when all games that are
needed are done, when it is told to stop, or when games are void again and again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from miai.errors import AgentUnavailableError
from miai_tournaments.executors.executor import Executor
from miai_tournaments.executors.jobs import Job, Outcome
from miai_tournaments.live.progress import Reporter
from miai_tournaments.running.director import Director
from miai_tournaments.running.schedule import player_seed
from miai_tournaments.running.signals import Stopped
from miai_tournaments.running.verdict import Verdict, judge, void_reason
from miai_tournaments.store.export import RecordFiles
from miai_tournaments.store.store import GameResult, GameRow, ScheduledGame, Store

POLL_SECONDS = 0.25
"""How often the runner looks whether it was told to stop."""

VOIDS_IN_A_ROW = 2
"""Attempts at one game, one after the other, that stop the run when they are void. In the whole run
it is as many, and more than there are workers: a machine that dies takes all of its own along."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    Attributes:
      kind: complete; stopped: on request; failed: too many games were void.
      reason: in words; empty when complete.
    """

    kind: Literal["complete", "stopped", "failed"]
    reason: str = ""


def start_players(
    executor: Executor, places: Mapping[str, str], *, stop_asked: Callable[[], str | None]
) -> None:
    """Start the agent of every player, so that none is found missing when games are played.

    Args:
      places: where each player, by name, was asked for, for the message.

    Raises:
      AgentUnavailableError: some cannot be started, each told on a line of its own.
      Stopped: the run was told to end meanwhile.
    """
    waiting = deque(Job(job_id=name, kind="start", players=(name,)) for name in places)
    begun: set[str] = set()
    problems: list[str] = []
    while waiting or begun:
        while waiting and len(begun) < executor.capacity:
            job = waiting.popleft()
            begun.add(job.job_id)
            executor.submit(job)
        for outcome in executor.wait(POLL_SECONDS):
            begun.discard(outcome.job_id)
            if outcome.fault:
                name = outcome.job_id
                said = outcome.reason.removeprefix(f"agent '{name}': ")
                problems.append(f"{places[name]}: {said}")
        if (reason := stop_asked()) is not None:
            raise Stopped(reason)
    if problems:
        raise AgentUnavailableError("\n".join(sorted(problems)))


def pending(game: ScheduledGame) -> GameRow:
    """Return the row of a game that was just scheduled."""
    values = {name: getattr(game, name) for name in ScheduledGame.__dataclass_fields__}
    return GameRow(status="pending", **values)


class Runner:
    """Plays the unfinished games of a store.

    Args:
      stop_asked: returns why the run is to end, or None; asked a few times a second. Running
        games are finished.
      files: where records are written besides.
      director: adds games as others are done; None where all are known.
      workers: at most so many play at once.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        *,
        reporter: Reporter,
        stop_asked: Callable[[], str | None],
        files: RecordFiles,
        director: Director | None = None,
        workers: int = 1,
    ) -> None:
        self._store = store
        self._executor = executor
        self._reporter = reporter
        self._stop_asked = stop_asked
        self._files = files
        self._director = director
        self._tournament = store.info().name
        self._queue: deque[GameRow] = deque(store.unfinished())
        self._handed: dict[str, GameRow] = {}
        self._voids: dict[str, int] = {}
        self._voids_in_a_row = 0
        self._most_voids = max(VOIDS_IN_A_ROW, workers + 1)
        self._ending: Ending | None = None

    def run(self) -> Ending:
        """Play until the end and return how it came.

        Raises:
          StoreError: the store cannot be written.
        """
        try:
            while self._needed() or (self._queue and self._ending is None):
                self._look_for_stop()
                self._hand_out()
                self._take(self._executor.wait(POLL_SECONDS))
                self._reporter.tick(self._executor.running)
        finally:
            self._store.release()
        return self._ending or Ending("complete")

    def _needed(self) -> bool:
        """Return whether a game is being played whose result counts."""
        surplus = self._director.surplus if self._director else frozenset()
        return any(game_id not in surplus for game_id in self._handed)

    def _look_for_stop(self) -> None:
        reason = None if self._ending else self._stop_asked()
        if reason is not None:
            self._end(Ending("stopped", reason))

    def _end(self, ending: Ending) -> None:
        """Begin no more games."""
        self._ending = self._ending or ending
        for game_id in self._executor.cancel():
            self._queue.append(self._handed.pop(game_id))
        self._reporter.ending(ending.reason, len(self._handed))

    def _hand_out(self) -> None:
        room = self._executor.capacity - len(self._handed)
        if self._ending is not None or room <= 0:
            return
        rows = [self._queue.popleft() for _ in range(min(room, len(self._queue)))]
        if not rows:
            return
        self._store.mark_running([row.game_id for row in rows])
        for row in rows:
            self._handed[row.game_id] = row
            self._executor.submit(self._job(row))

    def _job(self, row: GameRow) -> Job:
        return Job(
            job_id=row.game_id,
            kind="game",
            players=row.players,
            seed=row.seed,
            seeds=tuple(player_seed(row, name) for name in row.players),
            opening=row.opening,
            settings=row.settings,
            tags={
                "tournament": self._tournament,
                "game_id": row.game_id,
                "pair_id": row.pair_id,
                "round": row.round,
            },
        )

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        """Commit the results together, then deal with the void games."""
        finished: list[tuple[GameRow, GameResult, str]] = []
        for outcome in outcomes:
            row = self._handed.pop(outcome.job_id)
            verdict = judge(outcome, stopping=self._stopping())
            if verdict is Verdict.VOID:
                self._void(row, void_reason(outcome))
            elif verdict is Verdict.DROPPED:
                self._queue.append(row)
            elif outcome.result is not None:
                self._voids_in_a_row = 0
                finished.append((row, outcome.result, outcome.record))
        self._commit(finished)

    def _stopping(self) -> bool:
        self._look_for_stop()
        return self._ending is not None and self._ending.kind == "stopped"

    def _commit(self, finished: Sequence[tuple[GameRow, GameResult, str]]) -> None:
        if not finished:
            return
        self._store.finish((row.game_id, result, record) for row, result, record in finished)
        for row, result, record in finished:
            self._files.write(row.game_id, record)
            self._reporter.finished(row, result)
        if self._director is not None and not self._director.finished:
            for row, result, _ in finished:
                self._director.note(row.game_id, result.returns)
            self._advance(self._director)

    def _advance(self, director: Director) -> None:
        """Do what the format decides, now that more games are done."""
        facts = director.facts
        games = director.advance(room=self._executor.capacity)
        surplus = director.surplus
        if not games and director.facts == facts and not director.finished:
            return
        self._store.schedule(games, surplus=surplus, facts=director.facts)
        self._queue.extend(pending(game) for game in games)
        if surplus:
            self._drop(surplus)
        if games or surplus:
            self._reporter.scheduled(sum(self._store.counts().values()))
        if director.finished and (text := director.facts.get("text")):
            self._reporter.note(str(text))

    def _drop(self, surplus: Collection[str]) -> None:
        """Begin none of the surplus games; those that are being played are not waited for."""
        self._queue.extend(self._handed.pop(game_id) for game_id in self._executor.cancel())
        self._queue = deque(row for row in self._queue if row.game_id not in surplus)

    def _void(self, row: GameRow, reason: str) -> None:
        if self._director is not None and row.game_id in self._director.surplus:
            return
        self._store.void(row.game_id, reason)
        self._reporter.voided(row, reason)
        self._voids[row.game_id] = self._voids.get(row.game_id, 0) + 1
        self._voids_in_a_row += 1
        if self._voids[row.game_id] >= VOIDS_IN_A_ROW:
            self._end(Ending("failed", f"game {row.game_id} was void twice in a row: {reason}"))
        elif self._voids_in_a_row >= self._most_voids:
            told = f"{self._voids_in_a_row} games in a row were void, the last one: {reason}"
            self._end(Ending("failed", told))
        else:
            self._queue.appendleft(row)
