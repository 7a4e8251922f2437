"""The process of an engine: started, watched, measured, and ended with all that it started.

Finding the program of an engine that speaks GTP.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

import psutil

from miai.errors import AgentUnavailableError
from miai.process.programs import find_program, installing

ADVICE: Final[Mapping[str, str]] = {
    "gnugo": "GNU Go: `apt install gnugo` on Debian and Ubuntu, `brew install gnu-go` on macOS",
    "leelaz": "Leela Zero: `apt install leela-zero` on Debian and Ubuntu; its network has to be "
    "fetched separately and named with --weights",
    "katago": "KataGo: download a release or build it; it needs a network (-model) and a "
    "configuration (-config)",
    "pachi": "Pachi: build it from its sources; the Debian package called pachi is a platform "
    "game, not the Go engine",
    "fuego": "Fuego: build it from its sources",
    "michi-c2": "michi-c2: build it from its sources",
}
"""How to install engines that people ask for, by the name of the program."""


def find_engine(program: str) -> Path:
    """Return the path of an engine's program; raises as `miai.process.programs.find_program`."""
    return find_program(program, advice=ADVICE)


def advice_for(program: str) -> str:
    """Return how a known engine is installed, as the end of a message; else an empty string."""
    return installing(program, ADVICE)


_F_SETSIG: Final = 10
_RELIST_SECONDS: Final = 1.0
"""How often the processes below an engine are listed anew."""


class EngineProcess:
    """An engine's process, its pipes and its descendants.

    When this process leads a session, as the host of an agent does, whoever made the session ends
    it by its process group: the engine then stays in that group. Otherwise the engine leads a
    group of its own, which a Ctrl-C at the terminal does not reach. On Linux the kernel kills the
    engine (its whole group, where it leads one) when this process dies, in whatever way, and when
    this object is dropped; elsewhere the end of its input has to do.

    Args:
      command: program and arguments; the program is looked for by `find_engine`. No shell.
      cwd: working directory; None for this process's.
      environment: variables beside or instead of those of this process.

    Attributes:
      pid: its process id.
      requests, answers, complaints: descriptors of its standard input, output and error; they do
        not block.

    Raises:
      AgentUnavailableError: it cannot be found or started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        program = find_engine(command[0])
        self._leads_group = os.getsid(0) != os.getpid()
        lifeline_end, lifeline = os.pipe()
        self._lifeline = os.fdopen(lifeline, "wb", buffering=0)  # closed when the object goes
        try:
            self._process = _spawn(
                [str(program.absolute()), *command[1:]],
                cwd,
                {**os.environ, **(environment or {})},
                lifeline_end,
                leads_group=self._leads_group,
            )
        except OSError as error:
            self._lifeline.close()
            raise AgentUnavailableError(
                f"the engine {program} cannot be started: {error}{advice_for(command[0])}"
            ) from error
        else:
            self.pid = self._process.pid
            _tie(lifeline_end, -self.pid if self._leads_group else self.pid)
        finally:
            os.close(lifeline_end)
        self.requests, self.answers, self.complaints = map(_descriptor, self._pipes)
        self._usage = 0.0
        self._below: list[psutil.Process] = []
        self._listed = float("-inf")

    # -- its death ----------------------------------------------------------------------------

    def is_dead(self) -> bool:
        """Return whether it has died. It stays unburied, so that its id remains its own."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def await_death(self, seconds: float) -> bool:
        """Wait for its death; return whether it has come."""
        until = time.monotonic() + seconds
        pause = 0.001
        while not self.is_dead():
            if time.monotonic() > until:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True

    def exit_status(self) -> str:
        """Return how it died: ``exited with status 3``, ``was killed by SIGSEGV``."""
        if self._process.returncode is None:
            result = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if result is None:
                return "is running"
            exited = result.si_code == os.CLD_EXITED
            code = result.si_status if exited else -result.si_status
        else:
            code = self._process.returncode
        if code >= 0:
            return f"exited with status {code}"
        return f"was killed by {_signal_name(-code)}"

    def stop(self, *, patience: float, mercy: float) -> None:
        """End it, gently first: end of input, then SIGTERM, then SIGKILL. May be repeated.

        Args:
          patience: seconds between the end of its input and SIGTERM.
          mercy: seconds between SIGTERM and SIGKILL.
        """
        if self._process.returncode is None:
            self._list_below()
            self._pipes[0].close()
            if not self.await_death(patience):
                os.kill(self.pid, signal.SIGTERM)
                self.await_death(mercy)
        self.kill()

    def kill(self) -> None:
        """Kill it with all that it started, bury it and close its pipes. May be repeated."""
        if self._process.returncode is None:
            self.cpu_seconds()  # a last reading, its children's included
            self._list_below()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)
                if self._leads_group:
                    os.killpg(self.pid, signal.SIGKILL)
            for process in self._below:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            self._bury()
        for pipe in (*self._pipes, self._lifeline):
            pipe.close()

    def _bury(self) -> None:
        _, status, usage = os.wait4(self.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._usage = max(self._usage, usage.ru_utime + usage.ru_stime)

    # -- its CPU time and its descendants -----------------------------------------------------

    def cpu_seconds(self) -> float:
        """Return CPU seconds used so far by it and what it started; it never goes down.

        The system counts a living process in steps of a hundredth of a second.
        """
        if self._process.returncode is None:
            if time.monotonic() - self._listed > _RELIST_SECONDS:
                self._list_below()
            with contextlib.suppress(psutil.Error):
                own = _cpu(psutil.Process(self.pid))
                self._usage = max(self._usage, own + sum(map(_cpu_or_none, self._below)))
        return self._usage

    def _list_below(self) -> None:
        """Note which processes are below it, while that can be told."""
        self._listed = time.monotonic()
        with contextlib.suppress(psutil.Error):
            found = psutil.Process(self.pid).children(recursive=True)
            # One whose parent died is no longer below, but was started by it all the same.
            strays = [p for p in self._below if p not in found and p.is_running()]
            self._below = found + strays

    @property
    def _pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        return process.stdin, process.stdout, process.stderr


def _spawn(
    command: list[str],
    cwd: Path | None,
    environment: Mapping[str, str],
    lifeline: int,
    *,
    leads_group: bool,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=environment,
        pass_fds=(lifeline,),
        process_group=0 if leads_group else None,
    )


def _tie(lifeline: int, owner: int) -> None:
    """Have Linux send SIGKILL to `owner` when the other end of the lifeline closes.

    The engine inherits the end that is tied, and nothing is ever written to the other, which this
    process alone holds. Unlike PR_SET_PDEATHSIG this needs no code between fork and exec, holds
    for engines that were started from any thread, and reaches a whole process group.

    Args:
      owner: a process, or minus a process group.
    """
    if sys.platform != "linux":
        return
    import fcntl

    with contextlib.suppress(OSError):  # a sandbox that knows no such signals
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, owner)
        fcntl.fcntl(lifeline, _F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _descriptor(pipe: IO[bytes]) -> int:
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()


def _cpu(process: psutil.Process) -> float:
    """Return CPU seconds of a process and of its buried children."""
    times = process.cpu_times()
    buried = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return float(times.user + times.system + buried)


def _cpu_or_none(process: psutil.Process) -> float:
    try:
        return _cpu(process)
    except psutil.Error:  # dead: its parent's count of buried children has it, or it is lost
        return 0.0


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
