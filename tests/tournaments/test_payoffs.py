"""Where results are payoffs, their size counts: in reports, formats and tests of matches."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from tests.tournaments.formats import entrants, make, names, play
from tests.tournaments.support import config_text, player, refused, tournament
from tests.warm_command import run_miai

from miai.errors import ConfigError
from miai.game import GameInfo
from miai.record_reader import read_record
from miai.testing.game_checks import check_returns
from miai_classics.kuhn_poker import KuhnPoker
from miai_classics.tic_tac_toe import TicTacToe
from miai_tournaments.formats.format import Meeting, Pairing
from miai_tournaments.ratings.payoffs import MeanPayoff, Payoffs, PayoffTest
from miai_tournaments.report.report import build_report
from miai_tournaments.report.standings import count_games
from miai_tournaments.store.rows import PAYOFFS, GameRow, RunInfo
from miai_tournaments.store.store import Store

INFO = RunInfo(
    name="poker",
    seed=1,
    rounds=1,
    game="kuhn_poker",
    game_version=1,
    resolved={PAYOFFS: {"bound": 2.0}},
)


def rows(*games: tuple[str, str, float], of_a_pair: int = 2) -> list[GameRow]:
    """Return finished games ``(first, second, payoff of the first)``, in pairs as they come."""
    return [
        GameRow(
            game_id=f"g{number}",
            pair_id=f"p{number // of_a_pair}",
            round=1,
            players=(first, second),
            seed=1,
            status="done",
            returns=(payoff, -payoff),
            termination="terminal",
        )
        for number, (first, second, payoff) in enumerate(games)
    ]


# Means


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=30))
def test_a_mean_against_one_opponent_has_the_interval_of_student(
    pairs: list[tuple[int, int]],
) -> None:
    payoffs = Payoffs()
    for number, (one, other) in enumerate(pairs):  # of ann: first as the first, then as the second
        payoffs.add(f"p{number}", ("ann", "bob"), (one, -one))
        payoffs.add(f"p{number}", ("bob", "ann"), (-other, other))
    mean = payoffs.of("ann")
    assert mean is not None
    assert mean == payoffs.against("ann", "bob")
    values = [(one + other) / 2 for one, other in pairs]
    assert mean.value == pytest.approx(np.mean(values))
    assert (mean.pairs, mean.games) == (len(pairs), 2 * len(pairs))
    half = scipy.stats.t.ppf(0.975, len(pairs) - 1) * scipy.stats.sem(values)
    assert mean.margin == pytest.approx(half, rel=2e-3, abs=1e-12)
    theirs = payoffs.of("bob")
    assert theirs == replace(mean, value=-mean.value) or theirs == replace(mean, value=0.0)


def test_intervals_cover_the_mean_over_opponents_of_different_strength() -> None:
    rng = np.random.default_rng(5)
    expected = {"weak": 3.0, "even": 0.0, "strong": -2.0}
    covered = 0
    widths = []
    for _ in range(1000):
        payoffs = Payoffs()
        for name, mean in expected.items():
            for number in range(6):
                payoff = rng.normal(mean, 1.0)
                payoffs.add(f"{name}{number}", ("hero", name), (payoff, -payoff))
        found = payoffs.of("hero")
        assert found is not None
        assert found.margin is not None
        covered += abs(found.value - 1 / 3) <= found.margin
        widths.append(found.margin)
    assert 925 <= covered <= 970  # 950 expected, three standard errors are 21
    assert np.mean(widths) == pytest.approx(scipy.stats.t.ppf(0.975, 15) / math.sqrt(18), rel=0.03)


def test_one_pair_has_no_interval() -> None:
    payoffs = Payoffs()
    payoffs.add("p", ("ann", "bob"), (2.0, -2.0))
    assert payoffs.of("ann") == MeanPayoff(value=2.0, margin=None, pairs=1, games=1)
    assert payoffs.of("cid") is None
    assert payoffs.against("ann", "cid") is None
    assert payoffs.ranking(["cid", "bob", "ann"]) == ["ann", "bob", "cid"]


# Reports


@pytest.mark.parametrize("option", ["anchor", "superiority", "bootstrap"])
def test_options_about_ratings_are_refused(option: str) -> None:
    value: Any = {"anchor": "a", "superiority": True, "bootstrap": 10}[option]
    with pytest.raises(ConfigError, match=f"^{option}: is about ratings, but the results of this"):
        build_report(rows(("a", "b", 1.0)), info=INFO, **{option: value})


def test_a_live_count_equals_a_later_one() -> None:
    games = rows(("a", "b", 1.0), ("b", "a", -2.0), ("a", "c", 2.0))
    live = count_games(games[:1], payoffs=True)
    for row in games[1:]:
        live.note(row)
    assert live.payoffs == count_games(games, payoffs=True).payoffs


# A run


@pytest.mark.slow
def test_a_run_of_poker_has_duplicate_deals_and_a_report_of_payoffs(tmp_path: Path) -> None:
    players = (player("wild"), player("sage", "ismcts", simulations=60), player("mad"))
    config = tmp_path / "x.toml"
    config.write_text(config_text(*players, game={"name": "kuhn_poker"}, tournament={"rounds": 8}))
    out = tmp_path / "out"
    done = tournament("run", config, "--out", out, "--workers", 2)
    assert "Mean payoff per game" in done.stdout
    with Store.read(out) as store:
        games = {row.game_id: row for row in store.results()}
        records = {name: read_record(store.record(name)) for name in games}
    assert len(games) == 48
    for name, record in records.items():
        if name.endswith("a"):
            twin = records[f"{name[:-1]}b"]
            deals = [[m.action for m in r.moves if m.actor < 0] for r in (record, twin)]
            assert deals[0] == deals[1]
            assert [p.name for p in twin.players] == [p.name for p in record.players][::-1]
    plain = json.loads(tournament("report", out, "--json").stdout)
    for entry in plain["players"]:
        own = [
            row.returns[row.players.index(entry["name"])]
            for row in games.values()
            if entry["name"] in row.players
        ]
        assert entry["mean_return"] == pytest.approx(np.mean(own))
        assert entry["low"] < entry["mean_return"] < entry["high"]
    means = [entry["mean_return"] for entry in plain["players"]]
    assert means == sorted(means, reverse=True)
    tournament("report", out, "--format", "html", "--out", tmp_path / "page.html")
    assert "two games of the same deal" in (tmp_path / "page.html").read_text()
    assert "superiority: is about ratings" in refused("report", out, "--superiority")
    rated = run_miai(["rate", str(out)], timeout=60)
    assert rated.returncode == 2
    assert "the results of kuhn_poker are payoffs, which have no ratings" in rated.stderr


# Formats


def by_strength(order: tuple[str, ...]) -> Callable[[Pairing, int], float]:
    """Payoffs by which the last player wins most games, and the first most chips."""

    def payoff(pairing: Pairing, game: int) -> float:
        ahead = order.index(pairing.second) - order.index(pairing.first)
        return (5.0 if game else -1.0) * math.copysign(1.0, ahead)

    return payoff


def test_points_of_a_meeting_are_added_up() -> None:
    meeting = Meeting(Pairing(first="a", second="b", round=1), [(1.5, -1.5), (-0.5, 0.5)])
    assert (meeting.points_of("a"), meeting.points_of("b")) == (1.0, -1.0)
    won = Meeting(Pairing(first="a", second="b", round=1), [(1.0, 0.0), None])
    assert (won.points, won.points_of("b"), won.complete) == (1.0, 0.0, False)


@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("name", ["knockout", "swiss"])
def test_the_most_chips_win(count: int, name: str) -> None:
    order = names(count)[::-1]
    values: dict[str, object] = {"rounds": count - 1} if name == "swiss" else {}
    built = make(name, entrants(count, payoff_bound=6.0), **values)
    _, end = play(built, by_strength(order), shared=0.0)
    assert end.facts["ranking"][0] == order[0]
    if name == "swiss" and count % 2:
        points = {entry["name"]: entry["points"] for entry in end.facts["standings"]}
        assert sum(points.values()) == pytest.approx(0.0)  # a bye is worth nothing


def test_a_tied_match_of_payoffs_is_played_on() -> None:
    built = make("knockout", entrants(2, payoff_bound=2.0), pairs=1, tiebreaks=3)

    def even(pairing: Pairing, game: int) -> float:
        return 1.0 if game else -1.0

    meetings, end = play(built, even, shared=0.0)
    assert len(meetings) == 4
    assert end.facts["ranking"][0] == names(2)[0]


# The sequential test


def capital_step_by_step(values: list[float], mean: float) -> float:
    """The capital after bets on values above a mean, one after another; all from 0 to 1."""
    capital, seen = 1.0, [0.5]
    squares = 0.25
    for value in values:
        estimate = sum(seen) / len(seen)
        variance = squares / len(seen)
        best = (estimate - mean) / (variance + (estimate - mean) ** 2)
        capital *= 1 + min(max(best, 0.0), 0.75 / mean) * (value - mean)
        seen.append(value)
        squares += (value - sum(seen) / len(seen)) ** 2
    return capital


@given(st.lists(st.integers(-4, 4), max_size=25), st.integers(-5, 4))
def test_the_evidence_is_the_capital_of_a_bettor(pairs: list[int], low: int) -> None:
    test = PayoffTest(mean0=low / 10, mean1=low / 10 + 0.15, bound=2.0)
    evidence = test.path(pairs)
    assert evidence.shape == (len(pairs), 2)
    values = [(pair / 2 / 2 + 1) / 2 for pair in pairs]
    low_, high = ((mean / 2 + 1) / 2 for mean in (test.mean0, test.mean1))
    for count in range(1, len(pairs) + 1):
        expected = (
            capital_step_by_step(values[:count], low_),
            capital_step_by_step([1 - v for v in values[:count]], 1 - high),
        )
        assert np.exp(evidence[count - 1]) == pytest.approx(expected, rel=1e-9)


def test_nobody_gains_on_average_under_a_hypothesis() -> None:
    """The capital's expectation over all sequences is 1 where the hypothesis holds exactly."""
    outcomes = ((-2.0, 0.5), (0.0, 0.3), (4.0, 0.2))  # of a pair; a mean payoff of -0.1 a game
    mean = sum(value * chance for value, chance in outcomes) / 2
    above = PayoffTest(mean0=mean, mean1=1.0, bound=2.0)
    below = PayoffTest(mean0=-1.0, mean1=mean, bound=2.0)
    for place, test in ((0, above), (1, below)):
        total = 0.0
        for sequence in product(outcomes, repeat=7):
            values = [value for value, _ in sequence]
            chance = math.prod(chance for _, chance in sequence)
            total += chance * math.exp(test.path(values)[-1, place])
        assert total == pytest.approx(1.0, rel=1e-9)


def test_each_error_has_its_own_limit() -> None:
    gains = [0.5, 1.0] * 40  # of the first player, so H0 is rejected, or without them H1
    verdicts = {}
    for sign in (1, -1):
        for alpha, beta in ((0.2, 0.001), (0.001, 0.2)):
            test = PayoffTest(mean0=-0.1, mean1=0.1, bound=2.0, alpha=alpha, beta=beta)
            verdicts[sign, alpha] = test.decide([sign * gain for gain in gains])
    assert [state.verdict for state in verdicts.values()] == ["H1", "H1", "H0", "H0"]
    assert verdicts[1, 0.2].pairs < verdicts[1, 0.001].pairs
    assert verdicts[-1, 0.001].pairs < verdicts[-1, 0.2].pairs
    assert verdicts[1, 0.2].limit_h0 == pytest.approx(math.log(5))
    assert verdicts[1, 0.2].limit_h1 == pytest.approx(math.log(1000))


def test_later_pairs_change_nothing() -> None:
    test = PayoffTest(mean0=0.0, mean1=0.5, bound=2.0)
    pairs = [2.0] * 40
    state = test.decide(pairs)
    assert state.verdict == "H1"
    assert test.decide(pairs[: state.pairs] + [-4.0] * 100) == state
    assert test.decide(pairs[: state.pairs - 1]).verdict is None
    assert test.decide([]).pairs == 0
    with pytest.raises(ValueError, match="beyond its bound, 2"):
        test.decide([4.5])


# Games declare it


def test_a_game_without_payoffs_has_three_results() -> None:
    class Odd(TicTacToe):
        info: GameInfo = replace(TicTacToe.info, max_utility=2.0, min_utility=-2.0)

    state = Odd().new_initial_state()
    for action in (0, 3, 1, 4, 2):
        state.apply_action(action)
    (finding,) = check_returns(state, random.Random(0))
    assert "not a loss, a draw or a win" in finding
    assert "declare GameInfo.payoffs" in finding
    assert KuhnPoker.info.payoff_bound == 2.0
    assert TicTacToe.info.payoff_bound is None


def test_formats_know_which_points_players_share() -> None:
    assert entrants(2).shared == 1.0
    assert entrants(2, payoff_bound=3.0).shared == 0.0
