"""The rating model for games of any number of players: Plackett-Luce with ties and seat values.

A ranking is a series of choices (Luce 1959, Plackett 1975): who of all is first, who of the rest is
next, and so on. Players who tie are chosen together (Davidson 1970; Firth, Kosmidis and Turner
2019). Of s players with strengths a, in seats worth g, the set C is chosen with probability::

    P(C)  proportional to  nu(s, |C|) * exp(mean of a + g over C),      nu(s, 1) = 1

over all sets of the sizes that have occurred. Between two players this is the model of
`miai_tournaments.ratings.model`: g of the first seat is its advantage, nu(2, 2) its draw weight.
A tie weight for each number of players left leaves room for games that end with one winner, where
the others always tie and their tie says nothing.

The log-posterior is a sum of weighted log-probabilities of choices, of which those of the prior are
some. Each is linear in the parameters but for the normaliser, so it is concave, and the observed
information is the expected one. docs/ratings.md has the formulas.

Axes as in `model`: B leagues, P parameters; N choice sets, T outcomes of a choice, F features of an
outcome: the share of each chooser, and the size of a tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from miai_tournaments.ratings.model import Floats, Integers
from miai_tournaments.ratings.rankings import GameKind, Rankings

_CHUNK_NUMBERS: Final = 1 << 21
"""Maximum size of an array while a chunk of choice sets is evaluated."""

ChoiceSet = tuple[tuple[int, int], ...]
"""(player, seat) of those who can be chosen."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Choices:
    """Choices among equally many with the same possible outcomes.

    Attributes:
      features: ``(T, F)``.
      strengths, seats: ``(N, F)`` columns of the parameters that weigh each feature, added up; the
        column after the last parameter stands for a zero.
      cells: ``(N, T)`` places of the counts of outcomes in the array of all.
    """

    features: Floats
    strengths: Integers
    seats: Integers
    cells: Integers

    def chunks(self, leagues: int) -> Iterator[_Choices]:
        """Yield parts that are small enough to evaluate for some leagues."""
        step = max(1, _CHUNK_NUMBERS // (leagues * self.features.size))
        for start in range(0, len(self.cells), step):
            part = slice(start, start + step)
            yield _Choices(
                features=self.features,
                strengths=self.strengths[part],
                seats=self.seats[part],
                cells=self.cells[part],
            )

    def weights(self, parameters: Floats) -> Floats:
        """Return the parameter of each feature, ``(B, N, F)``; `parameters` end with a zero."""
        return np.asarray(parameters[:, self.strengths] + parameters[:, self.seats])


class RankingModel:
    """The parameters and choices of some rankings, whatever their counts.

    Parameters are the strengths of K players; for each kind of game the values of all seats but the
    last, which is zero; for each kind the logarithms of its tie weights. They are natural
    logarithms of odds.

    Attributes:
      players, size: K and P.
      seats: for each kind the columns of its seats; P stands for a zero.
      ties: for each kind the columns of its tie weights by (players left, players chosen).
      outcomes: number of different rankings, over all kinds.
      cells: number of outcomes of all choices, those of the prior included.
    """

    def __init__(self, rankings: Rankings) -> None:
        self.players = len(rankings.players)
        self.size = self.players
        self.seats = [self._new_seats(kind) for kind in rankings.kinds]
        # Ties that never occurred get no parameter: the logarithm of their weight would be minus
        # infinity.
        stages = [
            list(map(_stages, kind.seats.tolist(), kind.ranks.tolist())) for kind in rankings.kinds
        ]
        self.ties: list[dict[tuple[int, int], int]] = []
        for games in stages:
            sizes = sorted({(len(s), len(c)) for game in games for s, c in game if len(c) > 1})
            sizes.sort(reverse=True)
            self.ties.append({size: self.size + n for n, size in enumerate(sizes)})
            self.size += len(sizes)
        # The last seat of a kind is the reference. Its column is the zero after the last parameter,
        # whose place is known only once all the others are.
        self.seats = [[self.size if c < 0 else c for c in columns] for columns in self.seats]
        self.outcomes = sum(map(len, stages))
        self._choices: list[_Choices] = []
        self.cells = 0
        entries: list[tuple[int, int]] = []
        first = 0
        for kind, games in enumerate(stages):
            entries += [(first + n, cell) for n, cell in self._add_games(kind, games)]
            first += len(games)
        table = np.array(entries, dtype=np.int64).reshape(-1, 2)
        self._outcome_of, self._cell_of = table[:, 0], table[:, 1]
        self._prior: list[tuple[int, float]] = []
        self._add_prior()

    def posterior(self, counts: Floats, *, prior_games: float) -> RankingPosterior:
        """Return the log-posterior of leagues.

        Args:
          counts: ``(B, outcomes)`` number of games with each ranking, kind after kind.
          prior_games: weight of the prior in games; see `RankingPosterior`.
        """
        weights = np.zeros((len(counts), self.cells))
        for league, games in enumerate(counts[:, self._outcome_of]):
            weights[league] = np.bincount(self._cell_of, games, minlength=self.cells)
        for cell, share in self._prior:
            weights[:, cell] += prior_games * share
        return RankingPosterior(self, self._choices, weights)

    def _new_seats(self, kind: GameKind) -> list[int]:
        """Return columns for the seats of a kind; -1 for the last."""
        start = self.size
        self.size += kind.size - 1
        return [*range(start, self.size), -1]

    def _add_games(
        self, kind: int, games: Sequence[Sequence[tuple[ChoiceSet, ChoiceSet]]]
    ) -> Iterator[tuple[int, int]]:
        """Add the choices of games; yield the number of a game with the cell of each outcome."""
        # Choices among equally many share their features, so they are evaluated as one array; a set
        # that occurs in many games is evaluated once, and its counts are added up.
        sets: dict[int, dict[ChoiceSet, int]] = {}
        for game in games:
            for those, _ in game:
                members = sets.setdefault(len(those), {})
                members.setdefault(those, len(members))
        blocks = {
            size: self._add(
                [[player for player, _ in those] for those in members],
                [[self.seats[kind][seat] for _, seat in those] for those in members],
                self._sizes(kind, size),
            )
            for size, members in sets.items()
        }
        for number, game in enumerate(games):
            for those, chosen in game:
                outcomes, cells = blocks[len(those)]
                row = sets[len(those)][those]
                places = tuple(n for n, member in enumerate(those) if member in chosen)
                yield number, int(cells[row, outcomes[places]])

    def _sizes(self, kind: int, left: int) -> list[tuple[int, int]]:
        """Return the sizes of a choice among some of a game, with their columns."""
        ties = [(k, column) for (s, k), column in self.ties[kind].items() if s == left]
        return [(1, self.size), *sorted(ties)]

    def _add(
        self,
        strengths: Sequence[Sequence[int]],
        seats: Sequence[Sequence[int]],
        sizes: Sequence[tuple[int, int]],
    ) -> tuple[dict[tuple[int, ...], int], Integers]:
        """Add choice sets ``(N, s)``; return the outcomes by places, and the cells ``(N, T)``."""
        left = len(strengths[0])
        outcomes: dict[tuple[int, ...], int] = {}
        features = []
        ties = [column for k, column in sizes if k > 1]
        for k, column in sizes:
            for places in combinations(range(left), k):
                outcomes[places] = len(outcomes)
                row = np.zeros(left + len(ties))
                # A tie's strength is the mean of its members' (the geometric mean of their odds),
                # so that its chance against other sets does not grow with its size.
                row[list(places)] = 1 / k
                if k > 1:
                    row[left + ties.index(column)] = 1.0
                features.append(row)
        shape = (len(strengths), len(outcomes))
        cells = self.cells + np.arange(shape[0] * shape[1]).reshape(shape)
        self.cells += cells.size
        tie_columns = np.tile(np.array(ties, dtype=np.int64), (len(strengths), 1))
        none = np.full_like(tie_columns, self.size)
        self._choices.append(
            _Choices(
                features=np.array(features),
                strengths=np.hstack([np.array(strengths, dtype=np.int64), tie_columns]),
                seats=np.hstack([np.array(seats, dtype=np.int64), none]),
                cells=cells,
            )
        )
        return outcomes, cells

    def _add_prior(self) -> None:
        """Add the choices of the prior, each outcome with its share of `prior_games`."""
        zero = self.size
        # Each player wins half of its games against an imaginary average opponent, whose strength
        # is the zero column: strengths shrink towards each other without a favourite.
        if self.players:
            mine = [[player, zero] for player in range(self.players)]
            outcomes, cells = self._add(mine, [[zero, zero]] * self.players, [(1, zero)])
            self._prior += [(int(cell), 0.5) for cell in cells[:, list(outcomes.values())].flat]
        # The prior of seats and ties is a game among equals: one choice at the full table, and one
        # for each number of players left at which ties have occurred.
        for kind, seats in enumerate(self.seats):
            lefts = {len(seats), *(left for left, _ in self.ties[kind])}
            for left in sorted(lefts):
                worth = seats if left == len(seats) else [zero] * left
                sizes = self._sizes(kind, left)
                outcomes, cells = self._add([[zero] * left], [worth], sizes)
                for places, outcome in outcomes.items():
                    alike = sum(len(other) == len(places) for other in outcomes)
                    share = 1.0 if len(sizes) == 1 else 0.5
                    if len(places) > 1:
                        share /= len(sizes) - 1
                    self._prior.append((int(cells[0, outcome]), share / alike))


def _stages(players: Sequence[int], ranks: Sequence[int]) -> list[tuple[ChoiceSet, ChoiceSet]]:
    """Return the choices of a ranking: among whom, and who was chosen."""
    left = tuple((player, seat) for seat, player in enumerate(players))
    stages = []
    for rank in range(max(ranks) + 1):
        # Being the only one left is certain, so it adds nothing to the likelihood.
        if len(left) == 1:
            break
        chosen = tuple(one for one in left if ranks[one[1]] == rank)
        stages.append((left, chosen))
        left = tuple(one for one in left if one not in chosen)
    return stages


class RankingPosterior:
    """The log-posterior of a batch of leagues, up to a constant.

    The prior is in games, as that of `model.Posterior`: each player has won half of `prior_games`
    games of two against an average opponent. Among equals who fill the seats of a game, each was
    first in `prior_games` choices equally often or, if ties have occurred there, in half of them,
    and the other half were ties, of each size equally often.

    Attributes:
      leagues, players, size: B, K and P.
    """

    def __init__(self, model: RankingModel, choices: Sequence[_Choices], weights: Floats) -> None:
        self.leagues = len(weights)
        self.players, self.size = model.players, model.size
        self.weights = weights
        self.choices = [part for each in choices for part in each.chunks(self.leagues)]

    def start(self) -> Floats:
        """Return initial parameters ``(B, P)``: equal players and seats, ties as likely as not."""
        return np.zeros((self.leagues, self.size))

    def at(self, parameters: Floats) -> RankingPoint:
        """Return the log-posterior at parameters ``(B, P)``."""
        return RankingPoint(self, parameters)


class RankingPoint:
    """The log-posterior at one vector of parameters per league, with its derivatives.

    Attributes:
      parameters: ``(B, P)``.
    """

    def __init__(self, posterior: RankingPosterior, parameters: Floats) -> None:
        self.parameters = parameters
        self._posterior = posterior
        self._padded = np.hstack([parameters, np.zeros((len(parameters), 1))])

    def value(self) -> Floats:
        """Return the log-posterior ``(B,)``; a sum of negative terms."""
        value = np.zeros(len(self.parameters))
        for choices in self._posterior.choices:
            logs = self._logs(choices)
            value += (self._posterior.weights[:, choices.cells] * logs).sum(axis=(1, 2))
        return value

    def gradient(self) -> Floats:
        """Return the gradient ``(B, P)``."""
        gradient = np.zeros_like(self._padded)
        for choices in self._posterior.choices:
            weights = self._posterior.weights[:, choices.cells]
            chances = np.exp(self._logs(choices))
            surplus = weights - weights.sum(axis=2, keepdims=True) * chances
            pull = surplus @ choices.features
            for columns in (choices.strengths, choices.seats):
                # `bincount` adds what falls on one column, which fancy indexing with += would
                # overwrite; per league it is faster than `np.add.at` over all.
                for league, values in enumerate(pull):
                    gradient[league] += np.bincount(
                        columns.ravel(), values.ravel(), minlength=gradient.shape[1]
                    )
        return gradient[:, :-1]

    def information(self) -> Floats:
        """Return the information, minus the Hessian, ``(B, P, P)``; positive definite."""
        leagues, size = self._padded.shape
        information = np.zeros((leagues, size * size))
        for choices in self._posterior.choices:
            spread = self._spread(choices)
            columns = (choices.strengths, choices.seats)
            for one in columns:
                for other in columns:
                    places = (one[:, :, None] * size + other[:, None, :]).ravel()
                    for league, values in enumerate(spread):
                        information[league] += np.bincount(
                            places, values.ravel(), minlength=size * size
                        )
        return information.reshape(leagues, size, size)[:, :-1, :-1]

    def _spread(self, choices: _Choices) -> Floats:
        """Return the covariance of the features times the number of choices, ``(B, N, F, F)``."""
        count = self._posterior.weights[:, choices.cells].sum(axis=2)
        chances = np.exp(self._logs(choices))
        expected = chances @ choices.features
        # About the mean: the difference of the textbook would cancel for one-sided choices.
        apart = choices.features - expected[:, :, None, :]
        weighted = apart * (count[:, :, None] * chances)[..., None]
        return np.asarray(np.swapaxes(weighted, 2, 3) @ apart)

    def _logs(self, choices: _Choices) -> Floats:
        """Return the logarithms of the outcomes' probabilities, ``(B, N, T)``."""
        utility = choices.weights(self._padded) @ choices.features.T
        utility -= utility.max(axis=2, keepdims=True)
        return np.asarray(utility - np.log(np.exp(utility).sum(axis=2, keepdims=True)))
