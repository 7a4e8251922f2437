"""The values that both sides gave the game, over its plies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from miai.game import GameInfo
from miai_tournaments.pages import charts
from miai_tournaments.pages.markup import Markup, number, tag

WIDTH, HEIGHT = 640, 170
LEFT, RIGHT = 44, 10
_TOP, _BOTTOM = 10, 26


@dataclass(frozen=True, slots=True)
class Point:
    """A value that a player gave the position before an action.

    Attributes:
      frame: number of the frame that the action led to.
      player: who said it.
      value: the first player's utility, as that player estimated it.
    """

    frame: int
    player: int
    value: float


def first_players(value: float, player: int, info: GameInfo) -> float:
    """Return a player's value as one of the first player's, where the game's sum is constant."""
    if player == 0 or info.utility_sum is None:
        return value
    return info.utility_sum - value


def value_graph(points: Sequence[Point], frames: int, info: GameInfo) -> Markup | None:
    """Return the graph; None where nobody said a value.

    Where values lie outside the game's own bounds, as an engine's centipawns, the axis is theirs.
    The element with the class ``cursor`` is moved by the page.
    """
    if not points:
        return None
    low, high = _bounds([point.value for point in points], info)
    across = charts.Scale(0, max(1, frames - 1), LEFT, WIDTH - RIGHT)
    up = charts.Scale(low, high, HEIGHT - _BOTTOM, _TOP)
    parts = [*_axes(across, up, frames)]
    for player in sorted({point.player for point in points}):
        parts.append(_series(player, [p for p in points if p.player == player], across, up))
    parts.append(tag("line", class_="cursor", x1=LEFT, x2=LEFT, y1=_TOP, y2=HEIGHT - _BOTTOM))
    return tag(
        "svg",
        *parts,
        id="graph",
        class_="graph",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label="Values that the players gave the game, over its plies",
        data_left=LEFT,
        data_right=WIDTH - RIGHT,
    )


def _bounds(values: Sequence[float], info: GameInfo) -> tuple[float, float]:
    if min(values) >= info.min_utility and max(values) <= info.max_utility:
        return info.min_utility, info.max_utility
    return charts.widened([*values, 0.0])


def _axes(across: charts.Scale, up: charts.Scale, frames: int) -> list[Markup]:
    parts = []
    for value in charts.ticks(up.low, up.high, 4):
        y = up(value)
        parts.append(tag("path", class_="axis", d=f"M{LEFT} {number(y)}H{WIDTH - RIGHT}"))
        parts.append(
            tag("text", f"{value:g}", class_="dim", x=LEFT - 6, y=y + 4, text_anchor="end")
        )
    for value in charts.ticks(0, max(1, frames - 1), 8):
        if value == int(value):
            parts.append(
                tag(
                    "text",
                    f"{value:g}",
                    class_="dim",
                    x=across(value),
                    y=HEIGHT - 8,
                    text_anchor="middle",
                )
            )
    return parts


def _series(player: int, points: Sequence[Point], across: charts.Scale, up: charts.Scale) -> Markup:
    line = " ".join(f"{number(across(p.frame))},{number(up(p.value))}" for p in points)
    links = [
        tag(
            "a",
            tag("circle", class_="fill", cx=across(p.frame), cy=up(p.value), r=2.5),
            href=f"#p{p.frame}",
            tabindex="-1",
            aria_hidden="true",
        )
        for p in points
    ]
    polyline = tag("polyline", class_="line", points=line)
    return tag("g", polyline, *links, class_=charts.series_class(player))
