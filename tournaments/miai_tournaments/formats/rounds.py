"""The number of rounds of the formats that take ``tournament.rounds`` when they are told none."""

from __future__ import annotations

from miai.plugins.parameters import Parameters, parameter
from miai_tournaments.formats.format import Entrants

MOST = 1_000_000
"""Most rounds, pairs and the like: the bound on all games is checked besides."""


class RoundsParameters(Parameters):
    """Parameters of a format in rounds."""

    rounds: int | None = parameter(
        None, ge=1, le=MOST, help="How often; none: tournament.rounds", unit="rounds"
    )

    def count(self, entrants: Entrants) -> int:
        """Return the number of rounds."""
        return entrants.rounds if self.rounds is None else self.rounds


def told_rounds(count: int) -> str:
    """Return a number of rounds in words."""
    return f"{count} round{'s' * (count != 1)}"
