"""Teams: the rating of several players together, and how far its members lie apart.

A team may be one agent with several seeds, the networks of several trainings, or the variants of
one idea. Its members are players of one fit, so their errors are correlated; all figures here use
the covariance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from miai.errors import ConfigError, near_matches
from miai_tournaments.ratings.model import Floats
from miai_tournaments.ratings.ratings import Estimate, Ratings
from miai_tournaments.ratings.spread import Spread, fit_spread


def team_rating(ratings: Ratings, members: Sequence[str]) -> Estimate:
    """Return the mean rating of a team's members, Elo, relative to the anchor or the mean.

    It is of these members: its error does not tell how other members of the kind would do; add
    `team_spread` for that.

    Raises:
      ConfigError: the team has no member, has one twice, or has one that is no player.
    """
    return _combined(ratings, _weights(ratings, members))


def team_difference(ratings: Ratings, members: Sequence[str], others: Sequence[str]) -> Estimate:
    """Return the mean rating of one team less that of another. Raises as `team_rating`."""
    return _combined(ratings, _weights(ratings, members) - _weights(ratings, others))


def team_spread(ratings: Ratings, members: Sequence[str]) -> Spread:
    """Return the standard deviation of the members' true ratings, Elo, beyond noise.

    Raises:
      ConfigError: as `team_rating`, or the team has one member only.
    """
    picked = _indices(ratings, members)
    if len(picked) < 2:
        raise ConfigError(f"team: has one member, '{members[0]}'; a spread is of two at least")
    return fit_spread(ratings.elo[picked], ratings.covariance[np.ix_(picked, picked)])


def _weights(ratings: Ratings, members: Sequence[str]) -> Floats:
    picked, weights = _indices(ratings, members), np.zeros(len(ratings.players))
    weights[picked] = 1 / len(picked)
    return weights


def _combined(ratings: Ratings, weights: Floats) -> Estimate:
    variance = float(weights @ ratings.covariance @ weights)
    return Estimate.normal(float(weights @ ratings.elo), math.sqrt(max(variance, 0.0)))


def _indices(ratings: Ratings, members: Sequence[str]) -> list[int]:
    if not members:
        raise ConfigError("team: has no members; name its players")
    for name in members:
        if name not in ratings.players:
            raise ConfigError(f"team: no player '{name}'. {near_matches(name, ratings.players)}")
    if len(set(members)) < len(members):
        raise ConfigError("team: has a member twice; name each player once")
    return [ratings.players.index(name) for name in members]
