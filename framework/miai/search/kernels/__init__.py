"""Compiled kernels of the generic searches. Needs numba."""

from pathlib import Path

from miai.kernels import KernelFamily

__all__ = ["FAMILY", "kernel"]

FAMILY = KernelFamily("miai-search", Path(__file__).parent)
kernel = FAMILY.kernel
