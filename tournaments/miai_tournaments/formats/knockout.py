"""Knockout: the loser of a match is out; the bracket is seeded by the order of the config."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from miai.pages.document import counted
from miai.parameters import Parameters, parameter
from miai_tournaments.formats.format import (
    MOST,
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
    by_round,
    refuse_few,
)


class KnockoutParameters(Parameters):
    """Parameters of the knockout."""

    pairs: int = parameter(1, ge=1, le=MOST, help="Pairs of games per match", unit="pairs")
    tiebreaks: int = parameter(
        2, ge=0, le=1000, help="Extra pairs of a tie; then the higher seed wins", unit="pairs"
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
        rounds = by_round(played)
        remaining = bracket(self._seeds)
        out: list[str] = []
        number = 1
        while len(remaining) > 1:
            winners, missing = self._round(number, remaining, rounds[number])
            if missing:
                return FormatStep(pairings=missing, facts=self._facts(number, remaining, out))
            losers = [name for name in self._seeds if name in remaining and name not in winners]
            out = losers + out
            remaining, number = list(winners), number + 1
        return FormatStep(finished=True, facts=self._facts(number, remaining, out))

    def most_games(self) -> int:
        """Return the number of games if every match stays tied."""
        return 2 * (len(self._seeds) - 1) * (self._pairs + self._tiebreaks)

    def title(self) -> str:
        """Return what is played."""
        return f"knockout, matches of {counted(self._pairs, 'pair')}"

    def _round(
        self, number: int, remaining: Sequence[str | None], games: Sequence[Meeting]
    ) -> tuple[list[str], list[Pairing]]:
        """Return the winners so far, and the pairs of games needed to decide the other matches."""
        winners: list[str] = []
        missing: list[Pairing] = []
        matches: dict[frozenset[str], list[Meeting]] = defaultdict(list)
        for meeting in games:
            matches[frozenset((meeting.pairing.first, meeting.pairing.second))].append(meeting)
        limit = self._pairs + self._tiebreaks
        for one, other in zip(remaining[::2], remaining[1::2], strict=True):
            if one is None or other is None:
                winners.append(one or other or "")
                continue
            match = matches[frozenset((one, other))]
            lead = sum(m.points_of(one) - m.points_of(other) for m in match)
            # Tiebreaks are added one pair at a time, so that they end with the first decisive one.
            extra = int(lead == 0 and len(match) < limit)
            needed = max(self._pairs - len(match), extra)
            # Openings are numbered as if all matches were of full length: a match that needs
            # tiebreaks does not move the openings of the next round.
            begin = (number - 1) * limit + len(match) + 1
            missing += [
                Pairing(first=one, second=other, round=number, opening=opening)
                for opening in range(begin, begin + needed)
            ]
            if not needed:
                higher = min(one, other, key=self._seeds.index)
                winners.append(higher if lead == 0 else one if lead > 0 else other)
        return winners, missing

    def _facts(
        self, number: int, remaining: Sequence[str | None], out: list[str]
    ) -> Mapping[str, Any]:
        """Return the remaining players, and the ranking: later rounds first, then by seed."""
        names = [name for name in self._seeds if name in remaining]
        final = len(names) == 1
        text = f"{names[0]} wins the knockout" if final else f"round {number}: {', '.join(names)}"
        return {"kind": "knockout", "ranking": [*names, *out], "left": names, "text": text}


def bracket(seeds: Sequence[str]) -> list[str | None]:
    """Return the places of the first round: neighbours meet; None stands for no opponent."""
    # Of n places each doubling makes 2n, and puts beside seed s the seed 2n - 1 - s: the top two
    # meet only in the final, the top four in the semi-finals.
    order = [0]
    while len(order) < len(seeds):
        order = [place for seed in order for place in (seed, 2 * len(order) - 1 - seed)]
    return [seeds[place] if place < len(seeds) else None for place in order]
