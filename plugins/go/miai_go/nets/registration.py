"""The components of the networks, by import path; importing this imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai_go.kinds import LIFE_NETWORK

if TYPE_CHECKING:
    from miai.plugins.registry import Registry


_LIFE_PARAMETERS = "miai_go.nets.life_components"


_LIFE_NETWORKS = (
    (
        *("dense", "miai_go.nets.life_networks:DenseNet", "DenseParameters"),
        "Fully connected, with a residual block; can be evaluated inside the prover",
    ),
    (
        *("residual", "miai_go.nets.life_networks:ResidualNet", "ResidualParameters"),
        "Residual convolutions, pooled over the window",
    ),
    (
        "group-pooled",
        "miai_go.nets.life_networks:GroupPooledNet",
        *("ResidualParameters", "Residual convolutions, pooled over the target's block, too"),
    ),
    (
        *("zone", "miai_go.nets.life_networks:ZoneNet", "ZoneParameters"),
        "Residual convolutions at the zone's points alone; can be evaluated without torch",
    ),
    (
        "equivariant",
        "miai_go.nets.life_networks:EquivariantNet",
        "EquivariantNetParameters",
        "Convolutions that turn with the board, pooled over the target's block, too",
    ),
)


def register_life_networks(registry: Registry) -> None:
    """Add the components."""
    for name, factory, parameters, summary in _LIFE_NETWORKS:
        registry.add(
            LIFE_NETWORK.name,
            name,
            factory,
            parameters=f"{_LIFE_PARAMETERS}:{parameters}",
            summary=summary,
        )


_PARAMETERS = "miai_go.nets.components"


_HEADS = "miai_go.nets.networks"


_NETWORKS = (
    # kind, name, factory, parameters, summary
    (
        *("go.network", "four-conv", "miai_go.nets.networks:FourConv"),
        *("FourConvParameters", "Four convolutions with policy and value heads"),
    ),
    (
        *("go.network", "tower", "miai_go.nets.networks:Tower", "TowerParameters"),
        "Residual tower; base, policy and value heads by name, ownership and score on request",
    ),
    (
        *("go.network", "equivariant", "miai_go.nets.networks:EquivariantTower"),
        *("EquivariantParameters", "Residual tower with weights shared over the eight symmetries"),
    ),
    (
        *("go.base", "residual", "miai_go.nets.networks:ResidualBase", ""),
        "Residual blocks of two convolutions, with global pooling on request",
    ),
    (
        *("go.policy-head", "convolution", f"{_HEADS}:ConvolutionPolicy"),
        *("ConvolutionPolicyParameters", "Points by convolution, the pass by pooling"),
    ),
    (
        *("go.policy-head", "dense", f"{_HEADS}:DensePolicy", "DensePolicyParameters"),
        "All moves from all points, as in AlphaGo Zero",
    ),
    ("go.policy-head", "none", f"{_HEADS}:no_head", "", "No policy"),
    (
        *("go.value-head", "dense", f"{_HEADS}:DenseValue", "DenseValueParameters"),
        "From all points through a hidden layer, as in AlphaGo Zero",
    ),
    (
        *("go.value-head", "pooled", f"{_HEADS}:PooledValue", "PooledValueParameters"),
        "From means and maxima over the board, as in KataGo",
    ),
    ("go.value-head", "none", f"{_HEADS}:no_head", "", "No value"),
)


def register(registry: Registry) -> None:
    """Add the components."""
    for kind, name, factory, parameters, summary in _NETWORKS:
        registry.add(
            kind,
            name,
            factory,
            parameters=f"{_PARAMETERS}:{parameters}" if parameters else None,
            summary=summary,
        )


_ENCODERS = (
    # name, factory, parameters, summary
    (
        *("oneplane", "miai_go.nets.encoders:OnePlaneEncoder", ""),
        "One plane: own stones and theirs, told apart by their number",
    ),
    (
        *("simple", "miai_go.nets.encoders:SimpleEncoder", ""),
        "Stones by liberties, ko, turns since, colour to play",
    ),
    (
        *("alphago", "miai_go.nets.encoders:AlphaGoEncoder", ""),
        "AlphaGo's planes that make sense on small boards",
    ),
    (
        *("zero", "miai_go.nets.encoders:ZeroEncoder", "ZeroEncoderParameters"),
        "AlphaGo Zero's: stones of the last positions, colour to play",
    ),
)


def register_encoders(registry: Registry) -> None:
    """Add the encoders."""
    for name, factory, parameters, summary in _ENCODERS:
        registry.add(
            "go.encoder",
            name,
            factory,
            parameters=f"miai_go.nets.components:{parameters}" if parameters else None,
            summary=summary,
        )
