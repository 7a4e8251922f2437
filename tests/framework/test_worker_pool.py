"""The worker pool: results, order, deaths, hangs, exceptions, interrupts; no orphan is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from miai.errors import WorkerError
from miai.process.child import Child
from miai.process.workers import ATTEMPTS, Failed, Finished, Job, JobEvent, WorkerPool

pytestmark = [pytest.mark.usefixtures("unruly"), pytest.mark.timeout(120)]

Gone = Callable[..., bool]
TARGET = "pool_jobs:make"
SECONDS = 30.0


def make_pool(*, workers: int = 2, setup: Any = None, **options: Any) -> WorkerPool:
    return WorkerPool(TARGET, setup or {}, workers=workers, **options)


def echo(value: int, **more: Any) -> Job:
    return Job(value, {"do": "echo", "value": value, **more})


def wait_for(pool: WorkerPool, count: int) -> list[JobEvent]:
    events: list[JobEvent] = []
    until = time.monotonic() + SECONDS
    while len(events) < count:
        assert time.monotonic() < until, events
        events += pool.wait(1.0)
    return events


def values(events: list[JobEvent]) -> list[int]:
    return [event.result["value"] for event in events if isinstance(event, Finished)]


def only(events: list[JobEvent]) -> Failed:
    (event,) = events
    assert isinstance(event, Failed)
    return event


def test_workers_have_more_jobs_ahead_the_shorter_they_are() -> None:
    pool = make_pool()
    for seconds, depth in ((0.05, 3), (0.1, 2), (0.0, 3), (0.01, 3), (0.0, 4), (1.0, 1), (0.0, 1)):
        pool.count(seconds)
        assert pool.depth == depth


def test_all_jobs_are_performed_by_as_many_workers_as_allowed() -> None:
    jobs = [echo(n, seconds=0.05) for n in range(12)]
    with make_pool() as pool:
        for job in jobs:
            pool.submit(job)
        events = wait_for(pool, len(jobs))
        assert sorted(values(events)) == list(range(12))
        assert {event.job for event in events} == set(jobs)
        results = [event.result for event in events if isinstance(event, Finished)]
        assert {result["pid"] for result in results} == set(pool.pids)
        assert len(pool.pids) == 2
        assert len({result["hash"] for result in results}) == 1
        assert pool.wait(0.0) == []


def test_results_come_in_the_order_of_the_jobs() -> None:
    jobs = (echo(n, seconds=0.2 if n % 3 == 0 else 0.0) for n in range(9))
    with make_pool() as pool:
        assert [each["value"] for each in pool.in_order(jobs, ahead=4)] == list(range(9))


def test_no_more_jobs_are_begun_ahead_than_asked_for() -> None:
    drawn = []

    def draw() -> Iterator[Job]:
        for n in range(100):
            drawn.append(n)
            yield echo(n)

    with make_pool() as pool:
        results = pool.in_order(draw(), ahead=3)
        assert next(results)["value"] == 0
        assert drawn == [0, 1, 2]
        results.close()  # type: ignore[attr-defined]  # a generator
        assert [each["value"] for each in pool.in_order([echo(7)], ahead=3)] == [7]


def test_a_killed_worker_costs_the_job_it_was_at_and_no_other(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    flag.touch()
    fatal = Job("fatal", {"do": "die", "flag": str(flag), "value": -1})
    jobs = [echo(0), fatal, *(echo(n) for n in range(1, 8))]
    with make_pool() as pool:
        pool.count(1e-3)  # jobs are short: they are sent ahead
        for job in jobs:
            pool.submit(job)
        events = wait_for(pool, len(jobs))
        (failed,) = (event for event in events if isinstance(event, Failed))
        assert (failed.job, failed.kind) == (fatal, "death")
        assert "was killed by SIGKILL; its last output: the end is near" in failed.reason
        assert sorted(values(events)) == list(range(8))


@pytest.mark.parametrize("once", [True, False])
def test_in_order_a_job_whose_worker_died_is_repeated(once: bool, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    flag.touch()
    fatal = Job("fatal", {"do": "die", "flag": str(flag), "once": once, "value": 1})
    with make_pool(workers=1) as pool:
        results = pool.in_order([echo(0), fatal, echo(2)], ahead=3)
        if once:
            assert [each["value"] for each in results] == [0, 1, 2]
        else:
            with pytest.raises(WorkerError, match=r"job fatal: worker process \d+ was killed by"):
                list(results)
    deaths = (tmp_path / "deaths").read_text().splitlines()
    assert len(deaths) == (1 if once else ATTEMPTS)


def test_an_exception_fails_its_job_and_the_worker_goes_on() -> None:
    said: list[str] = []
    with make_pool(workers=1, on_output=said.append) as pool:
        for job in (broken := Job("broken", {"do": "raise"}), echo(1)):
            pool.submit(job)
        events = wait_for(pool, 2)
        assert events[0] == Failed(broken, "ValueError: a broken job", "error")
        assert values(events) == [1]
        with pytest.raises(WorkerError, match="job broken: ValueError: a broken job"):
            list(pool.in_order([broken], ahead=1))
    assert "ValueError: a broken job" in said


def test_a_result_that_is_not_plain_fails_its_job() -> None:
    with make_pool(workers=1) as pool:
        pool.submit(Job("x", {"do": "object"}))
        failed = only(wait_for(pool, 1))
    assert (failed.kind, failed.reason[:9]) == ("error", "TypeError")


@pytest.mark.parametrize(
    ("refuse", "reason"),
    [("expected", "nothing here can be performed"), ("x", "ZeroDivisionError: no performer")],
)
def test_workers_that_cannot_begin_are_reported(refuse: str, reason: str) -> None:
    with make_pool(setup={"refuse": refuse}) as pool:
        job = echo(1)
        pool.submit(job)
        assert only(wait_for(pool, 1)) == Failed(job, reason, "refusal")
        with pytest.raises(WorkerError, match=reason):
            list(pool.in_order([echo(1)], ahead=1))


def test_a_hung_worker_is_killed_at_the_deadline() -> None:
    with make_pool(workers=1, job_deadline=1.0) as pool:
        began = time.monotonic()
        pool.submit(hung := Job("hung", {"do": "hang"}))
        failed = only(wait_for(pool, 1))
        assert 1 <= time.monotonic() - began < 15
        assert failed.job is hung
        assert "was at one job for more than 1 s" in failed.reason
        pool.submit(echo(1))
        assert values(wait_for(pool, 1)) == [1]
        began = time.monotonic()
        with pytest.raises(WorkerError, match=r"hung: .* was at one job for more"):
            list(pool.in_order([hung], ahead=1))
        assert time.monotonic() - began < 2, "it would hang again"


def test_output_is_passed_on_and_is_never_an_answer(tmp_path: Path) -> None:
    said: list[str] = []
    with make_pool(workers=1, on_output=said.append, logs=tmp_path) as pool:
        pool.submit(Job("talk", {"do": "talk"}))
        wait_for(pool, 1)
    assert said == ["said by Python", "said by a program"]
    assert (tmp_path / "worker-000.log").read_text().splitlines() == said


def test_cancelled_jobs_are_those_that_no_worker_has() -> None:
    with make_pool(workers=1) as pool:
        jobs = [echo(n) for n in range(3)]
        for job in jobs:
            pool.submit(job)
        assert pool.running == jobs[:1]
        assert pool.cancel() == jobs[1:]
        assert values(wait_for(pool, 1)) == [0]
        assert pool.wait(1.0) == []
        assert pool.running == []


def test_idle_workers_close_and_busy_ones_are_killed(tmp_path: Path, gone: Gone) -> None:
    closed = tmp_path / "closed"
    with make_pool(workers=1, setup={"closed": str(closed)}) as pool:
        pool.submit(echo(1))
        wait_for(pool, 1)
    assert closed.exists()
    with make_pool(workers=1) as pool:
        pool.submit(Job("start", {"do": "start"}))
        (event,) = wait_for(pool, 1)
        assert isinstance(event, Finished)
        pids = [*pool.pids, event.result["child"]]
        pool.submit(Job("hang", {"do": "hang"}))
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert gone(*pids), "even a process that the worker started in a session of its own"


def test_an_interrupt_ends_all_workers_at_once(gone: Gone) -> None:
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    pids: list[int] = []

    def interrupted() -> None:
        with make_pool() as pool:
            results = pool.in_order([Job(n, {"do": "hang"}) for n in range(4)], ahead=4)
            timer.start()
            try:
                next(results)
            finally:
                pids.extend(pool.pids)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - began < 10
    assert len(pids) == 2
    assert gone(*pids)


PARENT = """
import sys, threading
from miai.process.child import Child
from miai.process.workers import Job, WorkerPool

def main():
    pool = WorkerPool("pool_jobs:make", {}, workers=2)
    for n in range(2):
        pool.submit(Job(n, {"do": "echo", "value": n}))
    events = pool.wait(30)
    while len(events) < 2:
        events += pool.wait(30)
    for n in range(2):
        pool.submit(Job(n, {"do": "hang"}))
    program = Child([sys.executable, "-c", "import time; time.sleep(3600)"])
    print(*pool.pids, program.pid, flush=True)
    sys.stdin.read()

if "thread" in sys.argv:
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
else:
    main()
"""


@pytest.mark.parametrize("where", ["main", "thread"])
def test_children_die_with_a_killed_parent(where: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    children = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(children) == 3
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]


def test_a_dropped_child_is_killed(gone: Gone) -> None:
    child = Child([sys.executable, "-c", "import time; time.sleep(3600)"])
    pid = child.pid
    del child
    assert gone(pid)


def test_the_id_of_a_dead_child_stays_reserved_until_its_group_is_killed(gone: Gone) -> None:
    program = "import subprocess; print(subprocess.Popen(['sleep', '3600']).pid)"
    child = Child([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    sleeper = int(child.stdout.readline())
    assert child.await_death(10)
    assert child.exit_status() == "exited with status 0"
    assert psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE
    assert psutil.pid_exists(sleeper)
    child.kill()
    assert not psutil.pid_exists(child.pid)
    assert gone(sleeper)
