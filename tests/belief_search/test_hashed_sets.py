"""Beliefs as hash-sorted arrays: compared as sets are, and bounds that do not mind which kind."""

from __future__ import annotations

import random
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miai.beliefs import named_bounds
from miai.beliefs.protocol import BoundEntry, Bounds
from miai.beliefs.sets import HashedSet, bytes_of, hashed, is_subset, size_of

STATES = 12
ARMS = ("table", "singles", "exact", "cores", "dominance", "minhash")
states = st.frozensets(st.integers(0, STATES - 1), min_size=1)


def as_array(belief: frozenset[int]) -> HashedSet:
    return HashedSet.of(np.array([hashed(state) for state in belief], np.uint64))


def as_mask(belief: frozenset[int]) -> int:
    return sum(1 << state for state in belief)


class Numbered:
    """A universe of so many states, for masks."""

    class problem:  # noqa: N801  # an attribute of universes
        reachability = False

    @staticmethod
    def hashes(belief: int) -> Any:
        return np.array([hashed(s) for s in range(STATES) if belief >> s & 1], np.uint64)


def bounds_of(arm: str) -> Bounds:
    return named_bounds(arm)(cast(Any, Numbered))


@given(st.frozensets(st.integers(0, 40)), st.frozensets(st.integers(0, 40)))
@settings(deadline=None)  # compiles
def test_a_subset_is_one_in_either_form(a: frozenset[int], b: frozenset[int]) -> None:
    assert is_subset(as_array(a), as_array(b)) == (a <= b)
    assert is_subset(as_mask(a), as_mask(b)) == (a <= b)
    assert size_of(as_array(a)) == size_of(as_mask(a)) == len(a)
    assert (as_array(a) == as_array(b)) == (a == b)
    assert (hash(as_array(a)) == hash(as_array(b))) == (a == b)


def test_one_element_missing_of_many_is_noticed() -> None:
    rng = np.random.default_rng(3)
    every = np.unique(rng.integers(0, 2**64, 100_000, np.uint64))
    for size in (3, 1000, 90_000):
        part = np.sort(rng.choice(every, size, replace=False))
        assert is_subset(HashedSet(part), HashedSet(every))
        for at in (0, size // 2, size - 1):
            without = np.delete(every, np.searchsorted(every, part[at]))
            assert not is_subset(HashedSet(part), HashedSet(without))


def test_sets_are_made_of_hashes_in_any_order_and_have_one_key() -> None:
    hashes = np.array([7, 3, 2**64 - 1, 3], np.uint64)
    made = HashedSet.of(hashes)
    assert made.hashes.tolist() == [3, 7, 2**64 - 1]
    assert made == HashedSet.of(hashes[::-1])
    assert made.key == HashedSet(np.array([3, 7, 2**64 - 1], np.uint64)).key
    assert repr(made).endswith(", 3)")
    assert made != 7
    assert made.nbytes == 24
    assert bytes_of(made) == 144
    with pytest.raises(ValueError, match="uint64"):
        HashedSet.of(hashes.astype(np.int64))


def test_kinds_are_not_mixed() -> None:
    with pytest.raises(TypeError, match="mask"):
        is_subset(1, as_array(frozenset({0})))


@pytest.mark.parametrize("arm", ARMS)
@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_bounds_say_the_same_of_arrays_as_of_masks(arm: str, seed: int) -> None:
    """Of a monotone value, so that what is recorded is true."""
    rng = random.Random(seed)
    worth = [rng.randrange(20) for _ in range(STATES)]
    masks, arrays = bounds_of(arm), bounds_of(arm)
    for _ in range(40):
        belief = frozenset(rng.sample(range(STATES), rng.randint(1, STATES)))
        public, depth = rng.randrange(2), rng.randrange(2)
        value = min(worth[state] for state in belief) + public + depth
        one = masks.probe(public, depth, as_mask(belief))
        other = arrays.probe(public, depth, as_array(belief))
        assert (one.lower, one.upper) == (other.lower, other.upper)
        assert other.lower <= value <= other.upper
        if other.core:
            assert is_subset(other.core, as_array(belief))
        if other.closure:
            assert is_subset(as_array(belief), other.closure)
        lower = rng.random() < 0.5
        output = value - rng.randrange(3) if lower else value + rng.randrange(3)
        for bounds, form in ((masks, as_mask(belief)), (arrays, as_array(belief))):
            entry = bounds.record(BoundEntry(lower, public, depth, form), output)
            if entry and seed % 5 == 0:
                bounds.forget(entry)
    counts, others = masks.statistics(), arrays.statistics()
    assert {k: v for k, v in counts.items() if k != "bytes"} == {
        k: v for k, v in others.items() if k != "bytes"
    }


@pytest.mark.parametrize("arm", ["table", "exact", "dominance", "approx-minhash"])
@pytest.mark.parametrize("retention", ["lru", "count-sketch", "space-saving", "none"])
def test_a_limit_in_bytes_holds_for_arrays(arm: str, retention: str) -> None:
    bounds = named_bounds(arm, limit=20_000, retention=retention)(cast(Any, Numbered))
    rng = np.random.default_rng(1)
    for turn in range(60):
        belief = HashedSet.of(rng.integers(0, 2**64, 100, np.uint64))
        bounds.record(BoundEntry(True, "public", 1, belief), float(turn))
        assert bounds.nbytes <= 20_000
    assert bounds.statistics()["forgotten"] > 0


@given(states, states)
@settings(max_examples=60, deadline=None)
def test_sketches_of_arrays_are_their_first_hashes(a: frozenset[int], b: frozenset[int]) -> None:
    """Approximate bounds drop the sets: what they say of arrays and masks is the same."""
    for arm in ("approx-dominance", "approx-minhash"):
        masks = named_bounds(arm, k=3)(cast(Any, Numbered))
        arrays = named_bounds(arm, k=3)(cast(Any, Numbered))
        masks.record(BoundEntry(False, "p", 1, as_mask(a)), 1.0)
        arrays.record(BoundEntry(False, "p", 1, as_array(a)), 1.0)
        assert masks.probe("p", 1, as_mask(b)).upper == arrays.probe("p", 1, as_array(b)).upper, arm
