"""A `BeliefProblem` as tables: its public parts, states, actions and outcomes, numbered.

Only what the searched roots can reach is enumerated, each public part once. The states of a public
part are numbered in increasing order of their hidden parts.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, proxy

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.kernels.layout import GameTables
from miai.beliefs.problem import BeliefProblem, Root, averages, leaf_value
from miai.beliefs.sets import hashed
from miai.errors import UnsuitableGameError

_Scalar = TypeVar("_Scalar", bound=np.generic)


class GrowingArray(Generic[_Scalar]):
    """An array that grows by appended rows.

    Args:
      width: elements per row; 0 for a one-dimensional array.
    """

    def __init__(self, dtype: type[_Scalar], width: int = 0) -> None:
        self._rows: NDArray[_Scalar] = np.zeros((64, width) if width else 64, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[_Scalar]:
        """All rows; a view that appending may invalidate."""
        return self._rows[: self._count]

    def append(self, row: Any) -> int:
        """Append a row; return its number."""
        if self._count == len(self._rows):
            self._reserve(self._count + 1)
        self._rows[self._count] = row
        self._count += 1
        return self._count - 1

    def extend(self, rows: NDArray[_Scalar]) -> int:
        """Append rows; return the number of the first."""
        first, self._count = self._count, self._count + len(rows)
        if self._count > len(self._rows):
            self._reserve(self._count)
        self._rows[first : self._count] = rows
        return first

    def widen(self, width: int) -> None:
        """Widen the rows with zeros."""
        more = width - self._rows.shape[1]
        self._rows = np.pad(self._rows, ((0, 0), (0, more)))

    def _reserve(self, count: int) -> None:
        room = max(count, 2 * len(self._rows))
        larger = np.zeros((room, *self._rows.shape[1:]), self._rows.dtype)
        larger[: len(self._rows)] = self._rows
        self._rows = larger


_INFINITE = float("inf")


class Tables:
    """The tables of one problem.

    Args:
      limit: maximum number of states, over all public parts.

    Attributes:
      words: 64-bit words per belief.
    """

    def __init__(self, problem: BeliefProblem[Any], *, limit: int = 20_000_000) -> None:
        self.problem: BeliefProblem[Any] = proxy(problem)  # the tables live as long as the problem
        self._limit = limit
        self.words = 1
        self._numbers: dict[Hashable, int] = {}
        self._publics: list[Any] = []
        self._states: list[dict[int, int]] = []
        self._reached: list[int] = []  # the depth to which a public part was enumerated
        self._followers: list[list[tuple[int, int]]] = []  # public parts and costs
        self._sets: dict[int, int] = {}  # rows of the pool
        self._numbers_of_actions = GrowingArray(np.int64)
        # The arrays of `GameTables`, by its names.
        self._every, self._over = GrowingArray(np.uint64, 1), GrowingArray(np.uint64, 1)
        self._sources, self._pool = GrowingArray(np.uint64, 1), GrowingArray(np.uint64, 1)
        self._sizes, self._firsts = GrowingArray(np.int64), GrowingArray(np.int64)
        self._leaves, self._hashes = GrowingArray(np.float64), GrowingArray(np.uint64)
        self._begins, self._ends = GrowingArray(np.int64), GrowingArray(np.int64)
        self._costs, self._lasts = GrowingArray(np.int64), GrowingArray(np.int64)
        self._group_begins, self._group_ends = GrowingArray(np.int64), GrowingArray(np.int64)
        self._after, self._successors = GrowingArray(np.int64), GrowingArray(np.int64)
        self._worst, self._rows = GrowingArray(np.float64), GrowingArray(np.int32)
        self._groups = 1  # maximum of one action

    @property
    def groups(self) -> int:
        """The maximum number of observations after one action."""
        return self._groups

    @property
    def publics(self) -> int:
        """The number of public parts enumerated."""
        return len(self._publics)

    def game(self) -> GameTables:
        """Return the tables as arrays."""
        problem = self.problem
        scale = np.array([problem.least, problem.greatest, float(problem.reachability)])
        names = (name for name in GameTables._fields if name != "scale")
        return GameTables(**{name: getattr(self, f"_{name}").rows for name in names}, scale=scale)

    def action(self, number: int) -> int:
        """Return the problem's number of an action of the tables."""
        return int(self._numbers_of_actions.rows[number])

    def actions(self, public: Any) -> range:
        """Return the tables' numbers of the actions of a public part that was followed."""
        at = self._numbers[public]
        return range(int(self._begins.rows[at]), int(self._ends.rows[at]))

    def reach(self, root: Root[Any], depth: int) -> int:
        """Enumerate what a root can reach; return the number of its public part.

        Raises:
          UnsuitableGameError: the problem lists no states or too many, or the root or a reply has
            a state that is not listed.
        """
        begin = self._number(root.public)
        waiting = [(begin, depth)]
        while waiting:
            at, remaining = waiting.pop()
            if self._reached[at] >= remaining:
                continue
            if self._reached[at] < 0:
                self._follow(at)
            self._reached[at] = remaining
            for after, cost in self._followers[at]:
                if remaining - cost > 0:
                    waiting.append((after, remaining - cost))
        return begin

    def mask(self, public: Any, hidden: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return a belief as a row of words."""
        states, belief = self._states[self._numbers[public]], 0
        for part in hidden:
            belief |= 1 << self._state(states, part, public)
        return self._row(belief)

    def root(self, public: int, mask: NDArray[np.uint64]) -> Root[Any]:
        """Return a belief of the tables as a root of the problem."""
        belief = int.from_bytes(mask.tobytes(), "little")
        parts = [part for part, state in self._states[public].items() if belief >> state & 1]
        return Root(self._publics[public], tuple(parts))

    # -- enumeration ------------------------------------------------------------------------------

    def _number(self, public: Any) -> int:
        if (existing := self._numbers.get(public)) is not None:
            return existing
        every = self.problem.universe(public)
        if every is None:
            raise UnsuitableGameError(
                "the compiled search needs a problem that lists its states (`universe`); "
                "use the search 'recursive'"
            )
        parts = sorted(set(every))
        if len(self._leaves) + len(parts) > self._limit:
            raise UnsuitableGameError(
                f"more than {self._limit} states to enumerate; reduce the depth, or use the "
                "search 'recursive'"
            )
        self._widen((len(parts) + 63) // 64)
        number = self._numbers[public] = len(self._publics)
        self._publics.append(public)
        self._states.append({part: state for state, part in enumerate(parts)})
        self._reached.append(-1)
        self._followers.append([])
        self._sizes.append(len(parts))
        values = np.array([leaf_value(self.problem, public, part) for part in parts], np.float64)
        self._firsts.append(self._leaves.extend(values))
        self._hashes.extend(np.array([hashed(part) for part in parts], np.uint64))
        self._every.append(self._row((1 << len(parts)) - 1))
        self._begins.append(0)
        self._ends.append(0)
        return number

    def _follow(self, at: int) -> None:
        public, problem = self._publics[at], self.problem
        begin, followers = len(self._costs), dict[tuple[int, int], None]()
        for action in problem.actions(public):
            cost = problem.cost(public, action)
            for after in self._enumerate(public, self._states[at], action):
                followers[after, cost] = None
            self._costs.append(cost)
            self._numbers_of_actions.append(action)
        # New public parts were appended meanwhile, and the rows may have moved.
        self._begins.rows[at], self._ends.rows[at] = begin, len(self._costs)
        self._followers[at] = list(followers)

    def _enumerate(self, public: Any, states: dict[int, int], action: int) -> list[int]:
        """Append an action and a group for each observation; return the public parts after it."""
        problem, over, worst = self.problem, 0, dict[int, float]()
        groups: dict[Hashable, dict[int, list[int]]] = {}
        for hidden, state in states.items():
            for reply in problem.replies(public, hidden, action):
                if reply.ends:
                    over |= 1 << state
                    worst[state] = min(worst.get(state, _INFINITE), reply.value)
                else:
                    successors = groups.setdefault(reply.observation, {})
                    successors.setdefault(state, []).append(reply.hidden)
        afters = [
            self._number(problem.after(public, action, observation)) for observation in groups
        ]
        self._lasts.append(self._ends_of(worst, len(states)) if over else -1)
        self._over.append(self._row(over))
        self._group_begins.append(len(self._after))
        for (_, successors), after in zip(groups.items(), afters, strict=True):
            self._append_group(successors, after, len(states))
        self._group_ends.append(len(self._after))
        self._groups = max(self._groups, len(groups))
        return afters

    def _append_group(self, successors: dict[int, list[int]], after: int, count: int) -> None:
        """Append the successors of each state under one observation."""
        later = self._states[after]
        rows = np.full(count, -1, np.int32)
        sources, stays = 0, True
        for state, hidden in successors.items():
            sources |= 1 << state
            belief = 0
            for part in hidden:
                belief |= 1 << self._state(later, part, self._publics[after])
            stays = stays and belief == 1 << state
            rows[state] = self._set(belief)
        self._after.append(after)
        self._sources.append(self._row(sources))
        self._successors.append(-1 if stays else self._rows.extend(rows))

    def _ends_of(self, worst: dict[int, float], count: int) -> int:
        values = np.full(count, _INFINITE)
        for state, value in worst.items():
            values[state] = value
        return self._worst.extend(values)

    def _state(self, states: dict[int, int], part: int, public: Any) -> int:
        try:
            return states[part]
        except KeyError:
            raise UnsuitableGameError(
                f"hidden part {part} is not in the universe of {public!r:.200}; its problem "
                "contradicts itself, or the root is not of this problem"
            ) from None

    def _set(self, belief: int) -> int:
        row = self._sets.get(belief)
        if row is None:
            row = self._sets[belief] = self._pool.append(self._row(belief))
        return row

    def _row(self, belief: int) -> NDArray[np.uint64]:
        return np.frombuffer(belief.to_bytes(8 * self.words, "little"), np.uint64)

    def _widen(self, words: int) -> None:
        if words > self.words:
            self.words = words
            for beliefs in (self._every, self._over, self._sources, self._pool):
                beliefs.widen(words)


_TABLES: WeakKeyDictionary[Any, Tables] = WeakKeyDictionary()


def tables_of(problem: BeliefProblem[Any]) -> Tables:
    """Return the tables of a problem, which all searches of it share.

    Raises:
      UnsuitableGameError: the problem averages, or is not hashable or not weakly referenceable.
    """
    if averages(problem):
        raise UnsuitableGameError(
            "the compiled search supports worst cases only, not means; use the search 'recursive'"
        )
    try:
        tables = _TABLES.get(problem)
        if tables is None:
            tables = _TABLES[problem] = Tables(problem)
    except TypeError as error:
        raise UnsuitableGameError(
            f"the tables of {type(problem).__name__} cannot be cached: {error}; make it hashable "
            "and weakly referenceable"
        ) from error
    return tables
