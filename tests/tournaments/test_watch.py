"""Watching a run from another process, and the boards that referees leave for it."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pexpect
import pytest
from rich.console import Console
from tests.framework.histories import seen_by
from tests.framework.twin_histories import ALL_SEEING, SEATS, twins
from tests.slow import with_slow
from tests.tournaments.support import (
    config_text,
    environment,
    player,
    refused,
    run_serially,
    store_of,
)
from tests.tournaments.test_report import INFO, game
from tests.whole_texts import assert_expected

from miai import load_game, make_agent, progress
from miai.api import renderer_for
from miai.information import PlayerView
from miai.plain import one_line
from miai.playing.match import InProcessSeat, play_game
from miai.progress import Progress, clock_text, show_activity
from miai.record import MoveRecord
from miai_tournaments.report import watch as watch_module
from miai_tournaments.report.live import LiveReporter, Reporter, RunStatus, describe
from miai_tournaments.report.standings import count_games
from miai_tournaments.report.watch import rate, watch
from miai_tournaments.store.rows import GameResult, GameStatus, PlayerRow, RunInfo, ScheduledGame
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


@pytest.mark.parametrize(
    ("name", "seat"),
    with_slow([s for s in SEATS if s not in ALL_SEEING], ("rbc", 0), ("rbc", 1)),
)
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


# -- a view updated in place on a terminal, plain lines elsewhere ----------------------------------


GAME = ScheduledGame(
    game_id="ann~bob~0001a", pair_id="ann~bob~0001", round=1, players=("ann", "bob"), seed=1
)


def result(first: float, termination: str = "terminal", detail: str = "x wins") -> GameResult:
    return GameResult(
        returns=(first, -first),
        termination=termination,
        detail=detail,
        moves=7,
        player_moves=(4, 3),
        seconds=(0.1, 0.2),
        cpu_seconds=(0.1, None),
        wall_seconds=1.26,
    )


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (result(1.0), "ann (first) beats bob (x wins), 7 moves, 1.3 s"),
        (result(-1.0), "bob (second) beats ann (x wins), 7 moves, 1.3 s"),
        (result(0.0, detail=""), "ann (first) and bob draw, 7 moves, 1.3 s"),
        (result(0.0, "move-limit"), "ann (first) and bob draw (move-limit), 7 moves, 1.3 s"),
        (
            result(1.0, "adjudication", "solved: x wins under perfect play"),
            "ann (first) beats bob (adjudication: solved: x wins under perfect play), 7 moves, "
            "1.3 s",
        ),
        (
            result(1.0, "crash", "a\nb\x1b[2J"),
            "ann (first) beats bob (crash: a / b [2J), 7 moves, 1.3 s",
        ),
    ],
)
def test_a_game_is_summarised_in_one_line(given: GameResult, line: str) -> None:
    assert describe(GAME, given) == line


def test_a_game_of_three_is_summarised_by_its_ranking() -> None:
    three = replace(result(0.0), returns=(1.0, 3.0, 1.0))
    line = describe(replace(GAME, players=("ann", "bob", "cid")), three)
    assert line == "bob > ann = cid (x wins), 7 moves, 1.3 s"


def test_lines_of_any_origin_are_bounded_and_printable() -> None:
    line = one_line("\x1b]0;title\x07 tab\there \u202e " + "long " * 1000, limit=200)
    assert len(line) <= 200
    assert line.isprintable()


def test_plain_lines_count_the_games(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Reporter()
    reporter.begin(done=0, standings=lambda: count_games(()), total=120)
    reporter.finished(GAME, result(1.0))
    reporter.voided(GAME, "the worker\ndied")
    reporter.tick(["ann~bob~0001a"])
    reporter.scheduled(99)
    reporter.pause(2)
    reporter.pause(None)
    reporter.pause(0)
    reporter.finished(GAME, result(0.0))
    reporter.ending("stopped by SIGINT", 1)
    reporter.close()
    assert capsys.readouterr().out.splitlines() == [
        "[  1/120] ann (first) beats bob (x wins), 7 moves, 1.3 s",
        "void: ann~bob~0001a: the worker / died",
        "paused; finishing 2 running games; `miai tournament resume` lets it go on",
        "the run goes on",
        "paused; `miai tournament resume` lets it go on",
        "[ 2/99] ann (first) and bob draw (x wins), 7 moves, 1.3 s",
        "stopped by SIGINT; finishing 1 running game",
    ]


def test_the_reason_for_void_games_and_the_halt_is_reported_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reporter = Reporter()
    reporter.voided(GAME, "the worker / died.")
    reporter.voided(GAME, "the worker / died.")
    reporter.ending("game ann~bob~0001a was void twice in a row: the worker / died.", 1)
    reporter.ending("two games in a row were void, the last one: the worker / died.", 0)
    assert capsys.readouterr().out.splitlines() == [
        "void: ann~bob~0001a: the worker / died.",
        "void: ann~bob~0001a: the same again",
        "game ann~bob~0001a was void twice in a row, as above; finishing 1 running game",
    ]


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("stopped by SIGINT", "stopped by SIGINT; ending"),
        ("the disk is full.", "the disk is full; ending"),
    ],
)
def test_punctuation_is_not_doubled(
    capsys: pytest.CaptureFixture[str], reason: str, line: str
) -> None:
    Reporter().ending(reason, 0)
    assert capsys.readouterr().out == f"{line}\n"


def test_the_live_view_fits_into_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "REFRESH_SECONDS", 1e9)
    screen = io.StringIO()
    console = Console(file=screen, width=80, height=40, force_terminal=True, highlight=False)
    reporter = LiveReporter("a title", console)
    reporter.begin(done=0, standings=lambda: count_games(()), total=40)
    for number in range(10):
        names = tuple(f"player-of-a-long-name-{n}" for n in (number % 3, number % 3 + 1))
        game = ScheduledGame(
            game_id=f"{names[0]}~{names[1]}~{number:04}a",
            pair_id=f"{names[0]}~{names[1]}~{number:04}",
            round=number,
            players=names,
            seed=number,
        )
        reporter.finished(game, result((-1.0, 0.0, 1.0)[number % 3]))
    reporter.tick(["ann~bob~0003a"] * 9)
    reporter.ending("stopped by SIGINT", 2)
    reporter.close()
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()).replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for part in ("a title", "10/40 games", "games/s", " left", "and 5 more", "finishing 2 running"):
        assert part in text
    assert "Elo" in text
    assert "Crosstable" in text
    assert text.count("a title") == 3  # the changes between came too soon


def test_a_status_tells_what_is_done_and_who_runs_it() -> None:
    counts: dict[GameStatus, int] = {"done": 3, "running": 2, "pending": 4, "void": 1}
    status = RunStatus(
        folder="runs/x",
        name="x",
        game="go",
        counts=counts,
        runner="process 1",
        voids=(("a~b", 2, "it\ndied"),),
        open=True,
    )
    idle = replace(status, runner=None, voids=(), open=False)
    whole = replace(idle, counts={**dict.fromkeys(counts, 0), "done": 10})
    told = [
        status,
        replace(status, paused=True, open=False),
        idle,
        whole,
        replace(whole, open=True),
    ]
    assert_expected("status.txt", "\n\n".join(each.to_text() for each in told))
    assert status.to_json()["total"] == 10


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (125, "2:05"), (3725, "1:02:05")]
)
def test_durations(seconds: float, text: str) -> None:
    assert clock_text(seconds) == text


@pytest.mark.slow
def test_a_terminal_gets_the_live_view_and_the_table_stays(tmp_path: Path) -> None:
    config = tmp_path / "x.toml"
    config.write_text(config_text(player("ann"), player("bob"), tournament={"rounds": 5}))
    child = pexpect.spawn(
        sys.executable,
        ["-m", "miai", "tournament", "run", str(config), "--out", str(tmp_path / "out")],
        env=environment(COLUMNS="80", TERM="xterm"),
        dimensions=(40, 80),
        encoding="utf-8",
        timeout=60,
    )
    child.expect("starting 2 players ...")
    child.expect("2 players, 5 rounds")
    child.expect("Ctrl-C stops")
    child.expect("Match: ann against bob")
    child.expect("Report: ")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_task_that_counts_by_itself_prints_its_count_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress()
    progress.begin(done=2, total=10)
    progress.reach(3, "one", every=60.0)
    progress.reach(7, "seven", every=0.0)
    assert capsys.readouterr().out == "[ 7/10] seven\n"
    assert progress.done == 7


def test_an_activity_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with show_activity("import") as show:
        show("5 games")
    assert capsys.readouterr() == ("", "")
