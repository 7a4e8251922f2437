"""Shared by all tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections import Counter
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests import seeds
from tests.long import is_long

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


@pytest.fixture(autouse=True, scope="session")
def users_data(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what commands write for their user, such as replays, away from the user's own."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


COMPILED_TOGETHER = {
    "belief_search": "belief kernels",
    "comparing": "belief kernels",
    "go": "go kernels",
    "go_learning": "go learning kernels",
    "rbc": "rbc kernels",
    "tsumego": "tsumego kernels",
}
"""Folders of tests whose kernels take long to compile, and what they have in common."""

LONGEST_FIRST = ("rbc", "go_learning", "belief_search", "comparing", "tsumego", "go", "docs", "web")
"""Folders whose tests begin first, so that no process is still at a long one when others end."""


NOT_PERMITTED = ("bubblewrap failed", "control group", "the kernel has no such Landlock")
"""Reasons to skip a test that no installation can remove."""


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Share tests out to processes file by file, or folder by folder.

    The tests of a file share what is made once for it. Those of a folder with kernels stay in one
    process, so that they are compiled once, and others have something else to do meanwhile.
    """
    config.option.loadscopereorder = False
    schedule = import_module("xdist.scheduler").LoadScopeScheduling(config, log)
    schedule._split_scope = _scope
    return schedule


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark long tests; put long folders first, and then the files with the most tests."""
    for item in items:
        if is_long(item.nodeid):
            item.add_marker(pytest.mark.long)
    sizes = Counter(_scope(item.nodeid) for item in items)

    def place(item: pytest.Item) -> tuple[int, int, str]:
        scope, folder = _scope(item.nodeid), item.path.parent.name
        known = folder in LONGEST_FIRST
        rank = LONGEST_FIRST.index(folder) if known else len(LONGEST_FIRST)
        return rank, -sizes[scope], scope

    items.sort(key=place)


def _scope(nodeid: str) -> str:
    path = Path(nodeid.split("::")[0])
    return COMPILED_TOGETHER.get(path.parent.name, str(path))


def pytest_collection_finish() -> None:
    """Let the garbage collector look no more through all that was imported."""
    gc.collect()
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
