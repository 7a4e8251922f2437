"""Boards of squares for renderers: an SVG board, what is drawn on it, and its regions to click.

A picture is 360 units wide, so that its texts can be read on a telephone. It paints its own ground,
for pages of any colour. Squares are numbered row by row from the lower left, as on a chess board:
a1 is 0, b1 is 1.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from typing import Final

from markupsafe import Markup

from miai.markup import Attribute, number, tag
from miai.render import Region

Box = tuple[float, float, float, float]
"""x, y, width and height."""

WIDTH: Final = 360
MARGIN: Final = 24
LINE_HEIGHT: Final = 22

# The colours of Okabe and Ito, distinguishable with colour-blindness too.
ORANGE: Final = "#e69f00"
BLUE: Final = "#0072b2"
VERMILLION: Final = "#d55e00"
GREEN: Final = "#009e73"
INK: Final = "#222222"
FOG: Final = "#8a94a0"
PAPER: Final = "#f6f3ec"
LIGHT: Final = "#ffffff"
_GRID: Final = "#7d786d"


class SquareBoard:
    """The geometry of a board, and the elements that its pictures consist of.

    Args:
      name: begins the id of the empty board's definition; the name of the game.
      margin: width of the border, which bears the coordinates.
      lines: lines of text below the board.

    Attributes:
      rows, columns, margin: see above.
      cell: width of a square.
      width, height: size of the picture.
    """

    def __init__(
        self, name: str, *, rows: int, columns: int, margin: int = MARGIN, lines: int = 0
    ) -> None:
        self.rows, self.columns, self.margin = rows, columns, margin
        self.cell = (WIDTH - 2 * margin) // max(rows, columns)
        self.width = self.cell * columns + 2 * margin
        self.height = self.cell * rows + 2 * margin + lines * LINE_HEIGHT
        self._id = f"{name}-board-{columns}x{rows}"
        self._board_height = self.cell * rows + 2 * margin

    # -- places -----------------------------------------------------------------------------------

    def name(self, square: int) -> str:
        """Return the name of a square: its column's letter and its row's number from 1."""
        row, column = divmod(square, self.columns)
        return f"{string.ascii_lowercase[column]}{row + 1}"

    def box(self, square: int) -> Box:
        """Return the box of a square."""
        row, column = divmod(square, self.columns)
        x, y = self.margin + self.cell * column, self.margin + self.cell * (self.rows - 1 - row)
        return (x, y, self.cell, self.cell)

    def span(self, squares: Iterable[int]) -> Box:
        """Return the smallest box round some squares."""
        boxes = [self.box(square) for square in squares]
        x, y = min(box[0] for box in boxes), min(box[1] for box in boxes)
        right, bottom = (max(box[axis] + self.cell for box in boxes) for axis in (0, 1))
        return (x, y, right - x, bottom - y)

    def centre(self, square: int) -> tuple[float, float]:
        """Return the middle of a square."""
        x, y, width, height = self.box(square)
        return x + width / 2, y + height / 2

    def regions(
        self, squares: Iterable[int] | None = None, *, halos: Mapping[int, Box] | None = None
    ) -> list[Region]:
        """Return a region for each square, or for each of some, with the halos of those given."""
        chosen = range(self.rows * self.columns) if squares is None else squares
        return [
            Region(name=self.name(square), box=self.box(square), halo=(halos or {}).get(square))
            for square in chosen
        ]

    # -- pictures ---------------------------------------------------------------------------------

    def definition(self, *parts: str, dark: str | None = None) -> Markup:
        """Return the definition of the empty board with coordinates, to which pictures refer.

        Args:
          parts: what is drawn on every board.
          dark: colour of the dark squares; without it all are light.
        """
        x, y, width, height = self.span(range(self.rows * self.columns))
        shaded = [
            s for s in range(self.rows * self.columns) if not sum(divmod(s, self.columns)) % 2
        ]
        columns = [self.box(column)[0] for column in range(self.columns + 1)]
        columns[-1] = x + width
        rows = [y + self.cell * row for row in range(self.rows + 1)]
        grid = "".join(f"M{left} {y}v{height}" for left in columns)
        grid += "".join(f"M{x} {top}h{width}" for top in rows)
        return tag(
            "g",
            tag("rect", width=self.width, height=self.height, rx=6, fill=PAPER),
            tag("rect", x=x, y=y, width=width, height=height, fill=LIGHT),
            self.shade(shaded, dark) if dark else "",
            tag("path", d=grid, stroke=_GRID, stroke_linecap="square"),
            self._coordinates(),
            *parts,
            id=self._id,
        )

    def picture(self, *parts: str, captions: Iterable[str] = ()) -> str:
        """Return parts on the empty board as an ``svg`` element, with lines of text below it."""
        lines = (
            self.text(line, self.width / 2, self._board_height + 12 + LINE_HEIGHT * row, size=14)
            for row, line in enumerate(captions)
        )
        board = tag("use", href=f"#{self._id}")
        box = f"0 0 {self.width} {self.height}"
        return str(tag("svg", board, *parts, *lines, viewBox=box, role="img"))

    def sample(self, *parts: str) -> str:
        """Return parts on square 0 as a small ``svg`` element, for a legend."""
        box = " ".join(map(number, self.box(0)))
        return str(tag("svg", *parts, viewBox=box))

    def _coordinates(self) -> Markup:
        bottom = self.margin + self.cell * self.rows
        names = [
            *(
                tag("text", string.ascii_lowercase[column], x=self.centre(column)[0], y=bottom + 15)
                for column in range(self.columns)
            ),
            *(
                tag(
                    "text",
                    str(row + 1),
                    x=self.margin - 11,
                    y=self.centre(row * self.columns)[1] + 4,
                )
                for row in range(self.rows)
            ),
        ]
        return tag(
            "g", *names, font_family="sans-serif", font_size=11, text_anchor="middle", fill=INK
        )

    # -- parts of pictures ------------------------------------------------------------------------

    def shade(self, squares: Iterable[int], colour: str, *, opacity: float | None = None) -> Markup:
        """Return squares filled with a colour, as one element."""
        corners = (self.box(square)[:2] for square in squares)
        cell = self.cell
        path = "".join(f"M{x} {y}h{cell}v{cell}h-{cell}z" for x, y in corners)
        return tag("path", d=path, fill=colour, opacity=opacity) if path else Markup()

    def heat(self, shares: Mapping[int, float]) -> list[Markup]:
        """Return squares as orange as they are probable, in tenths; all that are possible show."""
        tenths = {s: max(1, round(10 * share)) for s, share in shares.items() if share}
        return [
            self.shade((s for s, n in tenths.items() if n == tenth), ORANGE, opacity=tenth / 10)
            for tenth in sorted(set(tenths.values()))
        ]

    def frame(self, box: Box, colour: str, *, width: float = 3) -> Markup:
        """Return the frame of a box."""
        x, y, across, down = box
        place = {"x": x, "y": y, "width": across, "height": down}
        return tag("rect", **place, fill="none", stroke=colour, stroke_width=width)

    def cross(self, square: int, colour: str, *, size: float = 0.56) -> Markup:
        """Return a diagonal cross; `size` is in squares."""
        (x, y), side = self.centre(square), self.cell * size
        start, step = f"M{number(x - side / 2)} {number(y - side / 2)}", number(side)
        path = f"{start}l{step} {step}m0-{step}l-{step} {step}"
        stroke: dict[str, Attribute] = {
            "stroke": colour,
            "stroke_width": self.cell * 0.11,
            "stroke_linecap": "round",
        }
        return tag("path", d=path, **stroke)

    def ring(self, square: int, colour: str, *, size: float = 0.6) -> Markup:
        """Return a circle; `size` is in squares."""
        x, y = self.centre(square)
        width = self.cell * 0.11
        place = {"cx": x, "cy": y, "r": self.cell * size / 2}
        return tag("circle", **place, fill="none", stroke=colour, stroke_width=width)

    def text(
        self, text: str, x: float, y: float, *, size: float, **attributes: Attribute
    ) -> Markup:
        """Return a line of text round `x`; `y` is its base line."""
        style: dict[str, Attribute] = {"fill": INK, **attributes}
        place: dict[str, Attribute] = {"x": x, "y": y, "font_size": size}
        return tag("text", text, **place, font_family="sans-serif", text_anchor="middle", **style)
