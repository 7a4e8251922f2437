"""Executors: the same outcomes from all of them; the death of a worker costs one job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import psutil
import pytest

import miai
from miai.process.agent_process import AgentProcess
from miai.process.workers import WorkerPool
from miai.record_reader import read_record
from miai_tournaments.running.start import make_executor
from miai_tournaments.workers.executor import GAME_WORKER, Executor, PooledExecutor, Workload
from miai_tournaments.workers.jobs import GameJob, JobOutcome, Setup
from miai_tournaments.workers.seats import SeatPool

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
        GAME_WORKER, setup.to_plain(), workers=workers, job_deadline=deadline, on_output=SAID.append
    ) as pool:
        yield ProcessExecutor(pool)


def serial(setup: Setup = SETUP) -> AbstractContextManager[Executor]:
    return make_executor("serial", Workload(setup=setup, workers=1, on_output=SAID.append))


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_agents_stay_warm_up_to_a_number_and_players_alike_share_them() -> None:
    many: dict[str, Any] = {f"r{n}": ("random", {}) for n in range(60)}

    def agents() -> set[int]:
        (worker,) = executor.pids
        return {p.pid for p in psutil.Process(worker).children(recursive=True)}

    setup = replace(SETUP, agents={**SETUP.agents, **many}, warm_agents=2)
    with processes(setup, workers=1) as executor:
        perform(executor, [job(1)])
        first = agents()
        assert len(first) == 2
        pairs = list(combinations(many, 2))[::60]
        outcomes = perform(executor, [job(n, *pair) for n, pair in enumerate(pairs[:30])])
        assert agents() == first, "thirty games started no process"
        for number, pair in enumerate(pairs[:30]):
            assert f'"{pair[1]}"' in outcomes[f"g{number}"].record
        perform(executor, [job(4, "ann", "deep")])
        assert len(last := agents()) == 2
        assert last != first
    assert not any(map(psutil.pid_exists, last))


def seats_of(pool: SeatPool, *names: str, game: str = "tic_tac_toe", **given: Any) -> list[Any]:
    return pool.seats(names, miai.load_game(game, **given), given)


def test_who_shares_a_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    agents: dict[str, Any] = {f"d{n}": ("mcts", {"simulations": n}) for n in range(1, 7)}
    agents |= {f"r{n}": ("random", {}) for n in range(4)}
    agents |= {f"t{n}": ("mcts", {"simulations": 1, "threads": n}) for n in (1, 2)}
    agents["zero"] = ("mcts", {"simulations": 1, "evaluator": {"name": "zero"}})
    own = ("file", {"path": str(tmp_path / "a.py"), "class": "A"})
    setup = replace(SETUP, agents={**agents, "x": own, "y": own}, warm_agents=4)
    pool = SeatPool(setup)
    one, two = seats_of(pool, "r0", "r1")
    assert one is not two
    assert {*map(id, seats_of(pool, "r2", "r3"))} == {id(one), id(two)}
    kept = [*seats_of(pool, "d1", "d2")]  # not alike: each has its own while there is room
    assert len({*map(id, (one, two, *kept))}) == 4
    assert seats_of(pool, "d2", "d1") == kept[::-1]
    assert seats_of(pool, "d3", "d4") == kept[::-1], "the least recently used first"
    assert [(seat.name, seat.parameters["simulations"]) for seat in kept] == [("d4", 4), ("d3", 3)]
    for owner, other in (("x", "y"), ("t1", "t2"), ("zero", "d1"), ("d1", "r0")):
        few = SeatPool(replace(setup, warm_agents=2))
        first, _ = seats_of(few, owner, "r1")
        assert seats_of(few, other, "r1")[0] is not first
    monkeypatch.setattr("miai_tournaments.workers.seats.free_memory", lambda: -1)
    game = seats_of(pool, "x", "y")
    assert seats_of(pool, "y", "r0")[0] is game[1]
    assert seats_of(pool, "y", "x")[1] is not game[0], "without memory no idle one is kept"


def test_with_chance_a_process_serves_one_game_of_a_block() -> None:
    agents: dict[str, Any] = {name: ("random", {}) for name in ("ann", "bob", "cid")}
    pool = SeatPool(replace(SETUP, game="pig", agents=agents, warm_agents=40))
    for _ in range(2):
        block = (("ann", "bob", "cid"), ("bob", "cid", "ann"), ("cid", "ann", "bob"))
        games = [seats_of(pool, *names, game="pig", players=3) for names in block]
        assert len({id(seat) for seats in games for seat in seats}) == 9


def test_without_isolation_agents_live_in_the_worker(tmp_path: Path) -> None:
    own = ("file", {"path": str(tmp_path / "a.py"), "class": "A"})
    agents: dict[str, Any] = {"ann": ("random", {}), "bob": ("mcts", {"simulations": 9}), "x": own}
    setup = replace(SETUP, agents=agents, limits={"isolation": "none"})
    assert isinstance(seats_of(SeatPool(setup), "ann", "x")[1], AgentProcess)
    records = []
    for each in (setup, replace(setup, limits=SETUP.limits)):
        with serial(each) as executor:
            before = psutil.Process().children()
            records.append(read_record(perform(executor, [job(1)])["g1"].record))
            assert len(psutil.Process().children()) - len(before) == 2 * (each is not setup)
    assert [m.action for m in records[0].moves] == [m.action for m in records[1].moves]
    assert [record.tags["isolation"] for record in records] == ["none", "process"]


@pytest.mark.slow
def test_only_agents_that_log_leave_a_folder(children_find_mischief: None, tmp_path: Path) -> None:
    with processes(replace(SETUP, logs=str(tmp_path)), workers=1) as executor:
        perform(executor, [job(1), job(2, "ann", "loud"), job(3)])
    assert [path.name for path in tmp_path.iterdir()] == ["g2"]
    assert [path.name for path in (tmp_path / "g2").iterdir()] == ["o.log"]


@pytest.mark.slow
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
