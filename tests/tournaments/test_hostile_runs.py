"""Whole tournaments with agents that attack the run they play in."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.tournaments.support import Table, config_text, environment, games_of, player, tournament

from miai.process.landlock import landlock_version
from miai.process.sandbox import sandbox_hindrance
from miai_tournaments.store.store import Store

HOSTILE = Path(__file__).parents[1] / "framework" / "hostile"
SECRET = 2**100 + 271828182845

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or landlock_version() < 6, reason="the kernel has no such Landlock"
)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["process", "sandbox"])
@pytest.mark.parametrize(
    ("executor", "rounds"),
    [
        ("processes", 1),
        pytest.param("serial", 12, marks=pytest.mark.soak),
        pytest.param("ray", 3, marks=pytest.mark.soak),
    ],
)
def test_hostile_agents_cost_nobody_but_themselves(
    tmp_path: Path, level: str, executor: str, rounds: int
) -> None:
    """In the default run each meets the good player; as soaks they meet each other too."""
    if level == "sandbox" and (reason := sandbox_hindrance()):
        pytest.skip(reason)
    mark = f"stray-{os.getpid()}-{time.monotonic_ns()}"
    out, config = tmp_path / "out", tmp_path / f"{mark}.toml"
    inside = [str(out / name) for name in ("tournament.sqlite", "tournament.sqlite-wal", "logs")]
    inside.append(str(config))
    players = [
        player("good"),
        player("find-seed", "hostile", attack="find", text=str(SECRET), paths=inside),
        player("find-config", "hostile", attack="find", text=config.name, paths=inside),
        player("unlink", "hostile", attack="unlink", paths=inside),
        player("truncate", "hostile", attack="truncate", paths=inside),
        player("plant", "hostile", attack="create", paths=inside),
        player("lie", "hostile", attack="lie", text="1e308"),
        player("kill-all", "hostile", attack="kill_all"),
        player("stray", "hostile", attack="fork_twice", text=mark),
    ]
    head = {"seed": SECRET, "rounds": rounds}
    game = {"name": "kuhn_poker"}
    limits = {"isolation": level, "memory": 2000}
    scratch = Path(tempfile.mkdtemp(prefix="miai-h-"))  # short, as Ray's sockets need
    paths = os.pathsep.join(filter(None, (str(HOSTILE), os.environ.get("PYTHONPATH"))))
    env = environment(PYTHONPATH=paths, TMPDIR=str(scratch))
    run = {"executor": executor, "workers": 2}
    everyone = {"name": "round-robin"}
    form = {"name": "gauntlet", "heroes": ["good"]} if rounds == 1 else everyone
    tables = {"game": game, "format": form, "limits": limits, "run": run}
    config.write_text(config_text(*players, tournament=head, **tables))
    done = tournament("run", config, "--out", out, env=env, timeout=600)

    if executor != "ray":
        line = "agents run in sandboxes" if level == "sandbox" else "not in sandboxes"
        assert line in done.stdout
    with Store.read(out) as store:
        rows = store.results()
        records = [
            [json.loads(line) for line in store.record(row.game_id).splitlines()] for row in rows
        ]
        assert store.info().isolation() == level
        assert store.info().seed == SECRET
    pairs = len(players) - 1 if rounds == 1 else len(players) * (len(players) - 1) // 2
    assert len(rows) == 2 * rounds * pairs
    assert {head["tags"]["isolation"] for head, *_ in records} == {level}
    for row in rows:
        if row.termination != "terminal":  # a culprit may lose its own game, and nobody else's
            assert row.loser is not None
            assert row.players[row.loser] in {"lie", "kill-all"}, row
    lost = {row.players[row.loser] for row in rows if row.loser is not None}
    assert "lie" in lost

    for (head, *moves), row in zip(records, rows, strict=True):
        assert [p["name"] for p in head["players"]] == list(row.players)
        check_results(moves, row.players)

    strays = [
        process
        for process in psutil.process_iter(["cmdline"])
        if mark in " ".join(process.info["cmdline"] or ())
    ]
    for stray in strays:
        stray.kill()
    assert not strays
    names = {path.name for path in scratch.iterdir() if path.name != "ray"}
    shutil.rmtree(scratch)
    assert names <= {f"miai-shared-{os.getuid()}"}, "a temporary file was left"
    assert not list(Path(tempfile.gettempdir()).glob(f"*{mark}*"))
    assert not list(tmp_path.rglob("planted"))


def run_with(tmp_path: Path, *players: Table, level: str, **head: object) -> tuple[Path, str]:
    """Play a tournament of hostile agents; return its folder and what it printed."""
    if level == "sandbox" and (reason := sandbox_hindrance()):
        pytest.skip(reason)
    scratch, config, out = tmp_path / "t", tmp_path / "x.toml", tmp_path / "out"
    scratch.mkdir()
    paths = os.pathsep.join(filter(None, (str(HOSTILE), os.environ.get("PYTHONPATH"))))
    env = environment(PYTHONPATH=paths, TMPDIR=str(scratch))
    game, limits = {"name": "kuhn_poker"}, {"isolation": level}
    text = config_text(*players, tournament=head, game=game, limits=limits, run={"workers": 1})
    config.write_text(text)
    done = tournament("run", config, "--out", out, env=env, timeout=300, status=(0, 2))
    names = {path.name for path in scratch.iterdir()}
    assert names <= {f"miai-shared-{os.getuid()}"}, "a temporary file was left"
    return out, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("level", ["process", pytest.param("sandbox", marks=pytest.mark.soak)])
def test_an_agent_that_refuses_to_start_halts_no_run(tmp_path: Path, level: str) -> None:
    gone = player("gone", "hostile", attack="refuse_to_start", text=str(time.time() + 8.0))
    late = player("late", "hostile", attack="wait_until", text=str(time.time() + 9.0))
    out, output = run_with(tmp_path, gone, late, level=level, rounds=1)
    assert "void: " in output
    with Store.read(out) as store:
        rows = store.results()
    assert len(rows) == 2
    assert {row.termination for row in rows} <= {"crash", "unavailable", "terminal"}
    assert "unavailable" in {row.termination for row in rows}
    assert {row.players[row.loser] for row in rows if row.loser is not None} == {"gone"}


@pytest.mark.slow
def test_a_refused_run_leaves_no_temporary_file(tmp_path: Path) -> None:
    gone = player("gone", "hostile", attack="refuse_to_start", text="0")
    out, output = run_with(tmp_path, player("good"), gone, level="process", rounds=1)
    assert "the engine is gone" in output
    assert not out.exists()


REFUSED = {"PermissionError", "FileNotFoundError", "OSError", "IsADirectoryError"}


def check_results(moves: list[dict[str, Any]], players: tuple[str, ...]) -> None:
    """Check what attacks report: nothing is found, and nothing changed."""
    for move in moves:
        actor, result = move.get("actor", -1), (move.get("statistics") or {}).get("result")
        if result is None or actor < 0:
            continue
        name = players[actor]
        if name.startswith("find"):
            assert result == [], name
        elif name in {"unlink", "truncate"}:
            assert set(result) <= REFUSED, name


@pytest.mark.slow
def test_a_run_without_a_seed_draws_one_that_repeats_it(tmp_path: Path) -> None:
    text = config_text(player("ann"), player("bob"), run={"executor": "serial"})
    config, again = tmp_path / "drawn.toml", tmp_path / "again.toml"
    config.write_text(text.replace("seed = 3\n", ""))
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    tournament("run", config, "--out", one)
    tournament("run", config, "--out", two)
    seeds = []
    for folder in (one, two):
        with Store.read(folder) as store:
            seeds.append(store.info().seed)
    assert seeds[0] != seeds[1]
    assert all(2**100 < seed < 2**128 for seed in seeds), "of 128 bits, but for luck of 2**-27"
    again.write_text(text.replace("seed = 3", f"seed = {seeds[0]}"))
    tournament("run", again, "--out", three)
    assert games_of(three) == games_of(one) != games_of(two)
    tournament("run", config, "--out", one, "--set", "rounds=4")
    with Store.read(one) as store:
        assert store.info().seed == seeds[0], "more rounds keep the seed of the run"
        assert len(store.results()) == 8
