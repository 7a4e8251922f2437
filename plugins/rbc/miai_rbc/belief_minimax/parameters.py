"""What `rbc-minimax` can be told: the agent, the search and the problem. Imports nothing heavy."""

from __future__ import annotations

from typing import Any, Final, Literal

from miai import Parameters, parameter
from miai_rbc.agent_parameters import BeliefParameters

DEEPEST: Final = 2
"""Own moves that a search goes deep."""

_KING_LOSS = 600


class Rules(Parameters):
    """What a value is: the same rules and the same root give the same value, however it is found.

    Widths depend on what is public, and on boards drawn once at the root, never on the belief of a
    node: else a part of a belief could be worth less than the whole.
    """

    senses: int = parameter(4, ge=1, le=36, unit="windows", help="tried at each sense")
    moves: int = parameter(4, ge=1, le=200, unit="requests", help="tried at each own move")
    sample: int = parameter(
        32, ge=1, le=1000, unit="boards", help="of the root, from which senses and moves are chosen"
    )
    top: int = parameter(3, ge=1, le=20, help="engine moves of each of them that are candidates")
    boards: int = parameter(
        100_000, ge=1, le=1_000_000, help="most boards of a root one move deep; of more a sample"
    )
    deep_boards: int = parameter(
        1000, ge=1, le=20_000, help="most boards of a root two moves deep; of more a sample"
    )
    leaf_depth: int = parameter(
        0, ge=0, le=8, unit="plies", help="of the embedded engine at the leaves, captures beyond"
    )
    king_loss: int | None = parameter(
        _KING_LOSS,
        ge=0,
        le=50_000,
        unit="centipawns",
        help="below the material of the board that a lost king counts; none: as the game",
    )
    forgiven: int = parameter(
        0, ge=0, le=1000, unit="boards", help="the worst at each leaf, which do not count"
    )
    seed: int = parameter(0, ge=0, help="of the boards drawn at a root")


class MinimaxSearchParameters(Parameters):
    """What is remembered of beliefs, and how the tree is gone through."""

    bounds: str = parameter("cores", component="bounds", help="What is remembered of beliefs")
    bounds_parameters: dict[str, Any] = parameter({}, help="Parameters of the bounds")
    window: Literal["alpha-beta", "null"] = parameter(
        "alpha-beta", help="One full window, or null windows one after the other"
    )
    blind_first: bool = parameter(
        False, help="Try the moves before the sense: what they guarantee, it guarantees too (B1)"
    )
    singles: bool | None = parameter(
        None, help="Try boards alone first, at the last move; none: as the bounds ask"
    )


class MinimaxProblemParameters(Rules):
    """The rules of the values, and which beliefs of games are roots."""

    least: int = parameter(20, ge=1, le=1_000_000, help="boards of a root")
    most: int = parameter(1000, ge=1, le=1_000_000, help="boards of a root")
    a_game: int = parameter(5, ge=1, le=1000, help="most roots of one game")
    records: str = parameter(
        "", help="folder of histories of reconchess to take roots from; empty: games are played"
    )


class MinimaxAgentParameters(MinimaxSearchParameters, Rules, BeliefParameters):
    """Parameters of `RbcMinimax`."""

    blind_first: bool = parameter(
        True, help="Try the moves before the sense: what they guarantee, it guarantees too (B1)"
    )
    singles: bool | None = parameter(
        False, help="Try boards alone first, at the last move; none: as the bounds ask"
    )
    depth: int = parameter(2, ge=1, le=DEEPEST, unit="own moves", help="as far as there is time")
    nodes: int | None = parameter(None, ge=1, help="Budget of a sense or a move")
    limit: int = parameter(
        1_000_000, ge=512, help="boards before the sense, past which a sample lives on"
    )
    boards: int = parameter(
        2000, ge=1, le=1_000_000, help="most boards of a belief one move deep; of more a sample"
    )
    deep_boards: int = parameter(
        100, ge=1, le=20_000, help="most boards of a belief two moves deep; of more a sample"
    )
