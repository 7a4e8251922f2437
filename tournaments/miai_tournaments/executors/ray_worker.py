"""One worker of a Ray cluster, seen from the runner: an actor with its jobs and its outcomes."""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from types import ModuleType
from typing import Any

from miai_tournaments.executors.jobs import Job, Outcome, Setup


class Seat:
    """What lives in the actor's process: a table with agents that stay warm."""

    def __init__(self, setup: dict[str, Any]) -> None:
        from miai_tournaments.executors.table import Table
        from miai_tournaments.executors.worker import load_plugins

        load_plugins()
        self._table = Table(Setup.from_plain(setup))

    def where(self) -> tuple[str, int]:
        """Return the machine's name and the process id."""
        return socket.gethostname(), os.getpid()

    def perform(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of a job; both are plain data."""
        return self._table.perform(Job.from_plain(job)).to_plain()

    def close(self) -> None:
        """End the agents' processes."""
        self._table.close()


class RayWorker:
    """An actor, seen from the runner.

    An actor performs its calls in the order in which they were made, so the first job is the one
    that it is at.

    Attributes:
      jobs: what it was sent, the one it is at first.
      begun: when it began with the first of them, on the monotonic clock.
      place: the machine and the process id; None while it is not placed, because the cluster is
        busy or small: then it is given nothing yet.
    """

    def __init__(self, ray: ModuleType, setup: Setup) -> None:
        self._ray = ray
        # A game that was begun is never begun again behind the runner's back.
        actor = ray.remote(max_restarts=0, max_task_retries=0, num_cpus=1)(Seat)
        self._actor = actor.remote(setup.to_plain())
        self._placing = self._actor.where.remote()
        self._answers: deque[Any] = deque()
        self.place: tuple[str, int] | None = None
        self.jobs: deque[Job] = deque()
        self.begun = 0.0

    @property
    def at(self) -> Job | None:
        """The job that it is at."""
        return self.jobs[0] if self.jobs and self.place is not None else None

    @property
    def ready(self) -> bool:
        """Whether it is placed: what is sent before would wait with it, however long that takes."""
        return self.place is not None

    @property
    def awaited(self) -> Any:
        """What it is waited for: to be placed, the first job's answer, or None for nothing."""
        if self.place is None:
            return self._placing
        return self._answers[0] if self._answers else None

    def send(self, job: Job) -> None:
        """Queue a job."""
        if not self.jobs:
            self.begun = time.monotonic()
        self.jobs.append(job)
        self._answers.append(self._actor.perform.remote(job.to_plain()))

    def take(self) -> Outcome | None:
        """Take in what is awaited, which is there: an outcome, or None when it was placed.

        Raises:
          RayError: the actor is gone.
        """
        if self.place is None:
            self.place = self._ray.get(self._placing)
            self.begun = time.monotonic()
            return None
        outcome = Outcome.from_plain(self._ray.get(self._answers[0]))
        self._answers.popleft()
        self.jobs.popleft()
        self.begun = time.monotonic()
        return outcome

    def told(self) -> str:
        """Return what the worker is called in messages."""
        if self.place is None:
            return "a Ray worker that was not placed yet"
        host, pid = self.place
        return f"Ray worker {pid} on {host}"

    def closing(self) -> Any:
        """Ask it to end its agents; what stands for that it has."""
        return self._actor.close.remote()

    def kill(self) -> None:
        """End the actor's process at once."""
        self._ray.kill(self._actor, no_restart=True)
