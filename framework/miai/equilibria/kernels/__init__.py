"""Compiled kernels on games in sequence form: expected values, best responses, CFR. Needs numba."""

from pathlib import Path

from miai.kernels import KernelFamily, inlined

__all__ = ["FAMILY", "inlined", "kernel"]

FAMILY = KernelFamily("miai-equilibria", Path(__file__).parent)
kernel = FAMILY.kernel
