"""`KernelEngine`: the embedded engine, a compiled alpha-beta search; the evaluator ``engine``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from miai import State, parameter
from miai.kernels import packed
from miai.search.evaluators import uniform_prior
from miai.search.protocol import SearchResult
from miai.values import ValueUnit
from miai_rbc.engines.protocol import BoardEvaluations
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.bitboards import NO_MOVE, Words
from miai_rbc.kernels.board import WORDS
from miai_rbc.kernels.engine import (
    FRAME_WORDS,
    LIST,
    MAX_PLY,
    MEMORY,
    NODES,
    ROW_WORDS,
    SETTINGS,
    BestMoves,
    Evaluations,
    SearchSpace,
    value_boards,
)
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.rbc_parameters import EvaluatorParameters
from miai_rbc.rules.actions import SENSE_NOTHING, action_of
from miai_rbc.rules.game import BoardGame, BoardState

ANALYSIS = "analysis"
"""Name of the kernels of the engine, for `KernelFamily.compiling`."""

_NO_LIMIT = 1 << 60
_SLICE = 200_000  # nodes of one call of the kernel, about a tenth of a second
_FIRST_SPEED = 500_000.0  # nodes per second, until measured
_ENTRY_BYTES = 16
_CENTIPAWNS = 400.0
_LINE = 5  # half-moves of the play that is expected


class KernelParameters(EvaluatorParameters):
    """Limits and memory of the embedded engine."""

    table_mb: int = parameter(16, ge=1, le=4096, help="Transposition table, in MB")
    quiescence: bool = parameter(True, help="Search captures beyond the depth")


def work_space() -> SearchSpace:
    """Return the arrays that a search works on."""
    return SearchSpace(
        tree=np.zeros((MAX_PLY, ROW_WORDS), np.uint64),
        frames=np.zeros((MAX_PLY, FRAME_WORDS), np.int64),
        lists=np.zeros((MAX_PLY, LIST), np.int64),
        memory=np.zeros(MEMORY, np.int64),
    )


class KernelEngine:
    """Values boards with a compiled search on one core, in this process.

    The value of a board at a depth is a minimax value, whatever the table holds. So the boards of a
    batch share the table, and their order does not matter. With a limit in nodes, the table decides
    how deep a search gets: each board then has a table of its own.

    Signals and deadlines are checked about every tenth of a second, between boards only: without a
    deadline or a limit in nodes, a deep search of one board runs to its end.

    Attributes:
      parameters: as parameters.
      nodes: searched since the engine was made.
    """

    def __init__(self, parameters: KernelParameters | None = None) -> None:
        self.parameters = parameters or KernelParameters()
        self.nodes = 0
        entries = self.parameters.table_mb * (1 << 20) // _ENTRY_BYTES
        self._table = np.zeros(2 << (entries.bit_length() - 1), np.uint64)
        # What a call takes is made once: for a single board that is a tenth of the time.
        space = work_space()
        self._space, self._memory = packed(space), space.memory
        self._settings = np.zeros(SETTINGS, np.int64)
        room = np.empty(MAX_MOVES, np.int32)
        self._ranking = packed(BestMoves(room, room.copy()))
        self._boards = 0
        self._speed = _FIRST_SPEED
        with FAMILY.compiling(ANALYSIS):  # now, not within a deadline
            self.evaluate(np.zeros((0, WORDS), np.uint64))

    def new_game(self) -> None:
        """Forget all searches."""
        self._table[:] = 0
        self._boards = 0

    def evaluate(
        self, rows: Words, *, top: int = 1, depth: int | None = None, deadline: float | None = None
    ) -> BoardEvaluations:
        """Value boards, as `ChessEvaluator.evaluate`.

        A search cut short by the deadline or the limit in nodes gives the result of its last
        complete depth. Boards past the deadline get their static value and the first move in the
        root's order.
        """
        result = BoardEvaluations.empty(len(rows), top)
        rows = np.require(rows, np.uint64, ["C", "W"])  # one type of array, one compilation
        done = 0
        depth = self.parameters.depth if depth is None else depth
        while True:
            at_most = _NO_LIMIT
            # The kernel cannot look at a clock, so time becomes nodes by the speed measured last.
            if deadline is not None:
                at_most = int((deadline - time.monotonic()) * self._speed)
                if at_most < 1:
                    depth, at_most = 0, _NO_LIMIT
            done = self._run(rows, done, depth, at_most, result)
            if done >= len(rows):
                break
        self._boards += len(rows)
        return result

    def close(self) -> None:
        """Do nothing: there is no process to end."""

    def _run(
        self, rows: Words, done: int, depth: int, at_most: int, result: BoardEvaluations
    ) -> int:
        """Have the kernel value some boards; return the number of the first one left."""
        parameters = self.parameters
        at_once = min(_SLICE, at_most)
        limits = (depth, parameters.nodes or 0, at_once, at_most, parameters.quiescence)
        self._settings[:] = (*limits, parameters.nodes is not None, self._boards)
        results = packed(Evaluations(result.scores, result.moves, result.move_scores))
        started = time.perf_counter()
        reached = value_boards(
            rows, done, self._settings, self._space, self._table, self._ranking, results
        )
        # Short calls tell little of the speed, as most of their time is the call.
        nodes = int(self._memory[NODES])
        self.nodes += nodes
        if nodes > 1000:
            self._speed = nodes / (time.perf_counter() - started)
        return int(reached)


class EngineSearch:
    """Values true boards by the embedded engine: it judges games that are over, and no player asks.

    Values are centipawns. Implements `miai.search.protocol.Search`.
    """

    def __init__(self) -> None:
        self._engine = KernelEngine(KernelParameters())

    def new_game(self, seed: int) -> None:
        """Forget all searches; there is no randomness."""
        self._engine.new_game()

    def advance(self, action: int) -> None:
        """Do nothing: nothing is kept between positions."""

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return the best move, and the play that follows; where a sense is due, one of nothing."""
        board, line = cast("BoardState", state.clone()), list[int]()
        value = 0.0
        for half in range(_LINE):
            result = self._engine.evaluate(board.boards.rows)
            value = value if half else float(result.scores[0])
            move = int(result.moves[0, 0])
            own = [SENSE_NOTHING] if board.legal_actions()[0] <= SENSE_NOTHING else []
            own += [] if move == NO_MOVE else [action_of(move)]
            for action in own:
                board.apply_action(action)
            line += own
            if move == NO_MOVE or board.is_terminal():
                break
        action = line[0] if line else state.legal_actions()[0]
        return SearchResult(
            action=action, value=value, unit=ValueUnit.CENTIPAWNS, pv=tuple(line) or (action,)
        )

    def close(self) -> None:
        """Do nothing: there is no process to end."""


class EngineEvaluator:
    """Values true boards by the embedded engine: for preparing games, not for players.

    It ignores what players know. Centipawns become utilities by Elo's formula for expected scores
    (Elo 1978), ``2 / (1 + 10 ** (-centipawns / 400)) - 1``, so that a pawn is 0.28.
    """

    def __init__(self, game: BoardGame, parameters: EvaluatorParameters | None = None) -> None:
        parameters = parameters or EvaluatorParameters()
        self._engine = KernelEngine(KernelParameters(**parameters.model_dump()))

    def seed(self, seed: int) -> None:
        """Forget all searches; there is no randomness."""
        self._engine.new_game()

    def evaluate(self, states: Sequence[State]) -> NDArray[np.float64]:
        """Return utilities, float64 of shape (len(states), 2), White's first."""
        rows = np.concatenate([cast("BoardState", state).boards.rows for state in states])
        scores = self._engine.evaluate(rows).scores.astype(np.float64)
        black = np.array([state.current_player() == 1 for state in states])
        white = np.tanh(np.where(black, -scores, scores) * np.log(10) / (2 * _CENTIPAWNS))
        return np.stack([white, -white], axis=1)

    def prior(self, states: Sequence[State]) -> list[NDArray[np.float64]]:
        """Return uniform probabilities."""
        return uniform_prior(states)
