"""Hints: what an agent would do in a player's place, from that player's observations alone."""

from __future__ import annotations

from typing import Final

from miai.agent import Decision
from miai.clock import ClockReading, TimeControl
from miai.information import PlayerView
from miai.plain import one_line
from miai.playing.match import Seat
from miai.render import action_text
from miai.seeds import derive_seed
from miai.values import Evaluation

_SECONDS: Final = 5.0


def decision_in_place(seat: Seat, view: PlayerView, *, seed: int) -> Decision:
    """Return what an agent decides in a player's place.

    Args:
      seat: the agent's; this function closes it.
      view: what the player has observed; it is the player's turn.
      seed: of the game.

    Raises `AgentError` if the agent fails.
    """
    observations = list(view.observations)  # it may grow meanwhile
    try:
        seat.new_game(derive_seed(seed, "hint"), player=view.player, log=None)
        for observation in observations:
            seat.observe(observation)
        reading = ClockReading(control=TimeControl(move_deadline=_SECONDS), limit=_SECONDS)
        return seat.act(reading, deadline=2 * _SECONDS).decision
    finally:
        seat.close()


def hint_line(view: PlayerView, adviser: str, decision: Decision) -> str:
    """Return a line about an adviser's decision in a player's place."""
    if decision.resign or decision.action not in view.legal_actions:
        return f"{adviser} would resign"
    game = view.game
    position = view.state if game.info.perfect_information else game.new_initial_state()
    text = f"{adviser} suggests {action_text(position, decision.action)}"
    if (evaluation := Evaluation.from_statistics(decision.statistics)) is not None:
        text += f": {evaluation.text(game.info)}"
    return one_line(text)
