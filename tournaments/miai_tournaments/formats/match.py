"""Match: two players, a number of pairs of games, or until a sequential test has decided.

The test decides on pairs in schedule order: on the first pair, the first two, and so on, as far as
there is no gap. A pair that ends early waits for those before it, so the verdict does not depend on
which worker was faster. Pairs are scheduled some way ahead of that prefix, so that workers have
something to do; those beyond the pair that decided are surplus.
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
"""Pairs that are scheduled ahead, at least."""

_AHEAD_SHARE = 32
"""One pair more is scheduled ahead for so many that are complete."""

_ASK_SHARE = 64
"""The test looks again when the complete pairs have grown by one part in so many: each look costs
time in proportion to them, and a late look costs nothing but surplus games."""

_CURVE = 200
"""Most points of the test's course that are kept for reports."""


class SprtParameters(StrictModel):
    """The sequential probability ratio test, see `miai_tournaments.ratings.sprt`.

    Attributes:
      elo0, elo1: the difference of the players under either hypothesis, Elo.
      alpha, beta: chances to accept ``elo1`` where ``elo0`` holds, and the other way round.
      model: what Elo means: of the expected score, or in units of the scores' deviation.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Literal["logistic", "normalised"] = "normalised"

    def test(self) -> Sprt:
        """Return the test. Raises `ParameterError` when its numbers make none."""
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
    """The match; the first player of the config is the one that the test is about."""

    may_grow = frozenset({"pairs"})

    def __init__(self, entrants: Entrants, parameters: MatchFormatParameters) -> None:
        if len(entrants.players) != 2:
            raise ParameterError(
                f"format: a match is of two players, the config has {len(entrants.players)}; take "
                "a gauntlet, a knockout or a round-robin"
            )
        self._names = entrants.players
        self._pairs = parameters.pairs
        self._colours: Colours = parameters.colours
        self._sprt = None if parameters.sprt is None else parameters.sprt.test()
        self.exact = self._sprt is None

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the pairs that come next, or the verdict."""
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
        """Return how the test stands; what is not finite is told as unknown.

        Args:
          scores: points of the first player in each pair that counts.
        """
        assert self._sprt is not None
        pairs, model = len(scores), self._sprt.model
        numbers = {"llr": state.llr, "lower": state.lower, "upper": state.upper}
        elo = {"H0": self._sprt.elo0, "H1": self._sprt.elo1, None: None}[state.verdict]
        told = "undecided" if elo is None else f"{state.verdict} accepted, {elo:g} {model} Elo"
        return {
            "kind": "sprt",
            "verdict": state.verdict,
            "pairs": pairs,
            "curve": _curve(self._sprt, scores),
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
            "text": f"SPRT of {' against '.join(self._names)}: {told} after {pairs} pairs, "
            f"LLR {state.llr:.2f} in [{state.lower:.2f}, {state.upper:.2f}]",
        }


def _curve(test: Sprt, scores: Sequence[float]) -> list[list[float]]:
    """Return (pairs, log-likelihood ratio) on the way, at most `_CURVE` of them, the last one too.

    After the first pairs a ratio may not be finite; those are left out.
    """
    if not scores:
        return []
    ratios = test.path(scores)
    step = -(-len(ratios) // _CURVE)
    places = sorted({*range(step, len(ratios) + 1, step), len(ratios)})
    return [[n, round(float(r), 4)] for n in places if math.isfinite(r := ratios[n - 1])]
