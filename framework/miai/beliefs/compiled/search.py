"""`CompiledSearch`: searches the tables of a problem with a kernel."""

from __future__ import annotations

import math
import mmap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from miai.beliefs.compiled.tables import Tables, tables_of
from miai.beliefs.kernels import layout
from miai.beliefs.kernels.engine import search as run_kernel
from miai.beliefs.kernels.layout import CHUNK, Arrays, Memory, SearchWork
from miai.beliefs.problem import BeliefProblem, Public, Root
from miai.beliefs.search import BudgetSpentError, DeepeningSearch, NodeResult, Window
from miai.errors import ParameterError, UnsuitableGameError

DEFAULT_LIMIT = 1 << 28
"""Default memory limit of the entries in bytes; the system allocates pages as they fill."""
MAX_DEPTH = 255
_FIRST_SLOTS = 1024
_MAX_REFUTATIONS = 128
_LEVELS_PER_DEPTH = 12
_UNLIMITED = np.iinfo(np.int64).max
_SMALL = 1 << 16
"""Size in bytes below which an array is quick to clear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How beliefs are recorded and how the search uses them.

    Attributes:
      rule: `NONE`, `TABLE`, `CHAINS`, `DOMINANCE` or `MINHASH` of `kernels.layout`.
      singles, explains, across: as in `Bounds` and `ExactBounds`.
      k, threshold, verified: as in `SketchBounds` and `MinHashBounds`.
    """

    rule: int = layout.NONE
    singles: bool = False
    explains: bool = False
    across: bool = False
    k: int = 1
    threshold: float = 1.0
    verified: bool = True


RULES = {
    "none": Rule(),
    "table": Rule(rule=layout.TABLE),
    "singles": Rule(rule=layout.TABLE, singles=True),
    "exact": Rule(rule=layout.CHAINS),
    "cores": Rule(rule=layout.CHAINS, singles=True, explains=True),
    "dominance": Rule(rule=layout.DOMINANCE),
    "approx-dominance": Rule(rule=layout.DOMINANCE, verified=False),
    "minhash": Rule(rule=layout.MINHASH),
    "approx-minhash": Rule(rule=layout.MINHASH, verified=False),
}
"""The framework's bounds by name."""


def entry_bytes(rule: Rule, words: int) -> int:
    """Return the size of an entry in bytes."""
    sketched = rule.rule >= layout.DOMINANCE
    sketch = 8 * (rule.k + 4) if sketched else 24
    return sketch + 8 * words * (rule.verified or not sketched)


def make_memory(rule: Rule, tables: Tables, *, limit: int, adaptive: bool) -> Memory:
    """Return an empty memory with room for `limit` bytes of entries.

    Raises:
      ParameterError: the limit is too small.
    """
    entries = limit // entry_bytes(rule, tables.words)
    if rule.rule == layout.NONE:
        entries = CHUNK
    if entries < CHUNK:
        minimum = CHUNK * entry_bytes(rule, tables.words)
        raise ParameterError(
            f"limit: {limit} bytes have no room for bounds; use at least {minimum}"
        )
    chunks = entries // CHUNK
    entries = chunks * CHUNK
    traits = np.zeros(layout.TRAITS, np.int64)
    traits[layout.RULE], traits[layout.VERIFIED] = rule.rule, rule.verified
    traits[layout.SINGLES_FIRST], traits[layout.EXPLAINS] = rule.singles, rule.explains
    traits[layout.ACROSS], traits[layout.ADAPTIVE] = rule.across, adaptive
    traits[layout.FREE], traits[layout.SLOTS] = -1, _FIRST_SLOTS
    slots = (
        max(_FIRST_SLOTS, 1 << (2 * entries - 1).bit_length()) if rule.rule == layout.TABLE else 1
    )
    sketched = entries if rule.rule >= layout.DOMINANCE else 1
    chained = chunks if rule.rule >= layout.CHAINS else 1
    return Memory(
        traits=traits,
        slots=_untouched((slots,), np.int64),
        heads=np.zeros((0, 1, 2), np.int64),
        counts=np.zeros(chained, np.int64),
        nexts=np.zeros(chained, np.int64),
        keys=_untouched((1 if rule.rule == layout.CHAINS else entries,), np.int64),
        masks=_untouched((entries if rule.verified else 0, tables.words), np.uint64),
        values=_untouched((entries, 2), np.float64),
        sketches=_untouched((sketched, rule.k), np.uint64),
        lengths=_untouched((sketched,), np.int64),
        totals=_untouched((sketched,), np.int64),
        limits=np.array([rule.threshold]),
        passed=np.zeros((0, 1, tables.words), np.uint64),
        passed_at=np.zeros((0, 1)),
    )


def _untouched(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return an array of zeros whose pages are allocated when first written.

    Large numpy arrays usually are such, but the C library may reuse and clear freed memory, which
    takes milliseconds per search.
    """
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size < _SMALL:
        return np.zeros(shape, kind)
    return np.frombuffer(mmap.mmap(-1, size), kind).reshape(shape)


def fitted(memory: Memory, tables: Tables, depth: int) -> Memory:
    """Return a memory with room for all enumerated public parts, up to a depth."""
    publics, depths = memory.heads.shape[:2]
    wide = tables.words - memory.masks.shape[1]
    if publics >= tables.publics and depths > depth and not wide:
        return memory
    more = (max(0, tables.publics - publics), max(0, depth + 1 - depths))
    heads = np.pad(memory.heads, ((0, more[0]), (0, more[1]), (0, 0)), constant_values=-1)
    heads[publics:] = heads[:, depths:] = -1
    if not publics:
        heads[:] = -1
    passed_at = np.pad(memory.passed_at, ((0, more[0]), (0, more[1])), constant_values=np.nan)
    return memory._replace(
        heads=heads,
        passed=np.pad(memory.passed, ((0, more[0]), (0, more[1]), (0, wide))),
        passed_at=passed_at,
        masks=np.pad(memory.masks, ((0, 0), (0, wide))) if wide else memory.masks,
    )


def make_work(tables: Tables, depth: int, k: int) -> SearchWork:
    """Return the work space of a search."""
    levels, words = _LEVELS_PER_DEPTH * depth + 16, tables.words
    names = ("beliefs", "cores", "closures", "gathered", "won", "culprits")
    return SearchWork(
        **{name: np.empty((levels, words), np.uint64) for name in names},
        parts=np.empty((levels, tables.groups + 1, words), np.uint64),
        groups=np.empty((levels, tables.groups + 1), np.int64),
        sizes=np.empty((levels, tables.groups + 1), np.int64),
        refuted=np.empty((levels, _MAX_REFUTATIONS, words), np.uint64),
        refuted_at=np.empty((levels, _MAX_REFUTATIONS), np.int64),
        refuted_by=np.empty((levels, _MAX_REFUTATIONS)),
        favourites=np.full(tables.publics, -1, np.int64),
        sketch=np.zeros(k, np.uint64),
    )


class CompiledSearch(DeepeningSearch[Root[Public]], Generic[Public]):
    """Searches roots of one problem, with the values of `BeliefSearch`.

    The line of a result has only the action, and depths are at most `MAX_DEPTH`.

    Args:
      rule: how beliefs are recorded.
      limit: memory limit of the entries in bytes; at the limit, new ones are rejected.
      window, adaptive: as in `BeliefSearch`.

    Attributes:
      tables: the problem, enumerated as far as searched.
      memory: the entries; None before the first search.

    Raises:
      UnsuitableGameError: see `tables_of`. A search raises it too: see `Tables.reach`, or if a turn
        has too many actions of cost 0.
      ParameterError: by a search, if the memory limit is too small.
    """

    prepares = True

    def __init__(
        self,
        problem: BeliefProblem[Public],
        rule: Rule,
        *,
        limit: int | None = None,
        window: Window = "alpha-beta",
        adaptive: bool = False,
    ) -> None:
        super().__init__(problem, window)
        self.problem, self._rule = problem, rule
        self.tables = tables_of(problem)
        self._limit, self._adaptive = limit or DEFAULT_LIMIT, adaptive
        self.memory: Memory | None = None
        self._counts = np.zeros(layout.COUNTS, np.int64)
        self._favourites = np.zeros(0, np.int64)

    def prepare(self, root: Root[Public], depth: int) -> None:
        """Enumerate the positions that a root can reach.

        Raises:
          UnsuitableGameError: see `Tables.reach`.
        """
        self.tables.reach(root, depth)

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
        public = tables.reach(root, depth)
        belief = tables.mask(root.public, root.hidden)
        if self.memory is None:
            limit, adaptive = self._limit, self._adaptive
            self.memory = make_memory(self._rule, tables, limit=limit, adaptive=adaptive)
        self.memory = fitted(self.memory, tables, depth)
        work = make_work(tables, depth, self._rule.k)
        work.beliefs[0] = belief
        work.favourites[: len(self._favourites)] = self._favourites
        self._arguments = (Arrays(tables.game(), self.memory, work, counts), public)
        counts[[layout.NODES, layout.LEAVES, layout.SINGLES, layout.STOPPED]] = 0
        counts[layout.MAX_NODES] = _UNLIMITED if max_nodes is None else max_nodes
        timer = None
        if seconds is not None:  # a search without nodes left stops
            timer = threading.Timer(seconds, counts.__setitem__, (layout.MAX_NODES, 0))
            timer.start()
        try:
            yield
        finally:
            self._favourites = work.favourites
            if timer is not None:
                timer.cancel()
                timer.join()

    def _in_window(
        self, root: Root[Public], depth: int, alpha: float, beta: float
    ) -> NodeResult[Any]:
        value, counts = run_kernel(*self._arguments, depth, alpha, beta, 0), self._counts
        if counts[layout.STOPPED] == layout.TOO_DEEP:
            raise UnsuitableGameError(
                f"the turns of {type(self.problem).__name__} have more actions of cost 0 in a row "
                "than the compiled search has room for; use the search 'recursive'"
            )
        if counts[layout.STOPPED]:
            raise BudgetSpentError
        action = counts[layout.ACTION]
        line = () if action < 0 else ((self.tables.action(action), None),)
        return NodeResult(float(value), line=line)

    def _counts_of(self, root: Root[Public]) -> Mapping[str, int]:
        counts = self._counts
        search = {"nodes": layout.NODES, "leaves": layout.LEAVES, "singles": layout.SINGLES}
        bounds = {"probes": layout.PROBES, "hits": layout.HITS, "tests": layout.TESTS}
        bounds |= {"entries": layout.ENTRIES, "lost": layout.LOST}
        size = entry_bytes(self._rule, self.tables.words)
        return {
            **{name: int(counts[place]) for name, place in search.items()},
            **{f"bounds_{name}": int(counts[place]) for name, place in bounds.items()},
            "bounds_bytes": int(counts[layout.ENTRIES]) * size,
        }
