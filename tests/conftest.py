"""Shared by all tests."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests import records, seeds

from miai.errors import AgentUnavailableError
from miai.process.programs import find_program

# A shell's background jobs ignore SIGINT, and hand that on to all that they start; these tests
# send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of processes are started; where this is set, each of them compiles all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Hundreds of stores are written, and each waits for the disk; files in memory are not waited for.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Tests of every game are about miai's own; those of OpenSpiel enable its games themselves.
os.environ.setdefault("MIAI_DISABLE_PLUGINS", "openspiel")

# How long an example takes is the machine's business; tests of speed have clocks of their own.
settings.register_profile(
    "miai",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=seeds.fixed(),
)
settings.load_profile("miai")


if "PYTEST_XDIST_WORKER" in os.environ and "coverage" not in sys.modules:
    # A worker's last act; to free a million objects, one by one, takes seconds.
    atexit.register(os._exit, 0)


@pytest.fixture(autouse=True, scope="session")
def users_data(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what commands write for their user, such as replays, away from the user's own."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


RECORDED = os.environ.pop("MIAI_RECORD", "")
"""The target of the Makefile whose tests all run, and its start; workers and children see none."""


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Write down a green run of a target, unless tests were chosen by hand."""
    if RECORDED and exitstatus == pytest.ExitCode.OK and not config.getoption("keyword"):
        passed, skipped = (len(terminalreporter.stats.get(n, ())) for n in ("passed", "skipped"))
        target, started = RECORDED.split()
        took = time.time() - float(started)
        records.write_green_run(target, passed=passed, skipped=skipped, took=took)


NOT_PERMITTED = ("bubblewrap failed", "control group", "the kernel has no such Landlock")
"""Reasons to skip a test that no installation can remove."""


def pytest_collection() -> None:
    """Let no garbage be looked for while thousands of tests are made, which all stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let the garbage collector look no more through all that was imported."""
    gc.enable()
    gc.freeze()


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
    """Fail skipped tests where nothing may be skipped: a missing engine must not pass for green.

    What a kernel or a container does not permit cannot be installed, and is skipped.
    """
    report = yield
    if report.skipped and any(reason in str(report.longrepr) for reason in NOT_PERMITTED):
        return report
    if report.skipped and os.environ.get("MIAI_NO_SKIPS") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and MIAI_NO_SKIPS is set: {report.longrepr}"
    return report
