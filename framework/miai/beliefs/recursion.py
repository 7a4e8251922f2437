"""Alpha-beta over beliefs in plain Python: the definition of a value, and the oracle of all others.

`BeliefSearch` searches the roots of any `BeliefProblem` by a `Recursion`. At a node the player
chooses an action. Each observation that can follow leads to a successor belief, and the worst one
counts. A belief is a `Mask`, the bits of an integer.

Results are recorded as bounds, from which bounds on other beliefs follow. Where the bounds ask for
it, results are explained first. A *core* is a subset of a belief that fails by itself (B5): an
action that leads to a belief with a recorded core is refuted without a search. A *closure* is a set
of states that one strategy wins (B6).
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from miai.beliefs.bounds import MakeBounds, NoBounds, named_bounds
from miai.beliefs.deepening import BudgetSpentError, DeepeningSearch, Window, WindowResult
from miai.beliefs.problem import BeliefProblem, Public, Root, averages
from miai.beliefs.protocol import BeliefResult, BoundEntry, Line, Mask
from miai.beliefs.retention import ROWS, WIDTH
from miai.beliefs.sets import Universe, numbers
from miai.errors import ParameterError, UnsuitableGameError
from miai.parameters import Parameters, parameter
from miai.plugins.loader import registry

if TYPE_CHECKING:
    from miai.beliefs.compiled_search import CompiledSearch

# -- searching a root ------------------------------------------------------------------------------


class BeliefSearch(DeepeningSearch[Root[Public]], Generic[Public]):
    """Searches roots of any `BeliefProblem`, in plain Python.

    Args:
      make_bounds: makes the bounds of this search; see `miai.beliefs.named_bounds`.
      window: see `DeepeningSearch`.
      adaptive: whether the last best action under the same public part is tried first.

    Raises:
      UnsuitableGameError: the problem averages, and the bounds infer values of other beliefs.

    Attributes:
      recursion: the search below a root.
      bounds: the bounds recorded so far.
    """

    shares = False

    def __init__(
        self,
        problem: BeliefProblem[Public],
        make_bounds: MakeBounds,
        *,
        window: Window = "alpha-beta",
        adaptive: bool = False,
    ) -> None:
        super().__init__(problem, window)
        self.problem = problem
        self.recursion = Recursion(problem, make_bounds, adaptive=adaptive)
        self.bounds = self.recursion.bounds

    def guarantees(self, root: Root[Public], action: int, depth: int) -> float:
        """Return the value that an action guarantees at a root, with best play after it.

        Args:
          depth: as in `search`; the action's cost is included.
        """
        self.recursion.budget.begin()
        return self.recursion.guarantees(root, action, depth)

    @contextmanager
    def _limited(
        self, root: Root[Public], depth: int, *, max_nodes: int | None, seconds: float | None
    ) -> Iterator[None]:
        if depth < 1:
            raise ValueError(f"the depth of a search must be at least 1, not {depth}")
        universe = self.recursion.universe
        allowed = universe.all_of(root.public)
        if allowed is not None and universe.mask(root.hidden) & ~allowed:
            raise ValueError(f"the root has states that {root.public!r:.200} does not allow")
        self.recursion.budget.begin(max_nodes=max_nodes, seconds=seconds)
        yield

    def _in_window(self, root: Root[Public], depth: int, alpha: float, beta: float) -> WindowResult:
        return self.recursion.root(root, depth, alpha, beta)

    def _counts_of(self, root: Root[Public]) -> Mapping[str, int]:
        return self.recursion.counts()


def search_belief(
    problem: BeliefProblem[Public], root: Root[Public], depth: int, make_bounds: MakeBounds
) -> BeliefResult:
    """Search one root with new bounds; see `BeliefSearch`."""
    return BeliefSearch(problem, make_bounds).search(root, depth)


# -- the recursion ---------------------------------------------------------------------------------


@dataclass(slots=True)
class SearchBudget:
    """Counts the work of a search and stops it.

    Attributes:
      nodes: beliefs visited with a depth and a window, including those settled by a bound, states
        tried alone and repeated searches of one belief.
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


class NodeResult(NamedTuple):
    """The result of a node or of an action.

    Attributes:
      value: exact within the window; an upper bound at or below alpha, a lower bound at or above
        beta.
      core: for a value below beta, a subset of the belief that is worth at most `value`; 0 for the
        whole belief.
      closure: for a value of at least beta, a set of states in which one strategy gets at least
        beta; 0 for the belief itself.
      line: the expected actions and observations, up to where a bound settled the value.
    """

    value: float
    core: Mask = 0
    closure: Mask = 0
    line: Line = ()


class Refutation(NamedTuple):
    """A successor belief that refuted an earlier action of the same node.

    Attributes:
      public, depth: where the successor belief is searched.
      core: a subset of it that fails by itself.
      value: an upper bound on the core's value.
    """

    public: Hashable
    depth: int
    core: Mask
    value: float


class Branches(NamedTuple):
    """The outcomes of an action in a belief.

    Attributes:
      worst: the lowest terminal value; infinity if the action cannot end the game.
      culprit: a state in which the action can end the game with it.
      depth: the remaining depth.
      successors: observation, public part and belief of each successor, in the order of the search.
    """

    worst: float
    culprit: Mask
    depth: int
    successors: Sequence[tuple[Hashable, Any, Mask]]


class Recursion(Generic[Public]):
    """Alpha-beta over beliefs of one problem. The arguments are those of `BeliefSearch`.

    Attributes:
      universe: the states visited so far, and their numbers.
      bounds: records results and derives bounds from them.
      budget: counts and limits.
    """

    def __init__(
        self, problem: BeliefProblem[Public], make_bounds: MakeBounds, *, adaptive: bool = False
    ) -> None:
        self.universe = Universe(problem)
        self.bounds = make_bounds(self.universe)
        if averages(problem) and self.bounds.infers:
            raise UnsuitableGameError(
                "the problem averages over states: a larger belief may be worth more, so no belief "
                "bounds another; use the bounds 'table' or 'none'"
            )
        self.budget = SearchBudget()
        self._problem, self._adaptive = problem, adaptive
        self._remembers = type(self.bounds) is not NoBounds  # a subclass may have bounds
        self._favourites: dict[Public, int] = {}
        self._passed: dict[tuple[Public, int], tuple[float, Mask]] = {}

    def root(self, root: Root[Public], depth: int, alpha: float, beta: float) -> WindowResult:
        """Return the value of a root at a depth of at least 1, always with an action.

        Unlike `value` it ignores bounds on the belief itself, which settle a value without one.
        """
        self.budget.count(1)
        public, belief = root.public, self.universe.mask(root.hidden)
        result = self._best_action(public, belief, depth, alpha, beta)
        if self._remembers:
            self._record(public, depth, belief, result, alpha, beta)
        return WindowResult(result.value, result.line)

    def guarantees(self, root: Root[Public], action: int, depth: int) -> float:
        """Return the value that an action guarantees at a root, with best play after it."""
        belief, problem = self.universe.mask(root.hidden), self._problem
        least, greatest = problem.least, problem.greatest
        return self._action(root.public, belief, action, depth, least, greatest, 0, []).value

    def counts(self) -> dict[str, int]:
        """Return the counts of the last search, and those of the bounds."""
        budget = self.budget
        return {
            "nodes": budget.nodes,
            "leaves": budget.leaves,
            "singles": budget.singles,
            **{f"bounds_{key}": count for key, count in self.bounds.statistics().items()},
        }

    # -- nodes and actions ------------------------------------------------------------------------

    def value(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> NodeResult:
        """Return the value of a belief of at least one state, to the player who searches."""
        self.budget.count(1)
        low, high = alpha, beta
        if self._remembers:
            bound = self.bounds.probe(public, depth, belief)
            if bound.lower >= beta or bound.lower >= bound.upper:
                return NodeResult(bound.lower, bound.core, bound.closure)
            if bound.upper <= alpha:
                return NodeResult(bound.upper, bound.core)
            low, high = max(alpha, bound.lower), min(beta, bound.upper)
        if depth == 0:
            return self._leaf(public, belief)
        if self.bounds.singles and belief & (belief - 1):
            refuted = self._refuting_state(public, belief, depth, low, high)
            if refuted is not None:
                return refuted
        result = self._best_action(public, belief, depth, low, high)
        if self._remembers:
            self._record(public, depth, belief, result, low, high)
        return result

    def _best_action(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> NodeResult:
        """Return the best action's result; its core refutes all actions."""
        explains = self.bounds.explains
        best = NodeResult(-math.inf)
        low, core, whole = alpha, 0, not explains
        refutations: list[Refutation] = []
        for action in self._ordered(public):
            # The states that refuted earlier actions are suspected first: few of them are then
            # enough for a core that refutes all actions.
            result = self._action(public, belief, action, depth, low, beta, core, refutations)
            if explains:
                whole = whole or not result.core
                core |= result.core
            if result.value > best.value:
                best = result
            low = max(low, best.value)
            if best.value >= beta:
                break
        if self._adaptive and best.line:
            self._favourites[public] = best.line[0][0]
        refuting = 0 if whole or best.value >= beta else core
        return NodeResult(best.value, refuting, best.closure, best.line)

    def _action(
        self,
        public: Public,
        belief: Mask,
        action: int,
        depth: int,
        alpha: float,
        beta: float,
        suspects: Mask,
        refutations: list[Refutation],
    ) -> NodeResult:
        """Return the worst result of an action, with core and closure of this belief.

        Args:
          suspects: states that refuted earlier actions of this node.
          refutations: the successor beliefs that did so; one that refutes this action is added.
        """
        branches = self._branches(public, belief, action, depth, alpha, suspects, refutations)
        if isinstance(branches, NodeResult):
            return branches
        worst, core, remaining, successors = branches
        cause: tuple[Hashable, NodeResult] | None = None
        solved: dict[Hashable, Mask] = {}
        for observation, after, part in successors:
            result = self.value(after, part, remaining, alpha, min(beta, worst))
            if result.value < worst:
                worst, cause = result.value, (observation, result)
            if worst <= alpha:
                refutations.append(Refutation(after, remaining, result.core or part, worst))
                break
            solved[observation] = result.closure or part
        line: Line = ((action, None),)
        if cause is not None:
            line = ((action, cause[0]), *cause[1].line)
        if not self.bounds.explains or alpha < worst < beta:
            return NodeResult(worst, line=line)
        if worst >= beta:
            return NodeResult(worst, 0, self._closure(public, belief, action, solved, beta), line)
        if cause is not None:
            core = self._sources(public, belief, action, cause[0], cause[1].core, suspects)
        return NodeResult(worst, core, 0, line)

    def _ordered(self, public: Public) -> Sequence[int]:
        actions = self._problem.actions(public)
        favourite = self._favourites.get(public) if self._adaptive else None
        if favourite is None or favourite not in actions:
            return actions
        return [favourite, *(action for action in actions if action != favourite)]

    def _record(
        self,
        public: Public,
        depth: int,
        belief: Mask,
        result: NodeResult,
        alpha: float,
        beta: float,
    ) -> None:
        bounds, explains = self.bounds, self.bounds.explains
        if result.value > alpha:
            bounds.record(BoundEntry(True, public, depth, belief), result.value)
        larger = result.closure.bit_count() > belief.bit_count()
        if explains and result.value >= beta and larger:
            bounds.record(BoundEntry(True, public, depth, result.closure), beta)
        if result.value < beta:
            failing = (result.core if explains else 0) or belief
            bounds.record(BoundEntry(False, public, depth, failing), result.value)

    # -- the outcomes of an action ----------------------------------------------------------------

    def _branches(
        self,
        public: Public,
        belief: Mask,
        action: int,
        depth: int,
        alpha: float,
        suspects: Mask,
        refutations: Sequence[Refutation],
    ) -> Branches | NodeResult:
        """Return the outcomes of an action, the largest successor first as the likely worst.

        The action is refuted without a search if it can end the game at or below alpha, if the
        depth ends before anything is proved, or if a core that refuted an earlier action also
        refutes this one.
        """
        worst, culprit, parts = self._split(public, belief, action)
        if worst <= alpha:
            return NodeResult(worst, culprit, line=((action, None),))
        problem, explains = self._problem, self.bounds.explains
        cost = problem.cost(public, action)
        remaining = max(0, depth - cost)
        if explains and parts and cost and not remaining and problem.reachability:
            continuing = self._continuing_state(public, belief, action, suspects)
            return NodeResult(problem.least, continuing, line=((action, None),))
        successors = [
            (observation, problem.after(public, action, observation), part)
            for observation, part in sorted(parts.items(), key=lambda item: -item[1].bit_count())
        ]
        for observation, after, part in successors if explains and refutations else ():
            for earlier in refutations:
                if (
                    not earlier.core & ~part
                    and earlier.value <= alpha
                    and earlier.depth == remaining
                    and earlier.public == after
                ):
                    core = self._sources(
                        public, belief, action, observation, earlier.core, suspects
                    )
                    return NodeResult(earlier.value, core, line=((action, observation),))
        return Branches(worst, culprit, remaining, successors)

    def _sources(
        self,
        public: Public,
        belief: Mask,
        action: int,
        observation: Hashable,
        targets: Mask,
        suspects: Mask,
    ) -> Mask:
        """Return states of a belief that lead to all targets, suspects first; 0 for all of it.

        Args:
          targets: the core of the successor after `observation`; 0 for the whole successor.
        """
        if not targets:
            return 0
        sources = 0
        for candidates in (suspects & belief, belief & ~suspects):
            for number in numbers(candidates):
                outcomes = self.universe.outcomes(public, number, action)
                for reply, after in outcomes.after:
                    if reply == observation and after & targets:
                        sources |= 1 << number
                        targets &= ~after
                if not targets:
                    return sources
        return 0

    def _closure(
        self,
        public: Public,
        belief: Mask,
        action: int,
        solved: Mapping[Hashable, Mask],
        beta: float,
    ) -> Mask:
        """Return all states from which an action leads to solved states only.

        Args:
          solved: the closure of each successor, by observation.
          beta: the minimum value of an end of the game.
        """
        every = self.universe.all_of(public)
        if every is None:
            return 0
        closure = belief
        for number in numbers(every & ~belief):
            outcomes = self.universe.outcomes(public, number, action)
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
            outcomes = self.universe.outcomes(public, number, action)
            if outcomes.worst < worst:
                worst, culprit = outcomes.worst, 1 << number
            for observation, after in outcomes.after:
                parts[observation] = parts.get(observation, 0) | after
        return min(worst, self._problem.greatest), culprit, parts

    def _continuing_state(self, public: Public, belief: Mask, action: int, suspects: Mask) -> Mask:
        """Return a state in which an action may not end the game, preferably a suspect."""
        for candidates in (suspects & belief, belief & ~suspects):
            for number in numbers(candidates):
                if self.universe.outcomes(public, number, action).after:
                    return 1 << number
        return 0

    def _leaf(self, public: Public, belief: Mask) -> NodeResult:
        universe, budget = self.universe, self.budget
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
    ) -> NodeResult | None:
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
    from miai.beliefs.compiled_search import RULES, CompiledSearch

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
        counters = ROWS, WIDTH
    rule = replace(
        RULES[name],
        counters=counters,
        k=getattr(settings, "k", 1),
        threshold=getattr(settings, "threshold", 1.0),
        verified=getattr(settings, "verified", True),
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
