"""What the commands of the Makefile write down of their runs.

The last green `make test-all` and `make soak`, and the matches of `make strength`, are rows of
docs/quality.md. How long `make test` and `.ci/run` took lies in a file of this checkout alone.

    python -m tests.records ci SECONDS         .ci/run has passed
    python -m tests.records strength FOLDER    the matches in a folder are over
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SECONDS: Final = ROOT / ".pytest_cache" / "seconds.json"
ROWS: Final = ("test-all", "soak")
"""Targets whose green runs are rows of the page."""


def seconds() -> dict[str, float]:
    """Return how long the last green ``test`` (of all parts) and ``ci`` took here, in seconds."""
    times: dict[str, float] = json.loads(SECONDS.read_text("utf-8")) if SECONDS.exists() else {}
    return times


def write_seconds(target: str, took: float) -> None:
    """Write down how long a green run took."""
    SECONDS.parent.mkdir(exist_ok=True)
    SECONDS.write_text(json.dumps({**seconds(), target: round(took, 1)}), encoding="utf-8")


def write_row(name: str, figure: str, *, command: str, **more: Any) -> None:
    """Write a row of docs/quality.md."""
    sys.path.append(str(ROOT / "benchmarks"))
    from common.evidence import record

    record(name, figure, command=command, **more)


def write_green_run(target: str, *, passed: int, skipped: int, took: float) -> None:
    """Write down that all tests of a target of the Makefile passed, in `took` seconds."""
    write_seconds(target, took)
    if target in ROWS:
        figure = f"{passed:,} passed, {skipped} skipped, none failed, in {took / 60:.1f} minutes"
        python = f"Python {platform.python_version()}"
        write_row(target, figure, peer=python, command=f"make {target}")


def write_strength(folder: Path) -> None:
    """Write the verdict and the score of each match."""
    for match in sorted(folder.iterdir()):
        command = [sys.executable, "-m", "miai", "tournament", "report", str(match), "--json"]
        report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        verdict = report["format"]["text"].partition(": ")[2]
        score = f"{100 * report['match']['score']:.1f} % of " if "match" in report else ""
        games = f"{score}{report['games']['done']:,} games"  # chips a game are in the verdict
        write_row(f"strength-{match.name}", verdict, peer=games, command="make strength")


if __name__ == "__main__":
    what, value = sys.argv[1:]
    if what == "strength":
        write_strength(Path(value))
    else:
        write_seconds(what, float(value))
