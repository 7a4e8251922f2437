"""Pictures of games whose players choose from a hand at once: lines of text, and cards to click."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from miai import Game, Json, Parameters, Player, PlayerView, State
from miai.markup import tag
from miai.render import Clicks, Region
from miai.squares import INK, LIGHT, ORANGE, PAPER
from miai_classics.goofspiel import Goofspiel, GoofspielState

if TYPE_CHECKING:
    from miai_classics.matrix_games import MatrixGame

_WIDTH: Final = 360
_MARGIN: Final = 12
_LINE: Final = 20
_LETTERS: Final = 48  # in a line of text
_GAP: Final = 6
_TALL: Final = 52  # height of a card
_HIGHEST: Final = 4000  # of any picture; the ground is cut at its edge


class ChoiceTable:
    """The geometry of a picture, and what it consists of.

    Args:
      name: begins the id of the ground; the name of the game.
      columns: cards in a row.
    """

    def __init__(self, name: str, *, columns: int) -> None:
        self._id = f"{name}-ground"
        self._columns = columns
        self._across = (_WIDTH - 2 * _MARGIN - (columns - 1) * _GAP) / columns

    def definition(self) -> str:
        """Return the ground."""
        return str(tag("rect", width=_WIDTH, height=_HIGHEST, fill=PAPER, id=self._id))

    def picture(
        self, lines: Sequence[str], cards: Sequence[str], *, frames: Mapping[int, str] | None = None
    ) -> str:
        """Return lines of text, wrapped, above cards, of which some have a frame of a colour."""
        lines = _wrapped(lines)
        parts = [tag("use", href=f"#{self._id}")]
        for number, line in enumerate(lines):
            parts.append(_text(line, _MARGIN, _MARGIN + _LINE * (number + 0.75), anchor="start"))
        for number, card in enumerate(cards):
            parts.append(_card(card, self.box(len(lines), number), (frames or {}).get(number, INK)))
        rows = -(-len(cards) // self._columns)
        height = 2 * _MARGIN + _LINE * len(lines) + rows * (_TALL + _GAP)
        return str(tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {height}", role="img"))

    def sample(self, card: str, frame: str) -> str:
        """Return a card as a picture of its own."""
        part = _card(card, (4, 4, 52, _TALL), frame)
        return str(tag("svg", part, viewBox=f"0 0 60 {_TALL + 8}"))

    def box(self, lines: int, number: int) -> tuple[float, float, float, float]:
        """Return the place of a card below some lines."""
        row, column = divmod(number, self._columns)
        x = _MARGIN + column * (self._across + _GAP)
        y = _MARGIN + _LINE * lines + _GAP + row * (_TALL + _GAP)
        return (round(x, 2), y, round(self._across, 2), _TALL)

    def clicks(self, lines: Sequence[str], cards: Mapping[int, str]) -> Clicks:
        """Return a region for each card below the lines, by the action that chooses it."""
        below = len(_wrapped(lines))
        regions = [
            Region(name=card, box=self.box(below, number))
            for number, card in enumerate(cards.values())
        ]
        return Clicks(regions=regions, actions={action: (card,) for action, card in cards.items()})


def _wrapped(lines: Sequence[str]) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, _LETTERS)]


def _card(text: str, box: tuple[float, float, float, float], frame: str) -> Markup:
    x, y, width, height = box
    place = {"x": x, "y": y, "width": width, "height": height}
    thick = 2 if frame == INK else 4
    return tag(
        "g",
        tag("rect", **place, rx=6, fill=LIGHT, stroke=frame, stroke_width=thick),
        _text(text, x + width / 2, y + height / 2 + 6, anchor="middle", size=17),
    )


def _text(text: str, x: float, y: float, *, anchor: str, size: int = 14) -> Markup:
    style = {"font_family": "sans-serif", "text_anchor": anchor, "fill": INK}
    return tag("text", text, x=x, y=y, font_size=size, **style)


class _ChoiceRenderer:
    """What the renderers of games with cards have in common."""

    _columns: int  # cards in a row

    def __init__(self, game: Game, parameters: Parameters) -> None:
        self._game = game
        self._table = ChoiceTable(game.info.name, columns=self._columns)

    def svg_definitions(self) -> str:
        """Return the ground."""
        return self._table.definition()

    def svg_state(self, state: State) -> str:
        """Return everything that the referee knows, as text."""
        return self._table.picture(str(state).split("\n"), ())


class MatrixRenderer(_ChoiceRenderer):
    """Shows the last rounds, the points, and the choices as cards."""

    _game: MatrixGame
    _columns = 3

    def render(self, view: PlayerView) -> str:
        """Return the last rounds and the points."""
        return str(view.state)

    def svg(self, view: PlayerView) -> str:
        """Return the rounds above the choices; the player's last choice has a frame."""
        last = view.observations[-1].action if view.observations else None
        frames = {} if last is None else {last: ORANGE}
        return self._table.picture(self._lines(view), self._game.choices, frames=frames)

    def legend(self) -> list[tuple[str, str]]:
        """Return the frame of the last choice."""
        return [(self._table.sample("", ORANGE), "your choice in the last round")]

    def clicks(self, view: PlayerView) -> Clicks:
        """Return a region for each choice."""
        choices = {action: self._game.choices[action] for action in view.legal_actions}
        return self._table.clicks(self._lines(view), choices)

    def _lines(self, view: PlayerView) -> list[str]:
        you = self._game.info.player_names[view.player]
        return [*str(view.state).split("\n"), f"You are {you}."]


class GoofspielRenderer(_ChoiceRenderer):
    """Shows the prizes, everybody's points as far as known, and the player's hand."""

    _game: Goofspiel
    _columns = 7

    def render(self, view: PlayerView) -> str:
        """Return the position or, if bids are hidden, what the player knows of it."""
        if self._game.info.perfect_information:
            return str(view.state)
        lines, hand = self._lines(view), " ".join(map(str, self._hand(view)))
        return "\n".join([*lines, f"your hand: {hand or '-'}"])

    def svg(self, view: PlayerView) -> str:
        """Return the prizes above the player's hand."""
        return self._table.picture(self._lines(view), [str(card) for card in self._hand(view)])

    def legend(self) -> list[tuple[str, str]]:
        """Return what a card is."""
        return [(self._table.sample("3", INK), "a card of your hand, to bid")]

    def clicks(self, view: PlayerView) -> Clicks:
        """Return a region for each card."""
        cards = {action: str(action + 1) for action in view.legal_actions}
        return self._table.clicks(self._lines(view), cards)

    def _hand(self, view: PlayerView) -> list[int]:
        """Return the cards that the player has not bid; none after the last round."""
        if isinstance(state := self._position(view), GoofspielState):
            return state.hand(view.player)
        bids = {o.action for o in view.observations if o.actor == Player.SIMULTANEOUS}
        hand = [card for card in self._prizes() if card - 1 not in bids]
        return hand if len(hand) > 1 else []

    def _lines(self, view: PlayerView) -> list[str]:
        """Return what the player knows of the prizes, and who it is."""
        names = self._game.info.player_names
        if (state := self._position(view)) is not None:
            return [*str(state).split("\n"), f"You are {names[view.player]}."]
        prizes, winners = self._rounds(view)
        lines = [
            f"prize {prize}: {names[winner] if isinstance(winner, int) else 'nobody'}"
            for prize, winner in zip(prizes, winners, strict=False)
        ]
        if len(winners) < len(prizes):
            lines.append(f"prize {prizes[len(winners)]}: to be won now")
        return [*lines, f"You are {names[view.player]}."]

    def _position(self, view: PlayerView) -> State | None:
        return view.state if self._game.info.perfect_information else None

    def _prizes(self) -> list[int]:
        cards = range(1, self._game.parameters.num_cards + 1)
        return list(cards[::-1] if self._game.parameters.points_order == "descending" else cards)

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
        known = self._game.parameters.points_order != "random" or len(rest) == 1
        return (prizes + rest if known else prizes), winners
