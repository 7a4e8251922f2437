"""Parting games by their names: into train, validation and test, and a few out of many.

A name is a digest of the moves up to symmetry, so its bits are as good as drawn at random. What a
game is parted to depends on its name alone: it stays there when games are added or come in another
order, and its turned copies go with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from miai_go.errors import DataError
from miai_go.learning.games import NAME_BYTES

Split = Literal["all", "train", "validation", "test"]
SPLITS: Final[tuple[Split, ...]] = get_args(Split)

FRACTIONS: Final = (0.9, 0.05, 0.05)
"""Of games for training, validation and test, where nothing is said."""


def in_split(
    names: NDArray[np.uint8], split: str, fractions: tuple[float, float, float] = FRACTIONS
) -> NDArray[np.bool_]:
    """Return which games, by their names (games, 16), are in a split.

    Raises:
      DataError: there is no such split, or the fractions are negative or do not sum to 1.
    """
    if split not in SPLITS:
        raise DataError(f"there is no split {split!r}; it is one of {', '.join(SPLITS)}")
    if len(fractions) != len(FRACTIONS) or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-9:
        raise DataError(f"fractions {fractions} of train, validation and test do not sum to 1")
    if split == "all":
        return np.ones(len(names), np.bool_)
    place = [*SPLITS].index(split) - 1
    position = _words(names)[:, 0] / 2.0**64
    begin = sum(fractions[:place])
    end = begin + fractions[place] if split != "test" else np.inf
    inside: NDArray[np.bool_] = (position >= begin) & (position < end)
    return inside


def listed(names: NDArray[np.uint8], wanted: Iterable[str | bytes]) -> NDArray[np.bool_]:
    """Return which games are among names, given as 16 bytes or 32 hexadecimal digits.

    Raises:
      DataError: something is no name.
    """
    known = {_name(name) for name in wanted}
    found = (row.tobytes() in known for row in names)
    return np.fromiter(found, np.bool_, len(names))


def few_of(names: NDArray[np.uint8], count: int, seed: int) -> NDArray[np.int64]:
    """Return the indices, ascending, of `count` of the games, or of all where they are fewer.

    The same games are chosen for the same seed in whatever order they come.
    """
    order = np.random.default_rng(seed).integers(0, 2**64, dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = (_words(names)[:, 1] ^ order) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    chosen: NDArray[Any] = np.sort(np.argsort(mixed, kind="stable")[:count])
    return chosen.astype(np.int64)


def _words(names: NDArray[np.uint8]) -> NDArray[np.uint64]:
    words: NDArray[np.uint64] = np.ascontiguousarray(names).view("<u8").astype(np.uint64)
    return words


def _name(name: str | bytes) -> bytes:
    try:
        digest = bytes.fromhex(name) if isinstance(name, str) else bytes(name)
    except ValueError:
        digest = b""
    if len(digest) != NAME_BYTES:
        raise DataError(f"{str(name)[:40]!r} is no name of a game: {2 * NAME_BYTES} hex digits")
    return digest
