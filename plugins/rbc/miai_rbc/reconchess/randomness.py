"""Random numbers of code that draws them from the interpreter's own generators."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


class BorrowedRandomness:
    """The states of the generators of `random` and `numpy.random`, as one bot has them.

    Bots draw from those. Within `lent` they go on where this bot left them, so that a game is
    repeated by its seed, whoever else drew numbers between.
    """

    def __init__(self, seed: int) -> None:
        self._python = random.Random(seed).getstate()
        # The legacy generator is the one that bots use, and takes 32 bits.
        self._numpy = np.random.RandomState(seed & 0xFFFFFFFF).get_state()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Put the bot's states in place, and what was there back again afterwards."""
        before = random.getstate(), np.random.get_state()
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        try:
            yield
        finally:
            self._python, self._numpy = random.getstate(), np.random.get_state()
            random.setstate(before[0])
            np.random.set_state(before[1])
