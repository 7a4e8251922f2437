"""States, players' views and records as notebooks show them; see `miai.drawn`."""

from __future__ import annotations

from markupsafe import Markup

from miai.api import renderer_for
from miai.errors import MiaiError
from miai.game import State
from miai.information import PlayerView
from miai.markup import svg_document, tag
from miai.pages.document import printable_block
from miai.pages.replay_page import replay_page
from miai.record import GameRecord, ending_text
from miai.render import DrawingRenderer


def framed(page: str) -> str:
    """Return a whole page of HTML as a frame in another, where its script can reach nothing."""
    frame = '<iframe sandbox="allow-scripts" width="100%" height="640" srcdoc="{}"></iframe>'
    return Markup(frame).format(page)  # noqa: S704 - the page is escaped


def svg_of(drawn: State | PlayerView | GameRecord) -> str | None:
    """Return a position as an ``svg`` element; None if the game has no pictures, and for records.

    A state is drawn with all that is hidden, a view with what its player was told.
    """
    if isinstance(drawn, GameRecord):
        return None
    renderer = renderer_for(drawn.game)
    if not isinstance(renderer, DrawingRenderer):
        return None
    picture = renderer.svg(drawn) if isinstance(drawn, PlayerView) else renderer.svg_state(drawn)
    document = svg_document(picture, renderer.svg_definitions())
    return document.replace("<svg ", '<svg style="max-width: 26em" ', 1)


def html_of(drawn: State | PlayerView | GameRecord) -> str | None:
    """Return a record as the page that replays it, and a position without a picture as text."""
    if isinstance(drawn, GameRecord):
        try:
            return framed(replay_page(drawn, drawn.game, worlds=0))
        except MiaiError as error:
            ending = ending_text(drawn)
            return _text(f"{drawn.game}, {ending}\nno replay: {error}")
    if svg_of(drawn):
        return None
    if isinstance(drawn, PlayerView):
        return _text(renderer_for(drawn.game).render(drawn))
    return _text(str(drawn))


def _text(lines: str) -> str:
    return tag("pre", printable_block(lines))
