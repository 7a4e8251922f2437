"""Alpha-beta over beliefs, depth by depth, for every representation of a set of states.

`BeliefSearch` searches the roots of any `BeliefProblem`. At a node the player chooses an action.
Each observation that can follow leads to a successor belief, and the worst one counts.

`Recursion` is the search itself. A subclass brings the sets of states, the successors and the
values where the depth ends: `MaskRecursion` for the bits of an integer, and a plugin its own, as
Reconnaissance Blind Chess does for arrays of board numbers.

Results are recorded as bounds, from which bounds on other beliefs follow. Where the bounds ask for
it, results are explained first. A *core* is a subset of a belief that fails by itself (B5): an
action that leads to a belief with a recorded core is refuted without a search. A *closure* is a set
of states that one strategy wins (B6).
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from miai.beliefs.bounds import MakeBounds, NoBounds, named_bounds
from miai.beliefs.problem import BeliefProblem, Public, Root, averages
from miai.beliefs.protocol import AnyBelief, BeliefResult, BoundEntry, Bounds, Line
from miai.beliefs.retention import CountSketchParameters
from miai.beliefs.sets import Mask, Universe, numbers, size_of
from miai.errors import ParameterError, UnsuitableGameError
from miai.parameters import Parameters, parameter
from miai.plugins.loader import registry

if TYPE_CHECKING:
    from miai.beliefs.compiled.search import CompiledSearch

StateSet = TypeVar("StateSet")
Place = TypeVar("Place", bound=Hashable)
RootType = TypeVar("RootType")

Window = Literal["alpha-beta", "null"]

# -- searching a root ------------------------------------------------------------------------------


class ValueRange(Protocol):
    """The possible values of a problem; see `BeliefProblem`."""

    @property
    def least(self) -> float:
        """The lowest value."""

    @property
    def greatest(self) -> float:
        """The highest value."""

    @property
    def reachability(self) -> bool:
        """Whether every value is one of these two."""


class DeepeningSearch(ABC, Generic[RootType]):
    """Searches roots of one problem, depth by depth; bounds recorded at one root serve the next.

    Args:
      window: ``alpha-beta`` searches with a full window; ``null`` with null windows, from the top
        of the range down (MTD, Plaat et al. 1996).

    Attributes:
      values: the range of the problem's values.
      enumeration_seconds: see `BeliefResult`; of the last search.
    """

    enumeration_seconds = 0.0

    def __init__(self, values: ValueRange, window: Window) -> None:
        self.values, self.window = values, window

    def search(
        self,
        root: RootType,
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Return the value of a root at a depth, and the best action.

        Args:
          depth: the depth, in units of `BeliefProblem.cost`; at least 1.
          deepening: whether to search depths 1, 2, ... first; a budget implies it.
          max_nodes, seconds: the budget. When it is spent, the last complete depth counts.

        Raises:
          ValueError: the depth or the root is not valid.
          UnsuitableGameError: the depth exceeds Python's recursion limit.
        """
        step_by_step = deepening or max_nodes is not None or seconds is not None
        result: NodeResult[Any] = NodeResult(self.values.least)
        last_depth, won = 0, False
        try:
            with self._limited(root, depth, max_nodes=max_nodes, seconds=seconds):
                for current in range(1 if step_by_step else depth, depth + 1):
                    result = self._at_depth(root, current, result.value if last_depth else None)
                    last_depth = current
                    won = self.values.reachability and result.value >= self.values.greatest
                    if won:
                        break  # this is the shortest win; a longer line need not make progress
        except BudgetSpentError:
            pass  # the last complete depth counts
        except RecursionError as error:
            raise UnsuitableGameError(
                f"a search of depth {depth} exceeds Python's recursion limit; reduce the depth, or "
                "use the search 'compiled'"
            ) from error
        return BeliefResult(
            value=result.value,
            action=result.line[0][0] if result.line else -1,
            depth=last_depth,
            line=result.line,
            complete=last_depth == depth or won,
            statistics=self._counts_of(root),
            enumeration_seconds=self.enumeration_seconds,
        )

    def _at_depth(self, root: RootType, depth: int, guess: float | None) -> NodeResult[Any]:
        """Return the exact value at one depth, and the line.

        Args:
          guess: the value at the depth before; None at first.
        """
        least, greatest = self.values.least, self.values.greatest
        if self.window == "alpha-beta":
            # Values at the ends of the range are exact although they lie outside the open window.
            return self._in_window(root, depth, least, greatest)
        line: Line = ()
        beta = greatest if guess is None or guess <= least else guess
        while least < greatest:
            result = self._in_window(root, depth, math.nextafter(beta, -math.inf), beta)
            if result.value >= beta:
                least, line = beta, result.line or line
            else:
                greatest, line = result.value, line or result.line
            # Go down: an upper bound is a value that occurs, a lower bound only the one tested.
            beta = greatest
        return NodeResult(least, line=line)

    @abstractmethod
    def _limited(
        self, root: RootType, depth: int, *, max_nodes: int | None, seconds: float | None
    ) -> AbstractContextManager[None]:
        """Prepare a search and limit its budget; raise ValueError for a bad root or depth."""

    @abstractmethod
    def _in_window(self, root: RootType, depth: int, alpha: float, beta: float) -> NodeResult[Any]:
        """Return the value of a root in a window; raise `BudgetSpentError` without budget."""

    @abstractmethod
    def _counts_of(self, root: RootType) -> Mapping[str, int]:
        """Return the counts of the last search, which was of this root."""


class RecursiveSearch(DeepeningSearch[RootType]):
    """Searches by a `Recursion`.

    Attributes:
      bounds: the bounds recorded so far.
    """

    prepares = False

    def __init__(self, values: ValueRange, recursion: Recursion[Any, Any], window: Window) -> None:
        super().__init__(values, window)
        self.bounds, self._recursion = recursion.bounds, recursion

    def prepare(self, root: RootType, depth: int) -> None:
        """Do nothing: states are enumerated as the search reaches them."""

    def _limited(
        self, root: RootType, depth: int, *, max_nodes: int | None, seconds: float | None
    ) -> AbstractContextManager[None]:
        self._begin(root, depth)
        self._recursion.budget.begin(max_nodes=max_nodes, seconds=seconds)
        return nullcontext()

    def _counts_of(self, root: RootType) -> Mapping[str, int]:
        budget = self._recursion.budget
        return {
            "nodes": budget.nodes,
            "leaves": budget.leaves,
            "singles": budget.singles,
            **self._statistics(root),
            **{f"bounds_{key}": count for key, count in self.bounds.statistics().items()},
        }

    @abstractmethod
    def _begin(self, root: RootType, depth: int) -> None:
        """Prepare a search; raise ValueError if the root or the depth is not valid."""

    def _statistics(self, root: RootType) -> Mapping[str, int]:
        """Return further counts of the last search."""
        return {}


class BeliefSearch(RecursiveSearch[Root[Public]], Generic[Public]):
    """Searches roots of any `BeliefProblem`, in plain Python.

    Args:
      make_bounds: makes the bounds of this search; see `miai.beliefs.named_bounds`.
      window: see `DeepeningSearch`.
      adaptive: whether the last best action under the same public part is tried first.

    Raises:
      UnsuitableGameError: the problem averages, and the bounds infer values of other beliefs.

    Attributes:
      universe: the states visited so far, and their numbers.
    """

    def __init__(
        self,
        problem: BeliefProblem[Public],
        make_bounds: MakeBounds,
        *,
        window: Window = "alpha-beta",
        adaptive: bool = False,
    ) -> None:
        self.problem, self.universe = problem, Universe(problem)
        bounds = make_bounds(self.universe)
        if averages(problem) and bounds.infers:
            raise UnsuitableGameError(
                "the problem averages over states: a larger belief may be worth more, so no belief "
                "bounds another; use the bounds 'table' or 'none'"
            )
        recursion = MaskRecursion(self.universe, bounds, adaptive=adaptive)
        super().__init__(problem, recursion, window)

    def guarantees(self, root: Root[Public], action: int, depth: int) -> float:
        """Return the value that an action guarantees at a root, with best play after it.

        Args:
          depth: as in `search`; the action's cost is included.
        """
        self._recursion.budget.begin()
        belief, values = self.universe.mask(root.hidden), self.values
        result = self._recursion.action(
            root.public, belief, action, depth, values.least, values.greatest
        )
        return result.value

    def _begin(self, root: Root[Public], depth: int) -> None:
        if depth < 1:
            raise ValueError(f"the depth of a search must be at least 1, not {depth}")
        allowed = self.universe.all_of(root.public)
        if allowed is not None and self.universe.mask(root.hidden) & ~allowed:
            raise ValueError(f"the root has states that {root.public!r:.200} does not allow")

    def _in_window(
        self, root: Root[Public], depth: int, alpha: float, beta: float
    ) -> NodeResult[Any]:
        belief = self.universe.mask(root.hidden)
        return self._recursion.root(root.public, belief, depth, alpha, beta)


def search_belief(
    problem: BeliefProblem[Public],
    root: Root[Public],
    depth: int,
    make_bounds: MakeBounds,
    *,
    window: Window = "alpha-beta",
) -> BeliefResult:
    """Search one root with new bounds; see `BeliefSearch`."""
    return BeliefSearch(problem, make_bounds, window=window).search(root, depth)


# -- the recursion ---------------------------------------------------------------------------------


class BudgetSpentError(Exception):
    """The node or time budget is spent; the search unwinds."""


@dataclass(slots=True)
class SearchBudget:
    """Counts the work of a search and stops it.

    Attributes:
      nodes: beliefs visited with a depth and a window, including those settled by a bound, states
        tried alone and repeated searches of one belief. A request of Reconnaissance Blind Chess
        that is valued where the depth ends counts once for all boards, or once for each board
        tried alone.
      leaves: states evaluated where the depth ends.
      singles: the nodes that were states tried alone.
      max_nodes: maximum number of nodes; None for unlimited.
      deadline: when to stop, in seconds of the monotonic clock; None for never.
    """

    nodes: int = 0
    leaves: int = 0
    singles: int = 0
    max_nodes: int | None = None
    deadline: float | None = None

    def begin(self, *, max_nodes: int | None = None, seconds: float | None = None) -> None:
        """Reset the counts and set the limits."""
        self.nodes = self.leaves = self.singles = 0
        self.max_nodes = max_nodes
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def count(self, nodes: int) -> None:
        """Count nodes.

        Raises:
          BudgetSpentError: a limit is exceeded.
        """
        self.nodes += nodes
        if self.max_nodes is not None and self.nodes > self.max_nodes:
            raise BudgetSpentError
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise BudgetSpentError


class NodeResult(NamedTuple, Generic[StateSet]):
    """The result of a node or of an action.

    Attributes:
      value: exact within the window; an upper bound at or below alpha, a lower bound at or above
        beta.
      core: for a value below beta, a subset of the belief that is worth at most `value`; None for
        the whole belief.
      closure: for a value of at least beta, a set of states in which one strategy gets at least
        beta; None for the belief itself.
      line: the expected actions and observations, up to where a bound settled the value.
    """

    value: float
    core: StateSet | None = None
    closure: StateSet | None = None
    line: Line = ()


class Refutation(NamedTuple, Generic[Place, StateSet]):
    """A successor belief that refuted an earlier action of the same node.

    Attributes:
      place, depth: where the successor belief is searched.
      core: a subset of it that fails by itself.
      value: an upper bound on the core's value.
    """

    place: Place
    depth: int
    core: StateSet
    value: float


class Branches(NamedTuple, Generic[Place, StateSet]):
    """The outcomes of an action in a belief.

    Attributes:
      worst: the lowest terminal value; infinity if the action cannot end the game.
      culprit: a state in which the action can end the game with it.
      depth: the remaining depth.
      successors: observation, place and belief of each successor, in the order of the search.
    """

    worst: float
    culprit: StateSet | None
    depth: int
    successors: Sequence[tuple[Hashable, Place, StateSet]]


class Recursion(ABC, Generic[Place, StateSet]):
    """Alpha-beta over beliefs of one representation.

    A *place* is the public part and the phase of the turn; with a set of states it makes a belief.

    Attributes:
      bounds: records results and derives bounds from them.
      budget: counts and limits.
      adaptive: whether to try the last best action at a place first.
      explains_exact: whether values inside the window get a core too, not only those at or below
        alpha.
    """

    adaptive = False
    explains_exact = False

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.budget = SearchBudget()
        self._remembers = type(bounds) is not NoBounds  # a subclass may have bounds
        self._favourites: dict[Place, int] = {}

    # The representation: sets, successors and leaves.

    @abstractmethod
    def key(self, place: Place, belief: StateSet) -> tuple[Hashable, AnyBelief]:
        """Return the public part and the belief as the bounds store them."""

    @abstractmethod
    def from_bounds(self, place: Place, belief: AnyBelief) -> StateSet | None:
        """Return the set of a belief that the bounds returned; None without one."""

    @abstractmethod
    def union(self, first: StateSet, second: StateSet) -> StateSet:
        """Return the union of two sets."""

    @abstractmethod
    def settle(
        self, place: Place, belief: StateSet, depth: int, alpha: float, beta: float
    ) -> NodeResult[StateSet] | None:
        """Return the result of a leaf, or of a state that alone refutes the belief; else None."""

    @abstractmethod
    def actions(self, place: Place, belief: StateSet) -> Sequence[int]:
        """Return the actions to try, in order."""

    @abstractmethod
    def branches(
        self,
        place: Place,
        belief: StateSet,
        action: int,
        depth: int,
        alpha: float,
        beta: float,
        suspects: StateSet | None,
        refutations: Sequence[Refutation[Place, StateSet]],
    ) -> Branches[Place, StateSet] | NodeResult[StateSet]:
        """Return the outcomes of an action, or its result if no successor needs a search.

        Args:
          suspects: states that refuted earlier actions of this node.
          refutations: the successor beliefs that did so.
        """

    @abstractmethod
    def played(self, place: Place, action: int, observation: Hashable) -> Line:
        """Return an action and the observation after it as the beginning of a line."""

    @abstractmethod
    def sources(
        self,
        place: Place,
        belief: StateSet,
        action: int,
        observation: Hashable,
        targets: StateSet | None,
        suspects: StateSet | None,
    ) -> StateSet | None:
        """Return states of a belief that lead to all targets, suspects first; None for all.

        Args:
          targets: the core of the successor after `observation`; None for the whole successor.
        """

    @abstractmethod
    def closure(
        self,
        place: Place,
        belief: StateSet,
        action: int,
        solved: Mapping[Hashable, StateSet],
        beta: float,
    ) -> StateSet | None:
        """Return all states from which an action leads to solved states only.

        Args:
          solved: the closure of each successor, by observation.
          beta: the minimum value of an end of the game.
        """

    # The search.

    def value(
        self, place: Place, belief: StateSet, depth: int, alpha: float, beta: float
    ) -> NodeResult[StateSet]:
        """Return the value of a belief of at least one state, to the player who searches."""
        self.budget.count(1)
        low, high = alpha, beta
        if self._remembers:
            public, stored = self.key(place, belief)
            bound = self.bounds.probe(public, depth, stored)
            if bound.lower >= beta or bound.lower >= bound.upper:
                core = self.from_bounds(place, bound.core)
                return NodeResult(bound.lower, core, self.from_bounds(place, bound.closure))
            if bound.upper <= alpha:
                return NodeResult(bound.upper, self.from_bounds(place, bound.core))
            low, high = max(alpha, bound.lower), min(beta, bound.upper)
        settled = self.settle(place, belief, depth, low, high)
        if settled is not None:
            return settled
        result = self.search_actions(place, belief, depth, low, high)
        if self._remembers:
            self._record(place, public, depth, stored, result, low, high)
        return result

    def root(
        self, place: Place, belief: StateSet, depth: int, alpha: float, beta: float
    ) -> NodeResult[StateSet]:
        """Return the value of a root at a depth of at least 1, always with an action.

        Unlike `value` it ignores bounds on the belief itself, which settle a value without one.
        """
        self.budget.count(1)
        result = self.search_actions(place, belief, depth, alpha, beta)
        if self._remembers:
            public, stored = self.key(place, belief)
            self._record(place, public, depth, stored, result, alpha, beta)
        return result

    def search_actions(
        self,
        place: Place,
        belief: StateSet,
        depth: int,
        alpha: float,
        beta: float,
        suspects: StateSet | None = None,
    ) -> NodeResult[StateSet]:
        """Return the best action's result; its core refutes all actions.

        Args:
          suspects: states that are likely to refute actions.
        """
        explains = self.bounds.explains
        best: NodeResult[StateSet] = NodeResult(-math.inf)
        low, core, whole = alpha, None, not explains
        refutations: list[Refutation[Place, StateSet]] = []
        for action in self._ordered(place, belief):
            result = self.action(place, belief, action, depth, low, beta, suspects, refutations)
            if explains:
                if result.core is None:
                    whole = True
                else:
                    core = result.core if core is None else self.union(core, result.core)
                    suspects = core
            if result.value > best.value:
                best = result
            low = max(low, best.value)
            if best.value >= beta:
                break
        if self.adaptive and best.line:
            self._favourites[place] = best.line[0][0]
        refuting = None if whole or best.value >= beta else core
        return NodeResult(best.value, refuting, best.closure, best.line)

    def action(
        self,
        place: Place,
        belief: StateSet,
        action: int,
        depth: int,
        alpha: float,
        beta: float,
        suspects: StateSet | None = None,
        refutations: list[Refutation[Place, StateSet]] | None = None,
    ) -> NodeResult[StateSet]:
        """Return the worst result of an action, with core and closure of this belief.

        Args:
          suspects, refutations: as in `branches`; a successor that refutes this action is added.
        """
        refutations = [] if refutations is None else refutations
        branches = self.branches(place, belief, action, depth, alpha, beta, suspects, refutations)
        if isinstance(branches, NodeResult):
            return branches
        worst, core, remaining, successors = branches
        cause: tuple[Hashable, NodeResult[StateSet]] | None = None
        solved: dict[Hashable, StateSet] = {}
        for observation, after, part in successors:
            result = self.value(after, part, remaining, alpha, min(beta, worst))
            if result.value < worst:
                worst, cause = result.value, (observation, result)
            if worst <= alpha:
                failing = part if result.core is None else result.core
                refutations.append(Refutation(after, remaining, failing, worst))
                break
            solved[observation] = part if result.closure is None else result.closure
        if cause is None:
            line = self.played(place, action, None)
        else:
            line = (*self.played(place, action, cause[0]), *cause[1].line)
        if not self.bounds.explains or (alpha < worst < beta and not self.explains_exact):
            return NodeResult(worst, None, None, line)
        if worst >= beta:
            closure = self.closure(place, belief, action, solved, beta)
            return NodeResult(worst, None, closure, line)
        if cause is not None:
            core = self.sources(place, belief, action, cause[0], cause[1].core, suspects)
        return NodeResult(worst, core, None, line)

    def _ordered(self, place: Place, belief: StateSet) -> Sequence[int]:
        actions = self.actions(place, belief)
        favourite = self._favourites.get(place) if self.adaptive else None
        if favourite is None or favourite not in actions:
            return actions
        return [favourite, *(action for action in actions if action != favourite)]

    def _record(
        self,
        place: Place,
        public: Hashable,
        depth: int,
        stored: AnyBelief,
        result: NodeResult[StateSet],
        alpha: float,
        beta: float,
    ) -> None:
        bounds, explains = self.bounds, self.bounds.explains
        if result.value > alpha:
            bounds.record(BoundEntry(True, public, depth, stored), result.value)
        if explains and result.value >= beta and result.closure is not None:
            _, closure = self.key(place, result.closure)
            if size_of(closure) > size_of(stored):
                bounds.record(BoundEntry(True, public, depth, closure), beta)
        if result.value < beta:
            if explains and result.core is not None:
                _, stored = self.key(place, result.core)
            bounds.record(BoundEntry(False, public, depth, stored), result.value)


# -- the recursion over masks ----------------------------------------------------------------------


class MaskRecursion(Recursion[Public, Mask]):
    """Alpha-beta over beliefs that are bits of an integer; a place is the public part.

    Args:
      universe: numbers the states of the problem.
    """

    def __init__(
        self, universe: Universe[Public], bounds: Bounds, *, adaptive: bool = False
    ) -> None:
        super().__init__(bounds)
        self.adaptive = adaptive
        self._universe = universe
        self._problem = universe.problem
        self._passed: dict[tuple[Hashable, int], tuple[float, Mask]] = {}

    def key(self, place: Public, belief: Mask) -> tuple[Hashable, AnyBelief]:
        """Return both unchanged."""
        return place, belief

    def from_bounds(self, place: Public, belief: AnyBelief) -> Mask | None:
        """Return the mask; None for 0."""
        return belief or None

    def union(self, first: Mask, second: Mask) -> Mask:
        """Return the union of two masks."""
        return first | second

    def actions(self, place: Public, belief: Mask) -> Sequence[int]:
        """Return the actions in the problem's order."""
        return self._problem.actions(place)

    def played(self, place: Public, action: int, observation: Hashable) -> Line:
        """Return the action and the observation."""
        return ((action, observation),)

    def settle(
        self, place: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> NodeResult[Mask] | None:
        """Return the result of a leaf, or of a state that alone refutes the belief; else None."""
        if depth == 0:
            return self._leaf(place, belief)
        if self.bounds.singles and belief & (belief - 1):
            return self._refuting_state(place, belief, depth, alpha, beta)
        return None

    def branches(
        self,
        place: Public,
        belief: Mask,
        action: int,
        depth: int,
        alpha: float,
        beta: float,
        suspects: Mask | None,
        refutations: Sequence[Refutation[Public, Mask]],
    ) -> Branches[Public, Mask] | NodeResult[Mask]:
        """Return the outcomes of an action, the largest successor first as the likely worst.

        The action is refuted without a search if it can end the game at or below alpha, if the
        depth ends before anything is proved, or if a core that refuted an earlier action also
        refutes this one.
        """
        worst, culprit, parts = self._split(place, belief, action)
        if worst <= alpha:
            return NodeResult(worst, culprit, line=((action, None),))
        problem, explains = self._problem, self.bounds.explains
        cost = problem.cost(place, action)
        remaining = max(0, depth - cost)
        if explains and parts and cost and not remaining and problem.reachability:
            continuing = self._continuing_state(place, belief, action, suspects or 0)
            return NodeResult(problem.least, continuing, line=((action, None),))
        successors = [
            (observation, problem.after(place, action, observation), part)
            for observation, part in sorted(parts.items(), key=lambda item: -item[1].bit_count())
        ]
        for observation, after, part in successors if explains and refutations else ():
            for earlier in refutations:
                if (
                    not earlier.core & ~part
                    and earlier.value <= alpha
                    and earlier.depth == remaining
                    and earlier.place == after
                ):
                    core = self.sources(place, belief, action, observation, earlier.core, suspects)
                    return NodeResult(earlier.value, core, line=((action, observation),))
        return Branches(worst, culprit, remaining, successors)

    def sources(
        self,
        place: Public,
        belief: Mask,
        action: int,
        observation: Hashable,
        targets: Mask | None,
        suspects: Mask | None,
    ) -> Mask | None:
        """Return states of a belief that lead to all targets, suspects first; None for all."""
        if not targets:
            return None
        likely, sources = suspects or 0, 0
        for candidates in (likely & belief, belief & ~likely):
            for number in numbers(candidates):
                outcomes = self._universe.outcomes(place, number, action)
                for reply, after in outcomes.after:
                    if reply == observation and after & targets:
                        sources |= 1 << number
                        targets &= ~after
                if not targets:
                    return sources
        return None

    def closure(
        self,
        place: Public,
        belief: Mask,
        action: int,
        solved: Mapping[Hashable, Mask],
        beta: float,
    ) -> Mask | None:
        """Return all states from which an action leads to solved states only."""
        every = self._universe.all_of(place)
        if every is None:
            return None
        closure = belief
        for number in numbers(every & ~belief):
            outcomes = self._universe.outcomes(place, number, action)
            if outcomes.worst >= beta and all(
                not after & ~solved.get(observation, 0) for observation, after in outcomes.after
            ):
                closure |= 1 << number
        return closure

    def _split(
        self, public: Public, belief: Mask, action: int
    ) -> tuple[float, Mask, dict[Hashable, Mask]]:
        """Return the worst end of the game, a state that leads to it, and the successors."""
        worst, culprit = math.inf, 0
        parts: dict[Hashable, Mask] = {}
        for number in numbers(belief):
            outcomes = self._universe.outcomes(public, number, action)
            if outcomes.worst < worst:
                worst, culprit = outcomes.worst, 1 << number
            for observation, after in outcomes.after:
                parts[observation] = parts.get(observation, 0) | after
        return min(worst, self._problem.greatest), culprit, parts

    def _continuing_state(
        self, public: Public, belief: Mask, action: int, suspects: Mask
    ) -> Mask | None:
        """Return a state in which an action may not end the game, preferably a suspect."""
        for candidates in (suspects & belief, belief & ~suspects):
            for number in numbers(candidates):
                if self._universe.outcomes(public, number, action).after:
                    return 1 << number
        return None

    def _leaf(self, public: Public, belief: Mask) -> NodeResult[Mask]:
        universe, budget = self._universe, self.budget
        if averages(self._problem):
            budget.leaves += belief.bit_count()
            values = [universe.value(public, number) for number in numbers(belief)]
            return NodeResult(math.fsum(values) / len(values), belief, belief)
        worst, culprit = math.inf, 0
        for number in numbers(belief):
            budget.leaves += 1
            value = universe.value(public, number)
            if value < worst:
                worst, culprit = value, 1 << number
        closure = belief
        if self.bounds.explains and (every := universe.all_of(public)) is not None:
            for number in numbers(every):
                if universe.value(public, number) >= worst:
                    closure |= 1 << number
        return NodeResult(worst, culprit, closure)

    def _refuting_state(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> NodeResult[Mask] | None:
        """Return the result of a state that alone is worth at most alpha; None without one."""
        threshold, survivors = self._passed.get((public, depth), (alpha, 0))
        if alpha > threshold:
            survivors = 0
        for number in numbers(belief & ~survivors):
            self.budget.singles += 1
            result = self.value(public, 1 << number, depth, alpha, beta)
            if result.value <= alpha:
                self._passed[public, depth] = (alpha, survivors)
                return NodeResult(result.value, 1 << number)
            survivors |= 1 << number
        if alpha >= threshold:
            self._passed[public, depth] = (alpha, survivors)
        return None


# -- components ------------------------------------------------------------------------------------


class BeliefSearchParameters(Parameters):
    """Parameters of `recursive` and `compiled`."""

    bounds: str = parameter(
        "cores", component="bounds", help="Bounds on beliefs: what the search records and infers"
    )
    bounds_parameters: dict[str, Any] = parameter({}, help="Parameters of the bounds")
    window: Window = parameter(
        "null", help="Search window: one full window, or a series of null windows"
    )
    adaptive: bool = parameter(
        False, help="Try the last best action under the same public part first"
    )


class CompiledSearchParameters(BeliefSearchParameters):
    """Parameters of `compiled`."""

    symmetries: bool = parameter(
        False, help="Search equivalent positions once, if the problem knows its symmetries"
    )


def recursive(problem: BeliefProblem[Any], parameters: BeliefSearchParameters) -> BeliefSearch[Any]:
    """Return the search in plain Python, for any `BeliefProblem` and any bounds.

    Raises:
      UnsuitableGameError: the problem is not a `BeliefProblem`.
    """
    _check(problem)
    return BeliefSearch(
        problem,
        named_bounds(parameters.bounds, **parameters.bounds_parameters),
        window=parameters.window,
        adaptive=parameters.adaptive,
    )


def compiled(
    problem: BeliefProblem[Any], parameters: CompiledSearchParameters
) -> CompiledSearch[Any]:
    """Return the compiled search, for problems that can be enumerated and the framework's bounds.

    Raises:
      ParameterError: the bounds are of a plugin, or they forget entries.
      UnsuitableGameError: the problem cannot be enumerated.
    """
    from miai.beliefs.compiled.search import RULES, CompiledSearch

    _check(problem)
    name = parameters.bounds
    settings = registry().get("bounds", name).fill(parameters.bounds_parameters)
    if name not in RULES:
        raise ParameterError(
            f"bounds: the compiled search supports {', '.join(RULES)}, not {name!r}; "
            "use the search 'recursive'"
        )
    limit, retention = getattr(settings, "limit", None), getattr(settings, "retention", "none")
    counters = None
    if limit is not None and retention != "none":
        if retention != "count-sketch" or name in ("table", "singles"):
            raise ParameterError(
                "bounds_parameters.retention: the compiled search forgets entries by "
                "'count-sketch' only, and none of a table; set that or 'none', or use the search "
                "'recursive'"
            )
        sketch = CountSketchParameters()
        counters = sketch.rows, sketch.width
    rule = replace(
        RULES[name],
        counters=counters,
        k=getattr(settings, "k", 1),
        threshold=getattr(settings, "threshold", 1.0),
        across=name == "cores" and problem.reachability,
        singles=getattr(settings, "singles", RULES[name].singles),
    )
    return CompiledSearch(
        problem,
        rule,
        limit=limit,
        window=parameters.window,
        adaptive=parameters.adaptive,
        symmetries=parameters.symmetries,
    )


def _check(problem: object) -> None:
    if not isinstance(problem, BeliefProblem):
        raise UnsuitableGameError(
            f"{type(problem).__name__} is not a BeliefProblem; use the search of its plugin "
            "(`miai list belief-search`)"
        )
