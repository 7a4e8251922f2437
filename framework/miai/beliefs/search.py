"""Alpha-beta over beliefs, with bounds on beliefs that were never searched.

At a node the player chooses an action; for each observation that it can lead to there is a child,
and the worst of them counts. What was found is handed to the bounds, as it is or *explained*: of a
node that failed low the *core*, few states that fail by themselves; of one that failed high the
*closure*, all states for which the same strategy does as well. For bounds that ask for it each
state is tried alone before its belief is searched, since the worst of them is an upper bound (B4).
Where results are explained, an action is refuted without a search by what refuted another, and
where nothing more can be proved.

What comparisons and agents ask of searches over beliefs, and of problems with roots.

Both are components: kind ``belief-search`` is a `BeliefSearcher`, kind ``belief-problem`` a
`RootedProblem`. `miai.beliefs.search.BeliefSearch` searches every `BeliefProblem`; a plugin
may bring a problem of another form together with the search that knows it.

Searching a root: deeper and deeper, with one window or with many narrow ones.

Why a belief fails or wins: cores and closures, traced back through one action.

A *core* is a part of a belief that fails by itself (B5); a *closure* all states among which a
strategy wins (B6). An action that leads to a belief with a core that failed is refuted without a
search, as the actions of a sense often are: their windows leave the same states together.

The searches over beliefs that the framework registers, with their parameters.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, runtime_checkable

from miai.beliefs.bounds import Bounds, MakeBounds, named_bounds
from miai.beliefs.problem import BeliefProblem, Public, Root, averages
from miai.beliefs.sets import Mask, Universe, numbers
from miai.errors import ParameterError, UnsuitableGameError
from miai.parameters import Parameters, parameter
from miai.plugins.loader import registry

if TYPE_CHECKING:
    from miai.beliefs.compiled.search import CompiledSearch


class Refutation(NamedTuple):
    """What refuted an action at a node.

    Attributes:
      public, depth: of the belief that it led to.
      core: states of that belief that fail by themselves.
      value: what they are worth at most.
    """

    public: Hashable
    depth: int
    core: Mask
    value: float

    def holds(self, public: Hashable, depth: int, belief: Mask, alpha: float) -> bool:
        """Return whether it refutes another action, which leads to a belief."""
        return (
            not self.core & ~belief
            and self.value <= alpha
            and self.depth == depth
            and self.public == public
        )


def sources(
    universe: Universe[Any],
    public: Hashable,
    belief: Mask,
    action: int,
    observation: Hashable,
    targets: Mask,
    core: Mask,
) -> Mask:
    """Return states of a belief that lead to all targets; those of the core at hand first."""
    if not targets:
        return belief
    chosen = 0
    for some in (core & belief, belief & ~core):
        for number in numbers(some):
            for told, after in universe.outcomes(public, number, action).after:
                if told == observation and after & targets:
                    chosen |= 1 << number
                    targets &= ~after
            if not targets:
                return chosen
    return belief


def going_on(
    universe: Universe[Any], public: Hashable, belief: Mask, action: int, core: Mask
) -> Mask:
    """Return a state that an action need not end the game in; of the core at hand, if it can be."""
    for some in (core & belief, belief & ~core):
        for number in numbers(some):
            if universe.outcomes(public, number, action).after:
                return 1 << number
    return 0


def closure_of(
    universe: Universe[Any],
    public: Hashable,
    belief: Mask,
    action: int,
    solved: dict[Hashable, Mask],
    beta: float,
) -> Mask:
    """Return the states of which an action leads into what is solved, whatever happens."""
    every = universe.all_of(public)
    if every is None:
        return belief
    closure = belief
    for number in numbers(every & ~belief):
        outcomes = universe.outcomes(public, number, action)
        if outcomes.worst >= beta and all(
            not after & ~solved.get(observation, 0) for observation, after in outcomes.after
        ):
            closure |= 1 << number
    return closure


INFINITE = float("inf")


Line = tuple[tuple[int, Hashable], ...]
"""Actions, each with what is then told."""


class BudgetSpentError(Exception):
    """The nodes or the time allowed are used up; the search unwinds."""


class NodeResult(NamedTuple):
    """What a node returned.

    Attributes:
      value: exact within the window, else a bound: at most alpha an upper, at least beta a lower.
      core: states of the belief that are worth at most `value` by themselves; where it failed low.
      closure: states among which the same strategy gets at least beta; where it failed high.
      line: what is expected: the best action and the observation that is worst for it, and so on,
        as far as beliefs were searched and not known.
    """

    value: float
    core: Mask = 0
    closure: Mask = 0
    line: Line = ()


@dataclass(slots=True)
class SearchCounts:
    """What a search did.

    Attributes:
      nodes: beliefs looked at with a depth and a window: probes that settle one, states tried
        alone and searches of one belief again included.
      leaves: states evaluated where the depth ended.
      singles: of the nodes, states tried alone.
    """

    nodes: int = 0
    leaves: int = 0
    singles: int = 0


class Recursion(Generic[Public]):
    """Values beliefs at a depth within a window.

    Attributes:
      universe: numbers the states of the problem.
      bounds: what is known, and what is found is told to.
      counts: what was done since it was made.
      max_nodes, deadline: where it stops with `BudgetSpentError`; the latter on the monotonic
        clock.
      adaptive: whether the action that was best last under a public part is tried first; else the
        problem's order is kept.
    """

    def __init__(
        self, universe: Universe[Public], bounds: Bounds, *, adaptive: bool = False
    ) -> None:
        self.universe = universe
        self.bounds = bounds
        self.counts = SearchCounts()
        self.max_nodes: int | None = None
        self.deadline: float | None = None
        self.adaptive = adaptive
        self._problem = universe.problem
        self._passed: dict[tuple[Hashable, int], tuple[float, Mask]] = {}
        self._best: dict[Hashable, int] = {}  # the action that was best last, by public part

    def value(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> NodeResult:
        """Return the value of a belief that is not empty, to the player who searches."""
        self._count()
        known = self.bounds.probe(public, depth, belief)
        if known.lower >= beta or known.lower >= known.upper:
            return NodeResult(known.lower, core=known.core, closure=known.closure)
        if known.upper <= alpha:
            return NodeResult(known.upper, core=known.core)
        low, high = max(alpha, known.lower), min(beta, known.upper)
        if depth == 0:
            return self._leaf(public, belief)
        if self.bounds.singles and belief & (belief - 1):
            refuted = self._refuting_state(public, belief, depth, low, high)
            if refuted is not None:
                return refuted
        found = self._best_action(public, belief, depth, low, high)
        self._record(public, depth, belief, found, low, high)
        return found

    def root(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> NodeResult:
        """As `value`, of a depth of at least 1, and always with an action.

        What is known of the belief itself would settle its value and name none.
        """
        self._count()
        found = self._best_action(public, belief, depth, alpha, beta)
        self._record(public, depth, belief, found, alpha, beta)
        return found

    # -- a node ---------------------------------------------------------------------------------

    def _best_action(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> NodeResult:
        best, line, core, closure = -INFINITE, Line(), 0, 0
        low = alpha
        refuted: list[Refutation] = []
        for action in self._ordered(public):
            found = self._action(public, belief, action, depth, low, beta, core, refuted)
            core |= found.core
            if found.value > best:
                best, line, closure = found.value, found.line, found.closure
            low = max(low, best)
            if best >= beta:
                break
        if line:
            self._best[public] = line[0][0]
        return NodeResult(best, core if best <= alpha else 0, closure if best >= beta else 0, line)

    def _action(
        self,
        public: Public,
        belief: Mask,
        action: int,
        depth: int,
        alpha: float,
        beta: float,
        core: Mask,
        refuted: list[Refutation],
    ) -> NodeResult:
        """Return the worst that an action can lead to; its core and closure are of this belief."""
        worst, culprit, parts = self._split(public, belief, action)
        line: Line = ((action, None),)
        if worst <= alpha:
            return NodeResult(worst, core=culprit, line=line)
        problem, explains = self._problem, self.bounds.explains
        cost = problem.cost(public, action)
        left = max(0, depth - cost)
        if explains and parts and cost and not left and problem.reachability:
            # Nothing is proved where the depth ends: one state that goes on is enough.
            goes_on = going_on(self.universe, public, belief, action, core)
            return NodeResult(
                problem.least, core=goes_on if problem.least <= alpha else 0, line=line
            )
        # The largest part first: it is likeliest to be the worst.
        after = [
            (problem.after(public, action, observation), observation, part)
            for observation, part in sorted(parts.items(), key=lambda item: -item[1].bit_count())
        ]
        for later, observation, part in after if explains else ():
            for known in refuted:
                if known.holds(later, left, part, alpha):
                    found = NodeResult(known.value, core=known.core)
                    return self._failed(public, belief, action, observation, found, core)
        solved: dict[Hashable, Mask] = {}
        for later, observation, part in after:
            found = self.value(later, part, left, alpha, min(beta, worst))
            if found.value < worst:
                worst, line = found.value, ((action, observation), *found.line)
            if worst <= alpha:
                refuted.append(Refutation(later, left, found.core or part, worst))
                return self._failed(public, belief, action, observation, found, core)
            solved[observation] = found.closure
        closure = belief if worst >= beta else 0
        if closure and explains:
            closure = closure_of(self.universe, public, belief, action, solved, beta)
        return NodeResult(worst, closure=closure, line=line)

    def _failed(
        self,
        public: Public,
        belief: Mask,
        action: int,
        observation: Hashable,
        found: NodeResult,
        core: Mask,
    ) -> NodeResult:
        """Return what refutes an action, as states of the belief before it."""
        blame = belief
        if self.bounds.explains:
            blame = sources(self.universe, public, belief, action, observation, found.core, core)
        return NodeResult(found.value, core=blame, line=((action, observation), *found.line))

    def _split(
        self, public: Public, belief: Mask, action: int
    ) -> tuple[float, Mask, dict[Hashable, Mask]]:
        """Return the worst end of the game, a state that leads to it, and what is told else."""
        worst, culprit = INFINITE, 0
        parts: dict[Hashable, Mask] = {}
        for number in numbers(belief):
            outcomes = self.universe.outcomes(public, number, action)
            if outcomes.worst < worst:
                worst, culprit = outcomes.worst, 1 << number
            for observation, after in outcomes.after:
                parts[observation] = parts.get(observation, 0) | after
        return min(worst, self._problem.greatest), culprit, parts

    def _leaf(self, public: Public, belief: Mask) -> NodeResult:
        if averages(self._problem):
            self.counts.leaves += belief.bit_count()
            values = [self.universe.value(public, number) for number in numbers(belief)]
            return NodeResult(math.fsum(values) / len(values), core=belief, closure=belief)
        worst, culprit = INFINITE, 0
        for number in numbers(belief):
            self.counts.leaves += 1
            value = self.universe.value(public, number)
            if value < worst:
                worst, culprit = value, 1 << number
        closure = 0
        if self.bounds.explains and (every := self.universe.all_of(public)) is not None:
            for number in numbers(every):
                if self.universe.value(public, number) >= worst:
                    closure |= 1 << number
        return NodeResult(worst, core=culprit, closure=closure | belief)

    # -- what was found ---------------------------------------------------------------------------

    def _record(
        self,
        public: Public,
        depth: int,
        belief: Mask,
        found: NodeResult,
        alpha: float,
        beta: float,
    ) -> None:
        explains = self.bounds.explains
        if found.value > alpha:
            self.bounds.record_lower(public, depth, belief, found.value)
        if explains and found.value >= beta and found.closure & ~belief:
            self.bounds.record_lower(public, depth, found.closure, beta)
        if found.value < beta:
            core = found.core if explains and found.value <= alpha else belief
            self.bounds.record_upper(public, depth, core or belief, found.value)

    # -- states alone ---------------------------------------------------------------------------

    def _refuting_state(
        self, public: Public, belief: Mask, depth: int, alpha: float, beta: float
    ) -> NodeResult | None:
        """Return the value of a state that alone is worth at most alpha; None without one."""
        threshold, passed = self._passed.get((public, depth), (alpha, 0))
        if alpha > threshold:
            passed = 0
        for number in numbers(belief & ~passed):
            self.counts.singles += 1
            found = self.value(public, 1 << number, depth, alpha, beta)
            if found.value <= alpha:
                self._passed[public, depth] = (alpha, passed)
                return NodeResult(found.value, core=1 << number)
            passed |= 1 << number
        if alpha >= threshold:
            self._passed[public, depth] = (alpha, passed)
        return None

    # -- order and budget -----------------------------------------------------------------------

    def _ordered(self, public: Public) -> list[int]:
        actions = list(self._problem.actions(public))
        best = self._best.get(public)
        if self.adaptive and best is not None and best in actions:
            actions.remove(best)
            actions.insert(0, best)
        return actions

    def _count(self) -> None:
        self.counts.nodes += 1
        if self.max_nodes is not None and self.counts.nodes > self.max_nodes:
            raise BudgetSpentError
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise BudgetSpentError


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefResult:
    """What a search found.

    Attributes:
      value: of the root at `depth`, to the player who searches; exact, but for `approx-` bounds.
        The least value when not even depth 1 was done.
      action: the best one; -1 when not even depth 1 was done.
      depth: the depth that was searched to its end; where that wins, no greater one is searched.
      line: the best action and the worst observation after it, and so on.
      complete: whether the depth asked for was reached, or a win before.
      statistics: counts: nodes, leaves, singles, and those of the bounds, ``bounds_entries`` and
        ``bounds_bytes`` among them where the bounds hold any.
    """

    value: float
    action: int
    depth: int
    line: Line
    complete: bool
    statistics: Mapping[str, int]


@runtime_checkable
class BeliefSearcher(Protocol):
    """Values roots of one problem; what it learns of one serves the next.

    Attributes:
      prepares: whether `prepare` computes all that the problem keeps, so that a search takes as
        long with a problem that others have searched.
    """

    prepares: bool

    def prepare(self, root: Any, depth: int) -> None:
        """Do whatever can be done before a search, as enumerating a game; nothing is learnt."""

    def search(
        self,
        root: Any,
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Return the value of a root at a depth, and the best action; see `BeliefSearch.search`."""

    def guarantees(self, root: Any, action: int, depth: int) -> float:
        """Return what an action guarantees at a root, the best being played after it."""


class SizedRoot(Protocol):
    """Where a search begins.

    Attributes:
      size: the states of its belief.
    """

    @property
    def size(self) -> int:
        """The states of the belief."""


@runtime_checkable
class RootedProblem(Protocol):
    """A problem that draws roots of its own.

    Attributes:
      root_classes: the names of the classes of roots.
    """

    root_classes: Sequence[str]

    def roots(self, kind: str, count: int, *, depth: int, seed: int) -> Sequence[SizedRoot]:
        """Return roots of a class, the same for the same arguments; fewer are the first of more.

        Raises:
          ValueError: there is no such class, or it has too few roots.
        """


Window = Literal["alpha-beta", "null"]


class BeliefSearch(Generic[Public]):
    """Values beliefs of one problem; what it learns of one root serves the next.

    Args:
      make_bounds: makes the bounds of this search; see `miai.beliefs.named_bounds`.
      window: ``alpha-beta`` searches with a full window, ``null`` asks again and again whether the
        value is at least so much, from above (MTD, Plaat et al. 1996).
      adaptive: whether the best action of an earlier search is tried first.

    Raises:
      UnsuitableGameError: the bounds bound beliefs by others, and the problem averages.

    Attributes:
      universe: the states met so far and their numbers.
      bounds: what was learnt.
    """

    prepares = False

    def __init__(
        self,
        problem: BeliefProblem[Public],
        make_bounds: MakeBounds,
        *,
        window: Window = "alpha-beta",
        adaptive: bool = False,
    ) -> None:
        self.problem, self.window = problem, window
        self.universe = Universe(problem)
        self.bounds = make_bounds(self.universe)
        if averages(problem) and self.bounds.infers:
            raise UnsuitableGameError(
                "means over states do not fall as states are added, so that no belief bounds "
                "another; search it with the bounds 'table' or 'none'"
            )
        self._recursion = Recursion(self.universe, self.bounds, adaptive=adaptive)

    def prepare(self, root: Root[Public], depth: int) -> None:
        """Do nothing: states are asked for as they are met."""

    def search(
        self,
        root: Root[Public],
        depth: int,
        *,
        deepening: bool = False,
        max_nodes: int | None = None,
        seconds: float | None = None,
    ) -> BeliefResult:
        """Return the value of a belief at a depth, and the best action.

        Args:
          depth: what it may cost, as `BeliefProblem.cost` counts; at least 1.
          deepening: whether depth 1, 2, ... are searched before; always with a budget.
          max_nodes, seconds: the budget; what the last complete depth said is returned when it
            ends.

        Raises:
          ValueError: the depth is less than 1, or the root has states that its public part does
            not allow.
          UnsuitableGameError: it is too deep for a search in Python.
        """
        if depth < 1:
            raise ValueError(f"a search goes at least one deep, not {depth}")
        self._check(root)
        recursion = self._recursion
        recursion.counts = SearchCounts()
        recursion.max_nodes = max_nodes
        recursion.deadline = None if seconds is None else time.monotonic() + seconds
        belief = recursion.universe.mask(root.hidden)
        step_by_step = deepening or max_nodes is not None or seconds is not None
        found, done, won = NodeResult(self.problem.least), 0, False
        try:
            for current in range(1 if step_by_step else depth, depth + 1):
                found = self._at_depth(root.public, belief, current, found.value)
                done = current
                won = self.problem.reachability and found.value >= self.problem.greatest
                if won:
                    break  # the shortest way to win: it leads on, a longer one need not
        except BudgetSpentError:
            pass  # the last complete depth counts
        except RecursionError as error:
            raise UnsuitableGameError(
                f"a search of depth {depth} calls itself more often than Python allows; search "
                "less deep, or with 'compiled'"
            ) from error
        return BeliefResult(
            value=found.value,
            action=found.line[0][0] if found.line else -1,
            depth=done,
            line=found.line,
            complete=done == depth or won,
            statistics={
                "nodes": recursion.counts.nodes,
                "leaves": recursion.counts.leaves,
                "singles": recursion.counts.singles,
                **{f"bounds_{key}": count for key, count in self.bounds.statistics().items()},
            },
        )

    def guarantees(self, root: Root[Public], action: int, depth: int) -> float:
        """Return what an action guarantees at a root, the best being played after it.

        Args:
          depth: as of `search`, the action's cost included.
        """
        problem, universe, recursion = self.problem, self.universe, self._recursion
        recursion.max_nodes = recursion.deadline = None
        worst, parts = problem.greatest, dict[Hashable, Mask]()
        for hidden in root.hidden:
            number = universe.mask((hidden,)).bit_length() - 1
            outcomes = universe.outcomes(root.public, number, action)
            worst = min(worst, outcomes.worst)
            for told, after in outcomes.after:
                parts[told] = parts.get(told, 0) | after
        left = max(0, depth - problem.cost(root.public, action))
        for told, part in parts.items():
            after_public = problem.after(root.public, action, told)
            worst = min(
                worst,
                recursion.value(after_public, part, left, problem.least, problem.greatest).value,
            )
        return worst

    def _check(self, root: Root[Public]) -> None:
        allowed = self.universe.all_of(root.public)
        if allowed is not None and self.universe.mask(root.hidden) & ~allowed:
            raise ValueError(f"the root holds states that {root.public!r:.200} does not allow")

    def _at_depth(self, public: Public, belief: Mask, depth: int, guess: float) -> NodeResult:
        least, greatest = self.problem.least, self.problem.greatest
        search = self._recursion.root
        if self.window == "alpha-beta":
            # What is worth as little or as much as anything can be is exact beyond the window.
            return search(public, belief, depth, least, greatest)
        line: Line = ()
        beta = guess if guess > least else greatest
        while least < greatest:
            found = search(public, belief, depth, math.nextafter(beta, -math.inf), beta)
            if found.value >= beta:
                least, line = beta, found.line or line
            else:
                greatest, line = found.value, line or found.line
            # From above: what a belief is worth at most was found somewhere; that it is worth at
            # least so much may have been found for no more than was asked.
            beta = greatest
        return NodeResult(least, line=line)


def search_belief(
    problem: BeliefProblem[Public],
    root: Root[Public],
    depth: int,
    make_bounds: MakeBounds,
    *,
    window: Window = "alpha-beta",
) -> BeliefResult:
    """Search one root with bounds that know nothing yet; see `BeliefSearch`."""
    return BeliefSearch(problem, make_bounds, window=window).search(root, depth)


class BeliefSearchParameters(Parameters):
    """What is remembered of beliefs, and how the tree is gone through."""

    bounds: str = parameter("cores", component="bounds", help="What is remembered of beliefs")
    bounds_parameters: dict[str, Any] = parameter({}, help="Parameters of the bounds")
    window: Literal["alpha-beta", "null"] = parameter(
        "null", help="One full window, or null windows one after the other"
    )
    adaptive: bool = parameter(
        False, help="Try the action first that was best last under the same public part"
    )


def recursive(problem: BeliefProblem[Any], parameters: BeliefSearchParameters) -> BeliefSearch[Any]:
    """Return the search in plain Python, for any problem and any bounds.

    Raises:
      UnsuitableGameError: it is no `BeliefProblem`.
    """
    given = parameters
    _check(problem)
    make = named_bounds(given.bounds, **given.bounds_parameters)
    return BeliefSearch(problem, make, window=given.window, adaptive=given.adaptive)


def compiled(
    problem: BeliefProblem[Any], parameters: BeliefSearchParameters
) -> CompiledSearch[Any]:
    """Return the compiled search, for problems that can be enumerated and the bounds below.

    Raises:
      ParameterError: the bounds are not the framework's own, or they are to forget.
      UnsuitableGameError: the problem cannot be enumerated.
    """
    from miai.beliefs.compiled.search import RULES, CompiledSearch

    given = parameters
    _check(problem)
    chosen = registry().get("bounds", given.bounds).fill(given.bounds_parameters)
    if given.bounds not in RULES:
        raise ParameterError(
            f"bounds: the compiled search knows {', '.join(RULES)}, not {given.bounds!r}; "
            "search with 'recursive'"
        )
    limit = getattr(chosen, "limit", None)
    if limit is not None and getattr(chosen, "retention", "none") != "none":
        raise ParameterError(
            "bounds_parameters.retention: the compiled search keeps what came first; say "
            "retention = 'none', or search with 'recursive'"
        )
    rule = replace(
        RULES[given.bounds],
        k=getattr(chosen, "k", 1),
        threshold=getattr(chosen, "threshold", 1.0),
        across=given.bounds == "cores" and problem.reachability,
        singles=getattr(chosen, "singles", RULES[given.bounds].singles),
    )
    return CompiledSearch(problem, rule, limit=limit, window=given.window, adaptive=given.adaptive)


def _check(problem: object) -> None:
    if not isinstance(problem, BeliefProblem):
        raise UnsuitableGameError(
            f"{type(problem).__name__} is a problem of a form of its own; take the search that "
            "came with it (`miai list belief-search`)"
        )
