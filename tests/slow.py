"""Marks those cases of a test slow that take long, where the others are quick."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def with_slow(cases: Iterable[Any], *slow: Any) -> list[Any]:
    """Return the cases of a test, of which some are left to ``make test-all``."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        if case in slow
        else case
        for case in cases
    ]
