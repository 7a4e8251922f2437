"""Runs a program with the rights and limits of an agent's process at the level ``process``.

    python -m miai.process.confined PROGRAM ARGUMENTS...

The program takes the place of this one. It is for programs that the referee itself starts, such as
the program of a game; what an agent starts is confined with it.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from miai.process.host import CONFINED, confine

_PROCESSES: Final = 1024
_DISK: Final = 1024


def launcher() -> list[str]:
    """Return the command before that of a program to confine; empty if this process is confined."""
    if sys.platform != "linux" or CONFINED in os.environ:
        return []
    return [sys.executable, "-P", "-m", "miai.process.confined"]


def main(command: list[str]) -> None:
    """Confine this process and become the program."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 >> 22
    confine(
        memory=memory, processes=_PROCESSES, disk=_DISK, hidden=[], sandbox=False, programs=True
    )
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
