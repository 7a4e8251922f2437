"""Vectors of floats in kernels, compared with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from miai.kernels.lanes import LANES, add_lanes, add_products, raise_lanes

_Kernel = TypeVar("_Kernel", bound=Callable[..., None])
Floats = NDArray[np.float32]


def kernel(function: _Kernel) -> _Kernel:
    """Compile a function as it is called, without keeping the code."""
    return cast(_Kernel, numba.njit(function))


@kernel
def combine(sums: Floats, peaks: Floats, begin: int, row: Floats, start: int) -> None:
    """Add 16 numbers, and keep the larger of 16."""
    add_lanes(sums, begin, row, start)
    raise_lanes(peaks, begin, row, start)


@kernel
def multiply(out: Floats, inputs: Floats, weights: Floats, n: int, width: int) -> None:
    """Add the products of one column and of three, whose places are out of order."""
    for v in range(0, width, LANES):
        add_products(out, (v,), inputs, (n,), weights, v, width, n)
        rows = (2 * width + v, width + v, 3 * width + v)
        add_products(out, rows, inputs, (0, 2 * n, n), weights, v, width, n)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def drawn(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(size=shape).astype(np.float32)


def test_sixteen_numbers_are_added_or_raised_and_no_others(rng: np.random.Generator) -> None:
    sums, peaks, row = drawn(rng, 40), drawn(rng, 40), drawn(rng, 30)
    wanted, highest = sums.copy(), peaks.copy()
    wanted[5:21] += row[3:19]
    highest[5:21] = np.maximum(highest[5:21], row[3:19])
    combine(sums, peaks, 5, row, 3)
    np.testing.assert_array_equal(sums, wanted)
    np.testing.assert_array_equal(peaks, highest)


@pytest.mark.parametrize(("n", "width"), [(0, 16), (1, 16), (7, 32), (48, 48)])
def test_products_are_those_of_matrices(rng: np.random.Generator, n: int, width: int) -> None:
    weights, inputs = drawn(rng, n, width), drawn(rng, 3, n)
    out = drawn(rng, 5, width)
    wanted = out.astype(np.float64)
    for row, column in ((0, 1), (2, 0), (1, 2), (3, 1)):
        wanted[row] += inputs[column].astype(np.float64) @ weights
    flat = out.reshape(-1)
    multiply(flat, inputs.reshape(-1), weights.reshape(-1), n, width)
    np.testing.assert_allclose(flat.reshape(5, width), wanted, atol=1e-4)
