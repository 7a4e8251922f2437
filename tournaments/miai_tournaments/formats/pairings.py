"""Pairings: a list in the config, each entry with a weight, colours and settings of the game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from miai.errors import ParameterError
from miai.parameters import StrictModel, parameter
from miai_tournaments.formats.format import (
    GAMES,
    MOST,
    Colours,
    Entrants,
    Pairing,
    RoundsParameters,
    StaticFormat,
    rounds_text,
)


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
    """The pairings: the whole list in each round. Two players may be listed more than once."""

    takes_rounds = True
    may_grow = frozenset({"rounds"})

    def __init__(self, entrants: Entrants, parameters: PairingsParameters) -> None:
        for number, listed in enumerate(parameters.pairings):
            where = f"format.pairings[{number}]"
            entrants.refuse_unknown(listed.first, f"{where}.first")
            entrants.refuse_unknown(listed.second, f"{where}.second")
            if listed.first == listed.second:
                raise ParameterError(f"{where}: '{listed.first}' cannot meet itself")
        self._listed = parameters.pairings
        self._rounds = parameters.count(entrants)

    def pairings(self) -> Iterator[Pairing]:
        """Yield the pairings, round by round."""
        met: dict[frozenset[str], int] = {}
        for number in range(1, self._rounds + 1):
            for listed in self._listed:
                for _ in range(listed.weight):
                    two = frozenset((listed.first, listed.second))
                    met[two] = met.get(two, 0) + 1
                    yield Pairing(
                        first=listed.first,
                        second=listed.second,
                        round=number,
                        opening=met[two],
                        colours=listed.colours,
                        settings=listed.settings,
                    )

    def most_games(self) -> int:
        """Return the number of games."""
        return self._rounds * sum(listed.weight * GAMES[listed.colours] for listed in self._listed)

    def title(self) -> str:
        """Return the number of pairings and of rounds."""
        return f"{len(self._listed)} listed pairings, {rounds_text(self._rounds)}"

    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the settings of the entries that have any."""
        return {
            f"format.pairings[{number}].settings": listed.settings
            for number, listed in enumerate(self._listed)
            if listed.settings
        }
