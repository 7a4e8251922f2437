"""Compiled kernels of Reconnaissance Blind Chess: numba functions on arrays, no Python objects.

`bits` holds attacks, `board` a board as eight words and its hash, `moves` what can be asked for and
taken, `table` sets of boards, `expand` and `filters` what a turn does to a belief, `scan` what a
sense would tell, `evaluation`, `ordering` and `search` the embedded engine. Whole numbers are
int64, sets of squares and hashes uint64; the two are never mixed, which would make a float.
"""

from pathlib import Path

from miai.kernels import KernelFamily, inlined, part

__all__ = ["FAMILY", "allocating", "inlined", "kernel", "part"]

FAMILY = KernelFamily("miai-rbc", Path(__file__).parent)
kernel, allocating = FAMILY.kernel, FAMILY.allocating
