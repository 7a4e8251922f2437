"""The executor ``ray``: the same games; what deaths cost; clusters that are not there; nodes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.tournaments.support import (
    actions,
    command,
    config_text,
    environment,
    games_of,
    player,
    tournament,
    wait_until,
)
from tests.tournaments.test_executors import SETUP, job, perform, serial
from tests.tournaments.test_reliability import done
from tests.web.server import free_port

from miai.errors import ConfigError
from miai_tournaments.running.start import make_executor
from miai_tournaments.store.store import Store
from miai_tournaments.workers.executor import PooledExecutor, Workload
from miai_tournaments.workers.jobs import GameJob, JobOutcome, Setup
from miai_tournaments.workers.ray_executor import RayPool

pytest.importorskip("ray")
pytestmark = pytest.mark.timeout(600)
pytest.importorskip("ray")

SECONDS = 120
RAY_AUTH_MODE = "disabled"
"""Ray asks for a token where ``~/.ray/auth_token`` exists; these nodes ask nobody."""
COMMON = ("--disable-usage-stats", "--object-store-memory", str(100 << 20), "--block")


def take_games_for_short(pool: RayPool) -> None:
    """Have jobs sent ahead, however slow this machine is at the moment."""
    for _ in range(50):
        pool.count(0.001)


class RayExecutor(PooledExecutor):
    def __init__(self, actors: RayPool) -> None:
        super().__init__(actors, workers=2, local=False)
        self.actors = actors

    @property
    def places(self) -> list[tuple[str, int]]:
        return self.actors.places


@contextmanager
def actors(
    setup: Setup, *, workers: int = 2, deadline: float | None = None
) -> Iterator[RayExecutor]:
    with RayPool(setup, address="local", workers=workers, job_deadline=deadline) as pool:
        yield RayExecutor(pool)


def outcomes_of(executor: RayExecutor, count: int) -> list[JobOutcome]:
    found: list[JobOutcome] = []
    until = time.monotonic() + 120
    while len(found) < count and time.monotonic() < until:
        found += executor.wait(5)
    return found


@pytest.fixture
def handlers() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    yield
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@pytest.mark.slow
def test_it_gives_the_games_of_the_others_and_a_death_costs_one_job(
    children_find_mischief: None, handlers: None
) -> None:
    jobs = [job(n, "ann", "deep") for n in range(6)] + [replace(job(6), opening=(4, 0))]
    with serial() as executor:
        expected = {name: actions(o.record) for name, o in perform(executor, jobs).items()}
    with actors(SETUP) as executor:
        started = perform(
            executor,
            [GameJob(job_id=name, kind="start", players=(name,)) for name in ("ann", "lost")],
        )
        assert started["ann"] == JobOutcome(job_id="ann")
        assert started["lost"].fault == "unavailable"
        assert "the engine 'mischief' is missing" in started["lost"].reason
        found = perform(executor, jobs)
        assert {name: actions(o.record) for name, o in found.items()} == expected
        take_games_for_short(executor.actors)
        assert executor.capacity > 2, "jobs are sent ahead"
        more = [job(n) for n in range(100, 100 + executor.capacity)]
        for each in more:
            executor.submit(each)
        before = executor.places
        agents = [c for _, pid in before for c in psutil.Process(pid).children(recursive=True)]
        assert agents, "agents live in processes of their own"
        os.kill(before[0][1], signal.SIGKILL)
        outcomes = outcomes_of(executor, len(more))
        assert sorted(o.job_id for o in outcomes) == sorted(j.job_id for j in more)
        lost = [o for o in outcomes if o.fault]
        assert len(lost) <= 1
        assert all(o.fault == "worker" and str(before[0][1]) in o.reason for o in lost)
        again = perform(executor, [job(n) for n in range(200, 204)])
        assert all(o.result for o in again.values()), "another worker has taken its place"
    gone, alive = psutil.wait_procs(agents, timeout=10)
    assert not alive
    assert len(gone) == len(agents)


@pytest.mark.soak
def test_a_hung_worker_is_killed_at_the_deadline(children_find_mischief: None, flag: Path) -> None:
    game = {"file": str(flag), "way": "hang", "once": True}
    setup = replace(SETUP, game="fragile", game_parameters=game)
    with actors(setup, workers=1, deadline=8.0) as executor:
        outcomes = perform(executor, [job(1), job(2)])
    assert outcomes["g1"].fault == "worker"
    assert "more than 8 s" in outcomes["g1"].reason
    assert outcomes["g2"].result is not None


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("somewhere", "is not an address of a Ray cluster"),
        ("localhost:port", "is not an address of a Ray cluster"),
        ("localhost:99999", "is not an address of a Ray cluster"),
        ("ray://:10001", "is not an address of a Ray cluster"),
        ("127.0.0.1:{free}", "no Ray cluster answers"),
        ("ray://127.0.0.1:{free}", "no Ray cluster answers"),
    ],
)
def test_an_unreachable_cluster_is_refused_at_once(address: str, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    began = time.monotonic()
    address = address.format(free=free)
    with (
        pytest.raises(ConfigError, match=f"run.address: .*{said}") as caught,
        make_executor("ray", Workload(setup=SETUP, workers=1), {"address": address}),
    ):
        pass
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 30


# -- two nodes ------------------------------------------------------------------------------------


@contextmanager
def node(*words: object, ports: tuple[int, int]) -> Iterator[subprocess.Popen[bytes]]:
    """Begin a node which is killed when the block ends."""
    ray = shutil.which("ray") or str(Path(sys.executable).with_name("ray"))
    own = ("--min-worker-port", ports[0], "--max-worker-port", ports[1])
    process = subprocess.Popen(
        [ray, "start", *map(str, (*words, *own, *COMMON))],
        env=environment(RAY_AUTH_MODE=RAY_AUTH_MODE),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> list[str]:
    """Kill all that a node has started, at once: what the death of a machine looks like.

    Return the names of the processes.
    """
    if process.poll() is not None:
        return []
    root = psutil.Process(process.pid)
    everything = [root, *root.children(recursive=True)]
    names = [p.name() for p in everything]
    for each in everything:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait(30)
    return names


def agents(node: subprocess.Popen[bytes]) -> int:
    """Return how many agents live on a node."""
    alive = 0
    for process in psutil.Process(node.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # Ray's helpers come and go
            alive += "miai.process.host" in process.cmdline()
    return alive


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.soak
def test_the_death_of_a_node_loses_no_game(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "x.toml"
    address, folder, plain = f"127.0.0.1:{port}", tmp_path / "run", tmp_path / "plain"
    players = (player("ann"), player("deep", "mcts", simulations=1500))
    path.write_text(config_text(*players, tournament={"rounds": 40}))
    with ExitStack() as stack:
        head = ("--head", "--port", port, "--num-cpus", 1, "--include-dashboard", "false")
        stack.enter_context(node(*head, ports=(21000, 21499)))
        wait_until(lambda: listens(port), seconds=SECONDS)
        other = stack.enter_context(
            node("--address", address, "--num-cpus", 2, ports=(21500, 21999))
        )
        run = subprocess.Popen(
            command(
                *("run", path, "--out", folder),
                *("--executor", "ray", "--address", address, "--workers", 3),
            ),
            env=environment(RAY_AUTH_MODE=RAY_AUTH_MODE),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            wait_until(lambda: done(folder) >= 8 and agents(other) >= 2, seconds=SECONDS)
            assert "raylet" in kill(other)
            output, _ = run.communicate(timeout=SECONDS)
        finally:
            run.kill()
    assert run.returncode == 0, output
    tournament("run", path, "--out", plain, "--executor", "serial")
    assert len(games_of(plain)) == 80
    assert games_of(folder) == games_of(plain)
    with Store.read(folder) as store:
        voided = store.voided()
    print(f"{len(voided)} games were void: {[row.void_reason for row in voided]}")
    assert 1 <= len(voided) <= 2  # what the node's two workers were at
