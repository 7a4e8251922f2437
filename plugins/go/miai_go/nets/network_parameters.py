"""Parameters of encoders, networks and inference; importing them imports nothing heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import model_validator

from miai.parameters import Parameters, parameter

Precision = Literal["auto", "fp32", "bf16", "int8"]


def _channels(default: int, maximum: int) -> Any:
    help = "Channels of the head's convolution"
    return parameter(default, ge=1, le=maximum, unit="channels", help=help)


class TowerParameters(Parameters):
    """Parameters of `Tower`."""

    height: int = parameter(6, ge=0, le=80, unit="blocks", help="Residual blocks of the base")
    width: int = parameter(64, ge=1, le=512, unit="channels", help="Channels of the base")
    pooling: int = parameter(
        0, ge=0, le=80, unit="blocks", help="Blocks from one global pooling to the next; 0: none"
    )
    base: str = parameter("residual", component="go.base", help="Name of the base")
    base_parameters: dict[str, Any] = parameter({}, help="Parameters of the base")
    policy: str = parameter(
        "convolution", component="go.policy-head", help="Name of the policy head; none: no policy"
    )
    policy_parameters: dict[str, Any] = parameter({}, help="Parameters of the policy head")
    value: str = parameter(
        "dense", component="go.value-head", help="Name of the value head; none: no value"
    )
    value_parameters: dict[str, Any] = parameter({}, help="Parameters of the value head")
    ownership: bool = parameter(False, help="Predict the owner of each point")
    score: bool = parameter(False, help="Predict the final score")

    @model_validator(mode="before")
    @classmethod
    def _without_absent_heads(cls, values: Any) -> Any:
        """Drop what the header of the shipped weights says of heads that are in no network."""
        if not isinstance(values, Mapping):
            return values
        return {k: v for k, v in values.items() if v is not False or k not in ("reply", "margins")}


class ConvolutionPolicyParameters(Parameters):
    """Parameters of `ConvolutionPolicy`."""

    channels: int = _channels(32, 512)


class DenseValueParameters(Parameters):
    """Parameters of `DenseValue`."""

    channels: int = _channels(4, 64)
    hidden: int = parameter(
        64, ge=1, le=4096, unit="units", help="Units of the value's hidden layer"
    )


class PooledValueParameters(DenseValueParameters):
    """Parameters of `PooledValue`."""

    channels: int = _channels(32, 512)


_KOMI_HELP = "Add a plane of the komi, from the point of view of the player to move"


class AlphaGoEncoderParameters(Parameters):
    """Parameters of `AlphaGoEncoder`."""

    komi: bool = parameter(False, help=_KOMI_HELP)


class ZeroEncoderParameters(Parameters):
    """Parameters of `ZeroEncoder`."""

    history: int = parameter(
        8, ge=1, le=8, unit="positions", help="Number of positions shown, including the current one"
    )
    komi: bool = parameter(False, help=_KOMI_HELP)
    legal: bool = parameter(False, help="Add a plane of the points where the mover may play")
    ko: bool = parameter(False, help="Add a plane of the point forbidden by ko")


class NetworkWorkers(Parameters):
    """A network that several threads run, a copy each."""

    weights: str = parameter(
        "policy-7-13", help="Network: a weights file, or the name of shipped ones"
    )
    precision: Precision = parameter(
        "auto", help="Precision of the network; auto: the fastest here"
    )
    workers: int | None = parameter(None, ge=1, le=256, help="Threads (default: one per processor)")


class ExportParameters(Parameters):
    """How a network is written as ONNX and compared with itself."""

    precision: Literal["fp32", "int8"] = parameter("fp32", help="Precision of the ONNX file")
    positions: int = parameter(256, ge=32, le=65536, help="Number of positions to compare")
    seed: int = parameter(0, ge=0, help="Seed of the games to compare on")


class NetworkJudgeParameters(Parameters):
    """Parameters of the judge ``network`` of dead stones."""

    weights: str = parameter(
        "",
        opens="weights",
        help="Weights with an ownership head: a .safetensors file, or the name of shipped ones",
    )
    playouts: int = parameter(
        1000,
        ge=0,
        le=100_000,
        help="Playouts whose owners count as much as those that the network expects; 0: the "
        "network's alone",
    )
    threshold: float = parameter(
        0.55,
        ge=0.5,
        lt=1.0,
        help="A chain is dead if the opponent owns its points with more than this probability",
    )
