"""Compiled kernels of life and death: positions of a zone as two words, and proof-number search.

`stones` plays moves, `life` knows unconditional life, `table` remembers. `judging` says what a
position is by itself, `expanding` lists a node's children, `weighing` makes numbers of theirs,
`search` is the loop, on the arrays of `stack`; `guide` asks a network. The class that owns the
arrays is `miai_go.tsumego.prover.Prover`.
"""

from pathlib import Path

from miai.kernels import KernelFamily, inlined, part, spelt_out

__all__ = ["FAMILY", "inlined", "kernel", "part", "spelt_out"]

FAMILY = KernelFamily("miai-go-tsumego", Path(__file__).parent)
kernel = FAMILY.kernel
