"""The networks and their parts as components: what the plugin's entry point registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

_PARAMETERS = "miai_go.networks.parameters"
_HEADS = "miai_go.networks.heads"

_KINDS = (
    (
        "go.network",
        "A network; factory(shape, parameters) -> torch.nn.Module that makes planes into "
        "miai_go.networks.protocol.Outputs",
    ),
    (
        "go.base",
        "The base of a tower; factory(shape, tower, parameters) -> torch.nn.Module that makes "
        "planes into features",
    ),
    (
        "go.policy-head",
        "A policy head of a tower; factory(shape, channels, parameters) -> torch.nn.Module that "
        "makes features into logits, or None",
    ),
    (
        "go.value-head",
        "A value head of a tower; factory(shape, channels, parameters) -> torch.nn.Module that "
        "makes features into values, or None",
    ),
)

_COMPONENTS = (
    # kind, name, factory, parameters, summary
    (
        *("go.network", "four-conv", "miai_go.networks.four_conv:FourConv"),
        *("FourConvParameters", "Four convolutions with policy and value heads"),
    ),
    (
        *("go.network", "tower", "miai_go.networks.tower:Tower", "TowerParameters"),
        "Residual tower; base, policy and value heads by name, ownership and score on request",
    ),
    (
        *("go.network", "equivariant", "miai_go.networks.equivariant:EquivariantTower"),
        *("EquivariantParameters", "Residual tower with weights shared over the eight symmetries"),
    ),
    (
        *("go.base", "residual", "miai_go.networks.tower:ResidualBase", ""),
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
    """Declare the kinds and add the components."""
    for kind, summary in _KINDS:
        registry.declare_kind(kind, summary=summary)
    for kind, name, factory, parameters, summary in _COMPONENTS:
        registry.add(
            kind,
            name,
            factory,
            parameters=f"{_PARAMETERS}:{parameters}" if parameters else None,
            summary=summary,
        )
