"""``miai go selfplay``, as real processes: the same games however they are made, none lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
import pytest
import typer
from numpy.typing import NDArray
from sgfmill import sgf
from tests.warm_command import run_miai
from typer.testing import CliRunner

from miai.errors import MiaiError
from miai.seeds import derive_seed
from miai_go.commands import add_commands
from miai_go.learning.agent_games import load_go, random_opening
from miai_go.learning.games import StoredGame
from miai_go.learning.shards import open_shards
from miai_go.rules.coordinates import vertex

GAMES = 10
MANY = 100_000
PLAYERS = (
    *("--black", "mcts", "--black.simulations", "60", "--white", "fast-random"),
    *("--size", "5", "--opening-plies", "2", "--games-a-shard", "4", "--seed", "7"),
)
SECONDS = 60.0


def started(out: Path, *words: str, games: int = GAMES) -> subprocess.Popen[str]:
    """Start the command as a user does."""
    line = [sys.executable, "-m", "miai", "go", "selfplay", *(words or PLAYERS)]
    return subprocess.Popen(
        [*line, "--games", str(games), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str], *, status: int = 0) -> tuple[str, str]:
    stdout, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == status, stderr
    return stdout, stderr


def made(out: Path, *words: str, games: int = GAMES, status: int = 0) -> tuple[str, str]:
    """Run the command to its end; return what it printed."""
    line = ("go", "selfplay", *words, "--games", str(games), "--out", str(out))
    done = run_miai(line, timeout=SECONDS)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def stored(out: Path) -> list[StoredGame]:
    """Return the games of all shards, in their order; every digest is looked at."""
    shards = open_shards(out / "games")
    return [shard.game(index) for shard in shards for index in range(shard.games)]


def assert_same(one: list[StoredGame], other: list[StoredGame]) -> None:
    assert len(one) == len(other)
    for first, second in zip(one, other, strict=True):
        for name in StoredGame.__slots__:
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name), name)


def sgf_files(out: Path) -> list[Path]:
    return sorted((out / "sgf").rglob("*.sgf"))


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The games, made by one worker without any disturbance."""
    out = tmp_path_factory.mktemp("alone") / "run"
    stdout, _ = made(out, *PLAYERS, "--workers", "1", "--json")
    output = json.loads(stdout)
    assert (output["games"], output["lost"], output["failed_attempts"]) == (GAMES, {}, 0)
    assert output["moves"] == sum(len(game.moves) for game in stored(out))
    return out


def test_shards_and_sgf_hold_the_games_in_order(alone: Path) -> None:
    games, files = stored(alone), sgf_files(alone)
    assert [shard.games for shard in open_shards(alone / "games")] == [4, 4, 2]
    assert [int(file.stem) for file in files] == list(range(GAMES))
    game = load_go({"board_size": 5, "komi": 7.0, "suicide": False})
    for number, (kept, file) in enumerate(zip(games, files, strict=True)):
        parsed = sgf.Sgf_game.from_bytes(file.read_bytes())
        nodes = parsed.get_main_sequence()[1:]
        moves = [node.get_move()[1] for node in nodes]
        assert kept.moves.tolist() == [25 if m is None else m[0] * 5 + m[1] for m in moves]
        opening = random_opening(
            game, 2, seed=derive_seed(derive_seed(7, "selfplay", number), "opening")
        )
        assert kept.moves[:2].tolist() == opening
        assert parsed.get_winner() == {1: "b", -1: "w", 0: None}[kept.result]
        state = game.new_initial_state()
        for action in kept.moves.tolist():
            state.apply_action(action)
        assert state.score().margin == kept.margin
        assert kept.ownership is not None
        assert kept.ownership.sum() == kept.margin + 7


def test_policy_targets_are_the_visits_of_the_search(tmp_path: Path) -> None:
    few = ("--black", "mcts", "--black.simulations", "5", *PLAYERS[4:])
    made(tmp_path / "run", *few, "--workers", "1", games=2)
    searched = 0
    for kept, file in zip(stored(tmp_path / "run"), sgf_files(tmp_path / "run"), strict=True):
        assert kept.policy is not None
        assert kept.weight is not None
        assert kept.root_value is not None
        nodes = sgf.Sgf_game.from_bytes(file.read_bytes()).get_main_sequence()[1:]
        for ply, node in enumerate(nodes):
            comment = node.get("C") if node.has_property("C") else ""
            # A record tells of five moves at most, and five simulations visit no more.
            visits = dict(re.findall(r"(\w+) visits (\d+)", comment))
            total = sum(map(int, visits.values()))
            assert kept.weight[ply] == (total > 0)
            assert np.isnan(kept.root_value[ply]) == (total == 0)
            expected = np.zeros(26)
            for name, count in visits.items():
                action = next(a for a in range(26) if vertex(a, 5) == name)
                expected[action] = int(count) / total
            np.testing.assert_allclose(kept.policy[ply], expected, atol=1e-3)
            if total:
                win_rate = float(re.findall(r"^win rate (\S+) %", comment, re.MULTILINE)[0])
                assert kept.root_value[ply] == pytest.approx(win_rate / 50 - 1, abs=1.1e-3)
                searched += 1
    assert searched > 5


def test_any_number_of_workers_and_a_killed_one_make_the_same_games(
    alone: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    # Enough games that the workers still play when the first game is seen.
    process = started(out, *PLAYERS, "--workers", "3", games=6 * GAMES)
    until(lambda: sgf_files(out))
    victims = psutil.Process(process.pid).children()
    assert len(victims) == 3
    victims[1].kill()
    stdout, stderr = finished(process)
    output = r"(game \d+: |between two games, )worker process \d+ was killed by SIGKILL"
    assert re.search(output, stderr)
    assert f"{6 * GAMES} games" in stdout
    assert [int(file.stem) for file in sgf_files(out)] == list(range(6 * GAMES))
    assert len(stored(out)) == 6 * GAMES
    assert_same(stored(out)[:GAMES], stored(alone))


def test_after_sigkill_it_resumes_where_it_was(alone: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = started(out, *PLAYERS, "--workers", "2", games=MANY)
    until(lambda: len(sgf_files(out)) >= 6)
    workers = psutil.Process(process.pid).children()
    assert len(workers) == 2
    process.kill()
    process.communicate()
    psutil.wait_procs(workers, timeout=SECONDS)
    assert not any(worker.is_running() for worker in workers)
    # Records tell when and how long, so a game that was played again would be another file.
    before = {file: file.read_bytes() for file in sgf_files(out)}
    with (out / "journal").open("ab") as journal:
        journal.write(b"00000000 {torn")
    games = len(before) + 20
    _, stderr = made(out, *PLAYERS, "--workers", "2", games=games)
    assert "dropped a game" in stderr
    assert {file: file.read_bytes() for file in before} == before
    assert [int(file.stem) for file in sgf_files(out)] == list(range(games))
    assert len(stored(out)) == games
    assert_same(stored(out)[:GAMES], stored(alone))
    stdout, _ = made(out, *PLAYERS, games=games)
    assert f"already has {games} games" in stdout


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_finished(alone: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = started(out, *PLAYERS, "--workers", "2", games=MANY)
    until(lambda: sgf_files(out))
    process.send_signal(signal.SIGINT)
    _, stderr = finished(process, status=130)
    counted = re.search(rf"interrupted: (\d+) of {MANY} games are in", stderr)
    assert counted
    games = stored(out)
    assert 1 <= len(games) <= int(counted[1]) < MANY
    assert_same(games[:GAMES], stored(alone)[: len(games)])
    more = int(counted[1]) + 20
    made(out, *PLAYERS, "--workers", "1", games=more)
    assert len(stored(out)) == len(sgf_files(out)) == more
    assert_same(stored(out)[:GAMES], stored(alone))


ENGINE = """
import os, signal, sys
fresh = False
for line in sys.stdin:
    words = line.split()
    number = words.pop(0) if words[0].isdigit() else ""
    if words[0] == "play" and fresh and words[2].upper() == "VERTEX":
        os.kill(os.getppid(), signal.SIGKILL)
    fresh = words[0] == "clear_board" or fresh and words[0] != "play"
    answer = {"list_commands": "boardsize\\nclear_board\\nkomi\\nplay\\ngenmove\\nquit",
              "protocol_version": "2", "name": "x", "version": "1", "genmove": "pass"}
    print("=" + number + " " + answer.get(words[0], "") + "\\n", flush=True)
    if words[0] == "quit":
        break
"""


def test_a_game_that_kills_its_workers_is_abandoned_and_reported(tmp_path: Path) -> None:
    game = load_go({"board_size": 5, "komi": 7.0, "suicide": False})
    first = [
        random_opening(game, 1, seed=derive_seed(derive_seed(0, "selfplay", n), "opening"))[0]
        for n in range(4)
    ]
    fatal = next(n for n in range(4) if first.count(first[n]) == 1)
    engine = tmp_path / "engine.py"
    engine.write_text(ENGINE.replace("VERTEX", vertex(first[fatal], 5)), encoding="utf-8")
    command = f"{sys.executable} {engine}"
    _, stderr = made(
        tmp_path / "run",
        *("--black", "fast-random", "--white", "gtp", "--white.command", command),
        *("--size", "5", "--opening-plies", "1", "--workers", "1"),
        games=4,
        status=2,
    )
    assert stderr.count(f"game {fatal}: worker process") == 2
    assert f"game {fatal}: given up after 3 attempts: worker process" in stderr
    assert f"1 games could not be played, among them {fatal}" in stderr
    (shard,) = open_shards(tmp_path / "run" / "games")
    assert shard.manifest is not None
    assert list(shard.manifest.settings["lost"]) == [str(fatal)]
    played = [int(g.moves[0]) for g in stored(tmp_path / "run")]
    assert played == [move for n, move in enumerate(first) if n != fatal]


def test_networks_share_the_server_and_it_reports_its_figures(tmp_path: Path) -> None:
    from tests.go_learning.go_networks_small import small_file

    from miai_go.nets.client import stop_server

    weights = small_file(tmp_path / "net.safetensors")
    line = ["go", "selfplay", "--size", "5", "--games", "4"]
    for color in ("black", "white"):
        line += [f"--{color}", "alphazero", f"--{color}.weights", str(weights)]
        line += [f"--{color}.simulations", "8", f"--{color}.server", "true"]
    words = [*line, "--out", str(tmp_path / "run"), "--opening-plies", "3", "--workers", "2"]
    with TemporaryDirectory() as short:  # the name of a socket has at most 107 bytes
        done = run_miai(
            [*words, "--json"], env={**os.environ, "XDG_RUNTIME_DIR": short}, timeout=SECONDS
        )
        stop_server(Path(short) / "miai-go")
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    (network,) = output["servers"]
    assert network["path"] == str(weights)
    assert (
        1
        <= network["mean_batch"]
        == pytest.approx(network["positions"] / network["batches"], abs=0.01)
    )
    assert network["queue_wait"] >= 0
    assert network["positions"] >= output["moves_with_policy_targets"] > 0
    targets: list[NDArray[np.float16]] = [g.policy for g in stored(tmp_path / "run")]  # type: ignore[misc]  # all have some
    assert (
        sum(int(row.sum() > 0.99) for rows in targets for row in rows)
        == (output["moves_with_policy_targets"])
    )


# -- mistakes -------------------------------------------------------------------------------------


def run(*words: str | Path) -> str:
    """Run the command in this process; raise what it raises."""
    app = typer.Typer()
    add_commands(app)
    result = CliRunner().invoke(app, ["go", "selfplay", *map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


RANDOM = ("--black", "fast-random", "--white", "fast-random")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--black", "fast-random"), "--white: name an agent"),
        (("--black", "mtcs", "--white", "mcts"), "mcts"),
        (("--black", "mcts", "--black.simulation", "5", "--white", "mcts"), "simulations"),
        ((*RANDOM, "--grey", "mcts"), "unknown option '--grey'"),
        ((*RANDOM, "--workers", "0"), "--workers 0"),
        ((*RANDOM, "--workers", "many"), "--workers many"),
        ((*RANDOM, "--komi", "6.3"), "komi"),
        ((*RANDOM, "--set", "suicide=true"), "suicide"),
        ((*RANDOM, "--set", "dead_stones=agreement"), "agreement"),
        (("--black", "policy", "--black.weights", "gone", "--white", "mcts"), "--black policy: "),
    ],
)
def test_mistakes_are_reported_in_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MiaiError, match=message) as output:
        run(*words, "--out", "run", "--games", "1", "--size", "5")
    assert "\n" not in str(output.value)


def test_a_folder_of_another_plan_or_in_use_is_refused(alone: Path, tmp_path: Path) -> None:
    for other in (("--seed", "8"), ("--black.simulations", "61"), ("--komi", "5")):
        with pytest.raises(MiaiError, match="another plan"):
            run(*PLAYERS, *other, "--out", alone, "--games", str(GAMES))
    process = started(tmp_path / "run", *PLAYERS, "--workers", "1", games=MANY)
    try:
        until(lambda: (tmp_path / "run" / "logs").exists())
        with pytest.raises(MiaiError, match="another process"):
            run(*PLAYERS, "--out", tmp_path / "run")
    finally:
        process.kill()
        process.communicate()


def test_a_run_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    lost = ("--black", "gtp", "--black.command", "an-engine-of-no-name", *PLAYERS[4:])
    _, errors = made(tmp_path / "runs" / "x", *lost, status=2)
    assert "an-engine-of-no-name" in errors
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "config"),
    [
        (("go", "train", "zero"), '[network]\nstart = "no-such-weights"\n'),
        (("go", "train", "value"), '[game]\npolicy = ""\nplayer = "no-such-weights"\n'),
        (("go", "tsumego", "train"), '[data]\nfolder = "no-such-set"\n'),
    ],
)
def test_a_training_that_is_refused_leaves_no_folder(
    tmp_path: Path, command: tuple[str, ...], config: str
) -> None:
    (tmp_path / "x.toml").write_text(config)
    done = run_miai([*command, "x.toml", "--out", "runs/x"], cwd=tmp_path, timeout=SECONDS)
    assert done.returncode == 2
    assert "no-such" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.toml"]
