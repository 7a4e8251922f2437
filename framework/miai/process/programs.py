"""Finding the programs that agents run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from miai.errors import AgentUnavailableError

MORE_FOLDERS: Final = (
    "/usr/games",
    "/usr/local/games",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/opt/local/bin",
    "/snap/bin",
    "~/.local/bin",
    "~/bin",
)
"""Folders searched after PATH. Debian installs games and engines in ``/usr/games``."""


def find_program(program: str, *, advice: Mapping[str, str]) -> Path:
    """Return the path of an engine's program.

    The program is a name, searched on PATH and in `MORE_FOLDERS`, or a path, relative to the
    working directory or to the home directory (``~``). `advice` says how known engines are
    installed, by the name of the program.

    Raises `AgentUnavailableError`, with that advice, if it is missing or not executable.
    """
    if os.sep in program:
        path = Path(program).expanduser()
        if path.is_file() and os.access(path, os.X_OK):
            return path
        why = (
            "is a folder" if path.is_dir() else "may not be run" if path.exists() else "is missing"
        )
        raise AgentUnavailableError(_explain(program, f"{path} {why}", advice))
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders += [str(Path(folder).expanduser()) for folder in MORE_FOLDERS]
    location = shutil.which(program, path=os.pathsep.join(filter(None, folders)))
    if location is None:
        where = f"looked on PATH and in {len(MORE_FOLDERS)} usual folders"
        raise AgentUnavailableError(_explain(program, where, advice))
    return Path(location)


def installing(program: str, advice: Mapping[str, str]) -> str:
    """Return how to install a known program, as the end of a message; empty if unknown."""
    how = advice.get(Path(program).name)
    return f" ({how})" if how else ""


def _explain(program: str, where: str, advice: Mapping[str, str]) -> str:
    how = installing(program, advice) or ": install it, or give its whole path in `command`"
    return f"the engine '{program}' was not found{how}; {where}"
