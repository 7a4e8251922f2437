"""The components of data: public collections of games by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from miai.plugins.registry import Registry

_DATASETS: Final = {
    "aya-selfplay": ("aya_selfplay", "Games of the engine Aya with itself; 9x9, 13x13, 19x19"),
    "cgos-9x9": ("cgos_9x9", "Games of engines on the Computer Go Server; 9x9"),
    "cwi": ("cwi", "Professional games since the Edo period; 19x19, some 9x9"),
    "kgs-4d": ("kgs_4d", "Games of strong players on the KGS Go Server; 19x19"),
    "nngs": ("nngs", "All games of the No Name Go Server; every size"),
}


def register(registry: Registry) -> None:
    """Declare the kind of data sets and add those that are known."""
    registry.declare_kind(
        "go.dataset",
        summary="A public collection of games; factory(parameters) -> "
        "miai_go.data.public.PublicDataset",
    )
    for name, (factory, summary) in _DATASETS.items():
        registry.add("go.dataset", name, f"miai_go.data.public:{factory}", summary=summary)
