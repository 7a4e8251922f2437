"""A network's prediction for every block on a board: its fate, and the move that decides it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from miai.errors import WeightsError
from miai.markup import Attribute, tag
from miai_go.errors import ProblemError
from miai_go.rules.board import BLACK_STONE, WHITE_STONE
from miai_go.rules.chains import chains_of
from miai_go.rules.coordinates import COLUMNS, STONES, draw, star_points, vertex
from miai_go.tsumego.networks.array_nets import read_array_net
from miai_go.tsumego.networks.zone_planes import layout_of_zones, load_planes
from miai_go.tsumego.zones import ATTACKER, DEFENDER, Zone, find_zone

_SIDES: Final = (ATTACKER, DEFENDER)


@dataclass(frozen=True, slots=True)
class PredictedFate:
    """A network's prediction for one block.

    Attributes:
      points: its stones, points of the board.
      color: 1 black, 2 white.
      chances: of life when the attacker moves first, and when its owner does; None without a
        prediction.
      moves: the policy's move for either first mover, a point of the board; None for no move.
      reason: why there is no prediction; empty if there is one.
    """

    points: tuple[int, ...]
    color: int
    chances: tuple[float, float] | None
    moves: tuple[int | None, int | None]
    reason: str = ""

    @property
    def critical(self) -> bool:
        """Whether the predicted fate depends on who moves first."""
        return self.chances is not None and (self.chances[0] < 0.5) != (self.chances[1] < 0.5)


class Predictor:
    """A network of `miai go tsumego train` or `quantize` that predicts whether blocks live.

    Compiled kernels evaluate it, without torch.

    Raises:
      WeightsError: the file cannot be read or is damaged.
    """

    def __init__(self, weights: Path) -> None:
        self._path = weights
        self._net = read_array_net(weights)

    def load(self) -> None:
        """Load kernels, or compile them, before a clock runs."""
        load_planes()
        self._net.load()

    def fates(self, stones: NDArray[np.int8]) -> list[PredictedFate]:
        """Return the fate of every block of a board, lowest point first.

        Args:
          stones: int8 of shape (size * size,) or (size, size), 0 empty, 1 black, 2 white.
        """
        board = np.asarray(stones, np.int8).reshape(-1)
        out = []
        for chain in chains_of(board, round(len(board) ** 0.5)):
            block = tuple(sorted(chain))
            color = int(board[block[0]])
            try:
                zone = find_zone(board, block[0])
            except ProblemError as error:
                out.append(PredictedFate(block, color, None, (None, None), str(error)))
                continue
            chances, logits = self.evaluate(zone)
            moves = [self._move(zone, logits[side]) for side in _SIDES]
            out.append(PredictedFate(block, color, (chances[0], chances[1]), (moves[0], moves[1])))
        return out

    def evaluate(self, zone: Zone) -> tuple[list[float], NDArray[np.float32]]:
        """Return the prediction for a zone, or raise `WeightsError` if it is not finite.

        The chance that the target is safe, for the attacker and the defender moving first, and
        logits of shape (2, 64): of every point of the zone, the last one of no move; -inf for no
        such point.
        """
        layout = layout_of_zones([zone])
        sets = ([0, 0], [zone.attackers] * 2, [zone.defenders] * 2, list(_SIDES))
        values, logits = self._net.evaluate(layout, *sets)
        if not np.isfinite(values).all() or np.isnan(logits).any():
            raise WeightsError(f"{self._path}: its answers are not finite; train it again")
        return [float(v + 1) / 2 for v in values], logits

    def _move(self, zone: Zone, logits: NDArray[np.float32]) -> int | None:
        stones = zone.attackers | zone.defenders
        free = [i for i in range(len(zone.points)) if not stones >> i & 1]
        best = max(free, key=lambda i: float(logits[i]), default=None)
        return None if best is None or logits[best] == -np.inf else zone.points[best]


_TITLES: Final = ("attacker first", "defender first")
_CELL: Final = 24
_MARGIN: Final = 30
_FILLS: Final = ("", "#111111", "#fafafa")


def svg_of(stones: NDArray[np.int8], fates: Sequence[PredictedFate]) -> str:
    """Return two boards side by side, for either first mover, as an SVG document.

    The square behind a stone goes from red for a lost block to green for a living one; grey means
    no prediction. A blue ring marks the policy's move for a block whose fate depends on who moves
    first.

    Args:
      stones: int8 of shape (size, size), row 0 lowest.
    """
    size = len(stones)
    side = 2 * _MARGIN + _CELL * (size - 1)
    width, height = 2 * side, side + _MARGIN
    boards = []
    for first in (0, 1):
        title = tag("text", _TITLES[first], x=side / 2, y=-8, font_size=14)
        parts = [title, *_grid(size), *_chances(size, fates, first)]
        for color in (BLACK_STONE, WHITE_STONE):
            points = np.flatnonzero(stones == color).tolist()
            parts += _circles(size, points, fill=_FILLS[color], stroke="#333333")
        answers = {fate.moves[first] for fate in fates if fate.critical}
        moves = {move for move in answers if move is not None}
        parts += _circles(size, moves, fill="none", stroke="#1040d0", stroke_width=3)
        boards.append(tag("g", *parts, transform=f"translate({first * side} {_MARGIN})"))
    return tag(
        "svg",
        tag("rect", width=width, height=height, fill="#f4e3bd"),
        *boards,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        font_family="sans-serif",
        font_size=11,
        text_anchor="middle",
    )


def text_of(stones: NDArray[np.int8], fates: Sequence[PredictedFate], *, first: int) -> str:
    """Return a board for one first mover, as text: X Black, O White, * the policy's move.

    Args:
      first: the first mover, 0 the attacker of a block, 1 its owner.
    """
    answers = {fate.moves[first] for fate in fates if fate.critical}
    marks = {move: "*" for move in answers if move is not None}
    return f"{_TITLES[first]}:\n{draw(stones, marks=marks)}"


def rows_of(size: int, fates: Sequence[PredictedFate]) -> list[str]:
    """Return a line for each block: place, colour, chances and moves, or why it has none."""
    out = []
    for fate in fates:
        place, count = vertex(fate.points[0], size), len(fate.points)
        stones = f"{count:>3} {'stone ' if count == 1 else 'stones'}"
        name = f"{place:>4} {STONES[fate.color]} {stones}"
        if fate.chances is None:
            out.append(f"{name}  no prediction: {fate.reason}")
            continue
        cases = []
        for title, chance, move in zip(_TITLES, fate.chances, fate.moves, strict=True):
            suffix = f" {vertex(move, size)}" if fate.critical and move is not None else ""
            cases.append(f"{title} {chance:.0%}{suffix}")
        out.append(f"{name}  lives with {', '.join(cases)}")
    return out


def _at(size: int, point: int) -> tuple[int, int]:
    row, column = divmod(point, size)
    return _MARGIN + _CELL * column, _MARGIN + _CELL * (size - 1 - row)


def _grid(size: int) -> list[Markup]:
    low, high = _MARGIN, _MARGIN + _CELL * (size - 1)
    out = []
    for i in range(size):
        place = _MARGIN + _CELL * i
        lines = f"M{low} {place}H{high}M{place} {low}V{high}"
        out.append(tag("path", d=lines, stroke="#806030", fill="none"))
        out.append(tag("text", COLUMNS[i], x=place, y=high + 24))
        out.append(tag("text", str(i + 1), x=low - 20, y=high - _CELL * i + 4))
    return out + _circles(size, star_points(size), r=2.5, fill="#806030")


def _chances(size: int, fates: Sequence[PredictedFate], first: int) -> list[Markup]:
    out = []
    for fate in fates:
        chance = None if fate.chances is None else fate.chances[first]
        fill = "#999999" if chance is None else f"hsl({round(120 * chance)} 75% 45%)"
        title = tag("title", "no prediction" if chance is None else f"{chance:.0%}")
        for point in fate.points:
            x, y = _at(size, point)
            corner = {"x": x - _CELL // 2, "y": y - _CELL // 2, "width": _CELL, "height": _CELL}
            out.append(tag("rect", title, **corner, fill=fill, opacity=0.8))
    return out


def _circles(size: int, points: Iterable[int], r: float = 8, **style: Attribute) -> list[Markup]:
    places = (_at(size, point) for point in sorted(points))
    return [tag("circle", cx=x, cy=y, r=r, **style) for x, y in places]
