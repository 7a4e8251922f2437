"""Ten thousand games take no more memory than one thousand."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import psutil
import pytest
from tests.tournaments.support import command, config_text, environment, player

from miai_tournaments.store.store import Store

GAMES = 10_000
MEBIBYTE = 1 << 20


def memory(runner: psutil.Process) -> dict[int, int]:
    """Return the private bytes of the runner and of each process below it, by process id."""
    found = {}
    for process in (runner, *runner.children(recursive=True)):
        try:
            found[process.pid] = process.memory_full_info().uss
        except psutil.Error:  # it has just ended
            continue
    return found


@pytest.mark.soak
@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_ten_thousand_games_of_four_agents(executor: str, tmp_path: Path) -> None:
    path, folder = tmp_path / "x.toml", tmp_path / "run"
    rounds = -(-GAMES // 12)  # six pairings, two games each
    players = [player(name) for name in "abc"] + [player("d", "mcts", simulations=2)]
    path.write_text(config_text(*players, tournament={"rounds": rounds}))
    words = ["run", path, "--out", folder, "--executor", executor]
    seen: list[tuple[int, dict[int, int]]] = []
    process = subprocess.Popen(
        command(*words, *(("--workers", 2) if executor == "processes" else ())),
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    done = 0

    def read() -> None:
        nonlocal done
        assert process.stdout is not None
        for line in process.stdout:
            done += line.startswith("[")

    reader = threading.Thread(target=read)
    reader.start()
    runner = psutil.Process(process.pid)
    while process.poll() is None:
        if done >= 1000 * (len(seen) + 1):
            seen.append((done, memory(runner)))
        time.sleep(0.05)
    reader.join()
    assert process.returncode == 0
    with Store.read(folder) as store:
        assert store.counts()["done"] == 12 * rounds
    (_, early), (_, late) = seen[0], seen[-1]
    grown = {pid: late[pid] - early[pid] for pid in early.keys() & late.keys()}
    print(f"{executor}: bytes more after {seen[-1][0]} games than after {seen[0][0]}: {grown}")
    assert len(grown) >= 4  # players alike share processes
    # A record is kept for every game on disk, two kibibytes each; none may be kept in memory.
    assert max(grown.values()) < 6 * MEBIBYTE
