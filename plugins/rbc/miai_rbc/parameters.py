"""What Reconnaissance Blind Chess can be asked for. Imports nothing heavy.

What the agents of Reconnaissance Blind Chess can be told. Imports nothing heavy.

What `rbc-minimax` can be told: the agent, the search and the problem. Imports nothing heavy.

What the readers of openings can be told. Imports nothing heavy.
"""

from __future__ import annotations

from typing import Any, Final, Literal, Self

from pydantic import model_validator

from miai import Parameters, parameter

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


class RbcParameters(Parameters):
    """The start and the ends of a game."""

    fen: str = parameter(START_FEN, help="the position at the start", max_length=120)
    reversible_moves_limit: int = parameter(
        100, ge=1, le=10_000, help="half-moves without capture or pawn move that draw"
    )
    full_turn_limit: int | None = parameter(
        None, ge=1, le=100_000, help="turns of both players after which the game is drawn"
    )


class EvaluatorParameters(Parameters):
    """How far the embedded engine looks as an evaluator."""

    depth: int = parameter(
        4, ge=1, le=32, unit="plies", help="How far; captures beyond are not counted"
    )
    nodes: int | None = parameter(None, ge=1, help="Nodes of one board, captures included")


ScanName = Literal["partition", "expected_size", "entropy", "max_size", "weighted"]
EngineName = Literal["kernel", "stockfish"]

DEEPEST: Final = 30
"""Plies of the deepest search that can be asked for."""

_USUAL_DEPTH = 3
_OF_UCI = ("command", "processes", "movetime", "engine_threads", "longest")


class BeliefParameters(Parameters):
    """The belief that an agent keeps."""

    limit: int = parameter(
        5_000_000, ge=512, help="boards before the sense, past which a sample lives on"
    )
    stash_mb: int = parameter(512, ge=0, help="MB of boards kept unexpanded in memory")
    spill_mb: int = parameter(4096, ge=0, help="MB of them kept in files beyond")
    order: Literal["earliest", "latest"] = parameter(
        "earliest", help="which stashed boards are simulated forward first"
    )
    threads: int = parameter(1, ge=1, le=64, help="of the expansion of a large belief")


class ChessEngineParameters(Parameters):
    """The engine that values positions."""

    engine: EngineName = parameter("kernel", help="embedded, or any UCI engine")
    depth: int | None = parameter(
        None,
        ge=1,
        le=DEEPEST,
        help=f"plies of its search; none: {_USUAL_DEPTH}, or as nodes or movetime allow",
    )
    nodes: int | None = parameter(None, ge=1, help="nodes of one search")
    hash_mb: int = parameter(16, ge=1, le=4096, help="MB of its hash table, of each process")
    command: str = parameter("stockfish", help="program of the UCI engine")
    processes: int = parameter(1, ge=1, le=64, help="processes of the UCI engine")
    movetime: float | None = parameter(
        None,
        gt=0,
        le=3600,
        unit="seconds",
        help="of one search of the UCI engine; not reproducible",
    )
    engine_threads: int = parameter(
        1, ge=1, le=256, help="threads of each process of the UCI engine"
    )
    longest: float = parameter(
        60.0,
        ge=0.1,
        le=3600,
        unit="seconds",
        help="after which a search of the UCI engine without movetime counts as hanging",
    )

    @property
    def search_depth(self) -> int | None:
        """Plies of a search; None when nodes or movetime alone limit it."""
        limited = self.nodes is not None or self.movetime is not None
        return self.depth if self.depth is not None or limited else _USUAL_DEPTH

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        fields = type(self).model_fields
        idle = [name for name in _OF_UCI if getattr(self, name) != fields[name].default]
        if self.engine == "kernel" and idle:
            raise ValueError(
                f"{', '.join(idle)}: of a UCI engine alone; give engine = 'stockfish', or leave "
                "it out"
            )
        return self


class MoveParameters(BeliefParameters, ChessEngineParameters):
    """How a move is chosen on sampled boards."""

    samples: int = parameter(50, ge=1, le=10_000, help="boards that moves are scored on")
    top: int = parameter(3, ge=1, le=20, help="engine moves of each board that are candidates")
    widest: int = parameter(30, ge=1, le=500, help="most candidates")
    mean: float = parameter(0.0, ge=0, le=1, help="share of the mean score")
    low: float = parameter(1.0, ge=0, le=1, help="share of the worst score")
    quantile: float = parameter(0.0, ge=0, lt=1, help="of boards below the low end; 0: worst")
    considered: int = parameter(
        1000, ge=1, le=100_000, help="boards valued to weigh them, of which the sample is"
    )
    temperature: float = parameter(
        150.0, gt=0, le=100_000, help="centipawns by which a board is e times as probable"
    )
    blind: float = parameter(0.4, ge=0, le=1, help="share of the weight that all boards have alike")
    check: float = parameter(
        0.0, ge=0, le=10_000, help="centipawns that an attack on our king counts to the opponent"
    )


class SeedParameters(MoveParameters):
    """The first miai RBC bot: 5th of the first competition in 2019.

    Boards are weighed for the scan ``weighted`` alone.
    """

    scan: ScanName = parameter("partition", help="which window to sense")


class StrongParameters(MoveParameters):
    """The strongest: senses for the move that follows, boards weighted by the opponent's sense."""

    check: float = parameter(
        300.0, ge=0, le=10_000, help="centipawns that an attack on our king counts to the opponent"
    )
    samples: int = parameter(200, ge=1, le=10_000, help="boards that moves are scored on")
    mean: float = parameter(0.7, ge=0, le=1, help="share of the mean score")
    low: float = parameter(0.3, ge=0, le=1, help="share of the low end")
    quantile: float = parameter(0.05, ge=0, lt=1, help="of boards below the low end; 0: worst")


DEEPEST_SEARCH: Final = 2
"""Own moves that a search goes deep."""

_KING_LOSS = 600


class MinimaxRules(Parameters):
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
    """How beliefs are remembered and searched."""

    bounds: str = parameter("cores", component="bounds", help="Bounds on beliefs")
    bounds_parameters: dict[str, Any] = parameter({}, help="Parameters of the bounds")
    window: Literal["alpha-beta", "null"] = parameter(
        "alpha-beta", help="Search window: one full window, or a series of null windows"
    )
    blind_first: bool = parameter(
        False, help="Try the moves before the sense: what they guarantee, it guarantees too (B1)"
    )
    singles: bool | None = parameter(
        None, help="Try boards alone first, at the last move; none: as the bounds ask"
    )


class MinimaxProblemParameters(MinimaxRules):
    """The rules of the values, and which beliefs of games are roots."""

    least: int = parameter(20, ge=1, le=1_000_000, help="boards of a root")
    most: int = parameter(1000, ge=1, le=1_000_000, help="boards of a root")
    a_game: int = parameter(5, ge=1, le=1000, help="most roots of one game")
    records: str = parameter(
        "", help="folder of histories of reconchess to take roots from; empty: games are played"
    )


class MinimaxAgentParameters(MinimaxSearchParameters, MinimaxRules, BeliefParameters):
    """Parameters of `RbcMinimax`."""

    blind_first: bool = parameter(
        True, help="Try the moves before the sense: what they guarantee, it guarantees too (B1)"
    )
    singles: bool | None = parameter(
        False, help="Try boards alone first, at the last move; none: as the bounds ask"
    )
    depth: int = parameter(
        2, ge=1, le=DEEPEST_SEARCH, unit="own moves", help="as far as there is time"
    )
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


class PgnParameters(Parameters):
    """Which lines of a PGN file are openings, how long they are, and what players know of them."""

    plies: int | None = parameter(
        None, ge=1, le=10_000, unit="half-moves", help="Most moves taken of each; default: all"
    )
    variations: bool = parameter(
        False, help="Whether every variation is an opening, or the main line of each game only"
    )
    tell: Literal["moves", "position"] = parameter(
        "moves",
        help="moves: the referee plays them, senses see nothing, and players are told of their own "
        "moves and of captures; position: it is where the game starts, known to both",
    )


class ReconchessParameters(Parameters):
    """Which bot plays, and what it is told that our game does not know."""

    bot: str = parameter(
        min_length=1,
        max_length=4096,
        help="a module (`reconchess.bots.trout_bot`) or the path of a .py file, as rc-bot-match "
        "takes it; of several classes in it, one is named after a colon",
    )
    opponent: str = parameter(
        "opponent", max_length=200, help="the name of its opponent that the bot is told"
    )
    seconds: float = parameter(
        900.0, gt=0, le=1e9, unit="seconds", help="told as left when the game has no clock"
    )
    reload: bool = parameter(
        True, help="execute the bot's module anew for each game, so that nothing is left in it"
    )
