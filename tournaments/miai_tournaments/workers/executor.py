"""Executors: who performs the jobs of a run, and where.

They share three calls: `submit` a job, `wait` for outcomes, `cancel` what has not begun. They do
not know schedules or stores, and do not decide what an outcome means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from miai.process.workers import Finished, Job, JobPool, WorkerPool
from miai_tournaments.workers.game_runner import GameRunner
from miai_tournaments.workers.jobs import GameJob, Outcome, Setup

NAMES: Final = ("processes", "serial", "ray")

GAME_WORKER: Final = "miai_tournaments.workers.game_runner:serve_games"
"""What worker processes perform `GameJob` with; a `miai.process.worker.PerformerMaker`."""


class Executor(Protocol):
    """Performs jobs.

    Attributes:
      capacity: maximum number of jobs that it should have at once; may change between calls.
      running: ids of the jobs that have begun.
    """

    @property
    def capacity(self) -> int: ...  # noqa: D102 - an attribute, described above

    @property
    def running(self) -> list[str]: ...  # noqa: D102 - an attribute, described above

    def submit(self, job: GameJob) -> None:
        """Take a job."""

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        """Return the outcomes since the last call, waiting for the first.

        Args:
          timeout: seconds after which to return without any; None for no limit.
        """

    def cancel(self) -> list[str]:
        """Forget the jobs that no worker has, and return their ids."""


class SerialExecutor:
    """Performs one job after the other in this process, during `wait`.

    Agents still have processes of their own.
    """

    capacity = 1

    def __init__(self, runner: GameRunner) -> None:
        self._runner = runner
        self._jobs: deque[GameJob] = deque()
        self.running: list[str] = []

    def submit(self, job: GameJob) -> None:
        """Take a job."""
        self._jobs.append(job)

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        """Perform the next job, however long it takes, and return its outcome."""
        if not self._jobs:
            return []
        job = self._jobs.popleft()
        self.running = [job.job_id]
        try:
            return [self._runner.perform(job)]
        finally:
            self.running = []

    def cancel(self) -> list[str]:
        """Forget the jobs that have not begun and return their ids."""
        forgotten = [job.job_id for job in self._jobs]
        self._jobs.clear()
        return forgotten


class PooledExecutor:
    """Performs jobs in the workers of a pool.

    A worker that dies, or is at one game for too long and is killed, costs the game that it was at.
    """

    def __init__(self, pool: JobPool[Any]) -> None:
        self._pool = pool

    @property
    def capacity(self) -> int:
        """Maximum number of jobs that it should have at once: more the shorter the games are."""
        return self._pool.capacity

    @property
    def running(self) -> list[str]:
        """Ids of the jobs that have begun."""
        return [str(job.name) for job in self._pool.running]

    def submit(self, job: GameJob) -> None:
        """Take a job and send it to the worker with the fewest jobs."""
        self._pool.submit(Job(job.job_id, job.to_plain()))

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        """Return the outcomes since the last call, waiting up to `timeout` seconds."""
        outcomes = []
        for event in self._pool.wait(timeout):
            if isinstance(event, Finished):
                outcome = Outcome.from_plain(event.result)
                if outcome.result is not None:
                    self._pool.count(outcome.seconds)
                outcomes.append(outcome)
            elif event.job is not None:
                job_id = str(event.job.name)
                outcomes.append(Outcome(job_id=job_id, fault="worker", reason=event.reason))
        return outcomes

    def cancel(self) -> list[str]:
        """Forget the jobs that no worker has, and return their ids."""
        return [str(job.name) for job in self._pool.cancel()]


@contextmanager
def make_executor(
    name: str,
    setup: Setup,
    *,
    workers: int,
    game_deadline: float | None,
    on_output: Callable[[str], None],
    address: str = "local",
) -> Iterator[Executor]:
    """Provide an executor by name, one of `NAMES`; leaving the block ends all processes.

    Args:
      workers: maximum number of workers.
      game_deadline: seconds after which a worker that is at one game is killed; None for never.
      on_output: called with each line that a worker process prints.
      address: of a Ray cluster; ``local`` starts one on this machine.

    Raises:
      ConfigError: there is no such cluster, or Ray is not installed.
    """
    if name == "serial":
        with GameRunner(setup) as runner:
            yield SerialExecutor(runner)
        return
    pool: JobPool[Any]
    if name == "ray":
        from miai_tournaments.workers.ray_executor import RayPool

        pool = RayPool(setup, address=address, workers=workers, job_deadline=game_deadline)
    else:
        pool = WorkerPool(
            GAME_WORKER,
            setup.to_plain(),
            workers=workers,
            job_deadline=game_deadline,
            on_output=on_output,
        )
    with pool:
        yield PooledExecutor(pool)
