"""The parameters of the game ``go``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal, Self

from pydantic import ValidationInfo, field_validator, model_validator

from miai.parameters import Parameters, parameter
from miai_go.rules.coordinates import parse_points
from miai_go.rules.rule_sets import (
    HANDICAP_KOMI,
    MIN_HANDICAP,
    PRESETS,
    Compensation,
    DeadStones,
    Ko,
    Preset,
    Repetition,
    Rules,
    Scoring,
    fixed_handicap,
)

MAX_SIZE: Final = 25
MAX_KOMI: Final = float(MAX_SIZE * MAX_SIZE)
MAX_MOVES: Final = 10_000
"""Maximum number of actions of a game."""

_OVERRIDES: Final = (
    "ko",
    "suicide",
    "scoring",
    "dead_stones",
    "repetition",
    "seki_territory",
    "pass_stones",
    "compensation",
    "komi",
)
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
        help="Component of kind go.dead-stones that finds dead stones (dead_stones = 'referee')",
    )
    referee_settings: dict[str, bool | int | float | str | list[str]] = parameter(
        {}, help="Parameters of the referee"
    )
    repetition: Repetition | None = parameter(
        None, help=f"Effect of a repeated position under simple ko; {_PRESET}"
    )
    seki_territory: bool | None = parameter(
        None, help=f"Whether territory in seki counts; {_PRESET}"
    )
    pass_stones: bool | None = parameter(None, help=f"Whether a pass costs a stone; {_PRESET}")
    handicap: int = parameter(
        0, ge=0, le=MAX_SIZE * MAX_SIZE - 1, unit="stones", help="Handicap stones in fixed places"
    )
    handicap_points: tuple[str, ...] = parameter(
        (), help="Points of a freely placed handicap, such as [D4, Q16]"
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
        values = {name: getattr(self, name) for name in _OVERRIDES}
        chosen = {name: value for name, value in values.items() if value is not None}
        if self.handicap_stones:
            chosen.setdefault("komi", HANDICAP_KOMI)
        preset = PRESETS[self.rules]
        passes_cost = chosen.get("pass_stones", preset.pass_stones)
        if chosen.get("scoring", preset.scoring) == "territory" and passes_cost:
            chosen.setdefault("compensation", "none")
        return replace(preset, **chosen)

    def resolved(self) -> Self:
        """Return these parameters with the preset's defaults written out."""
        rules = self.resolved_rules()
        values: dict[str, Any] = {name: getattr(rules, name) for name in _OVERRIDES}
        values["handicap"] = self.handicap_stones
        values["first_player"] = self.first_player or ("white" if self.handicap_stones else "black")
        values["max_moves"] = self.max_moves or default_max_moves(self.board_size)
        return self.model_copy(update=values)


def default_max_moves(size: int) -> int:
    """Return the default of `max_moves`, which random players, the slowest, rarely reach."""
    return 4 * size * size + 100


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
        None, ge=1, unit="plies", help="Maximum length of an opening; default: the whole line"
    )


class ScoreLeadParameters(Parameters):
    """Parameters of the adjudicator ``score-lead``."""

    points: float = parameter(
        20.0,
        ge=0.5,
        le=1000,
        unit="points",
        help="Minimum mean lead in playouts, komi included",
    )
    plies: int = parameter(
        6, ge=1, le=1000, unit="plies", help="Plies in a row for which one player must lead"
    )
    playouts: int = parameter(200, ge=2, le=1_000_000, help="Playouts per position")
    certainty: float = parameter(
        0.99, ge=0.5, le=1, help="Minimum share of playouts that the leader wins"
    )
