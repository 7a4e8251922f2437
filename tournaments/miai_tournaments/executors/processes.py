"""The executor ``processes``: worker processes of our own, replaced when they die.

Not `concurrent.futures.ProcessPoolExecutor`: there the death of one worker loses the jobs of all.
"""

from __future__ import annotations

import contextlib
import selectors
import subprocess
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from miai.errors import MiaiError
from miai_tournaments.executors.child import Worker
from miai_tournaments.executors.jobs import Outcome, Setup
from miai_tournaments.executors.pool import Pool


class ProcessExecutor(Pool[Worker]):
    """Performs jobs in worker processes; see `Pool`.

    Args:
      workers: most worker processes.
      game_deadline: seconds after which a worker is taken for hung; None for never.
      on_output: is given each line that a worker writes to standard error.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        workers: int,
        game_deadline: float | None = None,
        on_output: Callable[[str], None],
    ) -> None:
        super().__init__(setup, workers=workers, game_deadline=game_deadline)
        self._on_output = on_output
        self._selector = selectors.DefaultSelector()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [worker.process.pid for worker in self._workers]

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
        while self._workers:
            worker = self._workers.pop()
            self._show_output(worker)
            worker.kill()
            worker.bury()
            self._release(worker)
        self._selector.close()

    def _spawn(self) -> Worker:
        try:
            worker = Worker(self._setup)
        except OSError as error:
            raise MiaiError(f"a worker process cannot be started: {error.strerror}") from error
        self._selector.register(worker.outcomes, selectors.EVENT_READ, worker)
        self._selector.register(worker.output, selectors.EVENT_READ, worker)
        return worker

    def _sent(self, worker: Worker) -> None:
        self._watch_input(worker)

    def _watch_input(self, worker: Worker) -> None:
        """Be woken when the worker's input takes more, as long as there is more."""
        watched, left = worker.input in self._selector.get_map(), worker.flush()
        if left and not watched:
            self._selector.register(worker.input, selectors.EVENT_WRITE, worker)
        elif watched and not left:
            self._selector.unregister(worker.input)

    def _take(self, seconds: float | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        if not self._busy():
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
        return outcomes

    def _take_outcomes(self, worker: Worker) -> list[Outcome]:
        outcomes = worker.receive()
        if outcomes is None:
            return self._lose(worker, "died")
        for outcome in outcomes:
            if outcome.result is not None:
                self._pace.add(outcome.seconds)
        if worker.confused:
            worker.kill()
            return outcomes + self._lose(worker, "answered what is no outcome")
        return outcomes

    def _take_output(self, worker: Worker) -> None:
        self._show_output(worker)
        if worker.silent:  # the closed pipe would wake us for ever
            self._selector.unregister(worker.output)

    def _show_output(self, worker: Worker) -> None:
        for line in worker.read_output():
            self._on_output(line)

    def _bury(self, worker: Worker, what: str) -> str:
        pid, end = worker.process.pid, worker.bury()
        self._release(worker)
        return f"worker process {pid} {what}: it {end}"

    def _release(self, worker: Worker) -> None:
        for descriptor in (worker.input, worker.outcomes, worker.output):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        worker.release()

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
