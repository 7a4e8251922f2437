"""The conditions of a measurement, and the spread of its repetitions."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import miai


def conditions() -> dict[str, str]:
    """Return the time, commit, machine and versions that a figure belongs to."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": f"{processor()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "miai": miai.__version__,
    }


def processor() -> str:
    """Return the processor's name, or its architecture where the system hides the name."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def commit() -> str:
    """Return the commit of this checkout, with a `+` for changed files; empty outside git."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def spread(values: Sequence[float], digits: int | None = None) -> list[float]:
    """Return the median, minimum and maximum, rounded to `digits` decimals."""
    return [round(value, digits) for value in (median(values), min(values), max(values))]
