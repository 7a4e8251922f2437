"""Rule sets and fixed handicaps.

A preset settles every rule; single parameters override it.

=============  ===========  ========  =========  ===========  ==========  =======
preset         ko           suicide   scoring    dead stones  handicap    komi
=============  ===========  ========  =========  ===========  ==========  =======
tromp-taylor   positional   allowed   area       none         none        7.5
chinese        positional   no        area       playouts     n           7.5
japanese       simple       no        territory  playouts     none        6.5
aga            situational  no        area       playouts     n-1         7.5
=============  ===========  ========  =========  ===========  ==========  =======

The column handicap is the compensation that White receives. Under AGA rules area and territory
give the same result, because passes cost a stone and White passes last: compensation is due by
area only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from miai_go.rules.coordinates import edge_line

Preset: TypeAlias = Literal["tromp-taylor", "chinese", "japanese", "aga"]
Ko: TypeAlias = Literal["simple", "positional", "situational"]
Scoring: TypeAlias = Literal["area", "territory"]
DeadStones: TypeAlias = Literal["none", "playouts", "agreement", "referee"]
Compensation: TypeAlias = Literal["none", "n-1", "n"]
Repetition: TypeAlias = Literal["draw", "allowed"]

HANDICAP_KOMI: Final = 0.5
"""Default komi of handicap games, which only breaks ties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """One complete rule set.

    Attributes:
      ko: which repetitions are forbidden; see `miai_go.rules.board.KoRule`.
      suicide: whether a move may remove the mover's own stones by taking their last liberty.
      scoring: area counts living stones and surrounded points (Chinese); territory counts
        surrounded points and prisoners (Japanese).
      dead_stones: how dead stones are found after two passes. `none`: every stone counts as
        alive; `playouts`: random playouts from the final position; `agreement`: the players
        propose and accept; `referee`: a component of kind ``go.dead-stones``.
      repetition: under simple ko, whether a move that repeats stones and player to move ends the
        game without result (a draw: triple ko), or is allowed.
      seki_territory: whether points surrounded by a group that lives in seki count as territory.
      pass_stones: whether a pass costs a prisoner and White owes one when Black passed last (AGA).
      compensation: points that White receives in a handicap game of n stones.
      komi: points that White receives.
    """

    ko: Ko
    suicide: bool
    scoring: Scoring
    dead_stones: DeadStones
    repetition: Repetition
    seki_territory: bool
    pass_stones: bool
    compensation: Compensation
    komi: float


PRESETS: Final[Mapping[Preset, Rules]] = {
    # https://tromp.github.io/go.html
    "tromp-taylor": Rules(
        ko="positional",
        suicide=True,
        scoring="area",
        dead_stones="none",
        repetition="draw",
        seki_territory=True,
        pass_stones=False,
        compensation="none",
        komi=7.5,
    ),
    # Rules of the Chinese Weiqi Association, 2002
    "chinese": Rules(
        ko="positional",
        suicide=False,
        scoring="area",
        dead_stones="playouts",
        repetition="draw",
        seki_territory=True,
        pass_stones=False,
        compensation="n",
        komi=7.5,
    ),
    # Rules of the Nihon Kiin, 1989
    "japanese": Rules(
        ko="simple",
        suicide=False,
        scoring="territory",
        dead_stones="playouts",
        repetition="draw",
        seki_territory=False,
        pass_stones=False,
        compensation="none",
        komi=6.5,
    ),
    # Concise Rules of the American Go Association, 1991
    "aga": Rules(
        ko="situational",
        suicide=False,
        scoring="area",
        dead_stones="playouts",
        repetition="draw",
        seki_territory=True,
        pass_stones=True,
        compensation="n-1",
        komi=7.5,
    ),
}


def compensation_points(compensation: Compensation, stones: int) -> int:
    """Return the points that White receives for a handicap of `stones`."""
    if stones == 0 or compensation == "none":
        return 0
    return stones if compensation == "n" else stones - 1


MIN_HANDICAP: Final = 2
"""A handicap of one stone places none: it is a game without komi, Black first."""


def max_fixed_handicap(size: int) -> int:
    """Return the maximum fixed handicap: 9 on odd sizes from 9, otherwise 4; 0 below size 7."""
    if size < 7:
        return 0
    return 9 if size % 2 and size >= 9 else 4


def fixed_handicap(stones: int, size: int) -> tuple[int, ...]:
    """Return the points of a fixed handicap, ascending (GTP version 2 draft 2, section 4.1.1).

    Raises:
      ValueError: fixed handicap does not define this number of stones on this board.
    """
    if not MIN_HANDICAP <= stones <= max_fixed_handicap(size):
        raise ValueError(
            f"a fixed handicap of {stones} stones does not exist on a {size}x{size} board "
            f"(2 to {max_fixed_handicap(size)} do)"
            if max_fixed_handicap(size)
            else f"a {size}x{size} board has no fixed handicap; name handicap_points"
        )
    low, high, middle = edge_line(size), size - 1 - edge_line(size), size // 2
    corners = [(low, low), (high, high), (high, low), (low, high)]
    sides = [(middle, low), (middle, high), (low, middle), (high, middle)]
    places = corners[: min(stones, 4)]
    if stones >= 6:
        places += sides[: 4 if stones >= 8 else 2]
    if stones in (5, 7, 9):
        places.append((middle, middle))
    return tuple(sorted(row * size + column for row, column in places))
