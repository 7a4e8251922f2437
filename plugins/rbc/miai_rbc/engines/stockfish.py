"""`StockfishEngine`: a pool of processes of Stockfish, or of any other UCI engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import chess
import numpy as np
from pydantic import model_validator

from miai import Parameters, parameter
from miai_rbc.engines.locate import find_engine
from miai_rbc.engines.protocol import NO_MOVE, WIN, Evaluation
from miai_rbc.engines.settle import settle
from miai_rbc.engines.uci import EngineError, Line, UciProcess
from miai_rbc.kernels.bits import Words
from miai_rbc.observations import move_of_name
from miai_rbc.rows import board_of_row

ResultT = TypeVar("ResultT")

_DECIDED = 1000  # a score beyond WIN - _DECIDED is a forced capture of the king
_VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 310, chess.ROOK: 500, chess.QUEEN: 900}


class StockfishParameters(Parameters):
    """A UCI engine and how long it thinks of one position."""

    command: str = parameter("stockfish", help="program, looked for on PATH too")
    depth: int | None = parameter(6, ge=1, le=60, help="plies")
    nodes: int | None = parameter(None, ge=1, help="nodes of one search")
    seconds: float | None = parameter(None, gt=0, le=3600, help="seconds of one search")
    processes: int = parameter(1, ge=1, le=64, help="processes of the pool")
    hash_mb: int = parameter(16, ge=1, le=65536, help="MB of each process's hash table")
    threads: int = parameter(1, ge=1, le=256, help="threads of each process")
    patience: float = parameter(
        10.0, gt=0, le=600, help="seconds that an answer may take beyond its search"
    )

    @model_validator(mode="after")
    def _is_limited(self) -> StockfishParameters:
        if self.depth is None and self.nodes is None and self.seconds is None:
            raise ValueError("give depth, nodes or seconds")
        return self


class StockfishEngine:
    """Values boards with processes of a UCI engine.

    A board goes to the process of its place in the batch, so that with limits in depth or nodes
    the same batches since `new_game` give the same values. A process that dies, hangs or answers
    nonsense is started anew and asked once more.

    Raises:
      AgentUnavailableError: the program is missing.
    """

    def __init__(self, parameters: StockfishParameters | None = None) -> None:
        self.parameters = parameters or StockfishParameters()
        self._program = str(find_engine(self.parameters.command))
        self._processes: list[UciProcess | None] = [None] * self.parameters.processes
        self._pool = ThreadPoolExecutor(self.parameters.processes)
        self._fixed = _limits(self.parameters)

    def new_game(self) -> None:
        """Forget the positions of earlier games."""
        for number in range(len(self._processes)):
            self._retry(number, lambda process: process.new_game())

    def evaluate(self, rows: Words, *, top: int = 1, deadline: float | None = None) -> Evaluation:
        """Value boards, as `ChessEvaluator.evaluate`."""
        result = Evaluation(
            np.zeros(len(rows), np.int32),
            np.full((len(rows), top), NO_MOVE, np.int32),
            np.zeros((len(rows), top), np.int32),
        )
        count = len(self._processes)

        def work(number: int) -> None:
            for at in range(number, len(rows), count):
                self._value(number, rows[at], at, result, deadline)

        list(self._pool.map(work, range(count)))
        return result

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()
        for process in self._processes:
            if process is not None:
                process.close()
        self._processes = [None] * len(self._processes)

    def _value(
        self, number: int, row: Words, at: int, result: Evaluation, deadline: float | None
    ) -> None:
        board = board_of_row(row)
        settled = settle(board)
        if settled is not None:
            moves = [] if settled.move is None else [(settled.move.uci(), settled.score)]
            _note(result, at, settled.score, moves)
            return
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            move = max(board.legal_moves, key=lambda m: (_gain(board, m), m.uci()))
            _note(result, at, material(board), [(move.uci(), material(board))])
            return
        lines = self._search(number, board, result.moves.shape[1], left)
        scored = [(line.move, _score(line)) for line in lines]
        if not all(chess.Move.from_uci(move) in board.legal_moves for move, _ in scored):
            raise EngineError(f"the engine named an illegal move in {board.fen()}")
        _note(result, at, scored[0][1] if scored else 0, scored)

    def _search(
        self, number: int, board: chess.Board, top: int, left: float | None
    ) -> Sequence[Line]:
        limits, seconds = self._fixed, self.parameters.seconds
        if left is not None and (seconds is None or left < seconds):
            limits = f"{_without_time(limits)} movetime {max(1, int(1000 * left))}".strip()
            seconds = left
        fen = board.fen()

        def ask(process: UciProcess) -> list[Line]:
            process.set_lines(min(top, board.legal_moves.count()) if top > 1 else 1)
            return process.search(fen, limits, seconds)

        return self._retry(number, ask)

    def _retry(self, number: int, ask: Callable[[UciProcess], ResultT]) -> ResultT:
        try:
            return ask(self._process(number))
        except EngineError:
            self._drop(number)
        try:
            return ask(self._process(number))
        except EngineError:
            self._drop(number)
            raise

    def _process(self, number: int) -> UciProcess:
        process = self._processes[number]
        if process is None:
            given = self.parameters
            options = {"Hash": given.hash_mb, "Threads": given.threads}
            process = UciProcess([self._program], options, patience=given.patience)
            self._processes[number] = process
        return process

    def _drop(self, number: int) -> None:
        process, self._processes[number] = self._processes[number], None
        if process is not None:
            process.kill()


def material(board: chess.Board) -> int:
    """Return the material of the side to move less that of the other, in centipawns."""
    return sum(
        value * (len(board.pieces(kind, board.turn)) - len(board.pieces(kind, not board.turn)))
        for kind, value in _VALUES.items()
    )


def _gain(board: chess.Board, move: chess.Move) -> int:
    return _VALUES.get(board.piece_type_at(move.to_square) or 0, 0)


def _limits(parameters: StockfishParameters) -> str:
    words = []
    if parameters.depth is not None:
        words.append(f"depth {parameters.depth}")
    if parameters.nodes is not None:
        words.append(f"nodes {parameters.nodes}")
    if parameters.seconds is not None:
        words.append(f"movetime {max(1, int(1000 * parameters.seconds))}")
    return " ".join(words)


def _without_time(limits: str) -> str:
    return limits.split("movetime", 1)[0].strip()


def _score(line: Line) -> int:
    """Return a line's score; a king that is mated in n moves is captured a turn later."""
    if line.mate is not None:
        return WIN - 1 - 2 * line.mate if line.mate > 0 else 2 - WIN - 2 * line.mate
    assert line.centipawns is not None
    return max(_DECIDED - WIN, min(WIN - _DECIDED, line.centipawns))


def _note(result: Evaluation, at: int, score: int, moves: Sequence[tuple[str, int]]) -> None:
    result.scores[at] = score
    for rank, (move, value) in enumerate(moves[: result.moves.shape[1]]):
        result.moves[at, rank] = move_of_name(move)
        result.move_scores[at, rank] = value
