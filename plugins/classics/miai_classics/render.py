"""Pictures of the hidden games for a player, made from its observations alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from miai_classics.kuhn_poker import betting_text
from miai_classics.tic_tac_toe import NAMES, board_text

if TYPE_CHECKING:
    from miai import Game, Parameters, PlayerView


class PhantomRenderer:
    """Shows the player's marks, and those of the opponent that it bumped into."""

    def __init__(self, game: Game, parameters: Parameters) -> None:
        pass

    def render(self, view: PlayerView) -> str:
        """Return the board as far as the player knows it, and how many marks it does not see."""
        marks, hidden = [0, 0], 0
        for observation in view.observations:
            data = observation.data
            if observation.action is not None and isinstance(data, Mapping):
                holder = view.player if data["stood"] else 1 - view.player
                marks[holder] |= 1 << observation.action
            elif observation.actor is not None:
                hidden += 1
        hidden -= marks[1 - view.player].bit_count()
        return f"{board_text(marks)}\n{NAMES[1 - view.player]} out of sight: {hidden}"


class KuhnRenderer:
    """Shows the player's card, the betting and the pot."""

    def __init__(self, game: Game, parameters: Parameters) -> None:
        pass

    def render(self, view: PlayerView) -> str:
        """Return the card and the betting in two lines; one before the deal."""
        card, bets = "", ""
        for observation in view.observations:
            if isinstance(observation.data, Mapping):
                card = str(observation.data["card"])
            if observation.action is not None:
                bets += "pb"[observation.action]
        if not card:
            return "the cards are not dealt yet"
        return f"your card: {card}\n{betting_text(bets)}"
