"""A network's prediction for every block on a board: its fate, and the move that decides it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from miai.errors import WeightsError
from miai.markup import tag
from miai_go.errors import ProblemError
from miai_go.rules.chains import chains_of
from miai_go.rules.coordinates import STONES, draw, vertex
from miai_go.rules.render import board_definitions, board_picture, picture_side, point_region
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
        board = np.asarray(stones, np.int8).ravel()
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
            moves = [best_move(zone, logits[side]) for side in _SIDES]
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


def best_move(zone: Zone, logits: NDArray[np.float32]) -> int | None:
    """Return the empty point of the zone with the highest logit; None if no point has one."""
    stones = zone.attackers | zone.defenders
    free = [i for i in range(len(zone.points)) if not stones >> i & 1]
    best = max(free, key=lambda i: float(logits[i]), default=None)
    return None if best is None or logits[best] == -np.inf else zone.points[best]


_TITLES: Final = ("attacker first", "defender first")
_TITLE_HEIGHT: Final = 24


def svg_of(stones: NDArray[np.int8], fates: Sequence[PredictedFate]) -> str:
    """Return two boards side by side, for either first mover, as an SVG document.

    The dot on a stone goes from red for a lost block to green for a living one; grey means no
    prediction. A blue ring marks the policy's move for a block whose fate depends on who moves
    first.

    Args:
      stones: int8 of shape (size, size), row 0 lowest.
    """
    size = len(stones)
    side = picture_side(size)
    boards = []
    for first, name in enumerate(_TITLES):
        title = tag("text", name, x=side * (first + 0.5), y=_TITLE_HEIGHT - 6)
        rings = (_circle(size, move, 7, "none", stroke="#1040d0") for move in _moves(fates, first))
        parts = [board_picture(stones), *_chances(size, fates, first), *rings]
        place = {"x": first * side, "y": _TITLE_HEIGHT, "width": side, "height": side}
        boards += [title, tag("svg", *parts, **place)]
    width, height = 2 * side, side + _TITLE_HEIGHT
    return tag(
        "svg",
        tag("defs", board_definitions(size)),
        *boards,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        font_family="sans-serif",
        font_size=14,
        text_anchor="middle",
    )


def _chances(size: int, fates: Sequence[PredictedFate], first: int) -> Iterator[Markup]:
    for fate in fates:
        chance = None if fate.chances is None else fate.chances[first]
        fill = "#999999" if chance is None else f"hsl({round(120 * chance)} 75% 45%)"
        title = tag("title", "no prediction" if chance is None else f"{chance:.0%}")
        for point in fate.points:
            yield _circle(size, point, 5, fill, title)


def _circle(size: int, point: int, r: int, fill: str, *parts: Markup, **style: str) -> Markup:
    x, y, width, height = point_region(size, point).box
    return tag(
        "circle",
        *parts,
        cx=x + width / 2,
        cy=y + height / 2,
        r=r,
        fill=fill,
        stroke_width=3,
        **style,
    )


def _moves(fates: Sequence[PredictedFate], first: int) -> list[int]:
    """Return the policy's moves for the blocks whose fate depends on who moves first."""
    moves = {fate.moves[first] for fate in fates if fate.critical}
    return sorted(move for move in moves if move is not None)


def text_of(stones: NDArray[np.int8], fates: Sequence[PredictedFate], *, first: int) -> str:
    """Return a board for one first mover, as text: X Black, O White, * the policy's move.

    Args:
      first: the first mover, 0 the attacker of a block, 1 its owner.
    """
    marks = dict.fromkeys(_moves(fates, first), "*")
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
