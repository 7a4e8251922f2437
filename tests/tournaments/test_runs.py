"""A run from its beginning to its end: the same games by every way there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.tournaments.support import (
    RANDOMS,
    command,
    config_text,
    environment,
    games_of,
    player,
    refused,
    running,
    tournament,
    wait_until,
)

from miai.process.sandbox import strongest_isolation
from miai_tournaments.store.store import Store

PLAYERS = (*RANDOMS[:2], player("deep", "mcts", simulations=20))
OPENINGS = {"openings": {"random_plies": 1}}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "x.toml"
    path.write_text(config_text(*PLAYERS, tournament={"rounds": 3}, **OPENINGS))
    return path


@pytest.fixture(scope="module")
def whole(config: Path) -> Path:
    """The folder of an undisturbed serial run."""
    folder = config.parent / "whole"
    tournament("run", config, "--out", folder, "--executor", "serial")
    return folder


@pytest.mark.slow
def test_a_run_that_is_extended_equals_one_begun_with_all_of_it(
    config: Path, whole: Path, tmp_path: Path
) -> None:
    few = tmp_path / "few.toml"
    few.write_text(config_text(PLAYERS[2], PLAYERS[0], tournament={"rounds": 2}, **OPENINGS))
    tournament("run", few, "--out", tmp_path / "out", "--workers", 1)
    before = games_of(tmp_path / "out")
    assert len(before) == 4
    tournament("run", config, "--out", tmp_path / "out", "--workers", 2)
    after = games_of(tmp_path / "out")
    assert before.items() <= after.items()
    assert after == games_of(whole)
    assert len(after) == 18


@pytest.mark.slow
def test_records_are_written_as_files(config: Path, whole: Path) -> None:
    tournament("resume", whole, "--records", "jsonl")
    files = {path.stem: path.read_text() for path in (whole / "records").iterdir()}
    with Store.read(whole) as store:
        assert files == {row.game_id: store.record(row.game_id) for row in store.results()}
    assert "Did you mean 'jsonl'" in refused("resume", whole, "--records", "jsonll")


@pytest.mark.slow
def test_tags_name_the_game_in_its_record(whole: Path) -> None:
    with Store.read(whole) as store:
        row = store.results()[0]
        head = json.loads(store.record(row.game_id).splitlines()[0])
    assert head["tags"] == {
        "tournament": "test",
        "game_id": row.game_id,
        "pair_id": row.pair_id,
        "round": row.round,
        "isolation": strongest_isolation(),
    }
    assert [p["name"] for p in head["players"]] == list(row.players)


SLOW = config_text(
    player("ann", "mischief", delay=0.1), player("bob", "mischief"), tournament={"rounds": 20}
)


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    path = tmp_path / "slow.toml"
    path.write_text(SLOW)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grace", "signals"), [(600, [signal.SIGINT, signal.SIGTERM]), (0.2, [signal.SIGTERM])]
)
def test_a_second_signal_or_the_end_of_grace_abandons_the_running_games(
    grace: float, signals: list[signal.Signals], slow: Path, mischief: dict[str, str]
) -> None:
    folder = slow.parent / "out"
    delays = {"players[ann].delay": 30, "players[bob].delay": 0.01, "run.grace": grace}
    settings = [word for path, value in delays.items() for word in ("--set", f"{path}={value}")]
    process = subprocess.Popen(
        command("run", slow, "--out", folder, "--executor", "serial", *settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=mischief,
    )
    while not (folder / "tournament.sqlite").exists():
        time.sleep(0.05)
        assert process.poll() is None
    began = time.monotonic()
    for each in signals:
        time.sleep(0.5)
        process.send_signal(each)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert time.monotonic() - began < 20, "a game takes a minute"
    assert "Traceback" not in err
    assert f"miai tournament resume {folder}" in out
    assert "0 of 40 games are done" in out
    with Store.read(folder) as store:
        assert store.counts() == {"pending": 40, "running": 0, "done": 0, "void": 0}


@pytest.mark.slow
def test_stop_asks_the_runner_to_finish_its_games(slow: Path, mischief: dict[str, str]) -> None:
    folder = slow.parent / "out"
    with running(slow, folder, mischief, "--workers", 1) as process:
        output = tournament("status", folder).stdout
        assert f"running: process {process.pid} " in output
        assert f"process {process.pid} " in refused("resume", folder)
        assert f"process {process.pid} " in tournament("stop", folder).stdout
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped by `miai tournament stop`" in out
    assert f"miai tournament resume {folder}" in out
    assert not (folder / "stop").exists()
    assert "continue with: miai tournament resume" in tournament("status", folder).stdout


@pytest.mark.slow
def test_a_paused_run_begins_no_game_until_it_is_resumed(
    slow: Path, mischief: dict[str, str]
) -> None:
    folder = slow.parent / "out"
    assert "does not exist" in refused("pause", folder)
    with running(slow, folder, mischief, "--workers", 1) as process:
        assert f"process {process.pid} " in tournament("pause", folder).stdout
        wait_until(lambda: f"paused: process {process.pid} " in status_when_idle(folder))
        played = games_done(folder)
        time.sleep(2)
        assert games_done(folder) == played
        assert f"process {process.pid} " in tournament("resume", folder).stdout
        wait_until(lambda: games_done(folder) > played)
        assert f"running: process {process.pid} " in tournament("status", folder).stdout
        tournament("pause", folder)
        tournament("stop", folder)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "paused" in out
    assert "the run goes on" in out
    assert not (folder / "pause").exists()
    assert "nothing to pause" in tournament("pause", folder).stdout


def status_when_idle(folder: Path) -> str:
    with Store.read(folder) as store:
        if store.counts()["running"]:
            return ""
    output: str = tournament("status", folder).stdout
    return output


def games_done(folder: Path) -> int:
    with Store.read(folder) as store:
        return store.counts()["done"]


@pytest.mark.slow
def test_a_signal_before_the_first_game_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(config_text(*RANDOMS))
    process = subprocess.Popen(
        command("run", "x.toml", "--out", "out"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(PYTHONUNBUFFERED="1"),
    )
    assert process.stdout is not None
    process.stdout.readline()  # told before the players are started
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (130, 1), out + err
    assert "Traceback" not in err
    if not (tmp_path / "out").exists():
        assert "nothing was written" in out or process.returncode == 1
