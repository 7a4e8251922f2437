"""Swiss system: in each round players of about equal points meet, and nobody meets twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any, Literal

from miai.errors import ParameterError
from miai.plugins.parameters import Parameters, parameter
from miai.seeds import derive_seed
from miai_tournaments.formats.format import Entrants, Format, Meeting, Pairing, Step, refuse_few
from miai_tournaments.formats.rounds import told_rounds
from miai_tournaments.formats.swiss_pairing import FIRST, SECOND, Player, colours, pair_round
from miai_tournaments.formats.tiebreaks import Card, Standing, standings


class SwissParameters(Parameters):
    """Parameters of the Swiss system."""

    rounds: int = parameter(ge=1, le=10_000, help="Rounds", unit="rounds")
    pairs: int = parameter(
        1, ge=1, le=10_000, help="Pairs of games of two who meet in a round", unit="pairs"
    )
    colours: Literal["swap", "balance"] = parameter(
        "swap", help="Colours swapped in pairs of games; or single games, colours balanced"
    )


class Swiss(Format):
    """The Swiss system; pairings are made by `swiss_pairing`, seeds are the order of the config.

    With an odd number of players one has the bye in each round: all points of the round, and no
    game. Byes count in the standings and in nothing else.
    """

    may_grow = frozenset({"rounds"})

    def __init__(self, entrants: Entrants, parameters: SwissParameters) -> None:
        refuse_few(entrants, "swiss")
        n = len(entrants.players)
        most = n - 1 + n % 2
        if parameters.rounds > most:
            raise ParameterError(
                f"format.rounds: {parameters.rounds} rounds of {n} players have rematches; at most "
                f"{most}, or take a round-robin"
            )
        if parameters.colours == "balance" and parameters.pairs > 1:
            raise ParameterError("format.pairs: colours are balanced over single games; leave it")
        self._names = entrants.players
        self._rounds = parameters.rounds
        self._pairs = parameters.pairs
        self._swap = parameters.colours == "swap"
        self._top = FIRST if derive_seed(entrants.seed, "swiss colours") % 2 else SECOND

    def more(self, played: Sequence[Meeting], *, room: int) -> Step:
        """Return the next round, or the final table."""
        rounds = [list(games) for _, games in groupby(played, key=lambda m: m.pairing.round)]
        facts = self._facts(rounds)
        if len(rounds) >= self._rounds:
            return Step(finished=True, facts=facts)
        return Step(pairings=self._round(len(rounds) + 1, rounds), facts=facts)

    def most_games(self) -> int:
        """Return the number of games."""
        return self._rounds * (len(self._names) // 2) * self._round_games

    def title(self) -> str:
        """Return the number of rounds."""
        return f"swiss, {told_rounds(self._rounds)}"

    @property
    def _round_games(self) -> int:
        """Games that a player has in a round; as many points has a bye."""
        return 2 * self._pairs if self._swap else 1

    def _round(self, number: int, rounds: Sequence[Sequence[Meeting]]) -> list[Pairing]:
        players = self._players(rounds)
        pairs, _ = pair_round(players)
        if not self._swap:
            pairs = [colours(one, other, players, top=self._top) for one, other in pairs]
        return [
            Pairing(
                first=self._names[one],
                second=self._names[other],
                round=number,
                opening=(number - 1) * self._pairs + pair,
                colours="swap" if self._swap else "fixed",
            )
            for one, other in pairs
            for pair in range(1, self._pairs + 1)
        ]

    def _players(self, rounds: Sequence[Sequence[Meeting]]) -> list[Player]:
        """Return what the pairing is made from."""
        numbers = {name: number for number, name in enumerate(self._names)}
        players = [
            Player(points=card.points, byes=len(card.byes)) for card in self._cards(rounds).values()
        ]
        for meeting in (m for games in rounds for m in games):
            one, other = (numbers[n] for n in (meeting.pairing.first, meeting.pairing.second))
            players[one].opponents.add(other)
            players[other].opponents.add(one)
            if not self._swap:
                players[one].colours.append(FIRST)
                players[other].colours.append(SECOND)
        return players

    def _cards(self, rounds: Sequence[Sequence[Meeting]]) -> dict[str, Card]:
        cards = {name: Card(name) for name in self._names}
        for games in rounds:
            busy: set[str] = set()
            for meeting in games:
                one, other = meeting.pairing.first, meeting.pairing.second
                cards[one].meetings.append((other, meeting.points_of(one)))
                cards[other].meetings.append((one, meeting.points_of(other)))
                busy |= {one, other}
            for name in self._names:
                if name not in busy:
                    cards[name].byes.append(self._round_games)
        return cards

    def _facts(self, rounds: Sequence[Sequence[Meeting]]) -> Mapping[str, Any]:
        table = standings(self._cards(rounds).values())
        return {
            "kind": "swiss",
            "rounds": len(rounds),
            "standings": [asdict(standing) for standing in table],
            "ranking": [standing.name for standing in table],
            "text": f"after {told_rounds(len(rounds))}: {', '.join(map(_told, table[:3]))}"
            if rounds
            else "",
        }


def _told(standing: Standing) -> str:
    return f"{standing.name} {standing.points:g}"
