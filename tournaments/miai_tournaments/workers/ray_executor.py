"""The executor ``ray``: its workers are actors of a Ray cluster.

A worker gets jobs once it is placed, so a busy or small cluster plays with the actors that it has
room for. The death of an actor or of its node costs the job that it was at; the jobs behind go to
another. Ray itself repeats nothing: the scheduler decides what is played again.

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
from types import ModuleType
from typing import Any, Final

from miai.errors import ConfigError, WorkerError
from miai.parameters import Parameters, parameter
from miai.process.workers import Finished, Job, JobEvent, JobPool
from miai_tournaments.workers.executor import PooledExecutor, Workload
from miai_tournaments.workers.jobs import Setup

# -- connecting to a cluster ----------------------------------------------------------------------

LOCAL: Final = "local"
"""Address of a cluster that is started on this machine and ends with the run."""

STORE_BYTES: Final = 100 * 2**20
"""Shared memory of a local cluster; outcomes are small and are fetched at once."""

REACH_SECONDS: Final = 5.0
"""Time after which an address counts as unreachable."""

QUIET: Final = {
    "enable_metrics_collection": False,
    "task_events_report_interval_ms": 0,
    "memory_monitor_refresh_ms": 0,  # memory is bounded by ``[limits]``, as for all executors
    "raylet_report_resources_period_milliseconds": 1000,
}
"""Settings of a local cluster. Nobody reads its statistics, and its processes slow the games."""

_CLIENT = "ray://"
_TOKENS = "RAY_AUTH_MODE"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def import_ray() -> ModuleType:
    """Return the module, with usage statistics off."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    module: ModuleType = ray
    return module


@contextlib.contextmanager
def connected(address: str, *, workers: int) -> Iterator[ModuleType]:
    """Connect Ray to a cluster; leaving it ends the connection, and a local cluster.

    Args:
      address: ``local``, ``HOST:PORT`` of a cluster's head, or ``ray://HOST:PORT``.
      workers: number of actors that a local cluster has room for.

    Raises:
      ConfigError: no cluster answers at the address.
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
        except Exception as error:  # of many types, those of Ray's dependencies too
            reason = " ".join(str(error).split())[:300]
            raise ConfigError(
                f"run.address: no Ray cluster could be joined at '{address}': {reason}"
                f"{_hint(address)}"
            ) from error
    try:
        yield ray
    finally:
        with _own_signals():
            ray.shutdown()


def _hint(address: str) -> str:
    """Return what helps with a cluster that lets nobody in without its token."""
    if address == LOCAL or os.environ.get(_TOKENS):
        return ""
    return f"; where the cluster asks for a token, set {_TOKENS}=token"


def check_reachable(address: str) -> None:
    """Raise `ConfigError` unless something listens at ``HOST:PORT`` or ``ray://HOST:PORT``.

    Ray itself would try for minutes.
    """
    host, colon, port = address.removeprefix(_CLIENT).rpartition(":")
    if not (colon and host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise ConfigError(
            f"run.address: '{address}' is not an address of a Ray cluster; give '{LOCAL}', "
            f"HOST:PORT or {_CLIENT}HOST:PORT"
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
    """Restore this process's signal handlers, which Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


# -- workers --------------------------------------------------------------------------------------

DEATHS: Final = 3
"""Workers that may die one after the other without an outcome between them."""

CLOSE_SECONDS: Final = 5.0


class RayActor:
    """Lives in the actor's process and performs jobs there."""

    def __init__(self, setup: dict[str, Any]) -> None:
        from miai_tournaments.workers.game_runner import serve_games

        self._stack = ExitStack()
        self._perform = self._stack.enter_context(serve_games(setup))

    def where(self) -> tuple[str, int]:
        """Return the machine's name and the process id."""
        return socket.gethostname(), os.getpid()

    def perform(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of a job; both are plain data."""
        outcome: dict[str, Any] = self._perform(job)
        return outcome

    def close(self) -> None:
        """End the agents' processes."""
        self._stack.close()


class RayWorker:
    """An actor, seen from the pool. It performs its calls in the order in which they were made.

    Attributes:
      jobs: jobs that it was sent, the current one first.
      began: when it began the first of them, on the monotonic clock.
      place: the machine and the process id; None while the cluster has no room for it.
    """

    def __init__(self, ray: ModuleType, setup: Setup) -> None:
        self._ray = ray
        # Ray must not repeat a game that has begun.
        actor = ray.remote(max_restarts=0, max_task_retries=0, num_cpus=1)(RayActor)
        self._actor = actor.remote(setup.to_plain())
        self._placing = self._actor.where.remote()
        self._answers: deque[Any] = deque()
        self.place: tuple[str, int] | None = None
        self.jobs: deque[Job] = deque()
        self.began = 0.0

    def __str__(self) -> str:
        if self.place is None:
            return "a Ray worker that was not placed yet"
        host, pid = self.place
        return f"Ray worker {pid} on {host}"

    @property
    def current(self) -> Job | None:
        """The job that it is at."""
        return self.jobs[0] if self.jobs and self.place is not None else None

    @property
    def ready(self) -> bool:
        """Whether it is placed; jobs sent before would wait with it, however long that takes."""
        return self.place is not None

    @property
    def awaited(self) -> Any:
        """The reference of its next answer: its place or the outcome of the first job."""
        if self.place is None:
            return self._placing
        return self._answers[0] if self._answers else None

    def send(self, job: Job) -> None:
        """Queue a job."""
        if not self.jobs:
            self.began = time.monotonic()
        self.jobs.append(job)
        self._answers.append(self._actor.perform.remote(job.data))

    def receive(self) -> Finished | None:
        """Take the awaited answer, which is there; return None if it was the place.

        Raises:
          RayError: the actor died.
        """
        if self.place is None:
            self.place = self._ray.get(self._placing)
            self.began = time.monotonic()
            return None
        outcome = self._ray.get(self._answers[0])
        self._answers.popleft()
        seconds, self.began = time.monotonic() - self.began, time.monotonic()
        return Finished(self.jobs.popleft(), outcome, seconds)

    def close(self) -> Any:
        """Ask it to end its agents; return the reference of its answer."""
        return self._actor.close.remote()

    def kill(self) -> None:
        """End the actor's process at once."""
        self._ray.kill(self._actor, no_restart=True)


class RayPool(JobPool[RayWorker]):
    """Performs jobs in the actors of a Ray cluster.

    Agents' logs are kept only if the cluster is local; another machine does not have the folder.

    Args:
      setup: what the jobs share.
      address: ``local``, or of a cluster; see `connected`.
      workers: maximum number of actors; each takes one processor of the cluster.
      job_deadline: seconds after which a worker that is at one job is killed; None for never.

    Raises:
      ConfigError: there is no such cluster.
    """

    def __init__(
        self, setup: Setup, *, address: str, workers: int, job_deadline: float | None = None
    ) -> None:
        super().__init__(workers=workers, job_deadline=job_deadline)
        # On another machine the log folder does not exist, or is somebody else's.
        self._setup = setup if address == LOCAL else replace(setup, logs=None)
        self._deaths = 0
        self._stack = ExitStack()
        self._ray = self._stack.enter_context(connected(address, workers=workers))

    @property
    def places(self) -> list[tuple[str, int]]:
        """The machine and the process id of each worker that was placed."""
        return [worker.place for worker in self._workers if worker.place is not None]

    def __exit__(self, kind: object, *rest: object) -> None:
        try:
            if kind is None:
                self._close_idle()
            for worker in self._workers:
                worker.kill()
        finally:
            self._stack.close()

    def _spawn(self) -> RayWorker:
        return RayWorker(self._ray, self._setup)

    def _receive(self, seconds: float | None) -> list[JobEvent]:
        awaited = self._awaited()
        if not awaited:
            return []
        events: list[JobEvent] = []
        ready, _ = self._ray.wait(list(awaited), num_returns=1, timeout=seconds)
        while ready:
            for reference in ready:
                events += self._receive_from(awaited.pop(reference))
            if not (awaited := self._awaited()):
                break
            ready, _ = self._ray.wait(list(awaited), num_returns=len(awaited), timeout=0)
        return events

    def _awaited(self) -> dict[Any, RayWorker]:
        return {w.awaited: w for w in self._workers if w.awaited is not None}

    def _receive_from(self, worker: RayWorker) -> list[JobEvent]:
        try:
            event = worker.receive()
        except self._ray.exceptions.RayError as error:
            return [self._lose(worker, f"died: {' '.join(str(error).split())[:500]}")]
        if event is None:
            return []
        self._deaths = 0
        return [event]

    def _remove(self, worker: RayWorker, what: str) -> str:
        with contextlib.suppress(self._ray.exceptions.RayError):
            worker.kill()  # one that only the network has lost must not play on
        self._deaths += 1
        # Workers that die before they are placed have played nothing: something is wrong with the
        # cluster, and new ones would die as well.
        if worker.place is None and self._deaths >= DEATHS:
            raise WorkerError(
                f"{self._deaths} Ray workers died before they began, the last one: {what}; is "
                "miai with the same plugins installed on every machine of the cluster?"
            )
        return f"{worker} {what}"

    def _close_idle(self) -> None:
        """Let idle workers end their agents for some seconds."""
        answers = [w.close() for w in self._workers if not w.jobs and w.place is not None]
        if answers:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.wait(answers, num_returns=len(answers), timeout=CLOSE_SECONDS)


class RayParameters(Parameters):
    """Parameters of the executor ``ray``."""

    address: str = parameter(
        LOCAL,
        max_length=200,
        help="Cluster to use, HOST:PORT or ray://HOST:PORT; local starts one on this machine",
    )


def ray_executor(workload: Workload, parameters: RayParameters) -> PooledExecutor:
    """Return the executor. Raises `ConfigError` if there is no such cluster."""
    pool = RayPool(
        workload.setup,
        address=parameters.address,
        workers=workload.workers,
        job_deadline=workload.game_deadline,
    )
    return PooledExecutor(pool, workers=workload.workers, local=False)
