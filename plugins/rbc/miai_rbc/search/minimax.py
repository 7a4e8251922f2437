"""`rbc-minimax`: the search of `RbcProblem`, one to three own moves deep."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from miai.beliefs.bounds import MakeBounds, named_bounds
from miai.beliefs.protocol import Line
from miai.beliefs.search import NodeResult, RecursiveSearch, Window
from miai.beliefs.sets import HashedSet, Universe
from miai.errors import UnsuitableGameError
from miai_rbc.agents.belief_agents import load_beliefs
from miai_rbc.kernels import FAMILY
from miai_rbc.kernels.belief_search import Numbers
from miai_rbc.kernels.bits import WIN, Words
from miai_rbc.parameters import (
    MAX_OWN_MOVES,
    MinimaxProblemParameters,
    MinimaxRules,
    MinimaxSearchParameters,
)
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_of
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.rows import BLACK_CAPTURES
from miai_rbc.search.layers import (
    AT_ROOT,
    MOVE,
    SENSE,
    Candidates,
    Layer,
    Valuer,
    World,
    hashes_of,
    own_pieces,
)
from miai_rbc.search.problem import RbcProblem, RbcRoot
from miai_rbc.search.recursion import BoardRecursion, BoardResult

_LOW, _HIGH = -float(WIN), float(WIN)
_FIRST_STEP = 16.0  # centipawns
_64_BITS = (1 << 64) - 1


def minimax_search(problem: Any, parameters: MinimaxSearchParameters) -> RbcMinimaxSearch:
    """Return the search: the component ``rbc-minimax``.

    Raises:
      UnsuitableGameError: the problem is not an `RbcProblem`.
    """
    return RbcMinimaxSearch(
        problem,
        named_bounds(parameters.bounds, **parameters.bounds_parameters),
        window=parameters.window,
        blind_first=parameters.blind_first,
        singles=parameters.singles,
    )


class RbcMinimaxSearch(RecursiveSearch[RbcRoot]):
    """Searches beliefs of Reconnaissance Blind Chess, one to three own moves deep.

    If a root has more boards than the rules allow at a depth, a sample is searched. Its value is an
    upper bound of the root's, and the statistics give both numbers of boards: ``boards`` searched
    and ``root_boards``. They also count ``valued``, the boards that the engine valued. The action
    of a result is a sense or a move of the game.

    Args:
      make_bounds: see `miai.beliefs.named_bounds`; beliefs reach the bounds as `HashedSet`.
      window, blind_first, singles: see `MinimaxSearchParameters`.

    Raises:
      UnsuitableGameError: the problem is not an `RbcProblem`.
    """

    _recursion: BoardRecursion

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
                "use the search 'recursive'"
            )
        self.problem = problem
        # Hashed sets need no universe; bounds only ask it whether they hold across depths.
        stub = SimpleNamespace(problem=problem)
        bounds = make_bounds(cast("Universe[Any]", stub))
        recursion = BoardRecursion(
            bounds, forgiven=problem.rules.forgiven, blind_first=blind_first, singles=singles
        )
        super().__init__(problem, recursion, window)
        self._valuer = Valuer(problem.rules)
        self._valued_before = self._searched_boards = 0
        self._root_layer: tuple[RbcRoot, int, Layer] | None = None

    def guarantees(self, root: RbcRoot, action: int, depth: int) -> float:
        """Return the value that a sense or a move guarantees at a root, with best play after it.

        It need not be a candidate of the search.

        Raises:
          ValueError: the depth is not 1 to 3, or the root has no such action.
        """
        check_depth(depth)
        recursion = self._recursion
        recursion.budget.begin()
        layer = self.layer(root, depth)
        boards, alpha, beta = np.arange(len(layer)), _below(_LOW), _above(_HIGH)
        if root.senses:
            if not (0 <= action < SENSE_NOTHING and 0 < action % 8 < 7 and 0 < action // 8 < 7):
                raise ValueError(f"{action} is not the centre of a window to sense")
            phase, kernel_action = SENSE, action
        else:
            requests = {PASS: 0, **{action_of(move): move for move in root.boards.requests()}}
            if action not in requests:
                raise ValueError(
                    f"{action} is not a request at the root; requests are actions from {PASS} on"
                )
            phase, kernel_action = MOVE, requests[action]
        result = recursion.action(layer.places[phase], boards, kernel_action, depth, alpha, beta)
        return min(result.value, _HIGH)

    def value_at(self, layer: Layer, phase: int, part: Numbers, depth: int) -> float:
        """Return the value of some boards of a layer, at least one, in a phase of the tree."""
        recursion = self._recursion
        recursion.budget.begin()
        result = recursion.value(layer.places[phase], part, depth, _below(_LOW), _above(_HIGH))
        return min(result.value, _HIGH)

    def candidates(self, root: RbcRoot) -> list[int]:
        """Return the senses or moves tried at a root, as actions, best first."""
        layer = self.layer(root, 1)
        return layer.senses() if root.senses else [action_of(move) for move in layer.requests()]

    def _begin(self, root: RbcRoot, depth: int) -> None:
        check_depth(depth)
        self._valued_before, self._searched_boards = self._valuer.valued, 0

    def _statistics(self, root: RbcRoot) -> dict[str, int]:
        return {
            "valued": self._valuer.valued - self._valued_before,
            "boards": self._searched_boards,
            "root_boards": root.size,
        }

    def _at_depth(self, root: RbcRoot, depth: int, guess: float | None) -> BoardResult:
        if self.window == "null":
            result = self._null_windows(root, depth, guess or 0.0)
        else:
            result = self._in_window(root, depth, _below(_LOW), _above(_HIGH))
            result = result._replace(value=min(result.value, _HIGH))
        self._searched_boards = len(self.layer(root, depth))
        return result

    def _in_window(self, root: RbcRoot, depth: int, alpha: float, beta: float) -> BoardResult:
        layer = self.layer(root, depth)
        place, boards = layer.places[SENSE if root.senses else MOVE], np.arange(len(layer))
        return self._recursion.root(place, boards, depth, alpha, beta)

    def _null_windows(self, root: RbcRoot, depth: int, guess: float) -> BoardResult:
        """Find the value with null windows (MTD(f)).

        A bound says no more than was asked, and single centipawns would take too many searches. So
        the step doubles while the answers agree, and the interval is halved once they differ.
        """
        least, greatest, line = _LOW, _HIGH, Line()
        beta, step, rose = _above(guess), _FIRST_STEP, None
        while least < greatest:
            beta = min(max(beta, _above(least)), greatest)
            result = self._in_window(root, depth, _below(beta), beta)
            value = min(max(result.value, _LOW), _HIGH)
            rises = value >= beta
            if rises:
                least, line = value, result.line or line
            else:
                greatest, line = value, line or result.line
            if rose is None or rises == rose:
                rose = rises
                beta = value + step if rises else _above(value - step)
                step *= 2
            else:
                beta = math.ceil((least + greatest) / 2)
        return NodeResult(least, line=line)

    def layer(self, root: RbcRoot, depth: int) -> Layer:
        """Return the layer of a root: its boards, or a sample of them."""
        room = min(root.size, self.problem.room(depth))
        if self._root_layer is None or self._root_layer[:2] != (root, room):
            self._valuer.forget()
            self._root_layer = (root, room, self._new_layer(root, room))
        return self._root_layer[2]

    def _new_layer(self, root: RbcRoot, room: int) -> Layer:
        drawn = draw_root(self.problem.rules, self._valuer, root, room)
        world = World(drawn.name, root.player, self._valuer, drawn.candidates)
        own = own_pieces(drawn.rows[0], root.player)
        return world.layer(drawn.rows, hashes_of(drawn.rows), own, AT_ROOT)[0]


class DrawnRoot(NamedTuple):
    """The boards of a root that are searched.

    Attributes:
      name: identifies the boards from which candidates are chosen.
      rows: (n, 8) in the order of their hashes.
      candidates: chooses senses and moves.
    """

    name: int
    rows: Words
    candidates: Candidates


def draw_root(rules: MinimaxRules, valuer: Valuer, root: RbcRoot, room: int) -> DrawnRoot:
    """Return at most `room` boards of a root, drawn by the seed of the rules and the boards."""
    rows = np.ascontiguousarray(root.boards.rows)
    hashes = hashes_of(rows)
    order = np.argsort(hashes)
    rows, hashes = rows[order], hashes[order]
    rng = np.random.default_rng((rules.seed, HashedSet(hashes).key & _64_BITS))
    sample = _sample(rng, len(rows), rules.sample)
    subset = _sample(rng, len(rows), room)
    candidates = Candidates(rules, valuer, rows[sample], root.player)
    return DrawnRoot(HashedSet(hashes[sample]).key, rows[subset], candidates)


def _sample(rng: np.random.Generator, size: int, count: int) -> Numbers:
    """Return increasing numbers below a size: all, or a sample without repetition."""
    if count >= size:
        return np.arange(size)
    return np.sort(rng.choice(size, count, replace=False))


def check_depth(depth: int) -> None:
    """Raise `ValueError` for a depth that is not searched."""
    if not 1 <= depth <= MAX_OWN_MOVES:
        raise ValueError(f"rbc-minimax searches 1 to {MAX_OWN_MOVES} own moves deep, not {depth}")


def _below(value: float) -> float:
    """Return the next value: all are whole centipawns."""
    return value - 1.0


def _above(value: float) -> float:
    return value + 1.0


@cache
def load_minimax(bounds: str) -> None:
    """Load the compiled functions of a search two moves deep with some bounds."""
    load_beliefs()
    boards = BoardSet.of_fens([BLACK_CAPTURES])
    after, _ = boards.after_opponent(None)
    with FAMILY.compiling("minimax"):
        for forgiven in (0, 1):
            problem = RbcProblem(MinimaxProblemParameters(forgiven=forgiven, senses=2))
            search = RbcMinimaxSearch(problem, named_bounds(bounds), blind_first=True, singles=True)
            search.search(RbcRoot(after), 2)
