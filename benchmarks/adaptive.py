"""How many games the format ``adaptive`` needs for the widest interval of a round-robin.

Fields of players with normally distributed ratings are simulated: a fifth of the games between
equals are drawn, and moving first is worth 30 Elo. A round-robin is played and rated. Then the
adaptive format plays the same field until its widest 95 % interval is as narrow. ``share`` is its
games by those of the round-robin; ``held`` is how often intervals held the truth, those of ratings
about their mean and those of all differences.

``least`` is a lower bound of the share for any choice of pairs, even with known ratings: a
certificate from the duality of optimal designs (Kiefer and Wolfowitz 1960, Pukelsheim 1993), for
many games.

    python benchmarks/adaptive.py
    python benchmarks/adaptive.py --players 8 --spreads 200 --fields 50 --json
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np

from common.conditions import conditions, spread
from miai_tournaments.config.entrants import format_component
from miai_tournaments.formats.format import Entrants, Meeting
from miai_tournaments.ratings.model import Floats, curvature, outcomes
from miai_tournaments.ratings.pair_results import PairResults
from miai_tournaments.ratings.ratings import ELO, Z95, Ratings, fit_ratings

ADVANTAGE, LOG_NU = 30.0, np.log(0.5)
ROUNDS = {8: 10, 32: 2, 100: 1}
"""Pairs between every two players in the round-robin, by the size of the field."""
FIELDS = {8: 60, 32: 20, 100: 4}
_BOUNDED = 4
"""Fields for which the lower bound is computed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A tournament of a simulated field.

    Attributes:
      games: games played.
      width: widest 95 % interval, Elo.
      held: shares of the intervals that held the truth: of ratings, of differences.
    """

    games: int
    width: float
    held: tuple[float, float]


def chances(elo: Floats) -> Floats:
    """Return the probabilities of win, draw and loss, ``(K, K, 3)``; the row moves first."""
    x = (elo[:, None] - elo + ADVANTAGE) / ELO
    return np.stack(outcomes(x, np.array(LOG_NU)), axis=-1)


def judged(elo: Floats, ratings: Ratings, games: int) -> Outcome:
    """Return how wide the intervals are, and how often they hold the truth."""
    errors, variances = ratings.standard_errors, np.diagonal(ratings.covariance)
    away = np.abs(ratings.elo - (elo - elo.mean())) <= Z95 * errors
    between = np.sqrt(np.maximum(variances[:, None] + variances - 2 * ratings.covariance, 0.0))
    gaps = (ratings.elo[:, None] - ratings.elo) - (elo[:, None] - elo)
    apart = ~np.eye(len(elo), dtype=np.bool_)
    held = float(away.mean()), float((np.abs(gaps) <= Z95 * between)[apart].mean())
    return Outcome(games, 2 * Z95 * float(errors.max()), held)


def round_robin(elo: Floats, rounds: int, rng: np.random.Generator) -> Outcome:
    """Play and rate a round-robin."""
    first, second = np.nonzero(~np.eye(len(elo), dtype=np.bool_))
    win, draw, loss = rng.multinomial(rounds, chances(elo)[first, second]).T
    names = tuple(f"p{number:03}" for number in range(len(elo)))
    results = PairResults.from_counts(first, second, win, draw, loss, players=names)
    return judged(elo, fit_ratings(results), rounds * first.size)


def adaptive(elo: Floats, width: float, rng: np.random.Generator, *, max_pairs: int) -> Outcome:
    """Play the adaptive format until no interval is wider than `width`, then rate its games."""
    names = tuple(f"p{number:03}" for number in range(len(elo)))
    place = {name: number for number, name in enumerate(names)}
    values = {"pairs": max_pairs, "width": width}
    entrants = Entrants(players=names)
    format_ = format_component("adaptive").build(entrants, values=values, where="format")
    table, meetings, games = chances(elo), list[Meeting](), list[tuple[str, str, float]]()
    while not (step := format_.more(meetings, room=1)).finished:
        # One batch is always in flight, as with workers: only those before it are known.
        end = len(meetings) if step.ask_after is None else step.ask_after
        meetings += [Meeting(pairing, [None, None]) for pairing in step.pairings]
        for meeting in meetings[len(games) // 2 : end]:
            one, other = meeting.pairing.first, meeting.pairing.second
            scores = [
                float(rng.choice((1.0, 0.5, 0.0), p=table[place[a], place[b]]))
                for a, b in ((one, other), (other, one))
            ]
            ahead, behind = scores
            meeting.scores = [(ahead, 1 - ahead), (1 - behind, behind)]
            games += [(one, other, ahead), (other, one, behind)]
    return judged(elo, fit_ratings(games, players=names), len(games))


def least_share(elo: Floats, *, steps: int = 400) -> float:
    """Return a lower bound of the share of games, for designs that know the ratings.

    For weights p of the variances v, a design with covariance C per pair of games, and any other
    design: max v* >= sum p v* >= (sum p v)^2 / max_ij w_ij u' C diag(p) C u. The best of many such
    bounds is returned, while a design is improved by multiplicative updates.
    """
    information = curvature(*np.moveaxis(chances(elo), -1, 0))[0]
    information = np.asarray((information + information.T) / ELO**2)
    k, best = len(elo), 0.0
    everyone = np.triu(np.ones((k, k)), 1) * 2 / (k * (k - 1))
    design, prices = everyone, np.full(k, 1 / k)
    for _ in range(steps):
        covariance = _covariance(design, information)
        variances = np.diagonal(covariance)
        value = float(prices @ variances)
        products = (covariance * prices) @ covariance
        diagonal = np.diagonal(products)
        gains = information * (diagonal[:, None] + diagonal - 2 * products)
        best = max(best, value**2 / float(gains.max()))
        design = np.triu(design * np.sqrt(np.maximum(gains, 0.0) / value), 1)
        design /= design.sum()
        prices = prices * np.sqrt(variances / value)
        prices /= prices.sum()
    return best / float(np.diagonal(_covariance(everyone, information)).max())


def _covariance(counts: Floats, information: Floats) -> Floats:
    """Return the covariance of ratings about their mean after pairs of games ``(K, K)``."""
    weights = (counts + counts.T) * information
    return np.asarray(np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights, hermitian=True))


def measure(players: int, deviation: float, *, fields: int, rounds: int) -> dict[str, Any]:
    """Return the figures of fields of one size and spread."""
    shares, least, pairs = list[float](), list[float](), list[tuple[Outcome, Outcome]]()
    began = time.perf_counter()
    for seed in range(fields):
        rng = np.random.default_rng([seed, players, round(deviation)])
        elo = rng.normal(0, deviation, players)
        one = round_robin(elo, rounds, rng)
        other = adaptive(elo, one.width, rng, max_pairs=2 * one.games)
        pairs.append((one, other))
        shares.append(other.games / one.games)
        if seed < _BOUNDED:
            least.append(least_share(elo))
    return {
        "players": players,
        "spread": deviation,
        "fields": fields,
        "rounds": rounds,
        "round_robin_games": pairs[0][0].games,
        "games": mean(other.games for _, other in pairs),
        "width": mean(one.width for one, _ in pairs),
        "adaptive_width": mean(other.width for _, other in pairs),
        "share": mean(shares),
        "share_spread": spread(shares, 3),
        "least": mean(least),
        "share_bounded": mean(shares[:_BOUNDED]),
        "round_robin_held": [mean(one.held[n] for one, _ in pairs) for n in (0, 1)],
        "held": [mean(other.held[n] for _, other in pairs) for n in (0, 1)],
        "seconds_per_field": (time.perf_counter() - began) / fields,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--players", type=int, nargs="+", default=[8, 32, 100], help="Field sizes")
    parser.add_argument(
        "--spreads",
        type=float,
        nargs="+",
        default=[200.0, 400.0, 800.0],
        help="Standard deviations of the true ratings, Elo",
    )
    parser.add_argument("--fields", type=int, help="Simulated fields (default: by their size)")
    parser.add_argument("--rounds", type=int, help="Rounds of the round-robin (default: by size)")
    parser.add_argument("--json", action="store_true", help="Print one JSON object")
    arguments = parser.parse_args()
    rows = []
    for players in arguments.players:
        for deviation in arguments.spreads:
            row = measure(
                players,
                deviation,
                fields=arguments.fields or FIELDS.get(players, 20),
                rounds=arguments.rounds or ROUNDS.get(players, 2),
            )
            rows.append(row)
            if not arguments.json:
                print(
                    f"{players:4} players, spread {deviation:4.0f}: "
                    f"{row['games']:6.0f} of {row['round_robin_games']:5} games, "
                    f"{row['share']:.1%} (least {row['least']:.0%}), "
                    f"width {row['adaptive_width']:.0f} of {row['width']:.0f}; held "
                    f"{row['held'][0]:.1%} {row['held'][1]:.1%}, round-robin "
                    f"{row['round_robin_held'][0]:.1%} {row['round_robin_held'][1]:.1%}",
                    flush=True,
                )
    if arguments.json:
        print(json.dumps({"rows": rows, **conditions()}))


if __name__ == "__main__":
    main()
