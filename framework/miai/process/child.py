"""Child processes: started, tied to this process, watched, and killed as a group.

`Child` runs any program. `ModuleChild` runs a Python module whose main function calls `boot` first,
with pipes for messages and for output. On Linux the kernel kills a child when this process dies, in
whatever way, even while a compiled loop of the child holds the interpreter lock; elsewhere the
child has to end when its input does.

Pipes rather than sockets carry the messages: the kernel wakes the reader of a pipe on the processor
of the writer, which makes a round trip two to three times as short.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import fcntl
import logging
import os
import re
import resource
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from miai.files import open_plain
from miai.plain import one_line
from miai.process.messages import FrameReader, MessageStream

if TYPE_CHECKING:
    import psutil

_logger = logging.getLogger("miai.process.child")

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_CHUNK: Final = 1 << 16
_TAIL: Final = 1000  # bytes of output that the message about a death quotes
_TAIL_LINES: Final = 6
_ORPHAN_SECONDS: Final = 10.0  # within which orphans that fork again and again are killed

CONFINED: Final = "MIAI_CONFINED"
"""Variable that tells what an agent starts that it is confined already."""

_HARMLESS: Final = re.compile(
    r"(?!.*(KEY|TOKEN|SECRET|PASS|CREDENTIAL))"
    r"(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TZDIR|TERM|COLUMNS|LINES|NO_COLOR"
    r"|TMPDIR|TMP|TEMP|XDG_(CACHE|CONFIG|DATA)_(HOME|DIRS)|SSL_CERT_(FILE|DIR)|JAVA_HOME"
    r"|CLASSPATH|DOTNET_ROOT|NODE_PATH|PERL5LIB|RUBYLIB|GEM_HOME|GEM_PATH|LUA_C?PATH|R_LIBS"
    r"|PYTHON[A-Z0-9]*|VIRTUAL_ENV|CONDA_PREFIX|LD_(LIBRARY_PATH|PRELOAD)|STOCKFISH_EXECUTABLE"
    r"|(MIAI|DYLD|MALLOC|OMP|GOMP|KMP|RAYON|OPENBLAS|MKL|BLIS|VECLIB|NUMEXPR|NUMBA|TORCH|PYTORCH"
    r"|ORT|XLA|JAX|JULIA|CUDA|CUDNN|NVIDIA|HIP|HSA|ROCM|ROCR|OCL_ICD)_\w*)"
)
"""Variables that agents and engines have: where programs and libraries lie, and how these work."""

_THREAD_VARIABLES: Final = (
    "OMP_NUM_THREADS",  # torch too
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def harmless_environment(more: Collection[str] = ()) -> dict[str, str]:
    """Return what code of others may know of this process's environment.

    It has the variables that programs and libraries need, and those named `more`. A process that
    is confined was started with no others, and passes all of them on.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if CONFINED in os.environ or name in more or _HARMLESS.fullmatch(name)
    }


def child_environment(
    inherited: Mapping[str, str] = os.environ, *, threads: int | None
) -> dict[str, str]:
    """Return an environment for a child in which a seed decides everything.

    Each numerical library has the number of threads; None leaves them alone.
    """
    environment = {**inherited, "PYTHONHASHSEED": "0"}
    if threads is not None:
        environment.update(dict.fromkeys(_THREAD_VARIABLES, str(threads)))
    return environment


MARK: Final = "MIAI_PROCESS"
"""Variable with the name, drawn at random, of the `ModuleChild` from which a process stems."""

_children: Final[weakref.WeakValueDictionary[int, Child]] = weakref.WeakValueDictionary()
"""The children of this process that were not reaped, by their ids."""

_adopts = False


def adopt_orphans() -> None:
    """Become the parent of all processes below this one that lose theirs, on Linux.

    So a process that forks twice, to be nobody's child, is found and killed when the child from
    which it stems ends. Call it in a program whose children are all started as `Child`.
    """
    global _adopts
    if sys.platform == "linux":
        _adopts = ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def kill_orphans() -> None:
    """Kill adopted processes, but not those that stem from a child that lives."""
    if not _adopts:
        return
    # A process that outlived its parent may still belong to a child that lives.
    living = {child._mark for child in _children.values()} - {""}
    session = os.getsid(0)
    until = time.monotonic() + _ORPHAN_SECONDS
    while time.monotonic() < until:
        orphans = [
            pid
            for pid in _child_pids()
            if pid not in _children
            and _session_of(pid) != session
            and _mark_of(pid) not in living
            and _kill(pid)  # at once: an orphan may fork and exit again and again, to be missed
        ]
        if not orphans:
            return
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
    _logger.warning("a process of an agent that forks again and again was not killed")


def _child_pids() -> list[int]:
    """Return the ids of this process's children, the youngest first.

    psutil looks at every process of the machine, which takes so long that a child can fork and exit
    meanwhile.
    """
    pids: list[int] = []
    try:
        for thread in Path("/proc/self/task").iterdir():
            pids += map(int, (thread / "children").read_bytes().split())
    except OSError:  # a kernel without this file
        import psutil

        pids = [process.pid for process in psutil.Process().children()]
    return pids[::-1]


def _kill(pid: int) -> bool:
    """Send SIGKILL to a process; return whether it was there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def _session_of(pid: int) -> int:
    """Return the session of a process; -1 if it is gone.

    A session that began outside this container has the number 0.
    """
    with contextlib.suppress(ProcessLookupError):
        return os.getsid(pid)
    return -1


def _mark_of(pid: int) -> str:
    """Return the mark in the environment with which a process began; empty without any."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    prefix = f"{MARK}=".encode()
    marks = [variable for variable in variables if variable.startswith(prefix)]
    return marks[0][len(prefix) :].decode("ascii", "replace") if marks else ""


class Child:
    """A child process with all that it starts.

    It leads a process group, which a Ctrl-C at the terminal does not reach, unless this process
    itself leads a session, as those of `ModuleChild` do: the child then stays in the group by which
    this process will be killed. It is also killed when this object is dropped.

    Args:
      command: program and arguments; no shell.
      stdin, stdout, stderr: as `subprocess.Popen` takes them.
      pass_fds: descriptors that it inherits.
      cwd: working directory; None for this process's.
      environment: all of its environment; None for this process's.
      new_session: whether it leads a session.
      tied: whether it dies with this process.

    Attributes:
      pid: its process id.
      pidfd: a descriptor that becomes readable when it dies; -1 where there is none.
      stdin, stdout, stderr: this process's ends of its pipes.
      cpu_at_exit: CPU seconds of it and its reaped children; 0.0 before it is reaped.

    Raises:
      OSError: it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        stderr: int | IO[bytes] = subprocess.DEVNULL,
        pass_fds: Sequence[int] = (),
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        new_session: bool = False,
        tied: bool = True,
    ) -> None:
        self._leads_group = new_session or os.getsid(0) != os.getpid()
        # The kernel kills the child when the last other end of this pipe closes, which this
        # process alone holds: however it dies, the child dies too.
        lifeline, ours = os.pipe()
        self._lifeline = os.fdopen(ours, "wb", buffering=0)  # closed when the object goes
        try:
            self._popen = subprocess.Popen(
                command,
                bufsize=0,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(*pass_fds, lifeline) if tied else pass_fds,
                cwd=cwd,
                env=environment,
                start_new_session=new_session,
                process_group=0 if self._leads_group and not new_session else None,
            )
            self.pid = self._popen.pid
            if tied:
                _tie(lifeline, -self.pid if self._leads_group else self.pid)
        except BaseException:
            self._lifeline.close()
            raise
        finally:
            os.close(lifeline)
        popen = self._popen
        self.stdin, self.stdout, self.stderr = popen.stdin, popen.stdout, popen.stderr
        self.cpu_at_exit = 0.0
        self._mark = (environment or {}).get(MARK, "")
        self._below: list[psutil.Process] = []
        _children[self.pid] = self
        self.pidfd = -1
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # before Linux 5.3
                self.pidfd = os.pidfd_open(self.pid)

    @property
    def reaped(self) -> bool:
        """Whether it was killed or waited for, so that its id may belong to another process."""
        return self._popen.returncode is not None

    def returncode(self) -> int | None:
        """Return the exit status, or minus the signal of its death; None while it lives.

        WNOWAIT keeps the id reserved until `kill` has killed the process group.
        """
        if self.reaped or not hasattr(os, "waitid"):
            return self._popen.poll()
        options = os.WEXITED | os.WNOWAIT | os.WNOHANG
        result = os.waitid(os.P_PID, self.pid, options)
        if result is None:
            return None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status

    def is_dead(self) -> bool:
        """Return whether it has died."""
        return self.returncode() is not None

    def await_death(self, seconds: float) -> bool:
        """Wait up to `seconds` for its death; return whether it has died."""
        until = time.monotonic() + seconds
        if self.pidfd >= 0:
            poll = select.poll()
            poll.register(self.pidfd, select.POLLIN)
            poll.poll(seconds * 1000)
        while not self.is_dead():
            if time.monotonic() >= until:
                return False
            time.sleep(0.005)
        return True

    def exit_status(self) -> str:
        """Return how it died: ``exited with status 3``, ``was killed by SIGSEGV``."""
        code = self.returncode()
        if code is None:
            return "is running"
        if code >= 0:
            return f"exited with status {code}"
        try:
            return f"was killed by {signal.Signals(-code).name}"
        except ValueError:  # the real-time signals have no names
            return f"was killed by signal {-code}"

    def descendants(self) -> list[psutil.Process]:
        """Return the processes that it started, as far as earlier calls or this one see them."""
        import psutil

        with contextlib.suppress(psutil.Error):
            below = psutil.Process(self.pid).children(recursive=True)
            # A process whose parent died is not below the child any more.
            strays = [p for p in self._below if p not in below and p.is_running()]
            self._below = below + strays
        return self._below

    def kill_group(self) -> None:
        """Send SIGKILL to it and all that it started, without waiting for its death."""
        if self.reaped:
            return
        below = self.descendants()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # First the leader, which could start more, then the group; what left the group is
            # listed before, as it is found by its parents only while these live.
            os.kill(self.pid, signal.SIGKILL)
            if self._leads_group:
                os.killpg(self.pid, signal.SIGKILL)
        for process in below:
            with contextlib.suppress(Exception):  # psutil.Error: it is dead, or not ours
                process.kill()

    def kill(self) -> None:
        """Kill it with all that it started, reap it and close its pipes. May be repeated."""
        self.kill_group()
        self.reap()

    def reap(self) -> None:
        """Wait for its death, however long that takes, and close its pipes."""
        if not self.reaped:
            # wait4 alone tells the CPU time of this child, with that of the children it has reaped.
            _, status, usage = os.wait4(self.pid, 0)
            self._popen.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_at_exit = usage.ru_utime + usage.ru_stime
            _children.pop(self.pid, None)
            # Only now are the child's own orphans without a living mark.
            kill_orphans()
        self._release()

    def _release(self) -> None:
        for pipe in (self.stdin, self.stdout, self.stderr, self._lifeline):
            if pipe is not None:
                pipe.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


def _tie(lifeline: int, owner: int) -> None:
    """Have Linux send SIGKILL to `owner`, a process or minus a group, when the lifeline closes.

    The lifeline is a pipe in which nothing is ever written. The child inherits the tied end, and
    its parent alone holds the other one. Unlike PR_SET_PDEATHSIG this needs no code between fork
    and exec, works for children that any thread started, and reaches a whole process group.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a sandbox without such signals
            fcntl.fcntl(lifeline, fcntl.F_SETOWN, owner)
            fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _in_memory(content: bytes) -> int:
    """Return the descriptor of a file in memory, to be read from its beginning."""
    descriptor = os.memfd_create("arguments")
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


class Output:
    """What a child writes to standard output and error: counted, logged, its end remembered.

    Attributes:
      descriptor: this process's end of the pipe.
      log: the file to which it is appended, see `log_to`; None for none.
      size: bytes so far; may be set to zero.
      limit: bytes after which reading stops; None for no limit.
      ended: whether the child closed its end.
    """

    def __init__(self, descriptor: int, *, log: Path | None = None) -> None:
        self.descriptor = descriptor
        self.log = log
        self._file: IO[bytes] | None = None
        self.size = 0
        self.limit: int | None = None
        self.ended = False
        self._partial = self._tail = b""

    def log_to(self, path: Path | None) -> None:
        """Append what comes from now on to a file, which is made with the first byte."""
        self.log = path
        self._file = None

    @property
    def over_limit(self) -> bool:
        """Whether there was more than the limit."""
        return self.limit is not None and self.size > self.limit

    def read(self) -> list[str]:
        """Read what is there; return the lines that are complete."""
        lines: list[bytes] = []
        while not self.ended and not self.over_limit:
            try:
                data = os.read(self.descriptor, _CHUNK)
            except BlockingIOError:
                break
            self.ended = not data
            self.size += len(data)
            self._tail = (self._tail + data)[-_TAIL:]
            self._log(data)
            # Of a line without an end only the last part is kept.
            *whole, self._partial = (self._partial + data)[-_CHUNK:].split(b"\n")
            lines += whole
        return [line.decode("utf-8", "replace").rstrip() for line in lines]

    def _log(self, data: bytes) -> None:
        """Append to the log; a log that cannot be written ends with a warning."""
        if self.log is None or not data:
            return
        try:
            if self._file is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._file = os.fdopen(open_plain(self.log, flags), "wb", buffering=0)
            self._file.write(data)
        except OSError as error:
            _logger.warning("the log %s ends here: %s", self.log, error.strerror or error)
            self.log = None
            self._file = None

    def last_lines(self) -> str:
        """Return the last lines as the end of a message; empty without any."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        text = one_line("\n".join(lines[-_TAIL_LINES:]), limit=_TAIL)
        return f"; its last output: {text}" if text else ""


class ModuleChild(Child):
    """A Python module as a child that leads a session, with pipes for messages and for output.

    Args:
      module: run as ``python -m``; its main function calls `boot` first.
      arguments: of the module, after those of `boot`.
      environment: all of its environment.
      max_message: maximum bytes of one of its messages.
      log: file to which its output is appended; None for none.
      wrapper: returns bubblewrap and its options, which no command line shows; its argument is
        whether the sandbox may be tied to the thread that starts it. None for no sandbox.

    Attributes:
      requests, answers: descriptors of the messages' pipes; they do not block.
      messages: cuts what `receive` has read into messages.
      output: what it prints.

    Raises:
      OSError: it cannot be started.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str],
        max_message: int,
        log: Path | None = None,
        wrapper: Callable[[bool], Sequence[str]] | None = None,
    ) -> None:
        # The kernel ties PR_SET_PDEATHSIG to the thread that spawned the child, so only the main
        # thread, which lives as long as the process, may ask for it.
        in_main = threading.current_thread() is threading.main_thread()
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        output, printed = os.pipe()
        self._ours: tuple[int, ...] = (self.requests, self.answers, output)
        # Inside a sandbox, which dies with this process, the parent has another id.
        numbers = (requests, answers, os.getpid() if in_main and wrapper is None else 0)
        # -P: a file called numpy.py in the working directory is not numpy.
        command = [sys.executable, "-P", "-u", "-m", module, *map(str, numbers), *arguments]
        inherited = [requests, answers]
        try:
            if wrapper is not None:
                program, *options = wrapper(in_main)
                # By descriptor: any user of the machine can read command lines, and so the hidden
                # paths.
                inherited.append(_in_memory("\0".join(options).encode()))
                command = [program, "--args", str(inherited[-1]), "--", *command]
            super().__init__(
                command,
                stdout=printed,
                stderr=printed,
                pass_fds=inherited,
                environment={**environment, MARK: secrets.token_hex(16)},
                new_session=True,
            )
        except BaseException:
            self._close()
            raise
        finally:
            for descriptor in (*inherited, printed):
                os.close(descriptor)
        self._wrapped = wrapper is not None
        for descriptor in self._ours:
            os.set_blocking(descriptor, False)
        self.messages = FrameReader(max_message)
        self.output = Output(output, log=log)
        self._unsent = bytearray()

    def returncode(self) -> int | None:
        """Return the program's exit status; bubblewrap adds 128 to the signal of its death."""
        code = super().returncode()
        return 128 - code if self._wrapped and code is not None and code > 128 else code

    def send(self, message: bytes) -> bool:
        """Queue a message and write what the pipe takes; see `flush`."""
        self._unsent += message
        return self.flush()

    def flush(self) -> bool:
        """Write what the pipe takes; return whether something remains."""
        try:
            while self._unsent:
                del self._unsent[: os.write(self.requests, self._unsent)]
        except BlockingIOError:
            pass
        except OSError:  # it does not read any more; its last answers, or its death, follow
            self._unsent.clear()
        return bool(self._unsent)

    def receive(self) -> int | None:
        """Read what is there into `messages`; return its size, or None at the end."""
        try:
            data = os.read(self.answers, _CHUNK)
        except BlockingIOError:
            return 0
        self.messages.feed(data)
        return len(data) or None

    def end_input(self) -> None:
        """Let it exit by itself, after the messages that are there."""
        if self.requests in self._ours:
            self._ours = self._ours[1:]
            os.close(self.requests)

    def _release(self) -> None:
        super()._release()
        if self._ours:
            self.output.read()
        self._close()

    def _close(self) -> None:
        for descriptor in self._ours:
            os.close(descriptor)
        self._ours = ()


def boot(arguments: Sequence[str]) -> MessageStream:
    """Begin the main function of a `ModuleChild`, whose first three arguments these are.

    Returns the parent's messages and the way for the answers. Standard output and error are pipes
    for output, so nothing that is printed, from Python or from C, is taken for an answer.
    """
    requests, answers, parent = map(int, arguments)
    for descriptor in (requests, answers):
        os.set_inheritable(descriptor, False)
    if sys.platform == "linux" and parent:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    poll = select.poll()
    poll.register(requests, 0)
    if poll.poll(0) or (parent and os.getppid() != parent):  # it died before the ties were there
        os._exit(1)
    faulthandler.enable()
    # A core dump would keep a dying process from being dead for as long as it takes to write.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    return MessageStream(requests, answers)
