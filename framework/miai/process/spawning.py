"""Starting an agent's process and ending it with all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping

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
    import psutil  # slow to import, and most agents never have to be killed

    strays: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        strays = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for stray in strays:
        with contextlib.suppress(psutil.Error):
            stray.kill()
