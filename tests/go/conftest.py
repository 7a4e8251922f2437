"""Fixtures of the tests of Go."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psutil
import pytest
from tests.go.engine_processes import BEFORE, TOKEN, all_gone, running_with


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """No engine, nor anything that an engine started, may outlive its test."""
    value = uuid.uuid4().hex
    BEFORE[value] = frozenset(psutil.pids())
    monkeypatch.setenv(TOKEN, value)
    yield value
    assert all_gone(value), f"left running: {running_with(value)}"
