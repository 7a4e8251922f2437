"""Compiled kernels of Reconnaissance Blind Chess: numba functions on arrays, no Python objects.

`bits` holds attacks, `board` a board as eight words and its hash, `moves` the moves that can be
requested and taken. `expansion` and `filters` update beliefs, `scan` counts the outcomes of senses,
`choice` serves the choice of moves. `evaluation` and `engine` are the embedded engine,
`belief_search` serves the search over beliefs by arrays, and
`belief_tree` is the compiled one. Integers are int64, sets of squares and hashes uint64; the
two are never mixed, which would make a float.
"""

from pathlib import Path

from miai.kernels import KernelFamily, inlined, part

__all__ = ["FAMILY", "allocating", "inlined", "kernel", "part"]

FAMILY = KernelFamily("miai-rbc", Path(__file__).parent)
kernel, allocating = FAMILY.kernel, FAMILY.allocating
