"""Agents in processes of their own, and the certainty that none of them is left over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.child_imports import find_in

from miai.process.agent_process import AgentProcess
from miai.process.sandbox import Isolation, ProcessLimits

SeatFactory = Callable[..., AgentProcess]


def find_unruly() -> Iterator[None]:
    yield from find_in(Path(__file__).parent / "unruly")


unruly = pytest.fixture(find_unruly, scope="module", name="unruly")


@pytest.fixture
def make_seat(unruly: None) -> Iterator[SeatFactory]:
    """Make agents in processes; afterwards none of their processes may be left."""
    seats: list[AgentProcess] = []

    def make(
        agent: str,
        *,
        game: str = "tic_tac_toe",
        name: str = "",
        settings: Any = None,
        **values: Any,
    ) -> AgentProcess:
        limits = ProcessLimits(isolation=Isolation.PROCESS, free=True)
        options = {"limits": limits, **(settings or {})}
        seats.append(AgentProcess(game, {}, agent, values, name=name or agent, **options))
        return seats[-1]

    yield make
    pids = [seat.pid for seat in seats if seat.pid]
    for seat in seats:
        seat.kill()
    assert wait_until_gone(*pids)


@pytest.fixture
def gone() -> Callable[..., bool]:
    """Return a function that says whether processes end."""
    return wait_until_gone


def wait_until_gone(*pids: int, seconds: float = 10.0) -> bool:
    """Return whether the processes end within the time; an unburied one has ended."""
    until = time.monotonic() + seconds
    while any(_runs(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
