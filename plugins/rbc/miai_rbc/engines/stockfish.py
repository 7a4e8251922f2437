"""`StockfishEngine`: a pool of processes of Stockfish, or of any other UCI engine.

A chess engine may crash on a position in which a king can be captured, and has no answer for one
without legal moves, where a player of this game simply passes. These are settled here.
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

from miai.process.programs import find_program
from miai_rbc.engines.protocol import BoardEvaluations
from miai_rbc.engines.uci import EngineError, UciLine, UciProcess
from miai_rbc.kernels.bitboards import WIN, Words
from miai_rbc.rbc_parameters import UciEngine
from miai_rbc.rules.observations import move_of_name
from miai_rbc.rules.rows import board_of_row

ADVICE: Final[Mapping[str, str]] = {
    "stockfish": "Stockfish: `apt install stockfish` on Debian and Ubuntu, `brew install "
    "stockfish` on macOS"
}
"""How to install engines, by the name of the program."""

ResultT = TypeVar("ResultT")
ScoredMoves = Sequence[tuple[str, int]]
"""Moves in UCI notation with their scores, best first."""

_LOG = logging.getLogger(__name__)
_DECIDED = 1000  # a score beyond WIN - _DECIDED is a forced capture of the king
_MAX_MATE = _DECIDED // 2 - 2  # moves to a mate whose score is still beyond it
_MAX_CENTIPAWNS = 10_000_000  # some engines report mates as large scores
_GRACE = 0.25  # seconds after a deadline in which an engine's last answer may arrive
_ATTEMPTS = 2
_VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 310, chess.ROOK: 500, chess.QUEEN: 900}


def find_engine(program: str) -> Path:
    """Return the path of an engine's program; raises as `miai.process.programs.find_program`."""
    return find_program(program, advice=ADVICE)


@dataclass(frozen=True, slots=True)
class Settled:
    """The value of a position that needs no engine.

    Attributes:
      score: centipawns for the side to move.
      move: the move that captures the king; None without one.
    """

    score: int
    move: chess.Move | None = None


def settle(board: chess.Board) -> Settled | None:
    """Return the value of a position that chess does not allow or has ended; else None."""
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


@dataclass(frozen=True, slots=True)
class _Task:
    """One batch, worked on by all processes.

    Attributes:
      deadline: on the monotonic clock; None without one.
      depth: plies of a search; None if other limits apply.
      cancelled: set when the answers are no longer needed.
    """

    deadline: float | None = None
    depth: int | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    def remaining(self) -> float:
        """Return the seconds until the deadline, infinite without one."""
        return math.inf if self.deadline is None else self.deadline - time.monotonic()


class StockfishEngine:
    """Values boards with processes of a UCI engine.

    A board goes to the process of its place in the batch, so that with limits in depth or nodes
    the same batches since `new_game` give the same values.

    A process that dies, hangs, or gives an invalid answer is killed and replaced, and the question
    asked once more; a warning is logged each time. Without a deadline a search counts as hung after
    `longest` seconds, or `patience` beyond `movetime`; with one, a moment after it at the latest,
    and the remaining boards get their material.

    Args:
      parameters: program, limits and processes.
      depth: plies of a search; None if other limits apply.
      patience: seconds to wait for a start, and for an answer beyond `movetime`.

    Raises:
      AgentUnavailableError: the program is missing.
    """

    def __init__(
        self,
        parameters: UciEngine,
        *,
        depth: int | None,
        patience: float = 10.0,
        longest: float = 60.0,
    ) -> None:
        self.parameters, self._depth = parameters, depth
        self._patience, self._longest = patience, longest
        self._program = str(find_engine(parameters.command))
        self._processes: list[UciProcess | None] = [None] * parameters.processes
        self._pool = ThreadPoolExecutor(parameters.processes)

    def new_game(self) -> None:
        """Forget the positions of earlier games. Raises `EngineError`."""
        for number in range(len(self._processes)):
            self._ask(number, _Task(), lambda process: process.new_game(seconds=self._patience))

    def evaluate(
        self, rows: Words, *, top: int = 1, depth: int | None = None, deadline: float | None = None
    ) -> BoardEvaluations:
        """Value boards, as `ChessEvaluator.evaluate`."""
        result = BoardEvaluations.empty(len(rows), top)
        count = len(self._processes)
        task = _Task(deadline, self._depth if depth is None else depth)

        def work(number: int) -> None:
            for board in range(number, len(rows), count):
                if task.cancelled.is_set():
                    return
                result.scores[board], moves = self._value(
                    number, task, board_of_row(rows[board]), top
                )
                for rank, (move, value) in enumerate(moves[:top]):
                    result.moves[board, rank] = move_of_name(move)
                    result.move_scores[board, rank] = value

        futures = [self._pool.submit(work, number) for number in range(count)]
        try:
            for future in wait(futures, return_when=FIRST_EXCEPTION).done:
                future.result()
        except BaseException:  # a failure, or Ctrl-C: no search may outlive this call
            task.cancelled.set()
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
    ) -> tuple[int, ScoredMoves]:
        """Return a board's score and its best moves with theirs."""
        settled = settle(board)
        if settled is not None:
            moves = [] if settled.move is None else [(settled.move.uci(), settled.score)]
            return settled.score, moves
        scored = self._search(number, task, board, top)
        if scored is None:
            taken = {move: board.piece_type_at(move.to_square) for move in board.legal_moves}
            move = max(taken, key=lambda m: (_VALUES.get(taken[m] or 0, 0), m.uci()))
            scored = [(move.uci(), material(board))]
        return scored[0][1], scored

    def _search(self, number: int, task: _Task, board: chess.Board, top: int) -> ScoredMoves | None:
        """Return the best moves with their scores; None when the deadline came first."""
        fen, legal = board.fen(), {move.uci() for move in board.legal_moves}

        def ask(process: UciProcess) -> ScoredMoves:
            process.set_lines(max(1, min(top, len(legal))))
            limits, seconds = self._limits(task)
            lines = process.search(fen, limits, seconds=seconds)
            return _scored(lines, legal, f"{process.name}, asked about {fen},")

        return self._ask(number, task, ask)

    def _limits(self, task: _Task) -> tuple[str, float]:
        """Return the words after ``go``, and the maximum seconds to wait for the answer."""
        parameters, remaining = self.parameters, task.remaining()
        limits = {"depth": task.depth, "nodes": parameters.nodes}
        words = [f"{name} {limit}" for name, limit in limits.items() if limit is not None]
        seconds = min(remaining, math.inf if parameters.movetime is None else parameters.movetime)
        if seconds < math.inf:
            words.append(f"movetime {max(1, int(1000 * seconds))}")
        longest = (
            self._longest if parameters.movetime is None else parameters.movetime + self._patience
        )
        return " ".join(words), min(longest, max(0.0, remaining) + _GRACE)

    def _ask(
        self, number: int, task: _Task, ask: Callable[[UciProcess], ResultT]
    ) -> ResultT | None:
        """Return a process's answer; None when the deadline came first.

        Raises:
          EngineError: it failed, and so did its replacement.
        """
        reason = ""
        for _ in range(_ATTEMPTS):
            if task.remaining() <= 0:
                return None
            try:
                process = self._process(number, task.remaining())
                if task.cancelled.is_set():  # it may have started too late to be interrupted
                    raise EngineError(f"{process.name} is no longer needed")
                return ask(process)
            except EngineError as error:
                self._drop(number)
                if task.cancelled.is_set():
                    raise
                reason = str(error)
                _LOG.warning("%s; it was killed", reason)
        if task.remaining() <= 0:
            return None
        raise EngineError(
            f"{reason}; it was restarted and asked {_ATTEMPTS} times. Is it a UCI engine, and "
            "is its search short enough (depth, nodes, movetime)?"
        )

    def _process(self, number: int, remaining: float) -> UciProcess:
        process = self._processes[number]
        if process is None:
            options = {"Hash": self.parameters.hash_mb, "Threads": self.parameters.threads}
            seconds = min(self._patience, remaining + _GRACE)
            process = UciProcess([self._program], options, seconds=seconds)
            self._processes[number] = process
        return process

    def _drop(self, number: int) -> None:
        process, self._processes[number] = self._processes[number], None
        if process is not None:
            process.kill()


def material(board: chess.Board) -> int:
    """Return the material of the side to move minus that of the other, in centipawns."""
    return sum(
        value * (len(board.pieces(kind, board.turn)) - len(board.pieces(kind, not board.turn)))
        for kind, value in _VALUES.items()
    )


def _scored(lines: Sequence[UciLine], legal: Collection[str], who: str) -> ScoredMoves:
    """Return the moves of an answer with their scores.

    Raises:
      EngineError: it names no move or an illegal one, or a score is out of range.
    """
    if not lines:
        raise EngineError(f"{who} named no move where {len(legal)} are legal")
    for line in lines:
        if line.move not in legal:
            raise EngineError(f"{who} named the illegal move {line.move[:20]!r}")
        if abs(line.mate or 0) > _MAX_MATE or abs(line.centipawns or 0) > _MAX_CENTIPAWNS:
            raise EngineError(f"{who} reported a score out of range")
    return [(line.move, _score(line)) for line in lines]


def _score(line: UciLine) -> int:
    """Return a line's score; a king mated in n moves is captured a turn later."""
    if line.mate is not None:
        return WIN - 1 - 2 * line.mate if line.mate > 0 else 2 - WIN - 2 * line.mate
    assert line.centipawns is not None
    return max(_DECIDED - WIN, min(WIN - _DECIDED, line.centipawns))
