"""A network that tells the prover how hard new positions are to prove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from miai_go.tsumego.kernels import guide as kernels
from miai_go.tsumego.kernels.guide import Guide
from miai_go.tsumego.zones import Zone

if TYPE_CHECKING:
    from miai_go.tsumego.networks.reckoned import DenseArrays

WEIGHT: Final = 1
"""By how many powers of two numbers grow or shrink where the network is sure."""

_SETTINGS: Final = 4


def no_guide() -> Guide:
    """Return a guide that is never asked."""
    return _guide(np.zeros(_SETTINGS, np.int64), np.zeros(64, np.uint64), _facts(), None)


def guide_of(zone: Zone, network: DenseArrays, *, weight: int = WEIGHT) -> Guide:
    """Return a network's advice for a zone.

    The window stands where the target stands at first, and stays there.

    Args:
      weight: see `WEIGHT`; with 0 all new positions begin with the same disproof number.
    """
    from miai_go.tsumego.planes import layout_of_zones

    layout = layout_of_zones([zone])
    settings = np.array([1, network.window, int(network.few), weight], np.int64)
    guide = _guide(settings, layout.diagonals[0], layout.facts[0], network)
    defenders = np.uint64(zone.defenders)
    kernels.prepare_guide(zone.words, guide, zone.size, defenders, network.bias)
    return guide


def _facts() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.zeros((64, 4), np.int64)


def _guide(
    settings: np.ndarray[tuple[int], np.dtype[np.int64]],
    diagonals: np.ndarray[tuple[int], np.dtype[np.uint64]],
    facts: np.ndarray[tuple[int, int], np.dtype[np.int64]],
    network: DenseArrays | None,
) -> Guide:
    nothing, none = np.zeros(1, np.float32), np.zeros((1, 1), np.float32)
    width = 1 if network is None else len(network.bias)
    return Guide(
        settings=settings,
        diagonals=diagonals,
        facts=facts,
        places=np.zeros((2, 64), np.int16),
        bases=np.zeros((2, width), np.float32),
        first=none if network is None else network.first,
        inner=none.reshape(1, 1, 1) if network is None else network.inner,
        biases=none if network is None else network.biases,
        value=nothing if network is None else network.value,
        policy=none if network is None else network.policy,
        policy_bias=nothing if network is None else network.policy_bias,
        codes=np.zeros(64, np.uint64),
        room=none if network is None else network.room(),
        logits=np.zeros(64, np.float32),
    )
