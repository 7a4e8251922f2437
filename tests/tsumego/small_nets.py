"""Small networks of life and death, and a small set of positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miai_go.tsumego.data.labelled_positions import LabelledPositions
from miai_go.tsumego.data.position_sets import MakingSettings, make_set
from miai_go.tsumego.networks.net_files import Net, NetHeader, NetworkName, build_net

SETTINGS = MakingSettings(seed=5, least_empty=5, most_empty=7, boards=6)


def small_set(folder: Path, *, positions: int = 600, **options: Any) -> LabelledPositions:
    """Make a set, by default in this process."""
    make_set(folder, settings=SETTINGS, positions=positions, **options)
    return LabelledPositions.open(folder)


def small_net(name: NetworkName = "dense", *, planes: str = "reference", **parameters: Any) -> Net:
    """Return a network with drawn weights."""
    header = NetHeader(network=name, network_parameters=parameters, planes=planes, window=11)
    return Net(build_net(header, seed=3).eval(), header)
