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


COMPILED_TOGETHER = {
    "belief_search": "belief kernels",
    "comparing": "belief kernels",
    "go": "go kernels",
    "go_learning": "go learning kernels",
    "rbc": "rbc kernels",
    "tsumego": "tsumego kernels",
}
"""Folders of tests whose kernels take long to compile: the tests of a group stay in one process,
so that they are compiled once and the other process has something else to do meanwhile."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests that need the same kernels in one process, where tests run in several."""
    for item in items:
        group = COMPILED_TOGETHER.get(item.path.parent.name)
        if group is not None and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))


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
