"""The parameters of Monte-Carlo tree search, and the policies that they name."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import model_validator

from miai.game import Game
from miai.plugins.parameters import Parameters, parameter
from miai.search.policies import Choose, Proven, Select, best_value, most_visits, puct, uct


class MctsParameters(Parameters):
    """Parameters of `Mcts`."""

    simulations: int = parameter(
        1000, ge=0, unit="simulations", help="Budget of a move; 0 for none, then give seconds"
    )
    seconds: float | None = parameter(
        None, gt=0, unit="seconds", help="Budget of a move beside simulations; not reproducible"
    )
    selection: Literal["uct", "puct"] = parameter(
        "uct", help="uct tries every action; puct is guided by the evaluator's priors"
    )
    exploration: float = parameter(
        1.4, ge=0, unit="half the range of utilities", help="Weight of exploration"
    )
    fpu: float | None = parameter(
        None,
        unit="utility",
        help="Value of an untried action; none: uct tries all first, puct takes the node's mean",
    )
    evaluator: str = parameter(
        "random-rollout", component="evaluator", help="Values of leaves: a component by name"
    )
    evaluator_parameters: dict[str, Any] = parameter({}, help="Parameters of the evaluator")
    final: Literal["visits", "value"] = parameter(
        "visits", help="Plays the action most visited, or of the best value; a proven win before"
    )
    solver: bool = parameter(True, help="Prove wins, losses and draws, and stop when done")
    batch: int = parameter(
        1, ge=1, le=65_536, unit="states", help="Leaves evaluated together, under virtual loss"
    )
    max_nodes: int = parameter(
        500_000, ge=1, unit="nodes", help="Most nodes kept; a full tree grows no more"
    )
    reuse: bool = parameter(True, help="Keep the tree from move to move")
    resign_below: float | None = parameter(
        None, unit="utility", help="Resign when the best action is worth less"
    )
    dirichlet_alpha: float | None = parameter(
        None, gt=0, help="Concentration of noise on the root's priors; none: no noise"
    )
    dirichlet_fraction: float = parameter(0.25, ge=0, le=1, help="Share of the noise")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.simulations == 0 and self.seconds is None:
            raise ValueError("simulations = 0 needs a budget in seconds")
        if self.dirichlet_alpha is not None and self.selection != "puct":
            raise ValueError("dirichlet_alpha needs selection = 'puct', which has priors")
        return self

    def select(self, game: Game, *, proven: Proven) -> Select:
        """Return how to select inside the tree, or at the root."""
        scale = 0.5 * (game.info.max_utility - game.info.min_utility)
        make = uct if self.selection == "uct" else puct
        return make(exploration=self.exploration * scale, fpu=self.fpu, proven=proven)

    def choose(self) -> Choose:
        """Return which action of the root to play."""
        return most_visits if self.final == "visits" else best_value
