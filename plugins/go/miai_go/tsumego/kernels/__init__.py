"""Compiled kernels of life and death: positions of a zone as two words, and proof-number search.

`stones` plays moves, `judging` evaluates positions statically, `transpositions` remembers results,
and `proof_search` is the proof-number search, on the arrays of `stack`. `guide` is a small network
that predicts from the `traits` of a position how hard it is. The class that owns the arrays is
`miai_go.tsumego.solver.prover.Prover`. `planes` encodes positions for the larger networks,
and `zone_net` evaluates those whose features belong to the points of the zone.
"""

from pathlib import Path

from miai.kernels import KernelFamily, inlined, part
from miai.process.compilations import KernelGroup

__all__ = ["FAMILY", "inlined", "kernel", "part"]

GROUPS = {
    "tsumego": KernelGroup("miai_go.tsumego.solver.prover:load_prover", 4, 6.0),
    "tsumego-planes": KernelGroup("miai_go.tsumego.networks.zone_planes:load_planes", 3, 3.7),
    "tsumego-zone": KernelGroup("miai_go.tsumego.networks.array_nets:load_zone", 1, 6.3),
}
FAMILY = KernelFamily("miai-go-tsumego", Path(__file__).parent, GROUPS)
kernel = FAMILY.kernel
