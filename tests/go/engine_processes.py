"""Processes that engines started, found by a token in their environment."""

from __future__ import annotations

import contextlib
import time

import psutil

TOKEN = "MIAI_TEST_MARK"
BEFORE: dict[str, frozenset[int]] = {}
"""The processes that were there before a test, by its token."""


def running_with(token: str) -> list[int]:
    """Return the processes that inherited a test's token, whoever their parent is."""
    found = []
    for pid in sorted(set(psutil.pids()) - BEFORE[token]):
        with contextlib.suppress(psutil.Error):
            if psutil.Process(pid).environ().get(TOKEN) == token:
                found.append(pid)
    return found


def all_gone(token: str, seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while running_with(token):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
