"""Scenes of games whose players choose at once: lines of text, and choices to click."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from miai import Json, Player, PlayerView, State
from miai.scenes import Cards, Grid, Scene, SceneRenderer
from miai_classics.goofspiel import Goofspiel, GoofspielState

if TYPE_CHECKING:
    from miai_classics.matrix_games import MatrixGame

_LETTERS: Final = 48  # in a line of text


def _wrapped(*lines: str) -> str:
    return "\n".join(part for line in lines for part in textwrap.wrap(line, _LETTERS))


class _ChoiceRenderer(SceneRenderer):
    """What both renderers have in common."""

    def whole(self, state: State) -> Scene:
        """Return everything that the referee knows, as text."""
        return Scene(blocks=[_wrapped(*str(state).split("\n"))])

    def _you(self, view: PlayerView) -> str:
        return f"You are {self.game.info.player_names[view.player]}."


class MatrixRenderer(_ChoiceRenderer):
    """Shows the last rounds, the points, and the choices; the last choice is marked."""

    game: MatrixGame

    def render(self, view: PlayerView) -> str:
        """Return the last rounds and the points."""
        return str(view.state)

    def seen(self, view: PlayerView) -> Scene:
        """Return the rounds above the choices."""
        choices = self.game.choices
        last = view.observations[-1].action if view.observations else None
        rows = [choices[start : start + 3] for start in range(0, len(choices), 3)]
        marks = [] if last is None else [divmod(last, 3)]
        board = Grid(cells=rows, names=rows, widths=(2,), marks=marks)
        lines = _wrapped(*str(view.state).split("\n"), self._you(view))
        actions = {action: (choices[action],) for action in view.legal_actions}
        return Scene(blocks=[lines, board], actions=actions)

    def legend(self) -> list[tuple[str, str]]:
        """Return the colour of the last choice."""
        return [(Grid(cells=[[""]], marks=[(0, 0)]).sample(), "your choice in the last round")]


class GoofspielRenderer(_ChoiceRenderer):
    """Shows the prizes, everybody's points as far as known, and the player's hand."""

    game: Goofspiel

    def seen(self, view: PlayerView) -> Scene:
        """Return the prizes above the player's hand."""
        hand = [str(card) for card in self._hand(view)]
        actions = {action: (str(action + 1),) for action in view.legal_actions}
        cards = Cards(faces=hand, names=hand, title="your hand")
        return Scene(blocks=[_wrapped(*self._lines(view)), cards], actions=actions)

    def _hand(self, view: PlayerView) -> list[int]:
        """Return the cards that the player has not bid; none after the last round."""
        if isinstance(state := self._position(view), GoofspielState):
            return state.hand(view.player)
        bids = {o.action for o in view.observations if o.actor == Player.SIMULTANEOUS}
        hand = [card for card in self._prizes() if card - 1 not in bids]
        return hand if len(hand) > 1 else []

    def _lines(self, view: PlayerView) -> list[str]:
        """Return what the player knows of the prizes, and who it is."""
        names = self.game.info.player_names
        if (state := self._position(view)) is not None:
            return [*str(state).split("\n"), self._you(view)]
        prizes, winners = self._rounds(view)
        lines = [
            f"prize {prize}: {names[winner] if isinstance(winner, int) else 'nobody'}"
            for prize, winner in zip(prizes, winners, strict=False)
        ]
        if len(winners) < len(prizes):
            lines.append(f"prize {prizes[len(winners)]}: to be won now")
        return [*lines, self._you(view)]

    def _position(self, view: PlayerView) -> State | None:
        return view.state if self.game.info.perfect_information else None

    def _prizes(self) -> list[int]:
        cards = range(1, self.game.parameters.num_cards + 1)
        return list(cards[::-1] if self.game.parameters.points_order == "descending" else cards)

    def _rounds(self, view: PlayerView) -> tuple[list[int], list[Json]]:
        """Return the prizes turned up so far, and who won each of those before."""
        prizes: list[int] = []
        winners: list[Json] = []
        for observation in view.observations:
            if observation.actor == Player.CHANCE and observation.action is not None:
                prizes.append(observation.action + 1)
            data = observation.data
            if isinstance(data, Mapping) and isinstance(new := data["winners"], Sequence):
                winners += new
        rest = [prize for prize in self._prizes() if prize not in prizes]
        known = self.game.parameters.points_order != "random" or len(rest) == 1
        return (prizes + rest if known else prizes), winners
