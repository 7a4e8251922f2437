"""Finding the program of an engine that speaks GTP."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from miai.programs import find_program, installing

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
    """Return the path of an engine's program; raises as `miai.programs.find_program`."""
    return find_program(program, advice=ADVICE)


def advice_for(program: str) -> str:
    """Return how a known engine is installed, as the end of a message; else an empty string."""
    return installing(program, ADVICE)
