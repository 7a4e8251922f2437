"""A table of what networks answered for positions, any of the eight symmetries of one its key.

The key of a position covers the stones, the player to move, the point of a ko and whether the last
move was a pass. A network may see more, the order of the moves or earlier positions; an answer may
then be for another past. Answers are stored for the symmetry under which the key is lowest. A row
of the table holds the newest answer whose key falls on it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.rules import ACTION, CHAIN, HEADER, KO, RECORD, SIZE, Int, Words
from miai_go.kernels.trail import COLOR, LAST

_COLOR_BITS = 3  # of the word of a chain; its index is a multiple of 8

Logits = NDArray[np.float32]
Values = NDArray[np.float32]
Keys = NDArray[np.uint64]


class AnswerTable(NamedTuple):
    """The answers: n rows, n a power of two.

    Attributes:
      keys: of shape (n,); 0 for an empty row.
      logits, values: of shapes (n, size * size + 1) and (n,).
    """

    keys: Keys
    logits: Logits
    values: Values


class Hashing(NamedTuple):
    """How positions are hashed.

    Attributes:
      turns: `point_tables`, shape (8, size * size + 1).
      codes: random numbers of shape (size * size, 3): a black stone, a white stone, the ko.
      extras: random numbers: White to move, the last move was a pass.
      hashes: work space of shape (8,).
    """

    turns: NDArray[np.int16]
    codes: Keys
    extras: Keys
    hashes: Keys


class AnswerBatch(NamedTuple):
    """Answers for a batch of positions, with a row for each.

    Attributes:
      keys, symmetries: under which `store` puts an answer into the table.
      logits, values: the answers.
      missing: rows of the positions without one.
    """

    keys: Keys
    symmetries: NDArray[np.uint8]
    logits: Logits
    values: Values
    missing: NDArray[np.int64]


@part
def lowest_symmetry(
    b: Words, turns: NDArray[np.int16], codes: Keys, hashes: Keys
) -> tuple[np.uint64, Int]:
    """Return the lowest hash of stones and ko under the symmetries, and its symmetry."""
    # All eight hashes at once: one pass over the board, which is the slow part.
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
    # The lowest bit is always set, see `recall`: it tells no rows apart.
    return np.int64((key >> np.uint64(1)) & np.uint64(rows - 1))


@kernel
def recall(
    count: int,
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    how: Hashing,
    answers: AnswerTable,
    rows: AnswerBatch,
) -> int:
    """Write the answers that are in the table; return how many positions have none."""
    hashing, table, batch = Hashing(*how), AnswerTable(*answers), AnswerBatch(*rows)
    turns = hashing.turns
    unknown = 0
    for n in range(count):
        actions = batch.logits.shape[1]
        key, best = lowest_symmetry(words[n], turns, hashing.codes, hashing.hashes)
        if trails[n, COLOR] == 2:
            key ^= hashing.extras[0]
        # After a pass another one ends the game, so the same stones have another value.
        if trails[n, LAST] == actions - 1:
            key ^= hashing.extras[1]
        key |= np.uint64(1)  # 0 is an empty row
        batch.keys[n] = key
        batch.symmetries[n] = best
        row = row_of(key, len(table.keys))
        if table.keys[row] != key:
            batch.missing[unknown] = n
            unknown += 1
            continue
        for action in range(actions):
            # The table has the answer as turned by `best`; reading through the same turn undoes it.
            batch.logits[n, action] = table.logits[row, turns[best, action]]
        batch.values[n] = table.values[row]
    return unknown


@kernel
def store(
    count: int,
    logits: Logits,
    values: Values,
    how: Hashing,
    answers: AnswerTable,
    rows: AnswerBatch,
) -> None:
    """Put `count` answers for the missing positions into the table and among the answers."""
    hashing, table, batch = Hashing(*how), AnswerTable(*answers), AnswerBatch(*rows)
    for i in range(count):
        n = batch.missing[i]
        row = row_of(batch.keys[n], len(table.keys))
        table.keys[row] = batch.keys[n]
        turn = hashing.turns[batch.symmetries[n]]
        for action in range(logits.shape[1]):
            batch.logits[n, action] = logits[i, action]
            table.logits[row, turn[action]] = logits[i, action]
        batch.values[n] = values[i]
        table.values[row] = values[i]
