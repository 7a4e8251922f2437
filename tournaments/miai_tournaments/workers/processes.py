"""The executor ``processes``: worker processes of our own, replaced when they die.

Not `concurrent.futures.ProcessPoolExecutor`: there the death of one worker loses the jobs of all.

One worker process, seen from the runner: its jobs, its outcomes, its output, its death.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from miai.errors import AgentError, MiaiError
from miai.process.messages import FrameReader, encode
from miai_tournaments.workers.jobs import GameJob, Outcome, Setup
from miai_tournaments.workers.pool import WorkerPool
from miai_tournaments.workers.worker import MAX_FRAME_BYTES

_CHUNK = 1 << 16
_TAIL_LINES = 5

_MODULE = "miai_tournaments.workers.worker"


class WorkerProcess:
    """One worker process, seen from the runner.

    Attributes:
      process: the child.
      jobs: what it was sent, the one it is at first.
      begun: when it began with the first of them, on the monotonic clock.
      silent: whether it has closed its standard error.
      confused: whether it has sent what is no outcome, and is to be ended.
    """

    def __init__(self, setup: Setup) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        # The kernel ties a child to the thread that spawned it; only the main one lives long
        # enough. A process group of its own keeps Ctrl-C in the terminal from reaching it.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, str(in_main * os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            process_group=0,
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.input = self.process.stdin.fileno()
        self.outcomes = self.process.stdout.fileno()
        self.output = self.process.stderr.fileno()
        for descriptor in (self.input, self.outcomes, self.output):
            os.set_blocking(descriptor, False)
        self.jobs: deque[GameJob] = deque()
        self.begun = 0.0
        self.silent = False
        self.confused = False
        self._frames = FrameReader(MAX_FRAME_BYTES)
        self._unsent = bytearray(encode(setup.to_plain()))
        self._partial = b""
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)

    @property
    def ready(self) -> bool:
        """Whether it can begin with what it is sent, as it can from the start."""
        return True

    @property
    def at(self) -> GameJob | None:
        """The job that it is at."""
        return self.jobs[0] if self.jobs else None

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()

    def send(self, job: GameJob) -> None:
        """Queue a job and send what the pipe takes."""
        if not self.jobs:
            self.begun = time.monotonic()
        self.jobs.append(job)
        self._unsent += encode(job.to_plain())
        self.flush()

    def flush(self) -> bool:
        """Send what the pipe takes; return whether something is left."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # its death is seen elsewhere
            while self._unsent:
                del self._unsent[: os.write(self.input, self._unsent)]
        return bool(self._unsent)

    def receive(self) -> list[Outcome] | None:
        """Return the outcomes that have come; None when the worker is gone.

        When it talks nonsense, what came before counts, and `confused` is set.
        """
        try:
            data = os.read(self.outcomes, _CHUNK)
        except BlockingIOError:
            return []
        if not data:
            return None
        self._frames.feed(data)
        outcomes = []
        try:
            while (message := self._frames.next()) is not None:
                outcomes.append(Outcome.from_plain(message))
                self.jobs.popleft()
                self.begun = time.monotonic()
        except (AgentError, LookupError, TypeError):
            self.confused = True
        return outcomes

    def read_output(self) -> list[str]:
        """Return the whole lines that it has written to standard error since."""
        data = b"x"
        with contextlib.suppress(BlockingIOError):
            while data:
                data = os.read(self.output, _CHUNK)
                self._partial += data
            self.silent = True
        *lines, self._partial = self._partial[-_CHUNK:].split(b"\n")
        texts = [line.decode("utf-8", "replace").rstrip() for line in lines]
        self._tail.extend(texts)
        return texts

    def bury(self) -> str:
        """Kill what may be left of it and return how it ended, with its last words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        self.process.kill()
        status = self.process.wait()
        ended = f"exited with status {status}"
        if status < 0:
            ended = f"was killed by {signal.Signals(-status).name}"
        self.read_output()
        words = " / ".join(filter(None, self._tail))
        return ended + (f"; its last words: {words[-500:]}" if words else "")

    def release(self) -> None:
        """Close the pipes."""
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


class ProcessExecutor(WorkerPool[WorkerProcess]):
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

    def _spawn(self) -> WorkerProcess:
        try:
            worker = WorkerProcess(self._setup)
        except OSError as error:
            raise MiaiError(f"a worker process cannot be started: {error.strerror}") from error
        self._selector.register(worker.outcomes, selectors.EVENT_READ, worker)
        self._selector.register(worker.output, selectors.EVENT_READ, worker)
        return worker

    def _sent(self, worker: WorkerProcess) -> None:
        self._watch_input(worker)

    def _watch_input(self, worker: WorkerProcess) -> None:
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
            worker: WorkerProcess = key.data
            if worker not in self._workers:
                continue
            if key.fd == worker.output:
                self._take_output(worker)
            elif key.fd == worker.input:
                self._watch_input(worker)
            else:
                outcomes += self._take_outcomes(worker)
        return outcomes

    def _take_outcomes(self, worker: WorkerProcess) -> list[Outcome]:
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

    def _take_output(self, worker: WorkerProcess) -> None:
        self._show_output(worker)
        if worker.silent:  # the closed pipe would wake us for ever
            self._selector.unregister(worker.output)

    def _show_output(self, worker: WorkerProcess) -> None:
        for line in worker.read_output():
            self._on_output(line)

    def _bury(self, worker: WorkerProcess, what: str) -> str:
        pid, end = worker.process.pid, worker.bury()
        self._release(worker)
        return f"worker process {pid} {what}: it {end}"

    def _release(self, worker: WorkerProcess) -> None:
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
