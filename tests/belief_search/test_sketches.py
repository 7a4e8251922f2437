"""Sketches against brute force, against datasketch, and within the error that theory gives them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from miai.belief_search.hashing import hashed
from miai.belief_search.kernels.sketches import (
    bottom,
    find_subsets,
    find_supersets,
    resemblances,
)

Hashes = NDArray[np.uint64]
sets = st.sets(st.integers(0, 60), max_size=40)


def sketch_of(parts: set[int], k: int) -> tuple[Hashes, int]:
    sketch = np.zeros(k, np.uint64)
    hashes = np.array([hashed(part) for part in parts], np.uint64)
    return sketch, int(bottom(hashes, sketch))


def shelf(many: list[set[int]], k: int) -> tuple[Hashes, NDArray[np.int64]]:
    rows = [sketch_of(parts, k) for parts in many]
    sketches = np.array([row for row, _ in rows], np.uint64).reshape(len(many), k)
    return sketches, np.array([size for _, size in rows], np.int64)


def test_hashes_are_a_bijection_of_64_bits() -> None:
    found = {hashed(part) for part in range(100_000)}
    assert len(found) == 100_000
    assert all(0 <= value < 1 << 64 for value in found)
    # Steele, Lea, Flood 2014: the first outputs of splitmix64 from the state 0 are these.
    assert hashed(0) == 0xE220A8397B1DCDAF


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), max_size=300), st.integers(1, 40))
def test_the_smallest_hashes_are_kept_in_order(values: list[int], k: int) -> None:
    sketch = np.zeros(k, np.uint64)
    count = int(bottom(np.array(values + values[:5], np.uint64), sketch))
    assert sketch[:count].tolist() == sorted(set(values))[:k]


@settings(deadline=None)
@given(sets, st.lists(sets, min_size=1, max_size=8), st.integers(1, 70))
def test_no_subset_and_no_superset_is_missed(
    parts: set[int], others: list[set[int]], k: int
) -> None:
    """And sketches that hold their whole sets make no error at all."""
    sketch, size = sketch_of(parts, k)
    sketches, sizes = shelf(others, k)
    found = np.empty(len(others), np.int64)
    above = set(found[: find_supersets(sketch, size, sketches, sizes, found)].tolist())
    below = set(found[: find_subsets(sketch, size, sketches, sizes, found)].tolist())
    assert {i for i, other in enumerate(others) if parts <= other} <= above
    assert {i for i, other in enumerate(others) if parts >= other} <= below
    if k > 40:
        assert above == {i for i, other in enumerate(others) if parts <= other}
        assert below == {i for i, other in enumerate(others) if parts >= other}


@pytest.mark.parametrize(("k", "missing"), [(8, 0.1), (32, 0.05), (64, 0.02), (128, 0.02)])
def test_false_supersets_pass_as_rarely_as_theory_says(k: int, missing: float) -> None:
    """With a share f of the union missing, at most (1 - f) ** k; the band is four sigma."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng, trials, size = np.random.default_rng(seed), 2000, 3000
    lacking = round(missing * size)
    passed = 0
    for _ in range(trials):
        inner = rng.integers(0, 1 << 63, size, np.uint64)
        outer = np.concatenate([inner[lacking:], rng.integers(0, 1 << 63, 5, np.uint64)])
        sketches, sizes = np.zeros((1, k), np.uint64), np.zeros(1, np.int64)
        sizes[0] = bottom(outer, sketches[0])
        sketch = np.zeros(k, np.uint64)
        count = int(bottom(inner, sketch))
        passed += int(find_supersets(sketch, count, sketches, sizes, np.empty(1, np.int64)))
    chance = (1 - lacking / (size + 5)) ** k
    assert passed / trials <= chance + 4 * math.sqrt(chance * (1 - chance) / trials) + 1 / trials


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_resemblance_is_estimated_as_well_as_theory_says(share: float) -> None:
    """Its deviation is about sqrt(J (1 - J) / k); the mean of many comes four times nearer."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng, k, size, trials = np.random.default_rng(seed), 128, 4000, 60
    common = round(share * size)
    true = common / (2 * size - common)
    estimates = []
    for _ in range(trials):
        universe = rng.integers(0, 1 << 63, 2 * size - common, np.uint64)
        one, other = np.zeros(k, np.uint64), np.zeros((1, k), np.uint64)
        a = int(bottom(universe[:size], one))
        b = int(bottom(universe[size - common :], other[0]))
        estimate = np.empty(1)
        resemblances(one, a, other, np.array([b]), estimate)
        estimates.append(float(estimate[0]))
    deviation = math.sqrt(true * (1 - true) / k)
    assert abs(np.mean(estimates) - true) < 4 * deviation / math.sqrt(trials) + 0.01
    assert 0.6 * deviation < np.std(estimates) < 1.6 * deviation


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 1.0))
def test_resemblance_agrees_with_datasketch(seed: int, share: float) -> None:
    """Two estimators of one number, each within four of its deviations of the truth."""
    datasketch = pytest.importorskip("datasketch")
    rng, k, size = random.Random(seed), 256, 1500
    common = round(share * size)
    parts = rng.sample(range(1 << 40), 2 * size - common)
    mine, theirs = set(parts[:size]), set(parts[size - common :])
    true = len(mine & theirs) / len(mine | theirs)
    sketch, held = sketch_of(mine, k)
    estimate = np.empty(1)
    resemblances(sketch, held, *shelf([theirs], k), estimate)
    hashes = [datasketch.MinHash(num_perm=k, seed=seed % 1000 + 1) for _ in range(2)]
    for signature, members in zip(hashes, (mine, theirs), strict=True):
        signature.update_batch([part.to_bytes(8, "little") for part in members])
    reach = 4.5 * math.sqrt(max(true * (1 - true), 0.01) / k)
    assert abs(float(estimate[0]) - true) <= reach
    assert abs(hashes[0].jaccard(hashes[1]) - true) <= reach
