"""The renderer of Go: boards as text for a terminal, and as SVG for pages.

A page defines the empty SVG board once, and its pictures refer to it. The stones of one colour are
one path of dots, lines of length zero with round ends, so that a page can hold a whole game.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from miai.errors import MiaiError
from miai.game import Game, State
from miai.information import PlayerView
from miai.markup import tag
from miai.plain import Json
from miai.plugins.loader import registry
from miai.render import Clicks, Region, styled_board
from miai_go.rules.board import BLACK
from miai_go.rules.coordinates import COLUMNS, star_points, vertex
from miai_go.rules.dead_stones import playout_owners
from miai_go.rules.game import GoGame, GoState, Phase
from miai_go.rules.game_parameters import PlayoutJudgeParameters

if TYPE_CHECKING:
    from rich.text import Text


BOARD_ID: Final = "go-board-{}"
"""The id of the definition of an empty board of a size."""

WOOD: Final = "#f0d9a8"
LINE: Final = "#6b5330"

_SIGNS: Final = {
    "X": ("●", "bold #111111"),
    "O": ("○", "bold #ffffff"),
    "x": ("▪", "#111111"),
    "o": ("▫", "#ffffff"),
    ".": ("·", LINE),
    "+": ("+", LINE),
    "(": ("(", "bold #d5312b"),
    ")": (")", "bold #d5312b"),
}
"""Signs and colours of what lies on a point, for terminals; dead stones are squares."""

_UNSURE = 0.2
"""The excess of playouts below which a point is nobody's in an estimate."""

_CELL = 20
_MARGIN = 24
_STUMP = 7  # of a line, beyond the last one that crosses it
_CELLS = f"translate({_MARGIN} {_MARGIN})scale({_CELL})"
_OUTER, _INNER = "0.96", "0.89"  # diameters of a stone and of its face, in cells
_BLACK, _WHITE, _MARK, _CHOICE = "#111111", "#fbfbfb", "#d5312b", "#2f8fd8"


@dataclass(frozen=True, slots=True)
class BoardPart:
    """A square part of a board, which is drawn without the rest.

    Attributes:
      left, bottom: the first column and the lowest row, from 0.
      side: number of columns and of rows.
    """

    left: int
    bottom: int
    side: int

    def cut(self, stones: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return a board, int8 of shape (size, size), without the stones outside the part."""
        inside = np.zeros_like(stones)
        rows = slice(self.bottom, self.bottom + self.side)
        columns = slice(self.left, self.left + self.side)
        inside[rows, columns] = stones[rows, columns]
        return inside

    def corner(self, size: int) -> tuple[int, int]:
        """Return x and y of the picture's upper left corner, on a board of a size."""
        return _CELL * self.left, _CELL * (size - self.bottom - self.side)


def board_definitions(size: int, part: BoardPart | None = None) -> Markup:
    """Return the definition of an empty board with coordinates and star points.

    Args:
      part: what is drawn of it; None for all. Lines go on a little where the board does.
    """
    part = part or BoardPart(0, 0, size)
    (x, y), side = part.corner(size), picture_side(part.side)
    left, top = x + _MARGIN, y + _MARGIN
    width = _CELL * (part.side - 1)
    right, bottom = left + width, top + width
    ends = (
        left - _STUMP * (part.left > 0),
        right + _STUMP * (part.left + part.side < size),
        top - _STUMP * (part.bottom + part.side < size),
        bottom + _STUMP * (part.bottom > 0),
    )
    lines = "".join(
        f"M{ends[0]} {top + offset}H{ends[1]}M{left + offset} {ends[2]}V{ends[3]}"
        for offset in range(0, width + 1, _CELL)
    )
    names = [
        text
        for i in range(part.side)
        for text in (
            tag("text", COLUMNS[part.left + i], x=left + _CELL * i, y=bottom + 19),
            tag("text", str(part.bottom + i + 1), x=x + 8, y=bottom - _CELL * i + 4),
        )
    ]
    stars = np.zeros((size, size), np.int8)
    stars.flat[list(star_points(size))] = 1
    return tag(
        "g",
        tag("rect", x=x, y=y, width=side, height=side, rx=3, fill=WOOD),
        tag("path", d=lines, stroke=LINE, stroke_width=0.8, stroke_linecap="square"),
        _dots(size, np.flatnonzero(part.cut(stars)).tolist(), LINE, ".22", transform=_CELLS),
        tag("g", *names, font_family="sans-serif", font_size=11, text_anchor="middle", fill=LINE),
        id=BOARD_ID.format(size),
    )


def board_picture(
    stones: NDArray[np.int8],
    *,
    last: int | None = None,
    dead: Sequence[int] = (),
    choices: Sequence[int] = (),
    owners: NDArray[np.float64] | None = None,
    part: BoardPart | None = None,
) -> Markup:
    """Return a position as an ``svg`` element that refers to `board_definitions`.

    Args:
      stones: int8 of shape (size, size), row 0 lowest; 1 Black, 2 White.
      last: the action to mark; a pass is not marked.
      dead: points of stones to cross out.
      choices: points of stones to mark with a square: each stands for its chain.
      owners: how often Black minus how often White owns each point, float64 of (points,); drawn
        as squares, the larger the surer.
      part: what is drawn of the board, as in its definition; None for all. Marks are inside.
    """
    size = len(stones)
    part = part or BoardPart(0, 0, size)
    stones = part.cut(stones)
    black, white = (np.flatnonzero(stones == colour).tolist() for colour in (1, 2))
    parts = [_dots(size, black + white, _BLACK, _OUTER)] if black or white else []
    parts += [_dots(size, white, _WHITE, _INNER)] if white else []
    if last is not None and last < size * size and stones.flat[last]:
        parts.append(_last_mark(size, last))
    if dead:
        parts.append(_dead_marks(size, dead))
    if choices:
        parts.append(_choice_marks(size, choices))
    if owners is not None:
        parts += _owned(size, owners)
    (x, y), side = part.corner(size), picture_side(part.side)
    board = tag("use", href=f"#{BOARD_ID.format(size)}"), tag("g", *parts, transform=_CELLS)
    return tag("svg", *board, viewBox=f"{x} {y} {side} {side}", role="img")


def _owned(size: int, owners: NDArray[np.float64]) -> list[Markup]:
    """Return squares of each colour on the points that it is likely to own."""
    parts = []
    for sign, colour, edge in ((1, _BLACK, _WHITE), (-1, _WHITE, _BLACK)):
        path = ""
        for point in np.flatnonzero(sign * owners > _UNSURE).tolist():
            x, y = _at(size, point)
            half = 0.3 * abs(float(owners[point])) ** 0.5
            path += f"M{x - half:.3g} {y - half:.3g}h{2 * half:.3g}v{2 * half:.3g}h-{2 * half:.3g}z"
        if path:
            parts.append(tag("path", d=path, fill=colour, stroke=edge, stroke_width=".03"))
    return parts


def picture_side(size: int) -> int:
    """Return the width of a picture of `size` lines, in its own units."""
    return 2 * _MARGIN + _CELL * (size - 1)


def _at(size: int, point: int) -> tuple[int, int]:
    """Return a point's x and y, in cells from the upper left corner."""
    row, column = divmod(point, size)
    return column, size - 1 - row


def point_region(size: int, point: int) -> Region:
    """Return the cell round a point of `board_picture`, named by its vertex."""
    column, row = _at(size, point)
    x, y = (_MARGIN + _CELL * (place - 0.5) for place in (column, row))
    return Region(name=vertex(point, size), box=(x, y, _CELL, _CELL))


def _last_mark(size: int, point: int) -> Markup:
    x, y = _at(size, point)
    return tag("circle", cx=x, cy=y, r=".2", fill=_MARK)


def _dead_marks(size: int, points: Iterable[int]) -> Markup:
    corners = [(x - 0.2, y - 0.2) for x, y in (_at(size, point) for point in points)]
    crosses = "".join(f"M{x:g} {y:g}l.4 .4m0-.4l-.4 .4" for x, y in corners)
    return tag("path", d=crosses, stroke=_MARK, stroke_width=".1")


def _choice_marks(size: int, points: Iterable[int]) -> Markup:
    corners = [(x - 0.18, y - 0.18) for x, y in (_at(size, point) for point in points)]
    squares = "".join(f"M{x:g} {y:g}h.36v.36h-.36z" for x, y in corners)
    return tag("path", d=squares, fill="none", stroke=_CHOICE, stroke_width=".1")


def _dots(
    size: int, points: Iterable[int], colour: str, diameter: str, transform: str | None = None
) -> Markup:
    """Return a path of lines of length zero, which round ends turn into dots."""
    path = "".join("M{} {}h0".format(*_at(size, point)) for point in points)
    return tag(
        "path",
        d=path,
        transform=transform,
        stroke=colour,
        stroke_width=diameter,
        stroke_linecap="round",
    )


class GoRenderer:
    """The renderer of Go: the board with coordinates, star points and the last move marked."""

    estimate = "ownership"

    def __init__(self, game: Game, parameters: object = None) -> None:
        self.game = game
        self._network: Any = None

    def render(self, view: PlayerView) -> str:
        """Return the position of a view, with the player to move and the prisoners."""
        return str(view.state)

    def styled(self, view: PlayerView, marks: Mapping[int, str] | None = None) -> Text:
        """Return the position in stones on a wooden board, with marks at the points of actions."""
        size = cast("GoGame", self.game).size
        text = cast("GoState", view.state).text(marks)
        rows, row = range(1, size + 1), 2 * size + 1  # the stones of a row and the spaces between
        return styled_board(text, _SIGNS, rows=rows, cells=1, first=2, width=row, grounds=(WOOD,))

    def svg_definitions(self) -> str:
        """Return the definition of the empty board."""
        return board_definitions(cast("GoGame", self.game).size)

    def svg(self, view: PlayerView) -> str:
        """Return the position of a view as a picture."""
        return self.svg_state(view.state)

    def svg_state(self, state: State) -> str:
        """Return a position as a picture: the last move marked, dead stones crossed out.

        While dead stones are proposed, a square marks the stone that names each other chain. At the
        end of the game a square of its owner's colour marks each empty point that counts.
        """
        position = cast("GoState", state)
        counted = position.result_to_string() not in ("", "Void")  # asks the judge for dead stones
        choices = _stones_to_name(position) if position.phase == Phase.PROPOSE else ()
        return board_picture(
            position.board.stones(),
            last=position.last_action,
            dead=position.dead,
            choices=choices,
            owners=_territory(position) if counted else None,
        )

    def svg_estimate(self, view: PlayerView, recorded: Json = None) -> str:
        """Return the position with the owner of each point, which the player to move may record.

        Otherwise the network for dead stones tells them where one is shipped for the board and can
        be run, else most of 1,000 random games.
        """
        state = cast("GoState", view.state)
        shares = recorded if isinstance(recorded, Sequence) else ()
        if [type(share) in (int, float) for share in shares] == [True] * state.game.pass_action:
            own = np.array(shares, np.float64).clip(-1.0, 1.0)
            owners = own if state.to_move == BLACK else -own
        else:
            owners = self._owners(state)
        return board_picture(state.board.stones(), last=state.last_action, owners=owners)

    def _owners(self, state: GoState) -> NDArray[np.float64]:
        with suppress(MiaiError):
            if self._network is None:
                component = registry().get("go.dead-stones", "network")
                self._network = component.build(state.game, values={})
            owners: NDArray[np.float64] = self._network.owners(state)
            return owners
        return playout_owners(state.board, PlayoutJudgeParameters().playouts)

    def clicks(self, view: PlayerView) -> Clicks:
        """Return a region for each point; passing and resuming play are buttons."""
        size = cast("GoGame", self.game).size
        return Clicks(
            regions=[point_region(size, point) for point in range(size * size)],
            actions={a: (vertex(a, size),) for a in view.legal_actions if a < size * size},
        )

    def legend(self) -> list[tuple[str, str]]:
        """Return the marks on stones with their meanings."""
        stone = _dots(1, [0], _BLACK, _OUTER)
        signs = (
            ([stone, _last_mark(1, 0)], "last move"),
            ([stone, _dead_marks(1, [0])], "dead stone"),
            (
                [stone, _choice_marks(1, [0])],
                "stands for its chain while dead stones are agreed on",
            ),
            (_owned(1, np.ones(1)), "Black's at the end, or expected to be"),
            (_owned(1, -np.ones(1)), "White's at the end, or expected to be"),
        )
        return [
            (str(tag("svg", *parts, viewBox="-.5 -.5 1 1")), meaning) for parts, meaning in signs
        ]

    def hint(self, view: PlayerView) -> str:
        """Return a hint while dead stones are being agreed on, otherwise an empty text."""
        state = cast("GoState", view.state)
        if state.phase == Phase.PROPOSE:
            return _proposal_hint(state)
        if state.phase == Phase.REPLY:
            stones = [vertex(point, state.game.size) for point in state.dead]
            proposed = (
                f"Proposed as dead: {' '.join(stones)}"
                if stones
                else "No stones are proposed as dead"
            )
            return f"{proposed}. Pass to accept, or resume play."
        return ""


def _territory(state: GoState) -> NDArray[np.float64]:
    """Return the owners of the empty points of a counted position, 0 elsewhere."""
    owners = np.where(state.board.stones() == 0, state.score().owners, 0)
    return owners.astype(np.float64).ravel()


def _proposal_hint(state: GoState) -> str:
    stones = _stones_to_name(state)
    if not stones:
        return "Every chain is marked; pass to end the list."
    example = state.action_to_string(stones[0])
    return f"Name a dead stone, such as {example}, to mark its chain; pass to end the list."


def _stones_to_name(state: GoState) -> list[int]:
    """Return the points that can be named while dead stones are proposed, one for each chain."""
    return [action for action in state.legal_actions() if action < state.game.pass_action]
