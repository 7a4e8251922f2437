"""The parameters of the players that networks guide.

They are kept from what they are parameters of, so that listing them compiles and imports nothing.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from miai.plugins.parameters import Parameters, parameter
from miai_go.tsumego.in_play_parameters import InPlayParameters

Backend = Literal["auto", "torch", "onnx"]
Precision = Literal["auto", "fp32", "bf16", "int8"]
Symmetry = Literal["none", "random", "average"]


class NetworkParameters(Parameters):
    """How networks are run."""

    backend: Backend = parameter("auto", help="What runs the networks: torch or ONNX Runtime")
    precision: Precision = parameter(
        "auto", help="Numbers that the networks reckon with; auto: bf16 where the processor has it"
    )
    threads: int = parameter(1, ge=1, le=256, unit="threads", help="Threads for the networks")
    device: str = parameter("cpu", help="Where torch runs the networks: cpu, cuda, cuda:1")
    symmetry: Symmetry = parameter(
        "none", help="Turned boards: none; random: one of the eight; average: all eight"
    )
    fixed_batch: int = parameter(
        0,
        ge=0,
        le=1024,
        unit="positions",
        help="Fill every batch up to so many, which makes results independent of how leaves were "
        "batched; 0 for none",
    )
    server: bool = parameter(
        False, help="Let one server on this machine run the networks of all players together"
    )


class PolicyParameters(NetworkParameters):
    """Parameters of the player ``policy``."""

    weights: str = parameter("", help="Weights file, or the name of shipped weights")
    temperature: float = parameter(
        0.0, ge=0, le=100, help="0: the likeliest move; 1: as likely as the network says"
    )
    resign_below: float | None = parameter(
        None, ge=-1, le=1, unit="utility", help="Resign below this value; needs a value head"
    )
    pass_when_winning: bool = parameter(
        True, help="Answer a pass by a pass when that wins by the game's own count"
    )


class TreeParameters(NetworkParameters, InPlayParameters):
    """What all tree searches with networks have in common."""

    simulations: int = parameter(
        400, ge=0, unit="simulations", help="Budget of a move; 0 for none, then give seconds"
    )
    seconds: float | None = parameter(
        None, gt=0, unit="seconds", help="Budget of a move beside simulations; not reproducible"
    )
    planned: int = parameter(
        1000,
        ge=1,
        le=100_000,
        unit="simulations",
        help="What Gumbel's search plans for where only seconds are given",
    )
    leaves: int = parameter(
        8, ge=1, le=1024, unit="leaves", help="Leaves of the tree that are valued together"
    )
    virtual_loss: float = parameter(
        1.0, ge=0, le=100, unit="losses", help="What a leaf counts as while it is being valued"
    )
    temperature: float = parameter(1.0, gt=0, le=100, help="Of the priors; below 1 sharpens them")
    fpu: float = parameter(
        0.2,
        ge=-2,
        le=2,
        unit="utility",
        help="How much worse than its parent a move never tried is held",
    )
    reuse: bool = parameter(True, help="Keep the tree between moves (PUCT)")
    max_nodes: int = parameter(
        1_000_000,
        ge=1,
        le=100_000_000,
        unit="nodes",
        help="Room of the tree, 56 bytes a node; a search ends when it is full",
    )
    resign_below: float | None = parameter(
        None, ge=-1, le=1, unit="utility", help="Resign below this value"
    )
    pass_when_winning: bool = parameter(
        True, help="Answer a pass by a pass when that wins by the game's own count"
    )
    stop_early: bool = parameter(
        True, help="Where seconds alone limit, save what could no longer change the move (PUCT)"
    )

    @model_validator(mode="after")
    def _has_a_budget(self) -> Self:
        if not self.simulations and self.seconds is None:
            raise ValueError("without simulations, give seconds")
        return self


class AlphaZeroParameters(TreeParameters):
    """Parameters of the search ``alphazero``."""

    weights: str = parameter("", help="Weights file, or the name of shipped weights")
    search: Literal["puct", "gumbel"] = parameter(
        "puct",
        help="puct: AlphaZero's; gumbel: sequential halving at the root, for few simulations",
    )
    c_puct: float = parameter(1.5, ge=0, le=100, help="Weight of the priors (PUCT)")
    considered: int = parameter(
        16, ge=1, le=1000, unit="moves", help="Moves that Gumbel's search considers at the root"
    )


class AlphaGoParameters(TreeParameters):
    """Parameters of the search ``alphago``."""

    policy: str = parameter("", help="Weights of the policy: a file, or the name of shipped ones")
    value: str = parameter("", help="Weights of the value network; not read where lambda is 1")
    rollout: str = parameter(
        "light",
        help="Who plays the rollouts: light (uniform, fills no eye) or weights of a pattern policy",
    )
    mix: float = parameter(
        0.5, ge=0, le=1, help="Share of the rollout in a leaf's value, the paper's lambda"
    )
    rollouts: int = parameter(1, ge=1, le=1000, unit="rollouts", help="Rollouts from every leaf")
    rollout_limit: int = parameter(
        243, ge=0, le=2000, unit="moves", help="A rollout is counted as it stands after so many"
    )
    depth: int = parameter(
        120, ge=1, le=400, unit="plies", help="Positions so far from the root are not looked beyond"
    )
    c_puct: float = parameter(1.5, ge=0, le=100, help="Weight of the priors (PUCT)")
