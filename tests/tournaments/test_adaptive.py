"""The adaptive format: its choices against brute force, and what it saves in a simulated field."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy
from tests.tournaments.formats import chance, entrants, make, play

from miai_tournaments.formats.format import Entrants, Meeting
from miai_tournaments.ratings.designs import Contrasts, PairDesign, pair_information
from miai_tournaments.ratings.model import Floats, outcomes
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.ratings import ELO, Z95, fit_ratings

PLAYERS = 6


def after(covariance: Floats, information: Floats, i: int, j: int) -> Floats:
    """The covariance after a pair, by inverting the information of all ratings."""
    u = np.zeros(len(covariance))
    u[i], u[j] = 1, -1
    inverse = np.linalg.inv(covariance) + information[i, j] * np.outer(u, u)
    return np.linalg.inv(inverse)


@pytest.mark.parametrize("seed", range(5))
def test_each_choice_is_the_best_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(PLAYERS, PLAYERS))
    covariance = root @ root.T + np.eye(PLAYERS)
    information = rng.uniform(0.05, 1.0, (PLAYERS, PLAYERS))
    information = information + information.T
    design = PairDesign(covariance, information)
    for _ in range(20):
        before = design.covariance.copy()
        variances = np.diagonal(before)

        def loss(pair: tuple[int, int], before: Floats = before) -> float:
            trial = after(before, information, *pair)
            prices = (np.diagonal(before) / np.diagonal(before).max()) ** 31
            return float(prices @ np.diagonal(trial))

        best = min(combinations(range(PLAYERS), 2), key=loss)
        assert design.choose() == best
        assert np.allclose(design.covariance, after(before, information, *best))
        assert (np.diagonal(design.covariance) <= variances + 1e-12).all()


def test_the_information_of_a_pair_is_the_curvature_of_its_likelihood() -> None:
    """By finite differences, at ratings that the games separate so well that nothing shrinks."""
    games = [(a, b, s, 1e6) for a, b in (("a", "b"), ("b", "a")) for s in (1.0, 0.5, 0.0)]
    games += [("a", "b", 1.0, 2e6), ("b", "a", 0.0, 1e6)]
    ratings = fit_ratings(games)
    assert ratings.first_player_advantage is not None
    advantage, nu = ratings.first_player_advantage.value, np.array(ratings.log_nu)

    true_gap = float(ratings.elo[0] - ratings.elo[1])

    def expected_log_likelihood(gap: float) -> float:
        value = 0.0
        for sign in (1, -1):
            x, actual = (np.array((sign * d + advantage) / ELO) for d in (gap, true_gap))
            value += sum(
                float(p * np.log(q))
                for p, q in zip(outcomes(actual, nu), outcomes(x, nu), strict=True)
            )
        return value

    low, middle, high = (expected_log_likelihood(true_gap + d) for d in (-1, 0, 1))
    curvature = -(low - 2 * middle + high)
    assert pair_information(ratings)[0, 1] == pytest.approx(curvature, rel=1e-3)


def random_covariance(rng: np.random.Generator, size: int) -> np.ndarray:
    root = rng.normal(0, 20, (size, size))
    return np.asarray(root @ root.T + np.diag(rng.uniform(100, 900, size)))


@pytest.mark.parametrize("seed", range(5))
def test_the_variance_of_true_ratings_maximises_the_restricted_likelihood(seed: int) -> None:
    """Harville's form (1974), with the mean integrated out, by a general optimiser."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    covariance = random_covariance(rng, size)
    values = rng.normal(0, 60, size) + np.linalg.cholesky(covariance) @ rng.normal(size=size)

    def loss(tau: float) -> float:
        inverse = np.linalg.inv(covariance + tau**2 * np.eye(size))
        weight = inverse.sum()
        mean = inverse.sum(axis=0) @ values / weight
        away = values - mean
        return float(
            (-np.linalg.slogdet(inverse)[1] + math.log(weight) + away @ inverse @ away) / 2
        )

    found = math.sqrt(Contrasts.of(values, covariance).between())
    taus = np.linspace(0, 500, 2001)
    start = taus[int(np.argmin([loss(t) for t in taus]))]
    best = scipy.optimize.minimize_scalar(
        loss, bounds=(max(0.0, start - 1), start + 1), method="bounded", options={"xatol": 1e-6}
    )
    assert loss(found) <= best.fun + 1e-9
    assert found == pytest.approx(best.x, abs=0.1)


def test_uncertain_ratings_are_shrunk_before_players_are_kept_apart() -> None:
    """The same ratings with larger errors: the best and the worst may be close, so they meet."""
    rng = np.random.default_rng(5)
    elo = rng.normal(0, 300, PLAYERS)
    chances = np.stack(outcomes((elo[:, None] - elo) / ELO, np.array(np.log(0.5))), -1)
    first, second = np.nonzero(~np.eye(PLAYERS, dtype=np.bool_))
    win, draw, loss = rng.multinomial(200, chances[first, second]).T
    names = tuple(f"p{n}" for n in range(PLAYERS))
    ratings = fit_ratings(PairResults.from_counts(first, second, win, draw, loss, players=names))
    extremes = int(ratings.elo.argmax()), int(ratings.elo.argmin())
    shares = []
    for errors in (0.001, 1.0, 20.0, 1000.0):
        uncertain = replace(ratings, covariance=ratings.covariance * errors**2)
        information = pair_information(uncertain)
        shares.append(information[extremes] / np.diagonal(information)[0])
    assert shares == sorted(shares)
    assert shares[0] < 0.3 < 0.9 < shares[-1]


def test_equal_players_meet_in_turn() -> None:
    meetings, _ = play(make("adaptive", entrants(6), pairs=15), lambda pairing, game: 0.5)
    pairs = {frozenset((m.pairing.first, m.pairing.second)) for m in meetings[:3]}
    assert len(frozenset.union(*pairs)) == 6
    assert all(m.pairing.colours == "swap" for m in meetings)


@pytest.mark.slow
def test_a_thousand_players_wait_seconds_for_the_first_choices() -> None:
    names = tuple(f"p{number:03}" for number in range(1000))
    begun = time.process_time()
    step = make("adaptive", Entrants(players=names), pairs=1000).more([], room=1)
    assert time.process_time() - begun < 20
    assert set(Counter(name for p in step.pairings for name in p.players).values()) == {2}


def test_a_batch_is_ready_before_the_last_one_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miai_tournaments.ratings.designs._FEW", 0)  # as with many players
    format_ = make("adaptive", entrants(16), pairs=100)
    first = format_.more([], room=1)
    meetings = [Meeting(pairing, [None, None]) for pairing in first.pairings]
    second = format_.more(meetings, room=1)
    assert (len(first.pairings), first.ask_after) == (16, 0)
    assert (len(second.pairings), second.ask_after) == (16, 16)
    monkeypatch.undo()
    names = sorted(entrants(16).players)
    nothing = fit_ratings([], players=names)
    design = PairDesign(nothing.covariance, pair_information(nothing))
    expected = [(*(names[index] for index in design.choose()), 1 + n // 16) for n in range(32)]
    chosen = [*first.pairings, *second.pairings]
    assert [(pairing.first, pairing.second, pairing.round) for pairing in chosen] == expected


def test_batches_grow_with_the_run() -> None:
    format_ = make("adaptive", entrants(5), pairs=112)
    meetings: list[Meeting] = []
    sizes = []
    while (step := format_.more(meetings, room=1)).pairings:
        sizes.append(len(step.pairings))
        for meeting in meetings:
            meeting.scores = [(0.5, 0.5), (0.5, 0.5)]
        meetings += [Meeting(pairing, [None, None]) for pairing in step.pairings]
    # As many pairs as players, and from 96 pairs on a sixteenth of them.
    assert sizes == [*[5] * 20, 6, 6]


def test_a_longer_run_begins_with_the_shorter_one() -> None:
    for pairs in (1, 7, 20, 33):
        short, _ = play(make("adaptive", entrants(5), pairs=pairs), chance(3))
        longer, _ = play(make("adaptive", entrants(5), pairs=60), chance(3))
        assert len(short) == pairs
        assert [m.pairing for m in longer[:pairs]] == [m.pairing for m in short]


def test_it_stops_at_the_width_and_not_before() -> None:
    format_ = make("adaptive", entrants(5), pairs=2000, width=160.0)
    meetings, step = play(format_, chance(4))
    assert step.facts["width"] <= 160 < 1000
    assert step.facts["pairs"] == len(meetings) < 2000
    games = list[tuple[str, str, float]]()
    for meeting in meetings:
        one, other = meeting.pairing.first, meeting.pairing.second
        first, second = (score for score in meeting.scores if score is not None)
        games += [(one, other, first[0]), (other, one, second[1])]
    widest = 2 * Z95 * fit_ratings(games).standard_errors.max()
    assert step.facts["width"] == pytest.approx(widest)
    shorter, earlier = play(make("adaptive", entrants(5), pairs=len(meetings) * 3 // 4), chance(4))
    assert earlier.facts["width"] > 160
    assert earlier.facts["text"].startswith(f"widest interval: {earlier.facts['width']:.0f} Elo")
    again = [m.pairing.opening for m in meetings]
    assert max(again) > 1, "two players who meet again have another opening"
    assert len(shorter) < len(meetings)


@pytest.mark.slow
def test_half_the_games_of_a_round_robin_give_the_same_widest_interval() -> None:
    """Twenty-four players, 400 Elo apart (standard deviation); a tenth of the games are drawn."""
    rng = np.random.default_rng(8)
    elo = rng.normal(0, 400, 24)
    names = tuple(f"p{n:02}" for n in range(elo.size))
    chances = np.stack(outcomes((elo[:, None] - elo + 30) / ELO, np.array(np.log(0.25))), -1)
    first, second = np.nonzero(~np.eye(elo.size, dtype=np.bool_))
    win, draw, loss = rng.multinomial(3, chances[first, second]).T
    everyone = fit_ratings(PairResults.from_counts(first, second, win, draw, loss, players=names))
    width = 2 * Z95 * float(everyone.standard_errors.max())

    def score(a: str, b: str) -> float:
        return float(rng.choice((1.0, 0.5, 0.0), p=chances[names.index(a), names.index(b)]))

    format_ = make("adaptive", Entrants(players=names), pairs=3000, width=width)
    meetings: list[Meeting] = []
    games: list[tuple[str, str, float]] = []
    while not (step := format_.more(meetings, room=1)).finished:
        meetings += [Meeting(pairing, [None, None]) for pairing in step.pairings]
        for meeting in meetings[len(games) // 2 : step.ask_after]:
            one, other = meeting.pairing.first, meeting.pairing.second
            ahead, behind = score(one, other), score(other, one)
            meeting.scores = [(ahead, 1 - ahead), (1 - behind, behind)]
            games += [(one, other, ahead), (other, one, behind)]
    ratings = fit_ratings(games, players=names)
    assert 2 * Z95 * float(ratings.standard_errors.max()) <= width
    held = np.abs(ratings.elo - (elo - elo.mean())) <= Z95 * ratings.standard_errors
    print(f"{len(games)} games, not {3 * first.size}; {held.sum()} of {held.size} held")
    assert len(games) <= 3 * first.size / 2
    assert held.sum() >= 20
