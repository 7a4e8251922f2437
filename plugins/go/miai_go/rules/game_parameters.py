"""Rule sets, handicaps, and the parameters of Go's components.

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
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, Self

from pydantic import ValidationInfo, field_validator, model_validator

from miai.parameters import Parameters, parameter
from miai_go.rules.coordinates import MAX_SIZE, edge_line, parse_points

MAX_KOMI: Final = float(MAX_SIZE * MAX_SIZE)
MAX_MOVES: Final = 10_000
"""Maximum number of actions of a game."""


Preset = Literal["tromp-taylor", "chinese", "japanese", "aga"]
Ko = Literal["simple", "positional", "situational", "none"]
Scoring = Literal["area", "territory"]
DeadStones = Literal["none", "playouts", "agreement", "referee"]
Compensation = Literal["none", "n-1", "n"]
Repetition = Literal["draw", "allowed"]

HANDICAP_KOMI: Final = 0.5
"""Default komi of handicap games, which only breaks ties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """One complete rule set.

    Attributes:
      ko: which repetitions are forbidden; see `miai_go.rules.board.KoRule`. `none`: not even a ko
        is, and no repetition ends the game.
      suicide: whether a move may remove the mover's own stones by taking their last liberty.
      scoring: area counts living stones and surrounded points (Chinese); territory counts
        surrounded points and prisoners (Japanese).
      dead_stones: how dead stones are found after two passes. `none`: every stone counts as
        alive; `playouts`: random playouts from the final position; `agreement`: the players
        propose and accept; `referee`: a component of kind ``go.dead-stones``.
      repetition: under simple ko, whether a move that repeats stones and player to move ends the
        game without result (a draw: triple ko), or is allowed.
      seki_territory: whether points surrounded by a group that lives in seki count as territory.
      passes: how many passes in a row end the game; more than 2 let play go on, as on servers.
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
    passes: int
    pass_stones: bool
    compensation: Compensation
    komi: float


_TROMP_TAYLOR: Final = Rules(
    ko="positional",
    suicide=True,
    scoring="area",
    dead_stones="none",
    repetition="draw",
    seki_territory=True,
    passes=2,
    pass_stones=False,
    compensation="none",
    komi=7.5,
)
_CHINESE: Final = replace(_TROMP_TAYLOR, suicide=False, dead_stones="playouts", compensation="n")

PRESETS: Final[Mapping[Preset, Rules]] = {
    # https://tromp.github.io/go.html
    "tromp-taylor": _TROMP_TAYLOR,
    # Rules of the Chinese Weiqi Association, 2002
    "chinese": _CHINESE,
    # Rules of the Nihon Kiin, 1989
    "japanese": replace(
        _CHINESE,
        ko="simple",
        scoring="territory",
        seki_territory=False,
        compensation="none",
        komi=6.5,
    ),
    # Concise Rules of the American Go Association, 1991
    "aga": replace(_CHINESE, ko="situational", pass_stones=True, compensation="n-1"),
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

    Raises `ValueError` for a number of stones that it does not define on this board.
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


_RULES: Final = tuple(field.name for field in fields(Rules))
_PRESET = "default: that of the preset"


class GoParameters(Parameters):
    """Size, rules, komi, handicap and starting position of a game of Go."""

    board_size: int = parameter(9, ge=1, le=MAX_SIZE, help="Points on a side", unit="points")
    rules: Preset = parameter(
        "tromp-taylor", help="Preset rule set, which other parameters override"
    )
    komi: float | None = parameter(
        None,
        ge=-MAX_KOMI,
        le=MAX_KOMI,
        multiple_of=0.5,
        unit="points",
        help=f"Points that White receives; {_PRESET}, {HANDICAP_KOMI} with handicap",
    )
    ko: Ko | None = parameter(None, help=f"Which repetitions are forbidden; {_PRESET}")
    suicide: bool | None = parameter(None, help=f"Whether suicide is legal; {_PRESET}")
    scoring: Scoring | None = parameter(None, help=f"Area or territory scoring; {_PRESET}")
    dead_stones: DeadStones | None = parameter(None, help=f"How dead stones are found; {_PRESET}")
    referee: str = parameter(
        "playouts",
        component="go.dead-stones",
        help="Component of kind go.dead-stones, with dead_stones = 'referee'",
    )
    referee_settings: dict[str, Any] = parameter({}, help="Parameters of the referee")
    repetition: Repetition | None = parameter(
        None, help=f"Effect of a repeated position under simple ko; {_PRESET}"
    )
    seki_territory: bool | None = parameter(
        None, help=f"Whether territory in seki counts; {_PRESET}"
    )
    passes: int | None = parameter(
        None, ge=2, le=MAX_MOVES, help=f"Passes in a row that end the game; {_PRESET}"
    )
    pass_stones: bool | None = parameter(None, help=f"Whether a pass costs a stone; {_PRESET}")
    handicap: int = parameter(
        0, ge=0, le=MAX_SIZE * MAX_SIZE - 1, unit="stones", help="Handicap stones in fixed places"
    )
    handicap_points: tuple[str, ...] = parameter(
        (), help='Points of a freely placed handicap, such as ["D4", "Q16"]'
    )
    compensation: Compensation | None = parameter(
        None, help=f"Points that White receives for n handicap stones; {_PRESET}"
    )
    black_stones: tuple[str, ...] = parameter(
        (), help="Points of Black's stones in the starting position"
    )
    white_stones: tuple[str, ...] = parameter(
        (), help="Points of White's stones in the starting position"
    )
    first_player: Literal["black", "white"] | None = parameter(
        None, help="Player who moves first; default: Black, or White in a handicap game"
    )
    max_moves: int | None = parameter(
        None,
        ge=1,
        le=MAX_MOVES,
        unit="plies",
        help="Actions after which the game ends and is counted by area; "
        "default: 4 * board_size ** 2 + 100",
    )

    @field_validator("handicap_points", "black_stones", "white_stones")
    @classmethod
    def _on_the_board(cls, vertices: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        size = info.data.get("board_size")
        if size is not None:  # else the size itself was refused
            parse_points(vertices, size)
        return vertices

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        placed = len(self.handicap_points)
        if placed and self.handicap not in (0, placed):
            raise ValueError(f"handicap is {self.handicap}, but handicap_points has {placed}")
        if self.handicap and not placed:
            if self.handicap < MIN_HANDICAP:
                raise ValueError("a handicap of 1 is a game with komi = 0.5; set that instead")
            fixed_handicap(self.handicap, self.board_size)
        names = [*self.handicap_points, *self.black_stones, *self.white_stones]
        if (self.black_stones or self.white_stones) and self.handicap and not placed:
            raise ValueError("a handicap in a game with a starting position needs handicap_points")
        parse_points(names, self.board_size)
        return self

    @property
    def handicap_stones(self) -> int:
        """Number of handicap stones, in fixed places or free."""
        return self.handicap or len(self.handicap_points)

    def black_points(self) -> tuple[int, ...]:
        """Return the points of Black's stones at the start, handicap included, ascending."""
        size = self.board_size
        points = parse_points((*self.handicap_points, *self.black_stones), size)
        if self.handicap and not self.handicap_points:
            points += fixed_handicap(self.handicap, size)
        return tuple(sorted(points))

    def white_points(self) -> tuple[int, ...]:
        """Return the points of White's stones at the start, ascending."""
        return tuple(sorted(parse_points(self.white_stones, self.board_size)))

    def resolved_rules(self) -> Rules:
        """Return the preset's rules, overridden by the other parameters."""
        values = {name: getattr(self, name) for name in _RULES}
        overrides = {name: value for name, value in values.items() if value is not None}
        if self.handicap_stones:
            overrides.setdefault("komi", HANDICAP_KOMI)
        preset = PRESETS[self.rules]
        passes_cost = overrides.get("pass_stones", preset.pass_stones)
        if overrides.get("scoring", preset.scoring) == "territory" and passes_cost:
            overrides.setdefault("compensation", "none")
        return replace(preset, **overrides)

    def resolved(self) -> Self:
        """Return these parameters with the preset's defaults written out."""
        rules = self.resolved_rules()
        values: dict[str, Any] = {name: getattr(rules, name) for name in _RULES}
        values["handicap"] = self.handicap_stones
        values["first_player"] = self.first_player or ("white" if self.handicap_stones else "black")
        values["max_moves"] = self.max_moves or default_max_moves(self.board_size)
        return self.model_copy(update=values)


def default_max_moves(size: int) -> int:
    """Return the default of `max_moves`, which random players, the slowest, rarely reach."""
    return 4 * size * size + 100


# -- parameters of other components of Go --------------------------------------------------------


class GoRolloutParameters(Parameters):
    """Parameters of the evaluator ``random-rollout``."""

    rollouts: int = parameter(1, ge=1, le=1_000_000, help="Playouts per state")


class PlayoutJudgeParameters(Parameters):
    """Parameters of the judge ``playouts`` of dead stones."""

    playouts: int = parameter(
        1000, ge=2, le=100_000, help="Playouts from the position, half with each player to move"
    )
    threshold: float = parameter(
        0.55,
        ge=0.5,
        lt=1.0,
        help="Share of playouts above which a chain is dead, when the opponent owns its points",
    )


class SgfOpeningParameters(Parameters):
    """Parameters of the opening reader ``sgf``."""

    variations: bool = parameter(
        False, help="Read every variation, instead of the main line of each game only"
    )
    plies: int | None = parameter(
        None, ge=1, unit="plies", help="Maximum length of openings; default: whole"
    )


class ScoreLeadParameters(Parameters):
    """Parameters of the adjudicator ``score-lead``."""

    points: float = parameter(
        20.0, ge=0.5, le=1000, unit="points", help="Minimum mean lead in playouts, with komi"
    )
    plies: int = parameter(
        6, ge=1, le=1000, unit="plies", help="Plies in a row for which one player must lead"
    )
    playouts: int = parameter(200, ge=2, le=1_000_000, help="Playouts per position")
    certainty: float = parameter(
        0.99, ge=0.5, le=1, help="Minimum share of playouts that the leader wins"
    )
