"""What Go players know: eye spaces and groups at the edge, with the fate of each and what says so.

Statuses are with the attacker as ko master; see `families`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from miai_go.tsumego.generating.answers import Fate
from miai_go.tsumego.generating.diagrams import Placement
from miai_go.tsumego.status import Status

ALIVE, CRITICAL, DEAD = Status.ALIVE, Status.CRITICAL, Status.DEAD
CENTRE, SIDE, CORNER = Placement.CENTRE, Placement.SIDE, Placement.CORNER

KO_KILLS: Final = Fate(CRITICAL, ko=True)
KO_LIVES: Final = Fate(DEAD, ko=True)


@dataclass(frozen=True, slots=True)
class Shape:
    """An eye space.

    Attributes:
      cells: rows from the top, ``*`` for a point.
      status: with the attacker as ko master, wherever on the board it is.
      source: what says so.
    """

    cells: str
    status: Status
    source: str


SHAPES: Final[Mapping[str, Shape]] = {
    "straight two": Shape("**", DEAD, "two points in a row are one eye"),
    "straight three": Shape("***", CRITICAL, "Sensei's Library, Straight Three"),
    "bent three": Shape("**/*.", CRITICAL, "Sensei's Library, Bent Three"),
    "straight four": Shape("****", ALIVE, "Sensei's Library, Straight Four"),
    "bent four": Shape("***/*..", ALIVE, "Sensei's Library, Bent Four"),
    "zigzag four": Shape(".**/**.", ALIVE, "Sensei's Library, Twisted Four"),
    "square four": Shape("**/**", DEAD, "Sensei's Library, Square Four"),
    "pyramid four": Shape("***/.*.", CRITICAL, "Sensei's Library, Pyramid Four"),
    "straight five": Shape("*****", ALIVE, "rows of four points and more live"),
    "L five": Shape("****/*...", ALIVE, "rows of four points and more live"),
    "bulky five": Shape("***/**.", CRITICAL, "Sensei's Library, Bulky Five"),
    "crossed five": Shape(".*./***/.*.", CRITICAL, "Sensei's Library, Crossed Five"),
    "straight six": Shape("******", ALIVE, "rows of four points and more live"),
    "rabbity six": Shape("**./***/.*.", CRITICAL, "Sensei's Library, Rabbity Six (flower six)"),
    "rectangular six": Shape("***/***", ALIVE, "Sensei's Library, Rectangular Six"),
}

CORNER_FACTS: Final[Mapping[tuple[str, int], tuple[Fate, str]]] = {
    ("bent four", 0): (KO_KILLS, "Sensei's Library, Bent Four in the Corner"),
    ("bent four", 1): (KO_KILLS, "Sensei's Library, Bent Four in the Corner"),
    ("rectangular six", 0): (Fate(CRITICAL), "Sensei's Library, Rectangular Six in the Corner"),
    ("rectangular six", 1): (KO_KILLS, "Sensei's Library, Rectangular Six in the Corner"),
}
"""Shapes whose bend or whose corner is the corner of the board, by outside liberties."""

OTHERWISE_NAMED: Final = {("rectangular six", CORNER)}
"""Shapes that with outside liberties are members of another family, here the L+2 group."""

SECOND_LINE: Final = {SIDE: 7, CORNER: 5}
"""The row that is critical: a shorter one is dead, a longer one alive."""

ROW_KOS: Final = {
    (SIDE, 7, 1),
    (SIDE, 5, 2),
    (SIDE, 6, 2),
    (SIDE, 7, 2),
    (CORNER, 4, 2),
    (CORNER, 5, 2),
}
"""Rows that a ko decides: placement, stones, wings."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group at the edge with open sides.

    Attributes:
      stones: rows from the top, ``X`` the defender, ``.`` empty within, ``O`` a stone of the
        attacker that cuts, ``_`` beyond; all around is the attacker's wall, but for the wings.
      placement: on a side, or in a corner, whose point is the lowest on the left.
      fates: by wings: on the left and on the right along a side; up and to the right in a corner.
      source: what says so.
    """

    stones: str
    placement: Placement
    fates: Mapping[tuple[int, int], Fate]
    source: str


_SPARE: Final = "Sensei's Library, Common Corner Shapes"

GROUPS: Final[Mapping[str, Group]] = {
    "L group": Group(
        ".XXX/...X/....",
        CORNER,
        {(0, 0): Fate(DEAD), (1, 1): KO_LIVES},
        f"{_SPARE}: the L group is dead",
    ),
    "L+1 group, long leg": Group(
        "XXXX/...X/....",
        CORNER,
        {(0, 0): Fate(CRITICAL), (1, 1): Fate(CRITICAL)},
        f"{_SPARE}: unsettled",
    ),
    "L+1 group, short leg": Group(
        ".XXX/...X/...X",
        CORNER,
        {(0, 0): KO_LIVES, (1, 1): Fate(CRITICAL)},
        f"{_SPARE}: unsettled; without outside liberties the defender has but a ko",
    ),
    "L+2 group": Group(
        "XXXX/...X/...X",
        CORNER,
        {(1, 1): Fate(ALIVE), (1, 0): KO_KILLS, (0, 1): KO_KILLS},
        f"{_SPARE}: alive, a ko after a descent; a rectangular six with its outside liberties",
    ),
    "long L group": Group(
        ".XXXX/....X/.....",
        CORNER,
        {(0, 0): Fate(CRITICAL), (1, 1): KO_KILLS},
        "Sensei's Library, Long L Group: a ten-thousand-year ko without an outside liberty",
    ),
    "J group": Group(
        ".XXX_/....X/...X.",
        CORNER,
        {(0, 0): KO_LIVES, (1, 1): KO_KILLS},
        "Sensei's Library, J Group: lives or dies by who moves first",
    ),
    "straight J group": Group(
        ".XXX_/....X/....X",
        CORNER,
        {(0, 0): Fate(CRITICAL), (1, 1): KO_KILLS},
        "Sensei's Library, J Group: a ko if the attacker moves first",
    ),
    "carpenter's square": Group(
        ".XXX/...X/...X/....",
        CORNER,
        {(0, 0): Fate(CRITICAL), (1, 1): KO_KILLS},
        "Sensei's Library, Carpenter's Square: alive at the 2-2 point, a ko if the attacker "
        "moves first",
    ),
    "broken comb in the corner": Group(
        "XXXO/...X/...X",
        CORNER,
        {(0, 0): Fate(CRITICAL), (1, 1): KO_KILLS},
        "Sensei's Library, Comb Formation: alive, or a ko if the attacker moves first",
    ),
    "door group": Group(
        "XXX/X.X/...",
        SIDE,
        {(0, 0): Fate(DEAD), (1, 1): KO_LIVES, (2, 2): KO_LIVES},
        "J. Davies, Life and Death: a lintel of three and two posts; dead",
    ),
    "comb": Group(
        "OXXXO/X...X/X...X",
        SIDE,
        {(0, 0): Fate(DEAD)},
        "Sensei's Library, Comb Formation: a rectangular six with two cutting points",
    ),
    "comb with one cut": Group(
        "XXXXO/X...X/X...X",
        SIDE,
        {(0, 0): Fate(CRITICAL)},
        "Sensei's Library, Comb Formation: a rectangular six with one cutting point",
    ),
}
