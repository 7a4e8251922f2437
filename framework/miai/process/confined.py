"""Rights and limits of an agent's process, and of programs that the referee itself starts.

    python -m miai.process.confined PROGRAM ARGUMENTS...

becomes the program, with the rights and limits of an agent at the level ``process``. It is for the
program of a game; what an agent starts is confined with it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from miai.process.child import CONFINED
from miai.process.landlock import hide
from miai.process.sandbox import SCRATCH
from miai.process.seccomp import restrict

_PROCESSES: Final = 1024
_DISK: Final = 1024


def launcher() -> list[str]:
    """Return the command before that of a program to confine; empty if this process is confined."""
    if sys.platform != "linux" or CONFINED in os.environ:
        return []
    return [sys.executable, "-P", "-m", "miai.process.confined"]


def confine(
    *,
    memory: int,
    processes: int,
    disk: int,
    hidden: Sequence[str],
    free: bool,
    fixed: Sequence[str],
    sandbox: bool,
    programs: bool,
) -> None:
    """Limit this process and all that it starts, before any code of the agent is loaded.

    Args:
      memory: maximum mebibytes of private memory of a process.
      processes: maximum number of processes and threads, in a sandbox.
      disk: maximum mebibytes of a file.
      hidden: folders and files that it may not read or change, with other agents' temporary ones.
      free: whether it may change files outside its temporary folder.
      fixed: files and folders that it may not change even then.
      sandbox: whether namespaces of its own hide these already.
      programs: whether it may run other programs.

    Raises:
      OSError: the kernel refused.
    """
    _bound(resource.RLIMIT_DATA, memory << 20)
    _bound(resource.RLIMIT_FSIZE, disk << 20)
    if sandbox:  # outside, the count is of all processes of the user
        _bound(resource.RLIMIT_NPROC, processes)
    with contextlib.suppress(OSError):  # when memory is short, the kernel kills agents first
        Path("/proc/self/oom_score_adj").write_text("500")
    # Landlock decides about paths, which a filter cannot read: it sees numbers and addresses. The
    # filter decides about calls, as Landlock knows only files and, from version 6 on, signals.
    if not sandbox:
        hide(
            map(Path, hidden),
            own=Path(tempfile.gettempdir()),
            others=SCRATCH if hidden else "",
            free=free,
            fixed=map(Path, fixed),
        )
    # Last, so that nothing before it needs a call that it refuses.
    restrict(programs=programs, attributes=sandbox or (free and not fixed))


def three_quarters_of_memory() -> int:
    """Return three quarters of the machine's memory, in mebibytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 >> 22


def _bound(limit: int, value: int) -> None:
    """Lower a limit, unless it is lower already."""
    hard = resource.getrlimit(limit)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(limit, (value, value))


def main(command: list[str]) -> None:
    """Confine this process and become the program."""
    memory = three_quarters_of_memory()
    confine(
        memory=memory,
        processes=_PROCESSES,
        disk=_DISK,
        hidden=[],
        free=True,
        fixed=[],
        sandbox=False,
        programs=True,
    )
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
