"""Which tests are long: `make test` leaves them out, `make test-long` runs them, CI runs both.

    .venv/bin/pytest -m "not slow" -n 3 -q --durations=0 --durations-min=0.5 > DURATIONS
    .venv/bin/python -m tests.long DURATIONS

writes ``tests/long.txt`` from the durations of a whole run: a line is a test, or a file of tests
whose first one makes what all of them use.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

LIST = Path(__file__).with_suffix(".txt")
SECONDS = 2.0
"""Minimum duration of a long test."""
_DURATION = re.compile(r"^([\d.]+)s (setup|call|teardown) +(\S.*)$", re.MULTILINE)


@cache
def long_tests() -> frozenset[str]:
    """Return the ids of long tests, and the files of which all tests are long."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def is_long(nodeid: str) -> bool:
    """Return whether a test is long, by its id."""
    return bool({nodeid, nodeid.partition("::")[0]} & long_tests())


def chosen(durations: str, *, seconds: float) -> list[str]:
    """Return the lines of the list, sorted.

    Args:
      durations: output of pytest with ``--durations``.
      seconds: of a long test. A setup twice as long makes its file long, because without its first
        test the next one would set up the same.
    """
    phases = [(float(took), phase, name) for took, phase, name in _DURATION.findall(durations)]
    files = {
        name.partition("::")[0]
        for took, phase, name in phases
        if phase == "setup" and took >= 2 * seconds
    }
    tests = {
        name
        for took, phase, name in phases
        if took >= seconds and name.partition("::")[0] not in files
    }
    return sorted(files | tests)


def unknown(lines: Iterable[str], root: Path) -> list[str]:
    """Return the lines of files or test functions that do not exist."""
    return [line for line in lines if not _exists(line, root)]


def _exists(line: str, root: Path) -> bool:
    file, _, name = line.partition("::")
    path = root / file
    function = name.partition("[")[0].rpartition("::")[2]
    return path.is_file() and (
        not function or f"def {function}(" in path.read_text(encoding="utf-8")
    )


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("durations", type=Path, help="Output of pytest with --durations=0")
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help=f"Minimum seconds of a long test (default {SECONDS:g})",
    )
    options = parser.parse_args()
    lines = chosen(options.durations.read_text(encoding="utf-8"), seconds=options.seconds)
    if not lines:
        parser.error(f"{options.durations}: no test took that long, or it has no durations")
    LIST.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{LIST}: {len(lines)} lines")


if __name__ == "__main__":
    main()
