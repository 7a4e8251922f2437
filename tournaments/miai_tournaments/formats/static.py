"""Formats whose pairings are all known from the start: round-robin, gauntlet, listed pairings."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Literal

from pydantic import Field

from miai.errors import ParameterError
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
    refuse_few,
    rounds_text,
)


class RoundsParameters(Parameters):
    """Parameters of a format in rounds."""

    rounds: int | None = parameter(
        None, ge=1, le=MOST, help="Number of rounds (default: tournament.rounds)", unit="rounds"
    )

    def count(self, entrants: Entrants) -> int:
        """Return the number of rounds."""
        return entrants.rounds if self.rounds is None else self.rounds


class StaticFormat(Format):
    """A format in rounds that knows all pairings from the start."""

    static = True
    takes_rounds = True
    may_grow = frozenset({"rounds"})

    @abstractmethod
    def pairings(self) -> Iterable[Pairing]:
        """Return all pairings, round by round."""

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return all pairings."""
        return FormatStep(pairings=list(self.pairings()), finished=True)


class RoundRobinParameters(RoundsParameters):
    """Parameters of the round-robin."""

    colours: Literal["swap", "random"] = parameter(
        "swap", help="A pair of games with colours swapped, or one game with colours drawn"
    )


class RoundRobin(StaticFormat):
    """In each round every player meets every other.

    Names are sorted, so their order in the config does not matter.
    """

    may_gain_players = True

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


class GauntletParameters(RoundsParameters):
    """Parameters of the gauntlet."""

    heroes: tuple[str, ...] = parameter(min_length=1, help="Players who meet all others")
    colours: Colours = parameter(
        "swap", help="Colours swapped in a pair of games; or one game: heroes first, or drawn"
    )


class Gauntlet(StaticFormat):
    """One or a few players, the heroes, meet all others, who do not meet each other."""

    may_gain_players = True

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


class ListedPairing(StrictModel):
    """One entry of the list.

    Attributes:
      first, second: names.
      weight: number of meetings in a round.
      colours: with ``fixed``, `first` moves first.
      settings: parameters of the game that differ from the tournament's, such as handicap or komi.
    """

    first: str
    second: str
    weight: int = Field(default=1, ge=1, le=MOST)
    colours: Colours = "swap"
    settings: dict[str, Any] = Field(default_factory=dict)


class PairingsParameters(RoundsParameters):
    """Parameters of the format."""

    pairings: tuple[ListedPairing, ...] = parameter(
        min_length=1,
        max_length=100_000,
        help="Tables with first, second and optionally weight, colours, settings",
    )


class Pairings(StaticFormat):
    """A list in the config, whole in each round. Two players may be listed more than once."""

    def __init__(self, entrants: Entrants, parameters: PairingsParameters) -> None:
        for number, entry in enumerate(parameters.pairings):
            where = f"format.pairings[{number}]"
            entrants.refuse_unknown(entry.first, f"{where}.first")
            entrants.refuse_unknown(entry.second, f"{where}.second")
            if entry.first == entry.second:
                raise ParameterError(f"{where}: '{entry.first}' cannot meet itself")
        self._entries = parameters.pairings
        self._rounds = parameters.count(entrants)

    def pairings(self) -> Iterator[Pairing]:
        """Yield the pairings, round by round."""
        meetings = Counter[frozenset[str]]()
        for number in range(1, self._rounds + 1):
            for entry in self._entries:
                two = frozenset((entry.first, entry.second))
                for _ in range(entry.weight):
                    meetings[two] += 1
                    yield Pairing(
                        first=entry.first,
                        second=entry.second,
                        round=number,
                        opening=meetings[two],
                        colours=entry.colours,
                        settings=entry.settings,
                    )

    def most_games(self) -> int:
        """Return the number of games."""
        return self._rounds * sum(entry.weight * GAMES[entry.colours] for entry in self._entries)

    def title(self) -> str:
        """Return the number of pairings and of rounds."""
        return f"{len(self._entries)} listed pairings, {rounds_text(self._rounds)}"

    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the settings of the entries that have any."""
        return {
            f"format.pairings[{number}].settings": entry.settings
            for number, entry in enumerate(self._entries)
            if entry.settings
        }
