"""The network that a training begins with, its encoders, and the header of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from miai_go.errors import TrainingError
from miai_go.learning.training.config_sections import EncoderSection, NetworkSection
from miai_go.nets.encoder import Encoders, load_encoder
from miai_go.nets.network import (
    NetworkShape,
    WeightsHeader,
    build_network,
    check_sizes,
    continued,
    load_weights,
    outputs_of,
)
from miai_go.rules.sizes import board_names, plain_sizes, sizes_of
from miai_go.shipped import find_weights

if TYPE_CHECKING:
    from torch import nn


def make_network(
    size: int | Sequence[int], encoder: EncoderSection, network: NetworkSection, *, seed: int
) -> tuple[nn.Module, Encoders, WeightsHeader]:
    """Return a network for boards of one size or several, its encoders and its weights' header.

    A network that starts from weights may be larger than theirs: with more blocks or pooling, which
    begin without effect, and with other heads, initialised by `seed`. It may also be for other
    sizes of board, if it depends on none. Parameters of encoder and network that the config does
    not name are theirs.

    Raises:
      MiaiError: a name or parameter is wrong, the network cannot learn these sizes, or the weights
        to start from do not fit.
    """
    sizes = sizes_of(size)
    file = find_weights(network.start) if network.start else None
    start = None if file is None else load_weights(file)
    values = encoder.parameters
    if start is not None and start.header.encoder == encoder.name:
        values = {**start.header.encoder_parameters, **values}
    encoders = {points: load_encoder(encoder.name, points, values) for points in sizes}
    first = encoders[sizes[0]]
    for other in encoders.values():
        if other.planes != first.planes or not np.array_equal(other.scales, first.scales):
            raise TrainingError(
                f"encoder: '{encoder.name}' has other planes on {board_names(other.size)} than on "
                f"{board_names(first.size)}, so one network cannot learn both; choose another, or "
                "one size"
            )
    if start is not None:
        start.header.check_encoder(encoder.name, values, first.planes, where="network.start")
        begun = continued(
            start,
            sizes,
            name=network.name,
            values=network.parameters,
            norms=network.norms,
            seed=seed,
        )
        return begun.network, encoders, begun.header
    shape = NetworkShape(sizes[0], first.planes)
    check_sizes(network.name, network.parameters, first.planes, sizes)
    built = build_network(network.name, shape, network.parameters, seed=seed)
    header = WeightsHeader(
        network=network.name,
        network_parameters=network.parameters,
        encoder=encoder.name,
        encoder_parameters=values,
        size=plain_sizes(sizes),
        planes=first.planes,
        komi=(0.0, 0.0),
        outputs=outputs_of(built, shape),
        history=(),
        licence="",
        sha256="",
    )
    return built, encoders, header
