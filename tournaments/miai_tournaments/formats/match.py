"""Match: two players, for a number of pairs of games or until a sequential test decides.

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
    GAMES,
    MOST,
    Colours,
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
)

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

    def test(self) -> Sprt:
        """Return the test. Raises `ParameterError` if a number is out of range."""
        from miai_tournaments.ratings.sprt import Sprt

        try:
            return Sprt(self.elo0, self.elo1, alpha=self.alpha, beta=self.beta, model=self.model)
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

    def test(self, bound: float) -> PayoffTest:
        """Return the test. Raises `ParameterError` if a number is out of range."""
        from miai_tournaments.ratings.payoffs import PayoffTest

        try:
            return PayoffTest(**self.model_dump(), bound=bound)
        except ConfigError as error:  # begins with the number's name
            raise ParameterError(f"format.payoff_test.{error}") from None


class MatchFormatParameters(Parameters):
    """Parameters of the match."""

    pairs: int = parameter(
        ge=1, le=MOST, help="Pairs of games (the maximum with a test)", unit="pairs"
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

    may_grow = frozenset({"pairs"})

    def __init__(self, entrants: Entrants, parameters: MatchFormatParameters) -> None:
        if len(entrants.players) != 2:
            raise ParameterError(
                f"format: a match needs two players, but the config has {len(entrants.players)}; "
                "use a gauntlet, a knockout or a round-robin"
            )
        self._names = entrants.players
        self._pairs = parameters.pairs
        self._colours: Colours = parameters.colours
        self._test = _test(parameters, entrants.payoff_bound)
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
        return self._pairs * GAMES[self._colours]

    def title(self) -> str:
        """Return the number of pairs and the test."""
        if self._test is None:
            return f"match of {self._pairs} {'pairs' if self._colours == 'swap' else 'games'}"
        return f"match of at most {self._pairs} pairs, {self._test.title()}"

    def _next(self, begin: int, end: int) -> list[Pairing]:
        first, second = self._names
        return [
            Pairing(first=first, second=second, round=number, colours=self._colours)
            for number in range(begin + 1, end + 1)
        ]


def _test(parameters: MatchFormatParameters, bound: float | None) -> SequentialTest | None:
    """Return the test, which suits the results of the game. Raises `ParameterError`."""
    if parameters.sprt is not None:
        if bound is not None:
            raise ParameterError(
                "format.sprt: is about wins, but the results of this game are payoffs; use "
                "payoff_test = {mean0 = ..., mean1 = ...}"
            )
        return parameters.sprt.test()
    if parameters.payoff_test is not None:
        if bound is None:
            raise ParameterError(
                "format.payoff_test: is about payoffs, but this game is won, drawn or lost; use "
                "sprt = {elo0 = ..., elo1 = ...}"
            )
        return parameters.payoff_test.test(bound)
    return None
