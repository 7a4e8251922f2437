"""Worker processes that perform jobs; a death costs one job.

A worker imports a function by name, calls it once with the pool's setup, and performs jobs with
what it returns; see `PerformerMaker`. Setup, jobs and results are plain data. A worker that
dies costs the job that it was at; another one takes its place and the jobs behind. With
`concurrent.futures.ProcessPoolExecutor` the death of one worker loses the jobs of all.
"""

from __future__ import annotations

import contextlib
import importlib
import selectors
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

from miai.errors import AgentError, MiaiError, WorkerError
from miai.process.child import ModuleChild, boot, child_environment
from miai.process.messages import encode

ATTEMPTS: Final = 3
"""Workers that a job of `WorkerPool.in_order` may cost."""

_AHEAD_SECONDS: Final = 0.1  # of work, sent ahead so that short jobs do not wait for the pool
_MAX_JOBS: Final = 16  # that a worker has at once
_WEIGHT: Final = 0.2  # of the latest job in the mean duration
_MAX_ANSWER: Final = 1 << 30
_CLOSE_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 1.0


Performer: TypeAlias = Callable[[Any], Any]
"""Performs a job, plain data, and returns its result, plain data."""

PerformerMaker: TypeAlias = Callable[[Any], AbstractContextManager[Performer]]
"""What a pool names: makes from the setup what performs the jobs of a worker."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A piece of work: plain data, and a name for messages."""

    name: str | int
    data: Any


@dataclass(frozen=True, slots=True)
class Finished:
    """A job was performed, in `seconds` of wall time since the worker began it."""

    job: Job
    result: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A job was not performed; it is None if a worker failed that had none.

    The kind is ``error`` if the job raised an exception, ``death`` if its worker died, ``deadline``
    if it hung and was killed, and ``refusal`` if the worker cannot perform any job.
    """

    job: Job | None
    reason: str
    kind: Literal["error", "death", "deadline", "refusal"]


JobEvent = Finished | Failed


def to_stderr(line: str) -> None:
    """Print what a worker printed to standard error."""
    print(line, file=sys.stderr)


class Worker(Protocol):
    """One worker, seen from the pool."""

    @property
    def jobs(self) -> Sequence[Job]:
        """Jobs that it was sent and has not answered, in the order in which it performs them."""

    @property
    def current(self) -> Job | None:
        """The job that it has begun."""

    @property
    def ready(self) -> bool:
        """Whether it can begin jobs that it is sent."""

    @property
    def began(self) -> float:
        """When it began the current job, on the monotonic clock."""

    def send(self, job: Job) -> None:
        """Queue a job."""

    def kill(self) -> None:
        """End it at once."""


W = TypeVar("W", bound=Worker)


class JobPool(ABC, Generic[W]):
    """Gives jobs to a limited number of workers, which are started when there is work for them.

    Used in a ``with`` statement, at whose end all workers are ended; after an exception, at once. A
    worker that is at one job for longer than `job_deadline` seconds is killed; None for never.
    """

    def __init__(self, *, workers: int, job_deadline: float | None) -> None:
        self._max_workers = workers
        self._job_deadline = job_deadline
        self._workers: list[W] = []
        self._waiting: deque[Job] = deque()
        self._mean_seconds: float | None = None

    # -- what kinds of workers differ in ------------------------------------------------------

    @abstractmethod
    def _spawn(self) -> W:
        """Return a new worker."""

    @abstractmethod
    def _receive(self, seconds: float | None) -> list[JobEvent]:
        """Return what has happened, waiting up to `seconds` for something to happen."""

    @abstractmethod
    def _remove(self, worker: W, what: str) -> str:
        """End a worker that failed; return the reason for messages, which includes `what`."""

    def _sent(self, worker: W) -> None:
        """Called after a job was sent to a worker."""

    @abstractmethod
    def __exit__(self, kind: object, *error: object) -> None: ...

    def __enter__(self) -> Self:
        return self

    # -- jobs ---------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """Jobs that a worker has at once: more the shorter they are."""
        if self._mean_seconds is None:
            return 1
        # Long jobs one by one: a job in the queue of a busy worker cannot go to an idle one.
        return min(_MAX_JOBS, 1 + int(_AHEAD_SECONDS / max(self._mean_seconds, 1e-6)))

    def count(self, seconds: float) -> None:
        """Count the duration of a job for `depth`."""
        mean = seconds if self._mean_seconds is None else self._mean_seconds
        self._mean_seconds = mean + _WEIGHT * (seconds - mean)

    @property
    def capacity(self) -> int:
        """Maximum number of jobs that it should have at once."""
        return self._max_workers * self.depth

    @property
    def running(self) -> list[Job]:
        """Jobs that have begun."""
        return [worker.current for worker in self._workers if worker.current is not None]

    def submit(self, job: Job) -> None:
        """Take a job and send it to the worker with the fewest jobs."""
        self._waiting.append(job)
        self._dispatch()

    def wait(self, timeout: float | None = None) -> list[JobEvent]:
        """Return what has happened to jobs, waiting up to `timeout` seconds for the first event."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            events = self._receive(self._pause(until)) + self._kill_hung()
            self._dispatch()
            idle = not self._busy() and not self._waiting
            if events or idle or (until is not None and time.monotonic() >= until):
                return events

    def cancel(self) -> list[Job]:
        """Forget the jobs that were not sent to a worker yet, and return them."""
        jobs = list(self._waiting)
        self._waiting.clear()
        return jobs

    # -- workers ------------------------------------------------------------------------------

    def _busy(self) -> list[W]:
        return [worker for worker in self._workers if worker.jobs]

    def _dispatch(self) -> None:
        while self._waiting:
            ready = [worker for worker in self._workers if worker.ready]
            # An idle worker first; a new one before a second job in the queue of a busy one.
            least = min(ready, key=lambda worker: len(worker.jobs), default=None)
            coming = len(self._workers) - len(ready)
            room = len(self._workers) < self._max_workers and coming < len(self._waiting)
            if (least is None or least.jobs) and room:
                self._workers.append(self._spawn())
                continue
            if least is None or len(least.jobs) >= self.depth:
                return
            least.send(self._waiting.popleft())
            self._sent(least)

    def _pause(self, until: float | None) -> float | None:
        """Return the seconds to `until` or to the first deadline of a job; None without any."""
        ends = [] if until is None else [until]
        if self._job_deadline is not None:
            busy = [worker for worker in self._workers if worker.current is not None]
            ends += [worker.began + self._job_deadline for worker in busy]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def _kill_hung(self) -> list[JobEvent]:
        limit, now = self._job_deadline, time.monotonic()
        if limit is None:
            return []
        hung = [w for w in self._workers if w.current is not None and now - w.began >= limit]
        for worker in hung:
            worker.kill()
        said = f"was at one job for more than {limit:g} s"
        return [replace(self._lose(worker, said), kind="deadline") for worker in hung]

    def _lose(self, worker: W, what: str) -> Failed:
        """Remove a failed worker and keep the jobs behind its current one."""
        reason = self._remove(worker, what)
        self._workers.remove(worker)
        current = worker.current
        # The jobs behind the current one did not harm the worker: they go first, in their order.
        self._waiting.extendleft(reversed([job for job in worker.jobs if job is not current]))
        return Failed(current, reason, "death")


class WorkerProcess:
    """One worker process, seen from the pool.

    Attributes:
      child: the process.
      jobs: jobs that it was sent, the current one first.
      began: when it began the first of them, on the monotonic clock.
      failure: why it has to be removed; empty while it works.
      refused: whether it cannot perform any job.
    """

    ready = True

    def __init__(
        self, target: str, setup: bytes, *, threads: int | None = None, log: Path | None = None
    ) -> None:
        environment = child_environment(threads=threads)
        self.child = ModuleChild(
            "miai.process.workers",
            target,
            environment=environment,
            max_message=_MAX_ANSWER,
            log=log,
        )
        self.child.send(setup)
        self.jobs: deque[Job] = deque()
        self.began = 0.0
        self.failure = ""
        self.refused = False

    @property
    def current(self) -> Job | None:
        """The job that it is at."""
        return self.jobs[0] if self.jobs else None

    def send(self, job: Job) -> None:
        """Queue a job and send what the pipe takes."""
        if not self.jobs:
            self.began = time.monotonic()
        self.jobs.append(job)
        self.child.send(encode({"job": job.data}))

    def kill(self) -> None:
        """End it at once, with all that it started."""
        self.child.kill_group()

    def receive(self) -> list[JobEvent]:
        """Return what has come. When it fails, what came before counts."""
        # Answers that came before the end of the pipe are still read below.
        if self.child.receive() is None:
            self.failure = "died"
        events: list[JobEvent] = []
        try:
            while not self.refused and (answer := self.child.messages.next()) is not None:
                if "refused" in answer:
                    self.failure, self.refused = str(answer["refused"]), True
                elif "error" in answer:
                    events.append(Failed(self._next_job(), str(answer["error"]), "error"))
                else:
                    seconds = time.monotonic() - self.began
                    result = answer["result"]
                    events.append(Finished(self._next_job(), result, seconds))
        except (AgentError, LookupError) as error:
            self.failure = f"gave a malformed answer ({error})"
        return events

    def _next_job(self) -> Job:
        job = self.jobs.popleft()
        self.began = time.monotonic()
        return job


class WorkerPool(JobPool[WorkerProcess]):
    """Performs jobs in worker processes; `workers` and `job_deadline` are those of `JobPool`.

    Args:
      target: ``MODULE:FUNCTION``; see `PerformerMaker`.
      setup: what the function is called with, plain data.
      threads: of each numerical library in a worker; None to leave them alone.
      on_output: called with each line that a worker prints.
      logs: folder for what the workers print; None for none.
    """

    def __init__(
        self,
        target: str,
        setup: Any,
        *,
        workers: int,
        threads: int | None = None,
        job_deadline: float | None = None,
        on_output: Callable[[str], None] | None = None,
        logs: Path | None = None,
    ) -> None:
        super().__init__(workers=workers, job_deadline=job_deadline)
        self._target, self._setup = target, encode({"setup": setup})
        self._threads, self._on_output, self._logs = threads, on_output, logs
        self._selector = selectors.DefaultSelector()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.child.pid for worker in self._workers]

    def in_order(
        self, jobs: Iterable[Job], *, ahead: int, stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Any]:
        """Yield the results of jobs in their order, with at most `ahead` jobs submitted ahead.

        It ends within a second after `stopped` begins to return True. A job whose worker dies is
        given to another one. Raises `WorkerError` if a job raised an exception or exceeded its
        deadline, `ATTEMPTS` workers died of one job, or a worker cannot perform any.
        """
        remaining = iter(jobs)
        pending: deque[Job] = deque()
        results: dict[Job, Any] = {}
        deaths: Counter[Job] = Counter()
        try:
            while True:
                for job in islice(remaining, ahead - len(pending)):
                    pending.append(job)
                    self.submit(job)
                if not pending:
                    return
                while pending[0] not in results:
                    if stopped():
                        return
                    for event in self.wait(_STOP_SECONDS):
                        if event.job is None or event.job not in pending:
                            continue  # a job of an earlier call
                        if isinstance(event, Finished):
                            results[event.job] = event.result
                            self.count(event.seconds)
                            continue
                        # A death may be the machine's, such as of memory; several by one job are
                        # the job's.
                        deaths[event.job] += 1
                        if event.kind != "death" or deaths[event.job] == ATTEMPTS:
                            raise WorkerError(f"job {event.job.name}: {event.reason}")
                        self.submit(event.job)
                yield results.pop(pending.popleft())
        finally:
            self.cancel()

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is None:
            self._close_idle()
        while self._workers:
            worker = self._workers.pop()
            self._show_output(worker)
            self._release(worker)
        self._selector.close()

    def _spawn(self) -> WorkerProcess:
        log = None
        if self._logs is not None:
            logs = {worker.child.output.log for worker in self._workers}
            paths = (self._logs / f"worker-{n:03}.log" for n in range(self._max_workers))
            log = next(path for path in paths if path not in logs)
        try:
            if log is not None:
                log.unlink(missing_ok=True)
            worker = WorkerProcess(self._target, self._setup, threads=self._threads, log=log)
        except OSError as error:
            raise WorkerError(f"a worker process cannot be started: {error.strerror}") from error
        for descriptor in (worker.child.answers, worker.child.output.descriptor):
            self._selector.register(descriptor, selectors.EVENT_READ, worker)
        return worker

    def _sent(self, worker: WorkerProcess) -> None:
        """Watch the worker's input as long as it does not take everything."""
        descriptor = worker.child.requests
        watched, unsent = descriptor in self._selector.get_map(), worker.child.flush()
        if unsent and not watched:
            self._selector.register(descriptor, selectors.EVENT_WRITE, worker)
        elif watched and not unsent:
            self._selector.unregister(descriptor)

    def _receive(self, seconds: float | None) -> list[JobEvent]:
        events: list[JobEvent] = []
        # No worker has a job, so no answer can come; waiting would last for ever.
        if not self._busy():
            return events
        for key, _ in self._selector.select(seconds):
            worker: WorkerProcess = key.data
            # Another event of this round may have removed it.
            if worker not in self._workers:
                continue
            if key.fd == worker.child.output.descriptor:
                self._show_output(worker)
                if worker.child.output.ended:
                    self._selector.unregister(key.fd)
            elif key.fd == worker.child.requests:
                self._sent(worker)
            else:
                events += worker.receive()
                if worker.failure:
                    events.append(self._lose(worker, worker.failure))
        return events

    def _lose(self, worker: WorkerProcess, what: str) -> Failed:
        failed = super()._lose(worker, what)
        return Failed(failed.job, what, "refusal") if worker.refused else failed

    def _remove(self, worker: WorkerProcess, what: str) -> str:
        child = worker.child
        # Its pipe may end before it does, and the status says what killed it.
        child.await_death(1.0)
        if what == "died":
            what = child.exit_status() if child.is_dead() else "closed its answers"
        self._show_output(worker)
        self._release(worker)
        return f"worker process {child.pid} {what}{child.output.last_lines()}"

    def _show_output(self, worker: WorkerProcess) -> None:
        for line in worker.child.output.read():
            if self._on_output is not None:
                self._on_output(line)

    def _release(self, worker: WorkerProcess) -> None:
        child = worker.child
        for descriptor in (child.requests, child.answers, child.output.descriptor):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(descriptor)
        child.kill()

    def _close_idle(self) -> None:
        """Let idle workers end by themselves for some seconds."""
        until = time.monotonic() + _CLOSE_SECONDS
        idle = [worker for worker in self._workers if not worker.jobs]
        for worker in idle:
            worker.child.end_input()
        for worker in idle:
            worker.child.await_death(max(0.0, until - time.monotonic()))


# -- in the worker's process ---------------------------------------------------------------------


def main(arguments: list[str]) -> None:
    """Serve a pool; the arguments are those of `boot` and ``MODULE:FUNCTION``."""
    stream = boot(arguments[:3])
    module, name = arguments[3].split(":")
    setup = stream.receive()
    if setup is None:
        return
    with contextlib.ExitStack() as stack:
        try:
            make: PerformerMaker = getattr(importlib.import_module(module), name)
            perform = stack.enter_context(make(setup["setup"]))
        except Exception as error:
            # Said, not died of: the pool would start another worker, which fails in the same way.
            stream.send(encode({"refused": _describe(error)}))
            return
        while (job := stream.receive()) is not None:
            try:
                answer = encode({"result": perform(job["job"])})
            except Exception as error:
                answer = encode({"error": _describe(error)})
            stream.send(answer)


def _describe(error: Exception) -> str:
    """Return the message of an expected error; print the traceback of any other."""
    if isinstance(error, MiaiError):
        return str(error)
    traceback.print_exc()
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main(sys.argv[1:])
