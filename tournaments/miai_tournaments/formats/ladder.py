"""Ladder: players challenge the player one rung above; the winner of a match gets the higher rung.

In odd rounds the second challenges the first, the fourth the third, and so on; in even rounds the
third challenges the second, the fifth the fourth. In as many rounds as there are players, a player
can climb from the lowest rung to the highest (odd-even transposition sort).
"""

from __future__ import annotations

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
    by_round,
    points_by_player,
    refuse_few,
    rounds_text,
)


class LadderParameters(Parameters):
    """Parameters of the ladder."""

    rounds: int = parameter(ge=1, le=MOST, help="Rounds of challenges", unit="rounds")
    pairs: int = parameter(1, ge=1, le=MOST, help="Pairs of games per challenge", unit="pairs")


class Ladder(Format):
    """The ladder; it begins in the order of the config, the first player on the highest rung."""

    may_grow = frozenset({"rounds"})

    def __init__(self, entrants: Entrants, parameters: LadderParameters) -> None:
        refuse_few(entrants, "ladder")
        self._names = entrants.players
        self._rounds = parameters.rounds
        self._pairs = parameters.pairs

    def more(self, played: Sequence[Meeting], *, room: int) -> FormatStep:
        """Return the challenges of the next round, or the final ladder."""
        rounds = by_round(played)
        ladder = list(self._names)
        for number in range(1, self._rounds + 1):
            if number not in rounds:
                return FormatStep(pairings=self._round(number, ladder), facts=_facts(ladder))
            points = points_by_player(rounds[number])
            for above in self._above(number):
                holder, challenger = ladder[above : above + 2]
                if points[challenger] > points[holder]:
                    ladder[above : above + 2] = challenger, holder
        return FormatStep(finished=True, facts=_facts(ladder))

    def most_games(self) -> int:
        """Return the number of games."""
        odd, even = len(self._above(1)), len(self._above(2))
        challenges = (self._rounds + 1) // 2 * odd + self._rounds // 2 * even
        return 2 * self._pairs * challenges

    def title(self) -> str:
        """Return the number of rounds."""
        return f"ladder, {rounds_text(self._rounds)}"

    def _above(self, number: int) -> range:
        """Return the rungs that are challenged in a round; two players always meet."""
        begin = 0 if len(self._names) == 2 else (number - 1) % 2
        return range(begin, len(self._names) - 1, 2)

    def _round(self, number: int, ladder: Sequence[str]) -> list[Pairing]:
        return [
            Pairing(
                first=ladder[above + 1],
                second=ladder[above],
                round=number,
                opening=(number - 1) * self._pairs + pair,
            )
            for above in self._above(number)
            for pair in range(1, self._pairs + 1)
        ]


def _facts(ladder: Sequence[str]) -> Mapping[str, Any]:
    return {"kind": "ladder", "ranking": [*ladder], "text": f"the ladder: {', '.join(ladder)}"}
