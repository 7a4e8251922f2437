"""Forfeit, void, or refused before the first game: what each failure comes to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
from tests.tournaments.support import RANDOMS, config_text, player, rule, tournament

from miai.record import GameRecord, MoveRecord, PlayerRecord, Termination
from miai_tournaments.config.load import load_tournament
from miai_tournaments.running.check import check_players
from miai_tournaments.running.start import distinct
from miai_tournaments.running.tournament_run import judge
from miai_tournaments.store.rows import GameResult, PlayerRow
from miai_tournaments.workers.game_runner import summary
from miai_tournaments.workers.jobs import JobOutcome

INSIDE: Final = {"isolation": "none"}


def test_of_a_thousand_players_alike_one_is_started() -> None:
    rows = [PlayerRow(name=f"p{n}", agent="random", given={"seed": n}) for n in range(1000)]
    rows.append(PlayerRow(name="other", agent="random", given={"x": 1}))
    assert distinct(rows) == {"p0": " and 999 like it", "other": ""}


def test_check_reports_the_errors_of_every_player(tmp_path: Path, mischief: dict[str, str]) -> None:
    players = (
        player("good", "mischief", way="print"),
        player("lost", "mischief", way="absent"),
        player("bad", "mischief", way="illegal"),
        player("gone", "mischief", way="resign"),
        player("like-bad", "mischief", way="illegal"),
    )
    config = tmp_path / "x.toml"
    config.write_text(config_text(*players, limits=INSIDE))
    done = tournament("check", config, env=mischief, status=2)
    assert re.fullmatch(r"good: no komi\ngood: plays \(\d.*\ngone: plays \(\d.*\n", done.stdout)
    assert done.stderr.splitlines()[-2:] == [
        f"miai: {config}: players[1] (lost): the engine 'mischief' is missing; install it",
        f"{config}: players[2] (bad) and 1 like it: illegal-action: action 999 (the game has "
        "actions 0 to 8) is not legal at ply 2",
    ]


def test_a_check_tells_what_may_end_games_and_what_agents_may_guess(tmp_path: Path) -> None:
    config = tmp_path / "x.toml"

    def shown(*more: str, seed: int = 3, **sections: Any) -> list[str]:
        text = config_text(*RANDOMS, tournament={"seed": seed}, limits=INSIDE, **sections)
        config.write_text("".join((text, *more)))
        lines: list[str] = []
        check_players(load_tournament(config), show=lines.append)
        assert lines[0].startswith("ann and 2 like it: plays (0.")
        assert lines[-1] == f"{config}: 3 players, 12 games, all is well"
        return lines[1:-1]

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
