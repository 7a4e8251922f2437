"""The networks as components: what the plugin's entry point registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

KIND: Final = "go.tsumego-network"
_PARAMETERS = "miai_go.tsumego.networks.parameters"
_SUMMARY = (
    "A network of life and death; factory(shape, parameters) -> torch.nn.Module that makes planes "
    "into miai_go.networks.protocol.Outputs: value 1 for safe, policy the move that decides"
)
_COMPONENTS = (
    (
        *("dense", "miai_go.tsumego.networks.dense:DenseNet", "DenseParameters"),
        "Fully connected, with a residual block; can be reckoned inside the prover",
    ),
    (
        *("residual", "miai_go.tsumego.networks.convolutional:ResidualNet", "ResidualParameters"),
        "Residual convolutions, pooled over the window",
    ),
    (
        "group-pooled",
        "miai_go.tsumego.networks.convolutional:GroupPooledNet",
        *("ResidualParameters", "Residual convolutions, pooled over the target's block, too"),
    ),
    (
        *("zone", "miai_go.tsumego.networks.zonal:ZoneNet", "ZoneParameters"),
        "Residual convolutions at the zone's points alone; can be reckoned without torch",
    ),
    (
        "equivariant",
        "miai_go.tsumego.networks.convolutional:EquivariantNet",
        "EquivariantNetParameters",
        "Convolutions that turn with the board, pooled over the target's block, too",
    ),
)


def register(registry: Registry) -> None:
    """Declare the kind and add the components."""
    registry.declare_kind(KIND, summary=_SUMMARY)
    for name, factory, parameters, summary in _COMPONENTS:
        registry.add(KIND, name, factory, parameters=f"{_PARAMETERS}:{parameters}", summary=summary)
