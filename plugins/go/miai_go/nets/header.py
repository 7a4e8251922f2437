"""The header of a Go network's weights."""

from __future__ import annotations

import math
from typing import Any, Final, Self

from pydantic import Field, model_validator

from miai_go.nets.network import NetworkShape, Outputs
from miai_go.tensors import MAX_NAME, FileHeader

MAX_SIZE: Final = 25
MAX_PLANES: Final = 512
_MAX_KOMI: Final = 1000.0


class WeightsHeader(FileHeader):
    """The header of a Go network.

    Attributes:
      network, network_parameters: the component of kind ``go.network``.
      encoder, encoder_parameters: the component of kind ``go.encoder`` whose planes it takes.
      size: points on a side.
      planes: planes of the encoder.
      komi: lowest and highest komi it was trained for, in points.
      outputs: the network's answers, of policy, value, ownership and score.
    """

    KEY = "miai"
    KIND = "a Go network"
    REMEDY = (
        "name weights of a network; rollout policies have another header, and `miai go train "
        "rollout` measures them as it ends"
    )

    network: str = Field(max_length=MAX_NAME)
    network_parameters: dict[str, Any] = Field(default_factory=dict)
    encoder: str = Field(max_length=MAX_NAME)
    encoder_parameters: dict[str, Any] = Field(default_factory=dict)
    size: int = Field(ge=1, le=MAX_SIZE)
    planes: int = Field(ge=1, le=MAX_PLANES)
    komi: tuple[float, float]
    outputs: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        low, high = self.komi
        if not (-_MAX_KOMI <= low <= high <= _MAX_KOMI) or not math.isfinite(low + high):
            raise ValueError(f"komi of {low} to {high} is not a range of komi")
        if strange := set(self.outputs) - set(Outputs._fields):
            raise ValueError(f"outputs {sorted(strange)} are not among {list(Outputs._fields)}")
        return self

    @property
    def shape(self) -> NetworkShape:
        """What the network must fit."""
        return NetworkShape(size=self.size, planes=self.planes)
