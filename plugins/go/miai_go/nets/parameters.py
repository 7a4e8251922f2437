"""Parameters of encoders and networks, kept apart so that listing them imports nothing heavy."""

from __future__ import annotations

from typing import Any

from pydantic import field_validator

from miai.parameters import Parameters, parameter

SYMMETRIES = 8
LANES = 16  # those of `miai.kernels.lanes`, which imports numba


class FourConvParameters(Parameters):
    """Parameters of `FourConv`."""

    width: int = parameter(64, ge=1, le=512, unit="channels", help="Channels of each convolution")
    hidden: int = parameter(256, ge=1, le=4096, unit="units", help="Units of the value's layer")
    policy: bool = parameter(True, help="Whether it has a policy head")
    value: bool = parameter(True, help="Whether it has a value head")


class TowerParameters(Parameters):
    """Parameters of `Tower`."""

    height: int = parameter(6, ge=0, le=80, unit="blocks", help="Residual blocks of the base")
    width: int = parameter(64, ge=1, le=512, unit="channels", help="Channels of the base")
    pooling: int = parameter(
        0,
        ge=0,
        le=80,
        unit="blocks",
        help="Interval in blocks between global pooling; 0: no pooling",
    )
    base: str = parameter("residual", component="go.base", help="The base, by name")
    base_parameters: dict[str, Any] = parameter({}, help="Parameters of the base")
    policy: str = parameter(
        "convolution", component="go.policy-head", help="The policy head; none for no policy"
    )
    policy_parameters: dict[str, Any] = parameter({}, help="Parameters of the policy head")
    value: str = parameter(
        "dense", component="go.value-head", help="The value head; none for no value"
    )
    value_parameters: dict[str, Any] = parameter({}, help="Parameters of the value head")
    ownership: bool = parameter(False, help="Whether it predicts the owner of each point")
    score: bool = parameter(False, help="Whether it predicts the final score")


class EquivariantParameters(Parameters):
    """Parameters of `EquivariantTower`."""

    height: int = parameter(6, ge=0, le=80, unit="blocks", help="Residual blocks")
    width: int = parameter(
        64,
        ge=SYMMETRIES,
        le=512,
        unit="channels",
        help="Channels, a multiple of 8: one for each symmetry; costs what a tower as wide costs",
    )
    hidden: int = parameter(64, ge=1, le=4096, unit="units", help="Units of the value's layer")
    policy: bool = parameter(True, help="Whether it has a policy head")
    value: bool = parameter(True, help="Whether it has a value head")
    ownership: bool = parameter(False, help="Whether it predicts the owner of each point")
    score: bool = parameter(False, help="Whether it predicts the final score")

    @field_validator("width")
    @classmethod
    def _whole_fields(cls, width: int) -> int:
        if width % SYMMETRIES:
            raise ValueError(f"{width} is no multiple of {SYMMETRIES}")
        return width


class ConvolutionPolicyParameters(Parameters):
    """Parameters of `ConvolutionPolicy`."""

    channels: int = parameter(
        32, ge=1, le=512, unit="channels", help="Channels of the head's convolution"
    )


class DensePolicyParameters(Parameters):
    """Parameters of `DensePolicy`."""

    channels: int = parameter(
        2, ge=1, le=64, unit="channels", help="Channels of the head's convolution"
    )


class DenseValueParameters(Parameters):
    """Parameters of `DenseValue`."""

    channels: int = parameter(
        4, ge=1, le=64, unit="channels", help="Channels of the head's convolution"
    )
    hidden: int = parameter(64, ge=1, le=4096, unit="units", help="Units of the hidden layer")


class PooledValueParameters(Parameters):
    """Parameters of `PooledValue`."""

    channels: int = parameter(
        32, ge=1, le=512, unit="channels", help="Channels of the head's convolution"
    )
    hidden: int = parameter(64, ge=1, le=4096, unit="units", help="Units of the hidden layer")


class ZeroEncoderParameters(Parameters):
    """Parameters of `ZeroEncoder`."""

    history: int = parameter(
        8, ge=1, le=8, unit="positions", help="Number of positions shown, including the current one"
    )
    komi: bool = parameter(
        False, help="Add a plane of the komi, from the point of view of the player to move"
    )
    legal: bool = parameter(False, help="Add a plane of the points where the mover may play")
    ko: bool = parameter(False, help="Add a plane of the point forbidden by ko")


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
