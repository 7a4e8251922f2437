"""Match: two players, for a number of pairs of games or until a sequential test decides.

The test looks at the pairs in the order of the schedule, up to the first gap: a pair that ends
early waits for those before it, so the verdict does not depend on the speed of the workers. Pairs
are scheduled ahead to keep the workers busy; those after the deciding pair are surplus.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

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
    from miai_tournaments.ratings.sprt import Sprt, SprtState


_LEAST_AHEAD = 8
"""Minimum number of pairs scheduled ahead."""

_AHEAD_SHARE = 32
"""Complete pairs per additional pair scheduled ahead."""

_ASK_SHARE = 64
"""The test runs again when the complete pairs have grown by this fraction: each run takes time in
proportion to them, and a late one costs only surplus games."""

_CURVE = 200
"""Maximum number of points of the test's curve, for reports."""


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


class MatchFormatParameters(Parameters):
    """Parameters of the match."""

    pairs: int = parameter(
        ge=1, le=MOST, help="Pairs of games (the maximum with sprt)", unit="pairs"
    )
    colours: Colours = parameter(
        "swap", help="Colours swapped in a pair of games; or one game: first player first, or drawn"
    )
    sprt: SprtParameters | None = parameter(
        None, help="SPRT that ends the match: elo0, elo1, alpha, beta, model"
    )

    @model_validator(mode="after")
    def _pairs_for_the_test(self) -> MatchFormatParameters:
        if self.sprt is not None and self.colours != "swap":
            raise ValueError("sprt judges colour-swapped pairs; leave out colours")
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
        self._sprt = None if parameters.sprt is None else parameters.sprt.test()
        self.exact = self._sprt is None

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the next pairs, or the verdict."""
        if self._sprt is None:
            return FormatStep(pairings=self._next(0, self._pairs), finished=True)
        scores = [meeting.points for meeting in takewhile(lambda m: m.complete, played)]
        state, prefix = self._sprt.decide(scores), len(scores)
        if state.verdict is not None:
            counted = state.pairs
            facts = self._facts(state, scores[:counted])
            return FormatStep(finished=True, counted=counted, facts=facts)
        if prefix >= self._pairs:
            return FormatStep(finished=True, facts=self._facts(state, scores))
        ahead = max(_LEAST_AHEAD, (room + 1) // 2, prefix // _AHEAD_SHARE)
        return FormatStep(
            pairings=self._next(len(played), min(self._pairs, prefix + ahead)),
            ask_after=min(self._pairs, prefix + max(1, prefix // _ASK_SHARE)),
            facts=self._facts(state, scores),
        )

    def most_games(self) -> int:
        """Return the number of games of all pairs."""
        return self._pairs * GAMES[self._colours]

    def title(self) -> str:
        """Return the number of pairs and the test."""
        if self._sprt is None:
            return f"match of {self._pairs} {'pairs' if self._colours == 'swap' else 'games'}"
        return (
            f"match of at most {self._pairs} pairs, SPRT [{self._sprt.elo0:g}, "
            f"{self._sprt.elo1:g}] {self._sprt.model} Elo"
        )

    def _next(self, begin: int, end: int) -> list[Pairing]:
        first, second = self._names
        return [
            Pairing(first=first, second=second, round=number, colours=self._colours)
            for number in range(begin + 1, end + 1)
        ]

    def _facts(self, state: SprtState, scores: Sequence[float]) -> Mapping[str, Any]:
        """Return the state of the test, with None for numbers that are not finite.

        Args:
          scores: points of the first player in each pair that counts.
        """
        assert self._sprt is not None
        pairs, model = len(scores), self._sprt.model
        numbers = {"llr": state.llr, "lower": state.lower, "upper": state.upper}
        elo = {"H0": self._sprt.elo0, "H1": self._sprt.elo1, None: None}[state.verdict]
        words = "undecided" if elo is None else f"{state.verdict} accepted, {elo:g} {model} Elo"
        return {
            "kind": "sprt",
            "verdict": state.verdict,
            "pairs": pairs,
            "curve": _curve(self._sprt, scores),
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
            "text": f"SPRT of {' against '.join(self._names)}: {words} after {pairs} pairs, "
            f"LLR {state.llr:.2f} in [{state.lower:.2f}, {state.upper:.2f}]",
        }


def _curve(test: Sprt, scores: Sequence[float]) -> list[list[float]]:
    """Return up to `_CURVE` points (pairs, log-likelihood ratio), including the last one.

    Ratios that are not finite, which may happen after the first pairs, are left out.
    """
    if not scores:
        return []
    ratios = test.path(scores)
    step = -(-len(ratios) // _CURVE)
    places = sorted({*range(step, len(ratios) + 1, step), len(ratios)})
    return [[n, round(float(r), 4)] for n in places if math.isfinite(r := ratios[n - 1])]
