"""The executor ``ray``: workers that are actors of a Ray cluster, replaced when they die.

A worker is given jobs when it is placed, so a busy or small cluster plays with those that it has
room for, and lets jobs wait where it has none. The death of an actor
or of its whole node costs the job it was at; those behind it go to another. Ray is told to repeat
nothing by itself: what is played again is for the scheduler to decide.

One worker of a Ray cluster, seen from the runner: an actor with its jobs and its outcomes.

Ray, connected to and left again: a cluster at an address, or one of this machine's own.

Ray is the extra ``miai[ray]``; nothing else in the tournaments imports it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from types import ModuleType, TracebackType
from typing import Any, Final, Self

from miai.errors import ConfigError, MiaiError
from miai_tournaments.workers.jobs import GameJob, Outcome, Setup
from miai_tournaments.workers.pool import WorkerPool


class RayActor:
    """What lives in the actor's process: a table with agents that stay warm."""

    def __init__(self, setup: dict[str, Any]) -> None:
        from miai_tournaments.workers.game_runner import GameRunner
        from miai_tournaments.workers.worker import load_plugins

        load_plugins()
        self._table = GameRunner(Setup.from_plain(setup))

    def where(self) -> tuple[str, int]:
        """Return the machine's name and the process id."""
        return socket.gethostname(), os.getpid()

    def perform(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of a job; both are plain data."""
        return self._table.perform(GameJob.from_plain(job)).to_plain()

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
        actor = ray.remote(max_restarts=0, max_task_retries=0, num_cpus=1)(RayActor)
        self._actor = actor.remote(setup.to_plain())
        self._placing = self._actor.where.remote()
        self._answers: deque[Any] = deque()
        self.place: tuple[str, int] | None = None
        self.jobs: deque[GameJob] = deque()
        self.begun = 0.0

    @property
    def at(self) -> GameJob | None:
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

    def send(self, job: GameJob) -> None:
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


LOCAL: Final = "local"
"""The address of a cluster that is begun on this machine and ends with the run."""

STORE_BYTES: Final = 100 * 2**20
"""Shared memory of a local cluster: outcomes are small and are taken at once."""

REACH_SECONDS: Final = 5.0
"""How long an address is tried before it is held to be unreachable."""

QUIET: Final = {
    "enable_metrics_collection": False,
    "task_events_report_interval_ms": 0,
    "memory_monitor_refresh_ms": 0,  # memory is bounded by ``[limits]``, as for all executors
    "raylet_report_resources_period_milliseconds": 1000,
}
"""Settings of a local cluster: nobody looks at its statistics, and its own processes take their
time from the games'."""

_CLIENT = "ray://"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def import_ray() -> ModuleType:
    """Return the module, told to send no statistics. Raises `ConfigError` without it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            "run.executor: 'ray' needs the package ray; install it with `pip install 'miai[ray]'`"
        ) from error
    module: ModuleType = ray
    return module


@contextlib.contextmanager
def connected(address: str, *, workers: int) -> Iterator[ModuleType]:
    """Give Ray, connected to a cluster; leaving it ends the connection, and a local cluster.

    Args:
      address: ``local``, ``HOST:PORT`` of a cluster's head, or ``ray://HOST:PORT``.
      workers: of a local cluster, how many actors it is to hold.

    Raises:
      ConfigError: no cluster answers at the address, or Ray is not installed.
    """
    ray = import_ray()
    options: dict[str, Any] = {"address": address, "log_to_driver": False}
    if address == LOCAL:
        options |= {
            "num_cpus": workers,
            "include_dashboard": False,
            "object_store_memory": STORE_BYTES,
            "_system_config": QUIET,
        }
    else:
        check_reachable(address)
    with _own_signals():
        try:
            ray.init(**options, logging_level=logging.CRITICAL)
        except Exception as error:  # Ray raises of all kinds, its own and those of what it uses
            said = " ".join(str(error).split())[:300]
            raise ConfigError(
                f"run.address: no Ray cluster could be joined at '{address}': {said}"
            ) from error
    try:
        yield ray
    finally:
        with _own_signals():
            ray.shutdown()


def check_reachable(address: str) -> None:
    """Raise `ConfigError` unless something listens at ``HOST:PORT`` or ``ray://HOST:PORT``.

    Ray itself would try for minutes.
    """
    host, colon, port = address.removeprefix(_CLIENT).rpartition(":")
    if not (colon and host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise ConfigError(
            f"run.address: '{address}' is no address of a Ray cluster; give '{LOCAL}', HOST:PORT "
            f"or {_CLIENT}HOST:PORT"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()
    except OSError as error:
        raise ConfigError(
            f"run.address: no Ray cluster answers at '{address}': {error}; start one with "
            f"`ray start --head`, or give '{LOCAL}'"
        ) from error


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's signal handlers, which Ray replaces by its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


DEATHS: Final = 3
"""Workers that may die one after the other without an outcome between them."""

CLOSE_SECONDS: Final = 5.0


class RayExecutor(WorkerPool[RayWorker]):
    """Performs jobs in the actors of a Ray cluster; see `Pool`.

    Agents' logs are kept where the cluster is this machine's own; on another machine there is no
    such folder.

    Args:
      address: ``local``, or where a cluster is; see `cluster.connected`.
      workers: most actors; each takes one processor of the cluster.
      game_deadline: seconds after which a worker is taken for hung; None for never.

    Raises:
      ConfigError: there is no such cluster, or Ray is not installed.
    """

    def __init__(
        self, setup: Setup, *, address: str, workers: int, game_deadline: float | None = None
    ) -> None:
        kept = setup if address == LOCAL else replace(setup, logs=None)
        super().__init__(kept, workers=workers, game_deadline=game_deadline)
        self._deaths = 0
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(connected(address, workers=workers))

    @property
    def places(self) -> list[tuple[str, int]]:
        """The machine and the process id of each worker that was placed."""
        return [worker.place for worker in self._workers if worker.place is not None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._close_idle()
            for worker in self._workers:
                worker.kill()
        finally:
            self._stack.close()

    def _spawn(self) -> RayWorker:
        return RayWorker(self._ray, self._setup)

    def _take(self, seconds: float | None) -> list[Outcome]:
        awaited = self._awaited()
        if not awaited:
            return []
        outcomes: list[Outcome] = []
        ready, _ = self._ray.wait(list(awaited), num_returns=1, timeout=seconds)
        while ready:
            for reference in ready:
                outcomes += self._take_from(awaited.pop(reference))
            if not (awaited := self._awaited()):
                break
            ready, _ = self._ray.wait(list(awaited), num_returns=len(awaited), timeout=0)
        return outcomes

    def _awaited(self) -> dict[Any, RayWorker]:
        return {w.awaited: w for w in self._workers if w.awaited is not None}

    def _take_from(self, worker: RayWorker) -> list[Outcome]:
        try:
            outcome = worker.take()
        except self._ray.exceptions.RayError as error:
            return self._lose(worker, f"is gone: {_cause(error)}")
        if outcome is None:
            return []
        self._deaths = 0
        if outcome.result is not None:
            self._pace.add(outcome.seconds)
        return [outcome]

    def _bury(self, worker: RayWorker, what: str) -> str:
        with contextlib.suppress(self._ray.exceptions.RayError):
            worker.kill()  # one that only the network has lost must not play on
        self._deaths += 1
        if worker.place is None and self._deaths >= DEATHS:
            raise MiaiError(
                f"{self._deaths} Ray workers died before they began, the last one: {what}; is "
                "miai with the same plugins installed on every machine of the cluster?"
            )
        return f"{worker.told()} {what}"

    def _close_idle(self) -> None:
        """Ask idle workers to end their agents, and give them their time."""
        asked = [w.closing() for w in self._workers if not w.jobs and w.place is not None]
        if asked:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.wait(asked, num_returns=len(asked), timeout=CLOSE_SECONDS)


def _cause(error: Any) -> str:
    """Return what Ray says of a death, in one line."""
    return " ".join(str(error).split())[:500]
