"""Exact subset tests against Python's sets."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from miai.beliefs.kernels.sets import contains, find_bitmap_subsets, find_bitmap_supersets

Hashes = NDArray[np.uint64]
GREATEST = 2**64 - 1
EDGES = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, GREATEST - 1, GREATEST]

edges = st.sampled_from(EDGES)
# Of few values many are shared; of any, neighbours beyond 2**53 tell floats from integers.
values = st.one_of(st.integers(0, 40), edges, st.integers(2**62, 2**62 + 40))
hash_sets = st.sets(values, max_size=40)


def as_hashes(members: Iterable[int]) -> Hashes:
    return np.array(sorted(members), np.uint64)


@settings(deadline=None)
@given(hash_sets, hash_sets)
@example(set(), set())
@example({0}, set())
@example(set(), {GREATEST})
@example({0, GREATEST}, {GREATEST})
@example({0, GREATEST - 1}, {0, GREATEST})
def test_sets_contain_what_python_says(larger: set[int], smaller: set[int]) -> None:
    assert contains(as_hashes(larger), as_hashes(smaller)) == (smaller <= larger)
    both = larger | smaller
    assert contains(as_hashes(both), as_hashes(smaller))


@pytest.mark.parametrize(
    ("many", "few"), [(1000, 900), (1600, 100), (1599, 100), (5000, 3), (5000, 1), (300, 300)]
)
def test_one_missing_element_is_found_wherever_it_is(many: int, few: int) -> None:
    """Sets of about one size and of very different ones are compared in different ways."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(50):
        larger = rng.sample(range(0, 1 << 64, 3), many)
        smaller = rng.sample(larger, few)
        assert contains(as_hashes(larger), as_hashes(smaller))
        at = rng.randrange(few)
        smaller[at] += 1 + rng.randrange(2)  # no multiple of three
        assert not contains(as_hashes(larger), as_hashes(smaller))
        kept = set(larger) - {larger[rng.randrange(many)]}
        assert contains(as_hashes(kept), as_hashes(kept & set(smaller)))


def as_bitmap(members: Iterable[int], words: int) -> Hashes:
    number = sum(1 << member for member in members)
    return np.array([number >> 64 * word & GREATEST for word in range(words)], np.uint64)


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 7])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_bitmaps_are_found_as_python_finds_sets(words: int, data: st.DataObject) -> None:
    # Elements of the first, the last and one more bit of each word: every word decides at times.
    members = st.sampled_from([64 * word + bit for word in range(words) for bit in (0, 31, 63)])
    sets = st.frozensets(members)
    query = data.draw(sets)
    others = data.draw(st.lists(sets, max_size=12))
    rows = np.array([as_bitmap(other, words) for other in others], np.uint64)
    rows = rows.reshape(len(others), words)
    found = np.empty(len(others), np.int64)
    count = find_bitmap_supersets(as_bitmap(query, words), rows, found)
    assert found[:count].tolist() == [i for i, other in enumerate(others) if other >= query]
    count = find_bitmap_subsets(as_bitmap(query, words), rows, found)
    assert found[:count].tolist() == [i for i, other in enumerate(others) if other <= query]
