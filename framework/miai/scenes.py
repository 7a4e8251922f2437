'''Scenes: positions described as data, from which text, picture and places to click follow.

A scene is a column of blocks: a `Grid` of square, hexagonal or crossed cells with pieces, rows of
`Cards` or dice, and lines of text. A renderer describes a position and draws nothing::

    class LadderRenderer(SceneRenderer):
        """Shows a game on a row of five squares, whose action n moves to square n."""

        def whole(self, state: State) -> Scene:
            cells = [["x" if square == state.place else "" for square in range(5)]]
            names = [["a", "b", "c", "d", "e"]]
            board = Grid(cells=cells, pieces={"x": Piece(colour=BLUE)}, names=names)
            actions = {action: (names[0][action],) for action in state.legal_actions()}
            return Scene(blocks=[board, f"{state.lives} lives"], actions=actions)

Register it as any renderer. A game that hides information overrides `SceneRenderer.seen`, too, and
reads there what the view's player observed, never a state. Actions without clicks are buttons, with
the scene's labels or else the game's notation.
'''

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, cycle, islice
from typing import Final, Literal

from markupsafe import Markup

from miai.game import Game, State
from miai.information import PlayerView
from miai.markup import Attribute, number, tag
from miai.parameters import Parameters
from miai.render import Clicks, Region
from miai.squares import BLUE, INK, LIGHT, LINE_HEIGHT, MARGIN, PAPER, VERMILLION, WIDTH, Box

_LINE: Final = "#7d786d"
_MARK: Final = "#f7d98b"
_PAD: Final = 10
_LARGEST_CELL: Final = 56
_MOST_STACKED: Final = 5
_CARD: Final = (40, 56)
_SUITS: Final = {"s": "♠", "h": "♥", "d": "♦", "c": "♣"}
_PIPS: Final = {"1": "4", "2": "08", "3": "048", "4": "0268", "5": "02468", "6": "023568"}


CHEQUERED: Final = (("#ffffff", "#c9d3cf"), ("#c9d3cf", "#ffffff"))
"""The grounds of a chess board, whose upper left square is light."""


def label(text: str, x: float, y: float, size: float, **attributes: Attribute) -> Markup:
    """Return a text centred on a point."""
    style: dict[str, Attribute] = {"text_anchor": "middle", "fill": INK, **attributes}
    place: dict[str, Attribute] = {"x": x, "y": y + 0.36 * size, "font_size": size}
    return tag("text", text, **place, font_family="sans-serif", **style)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """How the content of a cell is drawn.

    Attributes:
      colour: of the shape, or of the sign where that is all.
      shape: what is drawn; a block fills its cell, as walls do.
      sign: a few letters in the middle.
    """

    colour: str = LIGHT
    shape: Literal["disc", "ring", "cross", "block", "sign"] = "disc"
    sign: str = ""

    def draw(self, box: Box) -> Iterator[Markup]:
        """Yield the elements of the piece in a box."""
        x, y, width, height = box
        across, down, side = x + width / 2, y + height / 2, min(width, height)
        line: dict[str, Attribute] = {"stroke": self.colour, "stroke_width": side * 0.11}
        if self.shape == "block":
            yield tag("rect", x=x, y=y, width=width, height=height, fill=self.colour)
        elif self.shape == "disc":
            place = {"cx": across, "cy": down, "r": side * 0.42}
            yield tag("circle", **place, fill=self.colour, stroke=INK)
        elif self.shape == "ring":
            yield tag("circle", cx=across, cy=down, r=side * 0.3, fill="none", **line)
        elif self.shape == "cross":
            arm, step = number(side * 0.28), number(side * 0.56)
            start = f"M{number(across)} {number(down)}m-{arm}-{arm}"
            path = f"{start}l{step} {step}m0-{step}l-{step} {step}"
            yield tag("path", d=path, stroke_linecap="round", **line)
        if self.sign:
            fill, size = self.colour, 0.8
            if self.shape != "sign":
                fill, size = INK if self.colour[1] in "89abcdef" else LIGHT, 0.45
            yield label(self.sign, across, down, side * size, fill=fill)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A board of cells in rows, the topmost row first.

    Attributes:
      cells: the content of each cell. A letter of `pieces` is that piece, several are a stack;
        anything else is a text. Cells are empty with ``""``, and with ``" "``, which the text does
        not show as a dot; None is a cell that does not exist.
      pieces: by their letters.
      names: for each cell its name as a `Region`, ``""`` for none; cells of one name are one
        region, such as a column.
      look: squares, hexagons that stand on a corner, or crossings of lines.
      slope: how far each row lies to the right of the one above, in cells; half a cell for
        hexagons.
      widths, heights: of columns and rows, in cells; a pattern that repeats.
      grounds: colours of squares and hexagons, a pattern that repeats; see `CHEQUERED`.
      columns, rows: coordinates to write at the border.
      marks: (row, column) of cells to highlight, such as those of the last move.
    """

    cells: Sequence[Sequence[str | None]]
    pieces: Mapping[str, Piece] = field(default_factory=dict)
    names: Sequence[Sequence[str]] = ()
    look: Literal["squares", "hexagons", "points"] = "squares"
    slope: float = 0.0
    widths: Sequence[float] = (1.0,)
    heights: Sequence[float] = (1.0,)
    grounds: Sequence[Sequence[str]] = ((LIGHT,),)
    columns: Sequence[str] = ()
    rows: Sequence[str] = ()
    marks: Collection[tuple[int, int]] = ()

    def changes(self, before: Grid) -> list[tuple[int, int]]:
        """Return the cells whose content differs from an earlier grid's of the same size."""
        return [at for at, content in self.existing() if before.cells[at[0]][at[1]] != content]

    def text(self) -> str:
        """Return the grid as lines, with the coordinates if it has any."""
        found = self.existing()
        shown = {at: f"{len(s)}{s[0]}" if self._is_stack(s) else s or "." for at, s in found}
        wide = max(map(len, (*shown.values(), *self.columns)))
        step = wide + 1 + (wide % 2 == 0 and bool(self.slope))
        columns = {at: round(step * (at[1] + self.slope * at[0])) for at in shown}
        left = min(columns.values()) - max((len(name) + 1 for name in self.rows), default=0)
        parts = [(at[0], columns[at], written.rjust(wide)) for at, written in shown.items()]
        for at, name in self._borders("rows"):
            parts.append((at[0], columns[at] - len(name) - 1, name))
        for at, name in self._borders("columns"):
            shift, row = round(step * self.slope), at[0] + (-1 if self.slope else 1)
            parts.append((row, columns[at] - shift, name.rjust(wide)))
        lines: dict[int, str] = {}
        for row, column, text in sorted(parts):
            lines[row] = lines.get(row, "").ljust(column - left) + text
        return "\n".join(line.rstrip() for line in lines.values())

    def _is_stack(self, content: str) -> bool:
        return len(content) > 1 and set(content) <= self.pieces.keys()

    def existing(self) -> Iterator[tuple[tuple[int, int], str]]:
        """Yield (row, column) and content of each cell that exists."""
        for row, contents in enumerate(self.cells):
            for column, content in enumerate(contents):
                if content is not None:
                    yield (row, column), content

    def _borders(self, names: Literal["rows", "columns"]) -> Iterator[tuple[tuple[int, int], str]]:
        """Yield the border cell at which each coordinate is written, and the coordinate."""
        axis = names == "columns"
        for index, name in enumerate(getattr(self, names)):
            line = [at for at, _ in self.existing() if at[axis] == index]
            if line and name:
                yield line[-1 if axis and not self.slope else 0], name

    @cached_property
    def _tracks(self) -> tuple[list[float], list[float], float, float]:
        """Where columns and rows begin, in cells; the side of a cell; where the grid begins."""
        pitch = 0.75 * 2 / math.sqrt(3) if self.look == "hexagons" else 1.0
        across = islice(cycle(self.widths), max(map(len, self.cells)))
        down = (height * pitch for height in islice(cycle(self.heights), len(self.cells)))
        columns, rows = [*accumulate(across, initial=0.0)], [*accumulate(down, initial=0.0)]
        lefts = [columns[c] + self.slope * r for (r, c), _ in self.existing()]
        rights = [columns[c + 1] + self.slope * r for (r, c), _ in self.existing()]
        side = (WIDTH - 2 * self._margin) / (max(rights) - min(lefts))
        side = float(math.floor(min(side, _LARGEST_CELL)))
        start = (WIDTH - side * (max(rights) + min(lefts))) / 2
        return columns, rows, side, start

    @property
    def _margin(self) -> int:
        return MARGIN if self.columns or self.rows else _PAD

    def height(self) -> float:
        """Return the height of the picture."""
        _, rows, side, _ = self._tracks
        return math.ceil(rows[-1] * side) + 2 * self._margin

    def box(self, at: tuple[int, int], top: float) -> Box:
        """Return the box of a cell of a grid that begins at a height."""
        columns, rows, side, start = self._tracks
        (row, column), first = at, top + self._margin
        x, y = columns[column] + self.slope * row, rows[row]
        width, height = columns[column + 1] - columns[column], rows[row + 1] - y
        return (start + x * side, first + y * side, width * side, height * side)

    def ground(self, top: float) -> Markup:
        """Return the empty cells and the coordinates."""
        shapes: dict[str, str] = {}
        for at, _ in self.existing():
            colours = self.grounds[at[0] % len(self.grounds)]
            colour = colours[at[1] % len(colours)]
            if self.look != "points":
                shapes[colour] = shapes.get(colour, "") + self._outline(at, top)
        parts = [tag("path", d=d, fill=c, stroke=_LINE) for c, d in shapes.items()]
        if self.look == "points":
            parts.append(tag("path", d=self._lines(top), stroke=_LINE))
        for at, name in self._borders("rows"):
            x, y, _, height = self.box(at, top)
            parts.append(label(name, x - 11, y + height / 2, 11))
        for at, name in self._borders("columns"):
            x, y, width, height = self.box(at, top)
            below = y - 8 if self.slope else y + height + 11
            parts.append(label(name, x + width / 2 - self.slope * width * 0.75, below, 11))
        return Markup().join(parts)

    def parts(self, top: float) -> Iterator[Markup]:
        """Yield the marks and what is in the cells."""
        marks = "".join(self._outline(at, top) for at in self.marks)
        if marks:
            yield tag("path", d=marks, fill=_MARK, stroke=_LINE)
        for at, content in self.existing():
            box = self.box(at, top)
            if content in self.pieces:
                yield from self.pieces[content].draw(box)
            elif self._is_stack(content):
                yield from self._stack(content, box, down=2 * at[0] < len(self.cells))
            elif content.strip():
                x, y, width, height = box
                size = min(0.5 * height, 0.6 * width, 1.5 * width / len(content))
                yield label(content, x + width / 2, y + height / 2, size)

    def sample(self) -> str:
        """Return the first cell as a small ``svg`` element, for a legend."""
        box = " ".join(map(number, self.box((0, 0), 0)))
        return str(tag("svg", self.ground(0), *self.parts(0), viewBox=box))

    def _stack(self, content: str, box: Box, *, down: bool) -> Iterator[Markup]:
        """Yield pieces on each other, from the border towards the middle, and their number."""
        x, y, width, height = box
        step = min(width, height / min(len(content), _MOST_STACKED))
        for place, letter in enumerate(content[:_MOST_STACKED]):
            top = y + step * place if down else y + height - step * (place + 1)
            yield from self.pieces[letter].draw((x, top, width, step))
        if len(content) > _MOST_STACKED:
            yield from replace(self.pieces[letter], sign=str(len(content))).draw(
                (x, top, width, step)
            )

    def _outline(self, at: tuple[int, int], top: float) -> str:
        x, y, width, height = map(number, self.box(at, top))
        if self.look != "hexagons":
            return f"M{x} {y}h{width}v{height}h-{width}z"
        _, upper, across, down = self.box(at, top)
        half, edge, corner = number(across / 2), number(down * 2 / 3), number(down / 3)
        begin = f"M{x} {number(upper + down / 6)}"
        return f"{begin}l{half}-{corner}l{half} {corner}v{edge}l-{half} {corner}l-{half}-{corner}z"

    def _lines(self, top: float) -> str:
        """Return the path of lines through the middles of cells."""
        x, y, side, _ = self.box((0, 0), top)
        down, across = len(self.cells) - 1, len(self.cells[0]) - 1
        x, y = x + side / 2, y + side / 2
        rows = (f"M{number(x)} {number(y + side * r)}h{across * side}" for r in range(down + 1))
        columns = (f"M{number(x + side * c)} {number(y)}v{down * side}" for c in range(across + 1))
        return "".join((*rows, *columns))

    def regions(self, top: float) -> dict[str, Box]:
        """Return the box of each name."""
        boxes: dict[str, Box] = {}
        for (row, column), _ in self.existing() if self.names else ():
            name, (x, y, width, height) = self.names[row][column], self.box((row, column), top)
            left, upper, across, down = boxes.get(name, (x, y, width, height))
            right, bottom = max(left + across, x + width), max(upper + down, y + height)
            left, upper = min(left, x), min(upper, y)
            boxes[name] = (left, upper, right - left, bottom - upper)
        return {name: box for name, box in boxes.items() if name}


@dataclass(frozen=True, kw_only=True)
class Cards:
    """A row of cards or dice.

    Attributes:
      faces: of cards the rank and perhaps the suit, one of ``shdc`` in either case, as ``Qs``;
        ``?`` for the back of a card. Of dice the number.
      title: what they are, above them.
      names: for each its name as a `Region`, ``""`` for none.
      dice: whether they are dice.
    """

    faces: Sequence[str]
    title: str = ""
    names: Sequence[str] = ()
    dice: bool = False

    def text(self) -> str:
        """Return the cards in a line."""
        return f"{self.title}: {' '.join(self.faces) or '-'}".removeprefix(": ")

    def height(self) -> float:
        """Return the height of the picture."""
        bottom = max((y + height for _, y, _, height in self._boxes(0)), default=LINE_HEIGHT)
        return bottom + _PAD / 2

    def _boxes(self, top: float) -> list[Box]:
        width, height = _CARD[0], _CARD[0] if self.dice else _CARD[1]
        in_row = (WIDTH - _PAD) // (width + 8)
        first = top + (LINE_HEIGHT if self.title else _PAD / 2)
        return [
            (_PAD + (width + 8) * (n % in_row), first + (height + 6) * (n // in_row), width, height)
            for n in range(len(self.faces))
        ]

    def parts(self, top: float) -> Iterator[Markup]:
        """Yield the title and the cards."""
        if self.title:
            yield label(self.title, _PAD, top + 11, 14, text_anchor="start")
        for face, box in zip(self.faces, self._boxes(top), strict=True):
            x, y, width, height = box
            place = {"x": x, "y": y, "width": width, "height": height}
            fill = BLUE if face == "?" else LIGHT
            yield tag("rect", **place, rx=6, fill=fill, stroke=INK)
            pips = _PIPS.get(face, "") if self.dice else ""
            for pip in map(int, pips):
                centre = {"cx": x + 10 * (1 + pip % 3), "cy": y + 10 * (1 + pip // 3)}
                yield tag("circle", **centre, r=4, fill=INK)
            if not pips:
                suit = "" if self.dice else _SUITS.get(face[1:].lower(), "")
                sign = face.replace("T", "10")[:-1] + suit if suit else face
                colour = LIGHT if face == "?" else VERMILLION if suit in ("♥", "♦") else INK
                yield label(sign, x + width / 2, y + height / 2, 18, fill=colour)

    def regions(self, top: float) -> dict[str, Box]:
        """Return the box of each name."""
        return {name: box for name, box in zip(self.names, self._boxes(top), strict=False) if name}


@dataclass(frozen=True)
class _Lines:
    """Lines of text as a block, as wide as the picture at most; columns stay below each other."""

    lines: str

    def text(self) -> str:
        return self.lines

    def height(self) -> float:
        return math.ceil(len(self.lines.split("\n")) * self._size * 1.4) + _PAD

    @property
    def _size(self) -> float:
        widest = max(map(len, self.lines.split("\n")))
        return min(14.0, (WIDTH - 2 * _PAD) / 0.61 / max(1, widest))

    def parts(self, top: float) -> Iterator[Markup]:
        size = self._size
        for row, line in enumerate(self.lines.split("\n")):
            style: dict[str, Attribute] = {"font_size": size, "font_family": "monospace"}
            place = {"x": _PAD, "y": top + _PAD / 2 + size * (1.4 * row + 1)}
            if line.strip():
                yield tag("text", line.replace(" ", "\xa0"), **place, **style, fill=INK)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A position: what is shown, from top to bottom, and how actions are chosen.

    Attributes:
      blocks: grids, cards and texts of one or more lines.
      actions: for each legal action that is chosen by clicks, the names of cells or cards to
        click, in order; see `Clicks`. Actions with a name that is not in the scene become buttons,
        and so do those whose clicks begin with all clicks of another.
      labels: the texts of buttons, and of menus, where an action's notation does not explain
        itself.
    """

    blocks: Sequence[Grid | Cards | str]
    actions: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    labels: Mapping[int, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the position as lines."""
        return "\n".join(block.text() for block, _ in self._placed())

    def _placed(self) -> Iterator[tuple[Grid | Cards | _Lines, float]]:
        top = 0.0
        for given in self.blocks:
            block = _Lines(given) if isinstance(given, str) else given
            yield block, top
            top += block.height()

    def ground(self) -> Markup:
        """Return what pictures of the same game have in common: empty boards."""
        return Markup().join(b.ground(top) for b, top in self._placed() if isinstance(b, Grid))

    def svg(self, ground: Markup | None = None) -> str:
        """Return the position as an ``svg`` element, on a ground that is defined elsewhere."""
        placed = [*self._placed()]
        height = math.ceil(sum(block.height() for block, _ in placed)) or _PAD
        parts = [tag("rect", width=WIDTH, height=height, rx=6, fill=PAPER), ground or self.ground()]
        parts += [part for block, top in placed for part in block.parts(top)]
        return str(tag("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img"))

    def clicks(self) -> Clicks:
        """Return where to click."""
        boxes: dict[str, Box] = {}
        for block, top in self._placed():
            boxes |= {} if isinstance(block, _Lines) else block.regions(top)
        whole = set(self.actions.values())
        actions = {
            action: path
            for action, path in self.actions.items()
            if path
            and boxes.keys() >= set(path)
            and not any(path[:end] in whole for end in range(1, len(path)))
        }
        regions = [Region(name=name, box=box) for name, box in boxes.items()]
        return Clicks(regions=regions, actions=actions, labels=self.labels)


class SceneRenderer(ABC):
    """A renderer, `miai.render.Clickable`, that describes positions as scenes."""

    def __init__(self, game: Game, parameters: Parameters | None = None) -> None:
        self.game = game

    @abstractmethod
    def whole(self, state: State) -> Scene:
        """Return the whole position, including what it hides from the players."""

    def seen(self, view: PlayerView) -> Scene:
        """Return the position as far as the view's player knows it: here all of it."""
        return self.whole(view.state)

    def render(self, view: PlayerView) -> str:
        """Return the scene as lines."""
        return self.seen(view).text()

    @cached_property
    def _ground(self) -> Markup:
        ground = self.whole(self.game.new_initial_state()).ground()
        return tag("g", ground, id=f"{self.game.info.name}-{zlib.crc32(ground.encode()):x}")

    def svg_definitions(self) -> str:
        """Return the empty board with which a game begins."""
        return self._ground

    def _drawn(self, scene: Scene) -> str:
        name, _, known = self._ground.partition(">")
        same = (ground := scene.ground()) and known == f"{ground}</g>"
        return scene.svg(tag("use", href="#" + name.split('"')[1]) if same else None)

    def svg(self, view: PlayerView) -> str:
        """Return the picture of what the player knows."""
        return self._drawn(self.seen(view))

    def svg_state(self, state: State) -> str:
        """Return the picture of the whole position."""
        return self._drawn(self.whole(state))

    def clicks(self, view: PlayerView) -> Clicks:
        """Return where the player can click in the picture, if it is to act."""
        scene, legal = self.seen(view), set(view.legal_actions)
        actions = {action: path for action, path in scene.actions.items() if action in legal}
        return replace(scene, actions=actions).clicks()
