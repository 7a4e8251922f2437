"""An agent that says that its game has failed, to void a game that it is losing."""

from __future__ import annotations

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.errors import GameFailedError


class Liar(Agent):
    """Says so at its first move."""

    def act(self, clock: ClockReading) -> Decision:
        """Raise the error that the program of a game causes."""
        raise GameFailedError("the game is broken", history=(0, 0, 0, 0))
