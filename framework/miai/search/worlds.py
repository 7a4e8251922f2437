"""The agents `ismcts` and `pimc`: Monte-Carlo search in games that hide information.

They draw worlds from the player's belief and search those; they never see the true state. `ismcts`
keeps one tree of the player's observations, `pimc` one tree for each drawn world.

Trees of information sets follow P. Cowling, E. Powley, D. Whitehouse, "Information set Monte Carlo
tree search" (2012). An action competes only in the worlds in which it is legal, so its statistics
count how often it was *available*, too. Where several players act at once, each plays by regret
matching, and none sees what another chooses.
"""

from __future__ import annotations

import math
import random
import time
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypeAlias

from miai.agent import Decision, Judgement, ThinkingAgent, Thought
from miai.clock import ClockReading, TimeControl
from miai.game import Game, Observation, Player, State, sample_chance
from miai.information import BeliefState, EnumeratedBelief, SampledBelief, observation_key
from miai.parameters import Parameters, parameter
from miai.plain import Json
from miai.plugins.kinds import BELIEF
from miai.plugins.loader import registry
from miai.search.evaluators import (
    Evaluate,
    TreeSearchParameters,
    evaluation_in_place,
    make_evaluator,
    priors,
    temperature_parameter,
    utilities,
)
from miai.search.protocol import SearchResult, Seedable, deadline_after, visit_policy
from miai.search.regret_matching import RegretMatching
from miai.seeds import derive_seed
from miai.values import Evaluation, ValueUnit


@dataclass(slots=True)
class Edge:
    """Statistics of one action at a node.

    Attributes:
      visits: simulations that took it.
      available: simulations that came to the node in a world where it was legal.
      total: sum of utilities of the player who takes it.
    """

    visits: int = 0
    available: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        """The mean utility; 0 before the first visit."""
        return self.total / self.visits if self.visits else 0.0


class InfoSetNode:
    """An information set: edges by action, and children by the tree's observer's observation.

    Attributes:
      visited: whether a simulation came here; the first one values the world and goes no further.
      edges: statistics of the actions of a player who acts alone.
      parts: regret matching of each player who acts at once with others.
    """

    __slots__ = ("children", "edges", "parts", "visited")

    def __init__(self, *, visited: bool = False) -> None:
        self.visited = visited
        self.edges: dict[int, Edge] = {}
        self.parts: dict[int, RegretMatching] = {}
        self.children: dict[Hashable, InfoSetNode] = {}

    def select(self, legal: Sequence[int], exploration: float, rng: random.Random) -> int:
        """Return an action: one that was not tried yet, else the best by UCB."""
        untried = []
        for action in legal:
            edge = self.edges.setdefault(action, Edge())
            # UCB compares visits with the simulations in which the action was legal, not with all
            # of the node: an action of few worlds would seem neglected for ever.
            edge.available += 1
            if edge.visits == 0:
                untried.append(action)
        if untried:
            return untried[rng.randrange(len(untried))]
        edges = self.edges

        def promise(action: int) -> float:
            edge = edges[action]
            reach = math.sqrt(math.log(edge.available) / edge.visits)
            return edge.mean + exploration * reach

        return max(legal, key=promise)

    def child(self, observed: Hashable) -> InfoSetNode:
        """Return the node after an observation; a new one the first time."""
        node = self.children.get(observed)
        if node is None:
            node = self.children[observed] = InfoSetNode()
        return node


Part: TypeAlias = tuple[int, RegretMatching, Sequence[int], int]
"""A player who acted at once with others, its regret matching, its legal actions and its choice."""

Choice: TypeAlias = "tuple[dict[int, float], dict[str, Json]]"
"""A policy, and statistics for the record."""

Observers = Literal["single", "multi", "all-seeing"]
"""Whose observations make trees: the searcher's, every player's, or one that sees all actions."""


@dataclass(slots=True)
class Simulator:
    """Runs the simulations of one move.

    Attributes:
      root: the searcher's tree.
      opponents: with `observers` "multi", trees of each other player by what it knew before the
        search, as `State.information_state_string` says.
      observers: see `Observers`.
      evaluate: values a world where it leaves the tree.
      exploration: weight of exploration, in utilities.
    """

    observers: Observers
    searcher: int
    evaluate: Evaluate
    exploration: float
    rng: random.Random
    root: InfoSetNode = field(default_factory=lambda: InfoSetNode(visited=True))
    opponents: dict[tuple[int, str], InfoSetNode] = field(default_factory=dict)

    def run(self, world: State, first: int | None = None) -> Sequence[float]:
        """Play one simulation, which changes `world`; return the players' returns.

        It begins with an action of the searcher if `first` is one.
        """
        nodes = self._roots(world)
        if first is not None:
            self._step(world, first, nodes)
        path: list[tuple[Edge, int]] = []
        parts: list[Part] = []
        while not world.is_terminal():
            player = world.current_player()
            if player == Player.CHANCE:
                self._step(world, sample_chance(world, self.rng), nodes)
                continue
            if player == Player.SIMULTANEOUS:
                if not self._act_together(world, nodes, parts):
                    break
                continue
            node = nodes[player if self.observers == "multi" else self.searcher]
            # One new node a simulation: its value comes from the evaluator, not from a longer
            # descent.
            if not node.visited:
                node.visited = True
                break
            action = node.select(world.legal_actions(), self.exploration, self.rng)
            path.append((node.edges[action], player))
            self._step(world, action, nodes)
        returns = world.returns() if world.is_terminal() else utilities(self.evaluate, [world])[0]
        # Back up: every edge takes the return of the player who chose there, so no sign changes.
        for edge, player in path:
            edge.visits += 1
            edge.total += returns[player]
        for player, part, legal, action in parts:
            part.learn(legal, action, returns[player])
        return returns

    def _act_together(self, world: State, nodes: dict[int, InfoSetNode], parts: list[Part]) -> bool:
        """Let the acting players choose at once; return False where a node is new.

        What each player chose, and where it learns from that, is added to `parts`.
        """
        acting, multi = world.acting_players(), self.observers == "multi"
        own = [nodes[player if multi else self.searcher] for player in acting]
        if not all(node.visited for node in own):
            for node in own:
                node.visited = True
            # At the root opponents may have a new tree in every world, but it is our turn in all.
            if self.root not in own:
                return False
        actions: dict[int, int] = {}
        for player, node in zip(acting, own, strict=True):
            legal = world.legal_actions_of(player)
            part = node.parts.setdefault(player, RegretMatching())
            actions[player] = part.draw(legal, self.rng)
            parts.append((player, part, legal, actions[player]))
        world.apply_actions(actions)
        self._follow(world, tuple(actions.values()), nodes)
        return True

    def _roots(self, world: State) -> dict[int, InfoSetNode]:
        """Return where each observer's tree begins in a world."""
        nodes = {self.searcher: self.root}
        if self.observers == "multi":
            # The searcher knows its own past, which all worlds share. What the others have seen
            # differs from world to world, so each of their trees begins at what they know in this
            # one.
            for player in range(world.game.info.num_players):
                if player != self.searcher:
                    key = player, world.information_state_string(player)
                    nodes[player] = self.opponents.setdefault(key, InfoSetNode())
        return nodes

    def _step(self, world: State, action: int, nodes: dict[int, InfoSetNode]) -> None:
        world.apply_action(action)
        self._follow(world, action, nodes)

    def _follow(self, world: State, taken: Hashable, nodes: dict[int, InfoSetNode]) -> None:
        """Move to the nodes after what was taken and observed."""
        if self.observers == "all-seeing":
            nodes[self.searcher] = nodes[self.searcher].child(taken)
            return
        for observer, node in nodes.items():
            observed = world.observation(observer)
            # Who notices nothing stays where it is: its tree must not tell actions apart.
            if observed is not None:
                nodes[observer] = node.child(observation_key(observed))


class WorldsParameters(TreeSearchParameters):
    """Parameters that `ismcts` and `pimc` share."""

    exploration: float = parameter(
        0.7, ge=0, unit="half the range of utilities", help="Weight of exploration"
    )
    belief: str = parameter(
        "enumerated", component="belief", help="Belief from which worlds are drawn"
    )
    belief_parameters: dict[str, Any] = parameter({}, help="Parameters of the belief")


class IsmctsParameters(WorldsParameters):
    """Parameters of `Ismcts`."""

    observers: Literal["single", "multi"] = parameter(
        "multi", help="single: one tree of our own observations; multi: a tree for each player's"
    )
    temperature: float = temperature_parameter()


class PimcParameters(WorldsParameters):
    """Parameters of `Pimc`."""

    worlds: int = parameter(
        20, ge=1, unit="worlds", help="Worlds drawn for a move and searched one by one"
    )


class WorldsAgent(ThinkingAgent):
    """Keeps a belief and searches worlds drawn from it, in a way that subclasses define."""

    def __init__(self, game: Game, parameters: WorldsParameters) -> None:
        super().__init__(game)
        self.parameters = parameters
        self._evaluator = make_evaluator(
            parameters.evaluator, game, parameters.evaluator_parameters, search="worlds"
        )
        self._evaluate = evaluation_in_place(self._evaluator)
        half = (game.info.max_utility - game.info.min_utility) / 2
        self._exploration = parameters.exploration * half
        self.new_game(0, player=0)

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        """Begin a game with an empty belief and seeds of its own."""
        super().new_game(seed, player=player, log=log)
        values = self.parameters.belief_parameters
        self.belief = make_belief(self.parameters.belief, self.game, player, values)
        self._seed = seed
        self._means: dict[int, float] = {}  # of the actions at the view, if it was searched

    def observe(self, observation: Observation) -> None:
        """Keep the worlds that are consistent with the observation."""
        super().observe(observation)
        self.belief.observe(observation)

    def think(self, clock: ClockReading) -> Thought:
        """Return what `choose` says within what the clock allots, and an action drawn from it.

        Without a world, which only beliefs that are samples can come to, the action is random.
        """
        legal, number = self.view.legal_actions, len(self.view.observations)
        # Seeds of this view, so that earlier thinking does not change the policy.
        self._draw = random.Random(derive_seed(self._seed, "worlds", number))
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(derive_seed(self._seed, "evaluator", number))
        policy = dict.fromkeys(legal, 1 / len(legal))
        statistics: dict[str, Json] = {}
        self._means = {}
        if len(self.belief):  # a sampled one may be lost
            ends = deadline_after(clock.allotment(), self.parameters.seconds)
            policy, statistics = self.choose(legal, ends)
        action = self._draw.choices(list(policy), list(policy.values()))[0]
        if len(policy) > 1:
            statistics["strategy"] = [[a, round(p, 4)] for a, p in policy.items()]
        return Decision(action, statistics={"belief": len(self.belief), **statistics}), policy

    def judge(self, action: int | None) -> Judgement:
        """Return the decision, and the mean of an action over the worlds in which it was tried."""
        decision = self.act(ClockReading(control=TimeControl()))
        return decision, None if action is None else self._means.get(action)

    @abstractmethod
    def choose(self, legal: tuple[int, ...], ends: float) -> Choice:
        """Return a policy and its statistics; `ends` is a deadline on the monotonic clock."""

    def simulator(self, observers: Observers) -> Simulator:
        """Return a simulator with empty trees."""
        return Simulator(
            observers=observers,
            searcher=self.view.player,
            evaluate=self._evaluate,
            exploration=self._exploration,
            rng=self._draw,
        )


def make_belief(
    name: str, game: Game, player: int, values: Mapping[str, Any]
) -> BeliefState[State]:
    """Return the belief of that name, of a player who has observed nothing yet."""
    component = registry().get(BELIEF, name, game=game.info.name)
    belief: BeliefState[State] = component.build(game, player, values=values)
    return belief


class Ismcts(WorldsAgent):
    """Information-set Monte-Carlo tree search: a new world for every simulation, one tree."""

    parameters: IsmctsParameters

    def __init__(self, game: Game, parameters: IsmctsParameters | None = None) -> None:
        super().__init__(game, parameters or IsmctsParameters())

    def choose(self, legal: tuple[int, ...], ends: float) -> Choice:
        """Return the action visited most, or all by visits where the temperature is positive.

        Where others act at once, it is the mean strategy.
        """
        simulator, done = self.simulator(self.parameters.observers), 0
        limit = self.parameters.simulations or math.inf
        while done == 0 or (done < limit and time.monotonic() < ends):
            # Determinisation: a world for each simulation, so that one tree averages over the
            # belief and cannot act on what the player does not know.
            simulator.run(self.belief.sample(self._draw))
            done += 1
        root = simulator.root
        if (part := root.parts.get(self.view.player)) is not None:
            policy = dict(zip(legal, part.strategy(legal), strict=True))
            self._means = {action: part.mean(action) for action in legal}
            return policy, {"simulations": done, **mean_utility(part.value())}
        edges = root.edges
        self._means = {action: edge.mean for action, edge in edges.items() if edge.visits}
        # The first of those that were visited most.
        best = max(legal, key=lambda action: edges[action].visits if action in edges else -1)
        policy = {best: 1.0}
        if self.parameters.temperature > 0:
            visits = {action: edges[action].visits for action in legal if action in edges}
            policy = visit_policy(visits, self.parameters.temperature)
        return policy, {"simulations": done, **mean_utility(edges[best].mean)}

    def judge(self, action: int | None) -> Judgement:
        """Return the decision, and an action's mean over as many simulations that begin with it.

        A search tries an action that seems bad so seldom that its mean says little.
        """
        decision, played = super().judge(action)
        done = decision.statistics.get("simulations")
        tried = action in (None, decision.action) or self.game.info.simultaneous
        if tried or not isinstance(done, int):
            return decision, played
        simulator, player = self.simulator(self.parameters.observers), self.view.player
        worlds = (self.belief.sample(self._draw) for _ in range(done))
        return decision, fmean(simulator.run(world, action)[player] for world in worlds)


class Pimc(WorldsAgent):
    """Perfect-information Monte Carlo: searches each drawn world as if nothing were hidden.

    The values of actions are averaged over worlds. This assumes that everything will be revealed
    at the next move (strategy fusion), so it is cheap but gives information no value.
    """

    parameters: PimcParameters

    def __init__(self, game: Game, parameters: PimcParameters | None = None) -> None:
        super().__init__(game, parameters or PimcParameters())

    def choose(self, legal: tuple[int, ...], ends: float) -> Choice:
        """Return the action of the best mean over all worlds.

        Where others act at once, it is the mean of the strategies in all worlds.
        """
        parameters, done, worlds = self.parameters, 0, 0
        visits, totals = dict.fromkeys(legal, 0), dict.fromkeys(legal, 0.0)
        strategies: list[list[float]] = []
        value = 0.0
        start = time.monotonic()
        for number in range(parameters.worlds):
            if number and time.monotonic() >= ends:
                break
            simulator = self.simulator("all-seeing")
            world = self.belief.sample(self._draw)
            # Shares of the budget so far, not of this world: what one world leaves, the next one
            # has.
            share = parameters.simulations * (number + 1) // parameters.worlds
            until = start + (ends - start) * (number + 1) / parameters.worlds
            more = share if parameters.simulations else math.inf
            while worlds == number or (done < more and time.monotonic() < until):
                worlds = number + 1
                # The simulation plays on in its world, which the next one needs from the start.
                simulator.run(world.clone())
                done += 1
            if (part := simulator.root.parts.get(self.view.player)) is not None:
                strategies.append(part.strategy(legal))
                value += (part.value() - value) / len(strategies)
            for action, edge in simulator.root.edges.items():
                visits[action] += edge.visits
                totals[action] += edge.total
        if strategies:
            means = [sum(column) / len(strategies) for column in zip(*strategies, strict=True)]
            policy = dict(zip(legal, means, strict=True))
            return policy, {"simulations": done, "worlds": worlds, **mean_utility(value)}
        actions = [action for action in legal if visits[action]]
        self._means = {action: totals[action] / visits[action] for action in actions}
        best = max(actions, key=lambda action: totals[action] / visits[action])
        mean = totals[best] / visits[best]
        return {best: 1.0}, {"simulations": done, "worlds": worlds, **mean_utility(mean)}


class OpenSearch:
    """Values positions of a game that hides information as if every player saw all of them.

    It judges games that are over; no player may ask it. Implements `Search`.
    """

    def __init__(self, game: Game, simulations: int) -> None:
        self._simulations = simulations
        self._evaluator = make_evaluator("random-rollout", game, {}, search="worlds")
        self._exploration = 0.7 * (game.info.max_utility - game.info.min_utility) / 2
        self.new_game(0)

    def new_game(self, seed: int) -> None:
        """Seed the randomness."""
        self._rng = random.Random(seed)
        if isinstance(self._evaluator, Seedable):
            self._evaluator.seed(derive_seed(seed, "evaluator"))

    def advance(self, action: int) -> None:
        """Do nothing: nothing is kept between positions."""

    def search(self, state: State, *, seconds: float | None = None) -> SearchResult:
        """Return the most visited action of the first player to act, and the means of all."""
        player = state.acting_players()[0]
        evaluate = evaluation_in_place(self._evaluator)
        simulator = Simulator("all-seeing", player, evaluate, self._exploration, self._rng)
        for _ in range(self._simulations):
            simulator.run(state.clone())
        root = simulator.root
        visits = {action: edge.visits for action, edge in root.edges.items()}
        values = {action: edge.mean for action, edge in root.edges.items()}
        if (part := root.parts.get(player)) is not None:
            visits, values = part.counts, {action: part.mean(action) for action in part.counts}
        best = max(visits, key=visits.__getitem__)
        unit = ValueUnit.EXPECTED_UTILITY
        return SearchResult(
            action=best, value=values[best], unit=unit, visits=visits, values=values, pv=(best,)
        )

    def close(self) -> None:
        """Do nothing."""


def mean_utility(mean: float) -> dict[str, Json]:
    """Return an expected utility as statistics."""
    return Evaluation(round(mean, 6), ValueUnit.EXPECTED_UTILITY).statistics()


class EnumeratedBeliefParameters(Parameters):
    """Parameters of `enumerated_belief`."""

    limit: int = parameter(
        1_000_000,
        ge=1,
        unit="worlds",
        help="Maximum number of worlds; a game with more needs a belief of its own",
    )
    policy: str | None = parameter(
        None,
        component="evaluator",
        help="Evaluator whose priors are the others' policy (none: uniform)",
    )
    policy_parameters: dict[str, Any] = parameter({}, help="Parameters of the policy")

    def settings(self, game: Game) -> dict[str, Any]:
        """Return the keyword arguments of a belief."""
        given = self.model_dump(exclude={"policy", "policy_parameters"})
        if self.policy is None:
            return given
        values = self.policy_parameters
        evaluator = make_evaluator(self.policy, game, values, search="the policy of a belief")
        return {**given, "policy": lambda state: priors(evaluator, [state])[0]}


class SampledBeliefParameters(EnumeratedBeliefParameters):
    """Parameters of `sampled_belief`."""

    limit: int = parameter(
        1000, ge=1, le=1_000_000, unit="worlds", help="Maximum number of worlds that are kept"
    )
    attempts: int = parameter(
        3, ge=0, le=1000, help="How often a belief without worlds is built again"
    )


def sampled_belief(game: Game, player: int, parameters: SampledBeliefParameters) -> SampledBelief:
    """Return a player's belief before anything was observed."""
    return SampledBelief(game, player, **parameters.settings(game))


def enumerated_belief(
    game: Game, player: int, parameters: EnumeratedBeliefParameters
) -> EnumeratedBelief:
    """Return a player's belief before anything was observed."""
    return EnumeratedBelief(game, player, **parameters.settings(game))
