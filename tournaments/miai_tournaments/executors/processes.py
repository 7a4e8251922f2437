"""The executor ``processes``: worker processes of our own, replaced when they die.

Not `concurrent.futures.ProcessPoolExecutor`: there the death of one worker loses the jobs of all.
"""

from __future__ import annotations

import contextlib
import selectors
import subprocess
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from miai.errors import MiaiError
from miai_tournaments.executors.child import Worker
from miai_tournaments.executors.jobs import Job, Outcome, Setup

AHEAD_SECONDS = 0.1
"""Work that is sent to a worker ahead of time, so that short games do not wait for the runner."""

MAX_AHEAD = 16
"""Most jobs that a worker has at once."""


class ProcessExecutor:
    """Performs jobs in worker processes; see `Executor`.

    Workers are started when there is work for them. A worker that dies, or is at one game for
    longer than `game_deadline` seconds and is killed, costs the job that it was at; the jobs that
    waited behind it go to another.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        workers: int,
        game_deadline: float | None = None,
        on_output: Callable[[str], None],
    ) -> None:
        self._setup = setup
        self._most = workers
        self._game_deadline = game_deadline
        self._on_output = on_output
        self._workers: list[Worker] = []
        self._waiting: deque[Job] = deque()
        self._selector = selectors.DefaultSelector()
        self._mean: float | None = None

    @property
    def capacity(self) -> int:
        """Jobs that it takes now: more the shorter they are."""
        return self._most * self._depth

    @property
    def running(self) -> list[str]:
        """Ids of the jobs that have begun."""
        return [worker.jobs[0].job_id for worker in self._workers if worker.jobs]

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.process.pid for worker in self._workers]

    def submit(self, job: Job) -> None:
        """Take a job and send it to the worker that has least to do."""
        self._waiting.append(job)
        self._dispatch()

    def wait(self, timeout: float | None = None) -> list[Outcome]:
        """Return the outcomes that are there, waiting up to `timeout` seconds for the first."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            outcomes = self._take(self._pause(until))
            self._dispatch()
            idle = not any(worker.jobs for worker in self._workers)
            if outcomes or idle or (until is not None and time.monotonic() >= until):
                return outcomes

    def cancel(self) -> list[str]:
        """Forget the jobs that were not sent to a worker yet, and return their ids."""
        forgotten = [job.job_id for job in self._waiting]
        self._waiting.clear()
        return forgotten

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._close_all()
        for worker in list(self._workers):
            self._show_output(worker)
            worker.process.kill()
            worker.bury()
            self._remove(worker)
        self._selector.close()

    @property
    def _depth(self) -> int:
        if self._mean is None:
            return 1
        return min(MAX_AHEAD, 1 + int(AHEAD_SECONDS / max(self._mean, 1e-6)))

    def _dispatch(self) -> None:
        while self._waiting:
            least = min(self._workers, key=lambda worker: len(worker.jobs), default=None)
            if (least is None or least.jobs) and len(self._workers) < self._most:
                least = self._spawn()
            if least is None or len(least.jobs) >= self._depth:
                return
            least.send(self._waiting.popleft())
            self._watch_input(least)

    def _spawn(self) -> Worker:
        try:
            worker = Worker(self._setup)
        except OSError as error:
            raise MiaiError(f"a worker process cannot be started: {error.strerror}") from error
        self._workers.append(worker)
        self._selector.register(worker.outcomes, selectors.EVENT_READ, worker)
        self._selector.register(worker.output, selectors.EVENT_READ, worker)
        return worker

    def _watch_input(self, worker: Worker) -> None:
        """Be woken when the worker's input takes more, as long as there is more."""
        watched, left = worker.input in self._selector.get_map(), worker.flush()
        if left and not watched:
            self._selector.register(worker.input, selectors.EVENT_WRITE, worker)
        elif watched and not left:
            self._selector.unregister(worker.input)

    def _pause(self, until: float | None) -> float | None:
        """Return seconds to sleep: until `until` or the first deadline of a worker."""
        ends = [] if until is None else [until]
        if self._game_deadline is not None:
            ends += [w.begun + self._game_deadline for w in self._workers if w.jobs]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def _take(self, seconds: float | None) -> list[Outcome]:
        """Take in what has happened; wait up to `seconds` for something to happen."""
        outcomes: list[Outcome] = []
        if not any(worker.jobs for worker in self._workers):
            return outcomes
        for key, _ in self._selector.select(seconds):
            worker: Worker = key.data
            if worker not in self._workers:
                continue
            if key.fd == worker.output:
                self._take_output(worker)
            elif key.fd == worker.input:
                self._watch_input(worker)
            else:
                outcomes += self._take_outcomes(worker)
        return outcomes + self._take_hung()

    def _take_outcomes(self, worker: Worker) -> list[Outcome]:
        outcomes = worker.receive()
        if outcomes is None:
            return self._lose(worker, "died")
        for outcome in outcomes:
            if outcome.result is not None:
                mean = outcome.seconds if self._mean is None else self._mean
                self._mean = mean + 0.2 * (outcome.seconds - mean)
        if worker.confused:
            worker.process.kill()
            return outcomes + self._lose(worker, "answered what is no outcome")
        return outcomes

    def _take_hung(self) -> list[Outcome]:
        limit, now = self._game_deadline, time.monotonic()
        if limit is None:
            return []
        hung = [w for w in self._workers if w.jobs and now - w.begun >= limit]
        outcomes = []
        for worker in hung:
            worker.process.kill()
            outcomes += self._lose(worker, f"was at one game for more than {limit:g} s")
        return outcomes

    def _take_output(self, worker: Worker) -> None:
        self._show_output(worker)
        if worker.silent:  # the closed pipe would wake us for ever
            self._selector.unregister(worker.output)

    def _show_output(self, worker: Worker) -> None:
        for line in worker.read_output():
            self._on_output(line)

    def _lose(self, worker: Worker, what: str) -> list[Outcome]:
        """Bury a worker; return the outcome of the job it was at, keep those behind it."""
        pid, end = worker.process.pid, worker.bury()
        self._remove(worker)
        if not worker.jobs:
            return []
        lost, *rest = worker.jobs
        self._waiting.extendleft(reversed(rest))
        reason = f"worker process {pid} {what}: it {end}"
        return [Outcome(job_id=lost.job_id, fault="worker", reason=reason)]

    def _remove(self, worker: Worker) -> None:
        for descriptor in (worker.input, worker.outcomes, worker.output):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        worker.release()
        self._workers.remove(worker)

    def _close_all(self, seconds: float = 5.0) -> None:
        """Ask idle workers to end, and give them their time."""
        until = time.monotonic() + seconds
        idle = [worker for worker in self._workers if not worker.jobs]
        for worker in idle:
            assert worker.process.stdin is not None
            if worker.input not in self._selector.get_map():
                worker.process.stdin.close()
        for worker in idle:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, until - time.monotonic()))
