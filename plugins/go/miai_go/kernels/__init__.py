"""Compiled kernels of Go: numba functions on fixed-dtype arrays, no Python objects.

`rules` holds the board's layout and moves, `playouts` the light playouts, `uct` the Monte Carlo
tree search. The classes that own the arrays are in `miai_go.rules.board`,
`miai_go.rules.playouts` and `miai_go.search.mcts`.

To compile fast, points are passed as `int64`, and parts are called rather than inlined; see
`miai.kernels`.
"""

from pathlib import Path

from miai.kernels import KernelFamily, inlined, part, spelt_out
from miai.process.compilations import KernelGroup

__all__ = ["FAMILY", "inlined", "kernel", "part", "spelt_out"]

GROUPS = {
    "rules": KernelGroup("miai_go.rules.playouts:load_rules", 7, 2.7),
    "playouts": KernelGroup("miai_go.rules.playouts:load_playouts", 3, 2.8),
    "search": KernelGroup("miai_go.search.mcts:load_search", 2, 4.4),
    "patterns": KernelGroup("miai_go.nets.patterns:load_patterns", 1, 6.6),
}
FAMILY = KernelFamily("miai-go", Path(__file__).parent, GROUPS)
kernel = FAMILY.kernel
