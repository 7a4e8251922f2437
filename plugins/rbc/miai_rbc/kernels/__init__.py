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
from miai.process.compilations import KernelGroup

__all__ = ["FAMILY", "allocating", "inlined", "kernel", "part"]

_AGENTS = "miai_rbc.agents.belief_agents"
GROUPS = {
    "analysis": KernelGroup("miai_rbc.engines.kernel:KernelEngine", 1, 7.3),
    "beliefs": KernelGroup(f"{_AGENTS}:load_beliefs", 19, 7.1),
    "opponent": KernelGroup(f"{_AGENTS}:load_opponent", 1, 2.4),
    "partition": KernelGroup(f"{_AGENTS}:load_partition", 1, 0.6),
    "views": KernelGroup("miai_rbc.agents.dark:load_views", 1, 1.0),
    "compiled minimax": KernelGroup("miai_rbc.search.compiled:load_compiled", 2, 25.0),
    "minimax": KernelGroup("miai_rbc.search.minimax:load_minimax", 8, 10.5),
}
FAMILY = KernelFamily("miai-rbc", Path(__file__).parent, GROUPS)
kernel, allocating = FAMILY.kernel, FAMILY.allocating
