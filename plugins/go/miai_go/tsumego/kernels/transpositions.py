"""Transposition table: buckets of four entries, the least work evicted first.

An entry is five words: the defender's stones, the attacker's, its kind with side, ban and move, the
proof and disproof numbers, and the work that it took. Positions are stored whole, since a collision
of digests would pass for a proof.

A disproof that depends on a repeated position of the path holds on that path only. Its entry has a
digest of the path in place of the work, and the level of that position; it is found on that path
alone (Kishimoto and Mueller, "A general solution to the graph history interaction problem", AAAI
2004).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from miai_go.tsumego.kernels import inlined, kernel, part
from miai_go.tsumego.kernels.stones import U64, ZERO, Int, Words

ENTRY_WORDS = 5
BUCKET = 4

D, A, INFO, NUMBERS, WORK = range(ENTRY_WORDS)

ESTIMATE, SOLVED, ON_THIS_PATH = np.int64(1), np.int64(2), np.int64(3)

# Constants are typed: numba would make a float of a word and a signed number.
_32 = U64(32)
_LOW = U64(0xFFFFFFFF)
_KEY = U64(0xFF)
_1, _8, _16, _24 = U64(1), U64(8), U64(16), U64(24)
_FF, _FFFF = U64(0xFF), U64(0xFFFF)
_MIX_1, _MIX_2 = U64(0xBF58476D1CE4E5B9), U64(0x94D049BB133111EB)
_GAMMA, _OTHER = U64(0x9E3779B97F4A7C15), U64(0xD6E8FEB86659FD93)


@inlined
def scramble(z: np.uint64) -> np.uint64:
    """Return a digest of one word (SplitMix64's)."""
    z = (z ^ (z >> U64(30))) * _MIX_1
    z = (z ^ (z >> U64(27))) * _MIX_2
    mixed: np.uint64 = z ^ (z >> U64(31))
    return mixed


@inlined
def turn_of(side: Int, ban: Int) -> np.uint64:
    """Return the side to move and its ban in 8 bits."""
    turn: np.uint64 = U64(side) | (U64(ban + 1) << _1)
    return turn


@part
def digest(attacker: np.uint64, defender: np.uint64, turn: np.uint64) -> np.uint64:
    """Return a 64-bit digest of a position."""
    # Positions differ only in the bits of their zone: unmixed they would crowd into few buckets.
    return scramble(scramble(defender + turn * _GAMMA) ^ (attacker * _OTHER + _GAMMA))


@part
def find(
    table: Words, attacker: np.uint64, defender: np.uint64, turn: np.uint64, path: np.uint64
) -> Int:
    """Return the index of a position's most certain entry, -1 for none.

    Args:
      table: uint64 of shape (buckets * 4 * 5,), buckets a power of two.
      path: digest of the positions on the path to this one.
    """
    # The number of buckets is a power of two, so that a mask takes the place of a division. An
    # entry can only be in its bucket, 160 bytes in a row.
    buckets = len(table) // (BUCKET * ENTRY_WORDS)
    first = np.int64(digest(attacker, defender, turn) & U64(buckets - 1)) * (BUCKET * ENTRY_WORDS)
    entry: Int = np.int64(-1)
    surest: Int = np.int64(0)
    for i in range(BUCKET):
        slot = first + i * ENTRY_WORDS
        if table[slot + D] == defender and table[slot + A] == attacker:
            info = table[slot + INFO]
            kind = kind_of(info)
            # The same stones may be stored for either side to move, with and without a ban.
            holds = info & _KEY == turn and (kind != ON_THIS_PATH or table[slot + WORK] == path)
            if holds and kind > surest:
                entry, surest = slot, kind
                if kind == SOLVED:
                    return entry
    return entry


@inlined
def kind_of(info: np.uint64) -> Int:
    """Return the kind of an entry; 0 is an empty one."""
    kind: np.int64 = np.int64((info >> _8) & U64(3))
    return kind


@inlined
def move_of(info: np.uint64) -> Int:
    """Return the best move."""
    move: np.int64 = np.int64((info >> _16) & _FF)
    return move


@inlined
def depends_of(info: np.uint64) -> Int:
    """Return the highest level that a disproof on this path depends on."""
    level: np.int64 = np.int64((info >> _24) & _FFFF)
    return level


class Result(NamedTuple):
    """What the search knows about a position.

    Attributes:
      kind: ESTIMATE, SOLVED or ON_THIS_PATH.
      move: the best move, a point of the zone or the pass.
      pn, dn: proof and disproof number.
      work: positions searched; for an entry of `ON_THIS_PATH`, the digest of the path.
      depends: the level on the path that a disproof depends on.
    """

    kind: Int
    move: Int
    pn: Int
    dn: Int
    work: np.uint64
    depends: Int


@part
def keep(
    table: Words, attacker: np.uint64, defender: np.uint64, turn: np.uint64, result: Result
) -> None:
    """Store a result, in place of one of the same position or of the one with the least work."""
    buckets = len(table) // (BUCKET * ENTRY_WORDS)
    first = np.int64(digest(attacker, defender, turn) & U64(buckets - 1)) * (BUCKET * ENTRY_WORDS)
    chosen = first
    cheapest = _LOW << _32
    for i in range(BUCKET):
        slot = first + i * ENTRY_WORDS
        info = table[slot + INFO]
        old = kind_of(info)
        if old == 0:
            chosen = slot
            break
        # A disproof on one path stands beside an estimate: the latter serves all other paths.
        same = table[slot + D] == defender and table[slot + A] == attacker and info & _KEY == turn
        if same and (old == result.kind or (old == ESTIMATE and result.kind == SOLVED)):
            chosen = slot
            break
        # Disproofs of one path are rarely found again, so they are evicted first.
        cost = ZERO if old == ON_THIS_PATH else table[slot + WORK]
        if cost < cheapest:
            chosen, cheapest = slot, cost
    table[chosen + D] = defender
    table[chosen + A] = attacker
    table[chosen + INFO] = (
        turn | (U64(result.kind) << _8) | (U64(result.move) << _16) | (U64(result.depends) << _24)
    )
    table[chosen + NUMBERS] = (U64(result.pn) << _32) | U64(result.dn)
    table[chosen + WORK] = result.work


@inlined
def proof_number(numbers: np.uint64) -> Int:
    """Return the proof number of an entry."""
    pn: np.int64 = np.int64(numbers >> _32)
    return pn


@inlined
def disproof_number(numbers: np.uint64) -> Int:
    """Return the disproof number of an entry."""
    dn: np.int64 = np.int64(numbers & _LOW)
    return dn


@kernel
def move_all(old: Words, new: Words) -> None:
    """Move all entries of a table into a larger, empty one."""
    # Nothing is evicted: the mask has more bits now, so a new bucket gets entries of one old bucket
    # only, four at most.
    for slot in range(0, len(old), ENTRY_WORDS):
        info = old[slot + INFO]
        kind = kind_of(info)
        if kind != 0:
            numbers = old[slot + NUMBERS]
            pn, dn = proof_number(numbers), disproof_number(numbers)
            result = Result(kind, move_of(info), pn, dn, old[slot + WORK], depends_of(info))
            keep(new, old[slot + A], old[slot + D], info & _KEY, result)
