"""Compiled kernels of Reconnaissance Blind Chess: numba functions on arrays, no Python objects.

`bitboards` holds attacks, `board` a board as eight words and its hash, `moves` the moves that can
be requested and taken. `expansion` and `filters` update beliefs, `scan` counts the outcomes of
senses, `opponent` is the model of the opponent's moves. `evaluation` and `engine` are the embedded
engine. `belief_tree` is the compiled search over beliefs, and `belief_search` what it shares with
the recursion. Integers are int64, sets of squares and hashes uint64; the two are never mixed, which
would make a float.
"""

from pathlib import Path

from miai.kernels import KernelFamily, inlined, part

__all__ = ["FAMILY", "allocating", "inlined", "kernel", "part"]

FAMILY = KernelFamily("miai-rbc", Path(__file__).parent)
kernel, allocating = FAMILY.kernel, FAMILY.allocating
