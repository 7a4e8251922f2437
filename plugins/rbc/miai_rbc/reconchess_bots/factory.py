"""Making a class of reconchess from an agent of miai."""

from __future__ import annotations

import sys
from typing import Any

from miai_rbc.reconchess.loading import import_reconchess
from miai_rbc.reconchess_bots.agent_player import AgentPlayer


def player_class(agent: str, /, **parameters: Any) -> type[Any]:
    """Return a subclass of `reconchess.Player` that plays as an agent of miai.

    It is made without arguments, and named after the agent: ``RbcRandom`` for ``rbc-random``. The
    module that calls this holds it under that name, so that other processes find it there.

    Args:
      agent: the name of an agent that plays rbc.
      parameters: of the agent.

    Raises:
      AgentUnavailableError: reconchess is not installed.
    """
    player = import_reconchess().Player
    name = "".join(part.capitalize() for part in agent.replace("_", "-").split("-"))
    module = sys._getframe(1).f_globals.get("__name__", __name__)  # as namedtuple does
    return type(
        name,
        (AgentPlayer, player),
        {
            "__doc__": f"The agent {agent!r} of miai as a player of reconchess.",
            "__module__": module,
            "agent_name": agent,
            "agent_parameters": parameters,
        },
    )
