"""What executors with workers have in common: who gets a job, who is hung, what a death costs.

How many jobs are sent to a worker ahead of time: more the shorter they are.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from miai_tournaments.workers.jobs import GameJob, Outcome, Setup

AHEAD_SECONDS = 0.1
"""Work that is sent to a worker ahead of time, so that short games do not wait for the runner."""

MAX_AHEAD = 16
"""Most jobs that a worker has at once."""

_WEIGHT = 0.2


class Pace:
    """The mean duration of jobs, the latest weighing most."""

    def __init__(self) -> None:
        self._mean: float | None = None

    def add(self, seconds: float) -> None:
        """Count a job."""
        mean = seconds if self._mean is None else self._mean
        self._mean = mean + _WEIGHT * (seconds - mean)

    @property
    def depth(self) -> int:
        """Jobs that a worker is to have, the one it is at included."""
        if self._mean is None:
            return 1
        return min(MAX_AHEAD, 1 + int(AHEAD_SECONDS / max(self._mean, 1e-6)))


class Worker(Protocol):
    """One worker, seen from the runner."""

    @property
    def jobs(self) -> Sequence[GameJob]:
        """What it was sent and has not answered, in the order in which it performs them."""

    @property
    def at(self) -> GameJob | None:
        """The job that it has begun."""

    @property
    def ready(self) -> bool:
        """Whether it can begin with what it is sent."""

    @property
    def begun(self) -> float:
        """When it began with that, on the monotonic clock."""

    def send(self, job: GameJob) -> None:
        """Queue a job."""

    def kill(self) -> None:
        """End it at once."""


W = TypeVar("W", bound=Worker)


class WorkerPool(ABC, Generic[W]):
    """An executor with workers, which are started when there is work for them; see `Executor`.

    A worker that dies, or is at one game for longer than `game_deadline` seconds and is killed,
    costs the job that it was at; the jobs that waited behind it go to another.
    """

    def __init__(self, setup: Setup, *, workers: int, game_deadline: float | None) -> None:
        self._setup = setup
        self._most = workers
        self._game_deadline = game_deadline
        self._workers: list[W] = []
        self._waiting: deque[GameJob] = deque()
        self._pace = Pace()

    # -- what kinds of workers differ in ------------------------------------------------------

    @abstractmethod
    def _spawn(self) -> W:
        """Return a new worker."""

    @abstractmethod
    def _take(self, seconds: float | None) -> list[Outcome]:
        """Take in what has happened; wait up to `seconds` for something to happen."""

    @abstractmethod
    def _bury(self, worker: W, what: str) -> str:
        """Return what is told of a worker's end; `what` is known of it."""

    def _sent(self, worker: W) -> None:
        """Take note that a worker was sent something."""

    # -- the executor -------------------------------------------------------------------------

    @property
    def capacity(self) -> int:
        """Jobs that it takes now: more the shorter they are."""
        return self._most * self._pace.depth

    @property
    def running(self) -> list[str]:
        """Ids of the jobs that have begun."""
        return [worker.at.job_id for worker in self._workers if worker.at is not None]

    def submit(self, job: GameJob) -> None:
        """Take a job and send it to the worker that has least to do."""
        self._waiting.append(job)
        self._dispatch()

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        """Return the outcomes that are there, waiting up to `timeout` seconds for the first."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            outcomes = self._take(self._pause(until)) + self._take_hung()
            self._dispatch()
            idle = not self._busy() and not self._waiting
            if outcomes or idle or (until is not None and time.monotonic() >= until):
                return outcomes

    def cancel(self) -> list[str]:
        """Forget the jobs that were not sent to a worker yet, and return their ids."""
        forgotten = [job.job_id for job in self._waiting]
        self._waiting.clear()
        return forgotten

    # -- shared work --------------------------------------------------------------------------

    def _busy(self) -> list[W]:
        return [worker for worker in self._workers if worker.jobs]

    def _dispatch(self) -> None:
        while self._waiting:
            ready = [worker for worker in self._workers if worker.ready]
            least = min(ready, key=lambda worker: len(worker.jobs), default=None)
            if (least is None or least.jobs) and self._may_spawn(len(ready)):
                self._workers.append(self._spawn())
                continue
            if least is None or len(least.jobs) >= self._pace.depth:
                return
            least.send(self._waiting.popleft())
            self._sent(least)

    def _may_spawn(self, ready: int) -> bool:
        coming = len(self._workers) - ready
        return len(self._workers) < self._most and coming < len(self._waiting)

    def _pause(self, until: float | None) -> float | None:
        """Return seconds to sleep: until `until` or the first deadline of a worker."""
        ends = [] if until is None else [until]
        if self._game_deadline is not None:
            ends += [w.begun + self._game_deadline for w in self._workers if w.at is not None]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def _take_hung(self) -> list[Outcome]:
        limit, now = self._game_deadline, time.monotonic()
        if limit is None:
            return []
        hung = [w for w in self._workers if w.at is not None and now - w.begun >= limit]
        outcomes = []
        for worker in hung:
            worker.kill()
            outcomes += self._lose(worker, f"was at one game for more than {limit:g} s")
        return outcomes

    def _lose(self, worker: W, what: str) -> list[Outcome]:
        """Bury a worker; return the outcome of the job it was at, keep those behind it."""
        reason = self._bury(worker, what)
        self._workers.remove(worker)
        at = worker.at
        self._waiting.extendleft(reversed([job for job in worker.jobs if job is not at]))
        return [] if at is None else [Outcome(job_id=at.job_id, fault="worker", reason=reason)]
