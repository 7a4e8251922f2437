"""`CompiledSearch`: searches the tables of a problem with a kernel."""

from __future__ import annotations

import math
import mmap
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.deepening import BudgetSpentError, DeepeningSearch, Window, WindowResult
from miai.beliefs.enumeration import Tables, tables_of
from miai.beliefs.kernels import layout
from miai.beliefs.kernels.layout import CHUNK, Arrays, Memory, SearchWork
from miai.beliefs.kernels.window_search import ENTER
from miai.beliefs.kernels.window_search import search as run_kernel
from miai.beliefs.problem import BeliefProblem, Public, Root
from miai.errors import ParameterError, UnsuitableGameError

DEFAULT_LIMIT = 1 << 28
"""Default memory limit of the entries in bytes; the system allocates pages as they fill."""
MAX_DEPTH = 255
_FIRST_SLOTS = 1024
_FIRST_SPOTS = _FIRST_PUBLICS = 4096
_LEVELS_PER_DEPTH = 12
_UNLIMITED = np.iinfo(np.int64).max
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_SPARE_BYTES = 1 << 22
_SMALL = 1 << 16
"""Size in bytes below which an array is quick to clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How beliefs are recorded and how the search uses them.

    Attributes:
      rule: `NONE`, `TABLE`, `CHAINS` or `MINHASH` of `kernels.layout`.
      singles, explains, across: as in `Bounds` and `ExactBounds`.
      k, threshold, verified: as in `MinHashBounds`.
      counters: rows and counters per row of the Count-Sketch that decides which entries are
        retained at the limit; None to reject new entries there.
    """

    rule: int = layout.NONE
    singles: bool = False
    explains: bool = False
    across: bool = False
    k: int = 1
    threshold: float = 1.0
    verified: bool = True
    counters: tuple[int, int] | None = None


RULES = {
    "none": Rule(),
    "table": Rule(rule=layout.TABLE),
    "singles": Rule(rule=layout.TABLE, singles=True),
    "exact": Rule(rule=layout.CHAINS),
    "cores": Rule(rule=layout.CHAINS, singles=True, explains=True),
    "minhash": Rule(rule=layout.MINHASH),
}
"""The framework's bounds by name."""


def entry_bytes(rule: Rule, words: int) -> int:
    """Return the size of an entry in bytes."""
    sketched = rule.rule == layout.MINHASH
    sketch = 8 * (rule.k + 4) if sketched else 24
    return sketch + 8 * words * (rule.verified or not sketched)


def make_memory(rule: Rule, words: int, *, limit: int, adaptive: bool) -> Memory:
    """Return an empty memory with room for `limit` bytes of entries.

    Args:
      words: 64-bit words per belief.

    Raises:
      ParameterError: the limit is too small.
    """
    size = 1 if rule.counters or rule.rule <= layout.TABLE else CHUNK
    entries = limit // entry_bytes(rule, words)
    if rule.rule == layout.NONE:
        entries = size
    if entries < size:
        minimum = size * entry_bytes(rule, words)
        raise ParameterError(
            f"limit: {limit} bytes have no room for bounds; use at least {minimum}"
        )
    chunks = entries // size
    entries = chunks * size
    slots = (
        max(_FIRST_SLOTS, 1 << (2 * entries - 1).bit_length()) if rule.rule == layout.TABLE else 1
    )
    sketched = entries if rule.rule == layout.MINHASH else 1
    chained = chunks if rule.rule >= layout.CHAINS else 1
    rows, width = rule.counters or (1, 1)
    heaped = entries if rule.counters else 1
    return Memory(
        traits=_traits(rule, size, adaptive=adaptive),
        slots=_untouched((slots,), np.int64),
        spots=np.zeros((0, 1), np.int32),
        heads=_untouched((_FIRST_SPOTS, 2), np.int64),
        passed=_untouched((_FIRST_SPOTS, words), np.uint64),
        passed_at=_untouched((_FIRST_SPOTS,), np.float64),
        met=np.zeros((0, words), np.uint64),
        favourites=np.zeros(0, np.int64),
        trials=np.zeros((1, 4), np.int64),
        counts=_untouched((chained,), np.int64),
        nexts=_untouched((chained,), np.int64),
        keys=_untouched((1 if rule.rule == layout.CHAINS else entries,), np.int64),
        masks=_untouched((entries if rule.verified else 0, words), np.uint64),
        values=_untouched((entries, 2), np.float64),
        homes=_untouched((chained,), np.int64),
        sketches=layout.Sketches(
            hashes=_untouched((sketched, rule.k), np.uint64),
            lengths=_untouched((sketched,), np.int64),
            totals=_untouched((sketched,), np.int64),
            threshold=np.array([rule.threshold]),
        ),
        frequencies=layout.Frequencies(
            tallies=_untouched((rows, width), np.int64),
            votes=np.zeros(rows),
            names=_untouched((heaped,), np.uint64),
            ranks=_untouched((heaped,), np.float64),
            places=_untouched((heaped,), np.int64),
            heap=_untouched((heaped,), np.int64),
        ),
    )


def _traits(rule: Rule, chunk_size: int, *, adaptive: bool) -> NDArray[np.int64]:
    """Return what a memory without entries tells the kernels about its rule."""
    traits = np.zeros(layout.TRAITS, np.int64)
    traits[layout.RULE], traits[layout.VERIFIED] = rule.rule, rule.verified
    traits[layout.EXPLAINS] = rule.explains
    traits[layout.ACROSS], traits[layout.ADAPTIVE] = rule.across, adaptive
    traits[layout.RETAINS], traits[layout.CHUNK_SIZE] = bool(rule.counters), chunk_size
    traits[layout.FREE], traits[layout.SLOTS] = -1, _FIRST_SLOTS
    return traits


def _untouched(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return an array of zeros whose pages are allocated when first written.

    Large numpy arrays usually are such, but the C library may reuse and clear freed memory, which
    takes milliseconds per search.
    """
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size < _SMALL:
        return np.zeros(shape, kind)
    return np.frombuffer(mmap.mmap(-1, size, flags=_PRIVATE), kind).reshape(shape)


def _grown(array: NDArray[Any], shape: tuple[int, ...], used: int) -> NDArray[Any]:
    """Return a larger array with the first `used` rows of another; the rest is zero."""
    larger = _untouched(shape, array.dtype.type)
    larger[(slice(used), *(slice(size) for size in array.shape[1:]))] = array[:used]
    return larger


def fitted(memory: Memory, tables: Tables, depth: int) -> Memory:
    """Return a memory with room for all public parts met so far, up to a depth, and for spots."""
    publics, depths = memory.spots.shape
    words, before = tables.words, memory.met.shape[1]
    spots, spots_used = len(memory.passed_at), int(memory.traits[layout.SPOTS])
    if spots_used == spots:
        spots *= 2
        memory = memory._replace(
            heads=_grown(memory.heads, (spots, 2), spots_used),
            passed=_grown(memory.passed, (spots, before), spots_used),
            passed_at=_grown(memory.passed_at, (spots,), spots_used),
        )
    if publics < tables.publics or depths <= depth:
        room = max(2 * tables.publics, _FIRST_PUBLICS) if publics < tables.publics else publics
        memory = memory._replace(
            spots=_grown(memory.spots, (room, max(depths, depth + 1)), publics),
            met=_grown(memory.met, (room, before), publics),
            favourites=_grown(memory.favourites, (room,), publics),
            trials=_grown(memory.trials, (max(depths, depth + 1), 4), depths),
        )
    if words > before:
        used = int(memory.traits[layout.USED] * memory.traits[layout.CHUNK_SIZE])
        memory = memory._replace(
            passed=_grown(memory.passed, (spots, words), spots_used),
            met=_grown(memory.met, (len(memory.met), words), publics),
            masks=_grown(memory.masks, (len(memory.masks), words), used),
        )
    return memory


def used_bytes(memory: Memory) -> int:
    """Return the approximate size of the pages of a memory that were written."""
    traits = memory.traits
    entries = traits[layout.USED] * traits[layout.CHUNK_SIZE]
    row = 8 * (2 + memory.masks.shape[1] + memory.sketches.hashes.shape[1])
    tables = memory.spots.nbytes + memory.met.nbytes + memory.favourites.nbytes
    return int(entries * row + 8 * traits[layout.SLOTS] + tables)


def emptied(memory: Memory) -> Memory:
    """Return a memory without its entries."""
    traits = memory.traits
    if traits[layout.RULE] == layout.TABLE:
        memory.slots[: traits[layout.SLOTS]] = 0
    for array in (memory.spots, memory.met, memory.favourites, memory.trials):
        array.fill(0)
    traits[layout.USED] = traits[layout.SPOTS] = 0
    traits[layout.FREE], traits[layout.SLOTS] = -1, _FIRST_SLOTS
    return memory


def make_work(tables: Tables, depth: int, k: int) -> SearchWork:
    """Return the work space of a search."""
    levels, words = _LEVELS_PER_DEPTH * depth + 16, tables.words
    names = ("beliefs", "cores", "closures")
    groups, actions = tables.groups + 1, tables.actions
    return SearchWork(
        **{name: np.zeros((levels, words), np.uint64) for name in names},
        integers=np.zeros((levels, layout.INTEGERS), np.int64),
        reals=np.zeros((levels, layout.REALS)),
        parts=np.zeros((levels, groups, words), np.uint64),
        groups=np.zeros((levels, groups), np.int64),
        sizes=np.zeros((levels, groups), np.int64),
        refuted=np.zeros((levels, actions, words), np.uint64),
        refuted_at=np.zeros((levels, actions), np.int64),
        refuted_by=np.zeros((levels, actions)),
        failures=np.zeros((levels, actions, 2), np.int64),
        scratch=np.zeros(words, np.uint64),
        wanted=np.zeros(words, np.uint64),
        sketch=np.zeros(k, np.uint64),
    )


def refitted(work: SearchWork, tables: Tables, depth: int, k: int) -> SearchWork:
    """Return the work space with room for what was enumerated since it was made."""
    groups, actions, words = work.groups.shape[1], work.refuted_at.shape[1], len(work.wanted)
    if groups > tables.groups and actions >= tables.actions and words == tables.words:
        return work
    larger = make_work(tables, depth, k)
    for old, new in zip(work, larger, strict=True):
        new[tuple(slice(size) for size in old.shape)] = old
    return larger


class CompiledSearch(DeepeningSearch[Root[Public]], Generic[Public]):
    """Searches roots of one problem, with the values of `BeliefSearch`.

    The line of a result has only the action, and depths are at most `MAX_DEPTH`.

    Args:
      rule: how beliefs are recorded.
      limit: memory limit of the entries in bytes; at the limit, new ones are rejected.
      window, adaptive: as in `BeliefSearch`.
      symmetries: as in `Tables`.

    Attributes:
      tables: the problem, enumerated as far as searched.
      memory: the entries; None before the first search.

    Raises:
      UnsuitableGameError: see `tables_of`. A search raises it too: see `Tables.reach`, or if a turn
        has too many actions of cost 0.
      ParameterError: by a search, if the memory limit is too small.
    """

    shares = True

    def __init__(
        self,
        problem: BeliefProblem[Public],
        rule: Rule,
        *,
        limit: int | None = None,
        window: Window = "alpha-beta",
        adaptive: bool = False,
        symmetries: bool = False,
    ) -> None:
        super().__init__(problem, window)
        self.problem, self._rule = problem, rule
        self.tables = tables_of(problem, symmetries=symmetries)
        self._limit, self._adaptive = limit or DEFAULT_LIMIT, adaptive
        self.memory: Memory | None = None
        self._counts = np.zeros(layout.COUNTS, np.int64)

    def __del__(self) -> None:
        """Leave a small memory to the next search, which saves it allocating pages."""
        memory = getattr(self, "memory", None)  # none if the problem was refused
        if memory is None or sys.is_finalizing() or self._rule.counters:
            return
        if used_bytes(memory) <= _SPARE_BYTES:
            self.tables.spare[self._rule, self._limit, self._adaptive] = emptied(memory)

    def guarantees(self, root: Root[Public], action: int, depth: int) -> float:
        """Return the value that an action guarantees; see `BeliefSearch.guarantees`."""
        problem, worst = self.problem, self.problem.greatest
        parts: dict[Any, set[int]] = {}
        for hidden in root.hidden:
            for reply in problem.replies(root.public, hidden, action):
                if reply.ends:
                    worst = min(worst, reply.value)
                else:
                    parts.setdefault(reply.observation, set()).add(reply.hidden)
        remaining = depth - problem.cost(root.public, action)
        for observation, part in parts.items():
            after = problem.after(root.public, action, observation)
            hidden_parts = tuple(sorted(part))
            if remaining < 1:
                value = min(problem.evaluate(after, hidden) for hidden in hidden_parts)
            else:
                value = self.search(Root(after, hidden_parts), remaining).value
            worst = min(worst, value)
        return worst

    @contextmanager
    def _limited(
        self, root: Root[Public], depth: int, *, max_nodes: int | None, seconds: float | None
    ) -> Iterator[None]:
        if not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"the depth of a search must be 1 to {MAX_DEPTH}, not {depth}")
        counts, tables = self._counts, self.tables
        self._enumerated_before, self.enumeration_seconds = tables.enumerated, 0.0
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._root, self._depth = tables.belief(root), depth
        if self.memory is None:
            kind = (self._rule, self._limit, self._adaptive)
            self.memory = tables.spare.pop(kind, None)
        if self.memory is None:
            limit, adaptive = self._limit, self._adaptive
            words = tables.words
            self.memory = make_memory(self._rule, words, limit=limit, adaptive=adaptive)
        self.memory = fitted(self.memory, tables, depth)
        self._work = make_work(tables, depth, self._rule.k)
        self._game = tables.game()
        counts[[layout.NODES, layout.LEAVES, layout.SINGLES]] = 0
        counts[layout.MAX_NODES] = _UNLIMITED if max_nodes is None else max_nodes
        timer = None
        if seconds is not None:  # a search without nodes left stops
            timer = threading.Timer(seconds, counts.__setitem__, (layout.MAX_NODES, 0))
            timer.start()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
                timer.join()

    def _at_depth(self, root: Root[Public], depth: int, guess: float | None) -> WindowResult:
        if depth > 1 or not self._rule.explains:
            return super()._at_depth(root, depth, guess)
        # A search of depth 1 meets most beliefs once, so that little of what costs time pays there:
        # neither a series of windows nor, in `_in_window`, states tried alone and closures.
        return self._in_window(root, depth, self.values.least, self.values.greatest)

    def _in_window(self, root: Root[Public], depth: int, alpha: float, beta: float) -> WindowResult:
        counts, (public, belief), memory = self._counts, self._root, self.memory
        assert memory is not None
        deep = depth > 1 or not self._rule.explains
        memory.traits[layout.SINGLES_FIRST] = self._rule.singles and deep
        memory.traits[layout.CLOSES] = self._rule.explains and deep
        work = self._work
        work.beliefs[0, : len(belief)] = belief
        work.integers[0, layout.PUBLIC], work.integers[0, layout.DEPTH] = public, depth
        work.reals[0, layout.ALPHA], work.reals[0, layout.BETA] = alpha, beta
        counts[layout.LEVEL], counts[layout.MODE] = 0, ENTER
        counts[layout.STOPPED] = layout.RUNS
        value = run_kernel(Arrays(self._game, memory, work, counts))
        while counts[layout.STOPPED] >= layout.NEEDS_ACTIONS:
            memory, work = self._supply()
            counts[layout.STOPPED] = layout.RUNS
            value = run_kernel(Arrays(self._game, memory, work, counts))
        if counts[layout.STOPPED] == layout.TOO_DEEP:
            raise UnsuitableGameError(
                f"the turns of {type(self.problem).__name__} have more actions of cost 0 in a row "
                "than the compiled search has room for; use the search 'recursive'"
            )
        if counts[layout.STOPPED]:
            raise BudgetSpentError
        action = counts[layout.ACTION]
        line = () if action < 0 else ((self.tables.action(action), None),)
        return WindowResult(float(value), line=line)

    def _supply(self) -> tuple[Memory, SearchWork]:
        """Enumerate what the kernel needs to continue; return the arrays with room for it."""
        began = time.monotonic()
        if self._deadline is not None and began >= self._deadline:
            raise BudgetSpentError
        counts, tables, work = self._counts, self.tables, self._work
        needs, needed = counts[layout.STOPPED], int(counts[layout.NEEDED_AT])
        if needs == layout.NEEDS_ACTIONS:
            tables.list_actions(needed)
        elif needs == layout.NEEDS_OUTCOMES:
            tables.fill_outcomes(needed, int(counts[layout.NEEDED_ACTION]), work.wanted)
        elif needs == layout.NEEDS_LEAVES:
            tables.fill_leaves(needed, work.wanted)
        assert self.memory is not None
        self.memory = fitted(self.memory, tables, self._depth)
        self._work = refitted(work, tables, self._depth, self._rule.k)
        self._game = tables.game()
        self.enumeration_seconds += time.monotonic() - began
        return self.memory, self._work

    def _counts_of(self, root: Root[Public]) -> Mapping[str, int]:
        counts = self._counts
        search = {"nodes": layout.NODES, "leaves": layout.LEAVES, "singles": layout.SINGLES}
        bounds = {"probes": layout.PROBES, "hits": layout.HITS, "tests": layout.TESTS}
        bounds |= {"entries": layout.ENTRIES, "lost": layout.LOST}
        bounds |= {"forgotten": layout.FORGOTTEN}
        size = entry_bytes(self._rule, self.tables.words)
        return {
            **{name: int(counts[place]) for name, place in search.items()},
            **{f"bounds_{name}": int(counts[place]) for name, place in bounds.items()},
            "bounds_bytes": int(counts[layout.ENTRIES]) * size,
            "enumerated": self.tables.enumerated - self._enumerated_before,
        }
