"""The room of a compiled search: what it remembers, and where it works."""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miai.belief_search.compiled.tables import Tables
from miai.belief_search.kernels.layout import (
    ACROSS,
    ADAPTIVE,
    CHAINS,
    CHUNK,
    DOMINANCE,
    EXPLAINS,
    FREE,
    MINHASH,
    NONE,
    RULE,
    SINGLES_FIRST,
    SLOTS,
    TABLE,
    TRAITS,
    VERIFIED,
    Memory,
    Work,
)
from miai.errors import ParameterError

USUAL_LIMIT = 1 << 28
"""Bytes that entries may take where no limit is given; touched only as they are used."""
MOST_DEPTH = 255
_FIRST_SLOTS = 1024
_MOST_REFUTED = 128
_LEVELS_A_DEPTH = 12
_SMALL = 1 << 16
"""Bytes that are cleared in no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How beliefs are remembered, and what a search does with it.

    Attributes:
      rule: of `kernels.layout`: `NONE`, `TABLE`, `CHAINS`, `DOMINANCE` or `MINHASH`.
      singles, explains, across: as of `Bounds` and `ExactBounds`.
      k, threshold, verified: as of `SketchBounds`.
    """

    rule: int = NONE
    singles: bool = False
    explains: bool = False
    across: bool = False
    k: int = 1
    threshold: float = 1.0
    verified: bool = True


RULES = {
    "none": Rule(),
    "table": Rule(rule=TABLE),
    "singles": Rule(rule=TABLE, singles=True),
    "exact": Rule(rule=CHAINS),
    "cores": Rule(rule=CHAINS, singles=True, explains=True),
    "dominance": Rule(rule=DOMINANCE),
    "approx-dominance": Rule(rule=DOMINANCE, verified=False),
    "minhash": Rule(rule=MINHASH),
    "approx-minhash": Rule(rule=MINHASH, verified=False),
}
"""The rules of the bounds that the framework brings, by their names."""


def entry_bytes(rule: Rule, words: int) -> int:
    """Return the bytes of an entry."""
    kept = rule.verified or rule.rule < DOMINANCE
    sketch = 8 * (rule.k + 4) if rule.rule >= DOMINANCE else 24
    return sketch + 8 * words * kept


def make_memory(rule: Rule, tables: Tables, *, limit: int, adaptive: bool) -> Memory:
    """Return a memory that knows nothing, with room for `limit` bytes of entries.

    Raises:
      ParameterError: there is no room for entries.
    """
    entries = limit // entry_bytes(rule, tables.words)
    if rule.rule == NONE:
        entries = CHUNK
    if entries < CHUNK:
        least = CHUNK * entry_bytes(rule, tables.words)
        raise ParameterError(f"limit: {limit} bytes have no room for bounds; {least} or more do")
    chunks = entries // CHUNK
    entries = chunks * CHUNK
    traits = np.zeros(TRAITS, np.int64)
    for place, value in (
        (RULE, rule.rule),
        (SINGLES_FIRST, rule.singles),
        (EXPLAINS, rule.explains),
        (ACROSS, rule.across),
        (ADAPTIVE, adaptive),
        (VERIFIED, rule.verified),
        (FREE, -1),
        (SLOTS, _FIRST_SLOTS),
    ):
        traits[place] = int(value)
    slots = max(_FIRST_SLOTS, 1 << (2 * entries - 1).bit_length()) if rule.rule == TABLE else 1
    sketched = entries if rule.rule >= DOMINANCE else 1
    chained = chunks if rule.rule >= CHAINS else 1
    return Memory(
        traits=traits,
        slots=_untouched((slots,), np.int64),
        heads=np.zeros((0, 1, 2), np.int64),
        counts=np.zeros(chained, np.int64),
        nexts=np.zeros(chained, np.int64),
        keys=_untouched((1 if rule.rule == CHAINS else entries,), np.int64),
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
    """Return an array of zeros whose memory is taken page by page, when it is first written to.

    So are numpy's large arrays as a rule. But the C library gives memory that a process has freed
    to later ones, and then clears all of it, milliseconds for a search that takes one.
    """
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size < _SMALL:
        return np.zeros(shape, kind)
    return np.frombuffer(mmap.mmap(-1, size), kind).reshape(shape)


def fitted(memory: Memory, tables: Tables, depth: int) -> Memory:
    """Return a memory with places for all public parts that were enumerated, up to a depth."""
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


def make_work(tables: Tables, depth: int, k: int) -> Work:
    """Return room for a search of a depth."""
    levels, words = _LEVELS_A_DEPTH * depth + 16, tables.words
    rows = (levels, words)
    return Work(
        beliefs=np.empty(rows, np.uint64),
        cores=np.empty(rows, np.uint64),
        closures=np.empty(rows, np.uint64),
        gathered=np.empty(rows, np.uint64),
        won=np.empty(rows, np.uint64),
        culprits=np.empty(rows, np.uint64),
        parts=np.empty((levels, tables.groups + 1, words), np.uint64),
        groups=np.empty((levels, tables.groups + 1), np.int64),
        sizes=np.empty((levels, tables.groups + 1), np.int64),
        refuted=np.empty((levels, _MOST_REFUTED, words), np.uint64),
        refuted_at=np.empty((levels, _MOST_REFUTED), np.int64),
        refuted_by=np.empty((levels, _MOST_REFUTED)),
        favourites=np.full(tables.publics, -1, np.int64),
        sketch=np.zeros(k, np.uint64),
    )
