"""UCI engines: Stockfish itself, positions that it is not asked for, and what it can be told."""

from __future__ import annotations

import time
from typing import Any

import chess
import numpy as np
import pytest

from miai.errors import AgentUnavailableError, ParameterError
from miai.parameters import build_parameters
from miai_rbc.agents.choice import make_engine
from miai_rbc.engines.kernel import KernelEngine
from miai_rbc.engines.stockfish import StockfishEngine, settle
from miai_rbc.kernels.bitboards import NO_MOVE, WIN
from miai_rbc.rbc_parameters import SamplingParameters, StrongParameters, UciEngine
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.observations import move_of_name

MATE_IN_ONE = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 0 1"
KING_HANGS = "4k3/4R3/8/8/8/8/8/4K3 w - - 0 1"
STALEMATE = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
CHECKMATE = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
START = chess.STARTING_FEN


@pytest.mark.parametrize(
    ("fen", "score", "move"),
    [
        (KING_HANGS, WIN - 1, "e7e8"),
        (STALEMATE, 0, None),
        (CHECKMATE, 2 - WIN, None),
        ("8/8/8/8/8/8/8/4K3 b - - 0 1", -WIN, None),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", WIN, None),
        ("4k3/3P1Q2/8/8/8/8/8/4K3 w - - 0 1", WIN - 1, "d7e8q"),  # by the least piece
        ("8/8/8/4R3/4k3/3P4/8/K7 w - - 0 1", WIN - 1, "d3e4"),
    ],
)
def test_positions_that_chess_does_not_know_are_settled(
    fen: str, score: int, move: str | None
) -> None:
    board = chess.Board(fen)
    settled = settle(board)
    assert settled is not None
    assert (settled.score, settled.move and settled.move.uci()) == (score, move)
    assert settle(chess.Board(START)) is None


@pytest.mark.engine("stockfish")
@pytest.mark.parametrize("processes", [1, 2])
def test_stockfish_values_a_batch(processes: int) -> None:
    engine = StockfishEngine(UciEngine(processes=processes), depth=6)
    rows = BoardSet.of_fens([MATE_IN_ONE, KING_HANGS, STALEMATE, START]).rows
    found = engine.evaluate(rows, top=3)
    assert found.scores[0] == WIN - 3  # mate now, and the king two plies later
    assert found.moves[0, 0] == move_of_name("f3f7")
    assert (np.diff(found.move_scores[0]) <= 0).all()
    assert found.scores[1] == WIN - 1
    assert found.moves[1].tolist() == [move_of_name("e7e8"), NO_MOVE, NO_MOVE]
    assert found.scores[2] == 0
    assert abs(int(found.scores[3])) < 150
    engine.new_game()
    assert (engine.evaluate(rows, top=3).scores == found.scores).all()
    engine.close()


@pytest.mark.engine("stockfish")
def test_stockfish_is_restarted_after_a_kill() -> None:
    engine = StockfishEngine(UciEngine(), depth=4)
    rows = BoardSet.of_fens([START, MATE_IN_ONE]).rows
    before = engine.evaluate(rows).scores.tolist()
    process = engine._processes[0]
    assert process is not None
    process._process.kill_group()
    assert process._process.await_death(10)
    assert engine.evaluate(rows).scores.tolist() == before
    assert engine._processes[0] is not process
    engine.close()


@pytest.mark.engine("stockfish")
def test_a_deadline_in_the_past_still_gives_every_board_a_move() -> None:
    engine = StockfishEngine(UciEngine(), depth=30)
    rows = BoardSet.of_fens([START, MATE_IN_ONE, KING_HANGS]).rows
    began = time.monotonic()
    found = engine.evaluate(rows, deadline=began - 1.0)
    assert time.monotonic() - began < 20.0
    assert (found.moves[:, 0] != NO_MOVE).all()
    assert found.scores[2] == WIN - 1
    engine.close()


def test_a_missing_program_is_reported() -> None:
    with pytest.raises(AgentUnavailableError, match="not found"):
        StockfishEngine(UciEngine(command="no-such-engine"), depth=1)


# -- what an agent's parameters say of its engine ------------------------------------------------


@pytest.mark.parametrize(
    ("given", "reached"),
    [
        ({}, (3, None, 16)),
        ({"depth": 2}, (2, None, 16)),
        ({"engine": {"nodes": 500, "hash_mb": 1}}, (30, 500, 1)),
        ({"engine": {"nodes": 500}, "depth": 5}, (5, 500, 16)),
    ],
)
def test_nodes_and_memory_reach_the_embedded_engine(
    given: dict[str, Any], reached: tuple[int, int | None, int]
) -> None:
    engine = make_engine(build_parameters(SamplingParameters, given))
    assert isinstance(engine, KernelEngine)
    output = engine.parameters
    assert (output.depth, output.nodes, output.table_mb) == reached


@pytest.mark.parametrize(
    ("name", "value"),
    [("command", "/usr/games/stockfish"), ("processes", 2), ("movetime", 0.5), ("threads", 2)],
)
def test_options_the_embedded_engine_lacks_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"engine.{name}: .* of the kind stockfish only"):
        build_parameters(StrongParameters, {"engine": {name: value}})
    given = build_parameters(StrongParameters, {"engine": {"kind": "stockfish", name: value}})
    assert getattr(given.engine, name) == value


@pytest.mark.parametrize(("name", "value"), [("nodes", 0), ("movetime", 0)])
def test_limits_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"{name}: .* too small"):
        build_parameters(SamplingParameters, {"engine": {"kind": "stockfish", name: value}})
