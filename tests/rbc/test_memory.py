"""Memory that is used again never belongs to two arrays at once."""

from __future__ import annotations

import gc
import random

import numpy as np
from tests.seeds import seed_of_test

from miai_rbc.rules.buffers import BufferPool


def test_memory_is_handed_out_again_once_no_view_is_left() -> None:
    pool = BufferPool(limit=1 << 20)
    first = pool.take(10_000)
    place, view = first.ctypes.data, first[5:50].reshape(5, 9)
    del first
    second = pool.take(10_000)
    assert second.ctypes.data != place  # the view still holds it
    view[:] = 7
    second[:] = 3
    assert (view == 7).all()
    del view
    assert pool.kept() == 10_000
    assert pool.take(9_000).ctypes.data == place


def test_the_garbage_collector_may_give_memory_back_at_any_time() -> None:
    """An array in a reference cycle is freed in the middle of whatever the pool does."""
    pool = BufferPool(limit=1 << 22)

    class Frame:
        def __init__(self) -> None:
            self.me, self.array = self, pool.take(5000)

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(2000):
            Frame()
            pool.take(6000)
    finally:
        gc.set_threshold(*before)
    assert pool.kept() <= 1 << 22


def test_more_than_the_limit_is_given_back() -> None:
    pool = BufferPool(limit=25_000)
    arrays = [pool.take(10_000) for _ in range(4)]
    arrays.clear()
    assert pool.kept() == 20_000


def test_no_array_is_ever_shared() -> None:
    seed = seed_of_test()
    rng = random.Random(seed)
    pool = BufferPool(limit=1 << 18)
    held: dict[int, np.ndarray[tuple[int, ...], np.dtype[np.uint64]]] = {}
    for number in range(300):
        array = pool.take(rng.randrange(1, 30_000))
        array[:] = number
        held[number] = array
        for victim in rng.sample(sorted(held), min(len(held), rng.randrange(3))):
            del held[victim]
        array = array[:0]
        assert all((kept == mark).all() for mark, kept in held.items())
