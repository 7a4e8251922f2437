"""Sketches against brute force, against datasketch, and within the error that theory gives them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.belief_search.random_problems import RandomProblem
from tests.seeds import seed_of_test

from miai.beliefs.kernels.sketching import bottom, resemblances
from miai.beliefs.protocol import UNKNOWN, BoundEntry
from miai.beliefs.sets import Universe, hashed
from miai.beliefs.sketches import MinHashBounds, ReferenceBounds, short_key

Hashes = NDArray[np.uint64]


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


def hashes_in_order() -> dict[str, Hashes]:
    """Return hashes that are not uniform, or not distinct, or at the ends of their range."""
    rng = np.random.default_rng(7)
    hashes = rng.integers(0, 2**64 - 1, 5000, np.uint64, endpoint=True)
    greatest = np.uint64(2**64 - 1)
    return {
        "increasing": np.sort(hashes),
        "decreasing": np.sort(hashes)[::-1].copy(),
        "all equal": np.full(5000, 3, np.uint64),
        "all the greatest": np.full(5000, greatest, np.uint64),
        "all large": greatest - hashes // np.uint64(1000),
        "all small": hashes // np.uint64(1000),
        "few different": hashes[rng.integers(0, 50, 5000)],
        "small ones last": np.concatenate(
            [hashes | np.uint64(1 << 63), hashes[:40] >> np.uint64(9)]
        ),
        "the ends": np.array([greatest, 0, greatest - np.uint64(1), 1] * 700, np.uint64),
    }


@pytest.mark.parametrize("k", [1, 2, 64, 128, 4999, 6000])
@pytest.mark.parametrize("name", hashes_in_order())
def test_the_smallest_are_kept_whatever_the_hashes(name: str, k: int) -> None:
    """The guess of how small they are, which is for uniform hashes, costs time alone."""
    hashes = hashes_in_order()[name]
    sketch = np.zeros(k, np.uint64)
    count = int(bottom(hashes, sketch))
    assert sketch[:count].tolist() == np.unique(hashes)[:k].tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("k", "common"), [(16, 1500), (64, 1500), (64, 1900), (256, 800)])
def test_resemblances_reach_a_threshold_as_often_as_theory_says(k: int, common: int) -> None:
    """The rule of `minhash` asks whether they do; scipy knows how often they must."""
    hypergeom = pytest.importorskip("scipy.stats").hypergeom
    seed = seed_of_test()
    rng, trials, size = np.random.default_rng(seed), 1500, 2000
    union = 2 * size - common
    least = round(k * common / union)  # in the middle, where an error shows most
    reached = 0
    for _ in range(trials):
        hashes = rng.integers(0, 1 << 63, union, np.uint64)
        one, other = np.zeros(k, np.uint64), np.zeros((1, k), np.uint64)
        bottom(hashes[:size], one)
        bottom(hashes[size - common :], other[0])
        estimate = np.empty(1)
        resemblances(one, k, other, np.array([k]), estimate)
        reached += round(float(estimate[0]) * k) >= least
    chance = float(hypergeom.sf(least - 1, union, common, k))
    assert 0.2 < chance < 0.8
    assert abs(reached / trials - chance) <= 4.5 * math.sqrt(chance * (1 - chance) / trials)


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


def passed(bounds: MinHashBounds, parts: set[int], *, supersets: bool) -> set[int]:
    """Return the numbers of the recorded beliefs, as values, that may contain or be in a set."""
    shelf = (bounds._lower if supersets else bounds._upper)["public", 1]
    sketch, size = bounds._sketch(bounds._universe.mask(parts))
    rows = bounds.candidates(shelf, sketch, size, len(parts), supersets=supersets)
    return {int(shelf.rows()[3][row]) for row in rows}


full = st.sets(st.integers(0, 30), min_size=1, max_size=25)


@settings(max_examples=200)
@given(full, st.lists(full, min_size=1, max_size=8, unique_by=frozenset), st.floats(0.05, 1.0))
def test_sketches_of_whole_sets_pass_those_that_share_enough(
    parts: set[int], others: list[set[int]], threshold: float
) -> None:
    """With room for all hashes the estimate is exact, so that the rule itself shows."""
    universe = Universe(RandomProblem(0))
    bounds = MinHashBounds(universe, k=64, verified=True, threshold=threshold)
    for lower in (True, False):
        for number, other in enumerate(others):
            bounds.record(BoundEntry(lower, "public", 1, universe.mask(other)), float(number))
    for supersets in (True, False):
        found = passed(bounds, parts, supersets=supersets)
        for number, other in enumerate(others):
            inner, outer = (parts, other) if supersets else (other, parts)
            share = len(inner & outer) / len(inner)
            if abs(share - threshold) > 1e-9:  # rounding may decide where they are equal
                assert (number in found) == (share >= threshold)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("verified", [True, False])
def test_a_bound_of_one_kind_alone_is_found(*, verified: bool, lower: bool) -> None:
    """A lower bound of a superset, or an upper bound of a subset; nothing from the other side."""
    universe = Universe(RandomProblem(0))
    bounds = MinHashBounds(universe, k=64, verified=verified, threshold=0.9)
    small, large = universe.mask(range(5)), universe.mask(range(9))
    assert bounds.probe("public", 1, small) == UNKNOWN
    entry = bounds.record(BoundEntry(lower, "public", 1, large if lower else small), 0.5)
    found = bounds.probe("public", 1, small if lower else large)
    assert (found.lower, found.upper) == ((0.5, math.inf) if lower else (-math.inf, 0.5))
    assert found.entries == (entry,)
    missed = bounds.probe("public", 1, universe.mask({100, 101}))
    assert (missed.lower, missed.upper, missed.entries) == (-math.inf, math.inf, ())
    assert bounds.probe("other", 1, small if lower else large) == UNKNOWN
    assert bounds.statistics() == {
        "probes": 4,
        "hits": 1,
        "let_through": 1,
        "refused": 0,
        "entries": 1,
        "bytes": 8 * (64 + 4) + (120 + large.bit_length() // 8 * lower if verified else 0),
    }
    assert entry is not None
    bounds.forget(entry)
    assert (bounds.statistics()["entries"], bounds.nbytes) == (0, 0)


def test_the_reference_passes_a_subset_and_refuses_half_of_one() -> None:
    """datasketch's estimate errs by about 1 / sqrt(k): sets far from the threshold are certain."""
    universe = Universe(RandomProblem(0))
    bounds = ReferenceBounds(universe, k=512, verified=True, threshold=0.8)
    inner = set(range(1000))
    others = [inner | set(range(5000, 5600)), set(range(500, 1500)), set(range(1000, 2000))]
    for number, other in enumerate(others):
        bounds.record(BoundEntry(True, "public", 1, universe.mask(other)), float(number))
        bounds.record(BoundEntry(False, "public", 1, universe.mask(other)), float(number))
    assert passed(bounds, inner, supersets=True) == {0}
    assert passed(bounds, inner | set(range(1000, 1500)), supersets=False) == {1}


def test_states_alone_have_keys_of_their_own() -> None:
    keys = {short_key(1 << state) for state in range(500)}
    assert len(keys) == 500


@pytest.mark.parametrize(("k", "threshold"), [(0, 0.5), (1, 0.0), (1, 1.5), (1, float("nan"))])
def test_sketches_and_shares_that_cannot_be_are_refused(k: int, threshold: float) -> None:
    with pytest.raises(ValueError, match=r"^(k|the threshold) must be "):
        MinHashBounds(Universe(RandomProblem(0)), k=k, verified=True, threshold=threshold)
