"""The agent `belief-minimax`: maximises its guaranteed value against an omniscient opponent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from miai.agent import Agent, Decision
from miai.beliefs.bounds import named_bounds
from miai.beliefs.problem import BeliefProblem, GameProblem, Root, value_unit
from miai.beliefs.recursion import BeliefSearch
from miai.clock import ClockReading
from miai.game import Game, Observation, State
from miai.information import BeliefState
from miai.parameters import Parameters, parameter
from miai.plain import Json
from miai.plugins.kinds import BELIEF
from miai.plugins.loader import registry
from miai.values import Evaluation


@runtime_checkable
class ProblemGame(Protocol):
    """A game with a `BeliefProblem` of its own for player 0, faster than `GameProblem`.

    Its states have the problem's attributes ``public`` and ``hidden``, and player 0's actions have
    the same numbers in both.
    """

    def belief_problem(self) -> BeliefProblem[Any]:
        """Return the problem."""


class BeliefMinimaxParameters(Parameters):
    """Parameters of `BeliefMinimax`."""

    depth: int = parameter(2, ge=1, le=100, unit="plies", help="Search depth in own moves")
    nodes: int | None = parameter(
        100_000, ge=1, unit="nodes", help="Node budget per move (none: unlimited)"
    )
    bounds: str = parameter("cores", component="bounds", help="Bounds on beliefs")
    bounds_parameters: dict[str, Any] = parameter({}, help="Parameters of the bounds")
    belief: str = parameter(
        "enumerated", component="belief", help="Belief: the states the player considers possible"
    )
    belief_parameters: dict[str, Any] = parameter({}, help="Parameters of the belief")


class BeliefMinimax(Agent):
    """Plays the action with the best worst case over the worlds of its belief.

    Attributes:
      search: the search, whose bounds serve all turns of a game.
    """

    def __init__(self, game: Game, parameters: BeliefMinimaxParameters | None = None) -> None:
        super().__init__(game)
        self.parameters = parameters or BeliefMinimaxParameters()
        self._begin(0)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with empty bounds."""
        super().new_game(seed, player=player, log=log)
        self._begin(player)

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that are consistent with the observation."""
        super().observe(observation)
        self._belief.observe(observation)

    def act(self, clock: ClockReading) -> Decision:
        """Return the best action at the greatest depth that the budget allows.

        Raises:
          UnsuitableGameError: legal actions depend on hidden state.
        """
        legal = self.view.legal_actions
        depth, nodes = self.parameters.depth, self.parameters.nodes
        result = self.search.search(self._root(), depth, max_nodes=nodes, seconds=clock.allotment())
        statistics: dict[str, Json] = {
            "belief": len(self._belief),
            "depth": result.depth,
            **Evaluation(result.value, value_unit(self._problem)).statistics(),
            "pv": [action for action, _ in result.line[:10]],
            **result.statistics,
        }
        action = result.action if result.action in legal else legal[0]
        return Decision(action, statistics=statistics)

    def _begin(self, player: int) -> None:
        parameters, game = self.parameters, self.game
        problem: BeliefProblem[Any] = GameProblem(game, player)
        if isinstance(game, ProblemGame) and player == 0:
            problem = game.belief_problem()
        self._problem = problem
        make_bounds = named_bounds(parameters.bounds, **parameters.bounds_parameters)
        self.search = BeliefSearch(problem, make_bounds, window="null")
        component = registry().get(BELIEF, parameters.belief, game=game.info.name)
        self._belief: BeliefState[State] = component.build(
            game, player, values=parameters.belief_parameters
        )

    def _root(self) -> Root[Any]:
        worlds: list[Any] = list(self._belief)
        problem = self._problem
        if isinstance(problem, GameProblem):
            return Root(problem.public(worlds), tuple(sorted({problem.number(w) for w in worlds})))
        return Root(worlds[0].public, tuple(sorted({world.hidden for world in worlds})))
