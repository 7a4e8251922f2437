"""What a page shows of a game: frames, made from what one player has observed and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from miai.api import renderer_for
from miai.game import Game, State
from miai.information import PlayerView
from miai.pages.document import printable, printable_block
from miai.render import (
    AnnouncingRenderer,
    Clickable,
    Clicks,
    DrawingRenderer,
    Region,
    Renderer,
    action_text,
    hint_of,
)

_LONGEST = 60


class Area(TypedDict):
    """A `miai.render.Region` as the page's script reads it."""

    name: str
    box: Sequence[float]
    halo: Sequence[float] | None


class Move(TypedDict):
    """A legal action: number, notation, text of its button, and the areas to click, by index."""

    action: int
    text: str
    label: str
    path: list[int]


class SeatFrame(TypedDict):
    """A position as one player knows it.

    Attributes:
      number: of the player's observations so far; an answer to a frame repeats it.
      picture: an ``svg`` element; empty if the game draws none.
      text: the position as text, shown where there is no picture and read aloud where there is.
      turn: whether the player is to act.
      news: lines about what has just happened.
      hint: a line about what can be done.
      areas, moves: the legal actions and where to click; empty if it is not the player's turn.
    """

    number: int
    picture: str
    text: str
    turn: bool
    news: str
    hint: str
    areas: list[Area]
    moves: list[Move]


def still(text: str, *, number: int = 0, picture: str = "") -> SeatFrame:
    """Return a frame in which nobody is to act."""
    return {
        "number": number,
        "picture": picture,
        "text": text,
        "turn": False,
        "news": "",
        "hint": "",
        "areas": [],
        "moves": [],
    }


def choices_at(state: State) -> tuple[list[Area], list[Move]]:
    """Return the actions of who acts next, and their areas on the picture of the whole position.

    For games that are over: they say what no player may know.
    """
    game, actor = state.game, int(state.next_actor())
    renderer, legal = renderer_for(game), [] if state.is_terminal() else state.legal_actions()
    if actor >= 0 and game.info.perfect_information:
        frame = Camera(game, renderer).frame(PlayerView.at(state, actor))
        return frame["areas"], frame["moves"]
    regions: Sequence[Region] = ()
    paths: Mapping[int, tuple[str, ...]] = {}
    if actor >= 0 and isinstance(renderer, Clickable):
        # The picture of the whole position lies as that of the first player.
        regions = renderer.clicks(PlayerView(game, 0)).regions
        view, earlier = PlayerView(game, actor), game.new_initial_state()
        for action in (None, *state.history()):
            if action is not None:
                earlier.apply_action(action)
            if (observation := earlier.observation(actor)) is not None:
                view.observe(observation)
        paths = renderer.clicks(view).actions
    index = {region.name: number for number, region in enumerate(regions)}
    moves: list[Move] = []
    for action in legal:
        text, path = printable(action_text(state, action), _LONGEST), paths.get(action, ())
        places = [index[name] for name in path] if set(path) <= set(index) else []
        moves.append({"action": action, "text": text, "label": text, "path": places})
    return [{"name": r.name, "box": r.box, "halo": None} for r in regions], moves


class Camera:
    """Makes the frames of one player; it knows the game, and no state.

    Args:
      game: the game.
      renderer: the game's renderer.
    """

    def __init__(self, game: Game, renderer: Renderer) -> None:
        self._game, self._renderer = game, renderer
        self._notation = game.new_initial_state()

    def definitions(self) -> str:
        """Return the SVG definitions that the pictures refer to; may be empty."""
        renderer = self._renderer
        return renderer.svg_definitions() if isinstance(renderer, DrawingRenderer) else ""

    def frame(self, view: PlayerView) -> SeatFrame:
        """Return the position as the view's player knows it."""
        renderer = self._renderer
        legal = view.legal_actions
        clicks = Clicks()
        if legal and isinstance(renderer, Clickable):
            clicks = renderer.clicks(view)
        index = {region.name: number for number, region in enumerate(clicks.regions)}
        # Where something is hidden, the notation of an action depends on the action alone, so that
        # any state can write it; no state of the game comes near this class.
        position = view.state if self._game.info.perfect_information else self._notation
        texts = {action: action_text(position, action) for action in legal}
        moves: list[Move] = [
            {
                "action": action,
                "text": printable(texts[action], _LONGEST),
                "label": printable(clicks.labels.get(action, texts[action]), _LONGEST),
                "path": [index[name] for name in clicks.actions.get(action, ())],
            }
            for action in legal
        ]
        areas: list[Area] = [
            {"name": region.name, "box": region.box, "halo": region.halo}
            for region in clicks.regions
        ]
        return {
            "number": len(view.observations),
            "picture": renderer.svg(view) if isinstance(renderer, DrawingRenderer) else "",
            "text": printable_block(renderer.render(view)),
            "turn": bool(legal),
            "news": printable_block(
                renderer.news(view) if isinstance(renderer, AnnouncingRenderer) else ""
            ),
            "hint": printable_block(hint_of(renderer, view)),
            "areas": areas,
            "moves": moves,
        }

    def truth(self, state: State) -> SeatFrame:
        """Return the true position, for a game that is over or has no secrets from anybody."""
        renderer = self._renderer
        picture = renderer.svg_state(state) if isinstance(renderer, DrawingRenderer) else ""
        text = printable_block(self._text(state))
        return still(text, number=state.move_number(), picture=picture)

    def _text(self, state: State) -> str:
        if self._game.info.perfect_information:
            return self._renderer.render(PlayerView.at(state, 0))
        return str(state)
