"""What Reconnaissance Blind Chess can be asked for. Imports nothing heavy."""

from __future__ import annotations

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


class EngineParameters(Parameters):
    """How far the embedded engine looks as an evaluator."""

    depth: int = parameter(
        4, ge=1, le=32, unit="plies", help="How far; captures beyond are not counted"
    )
    nodes: int | None = parameter(None, ge=1, help="Nodes of one board, captures included")
