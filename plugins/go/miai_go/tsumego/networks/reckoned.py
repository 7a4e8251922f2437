"""Networks without torch: those that compiled kernels reckon, read from their files.

What asks a network, asks `Reckoned`, whichever network it is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miai.errors import PluginError
from miai_go.errors import WeightsError
from miai_go.tsumego.networks.dense_arrays import DenseArrays
from miai_go.tsumego.networks.files import NetHeader, read_net
from miai_go.tsumego.networks.zone_arrays import ZoneArrays
from miai_go.tsumego.planes import Layout


class Reckoned(Protocol):
    """A network that is reckoned by kernels."""

    def load(self) -> None:
        """Load the kernel, or compile it, before a clock runs."""
        ...

    def evaluate(
        self,
        layout: Layout,
        problems: ArrayLike,
        attackers: ArrayLike,
        defenders: ArrayLike,
        sides: ArrayLike,
        *,
        picks: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return values from -1 to 1 (safe), of shape (n,), and logits of shape (n, 64).

        Logits are of the points of the zone; the last is of no move; -inf for no such point.

        Args:
          problems, attackers, defenders, sides, picks: as of `miai_go.tsumego.planes.encode`.
        """
        ...


_READERS: Final[dict[str, Callable[[NetHeader, dict[str, NDArray[Any]]], Reckoned]]] = {
    "dense": DenseArrays.of,
    "zone": ZoneArrays.of,
}

NAMES: Final = tuple(_READERS)
"""The networks that can be reckoned."""


def reckoned(header: NetHeader, tensors: dict[str, NDArray[Any]]) -> Reckoned:
    """Return the network of tensors by name.

    Raises:
      WeightsError: it is a network that cannot be reckoned, or not what its header says.
    """
    reader = _READERS.get(header.network)
    if reader is None:
        raise WeightsError(
            f"is of the network '{header.network}', which needs torch; without it can be used: "
            + ", ".join(NAMES)
        )
    try:
        return reader(header, tensors)
    except PluginError as error:
        raise WeightsError(f"its network cannot be built: {error}") from error
    except (KeyError, ValueError) as error:
        raise WeightsError(f"its tensors are not those of its network: {error}") from error


def read_reckoned(path: Path) -> Reckoned:
    """Return the network of a file.

    Raises:
      WeightsError: it cannot be read, or as of `reckoned`.
    """
    header, tensors = read_net(path)
    try:
        return reckoned(header, tensors)
    except WeightsError as error:
        raise WeightsError(f"{path}: {error}") from None
