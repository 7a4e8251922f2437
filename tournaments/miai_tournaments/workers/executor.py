"""Executors: who performs the jobs of a run, and where.

They share three calls: `submit` a job, `wait` for outcomes, `cancel` what has not begun. They know
nothing of schedules and stores, and decide nothing about what an outcome means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from miai_tournaments.workers.game_runner import GameRunner
from miai_tournaments.workers.jobs import GameJob, Outcome, Setup

NAMES = ("processes", "serial", "ray")


class Executor(Protocol):
    """Performs jobs. A context manager: leaving it ends all processes.

    Attributes:
      capacity: jobs that it takes now, those it has included; it may change from call to call.
      running: ids of the jobs that have begun.
    """

    @property
    def capacity(self) -> int: ...  # noqa: D102 - an attribute, described above

    @property
    def running(self) -> list[str]: ...  # noqa: D102 - an attribute, described above

    def submit(self, job: GameJob) -> None:
        """Take a job."""

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        """Return the outcomes that are there, waiting for the first.

        Args:
          timeout: seconds after which to return without any; None for no limit.
        """

    def cancel(self) -> list[str]:
        """Forget the jobs that have not begun and return their ids."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class SerialExecutor:
    """Performs one job after the other in this process, when it is waited for.

    Agents live in processes of their own all the same.

    Attributes:
      capacity, running: as `Executor` has them.
    """

    capacity = 1

    def __init__(self, setup: Setup) -> None:
        self._table = GameRunner(setup)
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
            return [self._table.perform(job)]
        finally:
            self.running = []

    def cancel(self) -> list[str]:
        """Forget the jobs that have not begun and return their ids."""
        forgotten = [job.job_id for job in self._jobs]
        self._jobs.clear()
        return forgotten

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._table.__exit__(kind, error, trace)


def make_executor(
    name: str,
    setup: Setup,
    *,
    workers: int,
    game_deadline: float | None,
    on_output: Callable[[str], None],
    address: str = "local",
) -> Executor:
    """Return an executor by name, one of `NAMES`.

    Args:
      workers: worker processes.
      game_deadline: seconds after which a worker is taken for hung; None for never.
      on_output: is given each line that a worker writes to standard error.
      address: of a Ray cluster; ``local`` begins one on this machine.

    Raises:
      ConfigError: there is no such cluster, or Ray is not installed.
    """
    if name == "serial":
        return SerialExecutor(setup)
    if name == "ray":
        from miai_tournaments.workers.ray_executor import RayExecutor

        return RayExecutor(setup, address=address, workers=workers, game_deadline=game_deadline)
    from miai_tournaments.workers.processes import ProcessExecutor

    return ProcessExecutor(setup, workers=workers, game_deadline=game_deadline, on_output=on_output)
