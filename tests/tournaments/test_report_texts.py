"""Whole reports in every format: of a league, a match, payoffs and rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.tournaments.support import store_of
from tests.tournaments.test_many_players import row as ranked_row
from tests.tournaments.test_payoffs import INFO as POKER
from tests.tournaments.test_payoffs import rows as payoff_rows
from tests.tournaments.test_report import INFO, match_games, round_robin, some_results
from tests.whole_texts import assert_report

from miai_tournaments.report.details import build_details
from miai_tournaments.report.report import TournamentReport, build_report
from miai_tournaments.store.rows import GameRow, PlayerRow, RunInfo

RESULTS = {
    "adjudication": {"hold_out": 0.25, "order": ["score", "length"]},
    "openings": {"lines": [[0], [1], [2]], "names": ["corner", "", "corner"]},
}


def test_a_league_with_openings_settings_teams_and_a_table(tmp_path: Path) -> None:
    rows = [
        replace(
            row,
            game_id=f"g{n}",
            pair_id=f"p{n // 2}",
            opening=(n % 3,),
            settings={"komi": 6.5} if n % 4 else {},
            seconds=(1 + n / 10, 5.0),
            moves=50 + n,
            detail="by hand" if n % 5 else "",
            status="pending" if n % 9 == 8 else "done",
        )
        for n, row in enumerate(round_robin(6))
    ]
    names = [f"agent-{n}" for n in range(6)]
    players = [
        PlayerRow(name=name, agent="mcts", team="odd" if n % 2 else "", given=size, parameters=size)
        for n, name in enumerate(names)
        for size in [{"size": 10**n}]
    ]
    table: list[object] = [
        {"name": name, "points": n / 2 or "many", "buchholz": n} for n, name in enumerate(names)
    ]
    ranking = [*names[::-1], "gone"]  # a store may be foreign
    facts = {"kind": "swiss", "ranking": ranking, "standings": [*table, "stray"]}
    info = replace(INFO, facts=facts, resolved={**INFO.resolved, "results": RESULTS})
    with store_of(tmp_path / "run", info, players, rows) as store:
        report = build_report(
            store,
            details=True,
            superiority=True,
            bootstrap=20,
            bootstrap_seed=1,
            anchor=names[0],
            anchor_elo=1500.0,
        )
    assert_report("league", report, tmp_path)


def test_a_match_with_its_test(tmp_path: Path) -> None:
    llr: dict[str, Any] = {"llr": 1.25, "lower": -2.94, "upper": 2.94, "verdict": None, "pairs": 3}
    llr["curve"] = [[1, -0.5], [2, 0.25], [3, 1.25]]
    facts = {"kind": "sprt", "text": "undecided so far", **llr}
    rows = match_games(some_results(12))
    report = build_report(rows, info=replace(INFO, facts=facts), details=True, bootstrap=20)
    assert_report("match", report, tmp_path)


def detailed(rows: Sequence[GameRow], info: RunInfo, *teams: str) -> TournamentReport:
    """Return a report with details of these players, each with its team."""
    players = [
        PlayerRow(name=name, agent="mcts", team=team, given=size, parameters=size)
        for n, (name, team) in enumerate(zip(("ann", "bob", "cid"), teams, strict=False))
        for size in [{"size": 3 - n}]
    ]
    report = build_report(rows, info=info, players=[player.name for player in players])
    found = build_details(report, rows, players=players)
    return replace(report, details=found, entered=players)


def test_payoffs_with_a_team(tmp_path: Path) -> None:
    games = [("ann", "bob", 1.0), ("bob", "ann", -1.0), ("bob", "cid", 2.0), ("cid", "bob", 1.5)]
    rows = payoff_rows(*games, ("ann", "cid", 1.0), ("cid", "ann", 4.0), *games)
    facts = {"kind": "payoff-test", "text": "undecided", "limit_h0": 2.9, "limit_h1": 3.1}
    curves = [[[1, 0.1], [2, 0.3], [3, 0.2]], [[1, -0.1], [2, -0.3], [3, 0.4]]]
    info = replace(POKER, facts={**facts, "curves": curves})
    assert_report("payoffs", detailed(rows, info, "blue", "", "blue"), tmp_path)


def test_rankings_of_three(tmp_path: Path) -> None:
    seatings = (("ann", "bob", "cid"), ("bob", "cid", "ann"), ("cid", "ann", "bob"))
    returns = ((2.0, 1.0, 0.0), (1.0, 1.0, 0.0), (0.0, 3.0, 1.0), (1.0, 0.0, 0.5))
    rows = [
        ranked_row(seatings[n % 3], values, n // 3) for n, values in enumerate([*returns, *returns])
    ]
    rows[3] = replace(rows[3], termination="crash", loser=1, detail="out of memory")
    facts = {"ranking": ["bob", "ann"], "parameters": {"bob": {"size": 2, "deep": True}}}
    info = RunInfo(name="three", seed=1, rounds=1, game="pig", game_version=1, facts=facts)
    assert_report("rankings", detailed(rows, info, "", "red", "red"), tmp_path)


def test_no_games_yet(tmp_path: Path) -> None:
    assert_report("empty", build_report([], info=INFO, players=["a", "b"], details=True), tmp_path)
