"""The types agree, for users whose own code is checked against the packages (``py.typed``)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.size import ROOT


@pytest.mark.slow  # a minute of CPU time without mypy's cache, a second with it
def test_mypy_finds_no_fault() -> None:
    mypy = [sys.executable, "-m", "mypy", "--no-pretty"]
    run = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
