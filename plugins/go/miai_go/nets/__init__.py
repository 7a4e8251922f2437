"""Networks and their inputs: encoders, layers, weights files and inference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miai.plugins.registry import Registry
    from miai_go.nets.encoder import Encoder


__all__ = ["load_encoder"]


def load_encoder(
    name: str,
    size: int,
    values: Mapping[str, Any] | None = None,
    *,
    components: Registry | None = None,
) -> Encoder:
    """Return an encoder by its name in the registry.

    Args:
      size: points on a side.
      values: its parameters; what is left out has its default.
      components: where to look; default: what the plugins registered.

    Raises:
      UnknownComponentError: no encoder has the name.
      ParameterError: the values do not fit it.
      BoardError: there is no board of that size.
    """
    from miai.plugins.loader import registry
    from miai_go.rules.board import check_size

    check_size(size)
    component = (components or registry()).get("go.encoder", name)
    encoder: Encoder = component.build(size, values=values or {}, where=f"encoder '{name}'")
    return encoder
