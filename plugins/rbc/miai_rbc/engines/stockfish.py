"""`StockfishEngine`: a pool of processes of Stockfish, or of any other UCI engine.

Positions that Reconnaissance Blind Chess allows and chess does not: settled without an engine.

A chess engine may crash on, or misunderstand, a position in which a king can be captured, and has
no word for one without legal moves, in which a player of this game simply passes.

Finding the program of a chess engine.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import chess
import numpy as np
from pydantic import model_validator

from miai import Parameters, parameter
from miai.process.programs import find_program
from miai_rbc.engines.protocol import Evaluation
from miai_rbc.engines.uci import EngineError, UciLine, UciProcess
from miai_rbc.kernels.bits import NO_MOVE, WIN, Words
from miai_rbc.rules.observations import move_of_name
from miai_rbc.rules.rows import board_of_row


@dataclass(frozen=True, slots=True)
class Settled:
    """The value of a position that no engine is asked for.

    Attributes:
      score: centipawns from the point of view of the side to move.
      move: the move that captures the king; None when there is none.
    """

    score: int
    move: chess.Move | None = None


def settle(board: chess.Board) -> Settled | None:
    """Return the value of a position without a meaning in chess; None when it has one."""
    mine, theirs = board.king(board.turn), board.king(not board.turn)
    if mine is None:
        return Settled(-WIN)
    if theirs is None:
        return Settled(WIN)
    takers = board.attackers_mask(board.turn, theirs)
    if takers:
        start = min(chess.SquareSet(takers), key=lambda s: (board.piece_type_at(s) or 0, s))
        promotes = board.piece_type_at(start) == chess.PAWN and theirs in chess.SquareSet(
            chess.BB_BACKRANKS
        )
        return Settled(WIN - 1, chess.Move(start, theirs, chess.QUEEN if promotes else None))
    if not any(board.legal_moves):
        return Settled(2 - WIN if board.is_check() else 0)
    return None


ADVICE: Final[Mapping[str, str]] = {
    "stockfish": "Stockfish: `apt install stockfish` on Debian and Ubuntu, `brew install "
    "stockfish` on macOS",
}
"""How to install engines that people ask for, by the name of the program."""


def find_engine(program: str) -> Path:
    """Return the path of an engine's program; raises as `miai.process.programs.find_program`."""
    return find_program(program, advice=ADVICE)


ResultT = TypeVar("ResultT")

_LOG = logging.getLogger(__name__)
_DECIDED = 1000  # a score beyond WIN - _DECIDED is a forced capture of the king
_MOST_MATE = _DECIDED // 2 - 2  # moves to a mate whose score is still beyond it
_MOST_CENTIPAWNS = 10_000_000  # some engines tell mates as large scores; none means more
_GRACE = 0.25  # seconds after a deadline in which an engine's last answer may arrive
_ATTEMPTS = 2
_VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 310, chess.ROOK: 500, chess.QUEEN: 900}


class StockfishParameters(Parameters):
    """A UCI engine and how long it thinks of one position."""

    command: str = parameter("stockfish", help="program, looked for on PATH too")
    depth: int | None = parameter(6, ge=1, le=60, help="plies")
    nodes: int | None = parameter(None, ge=1, help="Node budget of one engine search")
    seconds: float | None = parameter(None, gt=0, le=3600, help="seconds of one search")
    processes: int = parameter(1, ge=1, le=64, help="processes of the pool")
    hash_mb: int = parameter(16, ge=1, le=65536, help="MB of each process's hash table")
    threads: int = parameter(1, ge=1, le=256, help="threads of each process")
    patience: float = parameter(
        10.0, gt=0, le=600, help="seconds to start, and beyond those that a search is given"
    )
    longest: float = parameter(
        60.0, ge=0.1, le=3600, help="seconds that a search without a limit in seconds may take"
    )

    @model_validator(mode="after")
    def _is_limited(self) -> StockfishParameters:
        if self.depth is None and self.nodes is None and self.seconds is None:
            raise ValueError("give depth, nodes or seconds")
        return self


@dataclass(frozen=True, slots=True)
class _Task:
    """What processes are asked for together.

    Attributes:
      deadline: on the monotonic clock; None for as long as each search may take.
      dropped: set when nobody waits for the answers any more.
    """

    deadline: float | None = None
    dropped: threading.Event = field(default_factory=threading.Event)

    def left(self) -> float:
        """Return the seconds until the deadline, infinite without one."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()


class StockfishEngine:
    """Values boards with processes of a UCI engine.

    A board goes to the process of its place in the batch, so that with limits in depth or nodes
    the same batches since `new_game` give the same values.

    A process that dies, hangs, or answers what is not UCI or does not fit the position, is killed,
    started anew and asked once more; a warning is logged each time. Without a deadline a search
    hangs after `longest` seconds, or `patience` beyond `seconds`; with one, a moment after it at
    the latest, and the boards that are left are given their material.

    Raises:
      AgentUnavailableError: the program is missing.
    """

    def __init__(self, parameters: StockfishParameters | None = None) -> None:
        self.parameters = parameters or StockfishParameters()
        self._program = str(find_engine(self.parameters.command))
        self._processes: list[UciProcess | None] = [None] * self.parameters.processes
        self._pool = ThreadPoolExecutor(self.parameters.processes)

    def new_game(self) -> None:
        """Forget the positions of earlier games. Raises `EngineError`."""
        patience = self.parameters.patience
        for number in range(len(self._processes)):
            self._ask(number, _Task(), lambda process: process.new_game(seconds=patience))

    def evaluate(self, rows: Words, *, top: int = 1, deadline: float | None = None) -> Evaluation:
        """Value boards, as `ChessEvaluator.evaluate`."""
        result = Evaluation(
            np.zeros(len(rows), np.int32),
            np.full((len(rows), top), NO_MOVE, np.int32),
            np.zeros((len(rows), top), np.int32),
        )
        count = len(self._processes)
        task = _Task(deadline)

        def work(number: int) -> None:
            for at in range(number, len(rows), count):
                if task.dropped.is_set():
                    return
                score, moves = self._value(number, task, board_of_row(rows[at]), top)
                _note(result, at, score, moves)

        futures = [self._pool.submit(work, number) for number in range(count)]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:  # a failure, or Ctrl-C: no search may outlive this call
            task.dropped.set()
            for process in self._processes:
                if process is not None:
                    process.interrupt()
            wait(futures)
            for number in range(count):
                self._drop(number)
            raise
        return result

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()
        for process in self._processes:
            if process is not None:
                process.close()
        self._processes = [None] * len(self._processes)

    def _value(
        self, number: int, task: _Task, board: chess.Board, top: int
    ) -> tuple[int, Sequence[tuple[str, int]]]:
        """Return a board's score and its best moves with theirs."""
        settled = settle(board)
        if settled is not None:
            moves = [] if settled.move is None else [(settled.move.uci(), settled.score)]
            return settled.score, moves
        scored = self._search(number, task, board, top)
        if scored is None:
            move = max(board.legal_moves, key=lambda m: (_gain(board, m), m.uci()))
            scored = [(move.uci(), material(board))]
        return scored[0][1], scored

    def _search(
        self, number: int, task: _Task, board: chess.Board, top: int
    ) -> Sequence[tuple[str, int]] | None:
        """Return the best moves with their scores; None when the deadline came first."""
        fen, legal = board.fen(), {move.uci() for move in board.legal_moves}

        def ask(process: UciProcess) -> Sequence[tuple[str, int]]:
            process.set_lines(max(1, min(top, len(legal))))
            limits, seconds = _limits(self.parameters, task.left())
            lines = process.search(fen, limits, seconds=seconds)
            return _scored(lines, legal, f"{process.name}, asked about {fen},")

        return self._ask(number, task, ask)

    def _ask(
        self, number: int, task: _Task, ask: Callable[[UciProcess], ResultT]
    ) -> ResultT | None:
        """Return what a process answers; None when the deadline came first.

        Raises:
          EngineError: it failed, and so did the one started after it.
        """
        reason = ""
        for _ in range(_ATTEMPTS):
            if task.left() <= 0:
                return None
            try:
                process = self._process(number, task.left())
                if task.dropped.is_set():  # it may have come too late to be interrupted
                    raise EngineError(f"{process.name} is not needed any more")
                return ask(process)
            except EngineError as error:
                self._drop(number)
                if task.dropped.is_set():
                    raise
                reason = str(error)
                _LOG.warning("%s; it was killed", reason)
        if task.left() <= 0:
            return None
        raise EngineError(
            f"{reason}; it was started anew and asked {_ATTEMPTS} times. Is it a UCI engine, and "
            "is its search short enough (depth, nodes, longest)?"
        )

    def _process(self, number: int, left: float) -> UciProcess:
        process = self._processes[number]
        if process is None:
            given = self.parameters
            options = {"Hash": given.hash_mb, "Threads": given.threads}
            seconds = min(given.patience, left + _GRACE)
            process = UciProcess([self._program], options, seconds=seconds)
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


def _limits(given: StockfishParameters, left: float) -> tuple[str, float]:
    """Return what follows ``go``, and the seconds to wait for the answer at most.

    Args:
      left: seconds until the deadline, infinite without one.
    """
    words = []
    if given.depth is not None:
        words.append(f"depth {given.depth}")
    if given.nodes is not None:
        words.append(f"nodes {given.nodes}")
    seconds = min(left, math.inf if given.seconds is None else given.seconds)
    if seconds < math.inf:
        words.append(f"movetime {max(1, int(1000 * seconds))}")
    patience = given.longest if given.seconds is None else given.seconds + given.patience
    return " ".join(words), min(patience, max(0.0, left) + _GRACE)


def _scored(lines: Sequence[UciLine], legal: Collection[str], who: str) -> list[tuple[str, int]]:
    """Return the moves of an answer with their scores.

    Raises:
      EngineError: it names no move, or an illegal one, or a score that is out of all reason.
    """
    if not lines:
        raise EngineError(f"{who} named no move where {len(legal)} are legal")
    for line in lines:
        if line.move not in legal:
            raise EngineError(f"{who} named the illegal move {line.move[:20]!r}")
        if abs(line.mate or 0) > _MOST_MATE or abs(line.centipawns or 0) > _MOST_CENTIPAWNS:
            raise EngineError(f"{who} told a score out of range")
    return [(line.move, _score(line)) for line in lines]


def _score(line: UciLine) -> int:
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
