"""The belief ``enumerated`` of the component kind ``belief``, for small games of any kind."""

from __future__ import annotations

from miai.game import Game
from miai.information import EnumeratedBelief
from miai.plugins.parameters import Parameters, parameter


class EnumeratedBeliefParameters(Parameters):
    """Parameters of `enumerated_belief`."""

    limit: int = parameter(
        1_000_000, ge=1, unit="worlds", help="Most worlds held; a game with more needs its own"
    )


def enumerated_belief(
    game: Game, player: int, parameters: EnumeratedBeliefParameters
) -> EnumeratedBelief:
    """Return a player's belief before anything was observed."""
    return EnumeratedBelief(game, player, limit=parameters.limit)
