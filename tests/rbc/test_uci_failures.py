"""What UCI engines are told, and those that die, hang, flood or answer nonsense: real processes."""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import chess
import numpy as np
import psutil
import pytest

from miai.errors import AgentUnavailableError, ParameterError
from miai.parameters import build_parameters
from miai_rbc.agents.choice import make_engine
from miai_rbc.engines.kernel import KernelEngine
from miai_rbc.engines.stockfish import StockfishEngine, settle
from miai_rbc.engines.uci import EngineError, UciLine, UciProcess, _parse
from miai_rbc.kernels.bitboards import NO_MOVE, WIN
from miai_rbc.rbc_parameters import SamplingParameters, StrongParameters, UciEngine
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.observations import move_of_name

START = chess.STARTING_FEN
QUEEN_EN_PRISE = "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1"  # white to move takes it, 800 behind
LONG = 60.0  # seconds that no test waits for

ENGINE = """
import os, sys, time
way, folder = sys.argv[1], sys.argv[2]
starts = os.path.join(folder, "starts")
with open(starts, "a") as file:
    file.write(f"{os.getpid()}\\n")
with open(starts) as file:
    first = len(file.readlines()) == 1
way, _, when = way.partition("-")
if when == "once" and not first:
    way = "well"
position = ""
for line in sys.stdin:
    with open(os.path.join(folder, "told"), "a") as file:
        file.write(line)
    word = line.split()[0]
    if word == "uci":
        print("uciok" if way != "mute" else "hello", flush=True)
    elif word == "isready":
        print("readyok", flush=True)
    elif word == "quit":
        break
    elif word == "position":
        position = line
    elif word == "go":
        if way == "die" or way == "mixed" and " b " in position:
            sys.exit(3)
        if way == "hang" or way == "mixed":
            with open(os.path.join(folder, "hangs"), "a") as file:
                file.write("x")
            time.sleep(1000)
        if way == "flood":
            while True:
                print("info string " + "x" * 1000)
        score = {
            "nonsense": "score much 3",
            "bad": "score cp many",
            "far": "score mate 99999999999",
            "farther": "score cp -99999999999",
        }.get(way, "score cp 12")
        move = {"illegal": "e2e5", "nomove": "", "zzzz": "zzzz", "king": "e7e8k"}.get(way, "e2e4")
        print("info string a score of the pv is text")
        if way != "none":
            print(f"info depth 1 {score} pv {move}")
        print("bestmove", "(none)" if way == "none" else move, flush=True)
"""

Make = Callable[..., StockfishEngine]


def command(folder: Path, way: str) -> list[str]:
    """Return the command of an engine that fails in one way; ``-once`` when it starts first."""
    script = folder / "engine.py"
    script.write_text(ENGINE)
    return [sys.executable, "-IS", str(script), way, str(folder)]


def executable(folder: Path, way: str) -> str:
    """Return the path of a program that runs the command."""
    program = folder / "engine"
    program.write_text(f"#!/bin/sh\nexec {' '.join(command(folder, way))}\n")
    program.chmod(0o755)
    return str(program)


def started(folder: Path, way: str, seconds: float = 20.0) -> UciProcess:
    return UciProcess(command(folder, way), {"Hash": 1}, seconds=seconds)


def starts(folder: Path) -> list[int]:
    """Return the process ids of all that were started."""
    return [int(line) for line in (folder / "starts").read_text().split()]


def is_gone(pid: int) -> bool:
    """Wait for the end of a process that is no child of ours; return whether it came."""
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make engines of the pool, by the way they fail."""
    made: list[StockfishEngine] = []

    def _make(way: str, **given: Any) -> StockfishEngine:
        limits = {name: given.pop(name) for name in ("patience", "longest") if name in given}
        depth = given.pop("depth", None)
        engine = UciEngine(command=executable(tmp_path, way), **given)
        made.append(StockfishEngine(engine, depth=depth, **limits))
        return made[-1]

    yield _make
    for engine in made:
        engine.close()


# -- one process ---------------------------------------------------------------------------------


def test_scores_and_moves_are_read(tmp_path: Path) -> None:
    process = started(tmp_path, "well")
    (line,) = process.search(START, "depth 1", seconds=20.0)
    assert (line.move, line.centipawns, line.mate) == ("e2e4", 12, None)
    process.close()
    assert all(map(is_gone, starts(tmp_path)))


def test_the_last_line_of_each_rank_counts() -> None:
    lines = [
        "info depth 1 multipv 2 score mate -3 pv d2d4 d7d5",
        "info depth 1 multipv 1 score cp 30 pv e2e4",
        "info depth 2 score cp -7 nodes 5 pv c2c4",
        "info string score cp 9 pv a2a3",
        "bestmove c2c4 ponder e7e5",
    ]
    assert _parse(lines) == [UciLine("c2c4", -7, None), UciLine("d2d4", None, -3)]
    assert _parse(["bestmove e2e4"]) == [UciLine("e2e4", 0, None)]
    assert _parse(["bestmove (none)"]) == _parse(["bestmove 0000"]) == []


def test_programs_without_uci_are_reported(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="did not answer 'uciok' within 1 s"):
        started(tmp_path, "mute", seconds=1.0)
    assert all(map(is_gone, starts(tmp_path)))
    with pytest.raises(EngineError, match="cannot be started"):
        UciProcess([str(tmp_path / "absent")], {}, seconds=1.0)
    with pytest.raises(AgentUnavailableError, match="not found"):
        StockfishEngine(UciEngine(command="no-such-engine"), depth=1)


# -- what an engine is told ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "options", "go"),
    [
        ({}, (16, 1), "go depth 1"),
        ({"nodes": 50, "depth": 2}, (16, 1), "go depth 2 nodes 50"),
        ({"nodes": 500, "hash_mb": 8}, (8, 1), "go nodes 500"),
        ({"movetime": 0.25, "threads": 2}, (16, 2), "go movetime 250"),
    ],
)
def test_the_parameters_of_an_agent_reach_its_engine(
    tmp_path: Path, given: dict[str, Any], options: tuple[int, int], go: str
) -> None:
    depth = {"depth": given.pop("depth")} if "depth" in given else {}
    program = {"kind": "stockfish", "command": executable(tmp_path, "well"), **given}
    engine = make_engine(build_parameters(StrongParameters, {"engine": program, **depth}))
    assert isinstance(engine, StockfishEngine)
    engine.evaluate(BoardSet.of_fens([START]).rows)
    engine.close()
    output = (tmp_path / "told").read_text().splitlines()
    assert [line for line in output if line.startswith("go")] == [go]
    hash_mb, threads = options
    assert f"setoption name Hash value {hash_mb}" in output
    assert f"setoption name Threads value {threads}" in output


# -- the pool: asked once more, then told --------------------------------------------------------

FAILURES = [
    ("die", "exited with status 3"),
    ("flood", "bytes without 'bestmove'"),
    ("nonsense", "is not UCI"),
    ("bad", "is not UCI"),
    ("nomove", "is not UCI"),
    ("illegal", "the illegal move 'e2e5'"),
    ("zzzz", "the illegal move 'zzzz'"),
    ("king", "the illegal move 'e7e8k'"),
    ("far", "a score out of range"),
    ("farther", "a score out of range"),
    ("none", "named no move where 20 are legal"),
]


@pytest.mark.parametrize(("way", "message"), FAILURES)
def test_an_engine_that_fails_twice_ends_the_valuation(
    make: Make, tmp_path: Path, way: str, message: str
) -> None:
    with pytest.raises(EngineError, match=f"{message}.*asked 2 times") as output:
        make(way).evaluate(BoardSet.of_fens([START]).rows)
    assert "\n" not in str(output.value)
    assert len(starts(tmp_path)) == 2


@pytest.mark.parametrize(("way", "message"), FAILURES)
def test_an_engine_that_fails_once_is_restarted(
    make: Make, tmp_path: Path, way: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "miai_rbc"):
        found = make(f"{way}-once").evaluate(BoardSet.of_fens([START]).rows)
    assert (found.scores.tolist(), found.moves.tolist()) == ([12], [[move_of_name("e2e4")]])
    assert len(starts(tmp_path)) == 2
    assert [message in text for text in caplog.messages] == [True]


def test_without_a_clock_a_hanging_engine_ends_the_valuation(make: Make, tmp_path: Path) -> None:
    engine = make("hang", longest=0.3)
    began = time.monotonic()
    with pytest.raises(EngineError, match=r"did not answer 'bestmove' within 0\.3 s"):
        engine.evaluate(BoardSet.of_fens([START]).rows)
    assert time.monotonic() - began < 20.0
    assert all(map(is_gone, starts(tmp_path)))
    assert len(starts(tmp_path)) == 2


def test_an_engine_that_hangs_once_is_restarted(make: Make) -> None:
    engine, rows = make("hang-once", movetime=0.1, patience=2.0), BoardSet.of_fens([START]).rows
    began = time.monotonic()
    found = engine.evaluate(rows, deadline=began + LONG)
    assert found.scores.tolist() == [12]
    assert 2.0 < time.monotonic() - began < LONG / 2


# -- the pool: deadlines -------------------------------------------------------------------------


def test_a_hanging_engine_does_not_outlast_the_deadline(make: Make, tmp_path: Path) -> None:
    engine = make("hang", patience=10.0, longest=LONG)
    engine.new_game()
    rows = BoardSet.of_fens([QUEEN_EN_PRISE, START, QUEEN_EN_PRISE.replace("q", "r")]).rows
    began = time.monotonic()
    found = engine.evaluate(rows, deadline=began + 0.5)
    assert time.monotonic() - began < 8.0  # not its patience
    assert found.scores.tolist() == [-800, 0, -400]  # a pawn against a queen, or a rook
    assert found.moves[0].tolist() == [move_of_name("e4d5")]
    assert len(starts(tmp_path)) == 1  # past the deadline none is started

    silent = make("mute", patience=10.0)  # it does not start
    began = time.monotonic()
    found = silent.evaluate(BoardSet.of_fens([QUEEN_EN_PRISE]).rows, deadline=began + 0.5)
    assert time.monotonic() - began < 8.0
    assert found.scores.tolist() == [-800]


# -- the pool: what is not waited for ------------------------------------------------------------


def test_a_failure_of_one_process_does_not_wait_for_the_others(make: Make, tmp_path: Path) -> None:
    engine = make("mixed", processes=2, longest=LONG)
    rows = BoardSet.of_fens([START, QUEEN_EN_PRISE.replace(" w ", " b ")]).rows
    began = time.monotonic()
    with pytest.raises(EngineError, match="exited with status 3"):
        engine.evaluate(rows)
    assert time.monotonic() - began < LONG / 2
    assert all(map(is_gone, starts(tmp_path)))


class AlarmError(Exception):
    """Stands for Ctrl-C."""


def test_an_interruption_ends_the_searches(make: Make, tmp_path: Path) -> None:
    def ring(number: int, frame: FrameType | None) -> NoReturn:
        raise AlarmError(number, frame)

    engine = make("hang", longest=LONG)
    engine.new_game()
    before = signal.signal(signal.SIGALRM, ring)
    began = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(AlarmError):
            engine.evaluate(BoardSet.of_fens([START]).rows)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < LONG / 2
    assert all(map(is_gone, starts(tmp_path)))


# -- engines that work: Stockfish, and what it can be told -----------------------------------------


MATE_IN_ONE = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 0 1"
KING_HANGS = "4k3/4R3/8/8/8/8/8/4K3 w - - 0 1"
STALEMATE = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"
CHECKMATE = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"


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
def test_positions_unknown_to_chess_are_settled(fen: str, score: int, move: str | None) -> None:
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
