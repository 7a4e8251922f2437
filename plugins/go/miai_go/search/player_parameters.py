"""Parameters of the searches of Go; importing them imports nothing heavy."""

from __future__ import annotations

from typing import Any, Final, Literal, Self

from pydantic import model_validator

from miai.parameters import KIND, Parameters, parameter
from miai_go.nets.network_parameters import Precision

_UNTIMED: Final = 400
"""Simulations per move where neither they nor time are limited."""

MOST_SIMULATIONS: Final = 1_000_000_000
"""Maximum simulations per move that can be asked for."""

_MOST_PLANNED: Final = 100_000
"""Maximum simulations of a Gumbel search, whose schedule is kept in memory."""


def _simulations(default: int | None, *, more: str = "") -> Any:
    return parameter(
        default,
        ge=0,
        le=MOST_SIMULATIONS,
        unit="simulations",
        help=f"Simulations per move; 0: no limit, then give seconds{more}",
    )


_WEIGHTS_HELP: Final = (
    "Weights file, or the name of shipped weights; default: those for the board's size"
)


class SearchParameters(Parameters):
    """Parameters of all tree searches: advice, budgets, reuse and the end of play."""

    adviser: str = parameter(
        "none",
        component="go.adviser",
        help="Adviser asked about the board before a move; the search favours the moves that it "
        "recommends at its root, but is not bound by them",
    )
    adviser_parameters: dict[str, Any] = parameter({}, help="Parameters of the adviser")
    simulations: int | None = _simulations(400)
    seconds: float | None = parameter(
        None, gt=0, unit="seconds", help="Time limit per move beside simulations; not reproducible"
    )
    resign_below: float | None = parameter(
        None,
        ge=-1,
        le=1,
        unit="utility",
        help="Resign when the value was below this at two turns in a row: -0.9 is a 5 % chance of "
        "winning; none: never",
    )

    @model_validator(mode="after")
    def _check_budget(self) -> Self:
        if self.simulations == 0 and self.seconds is None:
            raise ValueError("simulations = 0 needs a budget in seconds")
        return self

    def simulation_limit(self, *, timed: bool) -> int:
        """Return the simulations per move, 0 for no limit.

        Args:
          timed: whether the game has a clock.
        """
        if self.simulations is not None:
            return self.simulations
        return 0 if timed or self.seconds is not None else _UNTIMED


class NetworkParameters(Parameters):
    """Parameters of running networks."""

    precision: Precision = parameter(
        "auto",
        help="Precision; auto: the int8 export beside the weights where that is faster, else bf16 "
        "if the processor multiplies bf16, else fp32",
    )
    threads: int = parameter(1, ge=1, le=256, unit="threads", help="Threads for the networks")
    device: str = parameter("cpu", max_length=40, help="Device for torch: cpu, cuda, cuda:1")


class PolicyParameters(Parameters):
    """Parameters of the player ``policy``."""

    network: NetworkParameters = parameter(NetworkParameters(), help="Running the network")
    weights: str = parameter("", help=_WEIGHTS_HELP, opens="weights")
    temperature: float = parameter(
        0.0, ge=0, le=100, help="0: most likely move; 1: draw moves by the network's probabilities"
    )
    resign_below: float | None = parameter(
        None, ge=-1, le=1, unit="utility", help="Resign below this value; needs a value head"
    )


class TreeParameters(SearchParameters):
    """Parameters of all tree searches with networks."""

    network: NetworkParameters = parameter(NetworkParameters(), help="Running the networks")
    simulations: int | None = _simulations(
        None, more=f" (default: {_UNTIMED}, and no limit with seconds or under a clock)"
    )
    seconds: float | None = parameter(
        None,
        gt=0,
        unit="seconds",
        help="Time limit of a move, the only one unless simulations are given; not reproducible",
    )
    leaves: int = parameter(
        8, ge=1, le=1024, unit="leaves", help="Maximum leaves of the tree valued in one batch"
    )
    remembered: int = parameter(
        65_536,
        ge=0,
        le=100_000_000,
        unit="positions",
        help="Answers of the networks remembered over a game, by position and its symmetries (340 "
        "bytes each on 9x9); 0: none",
    )
    fpu: float = parameter(
        0.2,
        ge=-2,
        le=2,
        unit="utility",
        help="First-play urgency: by how much an untried move is valued below its parent",
    )
    score_weight: float = parameter(
        0.0,
        ge=0,
        le=1,
        help="Weight of the score beside the result: above 0 the search also plays to win by more. "
        "It then proves no win, and does not end the game by a pass that wins by less. Reported "
        "values, and those that resign_below is compared with, contain the score. Needs weights "
        "with a score head",
    )
    max_nodes: int = parameter(
        4_000_000,
        ge=1,
        le=100_000_000,
        unit="nodes",
        help="Maximum tree size in nodes (56 bytes each, allocated as the tree grows, doubled by "
        "reuse); the search ends when it is full",
    )


class PuctParameters(Parameters):
    """AlphaZero's selection at the root, which is that inside the tree."""

    kind: Literal["puct"] = "puct"


class GumbelParameters(Parameters):
    """Sequential halving at the root, for few simulations."""

    kind: Literal["gumbel"] = "gumbel"
    considered: int = parameter(
        16, ge=1, le=1000, unit="moves", help="Moves that are considered at the root"
    )
    planned: int = parameter(
        1000,
        ge=1,
        le=_MOST_PLANNED,
        unit="simulations",
        help="Simulations that are planned for where time alone limits the search",
    )


class AlphaZeroParameters(TreeParameters):
    """Parameters of the search ``alphazero``."""

    weights: str = parameter("", help=_WEIGHTS_HELP, opens="weights")
    search: PuctParameters | GumbelParameters = parameter(
        PuctParameters(),
        help="puct: AlphaZero's; gumbel: sequential halving at the root, for few simulations",
        discriminator=KIND,
    )
    c_puct: float = parameter(1.5, ge=0, le=100, help="Weight of the priors (PUCT)")

    @model_validator(mode="after")
    def _check_plan(self) -> Self:
        if self.search.kind == "gumbel" and (self.simulations or 0) > _MOST_PLANNED:
            raise ValueError(f"a Gumbel search takes at most simulations = {_MOST_PLANNED}")
        return self


class NetworkValueParameters(Parameters):
    """The value network alone values leaves."""

    kind: Literal["network"] = "network"


class MixedValueParameters(Parameters):
    """Leaves are valued by the value network and by rollouts."""

    kind: Literal["mixed"] = "mixed"
    mix: float = parameter(
        0.5, gt=0, le=1, help="Share of rollouts in leaf values (lambda); 1: no value network"
    )
    rollout: str = parameter(
        "light",
        opens="weights",
        help="Rollout policy: light (uniform, fills no eye) or weights of patterns",
    )


class AlphaGoParameters(TreeParameters):
    """Parameters of the search ``alphago``."""

    policy: str = parameter(
        "",
        opens="weights",
        help="Policy network: a file or a shipped name; default: the shipped one for the board's "
        "size",
    )
    value: str = parameter(
        "",
        opens="weights",
        help="Value network: a file or a shipped name; default: the policy's, if it has values",
    )
    leaf_value: NetworkValueParameters | MixedValueParameters = parameter(
        NetworkValueParameters(),
        help="network: the value network values leaves; mixed: a rollout does, too",
        discriminator=KIND,
    )
    depth: int = parameter(120, ge=1, le=400, unit="plies", help="Maximum depth of the tree")
    c_puct: float = parameter(1.0, ge=0, le=100, help="Weight of the priors (PUCT)")


# Measured on 9x9 at 1000 simulations, 30 games each: RAVE against none 30 to 0; beside RAVE an
# exploration of 0 to 0.2 against 0.5 at least 25 to 5; without RAVE 0.5 against 0.2 21 to 9.
_UCT_ALONE: Final = 0.5
_UCT_BESIDE_RAVE: Final = 0.1

# Every playout from a leaf without visits adds some 70 nodes on 9x9.
_SHORT: Final = 10_000
_LATE: Final = 8


class GoMctsParameters(SearchParameters):
    """Parameters of `GoMcts`."""

    simulations: int | None = _simulations(1000)
    exploration: float | None = parameter(
        None,
        ge=0,
        unit="half the range of utilities",
        help=f"Weight of exploration (UCT); default: {_UCT_ALONE}, beside RAVE {_UCT_BESIDE_RAVE}",
    )
    rave: float = parameter(
        1000.0,
        ge=0,
        unit="visits",
        help="Visits at which a move's own value and its all-moves-as-first value weigh the same; "
        "0 switches RAVE off",
    )
    playouts: Literal["light", "tactical"] = parameter(
        "light", help="Games from the leaves: light (uniformly random) or tactical (answer atari)"
    )
    max_nodes: int = parameter(
        1_000_000,
        ge=1000,
        le=100_000_000,
        unit="nodes",
        help="Maximum tree size in nodes (32 bytes each, doubled by reuse); when full, the search "
        "continues without expanding",
    )

    @property
    def exploration_used(self) -> float:
        """The weight of exploration, the default settled."""
        if self.exploration is not None:
            return self.exploration
        return _UCT_BESIDE_RAVE if self.rave else _UCT_ALONE

    @property
    def expand_after(self) -> int:
        """Visits after which a node gets children: more in long searches, to save nodes."""
        return 1 if 0 < self.simulation_limit(timed=False) <= _SHORT else _LATE
