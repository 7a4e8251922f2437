"""Shared by all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

from miai.errors import AgentUnavailableError
from miai.programs import find_program

# A shell's background jobs ignore SIGINT, and hand that on to all that they start; these tests
# send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked ``engine("gnugo")`` where that program is not installed."""
    for marker in item.iter_markers("engine"):
        for program in marker.args:
            try:
                find_program(program, advice={})
            except AgentUnavailableError:
                pytest.skip(f"{program} is not installed; on Debian: apt install {program}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail skipped tests where nothing may be skipped: a missing engine must not pass for green."""
    report = yield
    if report.skipped and os.environ.get("MIAI_NO_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and MIAI_NO_SKIPS is set: {report.longrepr}"
    return report
