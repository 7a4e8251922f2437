"""Parameters of the game, its agents, searches and readers. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, cast, get_args

from miai import Parameters, parameter
from miai.parameters import KIND

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


class RbcParameters(Parameters):
    """The start and the ends of a game."""

    fen: str = parameter(START_FEN, help="Starting position as FEN", max_length=120)
    reversible_moves_limit: int = parameter(
        100, ge=1, le=10_000, help="Half-moves without capture or pawn move that draw the game"
    )
    full_turn_limit: int | None = parameter(
        None, ge=1, le=100_000, help="Turns of both players that draw the game; default: no limit"
    )


class EvaluatorParameters(Parameters):
    """Limits of the embedded engine."""

    depth: int = parameter(
        4, ge=1, le=32, unit="plies", help="Search depth; captures are searched further"
    )
    nodes: int | None = parameter(None, ge=1, help="Node budget per board, captures included")


ScanName = Literal["partition", "entropy", "weighted"]

MAX_DEPTH: Final = 30
"""Maximum depth of an engine's search in plies."""


class BeliefParameters(Parameters):
    """The belief that an agent keeps."""

    limit: int = parameter(
        5_000_000, ge=512, help="Maximum boards of a belief; then a sample is kept"
    )
    stash_mb: int = parameter(512, ge=0, help="Memory for boards that wait unexpanded, in MB")
    stash_first: Literal["earliest", "latest"] = parameter(
        "earliest", help="Which waiting boards are expanded first when all others are contradicted"
    )
    threads: int = parameter(1, ge=1, le=64, help="Threads that expand a large belief")


class _Engine(Parameters):
    nodes: int | None = parameter(None, ge=1, help="Node budget of one search")
    hash_mb: int = parameter(16, ge=1, le=4096, help="Hash table of each engine process, in MB")


class EmbeddedEngine(_Engine):
    """The embedded engine, which needs no program."""

    kind: Literal["kernel"] = "kernel"


class UciEngine(_Engine):
    """Stockfish, or any other UCI engine."""

    kind: Literal["stockfish"] = "stockfish"
    command: str = parameter("stockfish", help="Program", opens="program")
    processes: int = parameter(1, ge=1, le=64, help="Number of processes")
    threads: int = parameter(1, ge=1, le=256, help="Threads of each process")
    movetime: float | None = parameter(
        None, gt=0, le=3600, unit="seconds", help="Time of one search; not reproducible"
    )


def _depth(text: str, default: int) -> Any:
    unlimited = "unlimited if the engine's nodes or movetime is set"
    text = f"{text} (default {default}; {unlimited})"
    return parameter(None, ge=1, le=MAX_DEPTH, unit="plies", help=text)


class SamplingParameters(BeliefParameters):
    """What the agents have in common that value moves on sampled boards by an engine."""

    DEFAULT_DEPTH: ClassVar[int] = 3

    depth: int | None = _depth("Search depth", 3)
    engine: EmbeddedEngine | UciEngine = parameter(
        EmbeddedEngine(),
        help="Engine that values boards: the embedded one or a UCI engine",
        discriminator=KIND,
    )
    samples: int = parameter(50, ge=1, le=10_000, help="Boards on which moves are scored")

    @property
    def search_depth(self) -> int | None:
        """Plies of a search; None when nodes or time alone limit it."""
        engine = self.engine
        timed = isinstance(engine, UciEngine) and engine.movetime is not None
        limited = timed or engine.nodes is not None
        return self.depth if self.depth is not None or limited else self.DEFAULT_DEPTH


class SeedParameters(SamplingParameters):
    """Parameters of `SeedAgent`."""

    moved: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("evaluations", "deeper", "danger", "considered", "low", "capture"),
        "is a parameter of rbc-strong only",
    )

    scan: ScanName = parameter("partition", help="Strategy that chooses the window to sense")


class ModelWeights(Parameters):
    """Probabilities that a model of the opponent's moves carries from turn to turn."""

    kind: Literal["model"] = "model"
    file: str = parameter(
        "", max_length=4096, opens="file", help="File of the opponent model; empty: the shipped one"
    )
    carried: int = parameter(
        10_000, ge=1, le=1_000_000, help="Maximum boards whose probability is carried along"
    )
    doubt: float = parameter(
        0.05, ge=0, le=1, help="Share of the weight that all boards have alike, despite the model"
    )


class OpponentTraining(Parameters):
    """How a model of the opponent's moves is trained."""

    units: int = parameter(32, ge=1, le=256, help="Width of the hidden layer plus one")
    epochs: int = parameter(8, ge=1, le=1000, help="Passes over all moves")
    seed: int = parameter(0, ge=0, help="Seed of the training")


class ValueWeights(Parameters):
    """Probabilities by the present value of a board to the opponent."""

    kind: Literal["value"] = "value"


class StrongParameters(SamplingParameters):
    """Parameters of `StrongAgent`."""

    DEFAULT_DEPTH: ClassVar[int] = 1

    weights: ModelWeights | ValueWeights = parameter(
        ModelWeights(),
        help="Probability of boards: carried from turn to turn by a model of the opponent's moves, "
        "or by their present value to the opponent",
        discriminator=KIND,
    )
    considered: int = parameter(
        1000, ge=1, le=100_000, help="Boards beside those of the model that are weighed"
    )
    depth: int | None = _depth(
        "Search depth at first; remaining time or evaluations make it deeper", 1
    )
    samples: int = parameter(200, ge=1, le=10_000, help="Boards on which moves are scored")
    evaluations: int = parameter(
        5000, ge=1, le=10_000_000, help="Evaluations of a sense or a move, if there is no clock"
    )
    deeper: int = parameter(
        MAX_DEPTH,
        ge=0,
        le=MAX_DEPTH,
        unit="plies",
        help="Maximum plies beyond the depth, for time or evaluations that remain",
    )
    danger: float = parameter(
        4.0,
        ge=1,
        le=1000,
        help="How many times likelier a board is examined early if our king is attacked there",
    )
    low: float = parameter(
        0.3, ge=0, le=1, help="Weight of the low end of the scores, beside their mean"
    )
    bit: float = parameter(
        8.0, ge=0, le=10_000_000, help="Centipawns of a bit of information that a sense gives"
    )
    capture: float = parameter(
        0.5,
        ge=0,
        le=1,
        help="Share of the boards' weight on which a move must capture the king to be played "
        "without comparison; 0: any board",
    )


MAX_OWN_MOVES: Final = 3
"""Maximum depth of `rbc-minimax` in own moves."""


def _boards(default: int, depth: str, *, ceiling: int) -> Any:
    text = f"Maximum boards of a belief {depth} deep; a larger one is sampled"
    return parameter(default, ge=1, le=ceiling, help=text)


class MinimaxRules(Parameters):
    """What is tried and searched: with the root it determines a value, whatever the search.

    Candidates depend on the public part and on boards drawn once at the root, never on the belief
    of a node; otherwise a part of a belief could be worth less than the whole.
    """

    senses: int = parameter(4, ge=1, le=36, unit="windows", help="Windows tried at each sense")
    moves: int = parameter(4, ge=1, le=200, unit="requests", help="Moves tried at each own move")
    boards: int = _boards(100_000, "one move", ceiling=1_000_000)
    deep_boards: int = _boards(1000, "two or more moves", ceiling=20_000)


CompiledBounds = Literal["none", "table", "cores"]


class CompiledMinimaxParameters(Parameters):
    """Parameters of the compiled search."""

    bounds: CompiledBounds = parameter(
        "cores",
        help="Bounds on beliefs: none; a table of equal beliefs; or cores, boards that fail alone, "
        "and bounds on the values of boards",
    )


class MinimaxProblemParameters(MinimaxRules):
    """The rules of the values, and which beliefs of games are roots."""

    king_loss: int | None = parameter(
        600,
        ge=0,
        le=50_000,
        unit="centipawns",
        help="Penalty for a lost king, below the board's material; none: the value of a lost game",
    )
    min_boards: int = parameter(20, ge=1, le=1_000_000, help="Minimum boards of a root")
    max_boards: int = parameter(1000, ge=1, le=1_000_000, help="Maximum boards of a root")


class MinimaxAgentParameters(MinimaxRules, BeliefParameters):
    """Parameters of `RbcMinimax`."""

    moved: ClassVar[Mapping[str, str]] = {"king_loss": "is a parameter of the problem 'rbc' only"}

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
        1_000_000, ge=512, help="Maximum boards of a belief; then a sample is kept"
    )
    boards: int = _boards(2000, "one move", ceiling=1_000_000)
    deep_boards: int = _boards(100, "two or more moves", ceiling=20_000)

    @property
    def compiled(self) -> CompiledBounds | None:
        """The bounds of the compiled search; None where only the recursion searches so."""
        if self.bounds_parameters or self.bounds not in get_args(CompiledBounds):
            return None
        return cast(CompiledBounds, self.bounds)


class PgnParameters(Parameters):
    """Which lines of a PGN file are openings, and what players know of them."""

    plies: int | None = parameter(
        None, ge=1, le=10_000, unit="half-moves", help="Maximum length of openings; default: whole"
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
        opens="program",
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
