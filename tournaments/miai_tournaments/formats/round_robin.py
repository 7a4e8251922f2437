"""Round-robin: in each round every player meets every other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Literal

from miai.parameters import parameter
from miai_tournaments.formats.format import (
    GAMES,
    Entrants,
    Pairing,
    RoundsParameters,
    StaticFormat,
    refuse_few,
    rounds_text,
)


class RoundRobinParameters(RoundsParameters):
    """Parameters of the round-robin."""

    colours: Literal["swap", "random"] = parameter(
        "swap", help="A pair of games with colours swapped, or one game with colours drawn"
    )


class RoundRobin(StaticFormat):
    """The round-robin. Names are sorted, so their order in the config does not matter."""

    takes_rounds = True
    may_gain_players = True
    may_grow = frozenset({"rounds"})

    def __init__(self, entrants: Entrants, parameters: RoundRobinParameters) -> None:
        refuse_few(entrants, "round-robin")
        self._names = sorted(entrants.players)
        self._rounds = parameters.count(entrants)
        self._colours = parameters.colours

    def pairings(self) -> Iterator[Pairing]:
        """Yield the pairings, round by round."""
        for number in range(1, self._rounds + 1):
            for one, other in combinations(self._names, 2):
                yield Pairing(first=one, second=other, round=number, colours=self._colours)

    def most_games(self) -> int:
        """Return the number of games."""
        n = len(self._names)
        return self._rounds * n * (n - 1) // 2 * GAMES[self._colours]

    def title(self) -> str:
        """Return the number of rounds."""
        return rounds_text(self._rounds)
