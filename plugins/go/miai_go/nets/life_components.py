"""The parameters of life-and-death networks. Importing this does not import torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import field_validator

from miai.parameters import Parameters, parameter

if TYPE_CHECKING:
    pass


SYMMETRIES = 8
LANES = 16  # those of `miai.kernels.lanes`, which imports numba


class DenseParameters(Parameters):
    """Parameters of `DenseNet`."""

    width: int = parameter(256, ge=1, le=2048, unit="units", help="Units of each layer")
    blocks: int = parameter(1, ge=0, le=8, unit="blocks", help="Residual blocks of two layers")
    dropout: float = parameter(
        0.0, ge=0, lt=1, help="Share of the units of each layer that training drops"
    )


class ResidualParameters(Parameters):
    """Parameters of `ResidualNet` and `GroupPooledNet`."""

    height: int = parameter(4, ge=0, le=40, unit="blocks", help="Residual blocks")
    width: int = parameter(32, ge=1, le=512, unit="channels", help="Channels")
    hidden: int = parameter(64, ge=1, le=2048, unit="units", help="Units of the value's layer")
    pooling: int = parameter(
        2,
        ge=0,
        le=40,
        unit="blocks",
        help="Interval in blocks between global pooling; 0: no pooling",
    )


class ZoneParameters(Parameters):
    """Parameters of `ZoneNet`."""

    height: int = parameter(4, ge=0, le=40, unit="blocks", help="Residual blocks")
    width: int = parameter(
        32, ge=16, le=512, unit="units", help="Units of a point, a multiple of 16"
    )
    hidden: int = parameter(64, ge=1, le=2048, unit="units", help="Units of the value's layer")
    reach: int = parameter(2, ge=1, le=5, unit="points", help="Reach of the first layer in points")

    @field_validator("width")
    @classmethod
    def _whole_words(cls, width: int) -> int:
        if width % LANES:
            raise ValueError(f"{width} is no multiple of {LANES}")
        return width


class EquivariantNetParameters(Parameters):
    """Parameters of `EquivariantNet`."""

    height: int = parameter(4, ge=0, le=40, unit="blocks", help="Residual blocks")
    width: int = parameter(
        32, ge=8, le=512, unit="channels", help="Channels, a multiple of 8: one for each symmetry"
    )
    hidden: int = parameter(64, ge=1, le=2048, unit="units", help="Units of the value's layer")

    @field_validator("width")
    @classmethod
    def _whole_fields(cls, width: int) -> int:
        if width % SYMMETRIES:
            raise ValueError(f"{width} is no multiple of {SYMMETRIES}")
        return width
