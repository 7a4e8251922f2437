"""The process of an engine that speaks GTP, and how well-known engines are installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from miai.process.programs import ProgramProcess, find_program

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
"""How to install well-known engines, by the name of the program."""


def find_engine(program: str) -> Path:
    """Return the path of an engine's program. Raises as `miai.process.programs.find_program`."""
    return find_program(program, advice=ADVICE)


class EngineProcess(ProgramProcess):
    """An engine's process; see `ProgramProcess`. Its messages say how engines are installed."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(command, advice=ADVICE, cwd=cwd, environment=environment)
