"""How the trees of a forest search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import forest as kernels


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSettings:
    """How one tree searches. Values are from -1 to 1.

    Attributes:
      c_puct: weight of the priors (PUCT).
      c_base: visits at which that weight has grown by log 2; 0: it does not grow.
      fpu: how much worse than its parent a move never tried is held, times the square root of the
        priors of the moves tried.
      root_fpu: the same at the root.
      virtual_loss: losses that a leaf counts as while it is being valued.
      temperature: of the priors; logits are divided by it.
      gumbel: moves considered at the root by sequential halving; 0 for PUCT.
      c_visit, c_scale: of the transformation of values (Danihelka et al. 2022).
      depth: plies from the root; nodes so deep get no children.
      rollouts: playouts from every leaf.
      mix: their share in the leaf's value, lambda.
      rollout_limit: moves after which a playout is broken off and counted as it stands.
    """

    c_puct: float = 1.5
    c_base: float = 19652.0
    fpu: float = 0.2
    root_fpu: float = 0.2
    virtual_loss: float = 1.0
    temperature: float = 1.0
    gumbel: int = 0
    c_visit: float = 50.0
    c_scale: float = 1.0
    depth: int = 120
    rollouts: int = 0
    mix: float = 0.5
    rollout_limit: int = 243

    def write(self, settings: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Write all this into a tree's rows as kernels read them."""
        settings[kernels.GUMBEL] = self.gumbel
        settings[kernels.DEPTH] = self.depth
        settings[kernels.ROLLOUTS] = self.rollouts
        settings[kernels.ROLLOUT_LIMIT] = self.rollout_limit
        weights[kernels.C_PUCT] = self.c_puct
        weights[kernels.C_BASE] = self.c_base
        weights[kernels.FPU] = self.fpu
        weights[kernels.ROOT_FPU] = self.root_fpu
        weights[kernels.VIRTUAL_LOSS] = self.virtual_loss
        weights[kernels.TEMPERATURE] = self.temperature
        weights[kernels.C_VISIT] = self.c_visit
        weights[kernels.C_SCALE] = self.c_scale
        weights[kernels.MIX] = self.mix
