"""Retention: policies against exact counts on skewed streams; limits are kept; values stay true."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.belief_search.random_problems import STATES, RandomProblem, value_by_definition
from tests.seeds import seed_of_test

from miai.beliefs import BeliefSearch, Root, named_bounds
from miai.beliefs.bounds import ExactBounds, LimitedBounds
from miai.beliefs.protocol import BoundEntry
from miai.beliefs.retention import CountSketch, LeastRecentlyUsed, MostFrequent, SpaceSaving
from miai.errors import ParameterError
from miai_miniblind.mini_rbc import MiniRbcProblem
from miai_miniblind.phantom_lines import PhantomLinesProblem

LIMIT = 4096


def skewed(seed: int, length: int, names: int = 2000) -> list[int]:
    """Return a stream in which the name of rank r comes with a probability in proportion to 1/r."""
    weights = [1 / (rank + 1) for rank in range(names)]
    return random.Random(seed).choices(range(names), weights, k=length)


def test_a_count_sketch_estimates_counts_as_well_as_theory_says() -> None:
    seed = seed_of_test()
    stream = skewed(seed, 30_000)
    sketch, true = CountSketch(rows=5, width=512), Counter(stream)
    for name in stream:
        sketch.add(name)
    norm = math.sqrt(sum(count * count for count in true.values()))
    errors = [abs(sketch.estimate(name) - count) for name, count in true.items()]
    # A row errs by more than 2 norms / sqrt(width) with a chance of at most 1/4; three of five
    # must, which they do with a chance of 0.104 at most.
    assert sum(e > 2 * norm / math.sqrt(512) for e in errors) / len(errors) < 0.104
    assert sum(errors) / len(errors) < norm / math.sqrt(512)
    signed = sum(sketch.estimate(name) - count for name, count in true.items()) / len(true)
    assert abs(signed) < norm / math.sqrt(512)


@pytest.mark.slow
def test_a_frequent_name_leaves_the_estimates_of_rare_ones_alone() -> None:
    """A median does so unless the name collides in three of five rows; a mean in any of them."""
    sketch = CountSketch(rows=5, width=64)
    for name in range(400):
        sketch.add(name)
    for _ in range(100_000):
        sketch.add(10**6)
    spoilt = sum(abs(sketch.estimate(name)) > 1000 for name in range(400))
    # Three of five rows: 10 * (1/64)**3 of the names, 0.015 of 400; a mean would spoil 30 of them.
    assert spoilt <= 2
    assert abs(sketch.estimate(10**6) - 100_000) < 100


def retained(kept: SpaceSaving | MostFrequent, stream: list[int], room: int) -> set[int]:
    """Return the names that a policy retains."""
    held: set[int] = set()
    for name in stream:
        if name in held:
            kept.used(name)
            continue
        kept.added(name)
        held.add(name)
        if len(held) > room:
            victim = kept.victim()
            assert victim in held
            held.discard(victim)
    return held


def test_space_saving_retains_frequent_names_and_never_undercounts() -> None:
    stream, room = skewed(seed_of_test(), 20_000), 100
    kept, true = SpaceSaving(), Counter(stream)
    held = retained(kept, stream, room)
    for name, count in true.items():
        if count > len(stream) / room:
            assert name in held
        if name in held:
            assert count <= kept.count(name) <= count + kept.inherited
    assert kept.inherited <= len(stream) / room
    assert kept.count(-1) == 0


def test_frequent_entries_are_retained() -> None:
    stream, room = skewed(seed_of_test(), 20_000), 50
    held = retained(MostFrequent(), stream, room)
    top = {name for name, _ in Counter(stream).most_common(room // 2)}
    assert len(top & held) >= 0.9 * len(top)


@given(st.lists(st.tuples(st.sampled_from("aauut"), st.integers(0, 4)), max_size=80))
def test_least_recently_used_is_what_it_says(steps: list[tuple[str, int]]) -> None:
    policy, order = LeastRecentlyUsed(), list[int]()
    for step, name in steps:
        if step == "a":
            policy.added(name)
            order = [n for n in order if n != name] + [name]
        elif step == "u":
            policy.used(name)
            if name in order:
                order = [n for n in order if n != name] + [name]
        else:
            assert policy.victim() == (order.pop(0) if order else None)
    assert [policy.victim() for _ in range(6)] == [*order, *[None] * (6 - len(order))]


@pytest.mark.parametrize(("rows", "width"), [(0, 4), (-1, 4), (3, 0)])
def test_a_count_sketch_has_rows_and_counters(rows: int, width: int) -> None:
    with pytest.raises(ValueError, match="at least one row and one counter"):
        CountSketch(rows=rows, width=width)
    assert CountSketch(rows=1, width=1).estimate(7) == 0


@pytest.mark.parametrize("lower", [True, False])
def test_a_probe_names_the_entry_that_it_used(*, lower: bool) -> None:
    """So that retention counts its use."""
    bounds = ExactBounds()
    entry = bounds.record(BoundEntry(lower, "public", 1, 0b0110 if not lower else 0b1111), 0.5)
    assert entry is not None
    bounds.record(BoundEntry(not lower, "public", 1, 0b1000), 2.0 if lower else -2.0)
    assert bounds.probe("public", 1, 0b0111).entries == (entry,)


@pytest.mark.parametrize("retention", ["none", "lru", "space-saving", "count-sketch"])
@pytest.mark.parametrize("arm", ["table", "exact", "cores", "minhash"])
@given(st.integers(0, 10**6))
@settings(max_examples=2, deadline=None)
def test_a_limit_is_kept_and_values_are_the_same(arm: str, retention: str, seed: int) -> None:
    problem = RandomProblem(seed)
    search = BeliefSearch(problem, named_bounds(arm, limit=LIMIT, retention=retention))
    for hidden in ((0, 1, 2, 3), (2, 4, 5), tuple(range(STATES))):
        found = search.search(Root((0, 0), hidden), 3)
        assert found.value == value_by_definition(problem, (0, 0), frozenset(hidden), 3)
        assert search.bounds.nbytes <= LIMIT


@pytest.mark.parametrize("retention", ["lru", "count-sketch"])
def test_approximate_bounds_keep_the_limit_too(retention: str) -> None:
    make = named_bounds("minhash", verified=False, limit=LIMIT, retention=retention, k=200)
    search = BeliefSearch(RandomProblem(3), make)
    search.search(Root((0, 0), tuple(range(STATES))), 4)
    assert search.bounds.statistics()["forgotten"] > 0
    assert 0 < search.bounds.nbytes <= LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("retention", ["none", "lru", "space-saving", "count-sketch"])
def test_replaced_bounds_are_neither_retained_nor_forgotten_twice(retention: str) -> None:
    """As many entries are known to the limit as the bounds hold."""
    problem = MiniRbcProblem(4, 2)
    make = named_bounds("cores", limit=8192, retention=retention)
    search = BeliefSearch(problem, make)
    for root in problem.roots("hard", 3, depth=3, seed=2):
        search.search(root, 3)
        limited = search.bounds
        assert isinstance(limited, LimitedBounds)
        assert len(limited._entries) == limited.statistics()["entries"] > 20
        assert limited.nbytes <= 8192


def test_a_limit_below_one_entry_is_refused() -> None:
    with pytest.raises(ParameterError, match="no room for one entry"):
        BeliefSearch(PhantomLinesProblem(), named_bounds("minhash", k=4096, limit=4096))
