"""Cycles of three against chance, and alpha-rank against brute force and OpenSpiel."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tests.tournaments.leagues import League

from miai.errors import ConfigError
from miai_tournaments.ratings.alpharank import alpha_rank
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.ratings import fit_ratings
from miai_tournaments.ratings.transitivity import measure_transitivity, payoff_table

quick = settings(max_examples=60, deadline=None)
CIRCLE = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")]


def circle(games: int, score: float = 1.0) -> list[tuple[str, str, float, float]]:
    """Return rock, scissors and paper, with both colours."""
    return [
        game
        for better, worse in CIRCLE
        for game in ((better, worse, score, games), (worse, better, 1 - score, games))
    ]


# -- cycles -----------------------------------------------------------------------------------


def test_rock_scissors_paper_is_one_cycle() -> None:
    found = measure_transitivity(PairResults.from_games(circle(30)), replicates=199)
    assert (found.triples, found.cycles, found.share) == (1, 1, 1.0)
    # Whoever is as strong as the others makes a cycle of three coins: in one of four leagues.
    assert found.p_value == pytest.approx(0.25, abs=0.12)
    assert found.strongest[0].players == ("paper", "rock", "scissors")
    assert found.strongest[0].weakest == 1.0


def test_copies_of_rock_scissors_and_paper_are_more_than_chance() -> None:
    kinds = ("rock", "scissors", "paper")
    players = [f"{kind}{n}" for kind in kinds for n in range(3)]
    games = []
    for a, b in combinations(players, 2):
        beats = (kinds.index(b[:-1]) - kinds.index(a[:-1])) % 3
        score = {0: 0.5, 1: 1.0, 2: 0.0}[beats]
        games += [(a, b, score, 5.0), (b, a, 1 - score, 5.0)]
    found = measure_transitivity(PairResults.from_games(games), replicates=199)
    assert (found.triples, found.cycles) == (27, 27)
    assert found.p_value == pytest.approx(1 / 200)
    assert found.high < 1


@quick
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([0.0, 0.5, 1.0])).filter(
            lambda game: game[0] != game[1]
        ),
        max_size=40,
    )
)
def test_cycles_are_those_of_a_count_by_hand(rows: list[tuple[int, int, float]]) -> None:
    results = PairResults.from_games(
        [(f"p{a}", f"p{b}", score) for a, b, score in rows], players=[f"p{i}" for i in range(6)]
    )
    found = measure_transitivity(results, replicates=19)

    def share(a: int, b: int) -> float | None:
        first = [s for x, y, s in rows if (x, y) == (a, b)]
        second = [1 - s for x, y, s in rows if (x, y) == (b, a)]
        means = [sum(scores) / len(scores) for scores in (first, second) if scores]
        return sum(means) / len(means) if means else None

    triples = cycles = 0
    weakest = []
    for a, b, c in combinations(range(6), 3):
        scores = [share(a, b), share(b, c), share(c, a)]
        known = [score for score in scores if score is not None and abs(score - 0.5) > 1e-9]
        if len(known) == 3:
            triples += 1
            if all(s > 0.5 for s in known) or all(s < 0.5 for s in known):
                cycles += 1
                weakest.append(min(max(s, 1 - s) for s in known))
    assert (found.triples, found.cycles) == (triples, cycles)
    assert [c.weakest for c in found.strongest] == pytest.approx(sorted(weakest)[::-1][:10])
    assert len({frozenset(c.players) for c in found.strongest}) == len(found.strongest)
    for cycle in found.strongest:
        a, b, c = (int(name[1:]) for name in cycle.players)
        links = [share(a, b), share(b, c), share(c, a)]
        assert min(link for link in links if link is not None) == pytest.approx(cycle.weakest)
    figures = (found.share, found.expected, found.low, found.high, found.p_value)
    assert np.isfinite(figures).all()
    assert 0 < found.p_value <= 1


def p_values(spread: float, leagues: int, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    return [
        measure_transitivity(
            League(
                elo=tuple(float(e) for e in rng.normal(0, spread, 8)), advantage=30.0, nu=0.4
            ).play(rng, 4),
            replicates=99,
            seed=int(rng.integers(2**31)),
        ).p_value
        for _ in range(leagues)
    ]


@pytest.mark.parametrize("spread", [0.0, 150.0])
def test_transitive_leagues_are_rarely_called_otherwise(spread: float) -> None:
    found = sum(p <= 0.05 for p in p_values(spread, 80, seed=40))
    assert found <= stats.binom.ppf(0.9999, 80, 0.05), f"spread {spread}, seed 40: {found} of 80"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("spread", [0.0, 60.0, 150.0, 300.0])
def test_transitive_leagues_are_rarely_called_otherwise_in_a_thousand(spread: float) -> None:
    found = sum(p <= 0.05 for p in p_values(spread, 1000, seed=41))
    print(f"spread {spread}, seed 41: {found} of 1000 below 5 %")
    assert found <= stats.binom.ppf(0.9999, 1000, 0.05)


def test_the_same_seed_gives_the_same_figures() -> None:
    results = League(elo=(80.0, 40.0, 0.0, -40.0), nu=0.4).play(np.random.default_rng(2), 3)
    one, two, other = (
        measure_transitivity(results, replicates=99, seed=seed).expected for seed in (1, 1, 2)
    )
    assert one == two != other


@pytest.mark.parametrize("players", [[], ["a"], ["a", "b"], ["a", "b", "c"]])
def test_leagues_without_triples(players: list[str]) -> None:
    found = measure_transitivity(PairResults.from_games([], players=players))
    assert (found.triples, found.share, found.p_value) == (0, 0.0, 1.0)


@pytest.mark.parametrize("replicates", [0, 18, 10**9])
def test_an_invalid_number_of_leagues_is_refused(replicates: int) -> None:
    with pytest.raises(ConfigError, match="replicates"):
        measure_transitivity(PairResults.from_games(circle(1)), replicates=replicates)


# -- payoffs ----------------------------------------------------------------------------------


def test_payoffs_give_either_colour_half_of_the_weight() -> None:
    results = PairResults.from_games(
        [("a", "b", 1.0, 30), ("b", "a", 1.0, 5), ("b", "a", 0.5, 5), ("c", "a", 0.5)]
    )
    with pytest.raises(ConfigError, match="'b' and 'c' never met"):
        payoff_table(results)
    ratings = fit_ratings(results)
    table = payoff_table(results, ratings=ratings)
    assert table[0, 1] == pytest.approx((1 + 0.25) / 2)
    assert table[0, 2] == 0.5
    expected = (ratings.expected_score("b", "c") + 1 - ratings.expected_score("c", "b")) / 2
    assert table[1, 2] == pytest.approx(expected)
    np.testing.assert_allclose(table + table.T, 1.0)


# -- alpha-rank -------------------------------------------------------------------------------

Table = NDArray[np.float64]


def constant_sum(rng: np.random.Generator, size: int, digits: int = 1) -> Table:
    upper = np.triu(np.round(rng.uniform(0, 1, (size, size)), digits), 1)
    return upper + np.tril(1 - upper.T, -1) + np.eye(size) / 2


RPS = np.array([[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [1.0, 0.0, 0.5]])


@pytest.mark.parametrize("alpha", [None, 0.1, 10.0, 1e6])
def test_rock_paper_scissors_is_uniform(alpha: float | None) -> None:
    np.testing.assert_allclose(alpha_rank(RPS, alpha=alpha), 1 / 3, atol=1e-12)


def by_powers(payoffs: Table, alpha: float, population: int) -> Table:
    """Return the distribution by the definition, and a matrix multiplied by itself."""
    size = len(payoffs)
    chain = np.zeros((size, size))
    for s in range(size):
        for r in range(size):
            if r != s:
                # Birth and death: from one mutant to all, step by step (Fermi rule).
                ratio = np.exp(-alpha * (payoffs[r, s] - payoffs[s, r]))
                chain[s, r] = 1 / sum(ratio**k for k in range(population)) / (size - 1)
        chain[s, s] = 1 - chain[s].sum()
    for _ in range(60):
        chain = chain @ chain
        chain /= chain.sum(axis=1, keepdims=True)
    return np.asarray(chain[0])


@pytest.mark.parametrize("seed", range(5))
def test_a_finite_alpha_is_the_definition(seed: int) -> None:
    payoffs = constant_sum(np.random.default_rng(seed), 5)
    for alpha, population in ((0.05, 20), (0.7, 8), (2.0, 4)):
        found = alpha_rank(payoffs, alpha=alpha, population=population)
        np.testing.assert_allclose(found, by_powers(payoffs, alpha, population), atol=1e-9)


def test_biased_rock_paper_scissors() -> None:
    """A circle whose wins are of different size is not uniform, but for the limit."""
    payoffs = np.array([[0.5, 0.4, 0.9], [0.6, 0.5, 0.4], [0.1, 0.6, 0.5]])
    found = alpha_rank(payoffs, alpha=1.0, population=10)
    np.testing.assert_allclose(found, by_powers(payoffs, 1.0, 10), atol=1e-12)
    assert found[0] > 1.05 * found[1] > 1.1 * found[2]
    np.testing.assert_allclose(alpha_rank(payoffs), 1 / 3)  # the limit sees who wins, not by what


def test_openspiel_finds_the_same() -> None:
    reference = pytest.importorskip("open_spiel.python.egt.alpharank")
    rng = np.random.default_rng(7)
    for _ in range(20):
        payoffs = constant_sum(rng, int(rng.integers(2, 8)))
        for alpha in (0.05, 0.3):
            theirs = reference.compute([payoffs], m=20, alpha=alpha)[2]
            ours = alpha_rank(payoffs, alpha=alpha, population=20)
            np.testing.assert_allclose(ours, theirs, atol=1e-8)
        theirs = reference.compute([payoffs], use_inf_alpha=True, inf_alpha_eps=1e-6)[2]
        np.testing.assert_allclose(alpha_rank(payoffs), theirs, atol=1e-3)


def perturbed(payoffs: Table, eps: float) -> Table:
    """Return the paper's chain for an infinite alpha, with mistakes, solved in rationals."""
    size, chance = len(payoffs), Fraction(eps)
    better = payoffs < payoffs.T
    tied = np.isclose(payoffs.T, payoffs)
    chain = [
        [
            Fraction(0) if s == r else Fraction(1, 2) if tied[s, r] else 1 - chance
            if better[s, r] else chance
            for r in range(size)
        ]
        for s in range(size)
    ]  # fmt: skip
    # Weight of a state: spanning trees that lead to it (the Markov chain tree theorem).
    weights = []
    for root in range(size):
        kept = [i for i in range(size) if i != root]
        matrix = [
            [sum(chain[i], Fraction(0)) if i == j else -chain[i][j] for j in kept] for i in kept
        ]
        weights.append(_determinant(matrix))
    return np.array([float(weight / sum(weights, Fraction(0))) for weight in weights])


def _determinant(matrix: list[list[Fraction]]) -> Fraction:
    if not matrix:
        return Fraction(1)
    head, *rest = matrix
    minors = ([row[:i] + row[i + 1 :] for row in rest] for i in range(len(head)))
    terms = (v * _determinant(m) for v, m in zip(head, minors, strict=True))
    return sum((term * (-1) ** i for i, term in enumerate(terms)), Fraction(0))


@pytest.mark.parametrize("seed", range(6))
def test_the_limit_is_that_of_vanishing_mistakes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    payoffs = np.round(constant_sum(rng, 5) * 2) / 2  # many ties
    np.fill_diagonal(payoffs, 0.5)
    upper = np.triu(payoffs, 1)
    payoffs = upper + np.tril(1 - upper.T, -1) + np.eye(5) / 2
    np.testing.assert_allclose(alpha_rank(payoffs), perturbed(payoffs, 1e-12), atol=1e-9)


def test_a_player_that_beats_all_has_all_the_mass() -> None:
    payoffs = np.array([[0.5, 0.51, 1.0], [0.49, 0.5, 1.0], [0.0, 0.0, 0.5]])
    np.testing.assert_array_equal(alpha_rank(payoffs), [1.0, 0.0, 0.0])


@quick
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0, 1, 3, 12]))
def test_shares_are_finite_and_add_up(seed: int, size: int, digits: int) -> None:
    payoffs = constant_sum(np.random.default_rng(seed), size, digits)
    for alpha in (None, 1e-6, 1.0, 1e9):
        shares = alpha_rank(payoffs, alpha=alpha)
        assert np.isfinite(shares).all()
        assert (shares >= 0).all()
        assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "payoffs",
    [
        np.ones((2, 3)),
        [[0.5, 0.6], [0.6, 0.5], [0, 0]],
        [[0, 1, 0], [0, 0, 1], [0, 0, 0]],
        [[0, np.nan], [0, 0]],
        [],
    ],
)
def test_invalid_payoffs_are_refused(payoffs: object) -> None:
    with pytest.raises(ValueError, match="payoffs must be"):
        alpha_rank(payoffs)  # type: ignore[arg-type]


@pytest.mark.parametrize(("alpha", "population"), [(0.0, 50), (np.nan, 50), (1.0, 1), (1.0, 10**9)])
def test_numbers_out_of_range_are_refused(alpha: float, population: int) -> None:
    with pytest.raises(ConfigError, match="give a number"):
        alpha_rank(RPS, alpha=alpha, population=population)
