"""Compiled kernels of the search over beliefs; they call those of `miai_rbc.kernels`.

Their machine code is kept in a folder of its own, whose name holds the digest of those too.
"""

from pathlib import Path

from miai.kernels import KernelFamily
from miai_rbc import kernels

__all__ = ["FAMILY", "allocating", "kernel"]

_BASE = kernels.FAMILY.folder

FAMILY = KernelFamily(f"{_BASE.name if _BASE else 'miai-rbc'}-minimax", Path(__file__).parent)
kernel, allocating = FAMILY.kernel, FAMILY.allocating
