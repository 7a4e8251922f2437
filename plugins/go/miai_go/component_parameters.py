"""The parameters of what comes with the game: search, evaluator, judge, reader of openings.

They are kept from what they are parameters of, so that listing them compiles and imports nothing.
"""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import model_validator

from miai.plugins.parameters import Parameters, parameter
from miai_go.tsumego.in_play_parameters import InPlayParameters

# Measured on 9x9 at 1000 simulations, 30 games each: RAVE against none 30 to 0; beside RAVE an
# exploration of 0 to 0.2 against 0.5 at least 25 to 5; without RAVE 0.5 against 0.2 21 to 9.
_UCT_ALONE: Final = 0.5
_UCT_BESIDE_RAVE: Final = 0.1

# Every playout from a leaf without visits adds some 70 nodes on 9x9.
_SHORT: Final = 10_000
_LATE: Final = 8


class GoMctsParameters(InPlayParameters):
    """Parameters of `GoMcts`."""

    simulations: int = parameter(
        1000, ge=0, unit="simulations", help="Budget of a move; 0 for none, then give seconds"
    )
    seconds: float | None = parameter(
        None, gt=0, unit="seconds", help="Budget of a move beside simulations; not reproducible"
    )
    exploration: float | None = parameter(
        None,
        ge=0,
        unit="half the range of utilities",
        help=f"Weight of exploration (UCT); default: {_UCT_ALONE}, beside RAVE {_UCT_BESIDE_RAVE}",
    )
    rave: float = parameter(
        1000.0,
        ge=0,
        unit="visits",
        help="Visits at which a move's own value and its all-moves-as-first value weigh the same; "
        "0 switches RAVE off",
    )
    fpu: float = parameter(
        10.0,
        unit="utility",
        help="Value of a move that neither the tree nor RAVE knows; 10: tried before any twice",
    )
    playouts: Literal["light", "tactical"] = parameter(
        "light",
        help="Games from the leaves: light ones are uniformly random, tactical ones answer atari",
    )
    expand_after: int | None = parameter(
        None,
        ge=0,
        unit="visits",
        help=f"Visits after which a node gets children; default: 1, but {_LATE} where only seconds "
        f"or more than {_SHORT:,} simulations limit a move, so that the nodes last",
    )
    max_nodes: int = parameter(
        1_000_000,
        ge=1000,
        le=100_000_000,
        unit="nodes",
        help="Most nodes kept, 32 bytes each, twice with reuse; a full tree grows no more",
    )
    reuse: bool = parameter(True, help="Keep the tree from move to move")
    resign_below: float | None = parameter(
        None,
        ge=-1,
        le=1,
        unit="utility",
        help="Resign when the position is worth less: -0.9 is a chance of 5 %; none: never",
    )
    pass_when_winning: bool = parameter(
        True, help="Answer a pass by a pass when the board, counted now, is won"
    )
    stop_early: bool = parameter(
        True, help="Where seconds alone limit, save what could no longer change the move"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.simulations == 0 and self.seconds is None:
            raise ValueError("simulations = 0 needs a budget in seconds")
        return self

    @property
    def exploration_used(self) -> float:
        """The weight of exploration, the default settled."""
        if self.exploration is not None:
            return self.exploration
        return _UCT_BESIDE_RAVE if self.rave else _UCT_ALONE

    @property
    def expand_after_used(self) -> int:
        """Visits after which a node gets children, the default settled."""
        if self.expand_after is not None:
            return self.expand_after
        return 1 if 0 < self.simulations <= _SHORT else _LATE


class GoRolloutParameters(Parameters):
    """How many playouts one evaluation takes."""

    rollouts: int = parameter(1, ge=1, le=1_000_000, help="Playouts for each state")


class PlayoutJudgeParameters(Parameters):
    """How many playouts are asked, and how sure they must be."""

    playouts: int = parameter(
        1000, ge=2, le=100_000, help="Random games from the position, half with each to move"
    )
    threshold: float = parameter(
        0.55,
        ge=0.5,
        lt=1.0,
        help="A chain is dead when the opponent owns its points in more than this share of them",
    )


class SgfOpeningParameters(Parameters):
    """Which lines of an SGF file are openings, and how long they are."""

    variations: bool = parameter(
        False, help="Whether every variation is an opening, or the main line of each game only"
    )
    plies: int | None = parameter(
        None, ge=1, unit="plies", help="Most moves taken of each; default: all"
    )


class ScoreLeadParameters(Parameters):
    """Parameters of the adjudicator ``score-lead``."""

    points: float = parameter(
        20.0, ge=0.5, le=1000, unit="points", help="Mean lead in the playouts, komi included"
    )
    plies: int = parameter(
        6, ge=1, le=1000, unit="plies", help="Plies in a row in which the same player leads so"
    )
    playouts: int = parameter(200, ge=2, le=1_000_000, help="Light playouts from each position")
    certainty: float = parameter(
        0.99, ge=0.5, le=1, help="Least share of the playouts that the leader wins"
    )
