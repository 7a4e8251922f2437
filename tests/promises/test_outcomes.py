"""What is promised of failures: the outcome that docs/errors.md names, and nobody else harmed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.child_imports import environment_with
from tests.framework.test_adjudication import GAME, Always, randoms
from tests.framework.test_agent_process import SHORT, fatal, play_against, play_fatal_game
from tests.framework.test_match import Scripted, random_record, scripted
from tests.framework.test_simultaneous import AUCTION, CRASH, DILEMMA, LATE, PENNIES, RESIGN, played
from tests.tournaments.support import PLUGIN, config_text, player, refused, tournament
from tests.tournaments.test_failures import outcome
from tests.warm_command import TalkingMiai, call_miai, run_miai

import miai
from miai import Decision, Game
from miai.clock import Clock, TimeControl
from miai.errors import GameFailedError, IllegalActionError, PluginError, RecordError
from miai.playing.adjudication import Panel
from miai.playing.match import play, play_game
from miai.playing.replay import replay
from miai.plugins.loader import PluginWarning, plugin_host
from miai.process.agent_process import AgentProcess
from miai.record import Termination
from miai.record_reader import read_record
from miai_tournaments.running.tournament_run import judge
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.rows import GameRow
from miai_tournaments.store.store import Store

ERRORS = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
MakeSeat = Callable[..., AgentProcess]

# -- a player fails -------------------------------------------------------------------------------

ROWS = {
    "resign": "it resigns",
    "hang": "no answer by the deadline",
    "illegal": "an action that is not legal",
    "raise": "an exception",
    "exit": "its process dies: a signal, `exit()`, a fault in compiled code",
    "hoard": "it exceeds `[limits] memory`: `MemoryError`",
    "babble": "an invalid answer: malformed, of the wrong type",
    "flood": "more output, or a longer answer, than the limits allow",
}
"""How players fail, and the beginnings of the rows that say what becomes of it."""


@dataclass
class Troubled:
    """A run with players of each kind of failure; in a game of others the worker dies."""

    folder: Path
    printed: str
    games: dict[str, GameRow]
    records: dict[str, str]


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory, mischief: dict[str, str]) -> Troubled:
    base = tmp_path_factory.mktemp("troubled")
    (base / "flag").touch()
    sections: dict[str, Any] = {
        "game": {"name": "fragile", "file": str(base / "flag"), "way": "kill", "once": True},
        "tournament": {"rounds": 1},
        "time": {"kind": "none", "move_deadline": 1.0},
        "limits": {"isolation": "process", "memory": 2000},
    }
    players = [player(way, "mischief", way=way) for way in ROWS]
    text = config_text(player("good"), player("fair"), *players, **sections)
    text += '[format]\nname = "pairings"\n'
    # Those who begin fail before the worker can die: few agents are then started twice.
    for number, name in enumerate((*list(ROWS)[:6], "fair", *list(ROWS)[6:])):
        first, second = (name, "good") if number < 6 else ("good", name)
        text += f'[[format.pairings]]\nfirst = "{first}"\nsecond = "{second}"\ncolours = "fixed"\n'
    (base / "x.toml").write_text(text)
    out = base / "out"
    done = tournament("run", base / "x.toml", "--out", out, "--workers", 1, env=mischief)
    with Store.read(out) as store:
        rows = {next(p for p in row.players if p != "good"): row for row in store.results()}
        records = {way: store.record(row.game_id) for way, row in rows.items()}
        return Troubled(out, done.stdout, rows, records)


@pytest.mark.parametrize("way", ROWS)
def test_a_failure_is_the_forfeit_that_the_table_names(troubled: Troubled, way: str) -> None:
    """errors: "The player's fault. The game ends at once with a full record"; errors: "`loser` the
    player and `detail` a description. The returns are those of a resignation. The game counts"."""
    row = troubled.games[way]
    (named,) = re.findall(rf"(?m)^\| {re.escape(ROWS[way])}[^|]*\|[^|]*\| `([\w-]+)` \|", ERRORS)
    assert row.termination == named
    assert row.loser == row.players.index(way)
    assert row.returns[row.loser] == -1.0 == -row.returns[1 - row.loser]
    record = read_record(troubled.records[way])
    assert (record.termination, record.loser, record.returns) == (named, row.loser, row.returns)
    assert bool(record.detail) == (way != "resign")
    assert "\n" not in record.detail


def test_a_run_goes_on_after_forfeits_and_each_counts(troubled: Troubled) -> None:
    """errors: "A killed process is started again for the next game"; errors: "The game counts"."""
    report = json.loads(tournament("report", troubled.folder, "--json").stdout)
    standings = {p["name"]: (p["wins"], p["draws"], p["losses"]) for p in report["players"]}
    assert standings.keys() == {"good", "fair", *ROWS}
    assert all(standings[way] == (0, 0, 1) for way in ROWS)
    assert standings["good"][0] >= len(ROWS)
    assert len(report["forfeits"]) == len(ROWS) - 1  # to resign is no failure


def test_the_detail_is_one_line_and_the_traceback_in_the_player_s_log(troubled: Troubled) -> None:
    """errors: "The record's `detail` is one line: the exception's type and message, or how the
    process died and the last lines that it printed. The traceback is only in the player's log"."""
    details = {way: read_record(text).detail for way, text in troubled.records.items()}
    assert "agent 'raise': RuntimeError: mischief / in two lines" in details["raise"]
    assert "exited with status 3" in details["exit"]
    assert "did not answer 'act' within" in details["hang"]
    assert not any("Traceback" in text for text in troubled.records.values())
    logs = {path.parent.name: path.read_text() for path in troubled.folder.rglob("*.log")}
    assert "Traceback" in logs[troubled.games["raise"].game_id]


def test_a_worker_s_death_voids_its_game_which_is_played_again(troubled: Troubled) -> None:
    """errors: "Nobody's fault, or the organiser's. There is no result. A tournament plays the game
    again"; errors: "a tournament's worker dies or hangs"."""
    with Store.read(troubled.folder) as store:
        (void,) = store.voided()
    assert (void.status, void.void_count, set(void.players)) == ("done", 1, {"good", "fair"})
    assert void.termination == "terminal"
    assert "was killed by SIGKILL; its last output: last words" in void.void_reason
    assert f"void: {void.game_id}: " in troubled.printed
    assert f"void 1x: {void.game_id}: " in tournament("status", troubled.folder).stdout


def test_a_result_that_was_changed_is_refused_by_name(troubled: Troubled, tmp_path: Path) -> None:
    """errors: "a stored result, record or search was damaged or changed"."""
    game = troubled.games["raise"].game_id
    shutil.copytree(troubled.folder, tmp_path / "run")
    for column, value in (("returns", "[0.5,-0.5]"), ("termination", "time"), ("round", 2)):
        with closing(sqlite3.connect(tmp_path / "run" / FILE_NAME)) as connection:
            old = connection.execute(f"SELECT {column} FROM games WHERE game_id = ?", (game,))
            (before,) = old.fetchone()
            for new in (value, before):
                update = f"UPDATE games SET {column} = ? WHERE game_id = ?"
                connection.execute(update, (new, game))
                connection.commit()
                if new == value:
                    message = refused("report", tmp_path / "run")
                    assert f"table games, row '{game}': was damaged or changed after" in message
    tournament("report", tmp_path / "run")


def test_after_the_deadline_everything_that_a_player_started_is_killed(
    make_seat: MakeSeat, tmp_path: Path, gone: Callable[..., bool]
) -> None:
    """errors: "killed at the deadline, with everything it started"; errors: "At the end of clock
    and margin, SIGKILL stops the process group"."""
    note = tmp_path / "engines"
    record = play_fatal_game(make_seat("unruly", note=str(note)), "engine", control=SHORT)
    assert (record.termination, record.loser) == (Termination.TIME, 1)
    assert gone(*map(int, note.read_text().split()))


def test_a_process_that_died_between_games_costs_no_game(make_seat: MakeSeat) -> None:
    """errors: "A killed process is started again for the next game"; errors: "The same seed gives
    the same decisions, whatever was played before"."""
    seat = make_seat("unruly")
    first = play_against(seat, seed=7)
    pid = seat.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    again = play_against(seat, seed=7)
    assert seat.pid != pid
    assert [move.action for move in first.moves] == [move.action for move in again.moves]


@pytest.mark.parametrize("how", ["raise", "hang_in_c"])
def test_a_failure_at_the_end_of_a_game_leaves_the_result(
    how: str, make_seat: MakeSeat, caplog: pytest.LogCaptureFixture
) -> None:
    """errors: "at the end of a game | none: the result stands, a warning is logged"."""
    record = play_fatal_game(make_seat("unruly", when="end"), how)
    assert record.termination is Termination.TERMINAL
    assert "after the game was over" in caplog.text


def test_what_a_player_prints_goes_to_its_log_and_nowhere_else(
    make_seat: MakeSeat, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """errors: "Printed output goes through a pipe to the referee, which writes it to the player's
    log of the game"; errors: "without a log folder it is discarded"."""
    seat = make_seat("unruly")
    record = play_against(seat, seed=fatal("print"), log_dir=tmp_path)
    assert record.termination is Termination.TERMINAL
    log = (tmp_path / "o.log").read_text()
    for text in ("from Python", "from standard error", "from C", "from a shell"):
        assert text in log
    assert not (tmp_path / "x.log").exists()
    play_against(seat, seed=fatal("print"))
    assert capfd.readouterr() == ("", "")


def test_a_log_that_cannot_be_written_costs_no_game(
    make_seat: MakeSeat, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """errors: "the log ends with a warning; the result stands"."""
    seat = make_seat("unruly")

    def full(path: Path) -> None:
        path.symlink_to("/dev/full")

    ways: list[Callable[[Path], object]] = [os.mkfifo, Path.mkdir, full]
    for number, spoil in enumerate(ways):
        folder = tmp_path / str(number)
        folder.mkdir()
        spoil(folder / "o.log")
        caplog.clear()
        record = play_against(seat, seed=fatal("print"), log_dir=folder)
        assert record.termination is Termination.TERMINAL, record.detail
        assert "the log" in caplog.text
        assert "ends here" in caplog.text


def test_the_margin_is_beside_the_clock() -> None:
    """errors: "On every move a player may exceed its clock by the *margin* (by default 0.1 s),
    which covers the communication and is never added to the clock"."""
    assert TimeControl(kind="per-move", seconds=1.0).margin == 0.1
    clock = Clock(TimeControl(kind="absolute", seconds=1.0))
    assert clock.charge(0.95)
    assert clock.main == pytest.approx(0.05)

    class Slow(Scripted):
        def act(self, clock: miai.ClockReading) -> Decision:
            time.sleep(0.3)
            return super().act(clock)

    for margin, reason in ((20.0, Termination.TERMINAL), (0.0, Termination.TIME)):
        control = TimeControl(kind="per-move", seconds=0.1, margin=margin)
        agents = [Slow(GAME, 0, 1, 2), Scripted(GAME, 3, 4)]
        record = play(GAME, agents, time_control=control)
        assert record.termination is reason
        assert record.loser == (0 if margin == 0.0 else None)
        assert ("with 0.100 s left on the clock" in record.detail) == (margin == 0.0)
        assert record.players[0].seconds >= 0.3


def test_a_referee_that_stood_still_excuses_a_loss_on_time_up_to_five_times() -> None:
    """errors: "If a player loses on time in such a game, a tournament plays the game again, up to
    five times"."""
    late = outcome("time", standstill=2.0)
    verdicts = [judge(late, stopping=False, standstills=n) for n in range(7)]
    assert verdicts == ["standstill"] * 5 + ["result"] * 2
    assert judge(outcome("time"), stopping=False) == "result"


@pytest.mark.parametrize(
    ("game", "scripts", "reason", "losers", "returns"),
    [
        # One of them: as at any other decision.
        (PENNIES, ([7], [0]), Termination.ILLEGAL_ACTION, (0,), (-2, 2)),
        (PENNIES, ([0], [RESIGN]), Termination.RESIGNATION, (1,), (2, -2)),
        (AUCTION, ([0], [CRASH], [0]), Termination.CRASH, (1,), (0.5, -1, 0.5)),
        # Several: all of them lose; the rest of a constant sum is for the others.
        (AUCTION, ([0], [LATE], [CRASH]), Termination.TIME, (1, 2), (2, -1, -1)),
        (AUCTION, ([RESIGN], [0], [3]), Termination.RESIGNATION, (0, 2), (-1, 2, -1)),
        # Everybody: a draw in a game of constant sum, a loss for all in others.
        (PENNIES, ([CRASH], [LATE]), Termination.CRASH, (0, 1), (0, 0)),
        (AUCTION, ([LATE], [LATE], [RESIGN]), Termination.TIME, (0, 1, 2), (0, 0, 0)),
        (DILEMMA, ([CRASH], [RESIGN]), Termination.CRASH, (0, 1), (0, 0)),
    ],
)
def test_of_several_who_fail_at_once_all_lose(
    game: Game,
    scripts: Sequence[list[Any]],
    reason: Termination,
    losers: tuple[int, ...],
    returns: tuple[float, ...],
) -> None:
    """errors: "If several do at the same decision, all of them lose: each receives the least
    utility, and in a game of constant sum the others share the rest"; errors: "No player's fate
    depends on who was faster"."""
    record = played(game, *scripts)
    assert (record.termination, record.loser) == (reason, losers[0])
    assert record.losers == (losers if len(losers) > 1 else ())
    assert record.returns == tuple(map(float, returns))
    assert record.moves == []
    text = record.to_json_lines()
    assert ('"losers":' in text) == (len(losers) > 1)
    assert read_record(text) == record
    replay(record)
    wrong = replace(record, returns=tuple(-value - 0.25 for value in record.returns))
    with pytest.raises(RecordError, match="the record gives returns"):
        replay(wrong)


def test_each_error_of_a_seat_has_its_reason() -> None:
    """errors: "An agent may raise these errors itself"; errors: "After the beginning of a game
    `AgentUnavailableError` counts as a `crash`"."""
    table = re.findall(r"(?m)^\| `(Agent\w+Error)`[^|]*\| `([\w-]+)` \|", ERRORS)
    assert len(table) == 5
    for name, reason in table:
        error = getattr(miai.errors, name)("out of ideas")
        record = play(GAME, scripted(GAME, [0], [error]))
        beginning = reason == "unavailable"
        assert record.termination == ("crash" if beginning else reason), name
        assert (record.loser, record.returns) == (1, (1.0, -1.0))
        assert "out of ideas" in record.detail

    class Gone(Scripted):
        def new_game(self, *arguments: Any, **named: Any) -> None:
            raise miai.errors.AgentUnavailableError("gone")

    record = play(GAME, [Gone(GAME), Scripted(GAME)])
    assert (record.termination, record.loser) == (Termination.UNAVAILABLE, 0)


# -- the game, the referee or the machine fails ---------------------------------------------------


def test_a_game_that_raises_has_no_result_and_its_plugin_is_named(tmp_path: Path) -> None:
    """errors: "the exception leaves `play_game`, there is no record; `miai play` names the
    plugin"; errors: "With `MIAI_TRACEBACK=1` in the environment it prints the traceback first"."""
    (flag := tmp_path / "flag").touch()
    words = ["play", "fragile", "--set", f"file={flag}", "--x", "random", "--o", "random"]
    env = environment_with(PLUGIN)
    done = run_miai([*words, "--quiet"], env=env)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    for part in ("game 'fragile' of plugin 'mischief' failed", "the game is broken"):
        assert part in done.stderr
    traced = run_miai([*words, "--quiet"], env={**env, "MIAI_TRACEBACK": "1"})
    assert traced.returncode == 2
    assert "in _apply" in traced.stderr.partition("miai: ")[0]


def test_a_defect_of_the_game_is_no_forfeit(monkeypatch: pytest.MonkeyPatch) -> None:
    """errors: "`GameFailedError` says that the game itself failed. It leaves `play_game` and never
    becomes a forfeit"."""
    with pytest.raises(GameFailedError):
        play(GAME, scripted(GAME, [0], [GameFailedError("no rules")]))
    monkeypatch.setattr(type(GAME.new_initial_state()), "_apply", lambda self, action: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        play(GAME, scripted(GAME, [0], [1]))
    monkeypatch.undo()
    monkeypatch.setattr(type(GAME.new_initial_state()), "returns", lambda self: (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="3 values for 2 players"):
        play(GAME, scripted(GAME, [0, 1, 2], [3, 4]))


def test_an_opening_that_is_not_legal_is_refused_before_any_player_is_asked() -> None:
    """errors: "halt, before any agent is asked"."""
    for opening, error in (([4, 4], IllegalActionError), ([99], miai.errors.InvalidActionError)):
        agents = scripted(GAME, [0], [1])
        with pytest.raises(error):
            play(GAME, agents, opening=opening)
        assert all(agent.calls == [] for agent in agents)


def test_a_verdict_that_no_game_can_have_voids_the_game() -> None:
    """errors: "an adjudicator raises an exception, or its verdict has returns that the game does
    not allow"."""
    for returns in ((1.0,), (1.0, 1.0), (2.0, -2.0), (float("nan"), 0.0)):
        with pytest.raises(
            PluginError, match=r"'odd': decided tic_tac_toe by .*a defect of its pl"
        ):
            play(GAME, randoms(), panel=Panel(GAME, {"odd": Always(*returns)}))


def test_a_plugin_that_fails_after_a_game_leaves_the_result() -> None:
    """errors: "a plugin fails in `miai_game_finished` | a warning; the result stands"."""
    records: list[Any] = []

    def notes(record: miai.GameRecord) -> None:
        records.append(record)

    def fails(record: miai.GameRecord) -> None:
        raise RuntimeError("disk full")

    manager = plugin_host().manager
    modules = [ModuleType("a_plugin") for _ in range(3)]
    try:
        for number, (module, function) in enumerate(
            zip(modules, (notes, fails, notes), strict=True)
        ):
            module.__dict__["miai_game_finished"] = miai.hookimpl(function)
            manager.register(module, f"test-{number}")
        with pytest.warns(PluginWarning, match="'test-1' failed .*RuntimeError: disk full"):
            record = random_record("tic_tac_toe", 1)
    finally:
        for module in modules:
            manager.unregister(module)
    assert records == [record, record]


def test_two_voids_in_a_row_stop_the_run_which_is_resumed_later(
    tmp_path: Path, flag: Path, mischief: dict[str, str]
) -> None:
    """errors: "halt, with the reason and the command that resumes"; errors: "Continuing makes no
    sense or would lose data. A message says what to do, and all finished games are kept"."""
    game, out = {"name": "fragile", "file": str(flag)}, tmp_path / "out"
    text = config_text(player("ann"), player("bob"), game=game, tournament={"rounds": 1})
    (tmp_path / "x.toml").write_text(text)
    words = ("run", tmp_path / "x.toml", "--out", out, "--executor", "serial")
    message = tournament(*words, env=mischief, status=2).stderr
    assert "game ann~bob~0001a was void twice in a row: RuntimeError: the game is broken" in message
    assert f"miai tournament resume {out}" in message
    with Store.read(out) as store:
        assert (store.counts()["done"], store.voided()[0].void_count) == (0, 2)
    flag.unlink()
    tournament("resume", out, "--executor", "serial", env=mischief)
    with Store.read(out) as store:
        assert store.counts()["done"] == 2


def test_a_player_that_cannot_start_is_reported_before_anything_is_written(
    tmp_path: Path, mischief: dict[str, str]
) -> None:
    """errors: "`miai play` prints a message instead, and a tournament does not begin"; errors: "a
    training, self-play or tournament is refused before it begins | no folder is left"."""
    lost = player("lost", "mischief", way="absent")
    (tmp_path / "x.toml").write_text(config_text(player("ann"), lost))
    words = ("run", tmp_path / "x.toml", "--out", tmp_path / "out", "--executor", "serial")
    output = refused(*words, env=mischief)
    assert "x.toml: players[1] (lost): the engine 'mischief' is missing; install it" in output
    assert not (tmp_path / "out").exists()
    engine = ["--black", "gtp", "--black.command", "sh -c 'exit 3'"]
    done = call_miai(["play", "go", *engine, "--white", "fast-random", "--quiet"])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("miai: --black gtp --black.command sh -c 'exit 3': ")
    assert "exited with status 3" in done.stderr


def test_a_store_that_is_removed_ends_the_run_at_once(
    tmp_path: Path, mischief: dict[str, str]
) -> None:
    """errors: "the store's file or the lock is removed or replaced while the run goes on | halt at
    once, with the reason"."""
    config, out = tmp_path / "x.toml", tmp_path / "out"
    slow, limits = player("slow", "mischief", delay=0.1), {"isolation": "process"}
    config.write_text(config_text(slow, player("ann"), tournament={"rounds": 200}, limits=limits))
    words = ["tournament", "run", str(config), "--out", str(out), "--executor", "serial"]
    process = TalkingMiai(words, mischief)
    while not (line := process.stdout.readline()).startswith(b"["):
        assert line, process.stderr.read()
    (out / FILE_NAME).unlink()
    process.stdout.read()
    errors = process.stderr.read().decode()
    assert process.wait() == 2
    process.close()
    assert f"miai: {out / FILE_NAME}: was removed or replaced while the run was going" in errors
    assert "Traceback" not in errors


# -- what a game leaves behind, and the errors themselves -----------------------------------------


def test_nothing_is_carried_from_game_to_game(make_seat: MakeSeat) -> None:
    """errors: "A game leaves nothing that can affect the next one"; errors: "Hashes of texts, and
    so the order of sets, are the same in every process"."""
    name = "phantom_tic_tac_toe"
    game = miai.load_game(name)

    def decisions(seats: list[AgentProcess], seed: int, **options: Any) -> list[int]:
        return [move.action for move in play_game(game, seats, seed=seed, **options).moves]

    fresh, used = (
        [make_seat("keeper", game=name, name=str(number)) for number in range(2)] for _ in "ab"
    )
    expected = {seed: decisions(fresh, seed) for seed in range(4)}
    for seed in (3, 0, 3, 1, 2):
        assert decisions(used, seed) == expected[seed]
    assert decisions(used[::-1], 2) == expected[2]
    assert decisions(used, 3, move_limit=2) == expected[3][:2]
    assert decisions(used, 3) == expected[3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("play goo", "no game is called 'goo'. Did you mean 'go'?"),
        ("play go --black mcts --black.simulatoins 5", "Did you mean 'simulations'?"),
        ("tournament run absent.toml", "absent.toml: does not exist"),
        ("list gmaes", "Did you mean 'game'?"),
    ],
)
def test_a_mistake_is_one_message_and_status_2(words: str, message: str, tmp_path: Path) -> None:
    """errors: "The command line prints its message and exits with status 2"; errors: "Any other
    traceback is a defect of miai: please report it"."""
    done = run_miai(words.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("miai: ") <= 1
    assert not list(tmp_path.iterdir())


def test_what_a_terminal_would_not_show_is_escaped(tmp_path: Path) -> None:
    """errors: "Characters in it that a terminal would not show as they are, such as those that
    reverse the direction of text, are escaped"."""
    output = refused("run", "x\u202e.toml", cwd=tmp_path)
    assert output.startswith("miai: x\\u202e.toml: does not exist")
