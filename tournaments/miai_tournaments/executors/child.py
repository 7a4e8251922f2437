"""One worker process, seen from the runner: its jobs, its outcomes, its output, its death."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque

from miai.errors import AgentError
from miai.process.frames import FrameReader, encode
from miai_tournaments.executors.jobs import Job, Outcome, Setup
from miai_tournaments.executors.worker import MAX_FRAME_BYTES

_CHUNK = 1 << 16
_TAIL_LINES = 5

_MODULE = "miai_tournaments.executors.worker"


class Worker:
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
        self.jobs: deque[Job] = deque()
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
    def at(self) -> Job | None:
        """The job that it is at."""
        return self.jobs[0] if self.jobs else None

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()

    def send(self, job: Job) -> None:
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
