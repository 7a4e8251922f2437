"""Weights of few bits."""

from __future__ import annotations

import numpy as np
import pytest

from miai_go.tsumego.networks.net_files import (
    BITS,
    pack,
    packed_tensors,
    quantize,
    unpack,
    unpacked_tensors,
)


@pytest.mark.parametrize("bits", BITS)
def test_packed_numbers_come_back(bits: int) -> None:
    rng = np.random.default_rng(bits)
    half = 1 << (bits - 1)
    numbers = rng.integers(-half, half, 1001)
    words = pack(numbers, bits)
    assert words.nbytes <= 1001 * bits / 8 + 8
    assert (unpack(words, 1001, bits) == numbers).all()


def test_more_bits_lose_less() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 300))
    losses = []
    for bits in sorted(BITS):
        whole, scales = quantize(rows, bits)
        assert np.abs(whole).max() < 1 << (bits - 1)
        losses.append(float(((whole * scales[:, None] - rows) ** 2).mean()))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 1e-3


def test_tensors_keep_their_shapes_and_biases() -> None:
    tensors = {
        "a.weight": np.random.default_rng(1).normal(size=(4, 3, 2)).astype(np.float32),
        "a.bias": np.arange(4, dtype=np.float32),
        "zero.weight": np.zeros((2, 2), np.float32),
    }
    back = unpacked_tensors(packed_tensors(tensors, 8), 8, where="here")
    assert {n: a.shape for n, a in back.items()} == {n: a.shape for n, a in tensors.items()}
    assert (back["a.bias"] == tensors["a.bias"]).all()
    np.testing.assert_allclose(back["a.weight"], tensors["a.weight"], atol=0.02)
    assert (back["zero.weight"] == 0).all()


def test_inconsistent_parts_are_refused() -> None:
    from miai.errors import WeightsError

    tensors = {"a.weight": np.ones((4, 4), np.float32)}
    for name, change in (
        ("a.weight.scales", np.ones(3, np.float32)),
        ("a.weight.shape", np.array([1 << 40, 4], np.int64)),
        ("a.weight.shape", np.array([4, -4], np.int64)),
        ("a.weight.packed", np.ones(1, np.float32)),
        ("b.scales", np.ones(1, np.float32)),
    ):
        stored = packed_tensors(tensors, 5) | {name: change}
        with pytest.raises(WeightsError):
            unpacked_tensors(stored, 5, where="here")
    stored = packed_tensors(tensors, 5)
    stored.pop("a.weight.scales")
    with pytest.raises(WeightsError, match="missing"):
        unpacked_tensors(stored, 5, where="here")
