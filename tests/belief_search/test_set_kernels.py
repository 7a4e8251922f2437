"""Exact subset tests against Python's sets."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.seeds import seed_of_test

from miai.beliefs.kernels.hashes import contains

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
    seed = seed_of_test()
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
