"""Readers of untrusted input: seeds, inputs that failed once, and random changes of both."""

from __future__ import annotations

import random
import time

import pytest
from tests.fuzz import MOST_SECONDS, REGRESSIONS, TARGETS


def changed(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """Return an input with some bytes changed, left out, repeated, or taken from another input."""
    mutant = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        begin, length = rng.randint(0, len(mutant)), rng.randint(0, 8)
        other = rng.choice(others)
        start = rng.randint(0, len(other))
        piece = rng.choice(
            [
                b"",
                rng.randbytes(length),
                other[start : start + 4 * length],
                bytes(mutant[begin : begin + length]) * rng.randint(1, 50),
            ]
        )
        mutant[begin : begin + rng.choice([0, length])] = piece
    return bytes(mutant)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] if name in ("store", "upload", "request") else []
        )
        for name in TARGETS
    ],
)
def test_a_reader_raises_nothing_but_its_own_errors(name: str) -> None:
    target, rng = TARGETS[name], random.Random(name)
    check, seeds = target.make(), [*target.seeds(), *REGRESSIONS.get(name, ())]
    words = [word.encode() for word in target.words.split("|")]
    for seed in (*seeds, b"", b"x"):  # compiles and imports
        check(seed)
    slowest = 0.0
    for _ in range(40 if name == "store" else 150):
        data = changed(rng.choice(seeds), [*seeds, *words], rng)
        began = time.process_time()
        check(data)
        slowest = max(slowest, time.process_time() - began)
    assert slowest < MOST_SECONDS


def test_seeds_are_good_inputs() -> None:
    """A seed that is refused at once would leave the rest of a reader untested."""
    from miai.record_reader import read_record
    from miai_go.sgf.reading import read_bytes

    for seed in TARGETS["sgf"].seeds()[:3]:
        assert read_bytes(seed)
    for seed in TARGETS["record"].seeds():
        assert read_record(seed.decode()).moves
