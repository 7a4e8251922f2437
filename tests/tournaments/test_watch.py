"""Watching a run from another process, and the boards that referees leave for it."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.framework.histories import seen_by
from tests.framework.twin_histories import ALL_SEEING, SEATS, twins
from tests.tournaments.support import config_text, player, refused, run_serially, store_of
from tests.tournaments.test_report import INFO, game

from miai import load_game, make_agent
from miai.api import renderer_for
from miai.information import PlayerView
from miai.playing.match import InProcessSeat, play_game
from miai.record import MoveRecord
from miai_tournaments.report import watch as watch_module
from miai_tournaments.report.watch import rate, watch
from miai_tournaments.store.rows import PlayerRow, RunInfo
from miai_tournaments.workers import game_runner as boards_module
from miai_tournaments.workers.game_runner import BoardWriter, read_boards


def frame(folder: Path) -> str:
    out = io.StringIO()
    watch(folder, once=True, console=Console(file=out, width=100))
    return out.getvalue()


def test_a_complete_run_says_so(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text(config_text(player("a"), player("b"), tournament={"rounds": 1}))
    run_serially(config, tmp_path / "run")
    seen = frame(tmp_path / "run")
    assert "2/2 games" in seen
    assert "the run is complete" in seen
    out = io.StringIO()
    watch(tmp_path / "run", console=Console(file=out, width=100, force_terminal=True))
    assert "the run is complete" in out.getvalue()  # and it has ended by itself


@pytest.mark.parametrize("growing", [True, False])
def test_an_end_is_expected_only_where_all_games_are_known(
    growing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_module, "rate", lambda *_: 100.4)
    monkeypatch.setattr(watch_module, "runner_of", lambda folder: "process 1 on this machine")
    rows = [replace(game(n, "a", "b", 1), status="pending") for n in range(2)]
    info = replace(INFO, facts={"open": True} if growing else {})
    players = [PlayerRow(name=name, agent="random") for name in "ab"]
    store_of(tmp_path, info, players, rows).close()
    seen = frame(tmp_path)
    assert "games/min" in seen
    assert (", 100 games/min, 0:01 left, until about 2" in seen) is not growing
    assert ("games scheduled so far" in seen) is growing


def test_a_terminal_waits_for_a_run_and_shows_it_until_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    terminal = Console(file=out, width=200, force_terminal=True, color_system=None)
    waits: list[float] = []
    players = [PlayerRow(name=name, agent="random") for name in "ab"]

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) % 2:
            raise KeyboardInterrupt
        store_of(tmp_path / "run", INFO, players, [game(0, "a", "b", 1)]).close()

    monkeypatch.setattr(watch_module, "runner_of", lambda folder: "process 1")
    monkeypatch.setattr("time.sleep", sleep)
    line = f"no run in {tmp_path / 'run'} yet; waiting for one, Ctrl-C ends this view\n"
    watch(tmp_path / "run", console=terminal)
    assert (out.getvalue(), len(waits)) == (line, 1)
    watch(tmp_path / "run", console=terminal)
    seen = out.getvalue().removeprefix(line)
    assert seen.startswith(line)
    assert "1/1 games" in seen
    assert "run by process 1; Ctrl-C ends this view, not the run" in seen
    assert waits == [watch_module.REFRESH_SECONDS] * 3


def test_there_is_nothing_to_watch(tmp_path: Path) -> None:
    assert str(tmp_path) in refused("watch", tmp_path)


# -- the rate ---------------------------------------------------------------------------------

NOW = datetime(2025, 11, 21, 12, 0, tzinfo=UTC)


def ended(minutes_ago: float, *, seconds: float = 6.0) -> Any:
    begin = NOW - timedelta(minutes=minutes_ago) - timedelta(seconds=seconds)
    return replace(game(0, "a", "b", 1), started=begin.isoformat(), wall_seconds=seconds)


def test_the_rate_is_of_the_last_minutes() -> None:
    assert rate([ended(m / 10) for m in range(500)], NOW) == pytest.approx(10, rel=0.05)
    assert rate([ended(60 + m) for m in range(100)], NOW) == 0
    assert rate([], NOW) == 0


def test_the_rate_of_a_young_run_is_of_its_life() -> None:
    rows = [ended(0.1 * i, seconds=0) for i in range(11)]  # 11 games in the last minute
    assert rate(rows, NOW) == pytest.approx(11, rel=0.01)


def test_times_that_say_nothing_are_left_out() -> None:
    rows = [replace(ended(1), started=text) for text in ("", "yesterday", "2025-11-21T11:59:00")]
    assert rate([*rows, replace(ended(1), wall_seconds=1e300)], NOW) == 0


# -- boards -----------------------------------------------------------------------------------


def played(
    name: str, writer: BoardWriter, seen: list[Any], folder: Path, **parameters: Any
) -> None:
    """Play a game with a writer's hook, reading what it leaves after each action."""
    made = load_game(name, **parameters)
    hook = writer.begin("g1", ("ann", "bob"), parameters)
    assert hook is not None

    def on_move(state: Any, move: Any) -> None:
        hook(state, move)
        seen.append((str(state), read_boards(folder)))

    seats = [InProcessSeat(make_agent("random", made)) for _ in range(2)]
    play_game(made, seats, seed=1, on_move=on_move)
    writer.end()


def test_boards_are_those_of_the_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards_module, "INTERVAL", 0.0)
    seen: list[Any] = []
    played("tic_tac_toe", BoardWriter(tmp_path / "logs"), seen, tmp_path)
    for ply, (text, (board,)) in enumerate(seen, start=1):
        assert (board.game_id, board.players, board.ply) == ("g1", ("ann", "bob"), ply)
        assert list(board.lines) == text.split("\n")
    assert read_boards(tmp_path) == []


@pytest.mark.parametrize(("name", "seat"), [s for s in SEATS if s not in ALL_SEEING])
def test_boards_of_a_hidden_game_show_what_each_player_observes(
    name: str, seat: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two histories that a player cannot tell apart, its view is the same."""
    monkeypatch.setattr(boards_module, "INTERVAL", 0.0)
    loaded = load_game(name)
    players = loaded.info.player_names
    shown = []
    for history in twins(name, seat):
        writer, state = BoardWriter(tmp_path / "logs"), loaded.new_initial_state()
        hook = writer.begin("g1", ("ann", "bob"), {})
        assert hook is not None
        for ply, action in enumerate(history):
            actor = int(state.current_player())
            state.apply_action(action)
            hook(state, MoveRecord(ply=ply, actor=actor, action=action, text=""))
        (board,) = read_boards(tmp_path)
        writer.end()
        text = "\n".join(board.lines)
        views = dict(zip(players, text.split(" sees:\n")[1:], strict=True))
        shown.append(views[players[seat]].removesuffix(f"\n{players[1 - seat]}"))
        renderer = renderer_for(loaded)
        view = PlayerView(loaded, seat)
        view.observations = seen_by(loaded, seat, history)
        assert shown[-1] == renderer.render(view)
    assert shown[0] == shown[1]


def test_short_games_leave_nothing(tmp_path: Path) -> None:
    seen: list[Any] = []
    played("tic_tac_toe", BoardWriter(tmp_path / "logs"), seen, tmp_path)
    assert all(found == [] for _, found in seen)
    assert not (tmp_path / "logs").exists()
    assert BoardWriter(None).begin("g1", ("a", "b"), {}) is None


def test_a_failed_board_write_does_not_end_the_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards_module, "INTERVAL", 0.0)
    (tmp_path / "logs").write_text("a file where the folder should be")
    seen: list[Any] = []
    played("tic_tac_toe", BoardWriter(tmp_path / "logs"), seen, tmp_path)
    assert len(seen) >= 5


def test_files_that_are_not_boards_are_skipped_and_the_newest_counts(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    here = {"host": socket.gethostname(), "pid": os.getpid()}
    good = {"game_id": "g1", "players": ["a", "b"], "ply": 3, "lines": ["  x"], **here}
    texts = ["", "[]", "{}", "null", '{"game_id": 1}', "\x00", "x" * 100_000]
    for number, text in enumerate([*texts, json.dumps(good)], start=1):
        (logs / f".board-{number}").write_text(text)
    (board,) = read_boards(tmp_path)
    assert board.ply == 3
    time.sleep(0.02)
    (logs / ".board-99").write_text(json.dumps({**good, "ply": 4}))
    (board,) = read_boards(tmp_path)
    assert (board.ply, board.lines) == (4, ("  x",))


def test_the_board_of_a_referee_that_died_is_left_out(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    logs = tmp_path / "logs"
    logs.mkdir()
    board = {"game_id": "g1", "players": ["a", "b"], "ply": 3, "lines": ["x"], "pid": dead.pid}
    (logs / ".board-1").write_text(json.dumps({**board, "host": socket.gethostname()}))
    assert read_boards(tmp_path) == []
    (logs / ".board-1").write_text(json.dumps({**board, "host": "elsewhere"}))
    assert len(read_boards(tmp_path)) == 1


def test_boards_are_shown_as_they_are_but_for_what_controls_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = boards_module.LiveSnapshot(
        game_id="g9", players=("an\x1bn", "bob"), ply=7, lines=("   A B", " 1 X \x1b[31mO")
    )
    monkeypatch.setattr(watch_module, "read_boards", lambda folder: [board])
    monkeypatch.setattr(watch_module, "runner_of", lambda folder: "process 1 on here")
    games = [replace(game(0, "a", "b", 1), status="pending")]
    info = RunInfo(name="n", seed=0, rounds=1, game="tic_tac_toe", game_version=1)
    players = [PlayerRow(name=name, agent="random") for name in "ab"]
    store_of(tmp_path, info, players, games).close()
    seen = frame(tmp_path)
    assert "\x1b" not in seen
    assert "an?n - bob, ply 7" in seen
    assert "\n   A B" in seen
    assert " 1 X ?[31mO" in seen
