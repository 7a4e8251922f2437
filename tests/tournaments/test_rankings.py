"""Ratings of games of any number of players, against brute force, theorems and simulated fields."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.tournaments.leagues import League, race

from miai.errors import ConfigError
from miai_tournaments.ratings.bootstrap import bootstrap_ratings
from miai_tournaments.ratings.plackett_luce import RankingModel
from miai_tournaments.ratings.rankings import (
    RankedGame,
    Ranking,
    Rankings,
    ranks_of,
    results_of,
    share_ahead,
)
from miai_tournaments.ratings.ratings import ELO, fit_rankings, fit_ratings, fit_results

NAMES = ("ann", "bob", "cid", "dee")


def naive_loss(
    parameters: NDArray[np.float64], games: list[RankedGame], players: tuple[str, ...], prior: float
) -> float:
    """Return minus the log-posterior of games of three, written out game by game.

    Parameters are four strengths, the seats' values but the last, and the logarithms of the weights
    of ties of three, of two among three, and of two among two.
    """
    strength = dict(zip(players, parameters, strict=False))
    seats = (*parameters[4:6], 0.0)
    nu = {(3, 3): parameters[6], (3, 2): parameters[7], (2, 2): parameters[8]}
    total = 0.0
    for names, returns, *_ in games:
        worths = {seat: strength[name] + seats[seat] for seat, name in enumerate(names)}
        for value in sorted(set(returns), reverse=True):
            if len(worths) > 1:
                chosen = tuple(seat for seat in worths if returns[seat] == value)
                total += naive_choice(worths, chosen, nu)
                worths = {seat: worth for seat, worth in worths.items() if seat not in chosen}
    for name in players:  # half a game won and half lost against an average opponent
        for sign in (-1, 1):
            total -= prior / 2 * math.log(1 + math.exp(sign * strength[name]))
    for left, worth in ((3, seats), (2, (0.0, 0.0))):
        equals = dict(enumerate(worth))
        sizes = range(2, left + 1)
        for seat in equals:
            total += prior / 2 / left * naive_choice(equals, (seat,), nu)
        for size in sizes:
            ties = list(combinations(equals, size))
            for tie in ties:
                total += prior / 2 / len(sizes) / len(ties) * naive_choice(equals, tie, nu)
    return -total


def naive_choice(
    worths: dict[int, float], chosen: tuple[int, ...], nu: dict[tuple[int, int], float]
) -> float:
    """Return the log-probability that some of the players with these worths are chosen."""

    def weight(group: tuple[int, ...]) -> float:
        mean = sum(worths[seat] for seat in group) / len(group)
        return math.exp(mean + (nu[len(worths), len(group)] if len(group) > 1 else 0.0))

    sets = [group for k in range(1, len(worths) + 1) for group in combinations(sorted(worths), k)]
    return math.log(weight(chosen) / sum(map(weight, sets)))


SOME_GAMES: list[RankedGame] = [
    (("ann", "bob", "cid"), (3, 2, 1)),
    (("bob", "cid", "ann"), (1, 2, 3)),
    (("cid", "ann", "dee"), (1, 0, 1)),
    (("dee", "bob", "ann"), (0, 0, 0)),
    (("dee", "bob", "cid"), (0, 1, 0)),
    (("ann", "dee", "bob"), (2, 1, 2)),
    (("bob", "ann", "cid"), (5, 4, 4)),
    (("cid", "dee", "ann"), (5, 4, 3)),
    (("cid", "dee", "bob"), (0, 1, 0)),
]


def test_the_posterior_is_the_one_that_is_written_out_and_the_fit_its_maximum() -> None:
    rankings = Rankings.from_games(SOME_GAMES, players=NAMES)
    model = RankingModel(rankings)
    assert model.ties == [{(3, 3): 6, (3, 2): 7, (2, 2): 8}]
    rng = np.random.default_rng(1)
    origin = rng.normal(size=9)
    posterior = model.posterior(rankings.kinds[0].count[None], prior_games=0.7)
    point = posterior.at(origin[None])

    def loss(parameters: NDArray[np.float64]) -> float:
        return naive_loss(parameters, SOME_GAMES, NAMES, 0.7)

    assert point.value()[0] == pytest.approx(-loss(origin), rel=1e-12)
    step = 1e-5
    bumps = step * np.eye(9)
    slopes = [(loss(origin - bump) - loss(origin + bump)) / (2 * step) for bump in bumps]
    assert point.gradient()[0] == pytest.approx(slopes, abs=1e-7)
    information = point.information()[0]
    for i, j in combinations(range(9), 2):
        one, other = bumps[i] * 10, bumps[j] * 10
        corner = loss(origin + one + other) - loss(origin + one - other)
        corner += loss(origin - one - other) - loss(origin - one + other)
        assert information[i, j] == pytest.approx(corner / (4 * (10 * step) ** 2), abs=1e-5)

    fit = fit_rankings(rankings, prior_games=0.7)
    gaps = fit.elo[1:] - fit.elo[0]
    # Newton steps of the fit, and steps of another method on the function that is written out.
    best = scipy.optimize.minimize(loss, np.zeros(9), jac="3-point", options={"gtol": 1e-8}).x
    assert fit.log_posterior == pytest.approx(-loss(best), abs=1e-9)
    assert gaps == pytest.approx(ELO * (best[1:4] - best[0]), abs=1e-3)


@pytest.mark.parametrize("nu", [0.0, 0.7])
def test_with_two_players_it_is_the_model_of_pairs(nu: float) -> None:
    league = League(elo=(0, 100, -250, 40), advantage=60, nu=nu)
    results = league.play(np.random.default_rng(5), 12)
    pairs, rankings = fit_ratings(results), fit_rankings(Rankings.from_pairs(results))
    assert rankings.elo == pytest.approx(pairs.elo, abs=1e-8)
    assert rankings.covariance == pytest.approx(pairs.covariance, rel=1e-8)
    assert rankings.log_posterior == pytest.approx(pairs.log_posterior, rel=1e-12)
    (first, second) = rankings.seats[0]
    advantage = pairs.first_player_advantage
    assert advantage is not None
    assert first.value - second.value == pytest.approx(advantage.value, abs=1e-8)
    assert first.value == -second.value
    assert 2 * first.standard_error == pytest.approx(advantage.standard_error, rel=1e-8)
    for name in ("groups", "one_sided", "hides_first_move"):
        assert getattr(rankings, name) == getattr(pairs, name)
    assert (rankings.games == pairs.games).all()
    assert (rankings.points == pairs.points).all()


def test_counted_games_of_two_are_fitted_as_pairs() -> None:
    counts: dict[Ranking, float] = {
        (("ann", "bob"), (0, 1)): 3,
        (("bob", "ann"), (0, 0)): 2,
        (("bob", "ann"), (1, 0)): 1,
    }
    games = [("ann", "bob", 1.0, 3), ("bob", "ann", 0.5, 2), ("bob", "ann", 0.0, 1)]
    fit = fit_results(results_of(counts, players=("ann", "bob")))
    assert (fit.elo == fit_ratings(games).elo).all()
    assert fit.seats == ()


def test_where_only_the_winner_counts_ratings_are_shares_of_wins() -> None:
    """The ties of the losers say nothing: P(first) = a / (a + b + c), so a : b : c is 60 : 30 : 10.

    All seatings occur equally often, and seats make no difference.
    """
    games: list[RankedGame] = []
    wins = {"ann": 60.0, "bob": 30.0, "cid": 10.0}
    for seats in permutations(wins):
        games += [(seats, [name == winner for name in seats], n) for winner, n in wins.items()]
    fit = fit_rankings(Rankings.from_games(games), prior_games=0.001)
    expected = [400 * math.log10(wins["ann"] / n) for n in wins.values()]
    assert fit.elo[0] - fit.elo == pytest.approx(expected, abs=0.5)
    assert [seat.value for seat in fit.seats[0]] == pytest.approx([0, 0, 0], abs=1e-6)
    # The error of ln(60 : 10) of 600 games, from the multinomial distribution of the winner.
    error = ELO * math.sqrt(1 / 360 + 1 / 60)
    assert fit.difference("ann", "cid").standard_error == pytest.approx(error, rel=0.01)


@settings(max_examples=15)
@given(st.permutations(range(4)), st.permutations(range(3)))
def test_names_and_seats_are_only_names(players: list[int], seats: list[int]) -> None:
    elo = dict(zip(NAMES, (0.0, 150.0, -80.0, 300.0), strict=True))
    games = race(np.random.default_rng(3), elo, (80.0, 0.0, -40.0), 1)
    games += [(seated, (1, 1, 0)) for seated, *_ in games[:5]]
    fit = fit_rankings(Rankings.from_games(games, players=NAMES))
    renamed = dict(zip(NAMES, (NAMES[i] for i in players), strict=True))
    moved: list[RankedGame] = [
        ([renamed[names[i]] for i in seats], [returns[i] for i in seats])
        for names, returns, *_ in reversed(games)
    ]
    other = fit_rankings(Rankings.from_games(moved, players=NAMES))
    assert [other.estimate(renamed[n]).value for n in NAMES] == pytest.approx(fit.elo, abs=1e-7)
    assert [value.value for value in other.seats[0]] == pytest.approx(
        [fit.seats[0][i].value for i in seats], abs=1e-7
    )
    assert [value.standard_error for value in other.seats[0]] == pytest.approx(
        [fit.seats[0][i].standard_error for i in seats], rel=1e-7
    )


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    seats, games, leagues = (50.0, 0.0, -50.0), 3, 60
    elo = dict(zip(NAMES, (0.0, 120.0, -90.0, 240.0), strict=True))
    truth = np.array(list(elo.values()))
    rng = np.random.default_rng(11)
    inside: list[bool] = []
    means = []
    for _ in range(leagues):
        fit = fit_rankings(Rankings.from_games(race(rng, elo, seats, games), players=NAMES))
        means.append(fit.elo)
        for i, j in combinations(range(4), 2):
            gap = fit.difference(NAMES[i], NAMES[j])
            inside.append(gap.low <= truth[i] - truth[j] <= gap.high)
        inside += [s.low <= value <= s.high for s, value in zip(fit.seats[0], seats, strict=True)]
    assert 0.925 <= np.mean(inside) <= 0.975
    error = np.std(means, axis=0) / math.sqrt(leagues)
    assert (np.abs(np.mean(means, axis=0) - (truth - truth.mean())) < 4 * error + 3).all()


def test_kinds_of_games_share_strengths_but_not_seats() -> None:
    elo = dict(zip(NAMES, (0.0, 150.0, -80.0, 300.0), strict=True))
    rng = np.random.default_rng(2)
    games = race(rng, elo, (200.0, -200.0), 40) + race(rng, elo, (-100.0, 0.0, 100.0), 20)
    fit = fit_rankings(Rankings.from_games(games, players=NAMES))
    two, three = ([seat.value for seat in kind] for kind in fit.seats)
    assert two == pytest.approx([200, -200], abs=60)
    assert three == pytest.approx([-100, 0, 100], abs=60)
    truth = np.array(list(elo.values()))
    assert fit.elo == pytest.approx(truth - truth.mean(), abs=70)


def test_limits_are_found_as_for_pairs() -> None:
    chain: list[RankedGame] = [(("a", "b", "c"), (3, 2, 1)), (("b", "c", "a"), (2, 1, 3))]
    fit = fit_rankings(Rankings.from_games(chain, players=("a", "b", "c", "x")))
    assert [group for group in fit.one_sided if group != ("x",)] == [("a",), ("b",), ("c",)]
    assert fit.groups == (("a", "b", "c"), ("x",))
    fixed: list[RankedGame] = [(("a", "b", "c"), (3, 2, 1)), (("a", "b", "c"), (1, 2, 3))]
    assert fit_rankings(Rankings.from_games(fixed)).hides_first_move
    # Strengths that fall by the same step from a to f do what the seats could do.
    steps: list[RankedGame] = [(tuple("abcdef"[n : n + 3]), (3, 2, 1)) for n in range(4)]
    assert fit_rankings(Rankings.from_games(steps)).hides_first_move
    swapped = [(seats, (3, 2, 1)) for seats in permutations("abc")]
    assert not fit_rankings(Rankings.from_games(swapped)).hides_first_move


def test_ranks_and_shares_by_hand() -> None:
    assert ranks_of((0.5, 2.0, 0.5, -1.0)) == (1, 0, 1, 2)
    ranks = (1, 0, 1, 2)
    assert [share_ahead(ranks, seat) for seat in range(4)] == [1.5 / 3, 1.0, 1.5 / 3, 0.0]
    rankings = Rankings.from_games([(NAMES, (0.5, 2.0, 0.5, -1.0), 2)])
    games, points = rankings.totals()
    assert games.tolist() == [2, 2, 2, 2]
    assert points.tolist() == pytest.approx([1.0, 2.0, 1.0, 0.0])
    assert rankings.pairs().totals()[1].tolist() == [3.0, 6.0, 3.0, 0.0]


def test_the_bootstrap_draws_whole_blocks_of_the_same_players() -> None:
    """Games repeated within their blocks make the fit surer of itself, but not the bootstrap."""
    elo = dict(zip(NAMES, (0.0, 100.0, -100.0, 50.0), strict=True))
    games = race(np.random.default_rng(4), elo, (0.0, 0.0, 0.0), 2)
    once = [(str(n), seats, returns) for n, (seats, returns, *_) in enumerate(games)]
    fourfold = [game for game in once for _ in range(4)]
    single = bootstrap_ratings(once, replicates=200, seed=1, players=NAMES)
    repeated = bootstrap_ratings(fourfold, replicates=200, seed=1, players=NAMES)
    fit = fit_rankings(Rankings.from_games(games, players=NAMES))
    assert single.standard_errors == pytest.approx(fit.standard_errors, rel=0.25)
    assert repeated.standard_errors == pytest.approx(single.standard_errors, rel=0.2)
    again = bootstrap_ratings(once[::-1], replicates=200, seed=1, players=NAMES)
    assert (again.elo == single.elo).all()


@pytest.mark.parametrize(
    "game", [(("a",), (1.0,)), (("a", "a"), (1.0, 0.0)), (("a", "b"), (1.0,)), (("a", "b"), ())]
)
def test_games_that_are_none_are_refused(game: RankedGame) -> None:
    with pytest.raises(ValueError, match="two players or more"):
        Rankings.from_games([game])


def test_options_are_checked_and_no_games_give_no_ratings() -> None:
    rankings = Rankings.from_games([], players=("a", "b"))
    assert fit_rankings(rankings).elo.tolist() == [0.0, 0.0]
    with pytest.raises(ConfigError, match="anchor: no player 'c'"):
        fit_rankings(rankings, anchor="c")
    games = [(seats, (3, 2, 1)) for seats in permutations("abc")]
    assert fit_rankings(Rankings.from_games(games), anchor="b", anchor_elo=500).estimate(
        "b"
    ).value == pytest.approx(500)
