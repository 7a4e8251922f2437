"""A table of what networks answered for positions, any of the eight symmetries of one its key.

The key of a position covers the stones, the player to move, the point of a ko and whether the last
move was a pass. A network may see more, the order of the moves or earlier positions; an answer may
then be for another past. Answers are stored for the symmetry under which the key is lowest. A row
of the table holds the newest answer whose key falls on it.

Arrays of a table with n rows, n a power of two:

    keys    `uint64` of shape (n,); 0 for an empty row
    logits  `float32` of shape (n, size * size + 1)
    values  `float32` of shape (n,)
"""

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.rules import ACTION, CHAIN, HEADER, KO, RECORD, SIZE, Int, Words
from miai_go.kernels.trail import COLOR, LAST

_COLOR_BITS = 3  # of the word of a chain; its index is a multiple of 8

Logits = NDArray[np.float32]
Values = NDArray[np.float32]
Keys = NDArray[np.uint64]


@part
def lowest_symmetry(
    b: Words, turns: NDArray[np.int16], codes: Keys, hashes: Keys
) -> tuple[np.uint64, Int]:
    """Return the lowest hash of stones and ko under the symmetries, and its symmetry."""
    size = np.int64(b[SIZE])
    for s in range(8):
        hashes[s] = 0
    p = HEADER + RECORD * (size + 2)
    point: Int = np.int64(0)
    for _row in range(size):
        for _column in range(size):
            color = np.int64(b[p + CHAIN] & _COLOR_BITS)
            if color != 0:
                for s in range(8):
                    hashes[s] ^= codes[turns[s, point], color - 1]
            point += 1
            p += RECORD
        p += RECORD
    ko = np.int64(b[KO]) & ~np.int64(_COLOR_BITS)
    if ko != 0:
        for s in range(8):
            hashes[s] ^= codes[turns[s, np.int64(b[ko + ACTION])], 2]
    best: Int = np.int64(0)
    for i in range(1, 8):
        if hashes[i] < hashes[best]:
            best = np.int64(i)
    return hashes[best], best


@part
def row_of(key: np.uint64, rows: int) -> Int:
    """Return the row of the table on which a key falls."""
    return np.int64((key >> np.uint64(1)) & np.uint64(rows - 1))


@kernel
def recall(
    count: int,
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    turns: NDArray[np.int16],
    codes: Keys,
    extras: Keys,
    hashes: Keys,
    keys: Keys,
    table_logits: Logits,
    table_values: Values,
    keys_out: Keys,
    symmetries: NDArray[np.uint8],
    logits: Logits,
    values: Values,
    missing: NDArray[np.int64],
) -> int:
    """Write the answers that are in the table; return how many positions have none.

    The rows of these are in `missing`. `keys_out` and `symmetries` are what `store` takes.

    Args:
      turns: `point_tables`, shape (8, size * size + 1).
      codes: random numbers of shape (size * size, 3): a black stone, a white stone, the ko.
      extras: random numbers: White to move, the last move was a pass.
      hashes: work space of shape (8,).
    """
    unknown = 0
    for n in range(count):
        actions = logits.shape[1]
        key, best = lowest_symmetry(words[n], turns, codes, hashes)
        if trails[n, COLOR] == 2:
            key ^= extras[0]
        if trails[n, LAST] == actions - 1:
            key ^= extras[1]
        key |= np.uint64(1)  # 0 is an empty row
        keys_out[n] = key
        symmetries[n] = best
        row = row_of(key, len(keys))
        if keys[row] != key:
            missing[unknown] = n
            unknown += 1
            continue
        for action in range(actions):
            logits[n, action] = table_logits[row, turns[best, action]]
        values[n] = table_values[row]
    return unknown


@kernel
def store(
    count: int,
    missing: NDArray[np.int64],
    answered_logits: Logits,
    answered_values: Values,
    turns: NDArray[np.int16],
    keys_of: Keys,
    symmetries: NDArray[np.uint8],
    keys: Keys,
    table_logits: Logits,
    table_values: Values,
    logits: Logits,
    values: Values,
) -> None:
    """Put `count` answers for the positions in `missing` into the table and among the answers."""
    for i in range(count):
        n = missing[i]
        row = row_of(keys_of[n], len(keys))
        keys[row] = keys_of[n]
        for action in range(answered_logits.shape[1]):
            logits[n, action] = answered_logits[i, action]
            table_logits[row, turns[symmetries[n], action]] = answered_logits[i, action]
        values[n] = answered_values[i]
        table_values[row] = answered_values[i]
