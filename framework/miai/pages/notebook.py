"""States, players' views and records as notebooks show them; see `miai.drawn`."""

from __future__ import annotations

from functools import singledispatch

from markupsafe import Markup

from miai.api import renderer_for
from miai.errors import MiaiError
from miai.game import State
from miai.information import PlayerView
from miai.markup import svg_document, tag
from miai.pages.document import printable_block
from miai.pages.replay_page import replay_page
from miai.record import GameRecord, result_text
from miai.render import DrawingRenderer

_WIDTH = '<svg style="max-width: 26em" '


def framed(page: str) -> str:
    """Return a whole page of HTML as a frame in another, where its script can reach nothing."""
    return Markup(
        '<iframe sandbox="allow-scripts" width="100%" height="640" srcdoc="{}"></iframe>'
    ).format(page)


@singledispatch
def svg_of(drawn: object) -> str | None:
    """Return a position as an ``svg`` element; None if the game has no pictures, and for records.

    A state is drawn with all that it hides, a view as far as its player was told.
    """
    return None


@svg_of.register
def _(drawn: State) -> str | None:
    renderer = renderer_for(drawn.game)
    if not isinstance(renderer, DrawingRenderer):
        return None
    return _document(renderer.svg_state(drawn), renderer)


@svg_of.register
def _(drawn: PlayerView) -> str | None:
    renderer = renderer_for(drawn.game)
    if not isinstance(renderer, DrawingRenderer):
        return None
    return _document(renderer.svg(drawn), renderer)


@singledispatch
def html_of(drawn: object) -> str | None:
    """Return a record as the page that replays it, and a position without a picture as text."""
    return None


@html_of.register
def _(drawn: State) -> str | None:
    return None if svg_of(drawn) else _text(str(drawn))


@html_of.register
def _(drawn: PlayerView) -> str | None:
    return None if svg_of(drawn) else _text(renderer_for(drawn.game).render(drawn))


@html_of.register
def _(drawn: GameRecord) -> str:
    try:
        return framed(replay_page(drawn, drawn.game, worlds=0))
    except MiaiError as error:
        players = [player.name for player in drawn.players]
        return _text(f"{drawn.game}, {result_text(drawn, players)}\nno replay: {error}")


def _document(picture: str, renderer: DrawingRenderer) -> str:
    return svg_document(picture, renderer.svg_definitions()).replace("<svg ", _WIDTH, 1)


def _text(lines: str) -> str:
    return tag("pre", printable_block(lines))
