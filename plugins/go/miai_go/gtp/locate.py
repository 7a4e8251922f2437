"""Finding the program of an engine, also in folders that are often not on PATH."""

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
"""Where engines are looked for after PATH. Debian installs GNU Go in ``/usr/games``."""

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
    """Return the path of an engine's program.

    Args:
      program: a name to be looked for on PATH and in `MORE_FOLDERS`, or a path, relative to the
        working directory or to the home directory (``~``).

    Raises:
      AgentUnavailableError: it is not there or may not be run; the message says where it was
        looked for and how known engines are installed.
    """
    if os.sep in program:
        path = Path(program).expanduser()
        if path.is_file() and os.access(path, os.X_OK):
            return path
        why = (
            "is a folder" if path.is_dir() else "may not be run" if path.exists() else "is missing"
        )
        raise AgentUnavailableError(_explain(program, f"{path} {why}"))
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders += [str(Path(folder).expanduser()) for folder in MORE_FOLDERS]
    searched = list(dict.fromkeys(folder for folder in folders if folder))
    found = shutil.which(program, path=os.pathsep.join(searched))
    if found is None:
        raise AgentUnavailableError(_explain(program, f"looked in {', '.join(searched)}"))
    return Path(found)


def advice_for(program: str) -> str:
    """Return how a known engine is installed, as the end of a message; else an empty string."""
    known = ADVICE.get(Path(program).name)
    return f" ({known})" if known else ""


def _explain(program: str, where: str) -> str:
    advice = advice_for(program) or ": install it, or give its whole path in `command`"
    return f"the engine '{program}' was not found{advice}; {where}"
