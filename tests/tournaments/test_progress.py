"""What a person sees: a view updated in place on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

import pexpect
import pytest
from rich.console import Console
from tests.tournaments.support import config_text, environment, player
from tests.whole_texts import assert_expected

from miai import progress
from miai.plain import one_line
from miai.progress import Progress, clock_text, show_activity
from miai_tournaments.report.live import LiveReporter, Reporter, RunStatus, describe
from miai_tournaments.report.standings import count_games
from miai_tournaments.store.rows import GameResult, GameStatus, ScheduledGame

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
