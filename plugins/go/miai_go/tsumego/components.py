"""Components of life and death; importing this imports nothing heavy."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel

from miai.parameters import ConfigFile, Parameters, StrictModel, parameter
from miai.plugins.kinds import imported

_LANES: Final = 16  # those of `miai.kernels.lanes`, which imports numba


class SolverAdviserParameters(Parameters):
    """Parameters of the adviser ``solver``."""

    nodes: int = parameter(
        50_000,
        ge=100,
        le=1_000_000_000,
        unit="positions",
        help="Maximum positions searched before a move, for all groups together",
    )


class OrderingPlan(StrictModel):
    """How the network that orders the solver's search is trained."""

    rounds: int = parameter(
        3, ge=1, le=20, help="Number of rounds, each with the network of the one before"
    )
    positions: int = parameter(50_000, ge=1_000, le=5_000_000, help="Positions per round")
    width: int = parameter(32, ge=0, le=1024, help="Number of hidden units")
    steps: int = parameter(4_000, ge=1, help="Training steps per round")
    seed: int = parameter(1, ge=0, help="Seed of the zones and the training")


class DenseParameters(Parameters):
    """Parameters of `DenseNet`."""

    width: int = parameter(256, ge=1, le=2048, unit="units", help="Units of each layer")
    blocks: int = parameter(1, ge=0, le=8, unit="blocks", help="Residual blocks of two layers")


class ZoneParameters(Parameters):
    """Parameters of `ZoneNet`."""

    height: int = parameter(4, ge=0, le=40, unit="blocks", help="Residual blocks")
    width: int = parameter(
        32, ge=_LANES, le=512, multiple_of=_LANES, unit="units", help="Units per point"
    )


def config_file(parameters: Parameters) -> ConfigFile:
    """Return the kind of config of `miai go tsumego train`."""

    def load() -> type[BaseModel]:
        model: type[BaseModel] = imported("miai_go.tsumego.networks.net_training:TsumegoConfig")
        return model

    optional = frozenset({"planes", "network", "optimiser", "loss", "run"})
    return ConfigFile(
        "a life-and-death training", "miai go tsumego train", frozenset({"data"}), optional, load
    )
