"""Compiled kernels of the search over beliefs: sketches of sets. Needs numba."""

from pathlib import Path

from miai.kernels import KernelFamily, inlined

__all__ = ["FAMILY", "inlined", "kernel", "lean"]

FAMILY = KernelFamily("miai-belief-search", Path(__file__).parent)
kernel, lean = FAMILY.kernel, FAMILY.lean
