"""Seeds of tests: fixed by default, drawn in soaks.

`MIAI_TEST_SEED` is any text, ``1`` by default; each test derives its own seed from it. With
``MIAI_TEST_SEED=random`` every seed is drawn, and hypothesis draws its examples. A failing test
prints its seed, with which it can be repeated: ``MIAI_TEST_SEED=seed:123``.
"""

from __future__ import annotations

import hashlib
import os
import random

RANDOM = "random"
_EXACT = "seed:"


def fixed() -> bool:
    """Return whether every run of the tests draws the same."""
    return os.environ.get("MIAI_TEST_SEED", "1") != RANDOM


def seed_of_test() -> int:
    """Return the seed of the running test, and print it."""
    chosen = os.environ.get("MIAI_TEST_SEED", "1")
    if chosen.startswith(_EXACT):
        seed = int(chosen.removeprefix(_EXACT))
    elif fixed():
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        seed = int.from_bytes(hashlib.sha256(f"{chosen} {test}".encode()).digest()[:4], "big")
    else:
        seed = random.SystemRandom().randrange(1 << 32)
    print(f"MIAI_TEST_SEED=seed:{seed}")
    return seed
