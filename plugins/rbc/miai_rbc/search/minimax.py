"""`rbc-minimax` as a search: roots of `RbcProblem`, one or two own moves deep."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal, cast

import numpy as np

from miai.beliefs.bounds import MakeBounds, named_bounds
from miai.beliefs.search import BeliefResult, BudgetSpentError, Line
from miai.beliefs.sets import HashedSet, Universe
from miai.errors import UnsuitableGameError
from miai_rbc.belief.loading import load_beliefs
from miai_rbc.kernels.belief_boards import hash_boards
from miai_rbc.kernels.belief_subsets import Numbers
from miai_rbc.kernels.bits import WIN
from miai_rbc.parameters import DEEPEST_SEARCH, MinimaxSearchParameters
from miai_rbc.rules.actions import FIRST_MOVE, PASS, SENSE_NOTHING, action_of
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.rows import BLACK_CAPTURES
from miai_rbc.search.layers import AT_ROOT, MOVE, SENSE, Candidates, Layer, World, own_pieces
from miai_rbc.search.problem import RbcProblem, RbcRoot
from miai_rbc.search.recursion import BoardNodeResult, BoardRecursion
from miai_rbc.search.valuing import Valuer

Window = Literal["alpha-beta", "null"]

_LOW, _HIGH = -float(WIN), float(WIN)
_FIRST_STEP = 16.0  # centipawns
_64_BITS = (1 << 64) - 1


def minimax_search(problem: Any, parameters: MinimaxSearchParameters) -> RbcMinimaxSearch:
    """Return the search: the component ``rbc-minimax``.

    Raises:
      UnsuitableGameError: the problem is none of Reconnaissance Blind Chess.
    """
    given = parameters
    make = named_bounds(given.bounds, **given.bounds_parameters)
    return RbcMinimaxSearch(
        problem, make, window=given.window, blind_first=given.blind_first, singles=given.singles
    )


class RbcMinimaxSearch:
    """Values beliefs of Reconnaissance Blind Chess. What it learns of one root serves the next.

    Of a root with more boards than the rules allow at a depth a sample is searched: its value is
    not below that of the root, and statistics say how many boards there were.

    Args:
      make_bounds: see `miai.beliefs.named_bounds`; they are given `HashedSet` objects.
      window, blind_first, singles: see `MinimaxSearchParameters`.

    Attributes:
      bounds: what was learnt.

    Raises:
      UnsuitableGameError: the problem is no `RbcProblem`.
    """

    prepares = False

    def __init__(
        self,
        problem: Any,
        make_bounds: MakeBounds,
        *,
        window: Window = "alpha-beta",
        blind_first: bool = False,
        singles: bool | None = None,
    ) -> None:
        if not isinstance(problem, RbcProblem):
            raise UnsuitableGameError(
                f"rbc-minimax searches the problem 'rbc', not {type(problem).__name__}; "
                "take the search 'recursive'"
            )
        self.problem, self.window = problem, window
        # Sets of hashes need no universe; of it bounds ask whether bounds hold across depths.
        stub = SimpleNamespace(problem=problem)
        self.bounds = make_bounds(cast("Universe[Any]", stub))
        self._valuer = Valuer(problem.rules)
        self._recursion = BoardRecursion(
            self.bounds, forgiven=problem.rules.forgiven, blind_first=blind_first, singles=singles
        )
        self._at: tuple[RbcRoot, int, Layer] | None = None

    def prepare(self, root: RbcRoot, depth: int) -> None:
        """Do nothing: boards are valued as they are met."""

    def search(
        self,
        root: RbcRoot,
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Return the value of a root at a depth, and the best sense or move, an action of the game.

        Args and returns: as `miai.beliefs.BeliefSearch.search`. The statistics count also
        ``valued``, boards that the engine valued, ``boards``, those searched, and ``root_boards``.

        Raises:
          ValueError: the depth is neither 1 nor 2.
        """
        _check_depth(depth)
        recursion = self._recursion
        recursion.meter.begin(max_nodes=max_nodes, seconds=seconds)
        valued = self._valuer.valued
        step_by_step = deepening or max_nodes is not None or seconds is not None
        found, done, boards, guess = BoardNodeResult(_LOW), 0, 0, 0.0
        try:
            for current in range(1 if step_by_step else depth, depth + 1):
                layer = self.layer(root, current)
                found = self._at_depth(layer, root, current, guess)
                done, boards, guess = current, len(layer), found.value
        except BudgetSpentError:
            pass  # the last complete depth counts
        return BeliefResult(
            value=found.value,
            action=found.line[0][0] if found.line else -1,
            depth=done,
            line=found.line,
            complete=done == depth,
            statistics={
                "nodes": recursion.meter.nodes,
                "leaves": recursion.meter.leaves,
                "singles": recursion.meter.singles,
                "valued": self._valuer.valued - valued,
                "boards": boards,
                "root_boards": root.size,
                **{f"bounds_{key}": count for key, count in self.bounds.statistics().items()},
            },
        )

    def guarantees(self, root: RbcRoot, action: int, depth: int) -> float:
        """Return what a sense or a move guarantees at a root, the best being played after it.

        It need not be one that a search would try.

        Raises:
          ValueError: the depth is neither 1 nor 2, or the root has no such action.
        """
        _check_depth(depth)
        recursion = self._recursion
        recursion.meter.begin()
        layer = self.layer(root, depth)
        chosen, alpha, beta = np.arange(len(layer)), _below(_LOW), _above(_HIGH)
        if root.senses:
            if not (0 <= action < SENSE_NOTHING and 0 < action % 8 < 7 and 0 < action // 8 < 7):
                raise ValueError(f"{action} is not the centre of a window to sense")
            phase, kernel_action = SENSE, action
        else:
            known = {PASS: 0, **{action_of(move): move for move in root.boards.requests()}}
            if action not in known:
                raise ValueError(f"{action} is no request (from {PASS}, {FIRST_MOVE}) at the root")
            phase, kernel_action = MOVE, known[action]
        nobody = np.empty(0, np.int64)
        found = recursion.action(layer, phase, chosen, kernel_action, depth, alpha, beta, nobody)
        return min(found.value, _HIGH)

    def value_of_part(self, root: RbcRoot, part: Numbers, depth: int) -> float:
        """Return the value of some boards of a root, with the candidates of the root.

        Args:
          part: increasing numbers below that of the boards searched, at least one; boards stand in
            the order of their hashes.

        Raises:
          ValueError: the depth is neither 1 nor 2.
        """
        _check_depth(depth)
        return self.value_at(self.layer(root, depth), SENSE if root.senses else MOVE, part, depth)

    def value_at(self, layer: Layer, phase: int, part: Numbers, depth: int) -> float:
        """As `value_of_part`, of boards of any layer of the tree, with what comes next there."""
        recursion = self._recursion
        recursion.meter.begin()
        found = recursion.value(layer, phase, part, depth, _below(_LOW), _above(_HIGH))
        return min(found.value, _HIGH)

    def candidates(self, root: RbcRoot) -> list[int]:
        """Return the senses or moves that are tried at a root, as actions, the best first."""
        layer = self.layer(root, 1)
        return layer.senses() if root.senses else [action_of(move) for move in layer.requests()]

    def _at_depth(self, layer: Layer, root: RbcRoot, depth: int, guess: float) -> BoardNodeResult:
        phase, chosen = SENSE if root.senses else MOVE, np.arange(len(layer))
        search = self._recursion.root
        if self.window == "alpha-beta":
            return _clipped(search(layer, phase, chosen, depth, _below(_LOW), _above(_HIGH)))
        return self._null_windows(layer, phase, chosen, depth, guess)

    def _null_windows(
        self, layer: Layer, phase: int, chosen: Numbers, depth: int, guess: float
    ) -> BoardNodeResult:
        """Ask again and again whether the value is at least so much (MTD(f)).

        Steps double as long as the answer is the same, and are halved between two answers: bounds
        say no more than was asked, and by single centipawns it would take long.
        """
        least, greatest, line = _LOW, _HIGH, Line()
        beta, step, rose = _above(guess), _FIRST_STEP, None
        while least < greatest:
            beta = min(max(beta, _above(least)), greatest)
            found = self._recursion.root(layer, phase, chosen, depth, _below(beta), beta)
            value = min(max(found.value, _LOW), _HIGH)
            rises = value >= beta
            if rises:
                least, line = value, found.line or line
            else:
                greatest, line = value, line or found.line
            if rose is None or rises == rose:
                rose = rises
                beta = value + step if rises else _above(value - step)
                step *= 2
            else:
                beta = math.ceil((least + greatest) / 2)
        return BoardNodeResult(least, line=line)

    def layer(self, root: RbcRoot, depth: int) -> Layer:
        """Return the layer of a root: its boards, or a sample of them, sorted by their hashes."""
        rules = self.problem.rules
        limit = rules.boards if depth == 1 else rules.deep_boards
        room = min(limit, root.size)
        if self._at is None or self._at[0] is not root or self._at[1] != room:
            self._valuer.forget()
            self._at = (root, room, self._made(root, room))
        return self._at[2]

    def _made(self, root: RbcRoot, room: int) -> Layer:
        rules, player = self.problem.rules, root.player
        rows = np.ascontiguousarray(root.boards.rows)
        hashes = np.empty(len(rows), np.uint64)
        hash_boards(rows, hashes)
        order = np.argsort(hashes)
        rows, hashes = rows[order], hashes[order]
        rng = np.random.default_rng((rules.seed, HashedSet(hashes).key & _64_BITS))
        drawn = _sample(rng, len(rows), rules.sample)
        searched = _sample(rng, len(rows), room)
        name = HashedSet(hashes[drawn]).key
        candidates = Candidates(rules, self._valuer, rows[drawn], player)
        world = World(name, player, self._valuer, candidates)
        layer, _ = world.layer(
            rows[searched], hashes[searched], own_pieces(rows[0], player), AT_ROOT
        )
        return layer


def _sample(rng: np.random.Generator, size: int, count: int) -> Numbers:
    """Return increasing numbers below a size: all, or some drawn without repetition."""
    if count >= size:
        return np.arange(size)
    return np.sort(rng.choice(size, count, replace=False))


def _check_depth(depth: int) -> None:
    if not 1 <= depth <= DEEPEST_SEARCH:
        raise ValueError(f"rbc-minimax goes 1 or {DEEPEST_SEARCH} own moves deep, not {depth}")


def _clipped(found: BoardNodeResult) -> BoardNodeResult:
    return found._replace(value=min(found.value, _HIGH))


def _below(value: float) -> float:
    """Return the next value: all are whole centipawns."""
    return value - 1.0


def _above(value: float) -> float:
    return value + 1.0


@cache
def load_minimax(bounds: str) -> None:
    """Load what the search over beliefs calls, two moves deep, with bounds of a name."""
    from miai_rbc.kernels.belief_leaves import FAMILY as MINIMAX
    from miai_rbc.parameters import MinimaxProblemParameters

    load_beliefs()
    boards = BoardSet.of_fens([BLACK_CAPTURES])
    after, _ = boards.after_opponent(None)
    with MINIMAX.compiling("minimax"):
        for forgiven in (0, 1):
            problem = RbcProblem(MinimaxProblemParameters(forgiven=forgiven, senses=2))
            search = RbcMinimaxSearch(problem, named_bounds(bounds), blind_first=True, singles=True)
            search.search(RbcRoot(after), 2)
