"""Buchholz and Sonneborn-Berger: what tells players of equal points apart.

Both weigh a player's opponents by the points that these have in the end:

- Buchholz: the sum of the opponents' points, each as often as they met.
- Sonneborn-Berger: the sum of the opponents' points, each times what was scored against them.

A bye counts as a meeting with an imagined opponent who has as many points as the player itself has
in the end, as in FIDE's rules since 2023.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Card:
    """One player's tournament.

    Attributes:
      name: the player's.
      meetings: ``(opponent, points scored)``, one entry for each time that the two met.
      byes: points received for each bye.
    """

    name: str
    meetings: list[tuple[str, float]] = field(default_factory=list)
    byes: list[float] = field(default_factory=list)

    @property
    def points(self) -> float:
        """All points, those of byes included."""
        return sum(score for _, score in self.meetings) + sum(self.byes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One line of the final table."""

    name: str
    points: float
    buchholz: float
    sonneborn_berger: float
    byes: int


def buchholz(card: Card, points: Mapping[str, float]) -> float:
    """Return the sum of the opponents' points."""
    met = sum(points[opponent] for opponent, _ in card.meetings)
    return met + len(card.byes) * points[card.name]


def sonneborn_berger(card: Card, points: Mapping[str, float]) -> float:
    """Return the sum of the opponents' points, each times what was scored against them."""
    met = sum(score * points[opponent] for opponent, score in card.meetings)
    return met + sum(card.byes) * points[card.name]


def standings(cards: Iterable[Card]) -> Sequence[Standing]:
    """Return the table: by points, Buchholz, Sonneborn-Berger, then in the order of the cards."""
    cards = list(cards)
    points = {card.name: card.points for card in cards}
    table = [
        Standing(
            name=card.name,
            points=card.points,
            buchholz=buchholz(card, points),
            sonneborn_berger=sonneborn_berger(card, points),
            byes=len(card.byes),
        )
        for card in cards
    ]
    return sorted(table, key=lambda s: (-s.points, -s.buchholz, -s.sonneborn_berger))
