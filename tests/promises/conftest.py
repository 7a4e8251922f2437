"""Fixtures of the other rooms, whose processes and servers the promises share."""

from __future__ import annotations

import pytest
from tests.framework.conftest import find_unruly, gone, make_seat
from tests.tournaments.conftest import flag, mischief
from tests.web.conftest import address, browser, visitor

unruly = pytest.fixture(find_unruly, name="unruly")
"""For one test: in another environment, commands start slowly, as new interpreters."""

__all__ = ["address", "browser", "flag", "gone", "make_seat", "mischief", "unruly", "visitor"]
