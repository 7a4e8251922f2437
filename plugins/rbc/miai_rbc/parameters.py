"""Parameters of the game, its agents, searches and readers. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Self, cast, get_args

from pydantic import model_validator

from miai import Parameters, parameter

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


class RbcParameters(Parameters):
    """The start and the ends of a game."""

    fen: str = parameter(START_FEN, help="Starting position as FEN", max_length=120)
    reversible_moves_limit: int = parameter(
        100,
        ge=1,
        le=10_000,
        help="Half-moves without a capture or pawn move after which the game is drawn",
    )
    full_turn_limit: int | None = parameter(
        None,
        ge=1,
        le=100_000,
        help="Turns of both players after which the game is drawn; default: no limit",
    )


class EvaluatorParameters(Parameters):
    """Limits of the embedded engine."""

    depth: int = parameter(
        4, ge=1, le=32, unit="plies", help="Search depth; captures are searched further"
    )
    nodes: int | None = parameter(None, ge=1, help="Node budget per board, captures included")


ScanName = Literal["partition", "expected_size", "entropy", "max_size", "weighted"]
EngineName = Literal["kernel", "stockfish"]
Tail = Literal["quantile", "mean"]

MAX_DEPTH: Final = 30
"""Maximum depth of an engine's search in plies."""

_OF_MODEL = ("model", "carried", "noise", "doubt")
_OF_VALUES = ("temperature", "blind", "check")
_UCI_ONLY = ("command", "processes", "movetime", "engine_threads", "longest")


class BeliefParameters(Parameters):
    """The belief that an agent keeps."""

    limit: int = parameter(
        5_000_000, ge=512, help="Maximum boards of a belief; beyond it a sample is kept"
    )
    stash_mb: int = parameter(512, ge=0, help="Memory for boards that wait unexpanded, in MB")
    spill_mb: int = parameter(4096, ge=0, help="Disk space for further such boards, in MB")
    order: Literal["earliest", "latest"] = parameter(
        "earliest", help="Order in which waiting boards are expanded"
    )
    threads: int = parameter(1, ge=1, le=64, help="Threads that expand a large belief")


class ChessEngineParameters(Parameters):
    """The engine that values positions."""

    DEFAULT_DEPTH: ClassVar[int] = 3

    engine: EngineName = parameter(
        "kernel", help="Engine that values boards: the embedded one or a UCI engine"
    )
    depth: int | None = parameter(
        None,
        ge=1,
        le=MAX_DEPTH,
        unit="plies",
        help="Search depth (default 3; unlimited if nodes or movetime is set)",
    )
    nodes: int | None = parameter(None, ge=1, help="Node budget of one engine search")
    hash_mb: int = parameter(16, ge=1, le=4096, help="Hash table of each engine process, in MB")
    command: str = parameter("stockfish", help="Program of the UCI engine")
    processes: int = parameter(1, ge=1, le=64, help="Processes of the UCI engine")
    movetime: float | None = parameter(
        None,
        gt=0,
        le=3600,
        unit="seconds",
        help="Time of one search of the UCI engine; not reproducible",
    )
    engine_threads: int = parameter(
        1, ge=1, le=256, help="Threads of each process of the UCI engine"
    )
    longest: float = parameter(
        60.0,
        ge=0.1,
        le=3600,
        unit="seconds",
        help="Time after which a search of the UCI engine without movetime counts as hung",
    )

    @property
    def search_depth(self) -> int | None:
        """Plies of a search; None when nodes or movetime alone limit it."""
        has_limit = self.nodes is not None or self.movetime is not None
        return self.depth if self.depth is not None or has_limit else self.DEFAULT_DEPTH

    @model_validator(mode="after")
    def _check_engine(self) -> Self:
        fields = type(self).model_fields
        unused = [name for name in _UCI_ONLY if getattr(self, name) != fields[name].default]
        if self.engine == "kernel" and unused:
            raise ValueError(
                f"{', '.join(unused)}: for UCI engines only; set engine = 'stockfish', or leave "
                "it out"
            )
        return self


class MoveParameters(BeliefParameters, ChessEngineParameters):
    """How a move is chosen on sampled boards; see `miai_rbc.agents.choice`."""

    samples: int = parameter(50, ge=1, le=10_000, help="Boards on which moves are scored")
    top: int = parameter(
        3, ge=1, le=20, help="Best engine moves of each board that become candidates"
    )
    widest: int = parameter(30, ge=1, le=500, help="Maximum number of candidate moves")
    mean: float = parameter(0.0, ge=0, le=1, help="Weight of the mean score")
    low: float = parameter(1.0, ge=0, le=1, help="Weight of the worst score")
    quantile: float = parameter(
        0.0, ge=0, lt=1, help="Quantile of boards that defines the low end; 0: the worst board"
    )
    tail: Tail = parameter(
        "quantile",
        help="Low end: the score at the quantile, or the mean of the scores up to it (conditional "
        "value at risk)",
    )
    king: float = parameter(
        2000.0, ge=1000, le=100_000, help="Centipawns that a captured king counts"
    )
    found: float = parameter(
        1.0, ge=0, le=1, help="Probability that the opponent finds the capture of our king"
    )
    capture: float = parameter(
        0.0,
        ge=0,
        le=1,
        help="Share of the boards' weight on which a move must capture the king to be played "
        "without comparison; 0: any board",
    )
    evaluations: int | None = parameter(
        None,
        ge=1,
        le=10_000_000,
        help="Evaluations by which all moves are compared on boards of the belief, if there is no "
        "clock; none: the engine's best moves are compared, each on all samples",
    )
    deeper: int = parameter(
        MAX_DEPTH,
        ge=0,
        le=MAX_DEPTH,
        unit="plies",
        help="Maximum plies beyond the depth, for time or evaluations that remain",
    )
    danger: float = parameter(
        1.0,
        ge=1,
        le=1000,
        help="How many times likelier a board is examined early if our king is attacked there",
    )
    considered: int = parameter(
        1000, ge=1, le=100_000, help="Boards valued to weigh them before the sample is drawn"
    )
    temperature: float = parameter(
        150.0, gt=0, le=100_000, help="Centipawns that make a board e times as probable"
    )
    blind: float = parameter(
        0.4, ge=0, le=1, help="Share of the weight that is the same for all boards"
    )
    check: float = parameter(
        0.0, ge=0, le=10_000, help="Centipawns that the opponent gains by attacking our king"
    )

    @model_validator(mode="after")
    def _check_mixture(self) -> Self:
        if self.mean == 0 and self.low == 0:
            raise ValueError("mean and low are both 0, so all moves would be worth the same")
        return self


class SeedParameters(MoveParameters):
    """Parameters of `SeedAgent`. Boards are weighed for the scan ``weighted`` only."""

    scan: ScanName = parameter("partition", help="Strategy that chooses the window to sense")


class StrongParameters(MoveParameters):
    """Parameters of `StrongAgent`."""

    weights: Literal["model", "value"] = parameter(
        "model",
        help="Probability of boards: carried from turn to turn by a model of the opponent's moves, "
        "or by their present value to the opponent",
    )
    model: str = parameter(
        "", max_length=4096, help="File of the opponent model; empty: the shipped one"
    )
    carried: int = parameter(
        10_000, ge=1, le=1_000_000, help="Maximum boards whose probability the model carries along"
    )
    noise: float = parameter(
        0.02, ge=0, le=1, help="Probability of a move at random, for opponents unlike the model"
    )
    doubt: float = parameter(
        0.05, ge=0, le=1, help="Share of the weight that all boards have alike, despite the model"
    )

    DEFAULT_DEPTH: ClassVar[int] = 1

    depth: int | None = parameter(
        None,
        ge=1,
        le=MAX_DEPTH,
        unit="plies",
        help="Search depth at first; remaining time or evaluations make it deeper (default 1; "
        "unlimited if nodes or movetime is set)",
    )
    check: float = parameter(
        300.0, ge=0, le=10_000, help="Centipawns that the opponent gains by attacking our king"
    )
    samples: int = parameter(200, ge=1, le=10_000, help="Boards on which moves are scored")
    mean: float = parameter(0.7, ge=0, le=1, help="Weight of the mean score")
    low: float = parameter(0.3, ge=0, le=1, help="Weight of the low end of the scores")
    quantile: float = parameter(
        0.05, ge=0, lt=1, help="Quantile of boards that defines the low end; 0: the worst board"
    )
    evaluations: int | None = parameter(
        5000,
        ge=1,
        le=10_000_000,
        help="Evaluations by which all moves are compared on boards of the belief, if there is no "
        "clock; none: the engine's best moves are compared, each on all samples",
    )
    danger: float = parameter(
        4.0,
        ge=1,
        le=1000,
        help="How many times likelier a board is examined early if our king is attacked there",
    )
    bit: float = parameter(
        8.0, ge=0, le=10_000_000, help="Centipawns of a bit of information that a sense gives"
    )
    king: float = parameter(
        5000.0, ge=1000, le=100_000, help="Centipawns that a captured king counts"
    )
    capture: float = parameter(
        0.5,
        ge=0,
        le=1,
        help="Share of the boards' weight on which a move must capture the king to be played "
        "without comparison; 0: any board",
    )

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        fields = type(self).model_fields
        names = _OF_VALUES if self.weights == "model" else _OF_MODEL
        unused = [name for name in names if getattr(self, name) != fields[name].default]
        if unused:
            other = "value" if self.weights == "model" else "model"
            raise ValueError(
                f"{', '.join(unused)}: not used with weights = '{self.weights}'; set weights = "
                f"'{other}', or leave it out"
            )
        return self


MAX_OWN_MOVES: Final = 3
"""Maximum depth of `rbc-minimax` in own moves."""


class MinimaxRules(Parameters):
    """What is tried and searched: with the root it determines a value, whatever the search.

    Candidates depend on the public part and on boards drawn once at the root, never on the belief
    of a node; otherwise a part of a belief could be worth less than the whole.
    """

    moved: ClassVar[Mapping[str, str]] = {
        "sample": "is gone: candidates are chosen from 32 boards of the root",
        "top": "is gone: the three best engine moves of each board become candidates",
        "leaf_depth": "is gone: a leaf is worth what captures alone find",
        "forgiven": "is gone: the worst board of a leaf counts",
        "seed": "is gone: an agent draws boards by the seed of the game, a problem by its boards",
    }

    senses: int = parameter(4, ge=1, le=36, unit="windows", help="Windows tried at each sense")
    moves: int = parameter(4, ge=1, le=200, unit="requests", help="Moves tried at each own move")
    boards: int = parameter(
        100_000,
        ge=1,
        le=1_000_000,
        help="Maximum boards of a root one move deep; a larger root is sampled",
    )
    deep_boards: int = parameter(
        1000,
        ge=1,
        le=20_000,
        help="Maximum boards of a root two or more moves deep; a larger root is sampled",
    )


CompiledBounds = Literal["none", "table", "cores"]


class CompiledMinimaxParameters(Parameters):
    """Parameters of the compiled search."""

    moved: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("k", "threshold", "limit"),
        "is gone with the bounds 'approx-minhash'; the search 'rbc-minimax' has 'minhash'",
    )

    bounds: CompiledBounds = parameter(
        "cores",
        help="Bounds on beliefs: none; a table of equal beliefs; or cores, boards that fail alone, "
        "and bounds on the values of boards",
    )


class MinimaxProblemParameters(MinimaxRules):
    """The rules of the values, and which beliefs of games are roots."""

    moved: ClassVar[Mapping[str, str]] = {
        "a_game": "is gone: at most five roots are taken from one game"
    }

    king_loss: int | None = parameter(
        600,
        ge=0,
        le=50_000,
        unit="centipawns",
        help="Penalty for a lost king, below the board's material; none: the value of a lost game",
    )
    least: int = parameter(20, ge=1, le=1_000_000, help="Minimum boards of a root")
    most: int = parameter(1000, ge=1, le=1_000_000, help="Maximum boards of a root")
    records: str = parameter(
        "",
        help="Folder of reconchess histories to take roots from; empty: play games instead",
    )


class MinimaxAgentParameters(MinimaxRules, BeliefParameters):
    """Parameters of `RbcMinimax`."""

    moved: ClassVar[Mapping[str, str]] = {
        "window": "is gone: the search for the bounds has its own",
        "blind_first": "is gone: the compiled search tries the moves before a sense by itself",
        "singles": "is gone: the bounds decide whether boards are tried alone",
        "king_loss": "is a parameter of the problem 'rbc' only",
        "nodes": "is gone: depth, boards and deep_boards limit a search",
    }

    bounds: str = parameter(
        "cores",
        component="bounds",
        help="Bounds on beliefs; none, table and cores are compiled, others many times slower",
    )
    bounds_parameters: dict[str, Any] = parameter({}, help="Parameters of the bounds")
    depth: int = parameter(
        2,
        ge=1,
        le=MAX_OWN_MOVES,
        unit="own moves",
        help="Search depth in own moves; stops earlier when time is up",
    )
    limit: int = parameter(
        1_000_000, ge=512, help="Maximum boards of a belief; beyond it a sample is kept"
    )
    boards: int = parameter(
        2000,
        ge=1,
        le=1_000_000,
        help="Maximum boards of a belief one move deep; a larger one is sampled",
    )
    deep_boards: int = parameter(
        100,
        ge=1,
        le=20_000,
        help="Maximum boards of a belief two or more moves deep; a larger one is sampled",
    )

    @property
    def compiled(self) -> CompiledBounds | None:
        """The bounds of the compiled search; None where only the recursion searches so."""
        if self.bounds_parameters or self.bounds not in get_args(CompiledBounds):
            return None
        return cast(CompiledBounds, self.bounds)


class PgnParameters(Parameters):
    """Which lines of a PGN file are openings, and what players know of them."""

    plies: int | None = parameter(
        None,
        ge=1,
        le=10_000,
        unit="half-moves",
        help="Maximum length of an opening; default: the whole line",
    )
    variations: bool = parameter(
        False, help="Read every variation, instead of the main line of each game only"
    )
    tell: Literal["moves", "position"] = parameter(
        "moves",
        help="moves: players observe their own moves and captures, and senses show nothing; "
        "position: the game starts from the final position, which both players know",
    )


class ReconchessParameters(Parameters):
    """The bot, and facts that it expects and the game does not provide."""

    bot: str = parameter(
        min_length=1,
        max_length=4096,
        help="Module (`reconchess.bots.trout_bot`) or .py file, as for rc-bot-match; with several "
        "classes in it, add a colon and the class",
    )
    opponent: str = parameter("opponent", max_length=200, help="Opponent's name as the bot sees it")
    seconds: float = parameter(
        900.0,
        gt=0,
        le=1e9,
        unit="seconds",
        help="Remaining time reported to the bot when the game has no clock",
    )
    reload: bool = parameter(
        True, help="Reload the bot's module for each game, so that no state is carried over"
    )
