"""UCI engines: Stockfish itself, and programs that die, hang, or answer nonsense."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import chess
import numpy as np
import pytest

from miai.errors import AgentUnavailableError
from miai_rbc.board_set import BoardSet
from miai_rbc.engines.protocol import NO_MOVE, WIN
from miai_rbc.engines.settle import settle
from miai_rbc.engines.stockfish import StockfishEngine, StockfishParameters
from miai_rbc.engines.uci import EngineError, UciProcess
from miai_rbc.observations import move_of_name

MATE_IN_ONE = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 0 1"
KING_HANGS = "4k3/4R3/8/8/8/8/8/4K3 w - - 0 1"
STALEMATE = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
CHECKMATE = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
START = chess.STARTING_FEN

ENGINE = """
import sys, time
way, count = sys.argv[1], 0
for line in sys.stdin:
    word = line.split()[0]
    if word == "uci":
        print("uciok" if way != "mute" else "hello", flush=True)
    elif word == "isready":
        print("readyok", flush=True)
    elif word == "quit":
        break
    elif word == "go":
        if way == "die":
            sys.exit(3)
        if way == "hang":
            time.sleep(1000)
        if way == "flood":
            while True:
                print("info string " + "x" * 1000)
        score = {"nonsense": "score much 3", "bad": "score cp many"}.get(way, "score cp 12")
        move = {"illegal": "e2e5", "no_move": ""}.get(way, "e2e4")
        print(f"info depth 1 {score} pv {move}")
        print(f"bestmove {move}", flush=True)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "engine.py"
    path.write_text(ENGINE)
    return path


def started(script: Path, way: str, patience: float = 20.0) -> UciProcess:
    return UciProcess([sys.executable, str(script), way], {"Hash": 1}, patience=patience)


def test_scores_and_moves_are_read(script: Path) -> None:
    process = started(script, "well")
    (line,) = process.search(START, "depth 1", None)
    assert (line.move, line.centipawns, line.mate) == ("e2e4", 12, None)
    process.close()
    assert not process.is_alive()


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("die", "exited with status 3"),
        ("hang", "did not answer 'bestmove' in time"),
        ("flood", "bytes without 'bestmove'"),
        ("nonsense", "is not UCI"),
        ("bad", "is not UCI"),
        ("no_move", "is not UCI|names no move"),
    ],
)
def test_a_failing_engine_is_told(script: Path, way: str, message: str) -> None:
    process = started(script, way, patience=20.0)
    process._patience = 0.5
    began = time.monotonic()
    with pytest.raises(EngineError, match=message):
        process.search(START, "depth 1", 0.1)
    assert time.monotonic() - began < 30.0
    process.kill()


def test_what_speaks_no_uci_or_is_no_program_is_told(script: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="did not answer 'uciok' in time"):
        started(script, "mute", patience=2.0)
    with pytest.raises(EngineError, match="cannot be started"):
        UciProcess([str(tmp_path / "absent")], {}, patience=1.0)
    with pytest.raises(AgentUnavailableError, match="not found"):
        StockfishEngine(StockfishParameters(command="no-such-engine"))


@pytest.mark.parametrize(("way", "message"), [("die", "status 3"), ("illegal", "illegal move")])
def test_an_engine_that_fails_twice_ends_the_valuation(
    script: Path, tmp_path: Path, way: str, message: str
) -> None:
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {script} {way}\n")
    program.chmod(0o755)
    engine = StockfishEngine(StockfishParameters(command=str(program)))
    with pytest.raises(EngineError, match=message):
        engine.evaluate(BoardSet.of_fens([START]).rows)
    engine.close()


@pytest.mark.parametrize(
    ("fen", "score", "move"),
    [
        (KING_HANGS, WIN - 1, "e7e8"),
        (STALEMATE, 0, None),
        (CHECKMATE, 2 - WIN, None),
        ("8/8/8/8/8/8/8/4K3 b - - 0 1", -WIN, None),
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
    engine = StockfishEngine(StockfishParameters(depth=6, processes=processes))
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
def test_stockfish_is_started_anew_after_it_was_killed() -> None:
    engine = StockfishEngine(StockfishParameters(depth=4))
    rows = BoardSet.of_fens([START, MATE_IN_ONE]).rows
    before = engine.evaluate(rows).scores.tolist()
    process = engine._processes[0]
    assert process is not None
    process._process.kill()
    process._process.wait()
    assert engine.evaluate(rows).scores.tolist() == before
    assert engine._processes[0] is not process
    engine.close()


@pytest.mark.engine("stockfish")
def test_a_deadline_in_the_past_still_gives_every_board_a_move() -> None:
    engine = StockfishEngine(StockfishParameters(depth=30))
    rows = BoardSet.of_fens([START, MATE_IN_ONE, KING_HANGS]).rows
    began = time.monotonic()
    found = engine.evaluate(rows, deadline=began - 1.0)
    assert time.monotonic() - began < 20.0
    assert (found.moves[:, 0] != NO_MOVE).all()
    assert found.scores[2] == WIN - 1
    engine.close()
