"""Executors: the same outcomes from all of them; the death of a worker costs one job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from miai.process.workers import WorkerPool
from miai_tournaments.running.start import make_executor
from miai_tournaments.workers.executor import GAME_WORKER, Executor, PooledExecutor, Workload
from miai_tournaments.workers.jobs import GameJob, JobOutcome, Setup

SETUP = Setup(
    game="tic_tac_toe",
    game_parameters={},
    agents={
        "ann": ("random", {}),
        "bob": ("random", {}),
        "deep": ("mcts", {"simulations": 20}),
        "lost": ("mischief", {"way": "absent"}),
        "loud": ("mischief", {"way": "print"}),
    },
    time_control={"kind": "none", "move_deadline": 60.0},
    move_limit=None,
    limits={"isolation": "process"},  # a sandbox has processes of its own
    start_timeout=60.0,
    warm_agents=4,
    logs=None,
)


def job(number: int, *players: str, **more: Any) -> GameJob:
    names = players or ("ann", "bob")
    seeds = tuple(range(number, number + len(names)))
    return GameJob(
        job_id=f"g{number}", kind="game", players=names, seed=number, seeds=seeds, **more
    )


SAID: list[str] = []


class ProcessExecutor(PooledExecutor):
    def __init__(self, pool: WorkerPool) -> None:
        super().__init__(pool, workers=2, local=True)
        self.pool = pool

    @property
    def pids(self) -> list[int]:
        return self.pool.pids


@contextmanager
def processes(
    setup: Setup = SETUP, *, workers: int = 2, deadline: float | None = None
) -> Iterator[ProcessExecutor]:
    with WorkerPool(
        GAME_WORKER,
        setup.to_plain(),
        workers=workers,
        job_deadline=deadline,
        on_output=SAID.append,
    ) as pool:
        yield ProcessExecutor(pool)


def serial() -> AbstractContextManager[Executor]:
    return make_executor("serial", Workload(setup=SETUP, workers=1, on_output=SAID.append))


def perform(executor: Executor, jobs: list[GameJob]) -> dict[str, JobOutcome]:
    waiting, outcomes = list(jobs), dict[str, JobOutcome]()
    handed = 0
    while len(outcomes) < len(jobs):
        while waiting and handed - len(outcomes) < executor.capacity:
            executor.submit(waiting.pop(0))
            handed += 1
        for outcome in executor.wait(30):
            assert outcome.job_id not in outcomes
            outcomes[outcome.job_id] = outcome
    return outcomes


def test_jobs_are_sent_ahead_by_how_long_the_latest_games_took() -> None:
    with processes() as executor:
        seconds = [o.seconds for o in perform(executor, [job(n) for n in range(10)]).values()]
        mean = seconds[0]
        for each in seconds:
            mean += (each - mean) / 5
        assert executor.capacity == 2 * (1 + min(15, int(0.1 / mean)))


def test_a_game_exception_is_not_a_result(children_find_mischief: None, flag: Path) -> None:
    setup = replace(SETUP, game="fragile", game_parameters={"file": str(flag)})
    with processes(setup, workers=1) as executor:
        outcome = perform(executor, [job(1)])["g1"]
        assert (outcome.fault, outcome.reason) == ("defect", "RuntimeError: the game is broken")
        flag.unlink()
        assert perform(executor, [job(1)])["g1"].result is not None


def test_agents_stay_warm_up_to_a_number() -> None:
    def agents() -> set[int]:
        (worker,) = executor.pids
        return {p.pid for p in psutil.Process(worker).children(recursive=True)}

    with processes(replace(SETUP, warm_agents=2), workers=1) as executor:
        perform(executor, [job(1)])
        first = agents()
        perform(executor, [job(2), job(3)])
        assert agents() == first
        assert len(first) == 2
        perform(executor, [job(4, "ann", "deep")])
        assert len(last := agents()) == 2
        assert last != first
    assert not any(map(psutil.pid_exists, last))


def test_only_agents_that_log_leave_a_folder(children_find_mischief: None, tmp_path: Path) -> None:
    with processes(replace(SETUP, logs=str(tmp_path)), workers=1) as executor:
        perform(executor, [job(1), job(2, "ann", "loud"), job(3)])
    assert [path.name for path in tmp_path.iterdir()] == ["g2"]
    assert [path.name for path in (tmp_path / "g2").iterdir()] == ["o.log"]


def test_waiting_jobs_are_cancelled() -> None:
    with make_executor("processes", Workload(setup=SETUP, workers=1)) as executor:
        for number in range(3):
            executor.submit(job(number))
        assert executor.local
        assert executor.running == ["g0"]
        assert executor.cancel() == ["g1", "g2"]
        began = time.monotonic()
        assert [o.job_id for o in executor.wait(30)] == ["g0"]
        assert executor.wait(30) == []
        assert time.monotonic() - began < 25
