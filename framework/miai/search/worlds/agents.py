"""The agents `ismcts` and `pimc`: they keep a belief, draw worlds from it and search those."""

from __future__ import annotations

import random
import time
from abc import abstractmethod
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from miai.agent import Agent, Decision
from miai.clock import ClockReading
from miai.game import Game, Json, Observation, State
from miai.information import BeliefState
from miai.plugins.loader import registry
from miai.plugins.parameters import Parameters, parameter
from miai.search import limits
from miai.search.evaluators import evaluation_in_place, make_evaluator
from miai.search.protocol import Seedable
from miai.search.worlds.simulate import Observers, Simulator
from miai.search.worlds.tree import Node, most_visited
from miai.seeds import derive_seed

_HALF = 0.5


class WorldsParameters(Parameters):
    """What `ismcts` and `pimc` have in common."""

    simulations: int = parameter(
        1000, ge=0, unit="simulations", help="Budget of a move; 0 for none, then give seconds"
    )
    seconds: float | None = parameter(
        None, gt=0, unit="seconds", help="Budget of a move beside simulations; not reproducible"
    )
    exploration: float = parameter(
        0.7, ge=0, unit="half the range of utilities", help="Weight of exploration"
    )
    evaluator: str = parameter(
        "random-rollout", component="evaluator", help="Values of leaves: a component by name"
    )
    evaluator_parameters: dict[str, Any] = parameter({}, help="Parameters of the evaluator")
    belief: str = parameter(
        "enumerated", component="belief", help="What worlds are drawn from: a component by name"
    )
    belief_parameters: dict[str, Any] = parameter({}, help="Parameters of the belief")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.simulations == 0 and self.seconds is None:
            raise ValueError("simulations = 0 needs a budget in seconds")
        return self


class IsmctsParameters(WorldsParameters):
    """Parameters of `Ismcts`."""

    observers: Literal["single", "multi"] = parameter(
        "multi", help="single: a tree of what we are told; multi: one of what each player is told"
    )


class PimcParameters(WorldsParameters):
    """Parameters of `Pimc`."""

    worlds: int = parameter(20, ge=1, unit="worlds", help="drawn for a move, searched one by one")


class WorldsAgent(Agent):
    """Keeps a belief and searches worlds that are drawn from it; subclasses say how.

    Attributes:
      belief: what the agent holds possible; it never sees a state that was not drawn from it.
    """

    def __init__(self, game: Game, parameters: WorldsParameters) -> None:
        super().__init__(game)
        self.parameters = parameters
        self._evaluator = make_evaluator(
            parameters.evaluator, game, parameters.evaluator_parameters, search="worlds"
        )
        self._evaluate = evaluation_in_place(self._evaluator)
        half = (game.info.max_utility - game.info.min_utility) * _HALF
        self._exploration = parameters.exploration * half
        self.belief = self._new_belief(0)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with an empty belief and seeds of its own."""
        super().new_game(seed, player=player, log=log)
        self.belief = self._new_belief(player)
        self._draw = random.Random(derive_seed(seed, "worlds"))
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(derive_seed(seed, "evaluator"))

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that explain what was told."""
        super().observe(observation)
        self.belief.observe(observation)

    def act(self, clock: ClockReading) -> Decision:
        """Return the best action over drawn worlds, within what the clock allots."""
        legal = self.view.legal_actions
        ends = limits.deadline_after(clock.allotment(), self.parameters.seconds)
        action, statistics = self.choose(legal, ends)
        return Decision(action, statistics={"belief": len(self.belief), **statistics})

    @abstractmethod
    def choose(self, legal: tuple[int, ...], ends: float) -> tuple[int, dict[str, Json]]:
        """Return an action and what is worth recording.

        Args:
          ends: until when to think, on the monotonic clock.
        """

    def simulator(self, observers: Observers, players: list[int]) -> Simulator:
        """Return what runs simulations in new trees."""
        return Simulator(
            roots={player: Node() for player in players},
            observers=observers,
            searcher=self.view.player,
            evaluate=self._evaluate,
            exploration=self._exploration,
            rng=self._draw,
        )

    def world(self) -> State:
        """Return a world drawn from the belief, to be played on."""
        return self.belief.sample(self._draw)

    def _new_belief(self, player: int) -> BeliefState[State]:
        given = self.parameters
        component = registry().get("belief", given.belief, game=self.game.info.name)
        belief: BeliefState[State] = component.build(
            self.game, player, values=given.belief_parameters
        )
        return belief


class Ismcts(WorldsAgent):
    """Information-set Monte-Carlo tree search: a new world for every simulation, one tree."""

    parameters: IsmctsParameters

    def __init__(self, game: Game, parameters: IsmctsParameters | None = None) -> None:
        super().__init__(game, parameters or IsmctsParameters())

    def choose(self, legal: tuple[int, ...], ends: float) -> tuple[int, dict[str, Json]]:
        """Return the action visited most."""
        given = self.parameters
        us = self.view.player
        players = list(range(self.game.info.num_players)) if given.observers == "multi" else [us]
        simulator, done = self.simulator(given.observers, players), 0
        while done == 0 or (_within(given.simulations, done) and time.monotonic() < ends):
            simulator.run(self.world())
            done += 1
        root = simulator.roots[us]
        best = most_visited(root, legal)
        mean = root.edges[best].mean if best in root.edges else 0.0
        return best, {"simulations": done, "value": round(mean, 6)}


class Pimc(WorldsAgent):
    """Perfect-information Monte Carlo: each drawn world is searched as if everybody saw it.

    The actions of all worlds are added up. It takes for granted that what is hidden will be known
    at the next move (strategy fusion): cheap, and blind to the worth of information.
    """

    parameters: PimcParameters

    def __init__(self, game: Game, parameters: PimcParameters | None = None) -> None:
        super().__init__(game, parameters or PimcParameters())

    def choose(self, legal: tuple[int, ...], ends: float) -> tuple[int, dict[str, Json]]:
        """Return the action of the best mean over all worlds."""
        given, done, worlds = self.parameters, 0, 0
        visits, totals = dict.fromkeys(legal, 0), dict.fromkeys(legal, 0.0)
        begun = time.monotonic()
        for number in range(given.worlds):
            if number and time.monotonic() >= ends:
                break
            simulator, world = self.simulator("all-seeing", [self.view.player]), self.world()
            share = given.simulations * (number + 1) // given.worlds
            until = begun + (ends - begun) * (number + 1) / given.worlds
            while worlds == number or (_within(share, done) and time.monotonic() < until):
                worlds = number + 1
                simulator.run(world.clone())
                done += 1
            for action, edge in simulator.roots[self.view.player].edges.items():
                visits[action] += edge.visits
                totals[action] += edge.total
        tried = [action for action in legal if visits[action]]
        best = max(tried, key=lambda action: totals[action] / visits[action])
        mean = totals[best] / visits[best]
        return best, {"simulations": done, "worlds": worlds, "value": round(mean, 6)}


def _within(budget: int, done: int) -> bool:
    return budget == 0 or done < budget
