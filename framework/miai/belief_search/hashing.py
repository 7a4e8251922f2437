"""64-bit hashes of hidden parts, the same in every process."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def hashed(part: int) -> int:
    """Return a hash of a number: the finaliser of splitmix64 (Steele et al. 2014), a bijection."""
    x = (part + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)
