"""Match: one player against the others, for a number of pairs or until a sequential test decides.

In a game of two players that is one other; in a game of n the others fill its n - 1 other seats. A
block of n games then takes the place of the pair: the players move round the table, so that each
has every seat once, and sit in an order that is drawn for each block.

Where games are won, drawn or lost, the test is about a difference in Elo; where results are
payoffs, about a mean payoff.

The test looks at the pairs in the order of the schedule, up to the first gap: a pair that ends
early waits for those before it, so the verdict does not depend on the speed of the workers. Pairs
are scheduled ahead to keep the workers busy; those after the deciding pair are surplus.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from pydantic import model_validator

from miai.errors import ConfigError, ParameterError
from miai.parameters import Parameters, StrictModel, parameter
from miai_tournaments.formats.format import (
    MOST,
    Colours,
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
    games_of,
)
from miai_tournaments.formats.groups import table_orders
from miai_tournaments.ratings.sequential import unit_name

if TYPE_CHECKING:
    from miai_tournaments.ratings.payoffs import PayoffTest
    from miai_tournaments.ratings.sequential import SequentialTest
    from miai_tournaments.ratings.sprt import Sprt


_LEAST_AHEAD = 8
"""Minimum number of pairs scheduled ahead."""

_AHEAD_SHARE = 32
"""Complete pairs per additional pair scheduled ahead."""

_ASK_SHARE = 64
"""The test runs again when the complete pairs have grown by this fraction: each run takes time in
proportion to them, and a late one costs only surplus games."""


class SprtParameters(StrictModel):
    """The sequential probability ratio test, see `miai_tournaments.ratings.sprt`.

    Attributes:
      elo0, elo1: difference of the players under the two hypotheses, Elo.
      alpha, beta: probabilities of accepting ``elo1`` if ``elo0`` holds, and vice versa.
      model: definition of Elo: by the expected score, or in standard deviations of scores.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Literal["logistic", "normalised"] = "normalised"

    def test(self, *, seats: int) -> Sprt:
        """Return the test. Raises `ParameterError` if a number is out of range."""
        from miai_tournaments.ratings.sprt import Sprt

        try:
            return Sprt(**self.model_dump(), seats=seats)
        except ConfigError as error:  # begins with the number's name
            raise ParameterError(f"format.sprt.{error}") from None


class PayoffTestParameters(StrictModel):
    """The sequential test of a mean payoff, see `miai_tournaments.ratings.payoffs`.

    Attributes:
      mean0, mean1: mean payoffs per game of the first player under the two hypotheses.
      alpha, beta: maximum probabilities of accepting ``mean1`` if ``mean0`` holds, and vice versa.
    """

    mean0: float
    mean1: float
    alpha: float = 0.05
    beta: float = 0.05

    def test(self, bound: float, *, seats: int) -> PayoffTest:
        """Return the test. Raises `ParameterError` if a number is out of range."""
        from miai_tournaments.ratings.payoffs import PayoffTest

        try:
            return PayoffTest(**self.model_dump(), bound=bound, seats=seats)
        except ConfigError as error:  # begins with the number's name
            raise ParameterError(f"format.payoff_test.{error}") from None


class MatchFormatParameters(Parameters):
    """Parameters of the match."""

    pairs: int = parameter(
        ge=1,
        le=MOST,
        help="Pairs of games, or blocks of more players (the maximum with a test)",
        unit="pairs",
    )
    colours: Colours = parameter(
        "swap", help="Colours swapped in a pair of games; or one game: first player first, or drawn"
    )
    sprt: SprtParameters | None = parameter(
        None, help="SPRT that ends the match: elo0, elo1, alpha, beta, model"
    )
    payoff_test: PayoffTestParameters | None = parameter(
        None, help="Test of a mean payoff that ends the match: mean0, mean1, alpha, beta"
    )

    @model_validator(mode="after")
    def _pairs_for_the_test(self) -> MatchFormatParameters:
        tested = "sprt" if self.sprt else "payoff_test" if self.payoff_test else ""
        if tested and self.colours != "swap":
            raise ValueError(f"{tested} judges colour-swapped pairs; leave out colours")
        return self


class MatchFormat(Format):
    """The match; the test is about the first player of the config."""

    any_seats = True
    may_grow = frozenset({"pairs"})

    def __init__(self, entrants: Entrants, parameters: MatchFormatParameters) -> None:
        seats = entrants.seats
        if len(entrants.players) != seats:
            number = "two" if seats == 2 else str(seats)
            others = "a gauntlet, a knockout or a round-robin" if seats == 2 else "a gauntlet"
            raise ParameterError(
                f"format: a match needs {number} players, but the config has "
                f"{len(entrants.players)}; use {others}"
            )
        self._names = entrants.players
        self._seed = entrants.seed
        self._pairs = parameters.pairs
        self._colours: Colours = parameters.colours
        self._test = _test(parameters, entrants)
        self.exact = self._test is None

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the next pairs, or the verdict."""
        if self._test is None:
            return FormatStep(pairings=self._next(0, self._pairs), finished=True)
        scores = [meeting.points for meeting in takewhile(lambda m: m.complete, played)]
        state, prefix = self._test.decide(scores), len(scores)
        facts = self._test.facts(state, scores[: state.pairs], self._names)
        if state.verdict is not None:
            return FormatStep(finished=True, counted=state.pairs, facts=facts)
        if prefix >= self._pairs:
            return FormatStep(finished=True, facts=facts)
        ahead = max(_LEAST_AHEAD, (room + 1) // 2, prefix // _AHEAD_SHARE)
        return FormatStep(
            pairings=self._next(len(played), min(self._pairs, prefix + ahead)),
            ask_after=min(self._pairs, prefix + max(1, prefix // _ASK_SHARE)),
            facts=facts,
        )

    def most_games(self) -> int:
        """Return the number of games of all pairs."""
        return self._pairs * games_of(self._colours, seats=len(self._names))

    def title(self) -> str:
        """Return the number of pairs and the test."""
        unit = unit_name(len(self._names)) if self._colours == "swap" else "game"
        if self._test is None:
            return f"match of {self._pairs} {unit}s"
        return f"match of at most {self._pairs} {unit}s, {self._test.title()}"

    def _next(self, begin: int, end: int) -> list[Pairing]:
        return [self._meeting(number) for number in range(begin + 1, end + 1)]

    def _meeting(self, number: int) -> Pairing:
        """Return the pairing of a pair or block, from 1."""
        names = self._names
        if self._colours == "swap":
            (names,) = table_orders(names, "balanced", seed=self._seed, number=number)
        first, second, *others = names
        return Pairing(
            first=first, second=second, others=tuple(others), round=number, colours=self._colours
        )


def _test(parameters: MatchFormatParameters, entrants: Entrants) -> SequentialTest | None:
    """Return the test, which suits the results of the game. Raises `ParameterError`."""
    bound, seats = entrants.payoff_bound, entrants.seats
    if parameters.sprt is not None:
        if bound is not None:
            raise ParameterError(
                "format.sprt: is about wins, but the results of this game are payoffs; use "
                "payoff_test = {mean0 = ..., mean1 = ...}"
            )
        return parameters.sprt.test(seats=seats)
    if parameters.payoff_test is not None:
        if bound is None:
            raise ParameterError(
                "format.payoff_test: is about payoffs, but this game is won, drawn or lost; use "
                "sprt = {elo0 = ..., elo1 = ...}"
            )
        return parameters.payoff_test.test(bound, seats=seats)
    return None
