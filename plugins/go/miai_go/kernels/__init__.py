"""Compiled kernels of Go: numba functions on fixed-dtype arrays, no Python objects.

`rules` holds the board's layout and moves, `playouts` the light playouts, `uct` the Monte Carlo
tree search. The classes that own the arrays are in `miai_go.rules.board`,
`miai_go.rules.playouts` and `miai_go.search.mcts`.

To compile fast, points are passed as `int64`, and parts are called rather than inlined; see
`miai.kernels`.
"""

from pathlib import Path

from miai.kernels import KernelFamily, inlined, part, spelt_out

__all__ = ["FAMILY", "inlined", "kernel", "part", "spelt_out"]

FAMILY = KernelFamily("miai-go", Path(__file__).parent)
kernel = FAMILY.kernel
