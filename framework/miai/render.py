"""Renderers show a game to people, as text and as pictures: the component kind ``renderer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from miai.game import Player, State
from miai.information import BeliefState, PlayerView, joint_actions
from miai.plain import Json

if TYPE_CHECKING:
    from rich.text import Text


class Renderer(Protocol):
    """Shows what a player may see. Registered under the name of its game, with ``game=`` set."""

    def render(self, view: PlayerView) -> str:
        """Return the position as lines of text, as far as the view's player knows it."""


_INK = "#1b1d21"


@runtime_checkable
class HintingRenderer(Renderer, Protocol):
    """A renderer that also explains the possible actions."""

    def hint(self, view: PlayerView) -> str:
        """Return a line for the player whose turn it is; may be empty."""


@runtime_checkable
class AnnouncingRenderer(Renderer, Protocol):
    """A renderer that also says what has just happened, where pictures show it in signs."""

    def news(self, view: PlayerView) -> str:
        """Return lines about the latest events that the player knows of; may be empty."""


@runtime_checkable
class StyledRenderer(Renderer, Protocol):
    """A renderer that also writes for terminals that show Unicode, and perhaps colours."""

    def styled(self, view: PlayerView, marks: Mapping[int, str] | None = None) -> Text:
        """Return what `render` shows, in signs and colours; without colours it must be clear too.

        Args:
          view: what the player has observed.
          marks: a character for each action that a hint names, drawn at the action's place if it
            has one.
        """


@runtime_checkable
class DrawingRenderer(Renderer, Protocol):
    """A renderer that also draws SVG, for replays with many positions on one page.

    A picture is one ``<svg>`` element with a ``viewBox``, for use inside an HTML page. It refers
    only to the definitions (``href="#id"``), contains no script and escapes every text of foreign
    origin.
    """

    def svg_definitions(self) -> str:
        """Return the content of a ``<defs>`` element that all pictures share; may be empty."""

    def svg(self, view: PlayerView) -> str:
        """Return the position, as far as the view's player knows it."""

    def svg_state(self, state: State) -> str:
        """Return the whole position, including what it hides from the players."""


@runtime_checkable
class BeliefDrawingRenderer(DrawingRenderer, Protocol):
    """A renderer that also draws a player's belief."""

    def svg_belief(
        self, belief: BeliefState[State], view: PlayerView, truth: State | None = None
    ) -> str:
        """Return the worlds of a belief as one picture, with the true position if it is given."""


@runtime_checkable
class EstimatingRenderer(DrawingRenderer, Protocol):
    """A renderer that also draws how a position of perfect information may end.

    Attributes:
      estimate: what is estimated, such as ``ownership``; the name of what searches record of it.
    """

    estimate: str

    def svg_estimate(self, view: PlayerView, recorded: Json = None) -> str:
        """Return the position with the estimate, which is the same each time.

        Args:
          recorded: what a search of the position recorded of it; None for the renderer's own.
        """


def estimate_of(renderer: Renderer) -> str:
    """Return what a renderer estimates; empty for nothing."""
    return renderer.estimate if isinstance(renderer, EstimatingRenderer) else ""


@runtime_checkable
class ExplainedRenderer(DrawingRenderer, Protocol):
    """A renderer whose pictures have signs that need a legend."""

    def legend(self) -> Sequence[tuple[str, str]]:
        """Return the signs of all pictures: a sample and its meaning.

        A sample is one ``<svg>`` element that may refer to the definitions; a meaning is a few
        words, such as ``last move``.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """An area of a picture that people can click or reach with the arrow keys.

    Attributes:
      name: its name in this picture, read aloud to people who do not see it, such as ``e4``.
      box: x, y, width and height in the units of the picture's ``viewBox``.
      halo: the box to highlight while the pointer is on the region, such as the window that a
        sense would reveal; None for the region's own.
    """

    name: str
    box: tuple[float, float, float, float]
    halo: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicks:
    """How the legal actions of a position are chosen in its picture.

    Attributes:
      regions: the areas, each with a name of its own.
      actions: for each legal action that is chosen by clicks, the names of the regions to click,
        in order: ``("e2", "e4")``. Dragging is a click at both ends. Actions with the same clicks,
        such as promotions, are then offered in a menu. Other legal actions, such as a pass, become
        buttons.
      labels: the texts of buttons, where an action's notation does not explain itself.
    """

    regions: Sequence[Region] = ()
    actions: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    labels: Mapping[int, str] = field(default_factory=dict)


@runtime_checkable
class Clickable(DrawingRenderer, Protocol):
    """A renderer on whose pictures people choose their actions."""

    def clicks(self, view: PlayerView) -> Clicks:
        """Return where to click in the picture that `svg` returns for the same view."""


class PlainRenderer:
    """The default renderer: shows the state, or the latest observations."""

    def render(self, view: PlayerView) -> str:
        """Return the state's text or, if the game hides information, the last observations."""
        if view.game.info.perfect_information:
            return str(view.state)
        namer = view.game.new_initial_state()
        lines = []
        for observation in view.observations:
            parts = [] if observation.data is None else [str(observation.data)]
            if observation.actor == Player.SIMULTANEOUS:
                names = view.game.info.player_names
                actions = sorted(joint_actions(observation).items())
                played = [f"{names[p]} played {action_text(namer, a)}" for p, a in actions]
                parts[:0] = [", ".join(played)] if played else []
            elif observation.action is not None:
                actor = "you" if observation.actor == view.player else "they"
                parts.insert(0, f"{actor} played {action_text(namer, observation.action)}")
            if parts:
                lines.append(": ".join(parts))
        return "\n".join(lines[-12:]) or "no observations yet"


def styled_board(
    text: str,
    signs: Mapping[str, tuple[str, str]],
    *,
    rows: range,
    cells: int,
    first: int = 0,
    width: int = 1,
    grounds: Sequence[str] = ("#7f8c97",),
) -> Text:
    """Return a position's text with a board of letters drawn as signs on a coloured ground.

    Args:
      text: as a renderer's `render` returns it.
      signs: the sign and the colour, in rich's notation, of each letter; others stay as they are.
      rows: the lines of the board.
      cells: the number of cells in a row.
      first: the column at which a row's first cell begins.
      width: characters in a cell. Cells of one character get a space on either side.
      grounds: colours of the squares; neighbours take turns.
    """
    from rich.text import Text

    made = Text(no_wrap=True)
    for number, line in enumerate(text.split("\n")):
        made.append("\n" if number else "")
        if number not in rows:
            made.append(line)
            continue
        made.append(line[:first])
        for cell in range(cells):
            start, ground = first + cell * width, grounds[(number + cell) % len(grounds)]
            letters = line[start : start + width]
            letters = f" {letters} " if width == 1 else letters
            drawn: list[tuple[str, str]] = []
            for letter in letters:
                near = drawn[-1][1] if drawn and letter == " " else _INK  # a space has any colour
                drawn.append(signs.get(letter, (letter, near)))
            for colour, run in groupby(drawn, key=itemgetter(1)):
                made.append("".join(sign for sign, _ in run), f"{colour} on {ground}")
        made.append(line[first + cells * width :])
    return made


def hint_of(renderer: Renderer, view: PlayerView) -> str:
    """Return a renderer's hint for the turn; empty if it has none."""
    return renderer.hint(view) if isinstance(renderer, HintingRenderer) else ""


def action_text(state: State, action: int) -> str:
    """Return the game's notation of an action that may not be legal in `state`."""
    try:
        return state.action_to_string(action)
    except Exception:  # the notation may depend on the position; the number always works
        return str(action)
