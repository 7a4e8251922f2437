"""Knockout: the loser of a match is out; the bracket is seeded by the order of the config."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from miai.parameters import Parameters, parameter
from miai_tournaments.formats.format import (
    MOST,
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
    refuse_few,
)

Games = Mapping[frozenset[str], Sequence[Meeting]]
"""The meetings of a round, by who met."""


class KnockoutParameters(Parameters):
    """Parameters of the knockout."""

    pairs: int = parameter(1, ge=1, le=MOST, help="Pairs of games per match", unit="pairs")
    tiebreaks: int = parameter(
        2,
        ge=0,
        le=1000,
        help="Extra pairs while a match is tied; then the higher seed wins",
        unit="pairs",
    )


class Knockout(Format):
    """The knockout.

    The first two seeds can meet only in the final, and so on down. If the number of players is not
    a power of two, the highest seeds have no opponent in the first round.
    """

    exact = False

    def __init__(self, entrants: Entrants, parameters: KnockoutParameters) -> None:
        refuse_few(entrants, "knockout")
        self._seeds = entrants.players
        self._pairs = parameters.pairs
        self._tiebreaks = parameters.tiebreaks

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the missing pairs of the current round, or the winner."""
        rounds: dict[int, dict[frozenset[str], list[Meeting]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for meeting in played:
            pairing = meeting.pairing
            rounds[pairing.round][frozenset((pairing.first, pairing.second))].append(meeting)
        left = bracket(self._seeds)
        out: list[str] = []
        number = 1
        while len(left) > 1:
            winners, missing = self._round(number, left, rounds[number])
            if missing:
                return FormatStep(pairings=missing, facts=self._facts(number, left, out))
            out = (
                sorted(
                    (name for name in left if name is not None and name not in winners),
                    key=self._seeds.index,
                )
                + out
            )
            left, number = list(winners), number + 1
        return FormatStep(finished=True, facts=self._facts(number, left, out))

    def most_games(self) -> int:
        """Return the number of games if every match stays tied."""
        return 2 * (len(self._seeds) - 1) * (self._pairs + self._tiebreaks)

    def title(self) -> str:
        """Return what is played."""
        return f"knockout, matches of {self._pairs} pair{'s' * (self._pairs != 1)}"

    def _round(
        self, number: int, left: Sequence[str | None], games: Games
    ) -> tuple[list[str], list[Pairing]]:
        """Return the winners so far, and the pairs of games needed to decide the other matches."""
        winners: list[str] = []
        missing: list[Pairing] = []
        for one, other in zip(left[::2], left[1::2], strict=True):
            if one is None or other is None:
                winners.append(one or other or "")
                continue
            met = games.get(frozenset((one, other)), ())
            needed = self._needed(one, met)
            missing += [
                self._pairing(one, other, number, len(met) + extra + 1) for extra in range(needed)
            ]
            if not needed:
                winners.append(self._winner(one, other, met))
        return winners, missing

    def _needed(self, one: str, met: Sequence[Meeting]) -> int:
        if len(met) < self._pairs:
            return self._pairs - len(met)
        tied = sum(meeting.points_of(one) for meeting in met) == len(met)
        return int(tied and len(met) < self._pairs + self._tiebreaks)

    def _pairing(self, one: str, other: str, number: int, pair: int) -> Pairing:
        opening = (number - 1) * (self._pairs + self._tiebreaks) + pair
        return Pairing(first=one, second=other, round=number, opening=opening)

    def _winner(self, one: str, other: str, met: Sequence[Meeting]) -> str:
        points = sum(meeting.points_of(one) for meeting in met)
        if points == len(met):
            return min(one, other, key=self._seeds.index)
        return one if points > len(met) else other

    def _facts(self, number: int, left: Sequence[str | None], out: list[str]) -> Mapping[str, Any]:
        """Return the remaining players, and the ranking: later rounds first, then by seed."""
        names = sorted((name for name in left if name), key=self._seeds.index)
        final = len(names) == 1
        text = f"{names[0]} wins the knockout" if final else f"round {number}: {', '.join(names)}"
        return {"kind": "knockout", "ranking": [*names, *out], "left": names, "text": text}


def bracket(seeds: Sequence[str]) -> list[str | None]:
    """Return the places of the first round: neighbours meet; None stands for no opponent."""
    order = [0]
    while len(order) < len(seeds):
        order = [place for seed in order for place in (seed, 2 * len(order) - 1 - seed)]
    return [seeds[place] if place < len(seeds) else None for place in order]
