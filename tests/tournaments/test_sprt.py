"""The sequential test of two players: its likelihood ratio, its verdicts and its errors."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from miai_tournaments.ratings import sprt as pentanomial
from miai_tournaments.ratings.sprt import NORMALISED_ELO, Model, Sprt, SprtState

SCORES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
quick = settings(max_examples=40, deadline=None)
counted = st.lists(st.integers(0, 400), min_size=5, max_size=5).filter(sum)


def expected(elo: float, model: Model, seats: int = 2) -> float:
    """Return what a hypothesis fixes: the mean score, or its distance from 1/2 in deviations."""
    if model == "logistic":
        return 1 / (1 + 10 ** (-elo / 400))
    return elo * math.log(10) / 800 * math.sqrt(seats)


def statistic(chances: NDArray[np.float64], model: Model) -> float:
    scores = np.arange(len(chances)) / (len(chances) - 1)
    mean = float(chances @ scores)
    if model == "logistic":
        return mean
    variance = float(chances @ (scores - mean) ** 2)
    return (mean - 0.5) / math.sqrt(max(variance, 1e-12))  # the solver tries certain results too


# -- the likelihood ratio ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "model", "llr"),
    [
        # What fastchess, an implementation of its own, has for matches of Stockfish.
        ((365, 16618, 36229, 16974, 390), 0.0, 2.0, "normalised", 2.25),
        ((127, 4883, 10712, 5150, 104), -1.75, 0.25, "normalised", 3.01),
        ((0, 0, 0, 0, 5550), 0.0, 5.0, "normalised", 111.82),
        ((223, 9863, 21279, 10037, 246), 0.5, 2.5, "logistic", -3.07),
        ((871, 26175, 55983, 26678, 821), 0.0, 2.0, "logistic", -4.98),
    ],
)
def test_published_ratios(
    counts: Sequence[float], elo0: float, elo1: float, model: Model, llr: float
) -> None:
    found = Sprt(elo0, elo1, model=model).log_likelihood_ratio(counts)
    assert found == pytest.approx(llr, abs=0.03)


def numerical_maximum(counts: NDArray[np.float64], target: float, model: Model) -> float:
    """Return the greatest log-likelihood under a hypothesis, by a general solver."""
    shares, best = counts / counts.sum(), -math.inf

    def chances(free: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = np.exp(free - free.max())
        return np.asarray(weights / weights.sum())

    for start in range(5):
        jitter = np.random.default_rng(start).normal(0, 0.4 * start, len(shares))
        found = scipy.optimize.minimize(
            lambda free: float(scipy.special.logsumexp(free) - shares @ free),
            np.log(shares) * (1 if start == 0 else 0.3) + jitter,
            constraints={"type": "eq", "fun": lambda f: statistic(chances(f), model) - target},
            method="SLSQP",
            options={"maxiter": 2000, "ftol": 1e-15},
        )
        if abs(statistic(chances(found.x), model) - target) < 1e-8:
            best = max(best, -float(found.fun) * counts.sum())
    assert math.isfinite(best)
    return best


@pytest.mark.slow
@pytest.mark.parametrize("model", ["logistic", "normalised"])
@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 12))]
)
def test_the_ratio_is_that_of_numerical_maxima(model: Model, seats: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcomes = {2: 5, 3: 13}[seats]  # of three games with 0, 1/4, 1/2, 3/4 or 1 point each
    shape = rng.dirichlet(np.full(outcomes, rng.choice([0.3, 1.0, 5.0])))
    counts = rng.multinomial(int(rng.integers(1, 300)), shape).astype(float)
    elo0, elo1 = sorted(float(e) for e in rng.uniform(-250, 250, 2))
    seen = np.where(counts > 0, counts, pentanomial.UNSEEN)
    one, zero = (numerical_maximum(seen, expected(e, model, seats), model) for e in (elo1, elo0))
    found = Sprt(elo0, elo1, model=model, seats=seats).log_likelihood_ratio(counts.tolist())
    print(f"counts {counts} elo {elo0:.1f} {elo1:.1f}")
    assert found == pytest.approx(one - zero, rel=1e-4, abs=1e-4)


@quick
@given(counted, st.floats(-300, 290), st.floats(1, 200))
def test_the_other_player_sees_the_negative(counts: list[int], elo0: float, width: float) -> None:
    elo1 = min(elo0 + width, 300.0)
    for model in ("logistic", "normalised"):
        found = Sprt(elo0, elo1, model=model).log_likelihood_ratio(counts)
        mirrored = Sprt(-elo1, -elo0, model=model).log_likelihood_ratio(counts[::-1])
        assert math.isfinite(found)
        assert found == pytest.approx(-mirrored, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("model", ["logistic", "normalised"])
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("width", [1.0, 100.0, 300.0])
def test_pairs_that_are_all_alike_give_finite_ratios(
    model: Model, score: float, width: float
) -> None:
    sprt = Sprt(0.0, width, model=model)
    mean1 = expected(width, "logistic") if model == "logistic" else 0.0  # 3/4 is nearer to 1/2
    for number in (1, 2, 1000, 10**6):
        counts = [0.0] * 5
        counts[int(2 * score)] = number
        llr = sprt.log_likelihood_ratio(counts)
        assert math.isfinite(llr)
        assert (llr > 0) == (score > 1 and not (score == 1.5 and mean1 > 0.84))


# -- verdicts ---------------------------------------------------------------------------------


def test_without_pairs_nothing_is_decided() -> None:
    state = Sprt(0, 10).decide([])
    assert (state.llr, state.verdict, state.pairs, state.counts) == (0.0, None, 0, (0,) * 5)
    assert state.lower == pytest.approx(-2.944439)
    assert state.upper == pytest.approx(2.944439)


def test_bounds_are_wald_s() -> None:
    state = Sprt(0, 10, alpha=0.01, beta=0.1).decide([1.0])
    assert state.lower == pytest.approx(math.log(0.1 / 0.99))
    assert state.upper == pytest.approx(math.log(0.9 / 0.01))


def draw(seed: int, pairs: int, elo: float = 60.0) -> list[float]:
    rng = np.random.default_rng(seed)
    return list(2 * rng.choice(SCORES, size=pairs, p=tilted(elo, "normalised", FLAT)))


FLAT = (0.1, 0.2, 0.4, 0.2, 0.1)


def tilted(elo: float, model: Model, base: Sequence[float]) -> NDArray[np.float64]:
    """Return chances of the five outcomes that are exactly `elo` apart."""

    def chances(tilt: float) -> NDArray[np.float64]:
        weights = np.array(base) * np.exp(tilt * SCORES)
        return np.asarray(weights / weights.sum())

    tilt = scipy.optimize.brentq(
        lambda x: statistic(chances(x), model) - expected(elo, model), -30, 30
    )
    return chances(tilt)


@pytest.mark.parametrize("elo", [0.0, 60.0])
def test_later_pairs_change_nothing(elo: float) -> None:
    pairs, sprt = draw(2, 3000, elo), Sprt(0, 60)
    state = sprt.decide(pairs)
    assert state.verdict == ("H1" if elo else "H0")
    assert sprt.decide(pairs[: state.pairs]) == state
    assert sprt.decide(pairs[: state.pairs - 1]).verdict is None
    assert sprt.decide([*pairs[: state.pairs], *[0.0] * 5000]) == state


@pytest.mark.parametrize("model", ["normalised", "logistic"])
def test_the_course_is_the_ratio_of_every_beginning(model: Model) -> None:
    pairs, sprt = draw(5, 60), Sprt(0, 60, model=model)
    assert sprt.path([]).shape == (0,)
    for number, ratio in enumerate(sprt.path(pairs), 1):
        counts = [sum(score == half / 2 for score in pairs[:number]) for half in range(5)]
        assert ratio == pytest.approx(sprt.log_likelihood_ratio(counts), rel=1e-9, abs=1e-9)


def test_thousands_of_pairs_take_milliseconds() -> None:
    pairs = draw(4, 5000, 1.0)
    begun = time.process_time()
    state = Sprt(0, 2).decide(pairs)
    assert state.verdict is None
    # Fifteen times what it takes; a solver called for every prefix would need longer.
    assert time.process_time() - begun < 1.5


# -- its errors -------------------------------------------------------------------------------


def trials(sprt: Sprt, base: Sequence[float], elo: float, runs: int, seed: int) -> list[SprtState]:
    rng, chances = np.random.default_rng(seed), tilted(elo, sprt.model, base)
    return [
        sprt.decide((2 * rng.choice(SCORES, size=4000, p=chances)).tolist()) for _ in range(runs)
    ]


def wald_pairs(sprt: Sprt, base: Sequence[float], elo: float) -> float:
    """Return how many pairs a test takes by Wald's formula (1945), boundaries met exactly."""
    chances = tilted(elo, sprt.model, base)
    one, zero = (tilted(e, sprt.model, base) for e in (sprt.elo1, sprt.elo0))
    met = chances > 0
    drift = float(chances[met] @ np.log(one[met] / zero[met]))
    accept = sprt.alpha if elo == sprt.elo0 else 1 - sprt.beta
    return (accept * sprt.upper + (1 - accept) * sprt.lower) / drift


def check_errors(sprt: Sprt, base: Sequence[float], runs: int, seed: int) -> None:
    # A test whose chance is 5 % is above this once in 10,000 seeds.
    max_errors = scipy.stats.binom.ppf(0.9999, runs, sprt.alpha)
    for elo, right in ((sprt.elo0, "H0"), (sprt.elo1, "H1")):
        states = trials(sprt, base, elo, runs, seed)
        wrong = sum(state.verdict != right for state in states)
        pairs, wald = [state.pairs for state in states], wald_pairs(sprt, base, elo)
        chance = 4.5 * float(np.std(pairs)) / math.sqrt(runs)
        print(
            f"seed {seed}, {elo:g} Elo: {wrong} of {runs} wrong, at most {max_errors:.0f} allowed;"
        )
        print(f"  {np.mean(pairs):.1f} pairs on average, {wald:.1f} by Wald's formula")
        assert all(state.verdict for state in states)
        assert wrong <= max_errors
        # The last pair oversteps the boundary, which the formula leaves out.
        assert 0.95 * wald - chance < np.mean(pairs) < 1.15 * wald + chance


@pytest.mark.slow
def test_error_rates_are_within_their_bounds() -> None:
    check_errors(Sprt(0, 60), FLAT, 40, seed=5)


def plackett_luce_blocks(elo: float, blocks: int, rng: np.random.Generator) -> list[float]:
    """Points in blocks of three games against two equals, places drawn one after the other."""
    strengths = np.array([10 ** (elo / 400), 1.0, 1.0])
    places = np.argsort(rng.exponential(1 / strengths, (blocks, 3, 3)), axis=2)
    behind = 2 - np.argmin(places, axis=2)  # the number of players whom player 0 is ahead of
    return [float(points) for points in behind.sum(axis=1) / 2]


@pytest.mark.slow
def test_in_games_of_three_a_difference_means_the_odds_of_finishing_ahead() -> None:
    """As in ratings by Plackett and Luce: the mean share of the others is that of a pair."""
    rng = np.random.default_rng(7)
    blocks = plackett_luce_blocks(120.0, 40_000, rng)
    assert np.mean(blocks) / 3 == pytest.approx(expected(120.0, "logistic"), abs=0.005)
    sprt, runs = Sprt(0, 120, model="logistic", seats=3), 40
    max_errors = scipy.stats.binom.ppf(0.9999, runs, sprt.alpha)
    for elo, right in ((0.0, "H0"), (120.0, "H1")):
        states = [sprt.decide(plackett_luce_blocks(elo, 1000, rng)) for _ in range(runs)]
        assert all(state.verdict for state in states)
        assert sum(state.verdict != right for state in states) <= max_errors


def test_blocks_of_more_players_have_finer_points() -> None:
    sprt = Sprt(0, 60, seats=4)  # shares of three others: steps of a sixth
    assert sprt.outcomes == 25
    thirds = [1 / 3 + 2 / 3 + 1 + 1 / 6, 0.5, 4.0]
    assert sprt.decide(thirds).counts[13] == 1
    with pytest.raises(ValueError, match="a block has from 0 to 4 points in steps of 1/6"):
        sprt.decide([0.25])


def test_drawish_pairs_take_as_long_in_normalised_elo() -> None:
    wide = [wald_pairs(Sprt(0, 20), base, 20.0) for base in (FLAT, (0.02, 0.2, 0.56, 0.2, 0.02))]
    assert wide[0] == pytest.approx(wide[1], rel=0.1)
    # The drift of a unit normal is half the squared distance of its means.
    assert wide[0] == pytest.approx(2.65 / (20 / NORMALISED_ELO) ** 2, rel=0.1)


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("score", [0.25, -0.5, 2.5, math.nan])
def test_a_pair_with_other_points_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match="a pair has"):
        Sprt(0, 5).decide([1.0, score])
