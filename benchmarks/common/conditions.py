"""The conditions of a measurement, and the spread of its repetitions."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median

import miai


def conditions() -> dict[str, str]:
    """Return the time, commit, machine and versions that a figure belongs to."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "python": platform.python_version(),
        "miai": miai.__version__,
    }


def machine() -> str:
    """Return the processor, its number of cores and the system."""
    return f"{processor()}, {os.cpu_count()} cores, {platform.system()}"


def processor() -> str:
    """Return the processor's name, or its architecture where the system hides the name."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@cache
def commit() -> str:
    """Return the commit of this checkout, with a `+` for changed files; empty outside git.

    Evidence written in the meantime does not change what is measured.
    """
    git = ["git", "-C", str(Path(__file__).parents[2])]
    changes = ["status", "--porcelain", "--", ".", ":!docs", ":!benchmarks/results"]
    try:
        head, changed = (
            subprocess.run([*git, *words], capture_output=True, text=True, check=True).stdout
            for words in (["rev-parse", "--short", "HEAD"], changes)
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.strip() + "+" * bool(changed)


def spread(values: Sequence[float], digits: int | None = None) -> list[float]:
    """Return the median, minimum and maximum, rounded to `digits` decimals."""
    return [round(value, digits) for value in (median(values), min(values), max(values))]
