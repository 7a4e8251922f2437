"""Fixtures of the other rooms, whose processes and servers the promises share."""

from __future__ import annotations

from tests.framework.conftest import gone, make_seat, unruly
from tests.tournaments.conftest import flag, mischief
from tests.web.conftest import address, browser, visitor

__all__ = ["address", "browser", "flag", "gone", "make_seat", "mischief", "unruly", "visitor"]
