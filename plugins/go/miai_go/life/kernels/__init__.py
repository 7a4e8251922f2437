"""Compiled kernels of life and death: positions of a zone as two words, and proof-number search.

`stones` plays moves, `life` knows unconditional life, `table` remembers. `judging` says what a
position is by itself, `expanding` lists a node's children, `weighing` makes numbers of theirs,
`search` is the loop, on the arrays of `stack`; `guide` asks a small network about the `traits` of a
position. The class that owns the arrays is `miai_go.life.prover.Prover`. `planes` shows
positions to larger networks, `net` is the fully connected one of them, `zone_net` the one whose
features live in the zone, on the ground of `zone_ground`.
"""

from pathlib import Path

from miai.kernels import KernelFamily, inlined, part, spelt_out

__all__ = ["FAMILY", "inlined", "kernel", "part", "spelt_out"]

FAMILY = KernelFamily("miai-go-tsumego", Path(__file__).parent)
kernel = FAMILY.kernel
