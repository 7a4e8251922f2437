"""The child process of an agent, seen from the referee: its answers, its output, its death.

Pipes rather than a socket: the kernel wakes the other end of a pipe on the processor that wrote to
it, which makes the way there and back two to three times as short.

Starting an agent's process and ending it with all that it started.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from miai.errors import AgentCrashedError, AgentFloodError, AgentProtocolError, AgentTimeoutError
from miai.plain import one_line
from miai.process.limits import ProcessLimits
from miai.process.messages import MAX_REQUEST_BYTES, FrameReader, encode

SHARED_FOLDER = "MIAI_SHARED_TMPDIR"
"""The variable that names the folder for what processes share, a server's socket say, to an agent
whose temporary folder is its own."""

HIDDEN_FOLDERS = "MIAI_HIDDEN_FOLDERS"
"""The variable that tells an agent which folders are hidden from it. What it starts cannot read
them either, so it shares a server with those only from which the same is hidden."""

SCRATCH = "miai-agent-"
"""What the names of agents' temporary folders begin with, before the referee's process id."""


def open_pipe(*, reader: list[int], writer: list[int]) -> tuple[int, int]:
    """Return the ends of a new pipe, each noted with its side."""
    ends = os.pipe()
    reader.append(ends[0])
    writer.append(ends[1])
    return ends


def spawn(
    requests: int, answers: int, lifeline: int, output: int, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Return a new process of `miai.process.host`, the leader of a session of its own.

    Args:
      requests, answers, lifeline, output: the child's ends of its pipes.
      environment: all of its environment.
    """
    # The kernel's signal at the parent's death is tied to the thread that spawned the child, so
    # only the main thread, which lives as long as the process, may ask for it.
    in_main = threading.current_thread() is threading.main_thread()
    parent = os.getpid() if in_main else 0
    numbers = [str(number) for number in (requests, answers, lifeline, parent)]
    # -P: a file of the working directory called numpy.py, say, is not what numpy means.
    return subprocess.Popen(
        [sys.executable, "-P", "-u", "-m", "miai.process.host", *numbers],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(requests, answers, lifeline),
        start_new_session=True,
        env=dict(environment),
    )


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, its group, and descendants that left the group."""
    import psutil

    strays: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        strays = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for stray in strays:
        with contextlib.suppress(psutil.Error):
            stray.kill()


_CHUNK = 1 << 16
_TAIL = 1000  # bytes of output kept for the message of a crash
_TAIL_LINES = 6
_GRACE = 1.0  # seconds that a process which has closed its end is given to die of it
_POLL = 0.2  # seconds between looks at a process where the system cannot announce its death


class Channel:
    """One child process and the way to it.

    Every wait is on the answer, the output and the death of the process at once, so nothing that
    the process does, or stops doing, keeps the referee longer than the deadline.

    Attributes:
      process: the child; the leader of a session of its own, and so of a process group.
      log: file that its output is appended to; None to drop it.
    """

    def __init__(self, environment: Mapping[str, str], limits: ProcessLimits) -> None:
        self.log: Path | None = None
        self._limits = limits
        self._reader = FrameReader(limits.frame_bytes)
        self._output_bytes = 0
        self._answer_bytes = 0
        self._tail = b""
        self._selector = selectors.DefaultSelector()
        self._ours: list[int] = []
        theirs: list[int] = []
        try:
            requests, self._requests = open_pipe(reader=theirs, writer=self._ours)
            self._answers, answers = open_pipe(reader=self._ours, writer=theirs)
            self._output, output = open_pipe(reader=self._ours, writer=theirs)
            lifeline, _ = open_pipe(reader=theirs, writer=self._ours)
            self.process = spawn(requests, answers, lifeline, output, environment)
        except BaseException:
            self._release()
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self._watch()

    def _watch(self) -> None:
        for descriptor in (self._requests, self._answers, self._output):
            os.set_blocking(descriptor, False)
        self._pidfd = -1
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # kernels before 5.3: death is looked for instead
                self._pidfd = os.pidfd_open(self.process.pid)
                self._ours.append(self._pidfd)
        self._selector.register(self._answers, selectors.EVENT_READ)
        self._selector.register(self._output, selectors.EVENT_READ)
        if self._pidfd >= 0:
            self._selector.register(self._pidfd, selectors.EVENT_READ)
        self._open = True

    # -- talking ------------------------------------------------------------------------------

    def new_game(self, log: Path | None) -> None:
        """Count output and answers from zero and log to another file."""
        with contextlib.suppress(AgentFloodError):  # of a game that is over
            self._drain()
        self.log = log
        self._output_bytes = self._answer_bytes = 0

    def request(self, message: Mapping[str, Any], *, seconds: float | None) -> dict[str, Any]:
        """Send a message and return its answer. After any error the process has to be killed.

        Args:
          seconds: wall time for the answer; None for as long as it takes.

        Raises:
          AgentTimeoutError: no answer in time.
          AgentCrashedError: the process died.
          AgentFloodError: more output, or a longer answer, than the limits allow.
          AgentProtocolError: an answer that is none, or that nobody asked for.
          ValueError: the message is too long, or not plain.
        """
        frame = encode(message)
        if len(frame) > MAX_REQUEST_BYTES:
            raise ValueError(
                f"a message of {len(frame)} bytes; at most {MAX_REQUEST_BYTES} are sent"
            )
        until = None if seconds is None else time.monotonic() + seconds
        self._refuse_unasked()
        waiting = self._send(memoryview(frame))
        while (answer := self._reader.next()) is None:
            self._wait(until, writing=bool(waiting))
            waiting = self._send(waiting) if waiting else waiting
        if answer.get("id") != message["id"]:
            raise AgentProtocolError("an answer out of turn")
        return answer

    def quit(self) -> None:
        """Ask the process to exit, give it its time and end what is left of it."""
        with contextlib.suppress(OSError):
            os.write(self._requests, encode({"id": -1, "call": "quit"}))
            self._await_death(self._limits.close_seconds)
        self.kill()

    def _refuse_unasked(self) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._answers, _CHUNK)
            if not data:
                self._gone()
            self._reader.feed(data)
        if len(self._reader):
            raise AgentProtocolError("an answer that nobody asked for")

    def _send(self, data: memoryview) -> memoryview:
        try:
            return data[os.write(self._requests, data) :]
        except BlockingIOError:
            return data
        except OSError:  # it reads no more; what it still says, or its death, follows
            return data[len(data) :]

    def _wait(self, until: float | None, *, writing: bool) -> None:
        """Wait for the next event of any kind and take it in."""
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            raise AgentTimeoutError("no answer in time")
        step = left if self._pidfd >= 0 else min(_POLL, left or _POLL)
        if writing:
            self._selector.register(self._requests, selectors.EVENT_WRITE)
        ready = {key.fd for key, _ in self._selector.select(step)}
        if writing:
            self._selector.unregister(self._requests)
        if self._output in ready:
            self._take_output()
        if self._answers in ready:
            self._take_answer()
        elif self._pidfd in ready or (self._pidfd < 0 and not ready and self._is_dead()):
            self._gone()

    def _take_answer(self) -> None:
        data = os.read(self._answers, _CHUNK)
        if not data:
            self._gone()
        self._answer_bytes += len(data)
        if self._answer_bytes > self._limits.answer_bytes:
            raise AgentFloodError(
                f"answers of more than {self._limits.answer_bytes} bytes in one game"
            )
        self._reader.feed(data)

    # -- output and death ---------------------------------------------------------------------

    def _take_output(self) -> None:
        data = b"x"
        while data and self._output_bytes <= self._limits.output_bytes:
            try:
                data = os.read(self._output, _CHUNK)
            except BlockingIOError:
                return
            self._output_bytes += len(data)
            self._tail = (self._tail + data)[-_TAIL:]
            self._write_log(data)
        if not data:
            self._selector.unregister(self._output)
            return
        raise AgentFloodError(f"output of more than {self._limits.output_bytes} bytes in one game")

    def _write_log(self, data: bytes) -> None:
        if self.log is not None and data:
            with self.log.open("ab") as file:
                file.write(data)

    def _gone(self) -> None:
        """Raise what the end of the connection or of the process means."""
        try:
            self._await_death(_GRACE)
        except TimeoutError:
            raise AgentProtocolError("it closed its connection to the referee") from None
        with contextlib.suppress(AgentFloodError):
            self._drain()
        status = self._exit_status()
        raise AgentCrashedError(f"its process {status}{self.last_words()}")

    def _drain(self) -> None:
        if self._output in self._selector.get_map():
            self._take_output()

    def last_words(self) -> str:
        """Return the last lines of the output as part of a message; empty without any."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        words = one_line("\n".join(lines[-_TAIL_LINES:]), limit=_TAIL)
        return f"; its last output: {words}" if words else ""

    def is_alive(self) -> bool:
        """Return whether the process is there to be asked."""
        return self._open and not self._is_dead()

    def _is_dead(self) -> bool:
        return self._returncode() is not None

    def _returncode(self) -> int | None:
        """Return the exit status, or minus the signal of its death; None while it lives.

        It is not buried by that, where the system can tell without: its id has to stay its own
        until its process group is killed.
        """
        if self.process.returncode is not None or not hasattr(os, "waitid"):
            return self.process.poll()
        options = os.WEXITED | os.WNOWAIT | os.WNOHANG
        result = os.waitid(os.P_PID, self.process.pid, options)
        if result is None:
            return None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status

    def _await_death(self, seconds: float) -> None:
        """Wait until the process is dead. Raises `TimeoutError`."""
        until = time.monotonic() + seconds
        if self._pidfd >= 0:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            poll.poll(seconds * 1000)
        while not self._is_dead():
            if time.monotonic() >= until:
                raise TimeoutError
            time.sleep(0.01)

    def _exit_status(self) -> str:
        code = self._returncode()
        assert code is not None
        if code >= 0:
            return f"exited with status {code}"
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:  # the real-time signals have no names
            return f"was killed by signal {-code}"

    def kill(self) -> None:
        """End the process and all that it started, and release everything. May be repeated."""
        if not self._open:
            return
        self._open = False
        kill_all(self.process)
        self.process.wait()
        with contextlib.suppress(AgentFloodError):
            self._drain()
        self._release()

    def _release(self) -> None:
        self._selector.close()
        for descriptor in self._ours:
            os.close(descriptor)
