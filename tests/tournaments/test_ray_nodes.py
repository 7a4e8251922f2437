"""A Ray cluster of two nodes, begun as its users do with ``ray start``, one of which is killed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from tests.tournaments.support import (
    command,
    config_text,
    environment,
    games_of,
    player,
    tournament,
    wait_until,
)
from tests.tournaments.test_reliability import done
from tests.web.server import free_port

from miai_tournaments.store.store import Store

pytest.importorskip("ray")
pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

SECONDS = 120
RAY_AUTH_MODE = "disabled"
"""Ray asks for a token where ``~/.ray/auth_token`` exists; these nodes ask nobody."""
COMMON = ("--disable-usage-stats", "--object-store-memory", str(100 << 20), "--block")


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
