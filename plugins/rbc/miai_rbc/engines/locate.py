"""Finding the program of a chess engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from miai.programs import find_program

ADVICE: Final[Mapping[str, str]] = {
    "stockfish": "Stockfish: `apt install stockfish` on Debian and Ubuntu, `brew install "
    "stockfish` on macOS",
}
"""How to install engines that people ask for, by the name of the program."""


def find_engine(program: str) -> Path:
    """Return the path of an engine's program; raises as `miai.programs.find_program`."""
    return find_program(program, advice=ADVICE)
