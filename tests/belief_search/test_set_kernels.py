"""Exact tests of subsets against Python's sets; signatures against the sketches they are of."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from miai.beliefs.kernels.sets import contains, find_bitmap_subsets, find_bitmap_supersets
from miai.beliefs.kernels.signatures import (
    NUMBERS,
    find_signed_subsets,
    find_signed_supersets,
    sign,
)
from miai.beliefs.kernels.sketches import bottom, find_subsets, find_supersets

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


# -- signatures -------------------------------------------------------------------------------


def shelf(many: list[set[int]], k: int) -> tuple[Hashes, NDArray[np.int64], Hashes]:
    sketches, sizes = np.zeros((len(many), k), np.uint64), np.zeros(len(many), np.int64)
    signatures = np.full((NUMBERS, len(many)), 0x5555, np.uint64)  # whatever was there before
    for at, members in enumerate(many):
        sizes[at] = bottom(as_hashes(members), sketches[at])
        sketches[at, sizes[at] :] = 12345  # undefined by contract
        sign(sketches[at], int(sizes[at]), signatures, at)
    return sketches, sizes, signatures


def assert_signed_finds_the_same(
    query: set[int], others: list[set[int]], k: int
) -> tuple[int, int]:
    sketch = np.zeros(k, np.uint64)
    size = int(bottom(as_hashes(query), sketch))
    sketches, sizes, signatures = shelf(others, k)
    plain, signed = np.empty(len(others), np.int64), np.empty(len(others), np.int64)
    above = int(find_supersets(sketch, size, sketches, sizes, plain))
    assert find_signed_supersets(sketch, size, sketches, sizes, signatures, signed) == above
    assert signed[:above].tolist() == plain[:above].tolist()
    below = int(find_subsets(sketch, size, sketches, sizes, plain))
    assert find_signed_subsets(sketch, size, sketches, sizes, signatures, signed) == below
    assert signed[:below].tolist() == plain[:below].tolist()
    return above, below


@settings(deadline=None)
@given(hash_sets, st.lists(hash_sets, max_size=8), st.integers(1, 50))
@example(set(), [set(), {0}, {GREATEST}], 1)
@example({GREATEST}, [set(), {0}, {GREATEST}], 3)
@example({0, GREATEST}, [{GREATEST}, {0, GREATEST}, {0}], 2)
def test_signatures_find_what_sketches_find(
    query: set[int], others: list[set[int]], k: int
) -> None:
    assert_signed_finds_the_same(query, others, k)


@pytest.mark.parametrize("k", [1, 16, 128])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_signatures_find_the_same_on_shelves_of_hundreds(k: int, share: float) -> None:
    """More than a block of them, at a size that is no multiple of one."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    universe = [rng.getrandbits(64) for _ in range(600)]
    query = {value for value in universe if rng.random() < share}
    shares = [rng.choice([share / 4, share, 0.99, 1.0]) for _ in range(700)]
    others = [{value for value in universe if rng.random() < part} for part in shares]
    subsets = [set(rng.sample(sorted(query), len(query) // 2)) for _ in range(13)]
    above, below = assert_signed_finds_the_same(query, others + subsets, k)
    assert above > 100  # the whole universe is there often
    assert below >= 13
