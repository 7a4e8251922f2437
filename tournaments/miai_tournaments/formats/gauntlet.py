"""Gauntlet: one or a few players, the heroes, meet all others, who do not meet each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from miai.errors import ParameterError
from miai.parameters import parameter
from miai_tournaments.formats.format import (
    GAMES,
    Colours,
    Entrants,
    Pairing,
    RoundsParameters,
    StaticFormat,
    rounds_text,
)


class GauntletParameters(RoundsParameters):
    """Parameters of the gauntlet."""

    heroes: tuple[str, ...] = parameter(min_length=1, help="Players who meet all others")
    colours: Colours = parameter(
        "swap", help="Colours swapped in a pair of games; or one game: heroes first, or drawn"
    )


class Gauntlet(StaticFormat):
    """The gauntlet."""

    takes_rounds = True
    may_gain_players = True
    may_grow = frozenset({"rounds"})

    def __init__(self, entrants: Entrants, parameters: GauntletParameters) -> None:
        for number, name in enumerate(parameters.heroes):
            entrants.refuse_unknown(name, f"format.heroes[{number}]")
            if name in parameters.heroes[:number]:
                raise ParameterError(f"format.heroes[{number}]: '{name}' is named twice")
        self._heroes = parameters.heroes
        self._others = [name for name in entrants.players if name not in self._heroes]
        if not self._others:
            raise ParameterError("format.heroes: includes all players; leave some as opponents")
        self._rounds = parameters.count(entrants)
        self._colours: Colours = parameters.colours

    def pairings(self) -> Iterator[Pairing]:
        """Yield the pairings, round by round."""
        for number in range(1, self._rounds + 1):
            for hero, other in product(self._heroes, self._others):
                yield Pairing(first=hero, second=other, round=number, colours=self._colours)

    def most_games(self) -> int:
        """Return the number of games."""
        pairings = self._rounds * len(self._heroes) * len(self._others)
        return pairings * GAMES[self._colours]

    def title(self) -> str:
        """Return the heroes and the number of rounds."""
        return f"gauntlet of {', '.join(self._heroes)}, {rounds_text(self._rounds)}"
