"""A match of two players is reported as their difference, the same way everywhere."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.tournaments.support import store_of
from tests.tournaments.test_report import INFO, game, small_tournament

from miai_tournaments.report.head_to_head import head_to_head
from miai_tournaments.report.report import build_report
from miai_tournaments.report.standings import count_games, count_store
from miai_tournaments.store.rows import GameRow, PlayerRow


def match_games(
    results: list[tuple[int, int]], players: tuple[str, str] = ("new", "base")
) -> list[GameRow]:
    """Return pairs of games; results are for the first of `players`, who begins the first game."""
    one, other = players
    rows = []
    for number, (begins, replies) in enumerate(results):
        rows.append(game(2 * number, one, other, begins))
        rows.append(game(2 * number + 1, other, one, -replies))
    return [replace(row, pair_id=f"pair-{i // 2}") for i, row in enumerate(rows)]


def some_results(pairs: int, *, seed: int = 3) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.choice([1, 1, 0, -1]), rng.choice([1, 0, 0, -1])) for _ in range(pairs)]


def test_the_first_player_entered_has_the_point_of_view() -> None:
    rows = match_games([(1, 1), (1, 0), (1, -1)])
    ahead = head_to_head(build_report(rows, players=("new", "base")))
    behind = head_to_head(build_report(rows, players=("base", "new")))
    assert ahead is not None
    assert behind is not None
    assert ahead.pentanomial == (0, 0, 1, 1, 1)
    assert behind.pentanomial == (1, 1, 1, 0, 0)
    assert ahead.difference.value == pytest.approx(-behind.difference.value)
    assert ahead.difference.value > 0
    assert ahead.superiority == pytest.approx(1 - behind.superiority)


def test_a_game_without_its_other_half_is_not_in_a_pair() -> None:
    match = head_to_head(build_report(match_games([(1, 1), (0, 0)])[:-1]))
    assert match is not None
    assert (match.pentanomial, match.unpaired) == ((0, 0, 0, 0, 1), 1)
    assert match.results.games == 3


def test_others_are_no_match() -> None:
    rows = match_games(some_results(5))
    assert head_to_head(build_report(small_tournament())) is None
    assert head_to_head(build_report(rows, players=("new", "base", "third"))) is None
    assert head_to_head(build_report(rows, anchor="base")) is None
    assert head_to_head(build_report([], players=("new", "base"))) is None
    pending = [replace(row, status="pending") for row in rows]
    assert head_to_head(build_report(pending)) is None


@pytest.mark.parametrize("names", [("new", "base"), ("base", "new")])
def test_a_store_counts_the_same_pairs(tmp_path: Path, names: tuple[str, str]) -> None:
    rows = match_games(some_results(12))[:-1]
    players = [PlayerRow(name=name, agent="random") for name in names]
    with store_of(tmp_path, replace(INFO, game="tic_tac_toe"), players, rows) as store:
        by_column, by_row = count_store(store), count_games(rows, players=names)
    assert by_column.pairs == by_row.pairs
    assert {pair: asdict(tally) for pair, tally in by_column.pairs.items()}
    assert sum(tally.games for tally in by_column.pairs.values()) == 23
