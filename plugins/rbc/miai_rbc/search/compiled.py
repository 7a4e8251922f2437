"""`rbc-compiled`: the search of `rbc-minimax` as a kernel.

`miai_rbc.kernels.belief_tree` is the search itself. Here its arrays are made and enlarged, and the
candidates of a layer are chosen when the kernel first needs them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.bounds import named_bounds
from miai.beliefs.deepening import BudgetSpentError, DeepeningSearch, WindowResult
from miai.beliefs.protocol import Line
from miai.errors import UnsuitableGameError
from miai_rbc.agents.belief_agents import load_beliefs
from miai_rbc.engines.kernel import work_space
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels import belief_tree as tree
from miai_rbc.kernels.belief_search import play_request
from miai_rbc.kernels.bitboards import WIN
from miai_rbc.kernels.board import WORDS
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.rbc_parameters import (
    CompiledBounds,
    CompiledMinimaxParameters,
    MinimaxProblemParameters,
)
from miai_rbc.rules.actions import action_of
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.rows import BLACK_CAPTURES
from miai_rbc.search.candidates import AT_ROOT, Valuer, load_rare, own_pieces
from miai_rbc.search.minimax import RbcMinimaxSearch, check_depth
from miai_rbc.search.problem import DrawnRoot, RbcProblem, RbcRoot

_Number = TypeVar("_Number", bound=np.generic)

_LOW, _HIGH = -float(WIN), float(WIN)
_FIRST_STEP = 48.0  # centipawns
_FIRST_BOARDS, _FIRST_LAYERS, _MOST_CORES = 1 << 12, 1 << 10, 1 << 14
_MOST_BOARDS = 1 << 22
_CACHE = 1 << 16
_FRAMES = 16
_PAUSE = 2_000  # nodes between two looks at the clock and at signals
_UNLIMITED = 1 << 60
_REPORTED = {
    "nodes": tree.NODES,
    "leaves": tree.LEAVES,
    "valued": tree.VALUED,
    "bounds_hits": tree.HITS,
    "bounds_entries": tree.ENTRIES,
}
"""Statistics, and where they are counted."""


def _make_search(senses: int, requests: int) -> tree.BeliefTree:
    """Return the arrays of a search with at most this many candidates in a layer."""
    return tree.BeliefTree(
        forest=_forest(_FIRST_BOARDS, senses, requests),
        layers=_layers(_FIRST_LAYERS, senses, requests),
        cache=tree.ValueCache(
            np.zeros(_CACHE, np.uint64),
            np.empty(_CACHE, np.int32),
            np.empty(_CACHE, np.int32),
            np.zeros(_CACHE, np.uint64),
            np.empty(_CACHE, np.int32),
            np.empty(_CACHE, np.int32),
        ),
        work=_work(_FIRST_BOARDS, requests),
        counts=np.zeros(tree.COUNTS, np.int64),
    )


def _forest(boards: int, senses: int, requests: int) -> tree.TreeBoards:
    one = ("home", "alone", "kills", "parent")
    by_request = ("low", "high", "steps", "sizes", "ends", "capped")
    return tree.TreeBoards(
        rows=np.empty((boards, 8), np.uint64),
        hashes=np.empty(boards, np.uint64),
        seen=np.empty((boards, senses), np.uint64),
        stamps=np.empty(boards, np.int64),
        slots=np.zeros(4 * boards, np.int32),
        successors=np.empty(4 * boards, np.int32),
        **{name: np.empty(boards, np.int32) for name in one},
        **{name: np.empty((boards, requests), np.int32) for name in by_request},
    )


def _layers(layers: int, senses: int, requests: int) -> tree.LayerTable:
    return tree.LayerTable(
        facts=np.empty((layers, tree.FACTS), np.int64),
        requests=np.zeros((layers, requests), np.int32),
        windows=np.zeros((layers, senses), np.int32),
        killers=np.empty((layers, requests), np.int32),
        heads=np.empty((layers, requests + senses), np.int32),
        keys=np.zeros(4 * layers, np.uint64),
        slots=np.empty(4 * layers, np.int32),
        core_boards=np.empty((_MOST_CORES, tree.CORE), np.int32),
        core_facts=np.empty((_MOST_CORES, 3), np.int64),
    )


def _work(boards: int, requests: int) -> tree.TreeWork:
    space, engine_frames, lists, memory = work_space()
    return tree.TreeWork(
        frames=np.zeros((_FRAMES, tree.FRAME), np.int64),
        cores=np.empty((_FRAMES, tree.CORE), np.int32),
        numbers=np.empty(8 * boards, np.int32),
        parts=np.empty((4 * boards, 2), np.int32),
        core=np.empty(tree.CORE, np.int32),
        gathered=np.empty(tree.CORE, np.int32),
        failing=np.empty((2, requests), np.int32),
        codes=np.empty(boards, np.uint64),
        places=np.empty(boards, np.int64),
        labels=np.empty(4 * boards, np.uint64),
        label_at=np.empty(4 * boards, np.int64),
        after=np.empty(8, np.uint64),
        middle=np.empty(8, np.uint64),
        moves=np.empty(MAX_MOVES, np.int64),
        tree=space,
        engine_frames=engine_frames,
        lists=lists,
        memory=memory,
        table=np.zeros(4, np.uint64),
    )


def _wider(array: NDArray[_Number]) -> NDArray[_Number]:
    """Return an array with twice the rows, the new ones without values."""
    wide = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    wide[: len(array)] = array
    return wide


def enlarge(search: tree.BeliefTree) -> tree.BeliefTree:
    """Return the search with twice the room for boards, layers and beliefs, at the same place."""
    forest, layers, work = search.forest, search.layers, search.work
    # Tables by hash are entered again, as slots depend on their length; all other rows are copied.
    by_board = [name for name in forest._fields if name != "slots"]
    by_layer = ("facts", "requests", "windows", "killers", "heads")
    by_belief = ("numbers", "parts", "codes", "places", "labels", "label_at")
    larger = search._replace(
        forest=forest._replace(
            slots=np.zeros(2 * len(forest.slots), np.int32),
            **{name: _wider(getattr(forest, name)) for name in by_board},
        ),
        layers=layers._replace(
            keys=np.zeros(2 * len(layers.keys), np.uint64),
            slots=np.empty(2 * len(layers.slots), np.int32),
            **{name: _wider(getattr(layers, name)) for name in by_layer},
        ),
        work=work._replace(**{name: _wider(getattr(work, name)) for name in by_belief}),
    )
    tree.fill_slots(larger, layers.keys, layers.slots)
    return larger


def compiled_search(problem: Any, parameters: CompiledMinimaxParameters) -> RbcCompiledSearch:
    """Return the search: the component ``rbc-compiled``.

    Raises:
      UnsuitableGameError: the problem is not an `RbcProblem` that the kernel searches.
    """
    return RbcCompiledSearch(problem, parameters.bounds)


class RbcCompiledSearch(DeepeningSearch[RbcRoot]):
    """Searches beliefs of Reconnaissance Blind Chess, with the values of `RbcMinimaxSearch`.

    The line of a result has only the action. The search of a tree of more than four million boards
    ends as if its budget were spent.

    Args:
      bounds: ``none`` and ``table`` search with a full window and compute the value of each board
        that they meet. ``cores`` searches from above with null windows, with all that
        `kernels.belief_tree` knows.

    Raises:
      UnsuitableGameError: the problem is not an `RbcProblem`.
    """

    shares = False

    def __init__(self, problem: Any, bounds: CompiledBounds = "cores") -> None:
        if not isinstance(problem, RbcProblem):
            raise UnsuitableGameError(
                f"rbc-compiled searches the problem 'rbc', not {type(problem).__name__}; "
                "use the search 'recursive'"
            )
        rules = problem.rules
        super().__init__(problem, "null" if bounds == "cores" else "alpha-beta")
        self.problem = problem
        self._valuer = Valuer(rules.king_loss)
        self._search = _make_search(rules.senses, rules.moves)
        counts = self._search.counts
        counts[tree.KING_LOSS] = rules.king_loss or 0
        counts[tree.MATERIAL_KINGS] = rules.king_loss is not None
        counts[tree.BOUNDED] = bounds == "cores"
        counts[tree.TABLE] = bounds != "none"
        self._drawn: DrawnRoot | None = None
        self._tree: tuple[RbcRoot, int, int] | None = None
        self._player = self._searched = self._lowest = 0
        self._most, self._deadline = _UNLIMITED, math.inf

    def guarantees(self, root: RbcRoot, action: int, depth: int) -> float:
        """Return the value that an action guarantees; see `RbcMinimaxSearch.guarantees`."""
        judge = RbcMinimaxSearch(self.problem, named_bounds("table"))
        return judge.guarantees(root, action, depth)

    def candidates(self, root: RbcRoot) -> list[int]:
        """Return the senses or moves tried at a root, as actions, best first."""
        drawn = self._drawn
        if drawn is None or self._tree is None or self._tree[0] is not root:
            drawn = self.problem.draw(self._valuer, root, 1)
        own = own_pieces(drawn.rows[0], root.player)
        if root.senses:
            return drawn.candidates.senses(own, AT_ROOT)
        return [action_of(move) for move in drawn.candidates.requests(own, AT_ROOT)]

    @contextmanager
    def _limited(
        self, root: RbcRoot, depth: int, *, max_nodes: int | None, seconds: float | None
    ) -> Iterator[None]:
        check_depth(depth)
        # Only what is reported: settings and the tree stay.
        self._search.counts[list(_REPORTED.values())] = 0
        self._most = _UNLIMITED if max_nodes is None else max_nodes
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds
        self._searched = 0
        yield

    def _counts_of(self, root: RbcRoot) -> Mapping[str, int]:
        counts = {name: int(self._search.counts[index]) for name, index in _REPORTED.items()}
        return {**counts, "boards": self._searched, "root_boards": root.size}

    def _at_depth(self, root: RbcRoot, depth: int, guess: float | None) -> WindowResult:
        room = min(root.size, self.problem.room(depth))
        # Bounds on a request two moves before the end say nothing three moves before it.
        if (
            self._tree is None
            or self._tree[0] is not root
            or self._tree[1:] != (room, max(2, depth))
        ):
            self._plant(root, room)
            self._tree = (root, room, max(2, depth))
        if self.window == "null":
            result = self._from_above(root, depth, self._lowest if guess is None else guess)
        else:
            result = self._in_window(root, depth, _LOW - 1, _HIGH + 1)
        self._searched = room
        return result

    def _from_above(self, root: RbcRoot, depth: int, guess: float) -> WindowResult:
        """Find the value with null windows (MTD, Plaat et al. 1996).

        Below an upper bound the step doubles, until a window is too low; then the interval is
        halved. A lower bound is often the value itself, as the board that is worst in a window is
        often the worst of all: so the first question after it is for one centipawn more, which few
        boards refute.
        """
        least, greatest, line = _LOW, _HIGH, Line()
        beta, step = min(max(guess, least + 1), greatest), _FIRST_STEP
        tight = False  # whether beta is one more than a lower bound
        while least < greatest:
            result = self._in_window(root, depth, beta - 1, beta)
            value = min(max(result.value, _LOW), _HIGH)
            if value >= beta:
                least, line, tight = value, result.line, not tight
            else:
                greatest, line, tight = value, line or result.line, False
            if tight:
                beta = least + 1
            elif least > _LOW:
                beta = math.ceil((least + greatest) / 2)
            else:
                beta, step = max(greatest - step, _LOW + 1), 2 * step
        return WindowResult(least, line=line)

    def _in_window(self, root: RbcRoot, depth: int, alpha: float, beta: float) -> WindowResult:
        kind = tree.SENSING if root.senses else tree.MOVING
        size = self._tree[1] if self._tree else 0
        tree.push_root(self._search, kind, depth, int(alpha), int(beta), size)
        counts = self._search.counts
        while True:
            # A kernel holds back signals while it runs, so it returns every few thousand nodes.
            counts[tree.MAX_NODES] = min(self._most, counts[tree.NODES] + _PAUSE)
            reason = tree.run(self._search)
            if reason == tree.FINISHED:
                break
            if counts[tree.NODES] >= self._most or time.monotonic() >= self._deadline:
                raise BudgetSpentError
            if reason == tree.ROOM:
                if len(self._search.forest.rows) >= _MOST_BOARDS:
                    raise BudgetSpentError
                self._search = enlarge(self._search)
            elif reason == tree.CANDIDATES:
                self._choose(int(counts[tree.NEEDED]))
        layers, index = self._search.layers, int(counts[tree.ACTION])
        if root.senses and layers.facts[0, tree.SENSES] < 0:
            self._choose(0)  # the moves without a sense sufficed, so the first sense does
        action = (
            layers.windows[0, index] if root.senses else action_of(int(layers.requests[0, index]))
        )
        return WindowResult(min(float(counts[tree.VALUE]), _HIGH), line=((int(action), None),))

    def _plant(self, root: RbcRoot, room: int) -> None:
        """Begin a new tree with at most `room` boards of a root; values of boards are kept."""
        self._drawn = self.problem.draw(self._valuer, root, room)
        self._player = root.player
        # With room for the successors of one board the search can begin.
        while len(self._drawn.rows) + MAX_MOVES > len(self._search.forest.rows):
            self._search = enlarge(self._search)
        search = self._search
        search.forest.slots[:] = search.layers.keys[:] = search.cache.belief_keys[:] = 0
        search.counts[tree.PLAYER] = root.player
        tree.begin_tree(search, self._drawn.rows)
        self._choose(0)
        self._lowest = self._drawn.candidates.lowest

    def _choose(self, layer: int) -> None:
        """Choose what is tried in a layer, from the public part alone.

        With bounds the senses are chosen when they are needed, which is often never.
        """
        assert self._drawn is not None
        layers, rows = self._search.layers, self._search.forest.rows
        candidates, facts = self._drawn.candidates, layers.facts[layer]
        # A layer's public part is read off any board before it: own pieces are the same on all.
        row, capture = rows[:1], AT_ROOT
        if layer:
            source, capture = int(facts[tree.SOURCE]), int(facts[tree.CAPTURE])
            row = np.empty((1, WORDS), np.uint64)
            play_request(rows[source : source + 1], facts[tree.REQUEST], row, np.empty(1, np.int64))
        own = own_pieces(row[0], self._player)
        if facts[tree.REQUESTS] >= 0 or not self._search.counts[tree.BOUNDED]:
            senses = candidates.senses(own, capture)
            layers.windows[layer, : len(senses)], facts[tree.SENSES] = senses, len(senses)
        if facts[tree.REQUESTS] < 0:
            requests = candidates.requests(own, capture)
            layers.requests[layer, : len(requests)], facts[tree.REQUESTS] = requests, len(requests)


@cache
def load_compiled() -> None:
    """Load the compiled functions of the search, before a clock runs."""
    load_beliefs()
    boards = BoardSet.of_fens([BLACK_CAPTURES])
    after, _ = boards.after_opponent(None)
    with FAMILY.compiling("compiled minimax"):
        for bounds in get_args(CompiledBounds):
            problem = RbcProblem(MinimaxProblemParameters(senses=2))
            RbcCompiledSearch(problem, bounds).search(RbcRoot(after), 2)
        load_rare()
        enlarge(_make_search(1, 1))
