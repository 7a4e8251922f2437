"""Compiled kernels of the search over beliefs, and of sets and their sketches. Needs numba."""

from pathlib import Path

from miai.kernels import KernelFamily, inlined

__all__ = ["FAMILY", "allocating", "inlined", "kernel"]

FAMILY = KernelFamily("miai-belief-search", Path(__file__).parent)
kernel, allocating = FAMILY.kernel, FAMILY.allocating
