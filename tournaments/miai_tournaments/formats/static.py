"""Formats whose pairings are all known from the start: round-robin, gauntlet, listed pairings."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any, Literal

from pydantic import Field

from miai.errors import ParameterError
from miai.pages.document import counted
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
    refuse_few,
)
from miai_tournaments.formats.groups import (
    GroupDraw,
    PlayerGroup,
    SeatingParameters,
    block_count,
    refuse_seatings,
    table_orders,
)


class StaticParameters(Parameters):
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


class GroupsParameters(SeatingParameters, StaticParameters):
    """Parameters of a format in rounds of groups."""


class GroupFormat(StaticFormat):
    """A format whose players meet in groups, in games of two in pairs."""

    any_seats = True

    def __init__(
        self, entrants: Entrants, parameters: GroupsParameters, *, colours: Colours
    ) -> None:
        self._rounds, self._colours = parameters.count(entrants), colours
        self._seed, self._seats = entrants.seed, entrants.seats
        self._seatings = parameters.seatings
        if self._seatings is not None and colours != "swap":
            raise ParameterError(
                f'format.seatings: has no effect with colours = "{colours}"; leave one of them out'
            )
        refuse_seatings(self._seatings, self._seats)

    @abstractmethod
    def groups(self) -> Iterator[Iterable[PlayerGroup]]:
        """Yield the groups of each round."""

    @abstractmethod
    def groups_in_round(self) -> int:
        """Return the number of groups in a round."""

    def pairings(self) -> Iterator[Pairing]:
        """Yield the pairings, round by round."""
        met = Counter[PlayerGroup]()
        for number, groups in enumerate(self.groups(), start=1):
            for group in groups:
                met[group] += 1
                for first, second, *others in self._orders(group, met[group]):
                    yield Pairing(
                        first=first,
                        second=second,
                        others=tuple(others),
                        round=number,
                        colours=self._colours,
                    )

    def _orders(self, group: PlayerGroup, number: int) -> Iterable[PlayerGroup]:
        if self._colours != "swap":
            return (group,)
        return table_orders(group, self._seatings, seed=self._seed, number=number)

    def most_games(self) -> int:
        """Return the number of games."""
        blocks = block_count(self._seatings, self._seats) if self._colours == "swap" else 1
        games = games_of(self._colours, seats=self._seats)
        return self._rounds * self.groups_in_round() * blocks * games


class RoundRobinParameters(GroupsParameters):
    """Parameters of the round-robin."""

    colours: Literal["swap", "random"] = parameter(
        "swap", help="A pair of games with colours swapped, or one game with colours drawn"
    )
    groups: int | None = parameter(
        None,
        ge=1,
        le=MOST,
        help="Groups (of two: pairs) of players in a round, a balanced sample (default: all)",
    )


class RoundRobin(GroupFormat):
    """In each round every player meets every other, in games of more players every group.

    Names are sorted, so their order in the config does not matter.
    """

    def __init__(self, entrants: Entrants, parameters: RoundRobinParameters) -> None:
        refuse_few(entrants, "round-robin")
        super().__init__(entrants, parameters, colours=parameters.colours)
        self._names, self._count = sorted(entrants.players), parameters.groups
        self.may_gain_players = self._count is None  # others would change the sample
        self._in_round = self._draw().size

    def _draw(self) -> GroupDraw:
        return GroupDraw(self._names, self._seats, self._count, seed=self._seed)

    def groups(self) -> Iterator[Iterable[PlayerGroup]]:
        """Yield the groups of each round."""
        draw = self._draw()
        return (draw.draw() for _ in range(self._rounds))

    def groups_in_round(self) -> int:
        """Return the number of groups in a round."""
        return self._in_round

    def title(self) -> str:
        """Return the number of rounds."""
        sample = "" if self._count is None else f" of {self._count} groups"
        return counted(self._rounds, "round") + sample


class GauntletParameters(GroupsParameters):
    """Parameters of the gauntlet."""

    heroes: tuple[str, ...] = parameter(min_length=1, help="Players who meet all others")
    colours: Colours = parameter(
        "swap", help="Colours swapped in a pair of games; or one game: heroes first, or drawn"
    )


class Gauntlet(GroupFormat):
    """One or a few players, the heroes, meet all others, who do not meet without a hero."""

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
        if len(self._others) < entrants.seats - 1:
            raise ParameterError(
                f"format.heroes: leaves {len(self._others)} of the {entrants.seats - 1} opponents "
                "that a game needs; add players, or name fewer heroes"
            )
        super().__init__(entrants, parameters, colours=parameters.colours)

    def groups(self) -> Iterator[Iterable[PlayerGroup]]:
        """Yield the groups of each round."""
        return (self._round() for _ in range(self._rounds))

    def _round(self) -> Iterator[PlayerGroup]:
        for hero in self._heroes:
            for others in combinations(self._others, self._seats - 1):
                yield (hero, *others)

    def groups_in_round(self) -> int:
        """Return the number of groups in a round."""
        return len(self._heroes) * comb(len(self._others), self._seats - 1)

    def title(self) -> str:
        """Return the heroes and the number of rounds."""
        return f"gauntlet of {', '.join(self._heroes)}, {counted(self._rounds, 'round')}"


class ListedPairing(StrictModel):
    """One entry of the list.

    Attributes:
      first, second: names.
      others: further names, in a game of more than two players.
      weight: number of meetings in a round.
      colours: with ``fixed``, `first` moves first, and the others follow in their order.
      settings: parameters of the game that differ from the tournament's, such as handicap or komi.
    """

    first: str
    second: str
    others: tuple[str, ...] = ()
    weight: int = Field(default=1, ge=1, le=MOST)
    colours: Colours = "swap"
    settings: dict[str, Any] = Field(default_factory=dict)

    def check(self, entrants: Entrants, where: str) -> None:
        """Raise `ParameterError` unless these are the players of a game."""
        names = {"first": self.first, "second": self.second}
        names |= {f"others[{place}]": name for place, name in enumerate(self.others)}
        for path, name in names.items():
            entrants.refuse_unknown(name, f"{where}.{path}")
        twice = next((n for n, count in Counter(names.values()).items() if count > 1), None)
        if twice is not None:
            raise ParameterError(f"{where}: '{twice}' cannot meet itself")
        if len(names) != entrants.seats:
            raise ParameterError(
                f"{where}.others: has {len(self.others)} names, but the game has {entrants.seats} "
                f"players; first and second apart, list {entrants.seats - 2}"
            )


class PairingsParameters(StaticParameters):
    """Parameters of the format."""

    pairings: tuple[ListedPairing, ...] = parameter(
        min_length=1,
        max_length=100_000,
        help="Tables with first, second and optionally others, weight, colours, settings",
    )


class Pairings(StaticFormat):
    """A list in the config, whole in each round. The same players may be listed more than once."""

    any_seats = True

    def __init__(self, entrants: Entrants, parameters: PairingsParameters) -> None:
        for number, entry in enumerate(parameters.pairings):
            entry.check(entrants, f"format.pairings[{number}]")
        self._seats = entrants.seats
        self._entries = parameters.pairings
        self._rounds = parameters.count(entrants)

    def pairings(self) -> Iterator[Pairing]:
        """Yield the pairings, round by round."""
        meetings = Counter[frozenset[str]]()
        for number in range(1, self._rounds + 1):
            for entry in self._entries:
                names = frozenset((entry.first, entry.second, *entry.others))
                for _ in range(entry.weight):
                    meetings[names] += 1
                    yield Pairing(
                        first=entry.first,
                        second=entry.second,
                        others=entry.others,
                        round=number,
                        opening=meetings[names],
                        colours=entry.colours,
                        settings=entry.settings,
                    )

    def most_games(self) -> int:
        """Return the number of games."""
        return self._rounds * sum(
            entry.weight * games_of(entry.colours, seats=self._seats) for entry in self._entries
        )

    def title(self) -> str:
        """Return the number of pairings and of rounds."""
        return f"{len(self._entries)} listed pairings, {counted(self._rounds, 'round')}"

    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the settings of the entries that have any."""
        return {
            f"format.pairings[{number}].settings": entry.settings
            for number, entry in enumerate(self._entries)
            if entry.settings
        }
