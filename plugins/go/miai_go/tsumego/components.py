"""Components of life and death; importing this imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from miai.parameters import ConfigFile, Parameters, parameter

if TYPE_CHECKING:
    from pydantic import BaseModel


class SolverAdviserParameters(Parameters):
    """Parameters of the adviser ``solver``."""

    nodes: int = parameter(
        50_000,
        ge=100,
        le=1_000_000_000,
        unit="positions",
        help="Maximum positions searched before a move, for all groups together",
    )


def config_file(parameters: Parameters) -> ConfigFile:
    """Return the kind of config of `miai go tsumego train`."""

    def load() -> type[BaseModel]:
        from miai_go.tsumego.networks.training import TsumegoConfig

        return TsumegoConfig

    optional = frozenset({"planes", "network", "optimiser", "loss", "run"})
    return ConfigFile(
        "a life-and-death training", "miai go tsumego train", frozenset({"data"}), optional, load
    )
