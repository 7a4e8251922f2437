"""A `BeliefProblem` as tables: its public parts, states, actions and outcomes, numbered.

A game is enumerated on demand: the kernel stops where a row is missing, and continues when it is
there. The states of a public part are numbered in increasing order of their hidden parts, and the
groups of an action are in the order of their observations, so that the order in which rows were
filled changes no search.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, proxy

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.kernels.layout import GameTables, Memory
from miai.beliefs.problem import BeliefProblem, Root, SymmetricProblem, averages, leaf_value
from miai.beliefs.sets import hashed, numbers
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
      symmetries: whether equivalent public parts share the rows of one of them, if the problem is a
        `SymmetricProblem`.
      limit: maximum number of states, over all public parts.

    Attributes:
      words: 64-bit words per belief.
      enumerated: the outcomes and leaf values computed so far, one for each state and action.
      spare: the empty memory of an earlier search, by the kind of memory.
      groups, actions: maximum number of observations after one action, and of actions of one
        public part, so far.
    """

    def __init__(
        self, problem: BeliefProblem[Any], *, symmetries: bool = False, limit: int = 20_000_000
    ) -> None:
        self.problem: Any = proxy(problem)  # the tables live as long as the problem
        self._symmetric = symmetries and isinstance(problem, SymmetricProblem)
        self._limit = limit
        self.words = self.groups = self.actions = 1
        self.enumerated = 0
        self.spare: dict[Hashable, Memory] = {}
        self._numbers: dict[Hashable, int] = {}
        self._publics: list[Any] = []
        self._parts: list[list[int]] = []  # the hidden parts of each public part
        self._states: list[dict[int, int]] = []  # their numbers
        self._sets: dict[int, int] = {}  # rows of the pool
        self._actions: list[_Action] = []
        self._images: list[Callable[[int], int] | None] = []  # of hidden parts, for each group
        # The arrays of `GameTables`, by its names.
        self._marks = GrowingArray(np.uint64)
        self._firsts, self._leaves = GrowingArray(np.int64), GrowingArray(np.float64)
        self._hashes, self._valued = GrowingArray(np.uint64), GrowingArray(np.uint64, 1)
        self._begins, self._ends = GrowingArray(np.int64), GrowingArray(np.int64)
        self._costs, self._lasts = GrowingArray(np.int64), GrowingArray(np.int64)
        self._heads, self._nexts = GrowingArray(np.int64), GrowingArray(np.int64)
        self._known, self._over = GrowingArray(np.uint64, 1), GrowingArray(np.uint64, 1)
        self._sources, self._pool = GrowingArray(np.uint64, 1), GrowingArray(np.uint64, 1)
        self._after, self._successors = GrowingArray(np.int64), GrowingArray(np.int64)
        self._worst, self._rows = GrowingArray(np.float64), GrowingArray(np.int32)
        names = [name for name in GameTables._fields if name != "scale"]
        self._growing: list[GrowingArray[Any]] = [getattr(self, f"_{name}") for name in names]
        self._scale = np.array([problem.least, problem.greatest, float(problem.reachability)])
        self._game: tuple[Hashable, GameTables] | None = None
        self._wide = [self._valued, self._known, self._over, self._sources, self._pool]

    @property
    def publics(self) -> int:
        """The number of public parts met so far."""
        return len(self._publics)

    def game(self) -> GameTables:
        """Return the tables as arrays, which hold until the next enumeration."""
        lengths = tuple(len(array) for array in self._growing), self.words
        if self._game is None or self._game[0] != lengths:
            arrays = [*(array.rows for array in self._growing), self._scale]
            self._game = lengths, GameTables._make(arrays)
        return self._game[1]

    def action(self, number: int) -> int:
        """Return the problem's number of an action of the tables."""
        return self._actions[number].action

    def root(self, public: int, mask: NDArray[np.uint64]) -> Root[Any]:
        """Return a belief of the tables as a root of the problem."""
        belief = int.from_bytes(mask.tobytes(), "little")
        parts = self._parts[public]
        return Root(self._publics[public], tuple(parts[state] for state in numbers(belief)))

    def belief(self, root: Root[Any]) -> tuple[int, NDArray[np.uint64]]:
        """Return the number of a root's public part, and its belief as a row of words.

        Raises:
          UnsuitableGameError: as `fill_outcomes`.
        """
        index = self._number(root.public)
        return index, self._row(self._belief(index, root.hidden))

    # -- enumeration ------------------------------------------------------------------------------

    def list_actions(self, index: int) -> None:
        """List the actions of a public part, unless they are listed."""
        if self._begins.rows[index] >= 0:
            return
        public, problem, begin = self._publics[index], self.problem, len(self._actions)
        for action in problem.actions(public):
            self._actions.append(_Action(action))
            self._costs.append(problem.cost(public, action))
            self._lasts.append(-1)
            self._heads.append(-1)
            self._known.append(0)
            self._over.append(0)
        self._begins.rows[index], self._ends.rows[index] = begin, len(self._actions)
        self.actions = max(self.actions, len(self._actions) - begin)

    def fill_outcomes(self, index: int, number: int, mask: NDArray[np.uint64]) -> None:
        """Enumerate the outcomes of an action in some states of a public part.

        Raises:
          UnsuitableGameError: the problem lists no states or too many, or the root or a reply has
            a state that is not listed.
        """
        action = self._actions[number]
        missing = int.from_bytes(mask.tobytes(), "little") & ~action.known
        if not missing:
            return
        public, parts, replies = self._publics[index], self._parts[index], self.problem.replies
        worst: dict[int, float] = {}
        later: dict[Hashable, dict[int, list[int]]] = {}
        for state in numbers(missing):
            for reply in replies(public, parts[state], action.action):
                if reply.ends:
                    worst[state] = min(worst.get(state, _INFINITE), reply.value)
                else:
                    successors = later.setdefault(reply.observation, {})
                    successors.setdefault(state, []).append(reply.hidden)
        for observation, successors in later.items():
            group = action.groups.get(observation)
            if group is None:
                group = self._add_group(public, number, observation)
            self._add_successors(group, successors, len(parts))
        if worst:
            self._add_ends(number, worst, len(parts))
        self.enumerated += missing.bit_count()
        action.known |= missing
        self._known.rows[number] = self._row(action.known)

    def fill_leaves(self, index: int, mask: NDArray[np.uint64]) -> None:
        """Value some states of a public part where the depth ends.

        Raises:
          UnsuitableGameError: see `leaf_value`.
        """
        valued = self._valued.rows[index]
        missing = int.from_bytes((mask & ~valued).tobytes(), "little")
        public, parts = self._publics[index], self._parts[index]
        first = int(self._firsts.rows[index])
        for state in numbers(missing):
            self._leaves.rows[first + state] = leaf_value(self.problem, public, parts[state])
        self.enumerated += missing.bit_count()
        valued |= mask

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
        if (words := (len(parts) + 63) // 64) > self.words:
            self.words = words
            for beliefs in self._wide:
                beliefs.widen(words)
        number = self._numbers[public] = len(self._publics)
        self._publics.append(public)
        self._parts.append(parts)
        self._states.append({part: state for state, part in enumerate(parts)})
        self._firsts.append(self._leaves.extend(np.full(len(parts), np.nan)))
        self._hashes.extend(np.array([hashed(part) for part in parts], np.uint64))
        mark = blake2b(repr(public).encode(), digest_size=8).digest()
        self._marks.append(int.from_bytes(mark, "little"))
        self._valued.append(0)
        self._begins.append(-1)
        self._ends.append(-1)
        return number

    def _add_group(self, public: Any, number: int, observation: Hashable) -> int:
        """Add a group to an action, and link it in the order of observations."""
        action = self._actions[number]
        after, image = self.problem.after(public, action.action, observation), None
        if self._symmetric:
            after, image = self.problem.canonical(after)
        group = self._after.append(self._number(after))
        self._images.append(image)
        self._sources.append(0)
        self._successors.append(-1)
        self._nexts.append(-1)
        action.groups[observation] = group
        insort(action.order, (_order(observation), group))
        index = action.order.index((_order(observation), group))
        following = action.order[index + 1][1] if index + 1 < len(action.order) else -1
        self._nexts.rows[group] = following
        if index:
            self._nexts.rows[action.order[index - 1][1]] = group
        else:
            self._heads.rows[number] = group
        self.groups = max(self.groups, len(action.order))
        return group

    def _add_successors(self, group: int, successors: dict[int, list[int]], count: int) -> None:
        """Add the successors of some states under one observation."""
        after, sources = int(self._after.rows[group]), 0
        first, image = int(self._successors.rows[group]), self._images[group]
        for state, hidden in successors.items():
            belief = self._belief(after, hidden if image is None else map(image, hidden))
            if first < 0 and belief != 1 << state:  # the states before this one did not change
                rows = np.zeros(count, np.int32)
                before = int.from_bytes(self._sources.rows[group].tobytes(), "little")
                for earlier in numbers(before | sources):
                    rows[earlier] = self._set(1 << earlier)
                first = self._rows.extend(rows)
            if first >= 0:
                self._rows.rows[first + state] = self._set(belief)
            sources |= 1 << state
        self._successors.rows[group] = first
        self._sources.rows[group] |= self._row(sources)

    def _add_ends(self, number: int, worst: dict[int, float], count: int) -> None:
        first, over = int(self._lasts.rows[number]), 0
        if first < 0:
            first = self._worst.extend(np.full(count, _INFINITE))
            self._lasts.rows[number] = first
        for state, value in worst.items():
            over |= 1 << state
            self._worst.rows[first + state] = value
        self._over.rows[number] |= self._row(over)

    def _belief(self, index: int, hidden: Iterable[int]) -> int:
        states, belief = self._states[index], 0
        try:
            for part in hidden:
                belief |= 1 << states[part]
        except KeyError as error:
            raise UnsuitableGameError(
                f"hidden part {error} is not in the universe of {self._publics[index]!r:.200}; its "
                "problem contradicts itself, or the root is not of this problem"
            ) from None
        return belief

    def _set(self, belief: int) -> int:
        row = self._sets.get(belief)
        if row is None:
            row = self._sets[belief] = self._pool.append(self._row(belief))
        return row

    def _row(self, belief: int) -> NDArray[np.uint64]:
        return np.frombuffer(belief.to_bytes(8 * self.words, "little"), np.uint64)


@dataclass(slots=True)
class _Action:
    """An action of a public part.

    Attributes:
      action: its number in the problem.
      known: the states whose outcomes are known, as bits.
      groups: its groups by observation.
      order: its groups in the order of `_order`.
    """

    action: int
    known: int = 0
    groups: dict[Hashable, int] = field(default_factory=dict)
    order: list[tuple[tuple[int, str], int]] = field(default_factory=list)


def _order(observation: Hashable) -> tuple[int, str]:
    """Return a key that orders observations, however they were met."""
    return (-observation, "") if isinstance(observation, int) else (0, repr(observation))


_TABLES: WeakKeyDictionary[Any, dict[bool, Tables]] = WeakKeyDictionary()


def tables_of(problem: BeliefProblem[Any], *, symmetries: bool = False) -> Tables:
    """Return the tables of a problem, which all searches of it share.

    Raises:
      UnsuitableGameError: the problem averages, or is not hashable or not weakly referenceable.
    """
    if averages(problem):
        raise UnsuitableGameError(
            "the compiled search supports worst cases only, not means; use the search 'recursive'"
        )
    try:
        shared = _TABLES.setdefault(problem, {})
    except TypeError as error:
        raise UnsuitableGameError(
            f"the tables of {type(problem).__name__} cannot be cached: {error}; make it hashable "
            "and weakly referenceable"
        ) from error
    if symmetries not in shared:
        shared[symmetries] = Tables(problem, symmetries=symmetries)
    return shared[symmetries]
