"""The encoders as components: what the plugin's entry point registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

_COMPONENTS = (
    # name, factory, parameters, summary
    (
        *("oneplane", "miai_go.encoders.stones:OnePlaneEncoder", ""),
        "One plane: own stones and theirs, told apart by their number",
    ),
    (
        *("simple", "miai_go.encoders.stones:SimpleEncoder", ""),
        "Stones by liberties, ko, turns since, colour to play",
    ),
    (
        *("alphago", "miai_go.encoders.alphago:AlphaGoEncoder", ""),
        "AlphaGo's planes that make sense on small boards",
    ),
    (
        *("zero", "miai_go.encoders.zero:ZeroEncoder", "ZeroEncoderParameters"),
        "AlphaGo Zero's: stones of the last positions, colour to play",
    ),
)


def register(registry: Registry) -> None:
    """Declare the kind and add the encoders."""
    registry.declare_kind(
        "go.encoder",
        summary="Turns positions of Go into planes; factory(size, parameters) -> "
        "miai_go.encoders.protocol.Encoder",
    )
    for name, factory, parameters, summary in _COMPONENTS:
        registry.add(
            "go.encoder",
            name,
            factory,
            parameters=f"miai_go.encoders.parameters:{parameters}" if parameters else None,
            summary=summary,
        )
