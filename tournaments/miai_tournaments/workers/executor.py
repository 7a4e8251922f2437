"""Executors: who performs the jobs of a run, and where.

They share three calls: `submit` a job, `wait` for outcomes, `cancel` what has not begun. They do
not know schedules or stores, and do not decide what an outcome means. Each is a component of the
kind ``executor``, so that a plugin can bring another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from miai.parameters import Parameters
from miai.process.sandbox import Isolation
from miai.process.workers import Finished, Job, JobPool, WorkerPool
from miai_tournaments.blame import Guarded, blamed
from miai_tournaments.workers.game_runner import GameRunner
from miai_tournaments.workers.jobs import GameJob, JobOutcome, Setup

GAME_WORKER: Final = "miai_tournaments.workers.game_runner:serve_games"
"""What worker processes perform `GameJob` with; a `miai.process.workers.PerformerMaker`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What an executor is made for.

    Attributes:
      setup: what all jobs share.
      workers: maximum number of games to play at once.
      game_deadline: seconds after which a worker that is at one game is killed; None for never.
      on_output: called with each line that a worker prints.
    """

    setup: Setup
    workers: int
    game_deadline: float | None = None
    on_output: Callable[[str], None] = print


class Executor(Protocol):
    """Performs jobs within a ``with`` statement, at whose end all its processes are gone."""

    @property
    def workers(self) -> int:
        """Maximum number of games that are played at once."""

    @property
    def local(self) -> bool:
        """Whether agents run on this machine, so that its processors and its isolation count."""

    @property
    def capacity(self) -> int:
        """Maximum number of jobs that it should have at once; may change between calls."""

    @property
    def running(self) -> list[str]:
        """Ids of the jobs that have begun."""

    def submit(self, job: GameJob) -> None:
        """Take a job."""

    def wait(self, timeout: float | None = None) -> list[JobOutcome]:
        """Return the outcomes since the last call, waiting for the first.

        Args:
          timeout: seconds after which to return without any; None for no limit.
        """

    def cancel(self) -> list[str]:
        """Forget the jobs that no worker has, and return their ids."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class SerialExecutor:
    """Performs one job after the other in this process, during `wait`.

    Agents still have processes of their own.
    """

    workers = capacity = 1
    local = True

    def __init__(self, workload: Workload, parameters: Parameters) -> None:
        self._runner = GameRunner(workload.setup)
        self._jobs: deque[GameJob] = deque()
        self.running: list[str] = []

    def submit(self, job: GameJob) -> None:
        """Take a job."""
        self._jobs.append(job)

    def wait(self, timeout: float | None = None) -> list[JobOutcome]:
        """Perform the next job, however long it takes, and return its outcome."""
        # Signals are acted on between games: a game in this process cannot be left.
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

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.__exit__(*error)


class PooledExecutor:
    """Performs jobs in the workers of a pool.

    A worker that dies, or is at one game for too long and is killed, costs the game that it was at.

    Args:
      pool: the workers, which end with the executor.
      workers: their maximum number.
      local: whether they are on this machine.
    """

    def __init__(self, pool: JobPool[Any], *, workers: int, local: bool) -> None:
        self._pool = pool
        self.workers, self.local = workers, local

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

    def wait(self, timeout: float | None = None) -> list[JobOutcome]:
        """Return the outcomes since the last call, waiting up to `timeout` seconds."""
        outcomes = []
        for event in self._pool.wait(timeout):
            if isinstance(event, Finished):
                outcome = JobOutcome.from_plain(event.result)
                # How long games take decides how many jobs a worker gets ahead; a start of a player
                # says nothing about that.
                if outcome.result is not None:
                    self._pool.count(outcome.seconds)
                outcomes.append(outcome)
            # A worker that died loses the job that it was at. Whether that game is played again is
            # the runner's decision, so the loss is an outcome like any other.
            elif event.job is not None:
                job_id = str(event.job.name)
                outcomes.append(JobOutcome(job_id=job_id, fault="worker", reason=event.reason))
        return outcomes

    def cancel(self) -> list[str]:
        """Forget the jobs that no worker has, and return their ids."""
        return [str(job.name) for job in self._pool.cancel()]

    def __enter__(self) -> Self:
        self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.__exit__(*error)


def process_executor(workload: Workload, parameters: Parameters) -> PooledExecutor:
    """Return the executor whose workers are processes of this machine."""
    inside = workload.setup.limits.get("isolation") == Isolation.NONE
    pool = WorkerPool(
        GAME_WORKER,
        workload.setup.to_plain(),
        workers=workload.workers,
        threads=1 if inside else None,  # as in the agents' own processes
        job_deadline=workload.game_deadline,
        on_output=workload.on_output,
    )
    return PooledExecutor(pool, workers=workload.workers, local=True)


class GuardedExecutor(Guarded):
    """An executor of a plugin, whose answers are checked too."""

    def __init__(self, executor: Executor, title: str) -> None:
        super().__init__(executor, title)
        self._jobs: set[str] = set()

    @property
    def workers(self) -> int:
        """Maximum number of games that are played at once."""
        return self._number("workers")

    @property
    def capacity(self) -> int:
        """Maximum number of jobs that it should have at once."""
        return self._number("capacity")

    def submit(self, job: GameJob) -> None:
        """Take a job."""
        self._jobs.add(job.job_id)
        with blamed(self._title):
            self._component.submit(job)

    def wait(self, timeout: float | None = None) -> list[JobOutcome]:
        """Return the outcomes since the last call."""
        with blamed(self._title):
            outcomes = list(self._component.wait(timeout))
            for outcome in outcomes:
                if not isinstance(outcome, JobOutcome):
                    raise TypeError(f"wait() returned {outcome!r:.60}, which is not a JobOutcome")
            self._settle(outcome.job_id for outcome in outcomes)
        return outcomes

    def cancel(self) -> list[str]:
        """Forget the jobs that no worker has, and return their ids."""
        with blamed(self._title):
            return self._settle(self._component.cancel())

    def _settle(self, job_ids: Iterable[str]) -> list[str]:
        """Forget jobs and return their ids."""
        # Each job has one outcome or is cancelled. An executor that forgets or repeats one would
        # leave the runner waiting, or a game counted twice.
        settled = list(job_ids)
        for job_id in settled:
            if job_id not in self._jobs:
                raise ValueError(f"it has no job '{job_id}'")
            self._jobs.remove(job_id)
        return settled

    def _number(self, name: str) -> int:
        with blamed(self._title):
            value = getattr(self._component, name)
            if not isinstance(value, int) or value < 0:
                raise TypeError(f"{name} is {value!r:.60}, not a number of games")
        return value

    def __enter__(self) -> Self:
        with blamed(self._title):
            self._component.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        with blamed(self._title):
            self._component.__exit__(*error)
