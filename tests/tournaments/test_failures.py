"""Forfeit, void, or refused before the first game: what each failure comes to."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.tournaments.support import RANDOMS, config_text, player, rule, tournament

from miai.errors import AgentUnavailableError, ConfigError, MiaiError
from miai.record import GameRecord, MoveRecord, PlayerRecord, Termination
from miai_tournaments.config.load import Tournament, load_tournament
from miai_tournaments.running import check
from miai_tournaments.running.check import check_players
from miai_tournaments.running.tournament_run import judge
from miai_tournaments.store.rows import GameResult, PlayerRow
from miai_tournaments.workers.game_runner import summary
from miai_tournaments.workers.jobs import JobOutcome


@pytest.mark.slow
def test_check_reports_the_errors_of_every_player(tmp_path: Path, mischief: dict[str, str]) -> None:
    players = (
        player("good", "mischief"),
        player("lost", "mischief", way="absent"),
        player("bad", "mischief", way="raise"),
    )
    config = tmp_path / "x.toml"
    config.write_text(config_text(*players))
    done = tournament("check", config, env=mischief, status=2)
    assert re.search(r"^good: plays \(\d", done.stdout)
    one, two = done.stderr.removeprefix("miai: ").splitlines()
    assert one.startswith(f"{config}: players[1] (lost): ")
    assert "is missing; install it" in one
    assert two.startswith(f"{config}: players[2] (bad): crash: ")


@pytest.fixture
def unplayed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """What is found wrong with each player that is checked, in place of its game."""
    problems: dict[str, str | None] = {"ann": None, "bob": None, "cid": None}

    def problem(tournament: Tournament, player: PlayerRow, logs: Path) -> str | None:
        warned = "neural.py:1: PluginWarning: no komi\n" if player.name == "ann" else ""
        for side in ("x", "o"):
            (logs / f"{side}.log").write_text(f"hello\n{warned}")
        return problems[player.name]

    monkeypatch.setattr(check, "_problem", problem)
    monkeypatch.setattr("time.monotonic", lambda: 3.0)
    return problems


def test_a_check_names_every_player_that_does_not_play(
    tmp_path: Path, unplayed: dict[str, str | None]
) -> None:
    (tmp_path / "x.toml").write_text(config_text(*RANDOMS))
    unplayed |= {"bob": "agent 'bob': is missing", "cid": "crash: it ended"}
    shown: list[str] = []
    with pytest.raises(ConfigError) as caught:
        check_players(load_tournament(tmp_path / "x.toml"), show=shown.append)
    assert shown == ["ann: no komi", "ann: plays (0.0 s)"]
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/x.toml: players[1] (bob): is missing",
        f"{tmp_path}/x.toml: players[2] (cid): crash: it ended",
    ]


@pytest.mark.parametrize(
    ("termination", "losers", "problem"),
    [
        (Termination.TERMINAL, (1,), None),
        (Termination.MOVE_LIMIT, (), None),
        (Termination.RESIGNATION, (0,), None),
        (Termination.CRASH, (0, 1), "crash: it ended"),
        (Termination.ADJUDICATION, (), "adjudication: crash: it ended; so did the other"),
        (AgentUnavailableError("is missing"), (), "is missing"),
        (MiaiError("no rules"), (), "the game failed: no rules"),
    ],
)
def test_the_game_of_a_checked_player_tells_what_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    termination: Termination | MiaiError,
    losers: tuple[int, ...],
    problem: str | None,
) -> None:
    asked: list[str] = []

    def seat(*given: object, name: str, **more: object) -> object:
        return SimpleNamespace(start=lambda: asked.append(name), kill=lambda: asked.append("-"))

    def play(game: object, seats: list[object], **options: Any) -> object:
        assert (len(seats), options["seed"], options["move_limit"]) == (2, 3, 4)
        if isinstance(termination, MiaiError):
            raise termination
        detail = "crash: it ended; so did the other"
        return SimpleNamespace(termination=termination, losers=losers, detail=detail)

    monkeypatch.setattr(check, "AgentProcess", seat)
    monkeypatch.setattr(check, "play_game", play)
    (tmp_path / "x.toml").write_text(config_text(*RANDOMS))
    loaded = load_tournament(tmp_path / "x.toml")
    assert check._problem(loaded, loaded.players[1], tmp_path) == problem
    assert asked == ["bob", "bob", "-", "-"]


@pytest.mark.usefixtures("unplayed")
def test_a_check_tells_what_may_end_games_and_what_agents_may_guess(tmp_path: Path) -> None:
    config = tmp_path / "x.toml"

    def shown(*more: str, seed: int = 3, **sections: Any) -> list[str]:
        text = config_text(*RANDOMS, tournament={"seed": seed}, **sections)
        config.write_text("".join((text, *more)))
        lines: list[str] = []
        check_players(load_tournament(config), show=lines.append)
        assert lines[1:4] == [f"{name}: plays (0.0 s)" for name in ("ann", "bob", "cid")]
        assert lines[-1] == f"{config}: 3 players, 12 games, all is well"
        return lines[4:-1]

    pig = {"name": "pig", "players": 2}
    assert shown() == shown(game=pig, seed=2**80) == []
    assert shown(rule("resign-agreement", "below = -0.5"), game=pig, seed=2**80 - 1) == [
        "adjudication: resign-agreement (below -0.5, moves 3, from_ply 0)",
        f"tournament.seed: {2**80 - 1} is small; an agent can find it by trial, and with it what "
        "chance will do; leave it out where agents are not trusted, and one is drawn",
    ]
    end = "; 25.0% of the games are played to their end"
    assert shown(rule("solved"), adjudication={"hold_out": 0.25}) == [
        f"adjudication: solved (nodes 1000){end}"
    ]
    (tmp_path / "book").write_text("b2 a1\nb2 b1\na1 b2\n")  # an edge loses to the centre
    said = "openings are within 0.5 of equal by alpha-beta"
    exact: dict[str, Any] = {
        "openings.balance": {"search": "alpha-beta", "depth": 9, "within": 0.5}
    }
    assert shown(openings={"file": "book"}, **exact) == [f"2 of 3 {said}"]
    drawn = shown(openings={"random_plies": 4}, **exact)
    assert drawn == [f"{said}: one of +0.000 was drawn"]


def outcome(termination: str = "", **more: object) -> JobOutcome:
    result = GameResult(returns=(1.0, -1.0), termination=termination) if termination else None
    return JobOutcome(job_id="g", result=result, **more)  # type: ignore[arg-type]  # of any field


@pytest.mark.parametrize(
    ("given", "running", "stopping"),
    [
        (outcome("terminal"), "result", "result"),
        (outcome("move-limit"), "result", "result"),
        (outcome("resignation"), "result", "result"),
        (outcome("time"), "result", "result"),
        (outcome("time", standstill=2.0), "standstill", "standstill"),
        (outcome("illegal-action"), "result", "result"),
        (outcome("crash"), "result", "dropped"),
        (outcome("unavailable"), "unstarted", "unstarted"),
        (outcome(fault="worker"), "void", "dropped"),
        (outcome(fault="defect"), "void", "dropped"),
    ],
)
def test_the_verdict_on_each_outcome(given: JobOutcome, running: str, stopping: str) -> None:
    assert judge(given, stopping=False) == running
    assert judge(given, stopping=True) == stopping


def test_the_result_of_a_game_counts_what_players_decided() -> None:
    made = [(0, True), (-1, False), (0, False), (1, False), (-1, False), (0, False)]
    record = GameRecord(
        game="pig",
        game_version=1,
        game_parameters={},
        players=[
            PlayerRecord(name=name, agent="random", seconds=seconds, cpu_seconds=cpu)
            for name, seconds, cpu in (("ann", 0.5, None), ("bob", 0.25, 0.125))
        ],
        moves=[
            MoveRecord(ply=ply, actor=actor, action=0, text="x", opening=opening)
            for ply, (actor, opening) in enumerate(made)
        ],
        returns=(1.0, -1.0),
        termination=Termination.TIME,
        loser=1,
        detail="late",
        started="2025-11-21T02:23:45+00:00",
        seconds=3.0,
        versions={"miai": "0.1.0"},
    )
    assert summary(record) == GameResult(
        returns=(1.0, -1.0),
        termination="time",
        loser=1,
        detail="late",
        moves=4,
        player_moves=(2, 1),
        seconds=(0.5, 0.25),
        cpu_seconds=(None, 0.125),
        wall_seconds=3.0,
        started=record.started,
        versions={"miai": "0.1.0"},
    )
