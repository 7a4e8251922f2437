"""`KernelEngine`: the embedded engine, a compiled alpha-beta search."""

from __future__ import annotations

import time

import numpy as np

from miai import Parameters, parameter
from miai_rbc.engines.protocol import Evaluation
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.analysis import value_boards
from miai_rbc.kernels.bits import NO_MOVE, Words
from miai_rbc.kernels.board import WORDS
from miai_rbc.kernels.ordering import LIST, MEMORY, NODES
from miai_rbc.kernels.search import FRAME_WORDS
from miai_rbc.kernels.tree import MAX_PLY, ROW_WORDS

_NO_LIMIT = 1 << 60
_SLICE = 200_000  # nodes of one call of the kernel, about a tenth of a second
_FIRST_SPEED = 500_000.0  # nodes a second, until there is a measurement
_ENTRY_BYTES = 16


class KernelParameters(Parameters):
    """How far the embedded engine looks."""

    depth: int = parameter(4, ge=1, le=32, help="plies, captures beyond them not counted")
    nodes: int | None = parameter(None, ge=1, help="nodes of one board, captures included")
    table_mb: int = parameter(16, ge=1, le=4096, help="MB of the transposition table")
    quiescence: bool = parameter(True, help="whether captures are searched beyond the depth")


class KernelEngine:
    """Values boards with a compiled search, one core, no other process.

    The value of a board at a depth is a minimax value, whatever the table holds, so the boards of a
    batch share the table and their order does not matter. With a limit in nodes what the table
    holds decides how far a search comes: each board then has the table to itself.

    Signals are heard and deadlines looked at between slices of about a tenth of a second, but a
    board is not interrupted: without a deadline or a limit in nodes a deep search of one board runs
    to its end.

    Attributes:
      parameters: as given.
      nodes: that were searched since the engine was made.
    """

    def __init__(self, parameters: KernelParameters | None = None) -> None:
        self.parameters = parameters or KernelParameters()
        self.nodes = 0
        entries = self.parameters.table_mb * (1 << 20) // _ENTRY_BYTES
        self._table = np.zeros(2 << (entries.bit_length() - 1), np.uint64)
        self._tree = np.zeros((MAX_PLY, ROW_WORDS), np.uint64)
        self._frames = np.zeros((MAX_PLY, FRAME_WORDS), np.int64)
        self._lists = np.zeros((MAX_PLY, LIST), np.int64)
        self._memory = np.zeros(MEMORY, np.int64)
        self._boards = 0
        self._speed = _FIRST_SPEED
        with FAMILY.compiling("analysis"):  # now, not within a deadline
            self.evaluate(np.zeros((0, WORDS), np.uint64))

    def new_game(self) -> None:
        """Forget what was searched."""
        self._table[:] = 0
        self._boards = 0

    def evaluate(self, rows: Words, *, top: int = 1, deadline: float | None = None) -> Evaluation:
        """Value boards, as `ChessEvaluator.evaluate`.

        A board whose search a deadline or the limit in nodes cuts short keeps what the last
        complete depth said; what the deadline left out keeps its static value and the first move of
        the root's order.
        """
        result = Evaluation(
            np.zeros(len(rows), np.int32),
            np.full((len(rows), top), NO_MOVE, np.int32),
            np.zeros((len(rows), top), np.int32),
        )
        rows = np.require(rows, np.uint64, ["C", "W"])  # one type of array, one compilation
        done, depth = 0, self.parameters.depth
        while True:
            at_most = _NO_LIMIT
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
        """End nothing: there is no other process."""

    def _run(self, rows: Words, done: int, depth: int, at_most: int, result: Evaluation) -> int:
        """Have the kernel value some boards; return the number of the first one left."""
        given = self.parameters
        at_once = min(_SLICE, at_most)
        limits = [depth, given.nodes or 0, at_once, at_most, given.quiescence]
        settings = np.array([*limits, given.nodes is not None, self._boards], np.int64)
        started = time.perf_counter()
        reached = value_boards(
            rows,
            done,
            settings,
            self._tree,
            self._frames,
            self._lists,
            self._memory,
            self._table,
            np.empty(result.moves.shape[1], np.int32),
            np.empty(result.moves.shape[1], np.int32),
            result.scores,
            result.moves,
            result.move_scores,
        )
        nodes = int(self._memory[NODES])
        self.nodes += nodes
        if nodes > 1000:
            self._speed = nodes / (time.perf_counter() - started)
        return int(reached)
