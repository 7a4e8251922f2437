"""The form in which a network is exported: planes as encoders make them in, tensors out."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from miai_go.networks.building import folded
from miai_go.networks.protocol import Outputs


class Exported(nn.Module):
    """A network, folded, with the scaling of its encoder before it."""

    scales: Tensor

    def __init__(self, network: nn.Module, scales: NDArray[np.float32]) -> None:
        super().__init__()
        self.network = folded(network).cpu()
        self.register_buffer("scales", torch.from_numpy(scales).view(1, -1, 1, 1))

    def forward(self, planes: Tensor) -> tuple[Tensor, ...]:
        """Return the answers that there are, in their order, of uint8 planes (n, P, S, S)."""
        outputs: Outputs = self.network(planes.to(torch.float32) * self.scales)
        return tuple(output for output in outputs if output is not None)
