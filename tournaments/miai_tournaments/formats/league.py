"""League: divisions, and after each season promotion and relegation between neighbours.

In a season every division plays round-robins of its own, in games of more than two players over
groups. Then the best players of a division change places with the worst of the one above. The
order within a division is by points of the season; ties go to the player who began it higher.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Any

from miai.errors import ParameterError
from miai.parameters import parameter
from miai_tournaments.formats.format import (
    MOST,
    Entrants,
    Format,
    FormatStep,
    Meeting,
    Pairing,
    by_round,
    points_by_player,
    refuse_few,
)
from miai_tournaments.formats.groups import (
    SeatingParameters,
    block_count,
    refuse_seatings,
    table_orders,
)

Divisions = list[list[str]]
"""The players of each division, the highest division and the best players first."""


class LeagueParameters(SeatingParameters):
    """Parameters of the league."""

    seasons: int = parameter(ge=1, le=10_000, help="Number of seasons", unit="seasons")
    divisions: int = parameter(2, ge=1, le=1000, help="Number of divisions", unit="divisions")
    promoted: int = parameter(
        1,
        ge=0,
        le=1000,
        help="Players who move up from a division after a season, and as many down to it",
        unit="players",
    )
    rounds: int = parameter(
        1, ge=1, le=MOST, help="Round-robins of each division in a season", unit="rounds"
    )


class League(Format):
    """The league; it begins in the order of the config, the best players first."""

    any_seats = True
    may_grow = frozenset({"seasons"})

    def __init__(self, entrants: Entrants, parameters: LeagueParameters) -> None:
        refuse_few(entrants, "league")
        refuse_seatings(parameters.seatings, entrants.seats)
        self._parameters, self._seed, self._seats = parameters, entrants.seed, entrants.seats
        self._start = divided(entrants.players, parameters.divisions)
        smallest = len(self._start[0])
        if smallest < entrants.seats:
            raise ParameterError(
                f"format.divisions: {parameters.divisions} divisions of {len(entrants.players)} "
                f"players have {smallest} each, but a game needs {entrants.seats}; use at most "
                f"{len(entrants.players) // entrants.seats}"
            )
        moving = parameters.promoted if parameters.divisions > 1 else 0
        if 2 * moving > smallest:
            raise ParameterError(
                f"format.promoted: {moving} players cannot move up and as many down from a "
                f"division of {smallest}; use at most {smallest // 2}"
            )
        self._moving = moving

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the games of the next season, or the final divisions."""
        seasons, divisions = by_round(played), self._start
        facts: dict[str, Any] = {"seasons": 0, "text": ""}
        for number in range(1, self._parameters.seasons + 1):
            if number not in seasons:
                facts |= {"kind": "league", "divisions": divisions}
                return FormatStep(pairings=list(self._season(number, divisions)), facts=facts)
            ranked, facts = _season_table(divisions, seasons[number], number)
            divisions = after_season(ranked, self._moving)
        return FormatStep(finished=True, facts={"kind": "league", "divisions": divisions, **facts})

    def most_games(self) -> int:
        """Return the number of games."""
        groups = sum(comb(len(names), self._seats) for names in self._start)
        blocks = block_count(self._parameters.seatings, self._seats)
        seasons, rounds = self._parameters.seasons, self._parameters.rounds
        return seasons * rounds * groups * blocks * self._seats

    def title(self) -> str:
        """Return the numbers of seasons and divisions."""
        seasons, divisions = self._parameters.seasons, self._parameters.divisions
        return (
            f"league, {seasons} season{'s' * (seasons != 1)} of {divisions} "
            f"division{'s' * (divisions != 1)}"
        )

    def _season(self, number: int, divisions: Divisions) -> Iterator[Pairing]:
        """Yield the pairings of a season; the order of names in a division does not matter."""
        rounds, seatings = self._parameters.rounds, self._parameters.seatings
        for meeting in range((number - 1) * rounds + 1, number * rounds + 1):
            for names in divisions:
                for group in combinations(sorted(names), self._seats):
                    orders = table_orders(group, seatings, seed=self._seed, number=meeting)
                    for first, second, *others in orders:
                        yield Pairing(
                            first=first,
                            second=second,
                            others=tuple(others),
                            round=number,
                            opening=meeting,
                        )


def divided(names: Sequence[str], count: int) -> Divisions:
    """Return players in divisions as equal as possible; the lower ones are the larger ones."""
    size, larger = divmod(len(names), count)
    divisions, begin = [], 0
    for number in range(count):
        end = begin + size + (number >= count - larger)
        divisions.append(list(names[begin:end]))
        begin = end
    return divisions


def after_season(ranked: Divisions, moving: int) -> Divisions:
    """Return the divisions of the next season: neighbours exchange their worst and their best."""
    divisions = []
    for number, names in enumerate(ranked):
        stays = names[moving if number else 0 : len(names) - moving * (number + 1 < len(ranked))]
        down = ranked[number - 1][len(ranked[number - 1]) - moving :] if number else []
        up = ranked[number + 1][:moving] if number + 1 < len(ranked) else []
        divisions.append([*down, *stays, *up])
    return divisions


def _season_table(
    divisions: Divisions, meetings: Iterable[Meeting], number: int
) -> tuple[Divisions, dict[str, Any]]:
    """Return the divisions by the points of a season, and facts of it."""
    points = points_by_player(meetings)
    # Sums of thirds of a point, say, may differ in the last digit.
    ranked = [sorted(names, key=lambda name: -round(points[name], 9)) for names in divisions]
    leaders = ", ".join(names[0] for names in ranked)
    return ranked, {
        "seasons": number,
        "standings": [
            {"name": name, "division": division, "points": round(points[name], 9)}
            for division, names in enumerate(ranked, start=1)
            for name in names
        ],
        "ranking": [name for names in ranked for name in names],
        "text": f"first in their divisions after season {number}: {leaders}",
    }
